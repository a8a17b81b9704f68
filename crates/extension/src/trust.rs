//! Whether what a project brings along is used.
//!
//! Skills, templates, instructions and settings of a project steer the agent, and extensions run programs. Whoever can
//! write to the project decides about them, so they are used only if the user trusts the project. Context files need no
//! trust: they are read, and nothing in them runs.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bowline_files::Lock;
use serde_json::{Map, Value};

use crate::error::Error;
use crate::project::Project;

/// The folders of a project that bowline looks into, in order of precedence.
pub const PROJECT_FOLDERS: [&str; 2] = [".bowline", ".pi"];

/// What needs trust in such a folder.
const NEEDS_TRUST: [&str; 8] = [
    "settings.json",
    "extensions",
    "skills",
    "prompts",
    "agents",
    "SYSTEM.md",
    "APPEND_SYSTEM.md",
    "mcp.json",
];

/// Where projects of omp define agents. Nothing else in omp's folder is used here.
pub(crate) const OMP_AGENTS: &str = ".omp/agents";

/// The name of the file with the user's decisions.
pub const FILE_NAME: &str = "trust.json";

/// The longest file of decisions that is read.
const LARGEST: u64 = 1024 * 1024;

/// How long another process may hold the lock.
const LOCK_LIMIT: Duration = Duration::from_secs(10);

/// What applies to a project that the user has not decided about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DefaultTrust {
    /// The user would be asked. Over a protocol nobody is, so the project is not trusted.
    #[default]
    Ask,
    Always,
    Never,
}

/// Returns the folders of a project that hold its settings and resources. The user's own folder is none of them.
pub fn project_folders(working: &Path, own_folder: &Path) -> Vec<PathBuf> {
    let own = own_folder.canonicalize().ok();
    let is_own =
        |folder: &PathBuf| folder == own_folder || (own.is_some() && folder.canonicalize().ok() == own);
    PROJECT_FOLDERS.iter().map(|name| working.join(name)).filter(|folder| !is_own(folder)).collect()
}

/// Returns the folders named `.agents` of a project, from the working folder outwards. The user's own is none of them.
pub(crate) fn agents_folders(working: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let folders = Project::around(working, home).folders;
    let real_home = home.and_then(|home| home.canonicalize().ok());
    let is_home = |folder: &Path| Some(folder) == home || Some(folder) == real_home.as_deref();
    folders.into_iter().filter(|folder| !is_home(folder)).map(|folder| folder.join(".agents")).collect()
}

/// Returns what a project has that needs trust.
pub fn found_in(working: &Path, own_folder: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let settings = project_folders(working, own_folder)
        .into_iter()
        .flat_map(|folder| NEEDS_TRUST.map(|name| folder.join(name)));
    let skills = agents_folders(working, home).into_iter().map(|folder| folder.join("skills"));
    settings
        .chain(skills)
        .chain([working.join(OMP_AGENTS)])
        .filter(|path| path.symlink_metadata().is_ok())
        .collect()
}

/// Returns the files with a project's settings for Claude Code. Those in the home directory are the user's.
pub fn claude_settings_in(working: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    if home == Some(working) {
        return Vec::new();
    }
    let files = ["settings.json", "settings.local.json"].map(|name| working.join(".claude").join(name));
    files.into_iter().filter(|path| path.symlink_metadata().is_ok()).collect()
}

/// The user's decisions about projects, in pi's format: an object with `true` or `false` for the path of each.
#[derive(Debug, Clone)]
pub struct TrustFile {
    path: PathBuf,
}

impl TrustFile {
    /// Returns the file in the user's folder.
    pub fn in_folder(own_folder: &Path) -> Self {
        Self { path: own_folder.join(FILE_NAME) }
    }

    /// Returns where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the decision about a folder: its own, or that of the nearest folder around it which has one.
    pub fn decision(&self, folder: &Path) -> Result<Option<bool>, Error> {
        let entries = self.read()?;
        if entries.is_empty() {
            return Ok(None);
        }
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        Ok(folder.ancestors().find_map(|folder| entries.get(folder.to_str()?)?.as_bool()))
    }

    /// Returns all decisions by path.
    pub fn decisions(&self) -> Result<BTreeMap<String, bool>, Error> {
        let entries = self.read()?.into_iter();
        Ok(entries.filter_map(|(path, decision)| Some((path, decision.as_bool()?))).collect())
    }

    /// Records a decision about a folder, or removes it. Returns whether there was one before, and the path it is for.
    pub fn decide(&self, folder: &Path, decision: Option<bool>) -> Result<(Option<bool>, PathBuf), Error> {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let Some(key) = folder.to_str().map(ToOwned::to_owned) else {
            return Err(Error::NotTextPath { path: folder });
        };
        let lock = Lock::acquire(&self.path, LOCK_LIMIT).map_err(|error| self.unwritable(&error))?;
        let mut entries = self.read()?;
        let before = match decision {
            Some(decision) => entries.insert(key, Value::Bool(decision)),
            None => entries.shift_remove(&key),
        };
        let text = serde_json::to_string_pretty(&entries).unwrap_or_default() + "\n";
        lock.replace(text.as_bytes()).map_err(|error| self.unwritable(&error))?;
        Ok((before.and_then(|before| before.as_bool()), folder))
    }

