//! What a trusted project's `settings.json` says about skills, templates, extensions and packages. Nothing else in it has an effect: a project
//! does not choose the user's models, keys or commands.

use std::path::Path;

use serde_json::Value;

/// The largest file that is read.
const LARGEST: u64 = 1024 * 1024;

/// Returns the list under a key in the settings of a project, whose folder is `folder`.
pub fn list(folder: &Path, key: &str, problems: &mut Vec<String>) -> Vec<String> {
    let settings = read(folder, problems);
    list_in(&settings, folder, key, problems)
}

/// Returns the settings of a project, whose folder is `folder`; nothing if they cannot be read.
pub fn read(folder: &Path, problems: &mut Vec<String>) -> Value {
    let path = folder.join("settings.json");
    let mut refuse = |problem: String| {
        problems.push(format!("{}: {problem}", path.display()));
        Value::Null
    };
    match bowline_files::read_text(&path, LARGEST) {
        Ok(text) => serde_json::from_str(text.trim_start_matches('\u{feff}'))
            .unwrap_or_else(|error| refuse(format!("this is not JSON: {error}"))),
        Err(error) if error.is_not_found() => Value::Null,
        Err(error) => refuse(error.to_string()),
    }
}

/// Returns the list under a key in settings that were read from `folder`.
pub fn list_in(settings: &Value, folder: &Path, key: &str, problems: &mut Vec<String>) -> Vec<String> {
    match settings.get(key) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(entries)) if entries.iter().all(Value::is_string) => {
            entries.iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect()
        }
        Some(_) => {
            let path = folder.join("settings.json");
            problems.push(format!("{}: {key} must be a list of texts", path.display()));
            Vec::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str], problem: Option<&str>) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("settings.json"), text).unwrap();
        let mut problems = Vec::new();
        assert_eq!(list(folder.path(), "skills", &mut problems), expected, "{text}");
        assert_eq!(problems.len(), usize::from(problem.is_some()), "{problems:?}");
        assert!(problem.is_none_or(|problem| problems[0].contains(problem)), "{problems:?}");
    }

    #[test]
    fn lists_are_read_and_mistakes_are_reported() {
        check(r#"{"skills": ["a", "!b"], "defaultModel": 1}"#, &["a", "!b"], None);
        check(r#"{"prompts": ["a"]}"#, &[], None);
        check(r#"{"skills": null}"#, &[], None);
        check("[]", &[], None);
        check(r#"{"skills": "a"}"#, &[], Some("skills must be a list of texts"));
        check(r#"{"skills": [1]}"#, &[], Some("skills must be a list of texts"));
        check("{", &[], Some("settings.json: this is not JSON"));
    }
}
