//! The process's environment and the folder of bowline's files.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::failure::Failure;

/// The process's environment, read once. Libraries are given what they need of it.
#[derive(Debug, Clone)]
pub(crate) struct Environment {
    pub variables: HashMap<String, String>,
    /// The folder of settings, models, credentials and sessions.
    pub home: PathBuf,
    pub working_directory: PathBuf,
    /// The user's home directory, which `~` stands for.
    pub user_home: Option<PathBuf>,
    pub temporary_directory: PathBuf,
}

impl Environment {
    /// Reads the environment. If the user named a folder to work in, the process moves there, so that every relative
    /// path after it means the same.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment for the rest")]
    pub fn read(folder: Option<&str>) -> Result<Self, Failure> {
        let variables: HashMap<_, _> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let working_directory = std::env::current_dir().map_err(Failure::io(
            "the working directory cannot be found; start bowline in a folder that exists",
        ))?;
        let home = home(&variables).ok_or_else(|| {
            Failure::Usage(
                "there is no home directory: set HOME, or BOWLINE_HOME to a folder for bowline's files"
                    .to_owned(),
            )
        })?;
        let mut environment = Self {
            variables,
            home: working_directory.join(home),
            working_directory,
            user_home: std::env::home_dir(),
            // An empty variable is as good as none.
            temporary_directory: Some(std::env::temp_dir())
                .filter(|folder| !folder.as_os_str().is_empty())
                .unwrap_or_else(|| PathBuf::from("/tmp")),
        };
        if let Some(folder) = folder {
            let path = environment.expand(folder);
            if folder.is_empty() || !path.is_dir() {
                let is_there = !folder.is_empty() && path.symlink_metadata().is_ok();
                let problem =
                    if is_there { "is not a folder" } else { "does not exist; name a folder that does" };
                return Err(Failure::Usage(format!("--cwd: \"{folder}\" {problem}")));
            }
            let path = path.canonicalize().map_err(Failure::io("entering the folder of --cwd"))?;
            std::env::set_current_dir(&path).map_err(Failure::io("entering the folder of --cwd"))?;
            environment.working_directory = path;
        }
        Ok(environment)
    }

    /// Returns the folder of pi's settings, extensions and packages, whether or not it is there.
    pub fn pi_folder(&self) -> Option<PathBuf> {
        match self.variable("PI_CODING_AGENT_DIR") {
            Some(folder) => Some(self.expand(folder)),
            None => self.user_home.as_ref().map(|home| home.join(".pi").join("agent")),
        }
    }

    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Replaces a leading `~` by the user's home directory.
    pub fn expand(&self, path: &str) -> PathBuf {
        match (path.strip_prefix('~'), self.variable("HOME")) {
            (Some(""), Some(home)) => PathBuf::from(home),
            (Some(rest), Some(home)) if rest.starts_with('/') => PathBuf::from(format!("{home}{rest}")),
            _ => self.working_directory.join(path),
        }
    }
}

/// Returns all variables, also those that are not text.
#[expect(
    clippy::disallowed_methods,
    reason = "read again with the first command, so that the start does without"
)]
pub(crate) fn all_variables() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

/// Returns the path of this program.
#[expect(clippy::disallowed_methods, reason = "the one place that looks for the program")]
pub(crate) fn program() -> std::io::Result<PathBuf> {
    std::env::current_exe()
}

/// Returns whether the user wants debuggers and profilers to reach into this process.
#[expect(clippy::disallowed_methods, reason = "asked before anything else is read")]
pub(crate) fn is_debuggable() -> bool {
    std::env::var_os("BOWLINE_DEBUGGABLE").is_some_and(|value| !value.is_empty())
}

/// `BOWLINE_HOME`, else the folder that pi's clients name, else `~/.bowline`.
fn home(variables: &HashMap<String, String>) -> Option<PathBuf> {
    let set = |name: &str| variables.get(name).filter(|value| !value.is_empty());
    if let Some(home) = set("BOWLINE_HOME").or_else(|| set("PI_CODING_AGENT_DIR")) {
        return Some(PathBuf::from(home));
    }
    set("HOME").or_else(|| set("USERPROFILE")).map(|home| PathBuf::from(home).join(".bowline"))
}
