//! Adapts the schemas of tools to APIs that accept only a part of JSON Schema.

use serde_json::{Map, Value};

/// How deep a schema is followed, and the cost of a reference: references may be circular, and branch.
const DEEPEST: usize = 32;
const REFERENCE: usize = 8;

/// The keywords of JSON Schema that Gemini supports.
const GEMINI: &[&str] = &[
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "maxItems",
    "minItems",
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "anyOf",
    "items",
    "minimum",
    "maximum",
];

/// The formats that Gemini supports; it rejects others.
const GEMINI_FORMATS: &[&str] = &["enum", "date-time", "float", "double", "int32", "int64"];

/// Returns whether a schema is closed, as OpenAI's strict mode demands: every object lists all its properties as
/// required and allows no others.
pub(super) fn is_strict(schema: &Value) -> bool {
    is_strict_below(schema, 0)
}

fn is_strict_below(schema: &Value, depth: usize) -> bool {
    let Value::Object(fields) = schema else { return true };
    if depth > DEEPEST || fields.contains_key("$ref") {
        return false;
    }
    if schema["type"] == "object" || fields.contains_key("properties") {
        let Some(properties) = schema["properties"].as_object() else { return false };
        let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
        let all = properties.keys().all(|name| required.iter().any(|known| known == name.as_str()));
        if !all || schema["additionalProperties"] != false {
            return false;
        }
        if !properties.values().all(|property| is_strict_below(property, depth + 1)) {
            return false;
        }
    }
    let lists = ["anyOf", "oneOf", "allOf"].iter().filter_map(|name| schema[name].as_array());
    lists.flatten().chain(fields.get("items")).all(|inner| is_strict_below(inner, depth + 1))
}

/// Returns a schema in the subset of JSON Schema that Gemini accepts; `None` for a tool without parameters.
/// Unsupported keywords are dropped: the tool checks its arguments anyway.
pub(super) fn for_gemini(schema: &Value) -> Option<Value> {
    let has_parameters = schema["properties"].as_object().is_some_and(|properties| !properties.is_empty());
    has_parameters.then(|| simplify(schema, schema, 0))
}

fn simplify(schema: &Value, root: &Value, depth: usize) -> Value {
    let Value::Object(fields) = schema else { return Value::Object(Map::new()) };
    if depth > DEEPEST {
        return Value::Object(Map::new());
    }
    if let Some(target) = fields.get("$ref").and_then(Value::as_str).and_then(|path| resolve(path, root)) {
        return simplify(target, root, depth + REFERENCE);
    }
    let mut simple = Map::new();
    for (name, value) in fields {
        let inner = |value: &Value| simplify(value, root, depth + 1);
        match (name.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                let all = properties.iter().map(|(name, value)| (name.clone(), inner(value)));
                simple.insert(name.clone(), Value::Object(all.collect()));
            }
            ("items", value) => {
                simple.insert(name.clone(), inner(value));
            }
            ("anyOf" | "oneOf", Value::Array(choices)) => add_choices(choices, &inner, &mut simple),
            ("type", Value::Array(types)) => add_types(types, &mut simple),
            ("const", Value::String(_)) => {
                simple.insert("enum".to_owned(), Value::Array(vec![value.clone()]));
            }
            ("enum", Value::Array(values)) if !values.iter().all(Value::is_string) => {}
            ("format", Value::String(format)) if !GEMINI_FORMATS.contains(&format.as_str()) => {}
            (known, value) if GEMINI.contains(&known) => {
                simple.insert(name.clone(), value.clone());
            }
            _ => {}
        }
    }
    if simple.contains_key("enum") && !simple.contains_key("type") {
        simple.insert("type".to_owned(), Value::from("string"));
    }
    Value::Object(simple)
}

