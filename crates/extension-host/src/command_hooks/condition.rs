//! The `if` of a hook: a permission rule of Claude Code, such as `Bash(git push *)` or `Edit(*.ts)`. It saves starting a
//! process for calls that a hook has nothing to say about. Where it is unclear whether a rule applies, the hook runs.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use super::tools::{ForeignCall, Place};

/// A rule.
#[derive(Debug, Clone)]
pub(super) struct Condition {
    tool: String,
    /// What is in the parentheses.
    subject: Option<String>,
}

impl Condition {
    /// Returns the rule in a text, or what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (tool, subject) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => match rest.strip_suffix(')') {
                Some(subject) => (tool.trim_end(), Some(subject)),
                None => return Err("it must have the form Tool(pattern)".to_owned()),
            },
        };
        if tool.is_empty() {
            return Err("it must begin with the name of a tool".to_owned());
        }
        let subject = subject.filter(|subject| !subject.is_empty() && *subject != "*");
        Ok(Self { tool: tool.to_owned(), subject: subject.map(ToOwned::to_owned) })
    }

    /// Tells whether the rule applies to a call of a tool with these names.
    pub fn applies(&self, names: &[&str], call: &ForeignCall, place: &Place) -> bool {
        if !names.iter().any(|name| matches_name(&self.tool, name)) {
            return false;
        }
        let Some(subject) = &self.subject else { return true };
        if let Some(command) = call.input.get("command").and_then(|command| command.as_str()) {
            return applies_to_command(subject, command);
        }
        match call.path() {
            Some(path) => applies_to_path(subject, path, place),
            None => true,
        }
    }
}

/// Tells whether a name is meant: exactly, as a tool of the server `mcp__name`, or by `*`.
fn matches_name(wanted: &str, name: &str) -> bool {
    let is_server = wanted.starts_with("mcp__") && !wanted["mcp__".len()..].contains("__");
    name == wanted
        || (is_server && name.strip_prefix(wanted).is_some_and(|rest| rest.starts_with("__")))
        || (wanted.contains('*') && matches_text(wanted, name))
}

/// Tells whether a pattern matches a command or a part of it between operators of the shell. What the shell computes can
/// be anything.
fn applies_to_command(pattern: &str, command: &str) -> bool {
    let is_computed = ["$(", "`", "<(", ">(", "<<", "eval "].iter().any(|sign| command.contains(sign));
    let pattern = pattern.strip_suffix(":*").map_or(pattern.to_owned(), |prefix| format!("{prefix} *"));
    is_computed
        || command.split(['\n', ';', '&', '|', '(', ')', '{', '}']).any(|part| {
            let part = without_assignments(part.trim());
            matches_text(&pattern, part)
                // "git *" also means "git".
                || pattern.strip_suffix(" *").is_some_and(|bare| matches_text(bare, part))
        })
}

/// Returns a command without the variables that are set for it.
fn without_assignments(mut command: &str) -> &str {
    while let Some((first, rest)) = command.split_once(char::is_whitespace) {
        let Some((name, _)) = first.split_once('=') else { break };
        let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
        if name.is_empty() || !name.chars().all(is_name) {
            break;
        }
        command = rest.trim_start();
    }
    command
}

/// Tells whether a pattern, in which `*` stands for any text, matches a whole text.
fn matches_text(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let mut pieces: Vec<_> = rest.split('*').collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        let Some(found) = text.find(piece) else { return false };
        text = &text[found + piece.len()..];
    }
    text.ends_with(last)
}

/// Tells whether a pattern matches a path. `//` begins at the root, `~/` at home, `/` and `./` at the working directory; a
/// pattern without a slash matches in any folder.
fn applies_to_path(pattern: &str, path: &Path, place: &Place) -> bool {
    let directory = place.directory.to_string_lossy();
    let absolute = if let Some(rest) = pattern.strip_prefix("//") {
        format!("/{rest}")
    } else if let Some(rest) = pattern.strip_prefix("~/") {
        let Some(home) = &place.home else { return true };
        format!("{}/{rest}", globset::escape(&home.to_string_lossy()))
    } else {
        let rest = pattern.trim_start_matches("./");
        let anywhere = if rest.trim_end_matches('/').contains('/') { "" } else { "**/" };
        format!("{}/{anywhere}{}", globset::escape(&directory), rest.trim_start_matches('/'))
    };
    // A folder means everything in it.
    let folder = format!("{}/**", absolute.trim_end_matches('/'));
    match (glob(&absolute), glob(&folder)) {
        (Some(file), Some(folder)) => file.is_match(path) || folder.is_match(path),
        _ => true,
    }
}

fn glob(pattern: &str) -> Option<GlobMatcher> {
    Some(GlobBuilder::new(pattern).literal_separator(true).build().ok()?.compile_matcher())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tools::names_of;
    use super::*;

    #[track_caller]
    fn check(rule: &str, tool: &str, argument: &str, applies: bool) {
        let place = Place { directory: "/project".into(), home: Some("/home/me".into()) };
        let name = if tool == "bash" { "command" } else { "path" };
        let arguments = json!({name: argument}).as_object().unwrap().clone();
        let call = ForeignCall::new(tool, &arguments, &place);
        let condition = Condition::parse(rule).unwrap();
        assert_eq!(condition.applies(&names_of(tool), &call, &place), applies, "{rule} {argument}");
    }

    #[test]
    fn commands_are_matched_part_by_part() {
        for command in ["git push origin", "git push", "ls && git push", "A=1 B=2 git push x", "(git push)"] {
            check("Bash(git push *)", "bash", command, true);
            check("Bash(git push:*)", "bash", command, true);
        }
        for command in ["git pull", "git pushy", "echo git push", "A=1"] {
            check("Bash(git push *)", "bash", command, false);
        }
        check("Bash(*--force*)", "bash", "git push --force origin", true);
        check("Bash(*.py)", "bash", "python x.py", true);
        check("Bash(*.py)", "bash", "python x.pyc", false);
        check("Bash", "bash", "anything", true);
        check("Edit(*.ts)", "bash", "anything", false);
    }

    #[test]
    fn hook_runs_where_the_command_is_computed() {
        for command in ["$(echo git) push", "`echo git push`", "eval x", "bash <<E\ngit push\nE"] {
            check("Bash(git push *)", "bash", command, true);
        }
    }

    #[test]
    fn paths_are_matched_as_in_ignore_files() {
        for (rule, path, applies) in [
            ("Edit(*.ts)", "src/deep/a.ts", true),
            ("Edit(*.ts)", "src/a.tsx", false),
            ("Edit(src/**)", "src/deep/a.ts", true),
            ("Edit(src/**)", "other/src/a.ts", false),
            ("Edit(/src)", "src/a.ts", true),
            ("Edit(//etc/**)", "/etc/passwd", true),
            ("Edit(//etc/**)", "etc/passwd", false),
            ("Edit(~/.ssh/**)", "/home/me/.ssh/key", true),
            ("Edit([)", "a", true),
            ("Write(*.ts)", "a.ts", false),
        ] {
            check(rule, "edit", path, applies);
        }
    }

    #[test]
    fn servers_of_tools_are_meant_by_their_prefix() {
        for (rule, applies) in
            [("mcp__a", true), ("mcp__a__b", true), ("mcp__a__*", true), ("mcp__c", false), ("mcp", false)]
        {
            check(rule, "mcp__a__b", "x", applies);
        }
    }

    #[test]
    fn rules_without_a_tool_or_an_end_are_refused() {
        for rule in ["", "(x)", "Bash(x"] {
            assert!(Condition::parse(rule).is_err(), "{rule}");
        }
    }
}
