//! The settings: one row each feeds the reader of `settings.json`, its errors, `bowline help settings` and the list in
//! `docs/configuration.md`. A file has the rows of a subject.

mod additions;
mod limits;
mod models;
mod records;
mod requests;
mod sandbox;
mod tools;

use serde_json::Value;

use super::value::Kind;

/// A setting.
pub(crate) struct Setting {
    /// Its key, with dots between the levels: `retry.maxRetries`.
    pub path: &'static str,
    pub kind: Kind,
    /// The default in Markdown. Where it is a value, a test checks that it changes nothing.
    pub default: &'static str,
    /// A value in JSON that is shown after an error.
    pub example: &'static str,
    /// What it does, in Markdown.
    pub about: &'static str,
}

/// A day. Nothing that bowline waits for takes longer.
const LONGEST_MS: u64 = 24 * 60 * 60 * 1000;
const MOST_TURNS: u64 = 1_000_000;
/// More than anybody means to spend of anything.
pub(crate) const MOST_SPENT: u64 = 1_000_000_000_000;
/// More tokens than any model's window has.
const MOST_TOKENS: u64 = 1_000_000_000;

/// The settings by subject, in the order of the documentation.
const SUBJECTS: &[&[Setting]] = &[
    models::SETTINGS,
    tools::SETTINGS,
    sandbox::SETTINGS,
    requests::SETTINGS,
    limits::SETTINGS,
    additions::SETTINGS,
    records::SETTINGS,
];

/// Returns every setting, in the order of the documentation.
pub(crate) fn settings() -> impl Iterator<Item = &'static Setting> {
    SUBJECTS.iter().copied().flatten()
}

/// The settings that a trusted project can have, too. They add to those of the user.
pub(crate) const OF_PROJECTS: &[&str] = &["extensions", "packages", "skills", "prompts"];

impl Setting {
    /// Returns the default in a dialect; none where it is not a value, but is described in words.
    pub fn default_value(&self, dialect: &str) -> Option<Value> {
        let code = |text: &str| serde_json::from_str(text.trim().trim_matches('`')).ok();
        let (usual, other) = self.default.split_once("; in the dialect ").unwrap_or((self.default, ""));
        match other.split_once(", ") {
            Some((name, value)) if name.trim_matches('`') == dialect => code(value),
            _ => code(usual),
        }
    }

    /// Returns the setting whose value is the default of this one, if there is one.
    pub fn default_setting(&self) -> Option<&'static Self> {
        let name = self.default.trim_matches('`');
        settings().find(|setting| setting.path == name)
    }
}

/// Keys of pi's settings that bowline has no use for: the two share their settings, so they are no mistakes.
pub(crate) const KEYS_OF_PI: &[&str] = &[
    "autocompleteMaxVisible",
    "branchSummary",
    "cacheWarming",
    "collapseChangelog",
    "compaction.strategy",
    "doubleEscapeAction",
    "editorPaddingX",
    "enableAnalytics",
    "enableInstallTelemetry",
    "externalEditor",
    "hideThinkingBlock",
    "httpProxy",
    "lastChangelogVersion",
    "markdown",
    "outputPad",
    "queueMode",
    "quietStartup",
    "retry.maxDelayMs",
    "retry.provider",
    "showCacheMissNotices",
    "showHardwareCursor",
    "terminal",
    "theme",
    "themes",
    "trackingId",
    "transport",
    "treeFilterMode",
    "tuiMode",
    "warnings",
    "websocketConnectTimeoutMs",
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn defaults_are_values_by_dialect() {
        let default = |path: &str, dialect| {
            settings().find(|setting| setting.path == path).unwrap().default_value(dialect)
        };
        assert_eq!(default("maxTurns", "pi"), Some(json!(500)));
        assert_eq!(default("npmCommand", "pi"), Some(json!(["npm"])));
        assert_eq!(default("steeringMode", "pi"), Some(json!("one-at-a-time")));
        assert_eq!(default("steeringMode", "opi"), Some(json!("all")));
        assert_eq!(default("enabledModels", "pi"), None);
        let referring: Vec<_> = settings().filter_map(Setting::default_setting).map(|of| of.path).collect();
        assert_eq!(referring, ["httpIdleTimeoutMs", "maxTurns"]);
        for setting in settings().filter(|setting| setting.default.contains("in the dialect `")) {
            let has_value = |dialect| setting.default_value(dialect).is_some();
            assert!(["omp", "opi"].into_iter().any(has_value), "{}", setting.path);
        }
    }

    #[test]
    fn settings_of_projects_exist() {
        assert!(OF_PROJECTS.iter().all(|name| settings().any(|setting| setting.path == *name)));
    }
}
