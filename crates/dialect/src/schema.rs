//! A protocol as JSON Schema. Commands are described by the table that decodes them, records by the types that are
//! written; what is put together by hand has a type that describes it.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::ErrorRecord;
use crate::command_table::{Meaning, Row};

/// Describes something that is written.
pub(crate) type Shape = fn(&mut SchemaGenerator) -> Schema;

/// What there is to know of a dialect's protocol.
#[derive(Debug)]
pub(crate) struct Protocol {
    pub dialect: &'static str,
    pub commands: &'static [Row],
    /// What the `id` of a command may be.
    pub id: Id,
    pub answers: Answers,
    /// How each record looks that is not an answer.
    pub records: fn(&mut SchemaGenerator) -> Vec<Schema>,
    /// What is there beyond the protocol that the dialect is named after.
    pub capabilities: &'static [&'static str],
}

/// Which commands are answered, and how an answer looks.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Answers {
    All(Shape),
    /// None but the question what the protocol is.
    ProtocolInfo(Shape),
}

/// What a client may use to tell the answers to its commands apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Id {
    Anything,
    Text,
}

/// Describes `T`, under its own name.
pub(crate) fn shape<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// Describes each variant of `T`, an enum whose variants are records.
pub(crate) fn variants<T: JsonSchema>(generator: &mut SchemaGenerator) -> Vec<Schema> {
    let schema = T::json_schema(generator).to_value();
    let variants = ["oneOf", "anyOf"].into_iter().find_map(|key| schema.get(key)?.as_array());
    let variants = variants.map_or_else(|| vec![schema.clone()], Clone::clone);
    variants.into_iter().filter_map(|variant| Schema::try_from(variant).ok()).collect()
}

/// Describes a single record.
pub(crate) fn record<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    T::json_schema(generator)
}

impl Protocol {
    /// Returns the types of the records that are not answers.
    pub fn record_names(&self) -> Vec<String> {
        let records = self.all_records(&mut generator());
        records.iter().map(|record| record_name(record.as_value())).collect()
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
                (camel_case(&record_name(&record)) + "Record", record)
            })
            .collect();

        let mut definitions = Map::new();
        definitions.insert("Command".to_owned(), one_of("Every line that a client may send.", &commands));
        definitions.insert(
            "Output".to_owned(),
            json!({
                "description": "Every line that the agent may send.",
                "anyOf": [{ "$ref": "#/$defs/Response" }, { "$ref": "#/$defs/Event" }],
            }),
        );
        definitions.insert("Response".to_owned(), one_of("The answer to a command.", &responses));
        definitions.insert("Event".to_owned(), one_of("Every record that is not an answer.", &records));
        definitions.extend(commands);
        definitions.extend(tidied(responses.into_iter().chain(records), &generator.take_definitions(true)));
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": format!("bowline: the dialect {}", self.dialect),
            "description": "Each line, in both directions, is one JSON object. $defs/Command is what a client sends, \
                            $defs/Output what it gets. Fields that are not listed may be added in later versions: \
                            ignore what you do not know.",
            "anyOf": [{ "$ref": "#/$defs/Command" }, { "$ref": "#/$defs/Output" }],
            "$defs": definitions,
        })
    }

    fn all_records(&self, generator: &mut SchemaGenerator) -> Vec<Schema> {
        let mut records = (self.records)(generator);
        records.push(record::<ErrorRecord<'_>>(generator));
        records
    }

    fn command(&self, row: &Row) -> Value {
        let id = match self.id {
            Id::Anything => json!({ "description": "Comes back in the answer, as it is." }),
            Id::Text => {
                json!({ "description": "Comes back in the answer, as it is.", "type": ["string", "null"] })
            }
        };
        let mut properties = Map::new();
        properties.insert("id".to_owned(), id);
        properties.insert("type".to_owned(), json!({ "const": row.name }));
        let mut required = vec![json!("type")];
        let mut one_of_names = Vec::new();
        for field in row.fields {
            properties.insert(field.name.to_owned(), field.schema());
            match field.alias {
                Some(alias) => {
                    let mut schema = field.schema();
                    schema["description"] = json!(format!("Another name of `{}`.", field.name));
                    properties.insert(alias.to_owned(), schema);
                    if field.is_required {
                        one_of_names = vec![field.name, alias];
                    }
                }
                None if field.is_required => required.push(json!(field.name)),
                None => {}
            }
        }
        let mut schema = json!({
            "description": row.about,
            "type": "object",
            "properties": properties,
            "required": required,
        });
        if !one_of_names.is_empty() {
            schema["anyOf"] = one_of_names.iter().map(|name| json!({ "required": [name] })).collect();
        }
        schema
    }

    /// Returns the answer to each command that says yes, and the one that says no.
    fn responses(&self, generator: &mut SchemaGenerator) -> Definitions {
        let (Answers::All(response) | Answers::ProtocolInfo(response)) = self.answers;
        let mut response = response(generator).to_value();
        response.as_object_mut().into_iter().for_each(drop_nulls);
        let has_all = matches!(self.answers, Answers::All(_));
        let is_answered = |row: &&Row| has_all || matches!(row.meaning, Meaning::ProtocolInfo);
        let mut responses: Definitions = Vec::new();
        for row in self.commands.iter().filter(is_answered) {
            let mut success = response.clone();
            success["description"] = json!(format!("Says that `{}` was carried out.", row.name));
            set(&mut success, "command", json!({ "const": row.name }));
            set(&mut success, "success", json!({ "const": true }));
            remove(&mut success, &["error", "code"]);
            match row.answer {
                Some(data) => set(&mut success, "data", data(generator).to_value()),
                None => remove(&mut success, &["data"]),
            }
            responses.push((camel_case(row.name) + "Response", success));
        }
        if !has_all {
            return responses;
        }
        let mut failure = response;
        failure["description"] = json!("Says that a command was not carried out, and why.");
        set(&mut failure, "success", json!({ "const": false }));
        for name in ["error", "code"] {
            if let Some(schema) = failure["properties"].get(name).cloned() {
                set(&mut failure, name, schema);
            }
        }
        remove(&mut failure, &["data"]);
        responses.push(("FailureResponse".to_owned(), failure));
        responses
    }
}

