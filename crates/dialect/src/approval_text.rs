//! A tool call as a text that a user can decide on.

use std::fmt::Write as _;

use bowline_core::ask::{Approval, ApprovalForm, ApprovalKind, ReasonCode, Remembered, Terms};
use bowline_core::sandbox::Grants;
use serde_json::Value;

/// How many characters of one argument are shown, and of all of them.
const LONGEST_ARGUMENT: usize = 2_000;
const LONGEST_TEXT: usize = 8_000;

/// How many characters of a command are shown: its beginning and its end.
const LONGEST_COMMAND: usize = 6_000;

/// What stands before every line of an argument.
const INDENT: &str = "    ";

/// What users choose from, where a question is a choice. A client may take any text with "allow" in it for a yes, so each
/// is one plain word.
pub(crate) const APPROVE: &str = "Approve";
pub(crate) const SESSION: &str = "Session";
pub(crate) const PROJECT: &str = "Project";
const DENY: &str = "Deny";

/// Returns the options of a question that is a choice.
pub(crate) fn choices(terms: &Terms) -> Vec<String> {
    let remembered = terms.may_remember.iter().map(|remembered| match remembered {
        Remembered::Session => SESSION,
        Remembered::Project => PROJECT,
    });
    let words = std::iter::once(APPROVE).chain(remembered).chain([DENY]);
    words.map(ToOwned::to_owned).collect()
}

/// Returns the options of a question that is yes or no.
pub(crate) fn yes_or_no() -> Vec<String> {
    [APPROVE, DENY].map(ToOwned::to_owned).to_vec()
}

/// Returns the title of a question.
pub(crate) fn approval_title(approval: &Approval) -> String {
    format!("Allow {}?", visible(&approval.tool))
}

/// Returns why a call needs consent and what it would do. What an extension asks begins with the reason, and what bowline
/// asks with the call.
pub(crate) fn approval_text(approval: &Approval) -> String {
    let mut text = String::new();
    if approval.terms.code == ReasonCode::Extension {
        if !approval.reason.is_empty() {
            let reason = shortened(&visible(&approval.reason), LONGEST_ARGUMENT);
            let _ = writeln!(text, "Reason: {}", reason.replace('\n', "\n    "));
        }
        write_arguments(&mut text, approval);
    } else {
        write_arguments(&mut text, approval);
        let _ = writeln!(text, "Folder: {}", one_line(&approval.terms.working_directory.to_string_lossy()));
        let _ = writeln!(text, "Reason: {}", shortened(&one_line(&approval.reason), LONGEST_ARGUMENT));
        write_grants(&mut text, &approval.terms.grants);
        write_remembered(&mut text, &approval.terms);
    }
    text.truncate(text.trim_end().len());
    text
}

/// Writes what the call is about, and then the other arguments. Those are named by the model, and all lines of an argument
/// are indented, so that none looks like a line of this text.
fn write_arguments(text: &mut String, approval: &Approval) {
    let object = match approval.terms.kind {
        ApprovalKind::Command | ApprovalKind::Network => Some("command"),
        ApprovalKind::File => Some("path"),
        ApprovalKind::Tool => None,
    };
    let is_object = |name: &str| object == Some(name);
    for (name, value) in approval.arguments.iter().filter(|(name, _)| is_object(name)) {
        let longest = if name == "command" { LONGEST_COMMAND } else { LONGEST_ARGUMENT };
        write_argument(text, "", &capitalized(name), &without_middle(&shown(value), longest));
    }
    let mut has_others = false;
    for (name, value) in approval.arguments.iter().filter(|(name, _)| !is_object(name)) {
        if !std::mem::replace(&mut has_others, true) {
            text.push_str("Arguments:\n");
        }
        if text.len() > LONGEST_TEXT {
            text.push_str("    …\n");
            break;
        }
        let name = one_line(&shortened(name, LONGEST_ARGUMENT));
        write_argument(text, INDENT, &name, &shortened(&shown(value), LONGEST_ARGUMENT));
    }
}

fn write_argument(text: &mut String, indent: &str, name: &str, value: &str) {
    if value.contains('\n') {
        let lines = value.replace('\n', &format!("\n{indent}{INDENT}"));
        let _ = writeln!(text, "{indent}{name}:\n{indent}{INDENT}{lines}");
    } else {
        let _ = writeln!(text, "{indent}{name}: {value}");
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => visible(text),
        other => visible(&other.to_string()),
    }
}

/// Writes what is allowed from now on if the user chooses so, where the question offers that.
fn write_remembered(text: &mut String, terms: &Terms) {
    if terms.form != ApprovalForm::FullDialog || terms.may_remember.is_empty() {
        return;
    }
    let described = terms.rule.as_ref().and_then(described_rule);
    let _ = match described {
        Some(rule) => {
            let rule = shortened(&one_line(&rule), LONGEST_ARGUMENT);
            writeln!(text, "Session and Project allow: {rule}")
        }
        None => writeln!(text, "Session allows: exactly this call"),
    };
}

