//! Checks the arguments of a call against the JSON Schema of a tool. Harmless deviations are converted, as those of the
//! built-in tools are: `"10"` for `10`, `5` for `"5"`, `null` for what is absent.
//!
//! Only the keywords that tools use are looked at; others allow everything.

use bowline_core::message::Arguments;
use serde_json::{Map, Value};

use crate::wording::{self, shorten, shown};

/// How much of all arguments an error shows.
const SHOWN_ARGUMENTS: usize = 1000;

/// The most problems that an error lists.
const MOST_PROBLEMS: usize = 20;

/// Returns the arguments converted to the declared types, or an error that lists what is wrong.
pub fn check(tool: &str, schema: &Value, arguments: Arguments) -> Result<Arguments, String> {
    let mut problems = Vec::new();
    let received = arguments.clone();
    let checked = check_value(schema, Value::Object(arguments), "", &mut problems);
    if let (Value::Object(arguments), true) = (checked, problems.is_empty()) {
        return Ok(arguments);
    }
    problems.truncate(MOST_PROBLEMS);
    let received = shorten(&Value::Object(received).to_string(), SHOWN_ARGUMENTS);
    Err(format!(
        "`{tool}` was not run because its arguments are invalid:\n{}\nReceived: {received}",
        problems.join("\n")
    ))
}

/// Checks a value and returns it converted. Problems are added to `problems`.
fn check_value(schema: &Value, value: Value, place: &str, problems: &mut Vec<String>) -> Value {
    let Some(keywords) = schema.as_object() else { return value };
    for key in ["anyOf", "oneOf"] {
        if let Some(choices) = keywords.get(key).and_then(Value::as_array) {
            return check_choices(choices, value, place, problems);
        }
    }
    let value = convert(keywords.get("type"), value);
    if let Some(kind) = keywords.get("type").filter(|kind| !has_type(&value, kind)) {
        problems.push(format!("- {}: must be {}, but is {}", name(place), noun(kind), shown(&value)));
        return value;
    }
    if let Some(wanted) = keywords.get("const").filter(|wanted| **wanted != value) {
        problems.push(format!("- {}: must be {wanted}, but is {}", name(place), shown(&value)));
    }
    if let Some(wanted) = keywords.get("enum").and_then(Value::as_array).filter(|list| !list.contains(&value))
    {
        let wanted: Vec<_> = wanted.iter().map(shown).collect();
        let (place, wanted) = (name(place), wanted.join(", "));
        problems.push(format!("- {place}: must be one of {wanted}, but is {}", shown(&value)));
    }
    check_size(keywords, &value, place, problems);
    match value {
        Value::Object(members) => check_members(keywords, members, place, problems).into(),
        Value::Array(items) => match keywords.get("items") {
            Some(schema) => {
                let items = items.into_iter().enumerate();
                items
                    .map(|(index, item)| check_value(schema, item, &format!("{place}[{index}]"), problems))
                    .collect()
            }
            None => Value::Array(items),
        },
        value => value,
    }
}

/// Checks a value against several schemas, one of which must fit.
fn check_choices(choices: &[Value], value: Value, place: &str, problems: &mut Vec<String>) -> Value {
    let mut first = None;
    for choice in choices {
        let mut own = Vec::new();
        let checked = check_value(choice, value.clone(), place, &mut own);
        if own.is_empty() {
            return checked;
        }
        first.get_or_insert(own);
    }
    problems.extend(first.unwrap_or_default());
    value
}

fn check_members(
    keywords: &Map<String, Value>,
    members: Map<String, Value>,
    place: &str,
    problems: &mut Vec<String>,
) -> Map<String, Value> {
    let properties = keywords.get("properties").and_then(Value::as_object);
    let required: Vec<&str> = keywords
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let inner = |name: &str| if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
    let mut checked = Map::new();
    for (name, value) in members {
        let place = inner(&name);
        match (properties.and_then(|properties| properties.get(&name)), keywords.get("additionalProperties"))
        {
            (Some(schema), _) => {
                let is_absent = value.is_null() && !required.contains(&&*name) && !allows_null(schema);
                if !is_absent {
                    checked.insert(name, check_value(schema, value, &place, problems));
                }
            }
            (None, Some(Value::Bool(false))) => {
                problems.push(format!("- {place}: there is no such argument"));
            }
            (None, Some(schema)) => {
                checked.insert(name, check_value(schema, value, &place, problems));
            }
            (None, None) => {
                checked.insert(name, value);
            }
        }
    }
    for name in required {
        // One with a wrong value is not missing.
        let known = format!("- {}:", inner(name));
        if !checked.contains_key(name) && !problems.iter().any(|problem| problem.starts_with(&known)) {
            problems.push(format!("- {}: missing", inner(name)));
        }
    }
    checked
}

fn check_size(keywords: &Map<String, Value>, value: &Value, place: &str, problems: &mut Vec<String>) {
    let limit = |key: &str| keywords.get(key).and_then(Value::as_f64);
    #[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^52")]
    let (size, least, most) = match value {
        Value::Number(number) => (number.as_f64(), "minimum", "maximum"),
        Value::String(text) => (Some(text.chars().count() as f64), "minLength", "maxLength"),
        Value::Array(items) => (Some(items.len() as f64), "minItems", "maxItems"),
        _ => return,
    };
    let Some(size) = size else { return };
    if let Some(least) = limit(least).filter(|least| size < *least) {
        problems.push(format!("- {}: must be at least {least}, but is {size}", name(place)));
    }
    if let Some(most) = limit(most).filter(|most| size > *most) {
        problems.push(format!("- {}: must be at most {most}, but is {size}", name(place)));
    }
}

