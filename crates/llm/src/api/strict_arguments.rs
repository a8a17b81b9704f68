//! Tools that ask providers to keep the arguments to their schema while the model writes them.
//!
//! Providers do so for a part of JSON Schema only. Every property must be required then, so one that may be absent may be
//! `null` instead; whoever checks the arguments takes that for absent.

use bowline_core::ToolDefinition;
use bowline_core::stream::{FailureKind, StreamError};
use bowline_core::tool::StrictArguments;
use serde_json::{Map, Value, json};

/// The keywords that no provider takes.
const REFUSED: &[&str] = &[
    "$ref",
    "$defs",
    "definitions",
    "allOf",
    "oneOf",
    "patternProperties",
    "dependentSchemas",
    "dependencies",
    "unevaluatedProperties",
    "propertyNames",
    "contains",
    "prefixItems",
    "not",
    "if",
    "then",
    "else",
];

/// Further keywords that Claude does not take.
const REFUSED_BY_CLAUDE: &[&str] = &[
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "maxItems",
    "uniqueItems",
    "minContains",
    "maxContains",
    "minProperties",
    "maxProperties",
];

/// The formats of texts that Claude takes.
const FORMATS_OF_CLAUDE: &[&str] =
    &["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"];

/// How many strict tools a request to Claude may have, and how many unions of types in all of them: more are refused.
const MOST_TOOLS_OF_CLAUDE: usize = 20;
const MOST_UNIONS_OF_CLAUDE: usize = 16;

/// Whether a provider keeps arguments to schemas, and by which rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Support {
    Absent,
    /// As OpenAI does.
    Usual,
    Claude,
}

impl Support {
    /// Returns the support that a flag tells of.
    pub fn usual_if(is_there: bool) -> Self {
        if is_there { Self::Usual } else { Self::Absent }
    }

    fn refuses(self, keyword: &str, value: &Value) -> bool {
        let is_refused_by_claude = || match keyword {
            "minItems" => *value != 0 && *value != 1,
            "format" => !value.as_str().is_some_and(|format| FORMATS_OF_CLAUDE.contains(&format)),
            _ => REFUSED_BY_CLAUDE.contains(&keyword),
        };
        REFUSED.contains(&keyword) || (self == Self::Claude && is_refused_by_claude())
    }
}

/// Returns for each tool the schema that the provider is asked to keep its arguments to. A tool that requires one which
/// cannot be had is an error.
pub(super) fn schemas(tools: &[ToolDefinition], support: Support) -> Result<Vec<Option<Value>>, StreamError> {
    let mut schemas = vec![None; tools.len()];
    let (mut count, mut unions) = (0, 0);
    // Those that need it come first, as there may not be room for all.
    for wanted in [StrictArguments::Required, StrictArguments::Preferred] {
        for (tool, schema) in tools.iter().zip(&mut schemas).filter(|(tool, _)| tool.strict == Some(wanted)) {
            let strict = match strict(&tool.parameters, support) {
                Ok(strict) => strict,
                Err(_) if wanted == StrictArguments::Preferred => continue,
                Err(problem) => return Err(impossible(tool, &problem)),
            };
            let further = count_unions(&strict);
            let is_full = count == MOST_TOOLS_OF_CLAUDE || unions + further > MOST_UNIONS_OF_CLAUDE;
            if support == Support::Claude && wanted == StrictArguments::Preferred && is_full {
                continue;
            }
            count += 1;
            unions += further;
            *schema = Some(strict);
        }
    }
    Ok(schemas)
}

fn impossible(tool: &ToolDefinition, problem: &str) -> StreamError {
    let message = format!(
        "The tool {} requires that the provider keeps its arguments to their schema, which is not possible: {problem}. Choose another model, or disable the tool.",
        tool.name
    );
    StreamError::new(FailureKind::Rejected, message)
}

/// Returns a schema in the form that strict mode demands, or why it has none.
fn strict(schema: &Value, support: Support) -> Result<Value, String> {
    if support == Support::Absent {
        return Err("the model has no strict tools".to_owned());
    }
    if schema["type"] != "object" {
        return Err("its schema is not of the type object".to_owned());
    }
    let mut schema = schema.clone();
    close(&mut schema, support)?;
    Ok(schema)
}

