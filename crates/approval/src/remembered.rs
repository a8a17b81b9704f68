//! `approvals.json`: the rules that users have agreed to, by project. It is read at the start and written when a user
//! decides; only bowline writes it, and tools cannot.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bowline_files::Lock;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Error;
use crate::rules::{Rule, Source, located, parse_all};

/// The largest file that is read.
const LARGEST: u64 = 4 * 1024 * 1024;

/// The most rules that are kept for one project.
const MOST_RULES: usize = 1_000;

/// How long another process may hold the file.
const PATIENCE: Duration = Duration::from_secs(5);

/// The version of the format.
const VERSION: u64 = 1;

/// The file's content.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Content {
    version: u64,
    /// By canonical folder.
    projects: BTreeMap<String, Project>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Project {
    rules: Vec<Value>,
}

impl Default for Content {
    fn default() -> Self {
        Self { version: VERSION, projects: BTreeMap::new() }
    }
}

/// What was remembered, by canonical folder.
pub(crate) type Projects = BTreeMap<PathBuf, Vec<Rule>>;

/// Reads the file. One that is missing remembers nothing; one that is broken is an error.
pub(crate) fn read(path: &Path) -> Result<Projects, Error> {
    let content = read_content(path)?;
    let mut projects = Projects::new();
    for (folder, project) in content.projects {
        let rules =
            parse_all(&project.rules, Source::Remembered).map_err(|(index, problem)| Error::Remembered {
                path: path.to_owned(),
                problem: format!("rule {index} of {folder}{}", located(&problem)),
            })?;
        projects.insert(folder.into(), rules);
    }
    Ok(projects)
}

fn read_content(path: &Path) -> Result<Content, Error> {
    let text = match bowline_files::read_text(path, LARGEST) {
        Ok(text) => text,
        Err(error) if error.is_not_found() => return Ok(Content::default()),
        Err(error) => return Err(error.into()),
    };
    let broken = |problem: String| Error::Remembered { path: path.to_owned(), problem };
    let content: Content = serde_json::from_str(&text).map_err(|error| broken(error.to_string()))?;
    if content.version != VERSION {
        return Err(broken(format!("its version is {}, and this bowline knows {VERSION}", content.version)));
    }
    Ok(content)
}

/// Adds a rule for a project. Readers see the old file or the new one. It blocks.
pub(crate) fn add(path: &Path, folder: &Path, rule: &Value) -> Result<(), String> {
    let lock = Lock::acquire(path, PATIENCE).map_err(|error| error.to_string())?;
    // Another process may have added something meanwhile.
    let mut content = read_content(path).map_err(|error| error.to_string())?;
    let folder = folder.to_str().ok_or("the project's path is not UTF-8")?;
    let project = content.projects.entry(folder.to_owned()).or_default();
    if project.rules.contains(rule) {
        return Ok(());
    }
    if project.rules.len() >= MOST_RULES {
        return Err(format!("the project has {MOST_RULES} rules already"));
    }
    project.rules.push(rule.clone());
    let mut text = serde_json::to_string_pretty(&content).map_err(|error| error.to_string())?;
    text.push('\n');
    lock.replace(text.as_bytes()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rules_are_added_once_and_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("approvals.json");
        assert!(read(&path).unwrap().is_empty());
        let rule = json!({ "tool": "bash", "prefix": ["git", "push"], "then": "allow" });
        for _ in 0..2 {
            add(&path, Path::new("/p"), &rule).unwrap();
        }
        add(&path, Path::new("/q"), &rule).unwrap();
        let projects = read(&path).unwrap();
        assert_eq!(projects.values().map(Vec::len).collect::<Vec<_>>(), [1, 1]);
        assert_eq!(bowline_files::mode(&path).map(|mode| mode & 0o777), Some(0o600));
    }

    #[test]
    fn broken_file_is_an_error_and_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("approvals.json");
        let rule = json!({ "tool": "bash", "then": "allow" });
        for broken in [
            "",
            "[]",
            "{",
            r#"{"version":1}"#,
            r#"{"version":2,"projects":{}}"#,
            r#"{"version":1,"projects":{},"more":1}"#,
            r#"{"version":1,"projects":{"/p":{"rules":[{"tool":"bash"}]}}}"#,
            r#"{"version":1,"projects":{"/p":{"rules":[{"tool":"bash","then":"allow","tol":1}]}}}"#,
        ] {
            std::fs::write(&path, broken).unwrap();
            let error = read(&path).unwrap_err().to_string();
            assert!(error.contains("approvals.json"), "{error}");
            if read_content(&path).is_err() {
                add(&path, Path::new("/p"), &rule).unwrap_err();
                assert_eq!(std::fs::read_to_string(&path).unwrap(), broken);
            }
        }
    }
}
