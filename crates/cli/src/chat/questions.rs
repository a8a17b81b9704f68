//! What the agent or a command asks the user: tool calls, dialogs of extensions, a choice from a list. The line that is
//! typed next is the answer.

use bowline_client::{
    ApprovalDecision, ApprovalRequestRecord, Decision, DialogAnswer, ExtensionUiRequestRecord,
};
use serde_json::Value;
use tokio::sync::oneshot;

use super::commands::Choice;
use super::style::{Palette, Style};
use super::tool_rows::{cut, summary};
use crate::terminal::{plain, plain_line};

/// The most rows of a text that is asked about, and the most options of a list.
const MOST_ROWS: usize = 30;
const MOST_OPTIONS: usize = 200;

/// A question, and who waits for the answer.
#[derive(Debug)]
pub(super) enum Question {
    Approval {
        request: Box<ApprovalRequestRecord>,
        reply: oneshot::Sender<Decision>,
    },
    Dialog {
        request: Box<ExtensionUiRequestRecord>,
        reply: oneshot::Sender<DialogAnswer>,
    },
    /// The user has asked for a list to choose from.
    Choice(Choice),
}

/// What becomes of a question when a line was typed.
#[derive(Debug)]
pub(super) enum Outcome {
    Answered,
    /// The user has chosen this of a list.
    Chosen(Choice, usize),
    /// The line is no answer, for this reason.
    Unclear(Question, String),
}

impl Question {
    /// Tells whether nobody waits for the answer any more.
    pub fn is_over(&self) -> bool {
        match self {
            Self::Approval { reply, .. } => reply.is_closed(),
            Self::Dialog { reply, .. } => reply.is_closed(),
            Self::Choice(_) => false,
        }
    }

    /// Returns the rows that ask it.
    pub fn rows(&self, palette: Palette, width: usize) -> Vec<String> {
        let title = |text: &str| title_rows(palette, text);
        match self {
            Self::Approval { request, .. } => approval_rows(request, palette),
            Self::Dialog { request, .. } => match &**request {
                ExtensionUiRequestRecord::Select(it) => {
                    let mut rows = title(&it.title);
                    rows.extend(options(&it.options, width));
                    rows.push(answers(palette, "a number, or Ctrl-C for none"));
                    rows
                }
                ExtensionUiRequestRecord::Confirm(it) => {
                    let mut rows = title(&it.title);
                    rows.extend(text_rows(&it.message));
                    rows.push(answers(palette, "y or n"));
                    rows
                }
                ExtensionUiRequestRecord::Input(it) => {
                    let hint = it.placeholder.as_deref().unwrap_or("a line of text");
                    let mut rows = title(&it.title);
                    rows.push(answers(palette, &format!("{}, or Ctrl-C for none", plain_line(hint))));
                    rows
                }
                ExtensionUiRequestRecord::Editor(it) => {
                    let mut rows = title(&it.title);
                    rows.extend(it.prefill.as_deref().map(text_rows).unwrap_or_default());
                    rows.push(answers(
                        palette,
                        "a text; \\ at the end of a line continues it; Ctrl-C for none",
                    ));
                    rows
                }
                _ => Vec::new(),
            },
            Self::Choice(choice) => {
                let mut rows = title(choice.title());
                rows.extend(options(&choice.labels(), width));
                rows.push(answers(palette, "a number, or Ctrl-C for none"));
                rows
            }
        }
    }

    /// Answers it with a line.
    pub fn answer(self, line: &str) -> Outcome {
        let line = line.trim();
        match self {
            Self::Approval { request, reply } => match decision(&request.options, line) {
                Some(decision) => sent(reply.send(decision)),
                None => {
                    let known = allowed(&request.options);
                    Outcome::Unclear(Self::Approval { request, reply }, format!("Please answer {known}."))
                }
            },
            Self::Dialog { request, reply } => match dialog_answer(&request, line) {
                Ok(answer) => sent(reply.send(answer)),
                Err(problem) => Outcome::Unclear(Self::Dialog { request, reply }, problem),
            },
            Self::Choice(choice) => match number(line, choice.len()) {
                Some(index) => Outcome::Chosen(choice, index),
                None => {
                    let problem = format!("Please answer with a number from 1 to {}.", choice.len());
                    Outcome::Unclear(Self::Choice(choice), problem)
                }
            },
        }
    }

    /// Answers it with no, and returns what the user is told of that.
    pub fn refuse(self) -> &'static str {
        match self {
            Self::Approval { reply, .. } => {
                let _ = reply.send(Decision::Deny(None));
                "(refused)"
            }
            Self::Dialog { reply, .. } => {
                let _ = reply.send(DialogAnswer::Cancelled);
                "(not answered)"
            }
            Self::Choice(_) => "(nothing chosen)",
        }
    }
}

