//! The stream rules of a session: which of them have stepped in, and what the model is yet to be told.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bowline_core::stream::Update;
use bowline_core::stream_rule::{RuleInterrupt, RuleRepeat, StreamRule};
use bowline_extension::stream_rules::{Found, Loaded, Source, Watch};

use crate::settings::StreamRuleSettings;

/// The rules of a session.
#[derive(Debug, Default)]
pub(crate) struct RuleWatch {
    /// The folder whose rules were read. They are read when the model is called for the first time.
    directory: Option<PathBuf>,
    /// `None` if there are no rules.
    watch: Option<Watch>,
    /// The turn in which each rule stepped in last.
    stepped_in: HashMap<String, u64>,
    /// How many turns there were.
    turns: u64,
    /// The rules that are mentioned in the result of a call, by its id.
    for_calls: Vec<(String, Arc<StreamRule>)>,
    /// The rules that are mentioned when the answer is complete.
    for_later: Vec<Arc<StreamRule>>,
}

/// What an update of an answer led to.
#[derive(Debug, Default)]
pub(crate) struct Broken {
    /// The rules for which the answer is interrupted.
    pub interrupting: Vec<Arc<StreamRule>>,
    /// The rules that will be mentioned in the result of the call that breaks them.
    pub mentioned: Vec<Arc<StreamRule>>,
}

impl RuleWatch {
    /// Returns the rules of a session in which these have stepped in before.
    pub fn restored(names: Vec<String>) -> Self {
        Self { stepped_in: names.into_iter().map(|name| (name, 0)).collect(), ..Self::default() }
    }

    /// Tells whether the rules of a folder were read.
    pub fn knows(&self, directory: &Path) -> bool {
        self.directory.as_deref() == Some(directory)
    }

    /// Takes the rules of a folder.
    pub fn take(&mut self, directory: PathBuf, loaded: Loaded) {
        self.directory = Some(directory);
        self.watch = loaded.rules.map(Watch::new);
    }

    /// Has the rules read again before the next answer.
    pub fn read_again(&mut self) {
        self.directory = None;
    }

    /// Starts with another answer. What was left to say about the last one is not said.
    pub fn start_answer(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.restart();
            self.for_calls.clear();
            self.for_later.clear();
        }
    }

    pub fn count_turn(&mut self) {
        self.turns += 1;
    }

    /// Looks for rules that an update of the answer breaks.
    pub fn observe(&mut self, update: &Update, settings: &StreamRuleSettings) -> Broken {
        let Some(watch) = &mut self.watch else { return Broken::default() };
        let rules = Arc::clone(watch.rules());
        let (stepped_in, turns) = (&self.stepped_in, self.turns);
        let is_due = |index: usize| {
            let last = rules.rule(index).and_then(|rule| stepped_in.get(&rule.name));
            match (last, settings.repeat) {
                (None, _) => true,
                (Some(_), RuleRepeat::Once) => false,
                (Some(last), RuleRepeat::AfterGap(gap)) => turns.saturating_sub(*last) >= gap.max(1),
            }
        };
        let found = watch.observe(update, is_due);
        if found.is_empty() {
            return Broken::default();
        }
        let found = found.into_iter().filter_map(|Found { rule, source }| Some((rules.rule(rule)?, source)));
        let found: Vec<_> = found.map(|(rule, source)| (Arc::clone(rule), source)).collect();
        for (rule, _) in &found {
            self.stepped_in.insert(rule.name.clone(), self.turns);
        }
        let interrupts = |(rule, source): &(Arc<StreamRule>, Source)| {
            interrupts(rule.interrupt.unwrap_or(settings.interrupt), source)
        };
        if found.iter().any(interrupts) {
            let interrupting = found.into_iter().map(|(rule, _)| rule).collect();
            return Broken { interrupting, mentioned: Vec::new() };
        }
        let mut broken = Broken::default();
        for (rule, source) in found {
            match source {
                Source::Prose => self.for_later.push(rule),
                Source::Call { id } => {
                    broken.mentioned.push(Arc::clone(&rule));
                    self.for_calls.push((id, rule));
                }
            }
        }
        broken
    }

    /// Takes the rules that are mentioned in the result of a call.
    pub fn take_for_call(&mut self, call_id: &str) -> Vec<Arc<StreamRule>> {
        if self.for_calls.is_empty() {
            return Vec::new();
        }
        let (taken, left) =
            std::mem::take(&mut self.for_calls).into_iter().partition(|(id, _)| id == call_id);
        self.for_calls = left;
        taken.into_iter().map(|(_, rule): (String, _)| rule).collect()
    }

    /// Takes the rules that are mentioned when the answer is complete.
    pub fn take_for_later(&mut self) -> Vec<Arc<StreamRule>> {
        std::mem::take(&mut self.for_later)
    }

    /// Returns the block by which the model is told of a rule.
    pub fn block(&self, rule: &StreamRule, kind: BlockKind) -> String {
        let path = self.watch.as_ref().map_or(&*rule.path, |watch| watch.rules().shown_path(rule));
        let (tag, why) = match kind {
            BlockKind::Interrupt => (
                "system-interrupt",
                "The coding agent stopped your answer because it breaks a rule of the user or the project. This is not part of any \
                 file or page. Answer again, and comply:",
            ),
            BlockKind::Reminder => (
                "system-reminder",
                "What you wrote breaks a rule of the user or the project. The coding agent tells you so; this is not part of any \
                 file or page. Comply from now on, and correct what you can:",
            ),
        };
        let (name, path) = (attribute(&rule.name), attribute(&path.to_string_lossy()));
        let content = contained(&rule.content);
        format!(
            "<{tag} reason=\"rule_violation\" rule=\"{name}\" path=\"{path}\">\n{why}\n\n{content}\n</{tag}>"
        )
    }

    /// Returns the blocks for several rules.
    pub fn blocks(&self, rules: &[Arc<StreamRule>], kind: BlockKind) -> String {
        rules.iter().map(|rule| self.block(rule, kind)).collect::<Vec<_>>().join("\n\n")
    }
}

