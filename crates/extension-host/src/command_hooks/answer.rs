//! What one command answered, by its exit code and its outputs.

use bowline_tools::{KeptOutput, PipedEnding, PipedOutcome};
use serde_json::{Map, Value};

use super::event::{Ability, HookEventName};

/// How many characters of a text reach a model or a client.
const LONGEST_TEXT: usize = 10_000;

/// How many characters of stderr a warning repeats.
const LONGEST_QUOTE: usize = 500;

/// What one command answered.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Answer {
    /// What it decided about what is about to happen, and why.
    pub decision: Option<(Decision, String)>,
    /// Arguments that replace those of the call.
    pub updated_input: Option<Map<String, Value>>,
    /// What replaces the result of the call.
    pub updated_output: Option<Value>,
    /// Text for the model.
    pub context: Option<String>,
    /// That the run ends, and why.
    pub stop: Option<Option<String>>,
    /// Text for the user.
    pub message: Option<String>,
    /// What went wrong.
    pub warnings: Vec<String>,
}

/// What a command decides. The greater one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Decision {
    Allow,
    Ask,
    Block,
}

impl Answer {
    /// Returns the answer of a command that was run.
    pub fn new(event: HookEventName, outcome: &PipedOutcome) -> Self {
        let errors = outcome.errors.text.trim();
        let said =
            if errors.is_empty() { String::new() } else { format!(": {}", cut(errors, LONGEST_QUOTE)) };
        match outcome.ending {
            PipedEnding::Exited { code: 0 } => Self::of_output(event, &outcome.output),
            PipedEnding::Exited { code: 2 } if event.ability() == Ability::Decides => {
                Self::of_decision(Decision::Block, (!errors.is_empty()).then(|| errors.to_owned()), event)
            }
            PipedEnding::Exited { code } => Self::failed(format!("exited with code {code}{said}")),
            PipedEnding::Signalled { signal } => Self::failed(format!("was killed by signal {signal}{said}")),
            PipedEnding::TimedOut => Self::failed(format!("timed out{said}")),
            // Nobody waits for its answer.
            PipedEnding::Cancelled => Self::default(),
        }
    }

    /// Returns the answer of a command that failed.
    pub fn failed(warning: String) -> Self {
        Self { warnings: vec![warning], ..Self::default() }
    }

    /// Tells whether the command did not answer as it should.
    pub fn is_failure(&self) -> bool {
        !self.warnings.is_empty()
    }

    /// Has a failure prevent what the command was asked about.
    pub fn block(&mut self, event: HookEventName) {
        let reason = format!("A {} hook failed: it {}", event.as_str(), self.warnings.join("; it "));
        self.decision = Some((Decision::Block, reason));
    }

    fn of_decision(decision: Decision, reason: Option<String>, event: HookEventName) -> Self {
        let mut answer = Self::default();
        answer.decide(decision, reason, event);
        answer
    }

    /// Notes a decision, unless a stricter one was made.
    fn decide(&mut self, decision: Decision, reason: Option<String>, event: HookEventName) {
        if self.decision.as_ref().is_some_and(|(made, _)| *made > decision) {
            return;
        }
        let reason = reason.filter(|reason| !reason.trim().is_empty());
        let reason = reason.unwrap_or_else(|| match decision {
            Decision::Block => format!("Blocked by a {} hook, which gave no reason.", event.as_str()),
            Decision::Ask => format!("A {} hook asks for your decision.", event.as_str()),
            Decision::Allow => String::new(),
        });
        self.decision = Some((decision, cut(&reason, LONGEST_TEXT)));
    }

    /// Returns the answer on stdout: an object, or plain text where that counts.
    fn of_output(event: HookEventName, output: &KeptOutput) -> Self {
        let text = output.text.trim();
        if !text.starts_with('{') {
            let context = (event.takes_text() && !text.is_empty()).then(|| cut(text, LONGEST_TEXT));
            return Self { context, ..Self::default() };
        }
        if output.is_cut {
            return Self::failed("printed more than the limit of 1 MB, so its answer is not used".to_owned());
        }
        match serde_json::from_str::<Map<String, Value>>(text) {
            Ok(object) => Self::of_object(event, object),
            Err(error) => Self::failed(format!("printed what is not JSON: {error}")),
        }
    }

