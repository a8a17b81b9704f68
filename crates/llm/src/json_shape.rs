//! What the values in `models.json` and `auth.json` must be, and the words for a value that is something else.
//!
//! A deserialiser would describe its own types and not the place in the file. No value is repeated: it may be a key.

use serde_json::Value;

/// What a value must be.
pub(crate) enum Shape {
    Text,
    Switch,
    /// A whole number.
    Count,
    Number,
    /// A value that satisfies a rule. The error is what it must be, after "must be".
    Rule(fn(&Value) -> Result<(), String>),
    List(&'static Shape),
    /// An object with these members. Others are ignored, unless they resemble one.
    Object(&'static [Member]),
    /// An object whose keys are names that the user chooses.
    Named(&'static Shape),
}

/// A member of an object.
pub(crate) struct Member {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    /// A value in JSON that is shown after an error.
    pub(crate) example: &'static str,
}

/// What is wrong with a value, and where it is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The keys that lead to it, as in `providers.home.models[0]`; empty for the whole file.
    pub(crate) place: String,
    pub(crate) reason: String,
}

impl Member {
    /// Returns a member.
    pub(crate) const fn new(name: &'static str, shape: Shape, example: &'static str) -> Self {
        Self { name, shape, example }
    }
}

impl Problem {
    pub(crate) fn new(place: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { place: place.into(), reason: reason.into() }
    }
}

/// Parses JSON and checks its shape. `example` is a whole file. A member that is `null` is removed: as in pi, that is
/// the same as no value.
pub(crate) fn parse(text: &str, shape: &Shape, example: &str) -> Result<Value, Problem> {
    let mut value: Value = serde_json::from_str(text).map_err(|error| not_json(&error))?;
    check(&mut value, shape, "", example)?;
    Ok(value)
}

/// Returns the problem of a text that is not JSON.
pub(crate) fn not_json(error: &serde_json::Error) -> Problem {
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    let reason = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text);
    let reason = match reason {
        "EOF while parsing an object" | "EOF while parsing a list" | "EOF while parsing a value" => {
            "a closing bracket is missing at the end"
        }
        "EOF while parsing a string" => "a closing quotation mark is missing",
        "expected value" => "a value is missing or is not in quotation marks",
        "key must be a string" => "a key must be in quotation marks",
        "trailing characters" => "there is more after the closing bracket",
        "control character (\\u0000-\\u001F) found while parsing a string" => {
            "a text contains a line break or a tab; write them as \\n and \\t"
        }
        other => other,
    };
    Problem::new("", format!("this is not JSON at line {line}, column {column}: {reason}"))
}

/// Checks the shape of a value. `place` leads to it and `example` is a value like it.
pub(crate) fn check(value: &mut Value, shape: &Shape, place: &str, example: &str) -> Result<(), Problem> {
    let wrong = |expected: &str| {
        Err(Problem::new(
            place,
            format!("this must be {expected}, for example {}", in_context(place, example)),
        ))
    };
    match (shape, value) {
        (Shape::Text, Value::String(_))
        | (Shape::Switch, Value::Bool(_))
        | (Shape::Number, Value::Number(_)) => {}
        (Shape::Count, Value::Number(number)) if number.is_u64() => {}
        (Shape::Rule(rule), value) => return rule(value).or_else(|expected| wrong(&expected)),
        (Shape::List(item), Value::Array(values)) => {
            let example = first_item(example);
            for (index, value) in values.iter_mut().enumerate() {
                check(value, item, &format!("{place}[{index}]"), &example)?;
            }
        }
        (Shape::Named(item), Value::Object(members)) => {
            let example = first_item(example);
            for (name, value) in members {
                check(value, item, &below(place, name), &example)?;
            }
        }
        (Shape::Object(known), Value::Object(members)) => {
            let mistyped = members.keys().find_map(|name| Some((name, meant(name, known)?)));
            if let Some((name, meant)) = mistyped {
                let reason = format!("the key \"{name}\" must be written \"{meant}\"");
                return Err(Problem::new(place, reason));
            }
            members.retain(|_, value| !value.is_null());
            for member in *known {
                if let Some(value) = members.get_mut(member.name) {
                    check(value, &member.shape, &below(place, member.name), member.example)?;
                }
            }
        }
        (Shape::Text, _) => return wrong("a text"),
        (Shape::Switch, _) => return wrong("true or false"),
        (Shape::Count, _) => return wrong("a whole number"),
        (Shape::Number, _) => return wrong("a number"),
        (Shape::List(_), _) => return wrong("a list"),
        (Shape::Named(_) | Shape::Object(_), _) => return wrong("an object"),
    }
    Ok(())
}

/// Returns the key that a mistyped one stands for: `base_url` for `baseUrl`, `provider` for `providers`.
fn meant(name: &str, known: &[Member]) -> Option<&'static str> {
    let letters = |name: &str| {
        let plain: String = name.chars().filter(|letter| *letter != '_' && *letter != '-').collect();
        plain.to_lowercase().trim_end_matches('s').to_owned()
    };
    let is_known = known.iter().any(|member| member.name == name);
    let resembles = |member: &&Member| !is_known && letters(member.name) == letters(name);
    known.iter().find(resembles).map(|member| member.name)
}

