//! What a setting is in the end, and everything that has a say in it.

use bowline_extension::{project_settings, trust};
use serde_json::Value;

use super::Context;
use super::overrides::OVERRIDES;
use crate::failure::Failure;
use crate::settings::{Found, OF_PROJECTS, SettingsFile};
use crate::startup;
use crate::terminal::note;

/// The settings that both agents have in their own files and whose lists add up.
const SHARED_WITH_PI: &[&str] = &["extensions", "packages"];

/// Who has a say in a setting, in order of precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Flag,
    Environment,
    Project,
    User,
    /// The settings in pi's own folder.
    Pi,
    Default,
}

impl Source {
    pub const ALL: [Self; 6] =
        [Self::Flag, Self::Environment, Self::Project, Self::User, Self::Pi, Self::Default];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Environment => "environment",
            Self::Project => "project",
            Self::User => "user",
            Self::Pi => "pi",
            Self::Default => "default",
        }
    }
}

/// What one source says.
#[derive(Debug, Clone)]
pub(super) struct Said {
    pub source: Source,
    /// The flag, the variable or the file; empty for a default.
    pub place: String,
    pub value: Value,
}

/// What applies of a setting: what one source says, or what several say whose lists add up.
pub(super) struct Effective {
    pub said: Vec<Said>,
}

impl Effective {
    /// Returns the value; lists that add up are one.
    pub fn value(&self) -> Option<Value> {
        match &self.said[..] {
            [] => None,
            [said] => Some(said.value.clone()),
            several => {
                let lists = several.iter().filter_map(|said| said.value.as_array()).flatten();
                Some(lists.cloned().collect())
            }
        }
    }

    /// Returns the most important source.
    pub fn source(&self) -> Source {
        self.said.first().map_or(Source::Default, |said| said.source)
    }
}

/// The files that have a say, read once.
pub(super) struct Files {
    user: (String, Value),
    projects: Vec<(String, Value)>,
    pi: Option<(String, Value)>,
}

impl Files {
    /// Reads the user's file, which must be in order, and the others as far as they can be read.
    pub fn read(context: &Context<'_>) -> Result<Self, Failure> {
        let environment = &context.environment;
        let file = SettingsFile::of_user(environment)?;
        let path = SettingsFile::path(environment);
        let mut problems = Vec::new();
        let mut read = |folder: &std::path::Path| {
            let settings = project_settings(folder, &mut problems);
            (folder.join("settings.json").display().to_string(), settings)
        };
        let folders = match context.is_project_trusted(&file) {
            true => trust::project_folders(&environment.working_directory, &environment.home),
            false => Vec::new(),
        };
        let projects = folders.iter().map(|folder| read(folder)).collect();
        let pi = file.pi.as_ref().map(|pi| read(&pi.extensions.folder));
        for problem in problems {
            note(format_args!("bowline: {problem}"));
        }
        Ok(Self { user: (path.display().to_string(), SettingsFile::read_plain(&path)), projects, pi })
    }

    /// Returns what applies of a setting.
    pub fn effective(&self, found: &Found, context: &Context<'_>) -> Effective {
        let mut said = Vec::new();
        for row in OVERRIDES.iter().filter(|row| row.setting == found.setting.path) {
            if let Some(value) = (row.value)(context.arguments) {
                said.push(Said { source: Source::Flag, place: row.flag.to_owned(), value });
                if !row.adds {
                    return Effective { said };
                }
            }
        }
        if let Some((name, value)) = from_environment(found.setting.path, context) {
            let value = value.into();
            return Effective {
                said: vec![Said { source: Source::Environment, place: name.to_owned(), value }],
            };
        }
        let of = |source, (place, file): &(String, Value)| {
            let value = own_value(found, file)?;
            Some(Said { source, place: place.clone(), value })
        };
        if OF_PROJECTS.contains(&found.setting.path) {
            said.extend(self.projects.iter().filter_map(|file| of(Source::Project, file)));
        }
        said.extend(of(Source::User, &self.user));
        let is_shared = SHARED_WITH_PI.contains(&found.setting.path);
        if is_shared || (found.setting.path == "npmCommand" && said.is_empty()) {
            said.extend(self.pi.as_ref().and_then(|file| of(Source::Pi, file)));
        }
        if said.is_empty() {
            said.extend(self.default(found, context));
        }
        Effective { said }
    }

    fn default(&self, found: &Found, context: &Context<'_>) -> Option<Said> {
        let setting = found.setting;
        if found.name() != setting.path {
            return None;
        }
        let value = match setting.default_setting() {
            Some(other) => {
                let other = crate::settings::find(other.path).ok()?;
                self.effective(&other, context).value()
            }
            None => setting.default_value(context.entry.name),
        };
        Some(Said { source: Source::Default, place: String::new(), value: value? })
    }
}

/// Returns the value of a setting in a file, without what is a setting of its own.
fn own_value(found: &Found, file: &Value) -> Option<Value> {
    let mut value = found.value_in(file)?.clone();
    if let (Value::Object(members), true) = (&mut value, found.setting.kind.is_named()) {
        let name = found.name();
        members.retain(|key, _| {
            let path = format!("{name}.{key}");
            !crate::settings::settings().any(|setting| setting.path == path)
        });
        if members.is_empty() {
            return None;
        }
    }
    Some(value)
}

/// Returns the variable that takes precedence over a setting, with its value.
fn from_environment<'a>(path: &str, context: &'a Context<'_>) -> Option<(&'static str, &'a str)> {
    match path {
        "sessionDir" => startup::sessions_variable(&context.environment, &context.entry.start),
        "defaultModel" => startup::model_variable(&context.environment, &context.entry.start),
        _ => None,
    }
}
