//! The parameters of a tool as a table, which gives both the JSON Schema for the model and the check of the arguments that
//! it sends. Harmless deviations are converted (`"10"` for `10`, `null` for absent); otherwise the error lists every
//! invalid field at once.

use bowline_core::message::Arguments;
use serde_json::{Map, Value, json};

use crate::error::Error;

/// How much of the received arguments an error echoes.
const ECHO_LIMIT: usize = 1000;

/// One parameter.
pub(crate) struct Parameter {
    pub name: &'static str,
    pub kind: Kind,
    pub required: bool,
    /// For the model; empty if the name is enough.
    pub description: &'static str,
}

/// The type of a parameter.
pub(crate) enum Kind {
    Text,
    /// A non-negative integer.
    Integer,
    Number,
    Boolean,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A list of texts.
    Texts,
    /// A list of objects with these fields.
    Objects(&'static [Parameter]),
}

impl Parameter {
    pub(crate) const fn required(name: &'static str, kind: Kind, description: &'static str) -> Self {
        Self { name, kind, required: true, description }
    }

    pub(crate) const fn optional(name: &'static str, kind: Kind, description: &'static str) -> Self {
        Self { name, kind, required: false, description }
    }
}

impl Kind {
    fn noun(&self) -> String {
        let noun = match self {
            Self::Text => "a string",
            Self::Integer => "a non-negative integer",
            Self::Number => "a number",
            Self::Boolean => "true or false",
            Self::OneOf(words) => return format!("one of {}", words.join(", ")),
            Self::Texts => "a list of strings",
            Self::Objects(_) => "a list of objects",
        };
        noun.to_owned()
    }

    fn schema(&self) -> Map<String, Value> {
        let schema = match self {
            Self::Text => json!({"type": "string"}),
            Self::Integer => json!({"type": "integer", "minimum": 0}),
            Self::Number => json!({"type": "number"}),
            Self::Boolean => json!({"type": "boolean"}),
            Self::OneOf(words) => json!({"enum": words}),
            Self::Texts => json!({"type": "array", "items": {"type": "string"}}),
            Self::Objects(fields) => json!({"type": "array", "items": schema(fields)}),
        };
        match schema {
            Value::Object(schema) => schema,
            _ => Map::new(),
        }
    }
}

/// Returns the JSON Schema of an object with these parameters.
pub(crate) fn schema(parameters: &[Parameter]) -> Value {
    let mut properties = Map::new();
    for parameter in parameters {
        let mut property = parameter.kind.schema();
        if !parameter.description.is_empty() {
            property.insert("description".into(), parameter.description.into());
        }
        properties.insert(parameter.name.into(), property.into());
    }
    let required: Vec<_> =
        parameters.iter().filter(|parameter| parameter.required).map(|parameter| parameter.name).collect();
    let mut schema = Map::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), properties.into());
    if !required.is_empty() {
        schema.insert("required".into(), required.into());
    }
    schema.into()
}

/// Returns the arguments converted to the declared types, or an error that lists each invalid one.
pub(crate) fn check(tool: &str, parameters: &[Parameter], arguments: Arguments) -> Result<Arguments, Error> {
    let mut problems = Vec::new();
    let received = arguments.clone();
    let checked = check_object(parameters, arguments, "", &mut problems);
    if problems.is_empty() {
        return Ok(checked);
    }
    let names: Vec<_> = parameters.iter().map(|parameter| parameter.name).collect();
    Err(Error::Arguments(format!(
        "`{tool}` was not run because its arguments are invalid:\n{}\nIt takes: {}.\nReceived: {}",
        problems.join("\n"),
        names.join(", "),
        echo(&received),
    )))
}

fn check_object(
    parameters: &[Parameter],
    mut object: Map<String, Value>,
    place: &str,
    problems: &mut Vec<String>,
) -> Map<String, Value> {
    let mut checked = Map::new();
    for parameter in parameters {
        let place = format!("{place}{}", parameter.name);
        let value = object.shift_remove(parameter.name).filter(|value| !value.is_null());
        match value {
            None if parameter.required => {
                problems.push(format!("- {place}: missing; it must be {}", parameter.kind.noun()));
            }
            None => {}
            Some(value) => {
                if let Some(value) = check_value(&parameter.kind, value, &place, problems) {
                    checked.insert(parameter.name.into(), value);
                }
            }
        }
    }
    checked
}

fn check_value(kind: &Kind, value: Value, place: &str, problems: &mut Vec<String>) -> Option<Value> {
    let fitting = match (kind, &value) {
        (Kind::Text, Value::String(_))
        | (Kind::Boolean, Value::Bool(_))
        | (Kind::Number, Value::Number(_)) => {
            return Some(value);
        }
        (Kind::Text, Value::Number(_) | Value::Bool(_)) => Some(Value::String(value.to_string())),
        (Kind::Integer, Value::Number(number)) => number.as_f64().and_then(whole),
        (Kind::Integer, Value::String(text)) => text.trim().parse().ok().and_then(whole),
        (Kind::Number, Value::String(text)) => {
            text.trim().parse().ok().and_then(serde_json::Number::from_f64).map(Value::Number)
        }
        (Kind::Boolean, Value::String(text)) => {
            text.trim().to_ascii_lowercase().parse().ok().map(Value::Bool)
        }
        (Kind::OneOf(words), Value::String(text)) if words.contains(&text.as_str()) => return Some(value),
        (Kind::Texts, Value::Array(items)) if items.iter().all(Value::is_string) => return Some(value),
        (Kind::Objects(fields), Value::Array(_)) => return check_list(fields, value, place, problems),
        _ => None,
    };
    if fitting.is_none() {
        problems.push(format!(
            "- {place}: must be {}, but is {}",
            kind.noun(),
            shorten(&value.to_string(), 100)
        ));
    }
    fitting
}