    fn of_object(event: HookEventName, object: Map<String, Value>) -> Self {
        let mut answer = Self::default();
        let mut fields = Fields { object, warnings: Vec::new() };
        answer.message = fields.text("systemMessage").map(|text| cut(&text, LONGEST_TEXT));
        let stop_reason = fields.text("stopReason");
        if fields.switch("continue") == Some(false) {
            answer.stop = Some(stop_reason.map(|reason| cut(&reason, LONGEST_TEXT)));
        }
        // Nothing that a hook prints is shown as it is.
        let _ = fields.switch("suppressOutput");
        let reason = fields.text("reason");
        if let Some(decision) = fields.decision("decision") {
            answer.decide(decision, reason, event);
        }
        let specific = match fields.object.shift_remove("hookSpecificOutput") {
            Some(Value::Object(specific)) => specific,
            None | Some(Value::Null) => Map::new(),
            Some(_) => {
                fields.warnings.push("hookSpecificOutput must be an object".to_owned());
                Map::new()
            }
        };
        let mut specific = Fields { object: specific, warnings: fields.warnings };
        let reason = specific.text("permissionDecisionReason");
        if let Some(decision) = specific.decision("permissionDecision") {
            answer.decide(decision, reason, event);
        }
        answer.context = specific.text("additionalContext").filter(|text| !text.trim().is_empty());
        answer.context = answer.context.map(|text| cut(&text, LONGEST_TEXT));
        answer.updated_input = specific.object("updatedInput");
        let renamed = ["updatedToolOutput", "updatedMCPToolOutput"];
        answer.updated_output = renamed.iter().find_map(|name| specific.object.shift_remove(*name));
        answer.warnings = specific.warnings;
        answer
    }
}

/// The fields of an answer. One of the wrong type costs a warning and itself.
struct Fields {
    object: Map<String, Value>,
    warnings: Vec<String>,
}

impl Fields {
    fn take(&mut self, name: &str) -> Option<Value> {
        self.object.shift_remove(name).filter(|value| !value.is_null())
    }

    fn refuse<T>(&mut self, name: &str, expected: &str) -> Option<T> {
        self.warnings.push(format!("printed {name}, which must be {expected}"));
        None
    }

    fn text(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) => Some(text),
            _ => self.refuse(name, "a text"),
        }
    }

    fn switch(&mut self, name: &str) -> Option<bool> {
        match self.take(name)? {
            Value::Bool(value) => Some(value),
            _ => self.refuse(name, "true or false"),
        }
    }

    fn object(&mut self, name: &str) -> Option<Map<String, Value>> {
        match self.take(name)? {
            Value::Object(value) => Some(value),
            _ => self.refuse(name, "an object"),
        }
    }

    fn decision(&mut self, name: &str) -> Option<Decision> {
        match self.text(name)?.as_str() {
            "block" | "deny" => Some(Decision::Block),
            "ask" => Some(Decision::Ask),
            "allow" | "approve" => Some(Decision::Allow),
            _ => self.refuse(name, "\"allow\", \"deny\", \"ask\" or \"block\""),
        }
    }
}

