//! Turning the schemas that the generator makes of Rust types into plain ones, which generators of types for other
//! languages read well.

use serde_json::{Map, Value, json};

use super::{Definitions, camel_case, reference};

/// Returns the definitions of records and of everything that they refer to.
pub fn definitions(
    records: impl Iterator<Item = (String, Value)>,
    named: &Map<String, Value>,
) -> Map<String, Value> {
    let mut definitions: Map<String, Value> = records.chain(named.clone()).collect();
    definitions.values_mut().for_each(|schema| make_plain(schema, named));
    name_variants(&mut definitions);
    // A definition that was merged wherever it was used is no longer referred to.
    loop {
        let text = Value::Object(definitions.clone()).to_string();
        let before = definitions.len();
        definitions.retain(|name, _| {
            !named.contains_key(name) || text.contains(&format!("\"{}\"", reference(name)))
        });
        if definitions.len() == before {
            return definitions;
        }
    }
}

/// Makes a schema plain: no references with members beside them, no `null` for members that are omitted instead, no
/// keywords that only mean something to Rust, and the description first.
fn make_plain(schema: &mut Value, named: &Map<String, Value>) {
    let Value::Object(map) = schema else { return };
    merge_reference(map, named);
    drop_nulls(map);
    map.retain(|key, _| key != "format" && key != "default");
    // Type generators make a second type of a reference with a description beside it.
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

/// Replaces a reference that has members beside it with its target, merged with those members.
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
            // The added member, a tag, comes first.
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

/// Moves each variant of a union into its own definition, so that generated types have meaningful names.
fn name_variants(definitions: &mut Map<String, Value>) {
    let mut named: Definitions = Vec::new();
    for (name, definition) in definitions.iter_mut() {
        let choices = ["oneOf", "anyOf"].into_iter().find(|key| definition.get(*key).is_some());
        let Some(choices) = choices.and_then(|key| definition[key].as_array_mut()) else { continue };
        for choice in choices.iter_mut().filter(|choice| choice.get("properties").is_some()) {
            let title = choice.as_object_mut().and_then(|choice| choice.shift_remove("title"));
            // Of records with several forms, the type is the same.
            let tag =
                ["method", "type"].into_iter().find_map(|tag| choice["properties"][tag]["const"].as_str());
            let tag = || tag.map(|tag| camel_case(tag) + name);
            let title = title.and_then(|title| title.as_str().map(ToOwned::to_owned)).or_else(tag);
            if let Some(title) = title {
                let reference = json!({ "$ref": reference(&title) });
                named.push((title, std::mem::replace(choice, reference)));
            }
        }
    }
    definitions.extend(named);
}

/// Removes `null` from the types of optional members: they are omitted instead.
pub(crate) fn drop_nulls(map: &mut Map<String, Value>) {
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
        if let Some(choices) = property.get_mut("enum").and_then(Value::as_array_mut) {
            choices.retain(|choice| !choice.is_null());
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
