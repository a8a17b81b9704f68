//! `extension.json`: what a folder with an extension says about itself.
//!
//! It is JSON like every other file of bowline, so there is no second format to learn, and its reader is there already.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use crate::protocol::FlagRegistration;

/// The file's name.
pub const MANIFEST: &str = "extension.json";

/// The largest file that is read, in bytes.
const LARGEST: u64 = 64 * 1024;

/// What `{dir}` in the command stands for: the folder of the manifest.
const FOLDER: &str = "{dir}";

/// A manifest.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The name that people know the extension by.
    pub name: String,
    #[serde(default)]
    pub version: Option<String>,
    #[serde(default)]
    pub description: Option<String>,
    /// The program and its arguments. `{dir}` stands for the folder of the manifest, and so does `.` at the start of the
    /// program's path.
    pub command: Vec<String>,
    /// The flags whose values the extension needs before it registers.
    #[serde(default)]
    pub flags: Vec<FlagRegistration>,
    /// The environment variables that the extension gets although they may be secret. Only those of the user's own
    /// extensions.
    #[serde(default)]
    pub environment: Vec<String>,
    /// Whether it guards tools: no tool runs before it has registered, nor while it is down.
    #[serde(default)]
    pub guard: bool,
}

impl Manifest {
    /// Reads the manifest of a folder; `None` if it has none.
    pub fn read(folder: &Path) -> Option<Result<Self, String>> {
        let path = folder.join(MANIFEST);
        match bowline_files::read_text(&path, LARGEST) {
            Ok(text) => Some(Self::parse(&text).map_err(|problem| format!("{}: {problem}", path.display()))),
            Err(error) if error.is_not_found() => None,
            Err(error) => Some(Err(error.to_string())),
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        let manifest: Self = serde_json::from_str(text.trim_start_matches('\u{feff}'))
            .map_err(|error| format!("this is not a manifest: {error}"))?;
        if manifest.name.trim().is_empty() {
            return Err("\"name\" must not be empty".to_owned());
        }
        if manifest.command.first().is_none_or(String::is_empty) {
            return Err(
                "\"command\" must name a program, such as [\"python3\", \"{dir}/main.py\"]".to_owned()
            );
        }
        Ok(manifest)
    }

    /// Returns the program and its arguments, for a manifest in `folder`.
    pub fn command_in(&self, folder: &Path) -> Vec<String> {
        let shown = folder.to_string_lossy();
        let mut command: Vec<String> = self.command.iter().map(|part| part.replace(FOLDER, &shown)).collect();
        if let Some(program) = command.first_mut().filter(|program| program.starts_with('.')) {
            *program = folder.join(PathBuf::from(&*program)).to_string_lossy().into_owned();
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, problem: &str) {
        let error = Manifest::parse(text).unwrap_err();
        assert!(error.contains(problem), "{error}");
    }

    #[test]
    fn problems_are_named() {
        check("[]", "this is not a manifest");
        check(r#"{"name": "a"}"#, "missing field `command`");
        check(r#"{"name": " ", "command": ["x"]}"#, "\"name\" must not be empty");
        check(r#"{"name": "a", "command": []}"#, "\"command\" must name a program");
        check(r#"{"name": "a", "command": ["x"], "comand": 1}"#, "unknown field `comand`");
    }

    #[test]
    fn command_is_relative_to_the_folder() {
        let parse = |command: &str| {
            let text = format!(r#"{{"name": "a", "command": {command}}}"#);
            Manifest::parse(&text).unwrap().command_in(Path::new("/x"))
        };
        assert_eq!(parse(r#"["python3", "{dir}/main.py"]"#), ["python3", "/x/main.py"]);
        assert_eq!(parse(r#"["./run", "a"]"#), ["/x/./run", "a"]);
    }
}