type Definitions = Vec<(String, Value)>;

fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().for_serialize().into_generator()
}

/// Returns the type of a record; what is wrapped in an event counts.
fn record_name(record: &Value) -> String {
    let name = |record: &Value| record["properties"]["type"]["const"].as_str().map(ToOwned::to_owned);
    name(&record["properties"]["event"]).or_else(|| name(record)).unwrap_or_default()
}

fn one_of(about: &str, definitions: &Definitions) -> Value {
    let references: Vec<_> = definitions.iter().map(|(name, _)| json!({ "$ref": reference(name) })).collect();
    json!({ "description": about, "oneOf": references })
}

/// Describes a member of an object that is always there.
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

/// Returns how records look, and what they refer to.
fn tidied(records: impl Iterator<Item = (String, Value)>, named: &Map<String, Value>) -> Map<String, Value> {
    let mut tidy: Map<String, Value> = records.chain(named.clone()).collect();
    tidy.values_mut().for_each(|schema| make_plain(schema, named));
    name_variants(&mut tidy);
    // What was merged everywhere is not referred to any more.
    loop {
        let text = Value::Object(tidy.clone()).to_string();
        let before = tidy.len();
        tidy.retain(|name, _| {
            !named.contains_key(name) || text.contains(&format!("\"{}\"", reference(name)))
        });
        if tidy.len() == before {
            return tidy;
        }
    }
}

fn reference(name: &str) -> String {
    format!("#/$defs/{name}")
}

