//! Checks lines against the schema of a dialect, as every record of an agent is in any test.
//!
//! It is stricter than JSON Schema: a field that the schema does not name is an error, because it is undocumented.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// A dialect's schema.
#[derive(Debug)]
pub struct Protocol {
    definitions: Value,
}

impl Protocol {
    /// Returns the schema of a dialect.
    #[track_caller]
    pub fn of(dialect: &str) -> Self {
        let entry = bowline_dialect::find(dialect).unwrap_or_else(|| panic!("unknown dialect {dialect}"));
        Self { definitions: entry.generated_schema().unwrap_or_default()["$defs"].take() }
    }

    /// Returns the protocol that a schema describes.
    pub fn of_schema(mut schema: Value) -> Self {
        Self { definitions: schema["$defs"].take() }
    }

    /// Checks a line against a definition.
    pub fn check_line(&self, definition: &str, line: &Value) -> Result<(), String> {
        self.check(&self.definitions[definition], line, "")
    }

    /// Returns the types of all commands.
    pub fn commands(&self) -> Vec<String> {
        self.names("Command", tag)
    }

    /// Returns the types of all records that are not responses; of wrapped records, the inner type.
    pub fn events(&self) -> Vec<String> {
        self.names("Event", |record| {
            let form = || tag(self.resolve(&record["oneOf"][0]));
            tag(&record["properties"]["event"]).or_else(|| tag(record)).or_else(form)
        })
    }

    /// Returns the types of all lines that answer records.
    pub fn answers(&self) -> Vec<String> {
        if self.definitions["ClientAnswer"].is_null() { Vec::new() } else { self.names("ClientAnswer", tag) }
    }

    /// Checks a line that a client sends: a command, or an answer.
    pub fn check_command(&self, line: &Value) -> Result<(), String> {
        if self.answers().iter().any(|name| line["type"] == **name) {
            return self.check(&self.definitions["ClientAnswer"], line, "");
        }
        self.check(&self.definitions["Command"], &with_described_id(line), "")
    }

    /// Checks a line that a client receives.
    pub fn check_record(&self, line: &Value) -> Result<(), String> {
        let kind = if line["type"] == "response" { "Response" } else { "Event" };
        self.check(&self.definitions[kind], &with_described_id(line), "")
    }

    /// Returns the definition with a name.
    pub fn definition(&self, name: &str) -> &Value {
        &self.definitions[name]
    }

    /// Returns a schema, or the definition that it refers to.
    pub fn resolve<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let reference = schema["$ref"].as_str().or_else(|| schema["allOf"][0]["$ref"].as_str());
        match reference.and_then(|path| path.strip_prefix("#/$defs/")) {
            Some(name) => &self.definitions[name],
            None => schema,
        }
    }

    fn names<'a>(&'a self, union: &str, name_of: impl Fn(&'a Value) -> Option<&'a str>) -> Vec<String> {
        let members = self.definitions[union]["oneOf"].as_array().expect("a union");
        members.iter().filter_map(|member| name_of(self.resolve(member))).map(ToOwned::to_owned).collect()
    }

    fn check(&self, schema: &Value, value: &Value, path: &str) -> Result<(), String> {
        let schema = match self.resolve(schema) {
            Value::Object(schema) => schema,
            Value::Bool(true) => return Ok(()),
            other => return Err(format!("{path}: no value is allowed here ({other})")),
        };
        for (keyword, wanted) in schema {
            let fits = match keyword.as_str() {
                "title" | "description" | "required" | "properties" | "additionalProperties" | "items" => {
                    true
                }
                "const" => value == wanted,
                "enum" => wanted.as_array().expect("a list").contains(value),
                "type" => is_of_type(value, wanted),
                "minimum" => value.as_f64().is_none_or(|number| Some(number) >= wanted.as_f64()),
                "maximum" => value.as_f64().is_none_or(|number| Some(number) <= wanted.as_f64()),
                "minLength" => {
                    value.as_str().is_none_or(|text| text.len() as u64 >= wanted.as_u64().unwrap_or(0))
                }
                "pattern" => {
                    let start = wanted.as_str().and_then(|pattern| pattern.strip_prefix('^'));
                    let start = start.expect("a pattern that is a start");
                    value.as_str().is_none_or(|text| text.starts_with(start))
                }
                "anyOf" | "oneOf" => {
                    self.check_choice(wanted.as_array().expect("a list"), value, path)?;
                    true
                }
                other => panic!("unknown schema keyword {other}"),
            };
            if !fits {
                return Err(format!("{path}: {} is not {keyword} {wanted}", shorten(value)));
            }
        }
        if let Some(members) = value.as_object() {
            self.check_members(schema, members, path)?;
        }
        if let (Some(items), Some(values)) = (schema.get("items"), value.as_array()) {
            for (index, value) in values.iter().enumerate() {
                self.check(items, value, &format!("{path}[{index}]"))?;
            }
        }
        Ok(())
    }

    fn check_members(
        &self,
        schema: &Map<String, Value>,
        members: &Map<String, Value>,
        path: &str,
    ) -> Result<(), String> {
        for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
            let name = name.as_str().expect("a name");
            if !members.contains_key(name) {
                return Err(format!("{path}.{name} is missing"));
            }
        }
        let Some(properties) = schema.get("properties") else { return Ok(()) };
        for (name, value) in members {
            let path = format!("{path}.{name}");
            match (properties.get(name), schema.get("additionalProperties")) {
                (Some(schema), _) | (None, Some(schema)) => self.check(schema, value, &path)?,
                (None, None) => return Err(format!("{path} is not in the schema")),
            }
        }
        Ok(())
    }

    /// Checks that a value matches one of several schemas. Problems are reported for those that match its tags.
    fn check_choice(&self, choices: &[Value], value: &Value, path: &str) -> Result<(), String> {
        let mut candidates: Vec<_> = choices.iter().filter(|choice| self.can_be(choice, value)).collect();
        if candidates.is_empty() {
            candidates = choices.iter().collect();
        }
        let mut problems = Vec::new();
        for choice in candidates {
            match self.check(choice, value, path) {
                Ok(()) => return Ok(()),
                Err(problem) => problems.push(problem),
            }
        }
        problems.truncate(5);
        Err(problems.join("; or "))
    }

    /// Returns whether the tags of an object match a schema.
    fn can_be(&self, choice: &Value, value: &Value) -> bool {
        let choice = self.resolve(choice);
        if let Some(forms) = choice["oneOf"].as_array() {
            return forms.iter().any(|form| self.can_be(form, value));
        }
        let properties = choice["properties"].as_object();
        properties.into_iter().flatten().all(|(name, schema)| match (schema.get("const"), value.get(name)) {
            (Some(tag), Some(value)) => tag == value,
            _ => {
                schema["properties"].is_null()
                    || value.get(name).is_none_or(|value| self.can_be(schema, value))
            }
        })
    }
}