/// Returns a value as the type that a schema wants, if it can be.
fn convert(wanted: Option<&Value>, value: Value) -> Value {
    let Some(kind) = wanted.and_then(Value::as_str) else { return value };
    match (kind, &value) {
        ("string", Value::Number(_) | Value::Bool(_)) => Value::String(value.to_string()),
        ("integer", Value::Number(number)) => number.as_f64().and_then(whole).unwrap_or(value),
        ("integer", Value::String(text)) => text.trim().parse().ok().and_then(whole).unwrap_or(value),
        ("number", Value::String(text)) => {
            let number = text.trim().parse().ok().and_then(serde_json::Number::from_f64);
            number.map_or(value, Value::Number)
        }
        ("boolean", Value::String(text)) => {
            text.trim().to_ascii_lowercase().parse().ok().map_or(value, Value::Bool)
        }
        _ => value,
    }
}

/// Returns a whole number as JSON; models also write `10.0`.
fn whole(number: f64) -> Option<Value> {
    // 2^53: above it a float cannot represent every integer.
    let fits = number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and small enough")]
    fits.then(|| Value::from(number as i64))
}

fn has_type(value: &Value, kind: &Value) -> bool {
    match kind {
        Value::Array(kinds) => kinds.iter().any(|kind| has_type(value, kind)),
        // A whole number is one without a point here, because tools read it as one.
        kind => match kind.as_str() {
            Some("integer") => value.is_i64() || value.is_u64(),
            Some(kind) if wording::noun(kind).is_some() => crate::check::has_type(value, kind),
            _ => true,
        },
    }
}

fn allows_null(schema: &Value) -> bool {
    let choices = ["anyOf", "oneOf"].into_iter().find_map(|key| schema[key].as_array());
    if let Some(choices) = choices {
        return choices.iter().any(allows_null);
    }
    schema.get("type").is_none_or(|kind| has_type(&Value::Null, kind))
        && schema["enum"].as_array().is_none_or(|values| values.contains(&Value::Null))
}

fn noun(kind: &Value) -> String {
    match kind {
        Value::Array(kinds) => kinds.iter().map(noun).collect::<Vec<_>>().join(" or "),
        kind => match kind.as_str().and_then(wording::noun) {
            Some(noun) => noun.to_owned(),
            None => kind.to_string(),
        },
    }
}

fn name(place: &str) -> &str {
    if place.is_empty() { "the arguments" } else { place }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "minLength": 1},
                "limit": {"type": "integer", "minimum": 1, "maximum": 10},
                "mode": {"enum": ["a", "b"]},
                "deep": {"type": "object", "properties": {"on": {"type": "boolean"}}, "additionalProperties": false},
                "list": {"type": "array", "items": {"type": "number"}, "maxItems": 2},
                "either": {"anyOf": [{"type": "boolean"}, {"type": "integer"}]},
                "nullable": {"type": ["string", "null"]},
            },
            "required": ["path"],
        })
    }

    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "callers pass `json!` values")]
    fn check_arguments(arguments: Value, expected: Result<Value, &str>) {
        let arguments = arguments.as_object().unwrap().clone();
        let checked = check("t", &schema(), arguments);
        match (checked, expected) {
            (Ok(checked), Ok(expected)) => assert_eq!(Value::Object(checked), expected),
            (Err(error), Err(problem)) => assert!(error.contains(problem), "{error}"),
            (checked, expected) => panic!("{checked:?} is not {expected:?}"),
        }
    }

    #[test]
    fn harmless_deviations_are_converted() {
        check_arguments(
            json!({"path": 5, "limit": "3", "deep": {"on": "True"}, "list": ["1", 2.5], "mode": null, "other": 1}),
            Ok(json!({"path": "5", "limit": 3, "deep": {"on": true}, "list": [1.0, 2.5], "other": 1})),
        );
        check_arguments(json!({"path": "a", "limit": 2.0}), Ok(json!({"path": "a", "limit": 2})));
        check_arguments(
            json!({"path": "a", "either": "7", "nullable": null}),
            Ok(json!({"path": "a", "either": 7, "nullable": null})),
        );
    }

    #[test]
    fn other_deviations_are_errors_that_name_the_place() {
        check_arguments(json!({}), Err("- path: missing"));
        // The place of another problem may have its name in it.
        check_arguments(json!({"deep": {"path": 1}}), Err("- path: missing"));
        check_arguments(json!({"path": null}), Err("- path: must be a string, but is null"));
        check_arguments(json!({"path": ["x"]}), Err("- path: must be a string, but is [\"x\"]"));
        check_arguments(json!({"path": ""}), Err("- path: must be at least 1, but is 0"));
        check_arguments(json!({"path": "a", "limit": 0}), Err("- limit: must be at least 1, but is 0"));
        check_arguments(json!({"path": "a", "limit": 1.5}), Err("- limit: must be a whole number"));
        check_arguments(json!({"path": "a", "mode": "c"}), Err("- mode: must be one of \"a\", \"b\""));
        check_arguments(
            json!({"path": "a", "deep": {"off": 1}}),
            Err("- deep.off: there is no such argument"),
        );
        check_arguments(json!({"path": "a", "list": [1, "x"]}), Err("- list[1]: must be a number"));
        check_arguments(json!({"path": "a", "list": [1, 2, 3]}), Err("- list: must be at most 2, but is 3"));
        check_arguments(json!({"path": "a", "either": []}), Err("- either: must be true or false"));
    }
}
