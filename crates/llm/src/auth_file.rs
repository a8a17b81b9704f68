//! `auth.json`: the user's keys and logins by provider, in pi's format. Other programs write it too, so unknown
//! entries are preserved, and it is changed only under a lock and atomically.

use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};

use crate::error::Error;
use crate::json_shape::{self, Problem, Shape, not_json};
use crate::models_file::{misconfigured, read_text};
use crate::secret::Secret;
use crate::setting_value::SettingValue;

/// How long another process may hold the lock.
const LOCK_LIMIT: Duration = Duration::from_secs(30);

/// A login that expires this soon counts as expired: the request also takes time to arrive.
const MARGIN_MS: u64 = 60_000;

/// The contents of the file, in its order.
#[derive(Debug, Clone, Default)]
pub(crate) struct AuthFile(Vec<(String, Login)>);

/// A provider's entry. Other fields belong to other programs.
#[derive(Debug, Clone)]
pub(crate) enum Login {
    ApiKey {
        key: SettingValue,
    },
    Oauth(Tokens),
    /// An entry of a type that bowline does not know.
    Unknown,
}

/// The tokens of a login. They are literal, because a server made them.
#[derive(Debug, Clone)]
pub(crate) struct Tokens {
    pub(crate) access: Secret,
    pub(crate) refresh: Option<Secret>,
    /// Milliseconds since the Unix epoch.
    expires: Option<u64>,
    /// The whole entry, as JSON.
    whole: Secret,
}

/// What the file must contain. The members of an entry depend on its type.
const FILE: Shape = Shape::Named(&Shape::Rule(entry));
const FILE_EXAMPLE: &str = r#"{"groq": {"type": "api_key", "key": "$MY_GROQ_KEY"}}"#;

fn entry(value: &Value) -> Result<(), String> {
    let is_text = |name: &str| value.get(name).is_some_and(Value::is_string);
    let is_absent = |name: &str| value.get(name).is_none_or(Value::is_null);
    let wrong = |expected: &str| Err(expected.to_owned());
    match value.get("type").and_then(Value::as_str) {
        None => wrong("an object with a \"type\""),
        Some("api_key") if !is_text("key") => wrong("an object with a text as \"key\""),
        Some("oauth") if !is_text("access") => wrong("an object with a text as \"access\""),
        Some("oauth") if !is_text("refresh") && !is_absent("refresh") => {
            wrong("an object with a text as \"refresh\"")
        }
        Some("oauth") if value["expires"].as_u64().is_none() && !is_absent("expires") => {
            wrong("an object with milliseconds since 1970 as \"expires\"")
        }
        Some(_) => Ok(()),
    }
}

impl Login {
    /// Returns an entry that has been checked.
    fn of(value: &Value) -> Self {
        let text = |name: &str| value[name].as_str();
        match (text("type"), text("key"), text("access")) {
            (Some("api_key"), Some(key), _) => Self::ApiKey { key: SettingValue::new(key) },
            (Some("oauth"), _, Some(access)) => Self::Oauth(Tokens {
                access: Secret::new(access),
                refresh: text("refresh").map(Secret::new),
                expires: value["expires"].as_u64(),
                whole: Secret::new(value.to_string()),
            }),
            _ => Self::Unknown,
        }
    }
}

impl Tokens {
    /// Returns the whole entry, with what only whoever carries out the login understands.
    pub(crate) fn whole(&self) -> Value {
        serde_json::from_str(self.whole.expose()).unwrap_or_default()
    }

    /// Returns whether the access token has expired.
    pub(crate) fn is_over(&self) -> bool {
        self.expires.is_some_and(|time| time <= now().saturating_add(MARGIN_MS))
    }
}

