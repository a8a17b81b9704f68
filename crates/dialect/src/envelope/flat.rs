//! The envelope of the pi family, opi and operator-use: `type`, `id` and the fields of a command are members of one
//! object, and a response is a record of the type `response`.

use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};

use super::{Envelope, Head};
use crate::command_table::Row;
use crate::schema::{SchemaFn, drop_nulls};

/// A line is an object with a `type`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flat {
    /// Describes a response, successful or not.
    pub response: SchemaFn,
    /// The commands whose success responses have `data` only at times.
    pub optional_data: &'static [&'static str],
}

impl Envelope for Flat {
    fn name_member(&self) -> &'static str {
        "type"
    }

    fn answer_members(&self) -> &'static [&'static str] {
        &[]
    }

    fn is_answer(&self, _: &Head) -> bool {
        false
    }

    fn parameters(&self, members: Map<String, Value>) -> Map<String, Value> {
        members
    }

    fn command(&self, row: &Row, id: Value) -> Value {
        let mut command = json!({
            "description": row.about,
            "type": "object",
            "properties": { "id": id, "type": { "const": row.name } },
            "required": ["type"],
        });
        let Value::Object(parameters) = row.parameters() else { return command };
        for (key, value) in parameters {
            match (&mut command[&key], value) {
                (Value::Object(properties), Value::Object(added)) => properties.extend(added),
                (Value::Array(required), Value::Array(added)) => required.extend(added),
                (member, value) => *member = value,
            }
        }
        command
    }

    fn response_union(&self) -> &'static str {
        "oneOf"
    }

    fn success(&self, row: &Row, generator: &mut SchemaGenerator) -> Value {
        let mut success = self.response(generator);
        success["description"] = json!(format!("The success response to `{}`.", row.name));
        set(&mut success, "command", json!({ "const": row.name }));
        set(&mut success, "success", json!({ "const": true }));
        remove(&mut success, &["error", "code"]);
        match row.result {
            Some(result) if self.optional_data.contains(&row.name) => {
                success["properties"]["data"] = result.with(generator).to_value();
            }
            Some(result) => set(&mut success, "data", result.with(generator).to_value()),
            None => remove(&mut success, &["data"]),
        }
        success
    }

    fn failure(&self, generator: &mut SchemaGenerator) -> Value {
        let mut failure = self.response(generator);
        failure["description"] = json!("The response to a command that failed.");
        set(&mut failure, "success", json!({ "const": false }));
        for name in ["error", "code"] {
            if let Some(schema) = failure["properties"].get(name).cloned() {
                set(&mut failure, name, schema);
            }
        }
        remove(&mut failure, &["data"]);
        failure
    }
}

impl Flat {
    fn response(&self, generator: &mut SchemaGenerator) -> Value {
        let mut response = self.response.with(generator).to_value();
        response.as_object_mut().into_iter().for_each(drop_nulls);
        response
    }
}

/// Describes a member that an object always has.
fn set(object: &mut Value, name: &str, schema: Value) {
    object["properties"][name] = schema;
    if let Some(required) = object["required"].as_array_mut()
        && !required.iter().any(|other| other == name)
    {
        required.push(json!(name));
    }
}

fn remove(object: &mut Value, names: &[&str]) {
    for name in names {
        if let Some(properties) = object["properties"].as_object_mut() {
            properties.shift_remove(*name);
        }
        if let Some(required) = object["required"].as_array_mut() {
            required.retain(|other| other != name);
        }
    }
}
