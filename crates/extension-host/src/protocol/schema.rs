//! The protocol as JSON Schema.

use bowline_core::hook::HookKind;
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::notification::NOTIFICATIONS;
use super::request::{Method, REQUESTS};
use super::to_extension::ToExtension;
use super::{from_extension, hook_result};

/// Returns the whole protocol as one schema, which every line of it satisfies.
pub fn schema() -> Value {
    // What is sent has every field that is not omitted; what is read need not have those with defaults.
    let mut sending = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut receiving = SchemaSettings::draft2020_12().for_deserialize().into_generator();
    let mut records: Vec<(String, Value)> = Vec::new();
    let mut definitions = Map::new();

    let sent = variants::<ToExtension<'_>>(&mut sending);
    let sent: Vec<_> = sent
        .into_iter()
        .map(|mut record| {
            record["properties"]["ext"] = json!({
                "type": "string",
                "description": "The extension that it is about, if the process serves several.",
            });
            (camel_case(tag(&record, "type")) + "Record", record)
        })
        .collect();
    definitions.insert("ToExtension".to_owned(), union("Every line that bowline sends.", &sent));
    records.extend(sent);

    let received = received(&mut receiving);
    definitions.insert("FromExtension".to_owned(), union("Every line that an extension sends.", &received));
    records.extend(received);

    for hook in HookKind::ALL {
        if let Some(result) = hook_result::schema(*hook, &mut receiving) {
            let name = camel_case(hook.as_str()) + "HookResult";
            let mut result = result.to_value();
            let about = format!("The result of the hook `{}`.", hook.as_str());
            describe(&mut result, &about);
            records.push((name, result));
        }
    }
    for method in REQUESTS {
        if let Some(result) = method.result {
            let mut result = result(&mut sending).to_value();
            describe(&mut result, &format!("The result of the request `{}`.", method.name));
            records.push((camel_case(method.name) + "Response", result));
        }
    }
    // What calls of tools, completions, providers and routers return.
    for (name, described) in [
        ("ToolCallOutcome", receiving.subschema_for::<from_extension::ToolOutcome>()),
        ("CommandCompletion", receiving.subschema_for::<from_extension::CompletionResult>()),
        ("ProviderStreamEnd", receiving.subschema_for::<from_extension::StreamEnd>()),
        ("RouteResult", receiving.subschema_for::<from_extension::RouteResult>()),
    ] {
        records.push((name.to_owned(), described.to_value()));
    }
    // Types that go both ways are described as they are sent.
    let mut named = receiving.take_definitions(true);
    named.extend(sending.take_definitions(true));
    definitions.extend(bowline_dialect::plain_definitions(records.into_iter(), &named));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "bowline: the protocol of extensions, version 1",
        "description": "Each line, in both directions, is one JSON object. $defs/ToExtension is what an extension \
                        receives, $defs/FromExtension what it sends. Ignore records and fields that you do not know.",
        "anyOf": [{ "$ref": "#/$defs/ToExtension" }, { "$ref": "#/$defs/FromExtension" }],
        "$defs": definitions,
    })
}

/// Describes the records of extensions. Each method is a record of its own.
fn received(generator: &mut SchemaGenerator) -> Vec<(String, Value)> {
    let mut received = Vec::new();
    for (name, record) in from_extension::schemas(generator) {
        let mut record = record.to_value();
        with_tag(&mut record, name);
        let methods = match name {
            "request" => REQUESTS,
            "notify" => NOTIFICATIONS,
            _ => {
                received.push((format!("{}FromExtension", camel_case(name)), record));
                continue;
            }
        };
        for method in methods {
            let suffix = if name == "request" { "Request" } else { "Notification" };
            received.push((camel_case(method.name) + suffix, with_method(&record, method, generator)));
        }
    }
    received
}

/// Adds a sentence to a schema. One that allows everything becomes an object, which more programs can read.
fn describe(schema: &mut Value, about: &str) {
    if !schema.is_object() {
        *schema = json!({});
    }
    schema["description"] = about.into();
}

/// Adds the type of a record to its description.
fn with_tag(record: &mut Value, name: &str) {
    let Some(members) = record.as_object_mut() else { return };
    let mut properties = Map::new();
    properties.insert("type".to_owned(), json!({ "type": "string", "const": name }));
    if let Some(Value::Object(others)) = members.shift_remove("properties") {
        properties.extend(others);
    }
    members.insert("properties".to_owned(), properties.into());
    let mut required = vec![json!("type")];
    if let Some(Value::Array(others)) = members.shift_remove("required") {
        required.extend(others);
    }
    members.insert("required".to_owned(), required.into());
}

/// Returns the record of one method.
fn with_method(record: &Value, method: &Method, generator: &mut SchemaGenerator) -> Value {
    let mut record = record.clone();
    record["description"] = method.about.into();
    record["properties"]["method"] = json!({ "type": "string", "const": method.name });
    record["properties"]["params"] = (method.parameters)(generator).to_value();
    record
}

/// Describes each variant of `T`, an enum whose variants are records.
fn variants<T: schemars::JsonSchema>(generator: &mut SchemaGenerator) -> Vec<Value> {
    let schema: Schema = T::json_schema(generator);
    schema.to_value()["oneOf"].as_array().cloned().unwrap_or_default()
}

fn tag<'schema>(record: &'schema Value, member: &str) -> &'schema str {
    record["properties"][member]["const"].as_str().unwrap_or_default()
}

fn union(about: &str, definitions: &[(String, Value)]) -> Value {
    let references: Vec<_> =
        definitions.iter().map(|(name, _)| json!({ "$ref": format!("#/$defs/{name}") })).collect();
    json!({ "description": about, "oneOf": references })
}

/// Returns `ui.setStatus` as `UiSetStatus`.
fn camel_case(name: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>())
    };
    name.split(['_', '.']).filter_map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_has_a_definition() {
        let schema = schema();
        let mut missing = Vec::new();
        look(&schema, &mut |reference| {
            let name = reference.trim_start_matches("#/$defs/");
            if schema["$defs"].get(name).is_none() {
                missing.push(name.to_owned());
            }
        });
        assert_eq!(missing, [""; 0]);
    }

    fn look(value: &Value, found: &mut impl FnMut(&str)) {
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    match member {
                        Value::String(reference) if name == "$ref" => found(reference),
                        member => look(member, found),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| look(item, found)),
            _ => {}
        }
    }

    #[test]
    fn every_hook_has_an_event() {
        let schema = schema();
        let events = schema["$defs"]["HookEvent"]["oneOf"].as_array().unwrap();
        let names: Vec<_> = events
            .iter()
            .map(|event| {
                let name = event["$ref"].as_str().unwrap().trim_start_matches("#/$defs/");
                tag(&schema["$defs"][name], "type").to_owned()
            })
            .collect();
        let mut hooks: Vec<_> = HookKind::ALL.iter().map(|hook| hook.as_str()).collect();
        hooks.push("bus");
        assert_eq!(names, hooks);
    }
}