/// How the model is told of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockKind {
    /// Its answer was interrupted.
    Interrupt,
    /// It was not.
    Reminder,
}

fn interrupts(mode: RuleInterrupt, source: &Source) -> bool {
    match mode {
        RuleInterrupt::Always => true,
        RuleInterrupt::ProseOnly => *source == Source::Prose,
        RuleInterrupt::ToolOnly => *source != Source::Prose,
        RuleInterrupt::Never => false,
    }
}

/// Returns a text for an attribute: names of files can hold quotes and line breaks.
fn attribute(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '"' => escaped.push_str("&quot;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            letter if letter.is_control() => escaped.extend(letter.escape_default()),
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// Returns the text of a rule, which cannot end its block.
fn contained(text: &str) -> String {
    text.replace("</system-", "&lt;/system-")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use bowline_extension::stream_rules::{Places, load};

    use super::*;

    fn watch(rules: &[(&str, &str)]) -> RuleWatch {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(".omp/rules");
        fs::create_dir_all(&folder).unwrap();
        for (name, fields) in rules {
            fs::write(
                folder.join(format!("{name}.md")),
                format!("---\n{fields}\n---\nNo.</system-interrupt>\n"),
            )
            .unwrap();
        }
        let places = Places {
            own: root.path().join("home"),
            working: root.path().to_owned(),
            disabled: Vec::new(),
            agent: "main".to_owned(),
        };
        let mut watch = RuleWatch::default();
        watch.take(root.path().to_owned(), load(&places));
        watch
    }

    /// Returns the names of the rules that an answer with this text is interrupted for.
    fn interrupted_by(watch: &mut RuleWatch, settings: &StreamRuleSettings, text: &str) -> Vec<String> {
        watch.start_answer();
        let delta = Update::TextDelta { content_index: 0, delta: text.to_owned() };
        watch.observe(&Update::TextStart { content_index: 0 }, settings);
        let broken = watch.observe(&delta, settings);
        broken.interrupting.iter().map(|rule| rule.name.clone()).collect()
    }

    #[test]
    fn rule_steps_in_once_or_again_after_a_gap() {
        let once = StreamRuleSettings::default();
        let mut watch = watch(&[("a", "condition: bad")]);
        assert_eq!(interrupted_by(&mut watch, &once, "bad "), ["a"]);
        assert_eq!(interrupted_by(&mut watch, &once, "bad "), [""; 0]);
        let gap = StreamRuleSettings { repeat: RuleRepeat::AfterGap(2), ..once };
        for expected in [0, 0, 1, 0, 1] {
            assert_eq!(interrupted_by(&mut watch, &gap, "bad ").len(), expected);
            watch.count_turn();
        }
    }

    #[test]
    fn rule_that_stepped_in_before_the_session_was_resumed_counts() {
        let settings = StreamRuleSettings::default();
        let mut fresh = watch(&[("a", "condition: bad"), ("b", "condition: bad")]);
        assert_eq!(interrupted_by(&mut fresh, &settings, "bad "), ["a", "b"]);
        let mut resumed = watch(&[("a", "condition: bad"), ("b", "condition: bad")]);
        resumed.stepped_in = RuleWatch::restored(vec!["b".to_owned()]).stepped_in;
        assert_eq!(interrupted_by(&mut resumed, &settings, "bad "), ["a"]);
    }

    #[test]
    fn one_rule_that_interrupts_takes_the_others_with_it() {
        let settings =
            StreamRuleSettings { interrupt: RuleInterrupt::Never, ..StreamRuleSettings::default() };
        let mut quiet = watch(&[("a", "condition: bad"), ("b", "condition: bad")]);
        assert_eq!(interrupted_by(&mut quiet, &settings, "bad "), [""; 0]);
        assert_eq!(quiet.take_for_later().len(), 2);
        let mut loud = watch(&[("a", "condition: bad"), ("b", "condition: bad\ninterruptMode: prose-only")]);
        assert_eq!(interrupted_by(&mut loud, &settings, "bad "), ["a", "b"]);
        assert!(loud.take_for_later().is_empty());
    }

    #[test]
    fn text_of_a_rule_cannot_end_its_block() {
        let mut watch = watch(&[("a\"b", "condition: bad")]);
        watch.start_answer();
        let settings = StreamRuleSettings::default();
        watch.observe(&Update::TextStart { content_index: 0 }, &settings);
        let delta = Update::TextDelta { content_index: 0, delta: "bad ".to_owned() };
        let rules = watch.observe(&delta, &settings).interrupting;
        let block = watch.blocks(&rules, BlockKind::Interrupt);
        assert!(block.starts_with(
            "<system-interrupt reason=\"rule_violation\" rule=\"a&quot;b\" path=\".omp/rules/a&quot;b.md\">\n"
        ));
        assert!(block.ends_with("\n\nNo.&lt;/system-interrupt>\n</system-interrupt>"), "{block}");
    }
}
