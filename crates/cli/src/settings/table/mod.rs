//! The settings: one row each feeds the reader of `settings.json`, its errors, `bowline help settings` and the list in
//! `docs/configuration.md`. A file has the rows of a subject.

mod additions;
mod limits;
mod models;
mod records;
mod requests;
mod sandbox;
mod tools;

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
