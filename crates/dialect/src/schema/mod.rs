//! A protocol as JSON Schema. The table that decodes commands describes them, and the types that are written describe
//! records; a record that is assembled from bytes has a type that only describes it.

mod describe;
mod plain;
mod published;

use std::borrow::Cow;

use bowline_core::event::CompactionReason;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use crate::ErrorRecord;
use crate::command_table::{Action, Row};
use crate::protocol::{Answered, Id, Protocol};
pub(crate) use describe::{Describe, IS_GENERATED, SchemaFn, schema_of};
pub use plain::definitions as plain_definitions;
pub(crate) use plain::drop_nulls;
pub use published::published;

/// Describes each variant of `T`, an enum whose variants are records.
pub(crate) fn variants<T: JsonSchema>(generator: &mut SchemaGenerator) -> Vec<Schema> {
    let schema = T::json_schema(generator).to_value();
    let variants = ["oneOf", "anyOf"].into_iter().find_map(|key| schema.get(key)?.as_array());
    let variants = variants.map_or_else(|| vec![schema.clone()], Clone::clone);
    variants.into_iter().filter_map(|variant| Schema::try_from(variant).ok()).collect()
}

/// Returns the names of the reasons for a compaction.
pub(crate) fn compaction_reasons() -> [&'static str; 3] {
    use CompactionReason::{Manual, Overflow, Threshold};
    [Manual, Threshold, Overflow].map(CompactionReason::as_str)
}

/// Describes a record whose form depends on one of its members. The type and the id are added to each form.
pub(crate) fn record_union(about: &str, name: &str, forms: Vec<Schema>) -> Schema {
    let form = |form: Schema| {
        let mut form = form.to_value();
        let mut properties = Map::new();
        properties.insert("type".to_owned(), json!({ "const": name }));
        properties.insert("id".to_owned(), json!({ "type": "string" }));
        if let Value::Object(members) = form["properties"].take() {
            properties.extend(members);
        }
        let mut required = vec![json!("type"), json!("id")];
        if let Value::Array(names) = form["required"].take() {
            required.extend(names);
        }
        (form["properties"], form["required"]) = (properties.into(), required.into());
        form
    };
    let forms: Vec<_> = forms.into_iter().map(form).collect();
    json_schema!({ "description": about, "oneOf": forms })
}

/// Describes a single record.
pub(crate) fn record<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    T::json_schema(generator)
}

/// Describes the id of a command. Any other JSON value is returned too, but a client has no use for one.
pub(crate) struct CommandId;

impl JsonSchema for CommandId {
    fn schema_name() -> Cow<'static, str> {
        "CommandId".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "number"] })
    }
}

impl Protocol {
    /// Returns the names of the records that are not responses.
    pub fn record_names(&self) -> Vec<String> {
        match published::records(self.dialect) {
            Some(records) => records.iter().map(|record| self.record_name(record)).collect(),
            None if IS_GENERATED => self.generated_record_names(),
            None => Vec::new(),
        }
    }

    fn generated_record_names(&self) -> Vec<String> {
        let records = self.all_records(&mut generator());
        records.iter().map(|record| self.record_name(record.as_value())).collect()
    }