impl AuthFile {
    /// Reads the file; a missing file is empty.
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        match read_text(path)? {
            Some(text) if !text.trim().is_empty() => {
                Self::parse(&text).map_err(|problem| misconfigured(path, problem))
            }
            _ => Ok(Self::default()),
        }
    }

    pub(crate) fn parse(text: &str) -> Result<Self, Problem> {
        let value = json_shape::parse(text, &FILE, FILE_EXAMPLE)?;
        let entries = value.as_object().into_iter().flatten();
        Ok(Self(entries.map(|(name, value)| (name.clone(), Login::of(value))).collect()))
    }

    /// Returns a provider's entry.
    pub(crate) fn login(&self, provider: &str) -> Option<&Login> {
        self.0.iter().find(|(name, _)| name == provider).map(|(_, login)| login)
    }

    /// Returns the providers with an entry.
    pub(crate) fn providers(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

/// Returns a warning if other users can read the file.
pub(crate) fn exposure(path: &Path) -> Option<String> {
    let mode = bowline_files::mode(path)?;
    (mode & 0o077 != 0).then(|| {
        format!(
            "{path} can be read by other users (mode {mode:04o}). Change that with: chmod 600 {path}",
            path = path.display()
        )
    })
}

/// The exclusive right to change the file, held until dropped.
#[derive(Debug)]
pub(crate) struct Lock(bowline_files::Lock);

impl Lock {
    /// Waits for the lock.
    pub(crate) fn acquire(path: &Path) -> Result<Self, Error> {
        bowline_files::Lock::acquire(path, LOCK_LIMIT).map(Self).map_err(|error| unwritable(path, &error))
    }

    /// Changes the file atomically: readers see the old content or the new one.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Map<String, Value>) -> T) -> Result<T, Error> {
        let path = self.0.path();
        let mut entries: Map<String, Value> = match read_text(path)? {
            Some(text) if !text.trim().is_empty() => {
                serde_json::from_str(&text).map_err(|error| misconfigured(path, not_json(&error)))?
            }
            _ => Map::new(),
        };
        let result = change(&mut entries);
        let text = serde_json::to_string_pretty(&entries).map(|text| text + "\n").map_err(io::Error::from);
        let replaced = text.and_then(|text| self.0.replace(text.as_bytes()));
        replaced.map_err(|error| unwritable(path, &error))?;
        Ok(result)
    }
}

/// Returns the time in milliseconds since the Unix epoch.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn unwritable(path: &Path, error: &io::Error) -> Error {
    Error::Unwritable { path: path.to_owned(), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn invalid_file_error_names_the_entry_and_an_example() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("auth.json");
        for (text, expected) in [
            (
                r#"{"groq": 1}"#,
                r#"auth.json is not valid: groq: this must be an object with a "type", for example "groq": {"type":"api_key","key":"$MY_GROQ_KEY"}."#,
            ),
            (
                r#"{"groq": {"type": "api_key", "kee": "s"}}"#,
                r#"groq: this must be an object with a text as "key""#,
            ),
            (
                r#"{"x": {"type": "oauth", "access": "s", "expires": "soon"}}"#,
                r#"x: this must be an object with milliseconds since 1970 as "expires""#,
            ),
            (
                "{\n",
                "auth.json is not valid: this is not JSON at line 2, column 0: a closing bracket is missing at the end.",
            ),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = AuthFile::read(&path).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn change_keeps_other_entries_and_is_private() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new/auth.json");
        let put = |name: &str| {
            let lock = Lock::acquire(&path).unwrap();
            lock.change(|entries| entries.insert(name.to_owned(), json!({ "type": "later" }))).unwrap();
        };
        put("one");
        put("two");
        let text = std::fs::read_to_string(&path).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value, json!({ "one": { "type": "later" }, "two": { "type": "later" } }));
        assert_eq!(exposure(&path), None);
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 2, "the file and its lock");
    }

    #[test]
    fn file_readable_by_others_is_reported() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("auth.json");
        std::fs::write(&path, "{}").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(exposure(&path).unwrap().contains("chmod 600"));
    }

    #[test]
    fn concurrent_changes_do_not_overwrite_each_other() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("auth.json");
        std::thread::scope(|scope| {
            for number in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    let lock = Lock::acquire(path).unwrap();
                    lock.change(|entries| entries.insert(format!("p{number}"), json!({}))).unwrap();
                });
            }
        });
        let value: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(value.as_object().unwrap().len(), 8);
    }
}
