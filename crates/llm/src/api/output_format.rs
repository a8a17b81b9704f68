//! Which schemas of an output are given to the provider, so that it keeps the answer to them.
//!
//! A provider refuses the whole request if it does not know a keyword, and each knows others. So a schema is passed on only if
//! all providers would take it; the answer is checked by whoever asked for it anyway. `supportsOutputSchema` in the
//! compatibility settings of a model says whether its provider takes schemas at all, if that is not known here.

use bowline_core::Model;
use serde_json::{Map, Value, json};

use super::flag;
use crate::request::ModelRequest;

/// The keywords that every provider takes.
const KEYWORDS: &[&str] = &[
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "anyOf",
    "title",
    "description",
];

/// The most levels, schemas, values of enumerations, schemas with several types, and bytes that every provider takes.
const DEEPEST: usize = 10;
const MOST_SCHEMAS: usize = 500;
const MOST_VALUES: usize = 250;
const MOST_UNIONS: usize = 16;
const LARGEST: usize = 15_000;

/// The name of the schema, where one is needed.
pub(super) const NAME: &str = "output";

/// Returns the schema that is sent to the provider, if there is one and the provider keeps answers to it. `is_known` says
/// whether models like this one are known to.
pub(super) fn schema_for(request: &ModelRequest, is_known: impl FnOnce(&Model) -> bool) -> Option<Value> {
    let schema = request.output_schema.as_deref()?;
    let takes_schemas =
        flag(&request.model, "supportsOutputSchema").unwrap_or_else(|| is_known(&request.model));
    takes_schemas.then(|| closed(schema)).flatten()
}

/// Tells whether a model is one of OpenAI's that keeps its answers to a schema, at OpenAI or Azure.
pub(super) fn is_openai(model: &Model) -> bool {
    let is_there = match model.provider.as_str() {
        "openai" => model.base_url.starts_with("https://api.openai.com/"),
        provider => provider == "azure-openai-responses",
    };
    let is_too_old = ["gpt-3.5", "gpt-4-", "gpt-4o-2024-05-13", "gpt-realtime", "o1-preview", "o1-mini"];
    is_there && model.id != "gpt-4" && !is_too_old.iter().any(|old| model.id.starts_with(old))
}

/// Returns a schema without references and annotations that providers refuse, if all of it can be expressed in this way and
/// describes a closed object.
fn closed(schema: &Value) -> Option<Value> {
    // Several forms of the whole answer are refused too.
    if schema["type"] != "object" || !schema["anyOf"].is_null() {
        return None;
    }
    let mut left = Left { schemas: MOST_SCHEMAS, values: MOST_VALUES, unions: MOST_UNIONS };
    closed_below(schema, schema, 0, &mut left).filter(|closed| closed.to_string().len() <= LARGEST)
}

/// How many more there may be.
struct Left {
    schemas: usize,
    values: usize,
    unions: usize,
}

fn closed_below(schema: &Value, root: &Value, depth: usize, left: &mut Left) -> Option<Value> {
    left.schemas = left.schemas.checked_sub(1)?;
    if depth > DEEPEST {
        return None;
    }
    let keywords = schema.as_object()?;
    if let Some(reference) = keywords.get("$ref").and_then(Value::as_str) {
        let is_alone = keywords.keys().all(|name| matches!(name.as_str(), "$ref" | "title" | "description"));
        let target = root.pointer(reference.strip_prefix('#')?).filter(|_| is_alone)?;
        return closed_below(target, root, depth + 1, left);
    }
    if keywords.contains_key("anyOf") || keywords.get("type").is_some_and(Value::is_array) {
        left.unions = left.unions.checked_sub(1)?;
    }
    let mut closed = Map::new();
    for (name, value) in keywords {
        let mut inner = |schema| closed_below(schema, root, depth + 1, left);
        let value = match name.as_str() {
            "$schema" | "$id" | "$defs" | "definitions" | "$comment" | "default" | "examples" => continue,
            "properties" => {
                let properties = value.as_object()?.iter();
                properties
                    .map(|(name, schema)| Some((name.clone(), inner(schema)?)))
                    .collect::<Option<Map<_, _>>>()?
                    .into()
            }
            "items" => inner(value)?,
            // What is beside it would have to hold for each of them.
            "anyOf" if keywords.contains_key("type") => return None,
            "anyOf" => value.as_array()?.iter().map(&mut inner).collect::<Option<Vec<_>>>()?.into(),
            "enum" => {
                let values = value.as_array()?;
                left.values = left.values.checked_sub(values.len())?;
                Some(value).filter(|_| values.iter().all(Value::is_string))?.clone()
            }
            "const" if value.is_string() => {
                closed.insert("enum".to_owned(), json!([value]));
                continue;
            }
            "title" | "description" => Value::from(value.as_str()?),
            known if KEYWORDS.contains(&known) => value.clone(),
            _ => return None,
        };
        closed.insert(name.clone(), value);
    }
    let closed = Value::Object(closed);
    is_closed(&closed).then_some(closed)
}

