//! The lines by which a client answers what the agent asked of it. They are no commands: nothing responds to them, and
//! they overtake every command.

use serde_json::{Value, json};

use crate::fields::Field;

/// A row of a dialect's table of answers.
#[derive(Debug, PartialEq)]
pub(crate) struct AnswerRow {
    pub name: &'static str,
    /// What the line answers, as the reference describes it.
    pub about: &'static str,
    pub fields: &'static [Field],
}

impl AnswerRow {
    /// Describes the line.
    pub fn schema(&self) -> Value {
        let mut schema = json!({
            "description": self.about,
            "type": "object",
            "properties": { "type": { "const": self.name } },
            "required": ["type"],
        });
        for field in self.fields {
            schema["properties"][field.name] = field.schema();
            if let (true, Some(required)) = (field.is_required, schema["required"].as_array_mut()) {
                required.push(json!(field.name));
            }
        }
        schema
    }
}
