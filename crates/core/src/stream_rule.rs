//! Rules that watch what the model writes, and step in when it matches.

use std::path::PathBuf;

/// A rule as its file describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamRule {
    /// The name of the file without its ending.
    pub name: String,
    pub path: PathBuf,
    /// What the model is told when it breaks the rule.
    pub content: String,
    pub description: Option<String>,
    /// The regular expressions, any of which is a match.
    pub conditions: Vec<String>,
    /// What is watched, as the file says; empty for text and all tools.
    pub scope: Vec<String>,
    /// The files that a watched tool call must be about, if any.
    pub globs: Vec<String>,
    /// The agents that the rule is for; empty for all.
    pub agents: Vec<String>,
    /// When the rule interrupts, if not as the settings say.
    pub interrupt: Option<RuleInterrupt>,
    pub origin: RuleOrigin,
}

/// Where a rule comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleOrigin {
    /// The program whose folder holds it, such as `cursor`.
    pub program: &'static str,
    /// The same for people.
    pub program_name: &'static str,
    /// Whether it is the user's own, in every project.
    pub is_own: bool,
}

/// Which matches interrupt the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RuleInterrupt {
    #[default]
    Always,
    /// Those in text and thinking.
    ProseOnly,
    /// Those in the arguments of tool calls.
    ToolOnly,
    Never,
}

/// What the model sees of an answer that was interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InterruptedAnswer {
    /// Nothing.
    #[default]
    Discard,
    /// The part that it had written.
    Keep,
}

/// How often one rule steps in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleRepeat {
    /// Once in a session.
    Once,
    /// Again after this many turns.
    AfterGap(u64),
}

impl RuleInterrupt {
    const NAMES: [(Self, &'static str); 4] = [
        (Self::Always, "always"),
        (Self::ProseOnly, "prose-only"),
        (Self::ToolOnly, "tool-only"),
        (Self::Never, "never"),
    ];

    /// Returns the name in files, settings and on the wire.
    pub fn as_str(self) -> &'static str {
        Self::NAMES.iter().find(|(mode, _)| *mode == self).map_or("always", |(_, name)| name)
    }

    /// Returns what has this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(mode, _)| *mode)
    }
}