/// That nobody waits any more is the same to the user.
fn sent<Unread>(_: Result<(), Unread>) -> Outcome {
    Outcome::Answered
}

fn approval_rows(request: &ApprovalRequestRecord, palette: Palette) -> Vec<String> {
    let mut rows = vec![palette.paint(Style::Question, &format!("? May {} run?", plain_line(&request.tool)))];
    match (&request.command, &request.arguments) {
        // All of it is shown: what is hidden might be what matters.
        (Some(command), _) => rows.extend(plain(command).lines().map(|line| format!("    {line}"))),
        (None, Some(arguments)) => {
            rows.push(format!("    {}", summary(&request.tool, arguments)));
            let shown = plain_line(&Value::Object(arguments.clone()).to_string());
            rows.push(palette.paint(Style::Faint, &format!("    {shown}")));
        }
        (None, None) => {}
    }
    rows.push(palette.paint(Style::Faint, &format!("  in {}", plain_line(&request.cwd))));
    rows.push(palette.paint(Style::Faint, &format!("  {}", plain_line(&request.reason.text))));
    if let Some(grants) = &request.grants {
        if grants.unsandboxed == Some(true) {
            rows.push(palette.paint(Style::Bad, "  It runs outside of the sandbox."));
        }
        for path in grants.paths.iter().flatten() {
            rows.push(format!("  It may write {}", plain_line(path)));
        }
        for host in grants.hosts.iter().flatten() {
            rows.push(format!("  It may reach {}", plain_line(host)));
        }
    }
    if let Some(rule) = &request.rule {
        rows.push(palette.paint(Style::Faint, &format!("  The rule is {}", plain_line(&rule.to_string()))));
    }
    rows.push(answers(palette, &allowed(&request.options)));
    rows
}

/// Returns what can be answered.
fn allowed(options: &[ApprovalDecision]) -> String {
    let names = options.iter().filter_map(|option| match option {
        ApprovalDecision::Once => Some("y (once)"),
        ApprovalDecision::Session => Some("s (for this session)"),
        ApprovalDecision::Project => Some("p (in this project)"),
        ApprovalDecision::Deny => Some("n, or n and why"),
        ApprovalDecision::Unknown(_) => None,
    });
    names.collect::<Vec<_>>().join(" · ")
}

/// Returns the decision that a line is, if it is one that is offered.
fn decision(options: &[ApprovalDecision], line: &str) -> Option<Decision> {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let (option, decision) = match word.to_lowercase().as_str() {
        "y" | "yes" | "once" => (ApprovalDecision::Once, Decision::Once),
        "s" | "session" => (ApprovalDecision::Session, Decision::Session),
        "p" | "project" => (ApprovalDecision::Project, Decision::Project),
        "n" | "no" | "deny" => {
            let why = Some(rest.trim()).filter(|why| !why.is_empty());
            (ApprovalDecision::Deny, Decision::Deny(why.map(ToOwned::to_owned)))
        }
        _ => return None,
    };
    // Only a no has something to add, so anything else with more words was meant for somebody else.
    let is_alone = rest.trim().is_empty() || option == ApprovalDecision::Deny;
    (options.contains(&option) && is_alone).then_some(decision)
}

fn dialog_answer(request: &ExtensionUiRequestRecord, line: &str) -> Result<DialogAnswer, String> {
    match request {
        ExtensionUiRequestRecord::Select(it) => match number(line, it.options.len()) {
            Some(index) => Ok(DialogAnswer::Value(it.options[index].clone())),
            None => Err(format!("Please answer with a number from 1 to {}.", it.options.len())),
        },
        ExtensionUiRequestRecord::Confirm(_) => match line.to_lowercase().as_str() {
            "y" | "yes" => Ok(DialogAnswer::Confirmed(true)),
            "n" | "no" => Ok(DialogAnswer::Confirmed(false)),
            _ => Err("Please answer y or n.".to_owned()),
        },
        _ => Ok(DialogAnswer::Value(line.to_owned())),
    }
}

/// Returns the place that a number from 1 on stands for.
fn number(line: &str, count: usize) -> Option<usize> {
    line.parse::<usize>().ok().and_then(|number| number.checked_sub(1)).filter(|index| *index < count)
}

/// Returns a title, of which extensions make several lines.
fn title_rows(palette: Palette, text: &str) -> Vec<String> {
    let text = plain(text.trim());
    let mut lines = text.lines().take(MOST_ROWS);
    let first = palette.paint(Style::Question, &format!("? {}", lines.next().unwrap_or_default()));
    std::iter::once(first).chain(lines.map(|line| format!("  {line}"))).collect()
}

