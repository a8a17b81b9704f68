//! Answers that have to be JSON of a given form. Of JSON Schema, the words that describe the form of data are checked:
//! types, properties, items, enumerations and alternatives.

use serde_json::{Map, Value};

/// How often a subagent is asked again for an answer of the right form.
pub(super) const SECOND_TRIES: u32 = 2;

/// Returns what a subagent is told about the form of its answer.
pub(super) fn instruction(schema: &Value) -> String {
    format!(
        "Your last answer must be JSON and nothing else, without a code block around it. It must fit this JSON Schema:\n{schema}"
    )
}

/// Returns what a subagent is told whose answer has another form.
pub(super) fn correction(problem: &str) -> String {
    format!("That answer does not fit the schema: {problem}. Answer again with JSON and nothing else.")
}

/// Returns the JSON in an answer, or why the answer does not fit the schema.
pub(super) fn check<'text>(answer: &'text str, schema: &Value) -> Result<&'text str, String> {
    let text = unfenced(answer.trim());
    let value: Value = serde_json::from_str(text).map_err(|error| format!("it is not JSON ({error})"))?;
    match problem(&value, schema, "the answer") {
        None => Ok(text),
        Some(problem) => Err(problem),
    }
}

/// Returns the content of the last code block, if the text ends with one.
fn unfenced(text: &str) -> &str {
    let Some(body) = text.strip_suffix("```") else { return text };
    let Some((_, block)) = body.rsplit_once("```") else { return text };
    // The language follows the first fence.
    block.split_once('\n').map_or(block, |(_, content)| content).trim()
}

/// Returns what is wrong with a value, if anything.
fn problem(value: &Value, schema: &Value, place: &str) -> Option<String> {
    let schema = match schema {
        Value::Object(schema) => schema,
        Value::Bool(false) => return Some(format!("{place} must not be there")),
        _ => return None,
    };
    wrong_type(value, schema, place)
        .or_else(|| wrong_choice(value, schema, place))
        .or_else(|| wrong_properties(value, schema, place))
        .or_else(|| wrong_items(value, schema, place))
        .or_else(|| wrong_alternative(value, schema, place))
}

fn wrong_type(value: &Value, schema: &Map<String, Value>, place: &str) -> Option<String> {
    let names: Vec<&str> = match schema.get("type")? {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    let is = |name: &&str| match *name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    };
    (!names.iter().any(is)).then(|| format!("{place} must be of the type {}", names.join(" or ")))
}

fn wrong_choice(value: &Value, schema: &Map<String, Value>, place: &str) -> Option<String> {
    if let Some(only) = schema.get("const").filter(|only| *only != value) {
        return Some(format!("{place} must be {only}"));
    }
    let choices = schema.get("enum")?;
    let is_one = choices.as_array().is_none_or(|choices| choices.contains(value));
    (!is_one).then(|| format!("{place} must be one of {choices}"))
}

fn wrong_properties(value: &Value, schema: &Map<String, Value>, place: &str) -> Option<String> {
    let members = value.as_object()?;
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    if let Some(name) = required.filter_map(Value::as_str).find(|name| !members.contains_key(*name)) {
        return Some(format!("{place} has no {name:?}"));
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    members.iter().find_map(|(name, member)| {
        let property = properties.and_then(|properties| properties.get(name));
        let schema = property.or_else(|| schema.get("additionalProperties"))?;
        problem(member, schema, &format!("{place}.{name}"))
    })
}

fn wrong_items(value: &Value, schema: &Map<String, Value>, place: &str) -> Option<String> {
    let (items, schema) = (value.as_array()?, schema.get("items")?);
    let items = items.iter().enumerate();
    items.into_iter().find_map(|(index, item)| problem(item, schema, &format!("{place}[{index}]")))
}

fn wrong_alternative(value: &Value, schema: &Map<String, Value>, place: &str) -> Option<String> {
    if let Some(all) = schema.get("allOf").and_then(Value::as_array)
        && let Some(problem) = all.iter().find_map(|schema| problem(value, schema, place))
    {
        return Some(problem);
    }
    let alternatives = schema.get("anyOf").or_else(|| schema.get("oneOf"))?.as_array()?;
    let fits = alternatives.iter().any(|schema| problem(value, schema, place).is_none());
    (!fits).then(|| format!("{place} fits none of the alternatives"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "files": { "type": "array", "items": { "type": "string" } },
                "count": { "type": "integer" },
                "kind": { "enum": ["a", "b"] },
                "note": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
            },
            "required": ["files"],
            "additionalProperties": false,
        })
    }

    #[test]
    fn fitting_answers_are_returned_without_a_fence() {
        for answer in [
            r#"{"files":["a.rs"],"count":2,"kind":"b","note":null}"#,
            "Here it is:\n```json\n{\"files\":[]}\n```",
            " {\"files\":[],\"count\":2.0} ",
        ] {
            let json = check(answer, &schema()).unwrap();
            assert!(json.starts_with('{') && json.ends_with('}'), "{json}");
        }
    }

    #[test]
    fn what_does_not_fit_is_said() {
        for (answer, reason) in [
            ("Done.", "it is not JSON"),
            ("[]", "the answer must be of the type object"),
            ("{}", "the answer has no \"files\""),
            (r#"{"files":[1]}"#, "the answer.files[0] must be of the type string"),
            (r#"{"files":[],"count":1.5}"#, "the answer.count must be of the type integer"),
            (r#"{"files":[],"kind":"c"}"#, "the answer.kind must be one of"),
            (r#"{"files":[],"more":1}"#, "the answer.more must not be there"),
            (r#"{"files":[],"note":1}"#, "the answer.note fits none of the alternatives"),
        ] {
            let problem = check(answer, &schema()).unwrap_err();
            assert!(problem.contains(reason), "{answer}: {problem}");
        }
    }
}
