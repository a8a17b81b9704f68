//! Changing the list of packages in a settings file. Everything else in it stays as it is, to the byte.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use bowline_extension::packages::{Entry, KEY};
use serde_json::Value;
use serde_json::value::RawValue;

use super::settings_lock::SettingsLock;
use crate::failure::Failure;

/// The largest file that is changed.
const LARGEST: u64 = 1024 * 1024;

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

/// Changes the list of packages in a file, which is made if there is none. Returns whether it was changed.
pub(super) fn edit(path: &Path, change: impl FnOnce(&mut Vec<Written>)) -> Result<bool, Failure> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(Failure::io("making the folder of the settings"))?;
    }
    let _lock = SettingsLock::acquire(path)?;
    let before = match bowline_files::read_text(path, LARGEST) {
        Ok(text) => text,
        Err(error) if error.is_not_found() => String::new(),
        Err(error) => return Err(error.into()),
    };
    let after = edited(&before, change)
        .map_err(|problem| Failure::Settings { path: path.display().to_string(), problem })?;
    match after {
        Some(after) => replace(path, &after).map(|()| true),
        None => Ok(false),
    }
}

/// Returns a text with another list of packages; `None` if the list stays as it is.
fn edited(text: &str, change: impl FnOnce(&mut Vec<Written>)) -> Result<Option<String>, String> {
    let body = text.trim_start_matches('\u{feff}');
    let body = if body.trim().is_empty() { "{}" } else { body };
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(body)
        .map_err(|error| format!("it is not changed, because it is not a JSON object: {error}"))?;
    let list = members.get(KEY).copied().filter(|list| list.get() != "null");
    let entries: Vec<&RawValue> = list
        .map_or(Ok(Vec::new()), |list| serde_json::from_str(list.get()))
        .map_err(|_| "it is not changed, because packages is not a list".to_owned())?;
    let before: Vec<_> = entries.into_iter().map(Written::read).collect();
    let mut after = before.clone();
    change(&mut after);
    if after == before {
        return Ok(None);
    }
    let list_text = written(&after);
    let text = match members.get(KEY) {
        Some(old) => {
            // The value is a part of the text that was read.
            let start = old.get().as_ptr() as usize - body.as_ptr() as usize;
            format!("{}{list_text}{}", &body[..start], &body[start + old.get().len()..])
        }
        None => {
            let open = body.trim_end();
            let open = open.strip_suffix('}').unwrap_or(open).trim_end();
            let comma = if members.is_empty() { "" } else { "," };
            format!("{open}{comma}\n  \"{KEY}\": {list_text}\n}}\n")
        }
    };
    Ok(Some(text))
}

fn written(entries: &[Written]) -> String {
    if entries.is_empty() {
        return "[]".to_owned();
    }
    let lines: Vec<_> = entries.iter().map(|entry| format!("    {}", entry.text)).collect();
    format!("[\n{}\n  ]", lines.join(",\n"))
}

/// Replaces a file: readers see the old content or the new one, and who may read it stays.
fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    // A link is kept; its target is replaced.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let temporary = target.with_file_name(format!(".{name}.new"));
    // A process that was killed may have left one.
    let _ = fs::remove_file(&temporary);
    let write = || {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&temporary)?;
        if let Ok(metadata) = target.metadata() {
            file.set_permissions(metadata.permissions())?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, &target)
    };
    write().map_err(Failure::io("writing the settings"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, change: impl FnOnce(&mut Vec<Written>), expected: &str) {
        let after = edited(text, change).unwrap().unwrap_or_else(|| text.to_owned());
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
            "{\"x\": {\"packages\": [1]},\n  \"packages\": [\n    \"npm:b\"\n  ]\n}\n",
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

    #[test]
    fn concurrent_changes_are_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/settings.json");
        std::thread::scope(|scope| {
            for number in 0..8 {
                let path = &path;
                scope.spawn(move || edit(path, add(&format!("npm:p{number}"))).unwrap());
            }
        });
        let settings: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(settings[KEY].as_array().unwrap().len(), 8);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left behind");
    }
}