/// Makes the objects in a schema list all their properties as required, and allow no others.
fn close(schema: &mut Value, support: Support) -> Result<(), String> {
    let Value::Object(keywords) = schema else { return Err("a part of its schema is no object".to_owned()) };
    if let Some((keyword, _)) = keywords.iter().find(|(keyword, value)| support.refuses(keyword, value)) {
        return Err(format!("its schema has {keyword}"));
    }
    if let Some(choices) = keywords.get_mut("anyOf") {
        let choices = choices.as_array_mut().filter(|choices| !choices.is_empty());
        for choice in choices.ok_or("its schema has an anyOf without a choice")? {
            if is_structured(choice) {
                return Err("its schema has an anyOf of objects or lists".to_owned());
            }
            close(choice, support)?;
        }
    }
    if let Some(items) = keywords.get_mut("items") {
        close(items, support)?;
    }
    match keywords.get("type") {
        Some(kind) if kind == "object" => close_object(keywords, support),
        _ if keywords.contains_key("properties") => {
            Err("its schema has properties of what is not only an object".to_owned())
        }
        _ => Ok(()),
    }
}

fn close_object(keywords: &mut Map<String, Value>, support: Support) -> Result<(), String> {
    if keywords.get("additionalProperties").is_some_and(|more| *more != false) {
        return Err("its schema allows further properties".to_owned());
    }
    let required = match keywords.remove("required") {
        None => Vec::new(),
        Some(required) => serde_json::from_value::<Vec<String>>(required)
            .map_err(|_| "the required properties of its schema are no list of names")?,
    };
    let properties = keywords.entry("properties").or_insert_with(|| json!({}));
    let properties = properties.as_object_mut().ok_or("the properties of its schema are no object")?;
    if required.iter().any(|name| !properties.contains_key(name)) {
        return Err("its schema requires a property that it does not describe".to_owned());
    }
    for (name, property) in &mut *properties {
        close(property, support)?;
        if !required.contains(name) && !allows_null(property) {
            *property = json!({"anyOf": [property.take(), {"type": "null"}]});
        }
    }
    let names: Vec<&String> = properties.keys().collect();
    let names = json!(names);
    keywords.insert("required".to_owned(), names);
    keywords.insert("additionalProperties".to_owned(), Value::Bool(false));
    Ok(())
}

fn is_structured(schema: &Value) -> bool {
    let has_type = |name: &str| match &schema["type"] {
        Value::Array(types) => types.iter().any(|kind| kind == name),
        kind => kind == name,
    };
    has_type("object") || has_type("array") || !schema["properties"].is_null() || !schema["items"].is_null()
}

fn allows_null(schema: &Value) -> bool {
    let list = |name: &str| schema[name].as_array().map(Vec::as_slice).unwrap_or_default();
    schema["type"] == "null"
        || list("type").iter().any(|kind| kind == "null")
        || schema.get("const").is_some_and(Value::is_null)
        || list("enum").iter().any(Value::is_null)
        || list("anyOf").iter().any(allows_null)
}