/// Returns an example with the key that it is the value of.
fn in_context(place: &str, example: &str) -> String {
    match place.rsplit('.').next() {
        Some(key) if !key.is_empty() && !key.ends_with(']') => format!("\"{key}\": {example}"),
        _ => example.to_owned(),
    }
}

/// Returns an example of what an example contains.
fn first_item(example: &str) -> String {
    let item = match serde_json::from_str(example) {
        Ok(Value::Array(items)) => items.into_iter().next(),
        Ok(Value::Object(members)) => members.into_iter().next().map(|(_, value)| value),
        _ => None,
    };
    item.unwrap_or_default().to_string()
}

fn below(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape::Object(&[Member::new(
        "things",
        Shape::Named(&Shape::Object(&[
            Member::new("name", Shape::Text, r#""x""#),
            Member::new("sizes", Shape::List(&Shape::Count), "[3]"),
            Member::new("isOpen", Shape::Switch, "true"),
        ])),
        r#"{"box": {"name": "x"}}"#,
    )]);

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let problem = parse(text, &SHAPE, r#"{"things": {}}"#).unwrap_err();
        assert_eq!(format!("{}: {}", problem.place, problem.reason), expected);
    }

    #[test]
    fn problems_name_the_place_and_an_example() {
        check("[]", r#": this must be an object, for example {"things": {}}"#);
        check(
            r#"{"things": 1}"#,
            r#"things: this must be an object, for example "things": {"box": {"name": "x"}}"#,
        );
        check(
            r#"{"things": {"a": "secret"}}"#,
            r#"things.a: this must be an object, for example "a": {"name":"x"}"#,
        );
        check(
            r#"{"things": {"a": {"name": ["secret"]}}}"#,
            r#"things.a.name: this must be a text, for example "name": "x""#,
        );
        check(
            r#"{"things": {"a": {"sizes": [1, -2]}}}"#,
            "things.a.sizes[1]: this must be a whole number, for example 3",
        );
        check(r#"{"thing": {}}"#, r#": the key "thing" must be written "things""#);
        check(
            r#"{"things": {"a": {"is_open": true}}}"#,
            r#"things.a: the key "is_open" must be written "isOpen""#,
        );
        check(
            "{\n\"things\": {",
            ": this is not JSON at line 2, column 11: a closing bracket is missing at the end",
        );
    }

    #[test]
    fn null_is_no_value_and_unknown_members_are_ignored() {
        let value = parse(r#"{"things": {"a": {"name": null}}, "other": 1}"#, &SHAPE, "").unwrap();
        assert_eq!(value, serde_json::json!({ "things": { "a": {} }, "other": 1 }));
    }
}