fn check_list(fields: &[Parameter], list: Value, place: &str, problems: &mut Vec<String>) -> Option<Value> {
    let Value::Array(items) = list else { return None };
    let mut checked = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        match item {
            Value::Object(object) => {
                let place = format!("{place}[{index}].");
                checked.push(check_object(fields, object, &place, problems).into());
            }
            other => problems.push(format!(
                "- {place}[{index}]: must be an object, but is {}",
                shorten(&other.to_string(), 100)
            )),
        }
    }
    Some(Value::Array(checked))
}

/// Returns a non-negative integer as JSON; models also write `10.0`.
fn whole(number: f64) -> Option<Value> {
    // 2^53: above it a float cannot represent every integer.
    let fits = number.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&number);
    fits.then(|| Value::from(number as u64))
}

fn echo(arguments: &Arguments) -> String {
    let text = serde_json::to_string(arguments).unwrap_or_default();
    shorten(&text, ECHO_LIMIT)
}

fn shorten(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}… ({} bytes in all)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}

/// Returns a text argument; the check guarantees that required ones are present.
pub(crate) fn text<'a>(arguments: &'a Arguments, name: &str) -> Option<&'a str> {
    arguments.get(name).and_then(Value::as_str)
}

/// Returns an integer argument.
pub(crate) fn integer(arguments: &Arguments, name: &str) -> Option<usize> {
    arguments.get(name).and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok())
}

/// Returns a boolean argument, false if absent.
pub(crate) fn boolean(arguments: &Arguments, name: &str) -> bool {
    arguments.get(name).and_then(Value::as_bool).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    static PAIR: [Parameter; 2] =
        [Parameter::required("oldText", Kind::Text, ""), Parameter::required("newText", Kind::Text, "")];
    static PARAMETERS: [Parameter; 5] = [
        Parameter::required("path", Kind::Text, "The file"),
        Parameter::optional("limit", Kind::Integer, ""),
        Parameter::optional("timeout", Kind::Number, ""),
        Parameter::optional("literal", Kind::Boolean, ""),
        Parameter::optional("edits", Kind::Objects(&PAIR), ""),
    ];

    fn arguments(json: Value) -> Arguments {
        match json {
            Value::Object(arguments) => arguments,
            other => panic!("{other} is not an object"),
        }
    }

    #[track_caller]
    fn check_accepts(given: Value, expected: &Value) {
        assert_eq!(&Value::Object(check("t", &PARAMETERS, arguments(given)).unwrap()), expected);
    }

    #[track_caller]
    fn check_refuses(given: Value, problems: &[&str]) {
        let error = check("t", &PARAMETERS, arguments(given)).unwrap_err().to_string();
        let named: Vec<_> = error.lines().filter(|line| line.starts_with("- ")).collect();
        assert_eq!(named, problems, "{error}");
    }

    #[test]
    fn harmless_deviations_are_accepted() {
        check_accepts(
            json!({"path": "a", "limit": "10", "timeout": "1.5"}),
            &json!({"path": "a", "limit": 10, "timeout": 1.5}),
        );
        check_accepts(
            json!({"path": 7, "limit": 3.0, "literal": "True"}),
            &json!({"path": "7", "limit": 3, "literal": true}),
        );
        check_accepts(json!({"path": "a", "limit": null, "extra": 1}), &json!({"path": "a"}));
    }

    #[test]
    fn every_invalid_field_is_listed() {
        check_refuses(
            json!({"file": "x", "limit": -1, "literal": "maybe", "edits": [{"oldText": "a"}, 3]}),
            &[
                "- path: missing; it must be a string",
                "- limit: must be a non-negative integer, but is -1",
                "- literal: must be true or false, but is \"maybe\"",
                "- edits[0].newText: missing; it must be a string",
                "- edits[1]: must be an object, but is 3",
            ],
        );
    }

    #[test]
    fn received_arguments_are_echoed_up_to_a_limit() {
        let error =
            check("t", &PARAMETERS, arguments(json!({"file": "ü".repeat(5000)}))).unwrap_err().to_string();
        assert!(error.contains("Received: {\"file\":\"ü") && error.len() < 3000, "{error}");
    }

    #[test]
    fn schema_follows_the_table() {
        let schema = schema(&PARAMETERS[..2]);
        assert_eq!(
            schema,
            json!({"type": "object", "properties": {
                "path": {"type": "string", "description": "The file"},
                "limit": {"type": "integer", "minimum": 0},
            }, "required": ["path"]})
        );
    }
}