/// Returns how many schemas have several types.
fn count_unions(schema: &Value) -> usize {
    let own = usize::from(schema["anyOf"].is_array() || schema["type"].is_array());
    let properties = schema["properties"].as_object().into_iter().flat_map(Map::values);
    let choices = schema["anyOf"].as_array().into_iter().flatten();
    own + properties.chain(choices).chain(schema.get("items")).map(count_unions).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{Endpoint, Variables, find};
    use crate::credentials::{Credential, Scheme};
    use crate::output_limit::tests::request;
    use crate::request::ModelRequest;
    use crate::secret::Secret;

    fn tool(strict: StrictArguments) -> ToolDefinition {
        let parameters = json!({
            "type": "object",
            "properties": {"path": {"type": "string"}, "limit": {"type": "number"}},
            "required": ["path"],
        });
        ToolDefinition { name: "ls".into(), description: "d".into(), parameters, strict: Some(strict) }
    }

    /// The schema that the provider gets of the tool.
    fn expected() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "limit": {"anyOf": [{"type": "number"}, {"type": "null"}]},
            },
            "required": ["path", "limit"],
            "additionalProperties": false,
        })
    }

    fn sorted(mut schema: Value) -> Value {
        if let Some(names) = schema["required"].as_array_mut() {
            names.sort_by_key(ToString::to_string);
        }
        schema
    }

    fn of(parameters: &Value, support: Support) -> Result<Value, String> {
        strict(parameters, support).map(sorted)
    }

    /// Returns the body of a request with the tool to a model of an API.
    fn body(api: &str, id: &str, flags: &Value, strict: StrictArguments) -> Result<Value, StreamError> {
        let secret = Secret::new("key");
        let endpoint = Endpoint {
            base_url: "https://h/v1".into(),
            headers: Vec::new(),
            credential: Some(Credential { secret, scheme: Scheme::Key, origin: String::new() }),
            auth_header: false,
            variables: Variables::default(),
        };
        let model = json!({"api": api, "id": id, "compat": flags});
        let request = ModelRequest { tools: vec![tool(strict)].into(), ..request(model) };
        let http = (find(api).unwrap().request)(&request, &endpoint)?;
        Ok(serde_json::from_slice(&http.body).unwrap())
    }

    #[test]
    fn every_api_that_can_is_asked_for_it() {
        let mode = json!({"supportsStrictMode": true});
        let without = json!({"supportsStrictMode": false});
        for (api, id, flags, no_flags, place, name) in [
            ("openai-completions", "m", &mode, &json!({}), "/tools/0/function", "parameters"),
            ("openai-responses", "m", &json!({}), &without, "/tools/0", "parameters"),
            (
                "anthropic-messages",
                "m",
                &json!({"supportsStrictTools": true}),
                &json!({}),
                "/tools/0",
                "input_schema",
            ),
            #[cfg(feature = "bedrock")]
            (
                "bedrock-converse-stream",
                "m",
                &mode,
                &json!({}),
                "/toolConfig/tools/0/toolSpec",
                "inputSchema",
            ),
        ] {
            let asked = body(api, id, flags, StrictArguments::Required).unwrap();
            let asked = asked.pointer(place).unwrap();
            let schema = asked[name].get("json").unwrap_or(&asked[name]);
            assert_eq!(
                (&asked["strict"], sorted(schema.clone())),
                (&json!(true), sorted(expected())),
                "{api}"
            );
            let usual = body(api, id, no_flags, StrictArguments::Preferred).unwrap();
            let usual = usual.pointer(place).unwrap();
            let schema = usual[name].get("json").unwrap_or(&usual[name]);
            let own = tool(StrictArguments::Preferred).parameters;
            assert_eq!((usual["strict"] == true, schema), (false, &own), "{api}");
            assert!(body(api, id, no_flags, StrictArguments::Required).is_err(), "{api}");
        }
        let mistral = body("mistral-conversations", "m", &json!({}), StrictArguments::Required).unwrap();
        assert_eq!(mistral["tools"][0]["function"]["strict"], true);
    }

    #[test]
    fn gemini_is_asked_for_it_since_its_third_generation() {
        let asked = |id: &str, strict| body("google-generative-ai", id, &json!({}), strict);
        let new = asked("gemini-3.8-flash", StrictArguments::Required).unwrap();
        assert_eq!(new["toolConfig"], json!({"functionCallingConfig": {"mode": "VALIDATED"}}));
        let properties = &new["tools"][0]["functionDeclarations"][0]["parameters"]["properties"];
        assert_eq!(properties["limit"], json!({"type": "number", "nullable": true}));
        let old = asked("gemini-2.5-flash", StrictArguments::Preferred).unwrap();
        assert_eq!(old.get("toolConfig"), None);
        assert!(asked("gemini-2.5-flash", StrictArguments::Required).is_err());
    }

    #[test]
    fn what_may_be_absent_may_be_null_instead() {
        assert_eq!(of(&tool(StrictArguments::Preferred).parameters, Support::Usual), Ok(sorted(expected())));
        let nullable = json!({"type": "object", "properties": {"a": {"type": ["string", "null"]}}});
        let closed = json!({"type": "object", "properties": {"a": {"type": ["string", "null"]}}, "required": ["a"], "additionalProperties": false});
        assert_eq!(of(&nullable, Support::Usual), Ok(closed));
        let below = json!({"type": "object", "properties": {"list": {"type": "array", "items": {"type": "object"}}}, "required": ["list"]});
        let closed = of(&below, Support::Usual).unwrap();
        let item = json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false});
        assert_eq!(closed["properties"]["list"]["items"], item);
    }

    #[test]
    fn what_cannot_be_said_in_strict_mode_is_told() {
        let with = |property: Value| json!({"type": "object", "properties": {"a": property}});
        for (parameters, problem) in [
            (json!({"type": "array"}), "its schema is not of the type object"),
            (with(json!({"$ref": "#"})), "its schema has $ref"),
            (with(json!(true)), "a part of its schema is no object"),
            (with(json!({"anyOf": []})), "its schema has an anyOf without a choice"),
            (
                with(json!({"anyOf": [{"type": "object"}, {"type": "string"}]})),
                "its schema has an anyOf of objects or lists",
            ),
            (with(json!({"type": "array", "items": []})), "a part of its schema is no object"),
            (with(json!({"properties": {}})), "its schema has properties of what is not only an object"),
            (json!({"type": "object", "additionalProperties": true}), "its schema allows further properties"),
            (
                json!({"type": "object", "required": ["a"]}),
                "its schema requires a property that it does not describe",
            ),
        ] {
            assert_eq!(of(&parameters, Support::Usual), Err(problem.to_owned()));
        }
        let bounded = with(json!({"type": "number", "minimum": 1}));
        assert!(of(&bounded, Support::Usual).is_ok());
        assert_eq!(of(&bounded, Support::Claude), Err("its schema has minimum".to_owned()));
        assert!(of(&with(json!({"type": "string", "format": "uuid"})), Support::Claude).is_ok());
        assert!(of(&with(json!({"type": "string", "format": "regex"})), Support::Claude).is_err());
        assert!(of(&with(json!({"type": "array", "minItems": 1})), Support::Claude).is_ok());
        assert!(of(&with(json!({"type": "array", "minItems": 2})), Support::Claude).is_err());
    }

    #[test]
    fn only_a_tool_that_requires_it_fails_the_request() {
        let schemas = |strict, support| schemas(&[tool(strict)], support);
        assert_eq!(schemas(StrictArguments::Preferred, Support::Absent).unwrap(), [None]);
        let failure = schemas(StrictArguments::Required, Support::Absent).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Rejected);
        assert!(failure.message.starts_with("The tool ls requires "), "{}", failure.message);
        let silent = ToolDefinition { strict: None, ..tool(StrictArguments::Required) };
        assert_eq!(super::schemas(&[silent], Support::Usual).unwrap(), [None]);
    }

    #[test]
    fn claude_gets_no_more_strict_tools_than_it_takes() {
        let plain = |strict| ToolDefinition {
            parameters: json!({"type": "object", "properties": {}}),
            ..tool(strict)
        };
        let mut tools = vec![plain(StrictArguments::Preferred); 25];
        tools.push(plain(StrictArguments::Required));
        let count = |tools: &[ToolDefinition], support| {
            schemas(tools, support).unwrap().iter().filter(|schema| schema.is_some()).count()
        };
        assert_eq!(count(&tools, Support::Usual), 26);
        assert_eq!(count(&tools, Support::Claude), 20);
        assert!(
            schemas(&tools, Support::Claude).unwrap()[25].is_some(),
            "the one that requires it comes first"
        );
        let optional = vec![tool(StrictArguments::Preferred); 18];
        assert_eq!(count(&optional, Support::Claude), 16);
    }
}