    fn read(&self) -> Result<Map<String, Value>, Error> {
        let text = match bowline_files::read_text(&self.path, LARGEST) {
            Ok(text) if text.trim().is_empty() => return Ok(Map::new()),
            Ok(text) => text,
            Err(error) if error.is_not_found() => return Ok(Map::new()),
            Err(error) => return Err(error.into()),
        };
        match serde_json::from_str(text.trim_start_matches('\u{feff}')) {
            Ok(Value::Object(entries)) => Ok(entries),
            Ok(_) => Err(self.invalid("it must be an object, such as {\"/home/me/project\": true}")),
            Err(error) => Err(self.invalid(&format!("it is not JSON: {error}"))),
        }
    }

    fn unwritable(&self, error: &io::Error) -> Error {
        Error::Unwritable { path: self.path.clone(), reason: error.to_string() }
    }

    fn invalid(&self, problem: &str) -> Error {
        Error::Invalid { path: self.path.clone(), problem: problem.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn project_needs_trust_for_each_of_its_resources_and_not_for_context_files() {
        let folder = tempfile::tempdir().unwrap();
        let (own, working) = (folder.path().join("own"), folder.path().join("home/work"));
        let home = folder.path().join("home");
        let found = || found_in(&working, &own, Some(&home));
        write(&working.join("AGENTS.md"), "");
        write(&working.join(".bowline/notes"), "");
        assert_eq!(found(), [""; 0].map(PathBuf::from));
        for base in PROJECT_FOLDERS {
            for name in NEEDS_TRUST {
                let path = working.join(base).join(name);
                write(&path, "");
                assert_eq!(found(), std::slice::from_ref(&path));
                fs::remove_file(path).unwrap();
            }
        }
        write(&working.join(".agents/skills/a/SKILL.md"), "");
        assert_eq!(found(), [working.join(".agents/skills")]);
    }

    #[test]
    fn own_folder_and_the_skills_in_the_home_directory_are_not_of_a_project() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        let own = home.join(".bowline");
        write(&own.join("settings.json"), "{}");
        write(&home.join(".agents/skills/a/SKILL.md"), "");
        assert!(found_in(home, &own, Some(home)).is_empty());
        assert_eq!(project_folders(home, &own), [home.join(".pi")]);
    }

    #[test]
    fn nearest_decision_counts() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b/c");
        fs::create_dir_all(&inner).unwrap();
        let file = TrustFile::in_folder(&folder.path().join("own"));
        assert_eq!(file.decision(&inner).unwrap(), None);
        file.decide(&folder.path().join("a"), Some(true)).unwrap();
        assert_eq!(file.decision(&inner).unwrap(), Some(true));
        file.decide(&folder.path().join("a/b"), Some(false)).unwrap();
        assert_eq!(file.decision(&inner).unwrap(), Some(false));
        assert_eq!(file.decision(folder.path()).unwrap(), None);
        assert_eq!(file.decide(&folder.path().join("a/b"), None).unwrap().0, Some(false));
        assert_eq!(file.decision(&inner).unwrap(), Some(true));
        assert_eq!(file.decisions().unwrap().len(), 1);
    }

    #[test]
    fn entries_of_other_programs_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = TrustFile::in_folder(folder.path());
        write(file.path(), r#"{"/x": null, "/y": "later"}"#);
        file.decide(folder.path(), Some(true)).unwrap();
        let text = fs::read_to_string(file.path()).unwrap();
        assert!(text.contains("\"/x\": null") && text.contains("\"/y\": \"later\""), "{text}");
        assert_eq!(file.decision(Path::new("/y")).unwrap(), None);
    }

    #[test]
    #[cfg(unix)]
    fn file_is_private_and_invalid_ones_are_errors_that_name_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let file = TrustFile::in_folder(&folder.path().join("new"));
        file.decide(folder.path(), Some(true)).unwrap();
        assert_eq!(fs::metadata(file.path()).unwrap().permissions().mode() & 0o777, 0o600);
        for text in ["[]", "{", "true"] {
            write(file.path(), text);
            let error = file.decision(folder.path()).unwrap_err().to_string();
            assert!(error.contains("trust.json is not valid: it "), "{error}");
            assert!(file.decide(folder.path(), Some(true)).is_err());
            assert_eq!(
                fs::read_to_string(file.path()).unwrap(),
                text,
                "a file that cannot be read is not replaced"
            );
        }
    }

    #[test]
    fn concurrent_decisions_are_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = TrustFile::in_folder(folder.path());
        std::thread::scope(|scope| {
            for number in 0..8 {
                let (file, path) = (&file, folder.path().join(format!("p{number}")));
                scope.spawn(move || file.decide(&path, Some(true)).unwrap());
            }
        });
        assert_eq!(file.decisions().unwrap().len(), 8);
    }
}
