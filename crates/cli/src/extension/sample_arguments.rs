//! Arguments that satisfy the schema of a tool, to try the tool out.

use bowline_core::message::Arguments;
use serde_json::{Map, Value, json};

/// How deep schemas are followed.
const DEEPEST: usize = 8;

/// The file in the folder of a trial, which paths in arguments name.
pub(super) const SAMPLE_FILE: &str = "sample.txt";

/// Returns arguments for a tool with these parameters: what is required, and nothing else.
pub(super) fn of(parameters: &Value) -> Arguments {
    let Value::Object(sample) = value("", parameters, parameters, 0) else { return Arguments::default() };
    sample.into_iter().collect()
}

fn value(name: &str, schema: &Value, root: &Value, depth: usize) -> Value {
    if depth > DEEPEST {
        return Value::Null;
    }
    for given in ["const", "default"] {
        if let Some(given) = schema.get(given) {
            return given.clone();
        }
    }
    for list in ["examples", "enum"] {
        if let Some(first) = schema.get(list).and_then(|list| list.get(0)) {
            return first.clone();
        }
    }
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        let target = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return target.map_or(Value::Null, |target| value(name, target, root, depth + 1));
    }
    for choice in ["anyOf", "oneOf", "allOf"] {
        if let Some(first) = schema.get(choice).and_then(|choices| choices.get(0)) {
            return value(name, first, root, depth + 1);
        }
    }
    let kind = schema.get("type").map(|kind| kind.get(0).unwrap_or(kind)).and_then(Value::as_str);
    match kind {
        Some("string") => text(name, schema).into(),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or_else(|| json!(1)),
        Some("boolean") => false.into(),
        Some("array") => {
            let items = schema.get("items").filter(|items| items.is_object());
            items.map(|items| value(name, items, root, depth + 1)).into_iter().collect()
        }
        Some("object") => object(schema, root, depth).into(),
        _ if schema.get("properties").is_some() => object(schema, root, depth).into(),
        _ => Value::Null,
    }
}

fn object(schema: &Value, root: &Value, depth: usize) -> Map<String, Value> {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let names = required.filter_map(Value::as_str);
    let member = |name: &str| {
        let schema = schema.get("properties").and_then(|properties| properties.get(name));
        (name.to_owned(), value(name, schema.unwrap_or(&Value::Null), root, depth + 1))
    };
    names.map(member).collect()
}

fn text(name: &str, schema: &Value) -> String {
    let name = name.to_ascii_lowercase();
    let mut text =
        if name.contains("path") || name.contains("file") { SAMPLE_FILE } else { "sample" }.to_owned();
    let least = schema.get("minLength").and_then(Value::as_u64).unwrap_or_default().min(1000);
    while (text.len() as u64) < least {
        text.push('x');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "callers pass `json!` values")]
    fn check(schema: Value, expected: Value) {
        assert_eq!(json!(of(&schema)), expected);
    }

    #[test]
    fn arguments_are_what_the_schema_requires() {
        check(json!({ "type": "object", "properties": { "x": { "type": "string" } } }), json!({}));
        check(
            json!({
                "type": "object",
                "properties": {
                    "path": { "type": "string" },
                    "count": { "type": "integer", "minimum": 3 },
                    "kind": { "enum": ["a", "b"] },
                    "tags": { "type": "array", "items": { "type": "string", "minLength": 8 } },
                    "either": { "anyOf": [{ "type": "boolean" }, { "type": "null" }] },
                    "shape": { "$ref": "#/$defs/Shape" },
                },
                "required": ["path", "count", "kind", "tags", "either", "shape"],
                "$defs": { "Shape": {
                    "type": "object", "required": ["side"], "properties": { "side": { "type": ["number", "null"] } }
                } },
            }),
            json!({
                "path": "sample.txt", "count": 3, "kind": "a", "tags": ["samplexx"], "either": false,
                "shape": { "side": 1 },
            }),
        );
    }

    #[test]
    fn schemas_without_end_and_without_sense_have_an_end() {
        check(json!({ "$ref": "#" }), json!({}));
        check(json!([1]), json!({}));
        let endless = json!({ "type": "object", "required": ["a"], "properties": { "a": { "$ref": "#" } } });
        assert!(of(&endless).contains_key("a"));
    }
}