fn answers(palette: Palette, text: &str) -> String {
    palette.paint(Style::Faint, &format!("  {text}"))
}

fn options(labels: &[String], width: usize) -> Vec<String> {
    let room = width.saturating_sub(8);
    let rows = labels.iter().take(MOST_OPTIONS).enumerate();
    let mut rows: Vec<_> =
        rows.map(|(index, label)| format!("  {:>3}  {}", index + 1, cut(&plain_line(label), room))).collect();
    if labels.len() > MOST_OPTIONS {
        rows.push(format!("       … {} more", labels.len() - MOST_OPTIONS));
    }
    rows
}

fn text_rows(text: &str) -> Vec<String> {
    plain(text).lines().take(MOST_ROWS).map(|line| format!("    {line}")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PLAIN: Palette = Palette { is_styled: false };

    fn approval(options: &[&str]) -> (Question, oneshot::Receiver<Decision>) {
        let request = json!({
            "id": "a", "kind": "command", "tool": "bash", "command": "rm -r x\u{1b}[2J\necho", "cwd": "/w",
            "reason": {"code": "ask", "text": "it is not known"}, "options": options, "digest": "d",
        });
        let (reply, decided) = oneshot::channel();
        (Question::Approval { request: serde_json::from_value(request).unwrap(), reply }, decided)
    }

    #[test]
    fn approvals_take_exact_answers_only() {
        for (line, expected) in [
            ("y", Decision::Once),
            (" YES ", Decision::Once),
            ("s", Decision::Session),
            ("n", Decision::Deny(None)),
            ("no use mv", Decision::Deny(Some("use mv".to_owned()))),
        ] {
            let (question, mut decided) = approval(&["once", "session", "deny"]);
            assert!(matches!(question.answer(line), Outcome::Answered), "{line}");
            assert_eq!(decided.try_recv().unwrap(), expected);
        }
        for line in ["", "p", "yes please do", "1", "ok"] {
            let (question, mut decided) = approval(&["once", "session", "deny"]);
            let Outcome::Unclear(question, problem) = question.answer(line) else { panic!("{line}") };
            assert_eq!(problem, "Please answer y (once) · s (for this session) · n, or n and why.");
            assert!(decided.try_recv().is_err());
            assert_eq!(question.refuse(), "(refused)");
            assert_eq!(decided.try_recv().unwrap(), Decision::Deny(None));
        }
    }

    #[test]
    fn whole_command_is_shown_without_its_control_characters() {
        let (question, _decided) = approval(&["once", "deny"]);
        let rows = question.rows(PLAIN, 80);
        assert_eq!(rows[1..3], ["    rm -r x\\u001b[2J", "    echo"]);
        assert_eq!(rows.last().unwrap(), "  y (once) · n, or n and why");
    }

    #[test]
    fn dialogs_are_answered_by_number_word_or_text() {
        let ask = |request: Value| {
            let (reply, answered) = oneshot::channel();
            (Question::Dialog { request: serde_json::from_value(request).unwrap(), reply }, answered)
        };
        let select = || json!({"id": "1", "method": "select", "title": "Which?", "options": ["red", "blue"]});
        let (question, mut answered) = ask(select());
        assert_eq!(question.rows(PLAIN, 80)[..3], ["? Which?", "    1  red", "    2  blue"]);
        assert!(matches!(question.answer("2"), Outcome::Answered));
        assert_eq!(answered.try_recv().unwrap(), DialogAnswer::Value("blue".to_owned()));
        let several =
            json!({"id": "1", "method": "confirm", "title": "It runs:\n\n  rm x\n", "message": "m"});
        assert_eq!(ask(several).0.rows(PLAIN, 80)[..3], ["? It runs:", "  ", "    rm x"]);
        let (question, _answered) = ask(select());
        assert!(matches!(question.answer("3"), Outcome::Unclear(..)));
        let (question, mut answered) =
            ask(json!({"id": "1", "method": "confirm", "title": "Sure?", "message": "m"}));
        assert!(matches!(question.answer("n"), Outcome::Answered));
        assert_eq!(answered.try_recv().unwrap(), DialogAnswer::Confirmed(false));
        let (question, mut answered) = ask(json!({"id": "1", "method": "input", "title": "Name?"}));
        assert!(matches!(question.answer(" me "), Outcome::Answered));
        assert_eq!(answered.try_recv().unwrap(), DialogAnswer::Value("me".to_owned()));
    }
}