/// Adds alternatives; `null` among them only means that the value is optional.
fn add_choices(choices: &[Value], inner: &dyn Fn(&Value) -> Value, simple: &mut Map<String, Value>) {
    let real: Vec<&Value> = choices.iter().filter(|choice| choice["type"] != "null").collect();
    if real.len() < choices.len() {
        simple.insert("nullable".to_owned(), Value::Bool(true));
    }
    match &real[..] {
        [] => {}
        [only] => {
            if let Value::Object(fields) = inner(only) {
                simple.extend(fields);
            }
        }
        several => {
            let all = several.iter().map(|choice| inner(choice)).collect();
            simple.insert("anyOf".to_owned(), Value::Array(all));
        }
    }
}

/// Adds a list of types, of which Gemini accepts one at a time.
fn add_types(types: &[Value], simple: &mut Map<String, Value>) {
    let real: Vec<&Value> = types.iter().filter(|kind| *kind != "null").collect();
    if real.len() < types.len() {
        simple.insert("nullable".to_owned(), Value::Bool(true));
    }
    match &real[..] {
        [] => {}
        [only] => {
            simple.insert("type".to_owned(), (*only).clone());
        }
        several => {
            let choice =
                |kind: &&Value| Value::Object(Map::from_iter([("type".to_owned(), (*kind).clone())]));
            simple.insert("anyOf".to_owned(), Value::Array(several.iter().map(choice).collect()));
        }
    }
}

/// Returns the target of a reference within the schema.
fn resolve<'a>(path: &str, root: &'a Value) -> Option<&'a Value> {
    root.pointer(path.strip_prefix('#')?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn strict_schema_is_closed() {
        let strict = |schema: Value| is_strict(&schema);
        assert!(strict(json!({"type": "object", "properties": {}, "additionalProperties": false})));
        let inner = json!({"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"], "additionalProperties": false});
        assert!(strict(
            json!({"type": "object", "properties": {"a": {"type": "array", "items": inner}}, "required": ["a"], "additionalProperties": false})
        ));
        assert!(!strict(json!({"type": "object", "properties": {}})));
        assert!(!strict(json!({"type": "object", "properties": {"a": {}}, "additionalProperties": false})));
        let open = json!({"type": "object", "properties": {}});
        assert!(!strict(
            json!({"type": "object", "properties": {"a": open}, "required": ["a"], "additionalProperties": false})
        ));
    }

    #[test]
    fn gemini_gets_only_supported_keywords() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
            "additionalProperties": false, "required": ["a"],
            "$defs": {"Mode": {"enum": ["x", "y"]}, "Loop": {"type": "array", "items": {"$ref": "#/$defs/Loop"}}},
            "properties": {
                "a": {"type": ["string", "null"], "format": "uri", "examples": ["x"], "default": "x"},
                "b": {"anyOf": [{"type": "integer", "exclusiveMinimum": 0}, {"type": "null"}]},
                "c": {"$ref": "#/$defs/Mode"},
                "d": {"oneOf": [{"const": "one"}, {"type": "number"}]},
                "e": {"enum": [1, 2], "type": "integer"},
                "f": {"type": ["string", "number"]},
            },
        });
        let expected = json!({
            "type": "object", "required": ["a"],
            "properties": {
                "a": {"nullable": true, "type": "string"},
                "b": {"nullable": true, "type": "integer"},
                "c": {"enum": ["x", "y"], "type": "string"},
                "d": {"anyOf": [{"enum": ["one"], "type": "string"}, {"type": "number"}]},
                "e": {"type": "integer"},
                "f": {"anyOf": [{"type": "string"}, {"type": "number"}]},
            },
        });
        assert_eq!(for_gemini(&schema).unwrap(), expected);
        assert_eq!(for_gemini(&json!({"type": "object", "properties": {}})), None);
        let circle = json!({"properties": {"l": {"$ref": "#/$defs/Loop"}}, "$defs": schema["$defs"]});
        assert!(for_gemini(&circle).unwrap().to_string().len() < 10_000);
    }
}