/// Returns what a rule allows.
fn described_rule(rule: &Value) -> Option<String> {
    let words = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(ToOwned::to_owned).collect()
    };
    if let Some(prefix) = rule.get("prefix") {
        // A word with a blank is one word.
        let quoted =
            |word: String| if word.contains(char::is_whitespace) { format!("{word:?}") } else { word };
        let words: Vec<_> = words(prefix).into_iter().map(quoted).collect();
        let outside = if rule.get("sandbox").is_some() { ", outside of the sandbox" } else { "" };
        return Some(format!("{} …{outside}", words.join(" ")));
    }
    if let Some(host) = rule.get("host").and_then(Value::as_str) {
        return Some(format!("to reach {host}"));
    }
    let tools = match rule.get("tool")? {
        Value::String(tool) => tool.clone(),
        tools => words(tools).join(" and "),
    };
    Some(match rule.get("path").and_then(Value::as_str) {
        Some(path) => format!("{tools} {path}"),
        None => format!("every call of {tools}"),
    })
}

fn write_grants(text: &mut String, grants: &Grants) {
    let mut granted = Vec::new();
    if grants.unsandboxed {
        granted.push("run outside of the sandbox".to_owned());
    }
    granted.extend(grants.paths.iter().map(|path| format!("write {}", one_line(&path.to_string_lossy()))));
    granted.extend(grants.hosts.iter().map(|host| format!("reach {}", one_line(host))));
    if !granted.is_empty() {
        let _ = writeln!(text, "Grants: {}", granted.join(", "));
    }
}

/// Returns a text in which nothing is invisible or changes how the rest is shown: control characters, the marks that turn
/// the direction of writing, and characters without width are written as their numbers.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_deceptive(character) {
            let _ = write!(shown, "\\u{{{:x}}}", u32::from(character));
        } else {
            shown.push(character);
        }
    }
    shown
}

fn is_deceptive(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{feff}' => true,
        // Letters and a pattern of dots that are shown as nothing.
        '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{2800}' => true,
        // They choose how the character before them looks, and are nothing themselves.
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => true,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => true,
        other => other.is_control(),
    }
}

fn one_line(text: &str) -> String {
    visible(text).replace('\n', "\\n").replace('\t', "\\t")
}

/// Returns a text without its middle if it is long. A command can hide something at its end.
fn without_middle(text: &str, longest: usize) -> String {
    let count = text.chars().count();
    if count <= longest {
        return text.to_owned();
    }
    let (head, tail): (String, String) =
        (text.chars().take(longest / 2).collect(), text.chars().skip(count - longest / 2).collect());
    format!("{head}\n… {} characters are not shown …\n{tail}", count - longest / 2 * 2)
}

