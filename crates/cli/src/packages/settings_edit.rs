//! Changing the list of packages in a settings file. Everything else in it stays as it is, to the byte.

use bowline_core::slash_command::Scope;
use bowline_extension::packages::{Entry, KEY, Place};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::failure::Failure;
use crate::settings::{self, NewFile};

/// An entry of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Written {
    /// As it is written.
    text: String,
    /// The source that it names; none if it is not an entry.
    pub source: Option<String>,
}

impl Written {
    /// Returns an entry that is only a source.
    pub fn of(source: &str) -> Self {
        Self { text: Value::from(source).to_string(), source: Some(source.to_owned()) }
    }

    /// Replaces the source, and keeps what of the package is wanted.
    pub fn set_source(&mut self, source: &str) {
        match serde_json::from_str(&self.text) {
            Ok(Value::Object(mut members)) => {
                members.insert("source".to_owned(), source.into());
                self.text = Value::Object(members).to_string();
                self.source = Some(source.to_owned());
            }
            _ => *self = Self::of(source),
        }
    }

    fn read(text: &RawValue) -> Self {
        let value = serde_json::from_str(text.get()).unwrap_or(Value::Null);
        let source = Entry::read(&value).ok().map(|entry| entry.source);
        Self { text: text.get().to_owned(), source }
    }
}

/// Changes the list of packages in the settings of a place, which are made if there are none.
pub(super) fn edit(place: &Place, change: impl FnOnce(&mut Vec<Written>)) -> Result<(), Failure> {
    let path = place.settings();
    let new_file = if place.scope == Scope::Project { NewFile::Usual } else { NewFile::Private };
    let text = |text: &str| edited(text, change).map_err(settings::refusal(&path));
    settings::edit(&path, new_file, text).map(drop)
}

/// Returns a text with another list of packages.
fn edited(text: &str, change: impl FnOnce(&mut Vec<Written>)) -> Result<String, String> {
    let list = settings::member(text, KEY)?;
    let entries: Vec<&RawValue> = list
        .map_or(Ok(Vec::new()), serde_json::from_str)
        .map_err(|_| "it is not changed, because packages is not a list".to_owned())?;
    let before: Vec<_> = entries.into_iter().map(Written::read).collect();
    let mut after = before.clone();
    change(&mut after);
    if after == before {
        return Ok(text.to_owned());
    }
    settings::with_member(text, &[KEY], Some(&written(&after)))
}

fn written(entries: &[Written]) -> String {
    if entries.is_empty() {
        return "[]".to_owned();
    }
    let lines: Vec<_> = entries.iter().map(|entry| format!("    {}", entry.text)).collect();
    format!("[\n{}\n  ]", lines.join(",\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, change: impl FnOnce(&mut Vec<Written>), expected: &str) {
        let after = edited(text, change).unwrap();
        assert_eq!(after, expected);
        serde_json::from_str::<Value>(after.trim_start_matches('\u{feff}')).unwrap();
    }

    fn add(source: &str) -> impl FnOnce(&mut Vec<Written>) + '_ {
        move |entries| entries.push(Written::of(source))
    }

    #[test]
    fn rest_of_the_file_stays_to_the_byte() {
        check(
            "{\n\t\"theme\" : \"dark\",   \"packages\": [ {\"source\" :\"npm:a\"} ],\n\t\"n\": 1.50e3,\"big\": 12345678901234567890123\n}",
            add("npm:b"),
            "{\n\t\"theme\" : \"dark\",   \"packages\": [\n    {\"source\" :\"npm:a\"},\n    \"npm:b\"\n  ],\n\t\"n\": 1.50e3,\"big\": 12345678901234567890123\n}",
        );
        check(
            "{\n  \"theme\": \"dark\"\n}\n",
            add("npm:b"),
            "{\n  \"theme\": \"dark\",\n  \"packages\": [\n    \"npm:b\"\n  ]\n}\n",
        );
        check(r#"{"packages":null}"#, add("npm:b"), "{\"packages\":[\n    \"npm:b\"\n  ]}");
        check("", add("npm:b"), "{\n  \"packages\": [\n    \"npm:b\"\n  ]\n}\n");
        check(
            r#"{"x": {"packages": [1]}}"#,
            add("npm:b"),
            "{\"x\": {\"packages\": [1]}, \"packages\": [\n    \"npm:b\"\n  ]}",
        );
    }

    #[test]
    fn entries_are_removed_and_changed() {
        check(r#"{"packages": ["npm:a"]}"#, |entries| entries.clear(), r#"{"packages": []}"#);
        check(
            r#"{"packages": [{"source": "npm:a", "skills": []}]}"#,
            |entries| entries[0].set_source("npm:a@2"),
            "{\"packages\": [\n    {\"source\":\"npm:a@2\",\"skills\":[]}\n  ]}",
        );
        check(r#"{"packages": [ "npm:a" ]}"#, |_| (), r#"{"packages": [ "npm:a" ]}"#);
    }

    #[test]
    fn file_that_cannot_be_read_is_not_changed() {
        for text in ["[]", "{", "{\"packages\": {}}", "// comment\n{}"] {
            assert!(edited(text, add("npm:b")).is_err(), "{text}");
        }
    }
}