/// Makes a schema plain: no reference that is added to, no `null` for what is left out instead, nothing that only means
/// something to Rust; and what it is about comes first.
fn make_plain(schema: &mut Value, named: &Map<String, Value>) {
    let Value::Object(map) = schema else { return };
    merge_reference(map, named);
    drop_nulls(map);
    map.retain(|key, _| key != "format" && key != "default");
    // Generators of types make a second type of a reference that has a comment of its own.
    if map.len() > 1
        && let Some(reference) = map.shift_remove("$ref")
    {
        map.insert("allOf".to_owned(), json!([{ "$ref": reference }]));
    }
    let (mut plain, rest): (Map<_, _>, Map<_, _>) =
        std::mem::take(map).into_iter().partition(|(key, _)| key == "title" || key == "description");
    plain.extend(rest);
    if let Some(Value::String(about)) = plain.get_mut("description") {
        *about = about.replace('\n', " ");
    }
    *map = plain;
    for (key, value) in map {
        match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                properties.values_mut().for_each(|property| make_plain(property, named));
            }
            ("oneOf" | "anyOf", Value::Array(schemas)) => {
                schemas.iter_mut().for_each(|schema| make_plain(schema, named));
            }
            ("items" | "additionalProperties", schema) => make_plain(schema, named),
            _ => {}
        }
    }
}

/// Puts what is referred to in the place of a reference that has members beside it.
fn merge_reference(map: &mut Map<String, Value>, named: &Map<String, Value>) {
    let Some(name) = map.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"))
    else {
        return;
    };
    let (Some(Value::Object(base)), true) = (named.get(name), map.contains_key("properties")) else { return };
    let (name, mut merged) = (name.to_owned(), base.clone());
    map.shift_remove("$ref");
    for (key, value) in std::mem::take(map) {
        match (merged.get_mut(&key), value) {
            // What is added, a tag, comes first.
            (Some(Value::Object(properties)), Value::Object(mut added)) => {
                added.extend(std::mem::take(properties));
                *properties = added;
            }
            (Some(Value::Array(required)), Value::Array(mut added)) => {
                added.append(required);
                *required = added;
            }
            (Some(_), _) => {}
            (None, value) => {
                merged.insert(key, value);
            }
        }
    }
    map.insert("title".to_owned(), name.into());
    map.extend(merged);
}

/// Gives every object that is one of several a definition of its own, so that generated types have names that mean
/// something.
fn name_variants(definitions: &mut Map<String, Value>) {
    let mut named: Definitions = Vec::new();
    for (name, definition) in definitions.iter_mut() {
        let choices = ["oneOf", "anyOf"].into_iter().find(|key| definition.get(*key).is_some());
        let Some(choices) = choices.and_then(|key| definition[key].as_array_mut()) else { continue };
        for choice in choices.iter_mut().filter(|choice| choice.get("properties").is_some()) {
            let title = choice.as_object_mut().and_then(|choice| choice.shift_remove("title"));
            let tag = || choice["properties"]["type"]["const"].as_str().map(|tag| camel_case(tag) + name);
            let title = title.and_then(|title| title.as_str().map(ToOwned::to_owned)).or_else(tag);
            if let Some(title) = title {
                let reference = json!({ "$ref": reference(&title) });
                named.push((title, std::mem::replace(choice, reference)));
            }
        }
    }
    definitions.extend(named);
}

/// Members that may be left out are never `null`.
fn drop_nulls(map: &mut Map<String, Value>) {
    let required = map.get("required").cloned().unwrap_or_default();
    let is_required =
        |name: &str| required.as_array().is_some_and(|names| names.iter().any(|other| other == name));
    let Some(properties) = map.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for (name, property) in properties {
        if is_required(name) {
            continue;
        }
        if let Some(kinds) = property.get_mut("type").filter(|kinds| kinds.is_array()) {
            let others: Vec<_> =
                kinds.as_array().into_iter().flatten().filter(|kind| *kind != "null").cloned().collect();
            *kinds = if let [kind] = &others[..] { kind.clone() } else { others.into() };
        }
        if let Some([some, Value::Object(none)]) = property["anyOf"].as_array().map(Vec::as_slice)
            && none.get("type").is_some_and(|kind| kind == "null")
        {
            let some = some.clone();
            if let Some(property) = property.as_object_mut() {
                property.shift_remove("anyOf");
                property.extend(some.as_object().cloned().unwrap_or_default());
            }
        }
    }
}

/// Returns `set_model` as `SetModel`.
fn camel_case(name: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>())
    };
    name.split(['_', '-']).filter_map(word).collect()
}