/// Returns the beginning of a text.
fn cut(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}… [{} more bytes were left out]", &text[..end], text.len() - end),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn outcome(code: i32, output: &str, errors: &str) -> PipedOutcome {
        let kept = |text: &str| KeptOutput { text: text.to_owned(), is_cut: false };
        PipedOutcome { output: kept(output), errors: kept(errors), ending: PipedEnding::Exited { code } }
    }

    fn answered(event: HookEventName, output: &Value) -> Answer {
        Answer::new(event, &outcome(0, &output.to_string(), ""))
    }

    #[test]
    fn exit_code_2_blocks_with_what_was_written_to_stderr() {
        let event = HookEventName::PreToolUse;
        let answer = Answer::new(event, &outcome(2, "{\"decision\":\"approve\"}", " not here \n"));
        assert_eq!(answer.decision, Some((Decision::Block, "not here".to_owned())));
        let silent = Answer::new(event, &outcome(2, "", " \n"));
        let reason = "Blocked by a PreToolUse hook, which gave no reason.";
        assert_eq!(silent.decision, Some((Decision::Block, reason.to_owned())));
        let ending = Answer::new(HookEventName::SessionEnd, &outcome(2, "", "no"));
        assert_eq!((ending.decision, ending.warnings), (None, vec!["exited with code 2: no".to_owned()]));
    }

    #[test]
    fn other_failures_decide_nothing_and_are_reported() {
        let event = HookEventName::PreToolUse;
        for (answer, warning) in [
            (outcome(1, "{\"decision\":\"block\"}", "oops\n"), "exited with code 1: oops"),
            (outcome(127, "", ""), "exited with code 127"),
            (PipedOutcome { ending: PipedEnding::TimedOut, ..outcome(0, "", "") }, "timed out"),
            (
                PipedOutcome { ending: PipedEnding::Signalled { signal: 11 }, ..outcome(0, "", "") },
                "was killed by signal 11",
            ),
        ] {
            assert_eq!(Answer::new(event, &answer), Answer::failed(warning.to_owned()));
        }
        let answer = Answer::new(event, &outcome(0, "{oops", ""));
        assert!(answer.warnings[0].starts_with("printed what is not JSON: "), "{answer:?}");
    }

    #[test]
    fn plain_text_is_for_the_model_where_that_counts() {
        let text = outcome(0, "\n the branch is main\n", "");
        for event in HookEventName::ALL {
            let expected = event.takes_text().then(|| "the branch is main".to_owned());
            assert_eq!(Answer::new(*event, &text), Answer { context: expected, ..Answer::default() });
        }
    }

    #[test]
    fn objects_are_read_in_their_old_and_new_forms() {
        let event = HookEventName::PreToolUse;
        let decided = |output: Value| answered(event, &output).decision;
        let block = Some((Decision::Block, "no".to_owned()));
        assert_eq!(decided(json!({"decision": "block", "reason": "no"})), block);
        let specific = |decision: &str| {
            json!({"hookSpecificOutput": {
                "hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": "no",
            }})
        };
        assert_eq!(decided(specific("deny")), block);
        assert_eq!(decided(specific("ask")), Some((Decision::Ask, "no".to_owned())));
        assert_eq!(decided(specific("allow")), Some((Decision::Allow, "no".to_owned())));
        let answer = answered(
            event,
            &json!({
                "continue": false, "stopReason": "enough", "systemMessage": "look", "suppressOutput": true,
                "hookSpecificOutput": {"updatedInput": {"command": "ls"}, "additionalContext": "note"},
            }),
        );
        let expected = Answer {
            stop: Some(Some("enough".to_owned())),
            message: Some("look".to_owned()),
            context: Some("note".to_owned()),
            updated_input: json!({"command": "ls"}).as_object().cloned(),
            ..Answer::default()
        };
        assert_eq!(answer, expected);
        let answer =
            answered(HookEventName::PostToolUse, &json!({"hookSpecificOutput": {"updatedToolOutput": "x"}}));
        assert_eq!(answer.updated_output, Some(json!("x")));
    }

    #[test]
    fn field_of_the_wrong_type_does_not_hide_a_decision() {
        let answer = answered(
            HookEventName::PreToolUse,
            &json!({
                "systemMessage": 1, "continue": "no", "decision": "deny", "reason": [],
                "hookSpecificOutput": {"updatedInput": "x", "permissionDecision": "defer"},
            }),
        );
        assert_eq!(answer.decision.unwrap().0, Decision::Block);
        assert_eq!(answer.warnings.len(), 5, "{:?}", answer.warnings);
    }

    #[test]
    fn texts_are_cut() {
        let text = "ä".repeat(LONGEST_TEXT + 5);
        let answer = Answer::new(HookEventName::SessionStart, &outcome(0, &text, ""));
        let context = answer.context.unwrap();
        assert!(context.ends_with("ä… [10 more bytes were left out]"), "{}", &context[context.len() - 40..]);
        let mut long = outcome(0, "{}", "");
        long.output.is_cut = true;
        assert!(Answer::new(HookEventName::Stop, &long).is_failure());
    }
}