/// Tells whether a schema, if it is of an object, has all its properties required and allows no others.
fn is_closed(schema: &Value) -> bool {
    let types: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        // Anything goes, which no provider takes.
        _ => return schema["enum"].is_array() || schema["anyOf"].is_array(),
    };
    if types.contains(&"array") && schema["items"].is_null() {
        return false;
    }
    if !types.contains(&"object") {
        return true;
    }
    let Some(properties) = schema["properties"].as_object() else { return false };
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    schema["additionalProperties"] == false
        && required.len() == properties.len()
        && properties.keys().all(|name| required.iter().any(|known| known == name.as_str()))
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::output_limit::tests::request;
    use bowline_core::ToolDefinition;

    /// Returns a request with the schema of an output, with or without a tool.
    pub(crate) fn asking(model: Value, has_tool: bool) -> ModelRequest {
        let parameters = json!({"type": "object"});
        let tool = ToolDefinition { name: "ls".into(), description: "d".into(), parameters, strict: None };
        ModelRequest {
            output_schema: Some(Arc::new(sample())),
            tools: has_tool.then_some(tool).into_iter().collect(),
            ..request(model)
        }
    }

    /// Returns a schema that every provider takes.
    pub(crate) fn sample() -> Value {
        object(&json!({"n": {"type": "integer"}}))
    }

    #[track_caller]
    fn check(schema: &Value, expected: Option<&Value>) {
        assert_eq!(closed(schema).as_ref(), expected, "{schema}");
    }

    fn object(properties: &Value) -> Value {
        let names: Vec<_> = properties.as_object().unwrap().keys().collect();
        json!({"type": "object", "properties": properties, "required": names, "additionalProperties": false})
    }

    #[test]
    fn schemas_go_to_models_that_are_known_to_take_them_unless_the_settings_differ() {
        let is_sent = |model: Value| schema_for(&asking(model, true), is_openai).is_some();
        let openai =
            |id: &str| json!({"id": id, "provider": "openai", "baseUrl": "https://api.openai.com/v1"});
        assert!(is_sent(openai("gpt-5.5")) && is_sent(openai("gpt-4.1")) && is_sent(openai("o3")));
        assert!(
            !is_sent(openai("gpt-4"))
                && !is_sent(openai("gpt-4-turbo"))
                && !is_sent(openai("gpt-4o-2024-05-13"))
        );
        assert!(!is_sent(json!({"id": "gpt-5.5", "provider": "openai", "baseUrl": "http://localhost/v1"})));
        assert!(!is_sent(json!({"id": "gpt-5.5", "provider": "openrouter"})));
        assert!(is_sent(json!({"id": "x", "provider": "mine", "compat": {"supportsOutputSchema": true}})));
        let mut refused = openai("gpt-5.5");
        refused["compat"] = json!({"supportsOutputSchema": false});
        assert!(!is_sent(refused));
    }

    #[test]
    fn closed_objects_are_sent_with_their_references_resolved() {
        let plain = object(
            &json!({"a": {"type": ["string", "null"]}, "b": {"type": "array", "items": {"enum": ["x"]}}}),
        );
        check(&plain, Some(&plain));
        let mut referring = object(&json!({"a": {"$ref": "#/$defs/A"}, "k": {"const": "x", "default": "x"}}));
        referring["$defs"] = json!({"A": object(&json!({"n": {"type": "integer"}}))});
        referring["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
        check(
            &referring,
            Some(&object(&json!({"a": object(&json!({"n": {"type": "integer"}})), "k": {"enum": ["x"]}}))),
        );
    }

    #[test]
    fn what_a_provider_may_refuse_is_not_sent() {
        let string = json!({"type": "string"});
        for schema in [
            json!({"type": "array", "items": string}),
            json!({"type": "object", "properties": {"a": string}, "required": ["a"]}),
            json!({"type": "object", "properties": {"a": string}, "required": [], "additionalProperties": false}),
            object(&json!({"a": {"type": "string", "minLength": 2}})),
            object(&json!({"a": {"type": "string", "pattern": "x"}})),
            object(&json!({"a": {"type": "array"}})),
            object(&json!({"a": {}})),
            object(&json!({"a": {"$ref": "#"}})),
            object(&json!({"a": {"type": "object"}})),
            json!({"anyOf": [object(&json!({}))]}),
            json!({"type": "object", "anyOf": [object(&json!({}))], "properties": {}, "required": [], "additionalProperties": false}),
            object(&json!({"a": {"type": "string", "anyOf": [string]}})),
            object(&json!({"a": {"type": "string", "description": 1}})),
            object(&json!({"a": {"type": "string", "description": "x".repeat(LARGEST)}})),
            object(&json!({"a": {"enum": (0..=MOST_VALUES).map(|n| n.to_string()).collect::<Vec<_>>()}})),
            object(
                &(0..=MOST_UNIONS).map(|n| (n.to_string(), json!({"type": ["string", "null"]}))).collect(),
            ),
        ] {
            check(&schema, None);
        }
    }
}