/// Returns a line with a described id. Ids of any kind are echoed, but the schema, which clients are generated from, names
/// those that make sense.
fn with_described_id(line: &Value) -> Cow<'_, Value> {
    match line.get("id") {
        Some(Value::String(_) | Value::Number(_)) | None => Cow::Borrowed(line),
        Some(_) => {
            let mut line = line.clone();
            line["id"] = "any".into();
            Cow::Owned(line)
        }
    }
}

fn tag(definition: &Value) -> Option<&str> {
    definition["properties"]["type"]["const"].as_str()
}

fn is_of_type(value: &Value, wanted: &Value) -> bool {
    match wanted {
        Value::Array(kinds) => kinds.iter().any(|kind| is_of_type(value, kind)),
        wanted => match wanted.as_str().expect("the name of a type") {
            "null" => value.is_null(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "string" => value.is_string(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            other => panic!("unknown schema type {other}"),
        },
    }
}

fn shorten(value: &Value) -> String {
    value.to_string().chars().take(100).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(record: Value, problem: &str) {
        assert_eq!(Protocol::of("pi").check_record(&record).err().unwrap_or_default(), problem);
    }

    #[test]
    fn schema_violations_are_reported_with_their_path() {
        check(json!({ "type": "agent_settled", "aborted": false }), "");
        check(json!({ "type": "agent_settled" }), ".aborted is missing");
        check(json!({ "type": "agent_settled", "aborted": 1 }), ".aborted: 1 is not type \"boolean\"");
        check(json!({ "type": "agent_settled", "aborted": true, "x": 1 }), ".x is not in the schema");
        check(
            json!({ "type": "response", "command": "abort", "success": true, "data": 1 }),
            ".data is not in the schema",
        );
        check(
            json!({ "type": "response", "command": "get_last_assistant_text", "success": true, "data": { "text": 7 } }),
            ".data.text: 7 is not type [\"string\",\"null\"]",
        );
        check(
            json!({ "type": "message_start", "message": { "role": "user", "content": [{ "type": "text" }], "timestamp": 1 } }),
            ".message.content[0].text is missing",
        );
    }

    #[test]
    fn commands_are_checked_too() {
        let protocol = Protocol::of("operator");
        let check = |line: Value| protocol.check_command(&line);
        assert_eq!(check(json!({ "type": "prompt", "text": "hi" })), Ok(()));
        assert_eq!(check(json!({ "type": "prompt", "message": "hi", "id": [1] })), Ok(()));
        assert_eq!(
            check(json!({ "type": "prompt" })),
            Err(".text is missing; or .message is missing".to_owned())
        );
    }
}