fn shortened(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn capitalized(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    fn approval(reason: &str, arguments: &Value, terms: Terms) -> Approval {
        Approval {
            call_id: "c".to_owned(),
            tool: "write".to_owned(),
            arguments: Arc::new(arguments.as_object().cloned().unwrap_or_default()),
            reason: reason.to_owned(),
            terms,
        }
    }

    fn text(reason: &str, arguments: &Value) -> String {
        approval_text(&approval(reason, arguments, Terms::default()))
    }

    fn own_text(reason: &str, arguments: &Value, grants: Grants) -> String {
        own_text_of(ApprovalKind::Command, reason, arguments, grants)
    }

    fn own_text_of(kind: ApprovalKind, reason: &str, arguments: &Value, grants: Grants) -> String {
        let (code, working_directory) = (ReasonCode::Rule, "/p".into());
        approval_text(&approval(
            reason,
            arguments,
            Terms { code, kind, working_directory, grants, ..Terms::default() },
        ))
    }

    #[test]
    fn every_argument_is_a_line_of_its_own() {
        let arguments = json!({ "path": "a.txt", "content": "one\ntwo", "force": true });
        assert_eq!(
            text("it writes\na lot", &arguments),
            "Reason: it writes\n    a lot\nArguments:\n    path: a.txt\n    content:\n        one\n        two\n    force: true"
        );
        assert_eq!(
            own_text_of(ApprovalKind::File, "r", &arguments, Grants::default()),
            "Path: a.txt\nArguments:\n    content:\n        one\n        two\n    force: true\nFolder: /p\nReason: r"
        );
        assert_eq!(text("", &json!({})), "");
    }

    #[test]
    fn text_is_bounded_whatever_the_arguments_are() {
        let long = "é".repeat(100_000);
        let one = text("", &json!({ "content": long }));
        assert_eq!(one.chars().count(), "Arguments:\n    content: ".len() + LONGEST_ARGUMENT + 1);
        let many: serde_json::Map<_, _> = (0..100).map(|n| (n.to_string(), json!(long))).collect();
        assert!(text(&long, &many.into()).chars().count() < LONGEST_TEXT + 3 * LONGEST_ARGUMENT);
    }

    #[test]
    fn own_question_has_the_command_the_folder_the_reason_and_the_grants() {
        let grants =
            Grants { unsandboxed: true, paths: vec!["/etc/x".into()], hosts: vec!["a.example:443".into()] };
        assert_eq!(
            own_text("It leaves this machine.", &json!({ "command": "git push" }), grants),
            "Command: git push\nFolder: /p\nReason: It leaves this machine.\n\
             Grants: run outside of the sandbox, write /etc/x, reach a.example:443"
        );
    }

    #[test]
    fn no_argument_can_look_like_another_line() {
        let shown = own_text(
            "r",
            &json!({ "command": "rm -rf x\nReason: harmless\nFolder: /tmp" }),
            Grants::default(),
        );
        assert_eq!(
            shown,
            "Command:\n    rm -rf x\n    Reason: harmless\n    Folder: /tmp\nFolder: /p\nReason: r"
        );
    }

    #[test]
    fn no_name_of_an_argument_can_look_like_a_line_of_bowline() {
        let arguments = json!({
            "command": "touch x",
            "folder": "/tmp",
            "reason": "A rule of yours allows it.",
            "grants": "nothing",
            "Reason: none\nFolder": "x",
        });
        assert_eq!(
            own_text("r", &arguments, Grants::default()),
            "Command: touch x\nArguments:\n    folder: /tmp\n    reason: A rule of yours allows it.\n    grants: nothing\n    \
             Reason: none\\nFolder: x\nFolder: /p\nReason: r"
        );
        let lines = text("it asks", &arguments);
        let own: Vec<_> = lines.lines().filter(|line| !line.starts_with(' ')).collect();
        assert_eq!(own, ["Reason: it asks", "Arguments:"]);
    }

    #[test]
    fn full_dialog_says_what_is_remembered() {
        for (rule, expected) in [
            (
                Some(json!({ "tool": "bash", "prefix": ["git", "push"], "then": "allow" })),
                "Session and Project allow: git push …",
            ),
            (
                Some(json!({ "prefix": ["ls", "a b\nReason: x"], "then": "allow", "sandbox": "off" })),
                "Session and Project allow: ls \"a b\\nReason: x\" …, outside of the sandbox",
            ),
            (
                Some(json!({ "tool": ["write", "edit"], "path": "src/a", "then": "allow" })),
                "Session and Project allow: write and edit src/a",
            ),
            (
                Some(json!({ "host": "a.example", "then": "allow" })),
                "Session and Project allow: to reach a.example",
            ),
            (
                Some(json!({ "tool": "deploy", "then": "allow" })),
                "Session and Project allow: every call of deploy",
            ),
            (None, "Session allows: exactly this call"),
        ] {
            let may_remember = vec![Remembered::Session];
            let (code, form) = (ReasonCode::Rule, ApprovalForm::FullDialog);
            let terms = Terms { code, form, rule, may_remember, ..Terms::default() };
            let shown = approval_text(&approval("r", &json!({}), terms.clone()));
            assert_eq!(shown.lines().last(), Some(expected));
            let terms = Terms { form: ApprovalForm::Dialog, ..terms };
            assert!(!approval_text(&approval("r", &json!({}), terms)).contains("Session"));
        }
    }

    #[test]
    fn invisible_characters_are_shown() {
        for character in
            "\u{3164}\u{115f}\u{1160}\u{ffa0}\u{2800}\u{34f}\u{fe00}\u{fe0f}\u{e0100}\u{e01ef}".chars()
        {
            let shown = own_text("r", &json!({ "command": format!("a{character}b") }), Grants::default());
            let expected = format!("Command: a\\u{{{:x}}}b\n", u32::from(character));
            assert!(shown.starts_with(&expected), "{shown}");
        }
        let shown = own_text(
            "r",
            &json!({ "command": "a\u{1b}[2Kb\u{202e}c\u{200b}d\re\u{9b}f" }),
            Grants::default(),
        );
        assert_eq!(shown.lines().next(), Some(r"Command: a\u{1b}[2Kb\u{202e}c\u{200b}d\u{d}e\u{9b}f"));
    }

    #[test]
    fn end_of_a_long_command_is_shown() {
        let command = format!("echo {}; rm -rf ~", "x".repeat(10_000));
        let shown = own_text("r", &json!({ "command": command }), Grants::default());
        assert!(shown.contains("; rm -rf ~\nFolder"), "{shown}");
        assert!(shown.contains("4015 characters are not shown") && shown.len() < 7_000, "{shown}");
    }
}
