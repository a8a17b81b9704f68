//! Finding a setting by the name that a user types.

use serde_json::Value;

use super::file::{is_below, suggestion};
use super::table::{KEYS_OF_PI, Setting, settings};

/// A setting, or one member of a setting whose keys the user chooses, such as `mcpServers.time`.
pub(crate) struct Found {
    pub setting: &'static Setting,
    /// The keys that lead to it in the file.
    pub keys: Vec<String>,
}

impl Found {
    /// Returns the name, as the user may type it.
    pub fn name(&self) -> String {
        self.keys.join(".")
    }

    /// Returns an object with nothing but this.
    pub fn alone(&self, value: Value) -> Value {
        self.keys
            .iter()
            .rev()
            .fold(value, |inner, key| Value::Object([(key.clone(), inner)].into_iter().collect()))
    }

    /// Returns its value in an object; `null` is none.
    pub fn value_in<'file>(&self, file: &'file Value) -> Option<&'file Value> {
        let value = self.keys.iter().try_fold(file, |value, key| value.get(key))?;
        Some(value).filter(|value| !value.is_null())
    }
}

/// Finds a setting. The error says what is wrong with the name.
pub(crate) fn find(name: &str) -> Result<Found, String> {
    let split = |path: &str| path.split('.').map(ToOwned::to_owned).collect::<Vec<_>>();
    if let Some(setting) = settings().find(|setting| setting.path == name) {
        return Ok(Found { setting, keys: split(name) });
    }
    let named = settings().filter(|setting| setting.kind.is_named() && is_below(name, setting.path));
    if let Some(setting) = named.max_by_key(|setting| setting.path.len()) {
        let mut keys = split(setting.path);
        // What the user chose may have dots of its own.
        keys.extend(name.get(setting.path.len() + 1..).map(ToOwned::to_owned));
        return Ok(Found { setting, keys });
    }
    let below: Vec<_> = settings().map(|setting| setting.path).filter(|path| is_below(path, name)).collect();
    if !below.is_empty() {
        return Err(format!("\"{name}\" is a group of settings: {}", below.join(", ")));
    }
    if KEYS_OF_PI.iter().any(|key| *key == name || is_below(name, key)) {
        return Err(format!("\"{name}\" is a setting of pi that has no effect in bowline"));
    }
    let (group, key) = name.rsplit_once('.').map_or(("", name), |(group, key)| (group, key));
    let prefix = if group.is_empty() { String::new() } else { format!("{group}.") };
    let near = suggestion(&prefix, key).or_else(|| nearest_path(name));
    let hint = near.map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default();
    Err(format!("\"{name}\" is not a setting{hint} (bowline help settings lists the settings)"))
}

/// Returns the setting whose whole name a word resembles.
fn nearest_path(name: &str) -> Option<String> {
    crate::similar::nearest(name, settings().map(|setting| setting.path)).map(ToOwned::to_owned)
}

/// Returns the settings that a name stands for: one, or those of a group.
pub(crate) fn find_all(name: &str) -> Result<Vec<Found>, String> {
    let below = settings().filter(|setting| is_below(setting.path, name));
    let mut found: Vec<_> = below.filter_map(|setting| find(setting.path).ok()).collect();
    match find(name) {
        Ok(itself) => found.insert(0, itself),
        Err(problem) if found.is_empty() => return Err(problem),
        Err(_) => {}
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn problem(name: &str) -> String {
        find(name).map(|found| found.name()).unwrap_err()
    }

    #[test]
    fn names_lead_to_settings_and_mistakes_to_the_nearest_one() {
        let keys = |name| find(name).unwrap_or_else(|problem| panic!("{problem}")).keys;
        assert_eq!(keys("retry.maxRetries"), ["retry", "maxRetries"]);
        assert_eq!(keys("mcpServers.a.b"), ["mcpServers", "a.b"]);
        assert_eq!(keys("hooks.importClaude"), ["hooks", "importClaude"]);
        assert!(problem("maxTurn").contains("; did you mean \"maxTurns\"?"));
        assert!(problem("retry.maxRetry").contains("; did you mean \"retry.maxRetries\"?"));
        assert!(problem("rety.maxRetries").contains("; did you mean \"retry.maxRetries\"?"));
        assert!(problem("frobnicate").contains("is not a setting (bowline help settings"));
        assert!(problem("theme").contains("is a setting of pi"));
        assert!(problem("retry").starts_with("\"retry\" is a group of settings: retry.enabled, "));
        assert_eq!(find_all("retry").unwrap_or_default().len(), 4);
    }
}
