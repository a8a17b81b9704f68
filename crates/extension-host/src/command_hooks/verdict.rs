//! What the answers of all commands of an event come to.

use bowline_core::message::Content;
use serde_json::{Map, Value};

use super::answer::{Answer, Decision};
use super::event::HookEventName;

/// What the answers of all commands of an event come to. They are in the order of the settings, however the commands
/// finished.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Verdict {
    /// The strictest decision, with the reasons of those who made it.
    pub decision: Option<(Decision, String)>,
    /// The last ones.
    pub updated_input: Option<Map<String, Value>>,
    pub updated_output: Option<Value>,
    pub contexts: Vec<String>,
    /// That the run ends, and the first reason.
    pub stop: Option<Option<String>>,
}

impl Verdict {
    pub fn new(answers: Vec<Answer>) -> Self {
        let mut verdict = Self::default();
        for answer in answers {
            verdict.add(answer);
        }
        verdict
    }

    fn add(&mut self, answer: Answer) {
        match (&mut self.decision, answer.decision) {
            (_, None) => {}
            (Some((made, reason)), Some((decision, other))) if *made == decision => {
                if !other.is_empty() && reason.lines().all(|line| line != other) {
                    let separator = if reason.is_empty() { "" } else { "\n" };
                    *reason = format!("{reason}{separator}{other}");
                }
            }
            (Some((made, _)), Some((decision, _))) if *made > decision => {}
            (place, decided) => *place = decided,
        }
        self.updated_input = answer.updated_input.or(self.updated_input.take());
        self.updated_output = answer.updated_output.or(self.updated_output.take());
        self.contexts.extend(answer.context);
        self.stop = match (self.stop.take(), answer.stop) {
            (Some(Some(reason)), _) => Some(Some(reason)),
            (earlier, later) => later.or(earlier),
        };
    }

    /// Returns why something is not to happen.
    pub fn blocked(&self) -> Option<&str> {
        match &self.decision {
            Some((Decision::Block, reason)) => Some(reason),
            _ => None,
        }
    }

    /// Returns the text for the model, if any.
    pub fn context(&self, event: HookEventName) -> Option<String> {
        let text = self.contexts.join("\n");
        (!text.is_empty()).then(|| format!("Context from the {} hook:\n{text}", event.as_str()))
    }

    /// Returns what a result becomes, if it changes.
    pub fn result(&self, event: HookEventName, content: Vec<Content>) -> Option<Vec<Content>> {
        let feedback =
            self.blocked().map(|reason| format!("Feedback from the {} hook:\n{reason}", event.as_str()));
        let additions: Vec<_> = feedback.into_iter().chain(self.context(event)).collect();
        if additions.is_empty() && self.updated_output.is_none() {
            return None;
        }
        let mut content = match &self.updated_output {
            Some(output) => output_content(output),
            None => content,
        };
        content.extend(additions.into_iter().map(|text| Content::Text { text }));
        Some(content)
    }
}

/// Returns the result that a hook wrote: a text, blocks of content, or the fields of Claude Code's tools.
fn output_content(output: &Value) -> Vec<Content> {
    let text = |text: String| vec![Content::Text { text }];
    let blocks = |value: &Value| serde_json::from_value::<Vec<Content>>(value.clone()).ok();
    match output {
        Value::String(output) => text(output.clone()),
        Value::Array(_) => blocks(output).unwrap_or_else(|| text(output.to_string())),
        Value::Object(fields) => {
            let field = |name: &str| fields.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
            if fields.get("stdout").is_some_and(Value::is_string) {
                let both: Vec<_> = [field("stdout"), field("stderr")].into_iter().flatten().collect();
                return text(both.join("\n"));
            }
            match fields.get("content") {
                Some(Value::String(content)) => text(content.clone()),
                Some(content) => blocks(content).unwrap_or_else(|| text(output.to_string())),
                None => match fields.get("file").and_then(|file| file.get("content")?.as_str()) {
                    Some(content) => text(content.to_owned()),
                    None => text(output.to_string()),
                },
            }
        }
        other => text(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tools::text_of;
    use super::*;

    fn decided(decision: Decision, reason: &str) -> Answer {
        Answer { decision: Some((decision, reason.to_owned())), ..Answer::default() }
    }

    #[test]
    fn strictest_decision_wins_with_all_its_reasons() {
        use Decision::{Allow, Ask, Block};
        for (answers, expected) in [
            (vec![], None),
            (vec![decided(Allow, ""), decided(Allow, "fine")], Some((Allow, "fine"))),
            (vec![decided(Allow, "x"), decided(Ask, "sure?"), decided(Allow, "y")], Some((Ask, "sure?"))),
            (
                vec![decided(Block, "a"), decided(Ask, "sure?"), decided(Block, "b"), decided(Block, "b")],
                Some((Block, "a\nb")),
            ),
        ] {
            let found = Verdict::new(answers).decision;
            assert_eq!(found.as_ref().map(|(decision, reason)| (*decision, reason.as_str())), expected);
        }
    }

    #[test]
    fn last_change_and_first_reason_to_stop_count() {
        let answer = |stop: Option<Option<&str>>, output: Option<&str>| Answer {
            stop: stop.map(|reason| reason.map(ToOwned::to_owned)),
            updated_output: output.map(|output| json!(output)),
            ..Answer::default()
        };
        let verdict = Verdict::new(vec![
            answer(Some(None), Some("a")),
            answer(Some(Some("first")), Some("b")),
            answer(Some(Some("second")), None),
        ]);
        assert_eq!(verdict.stop, Some(Some("first".to_owned())));
        assert_eq!(verdict.updated_output, Some(json!("b")));
    }

    #[test]
    fn result_is_replaced_and_extended() {
        let event = HookEventName::PostToolUse;
        let content = || vec![Content::Text { text: "old".to_owned() }];
        assert_eq!(Verdict::default().result(event, content()), None);
        let verdict = Verdict {
            contexts: vec!["x".to_owned(), "y".to_owned()],
            ..Verdict::new(vec![decided(Decision::Block, "wrong")])
        };
        let texts = text_of(&verdict.result(event, content()).unwrap());
        assert_eq!(
            texts,
            "old\nFeedback from the PostToolUse hook:\nwrong\nContext from the PostToolUse hook:\nx\ny"
        );
        for (output, expected) in [
            (json!("new"), "new"),
            (json!({"stdout": "a", "stderr": "b"}), "a\nb"),
            (json!({"stdout": ""}), ""),
            (json!({"content": "c"}), "c"),
            (json!([{"type": "text", "text": "d"}]), "d"),
            (json!({"type": "text", "file": {"content": "e"}}), "e"),
            (json!({"other": 1}), "{\"other\":1}"),
        ] {
            let verdict = Verdict { updated_output: Some(output), ..Verdict::default() };
            assert_eq!(text_of(&verdict.result(event, content()).unwrap()), expected);
        }
    }
}