    /// Returns the whole protocol as one schema, which every line of it satisfies.
    pub fn schema(&self) -> Value {
        let mut generator = generator();
        let commands: Definitions =
            self.commands.iter().map(|row| (camel_case(row.name) + "Command", self.command(row))).collect();
        let responses = self.responses(&mut generator);
        let records: Definitions = self
            .all_records(&mut generator)
            .into_iter()
            .map(|record| {
                let record = record.to_value();
                (camel_case(&self.record_name(&record)) + "Record", record)
            })
            .collect();

        let answers: Definitions =
            self.answers.iter().map(|row| (camel_case(row.name) + "Answer", row.schema())).collect();

        let mut definitions = Map::new();
        definitions
            .insert("Command".to_owned(), union("Every command that a client may send.", "oneOf", &commands));
        let mut lines = vec![json!({ "$ref": "#/$defs/Command" }), json!({ "$ref": "#/$defs/Output" })];
        if !answers.is_empty() {
            let about = "Every line that answers a record of the agent. There is no response to it.";
            definitions.insert("ClientAnswer".to_owned(), union(about, "oneOf", &answers));
            lines.push(json!({ "$ref": "#/$defs/ClientAnswer" }));
        }
        definitions.insert(
            "Output".to_owned(),
            json!({
                "description": "Every line that the agent may send.",
                "anyOf": [{ "$ref": "#/$defs/Response" }, { "$ref": "#/$defs/Event" }],
            }),
        );
        definitions.insert(
            "Response".to_owned(),
            union("The response to a command.", self.envelope.response_union(), &responses),
        );
        definitions
            .insert("Event".to_owned(), union("Every record that is not a response.", "oneOf", &records));
        definitions.extend(commands);
        definitions.extend(answers);
        definitions.extend(plain::definitions(
            responses.into_iter().chain(records),
            &generator.take_definitions(true),
        ));
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": format!("bowline: the dialect {}", self.dialect),
            "description": format!(
                "Each line, in both directions, is one JSON object. $defs/Command {} what a client sends, $defs/Output \
                 what it receives. Later versions may add fields: ignore those that you do not know.",
                if self.answers.is_empty() { "is" } else { "and $defs/ClientAnswer are" }
            ),
            "anyOf": lines,
            "$defs": definitions,
        })
    }

    fn all_records(&self, generator: &mut SchemaGenerator) -> Vec<Schema> {
        let mut records = self.records.with(generator);
        records.push(record::<ErrorRecord<'_>>(generator));
        records
    }

    /// Returns the name of a record; that of the event inside, if the record wraps one.
    fn record_name(&self, record: &Value) -> String {
        let named = |record: &Value, member: &str| {
            record["properties"][member]["const"].as_str().map(ToOwned::to_owned)
        };
        named(&record["properties"]["event"], "type")
            .or_else(|| named(record, self.envelope.name_member()))
            // The record of a fatal error is the same in every envelope.
            .or_else(|| named(record, "type"))
            .or_else(|| named(&record["oneOf"][0], "type"))
            .unwrap_or_default()
    }

    fn command(&self, row: &Row) -> Value {
        let about = "Returned in the response, unchanged.";
        let id = match self.id {
            Id::Anything => {
                let mut id = CommandId::json_schema(&mut generator()).to_value();
                id["description"] = about.into();
                id
            }
            Id::Text => json!({ "description": about, "type": ["string", "null"] }),
        };
        self.envelope.command(row, id)
    }

    /// Describes the success response to each command, and the failure response.
    fn responses(&self, generator: &mut SchemaGenerator) -> Definitions {
        let is_answered =
            |row: &&Row| self.answered == Answered::All || matches!(row.action, Action::ProtocolInfo);
        let rows = self.commands.iter().filter(is_answered);
        let mut responses: Definitions = rows
            .map(|row| (camel_case(row.name) + "Response", self.envelope.success(row, generator)))
            .collect();
        if self.answered == Answered::All {
            responses.push(("FailureResponse".to_owned(), self.envelope.failure(generator)));
        }
        responses
    }
}

type Definitions = Vec<(String, Value)>;

fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().for_serialize().into_generator()
}

fn union(about: &str, keyword: &str, definitions: &Definitions) -> Value {
    let references: Vec<_> = definitions.iter().map(|(name, _)| json!({ "$ref": reference(name) })).collect();
    json!({ "description": about, keyword: references })
}

fn reference(name: &str) -> String {
    format!("#/$defs/{name}")
}

/// Returns `set_model` as `SetModel`.
fn camel_case(name: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>())
    };
    name.split(['_', '-', '/', '$']).filter_map(word).collect()
}
