//! The texts that ask a model for a summary.

use std::fmt::Write as _;
use std::sync::Arc;

use bowline_core::command::SummaryInstructions;
use bowline_core::event::TouchedFiles;
use bowline_core::message::{AssistantContent, AssistantMessage, Message, StopReason, join_text};

/// How many characters of a tool's result a summary is made from.
const RESULT_LIMIT: usize = 2000;

/// The tags around the lists of files at the end of a summary.
const READ_FILES: &str = "read-files";
const MODIFIED_FILES: &str = "modified-files";

pub(super) const INSTRUCTIONS: &str = "\
You write summaries of conversations between a user and a coding agent, so that another agent can take over without \
having seen them. You do not answer questions in the conversation and do not continue it; you only output the summary.";

const FORM: &str = "\
Summarise the conversation above for the agent that goes on with it. Use exactly these headings:

## Goal
What the user wants, in one or two sentences; if there are several tasks, each.

## Constraints & Preferences
What the user demanded or ruled out. \"None\" if nothing.

## Progress
### Done
### In Progress
### Blocked

## Key Decisions
What was decided, each with its reason.

## Next Steps
What is to be done next, in order.

## Critical Context
Names, paths, commands, error messages, figures and other facts that would have to be found out again.

Keep exact names of files, functions and commands. Be brief: a line for each point.";

const MERGE: &str = "\
The text in <previous-summary> is the summary of what came before the conversation above. Write one summary of both: \
keep everything in it that still holds, move what is finished to Done, and drop only what is no longer of use.";

const TURN_FORM: &str = "\
Above is the beginning of a task whose later part the next agent can still see. Summarise only what it needs to \
understand that later part: what the user asked for, what was done and found out so far, and what was decided. Be brief.";

const BRANCH_FORM: &str = "\
The user tried this branch of the conversation and then went back to an earlier point. Summarise for the agent that goes \
on from there what was tried, what came of it, which files were changed, and what is worth knowing.";

/// Joins the summary of a split turn to the summary of what came before.
pub(super) const SPLIT_TURN: &str = "\n\n---\n\n**Turn Context (split turn):**\n\n";

pub(super) fn history_prompt(
    messages: &[Arc<Message>],
    previous: Option<&str>,
    instructions: Option<&str>,
) -> String {
    let mut prompt = transcript(messages);
    if let Some(previous) = previous {
        let _ = write!(prompt, "\n\n<previous-summary>\n{previous}\n</previous-summary>\n\n{MERGE}");
    }
    let _ = write!(prompt, "\n\n{FORM}");
    add_instructions(&mut prompt, instructions);
    prompt
}

pub(super) fn prefix_prompt(messages: &[Arc<Message>], instructions: Option<&str>) -> String {
    let mut prompt = format!("{}\n\n{TURN_FORM}", transcript(messages));
    add_instructions(&mut prompt, instructions);
    prompt
}

pub(super) fn branch_prompt(messages: &[Arc<Message>], instructions: Option<&SummaryInstructions>) -> String {
    match instructions {
        Some(SummaryInstructions { text, replaces_usual: true }) if !text.trim().is_empty() => {
            format!("{}\n\n{}", transcript(messages), text.trim())
        }
        _ => {
            let mut prompt = format!("{}\n\n{BRANCH_FORM}", transcript(messages));
            add_instructions(&mut prompt, instructions.map(|instructions| instructions.text.as_str()));
            prompt
        }
    }
}

fn add_instructions(prompt: &mut String, instructions: Option<&str>) {
    if let Some(instructions) = instructions.map(str::trim).filter(|text| !text.is_empty()) {
        let _ = write!(prompt, "\n\nThe user asks for this in particular: {instructions}");
    }
}

/// Returns the messages as text, so that the model reads them instead of answering them.
fn transcript(messages: &[Arc<Message>]) -> String {
    let mut text = "<conversation>\n".to_owned();
    for message in messages {
        write_message(&mut text, message);
    }
    text.push_str("</conversation>");
    text
}

fn write_message(out: &mut String, message: &Message) {
    let mut part = |who: &str, text: &str| {
        if !text.trim().is_empty() {
            let _ = writeln!(out, "[{who}]: {text}\n");
        }
    };
    match message {
        Message::User(message) => part("User", &message.text()),
        // The model never saw it, and it may have failed for its size.
        Message::Assistant(AssistantMessage { stop_reason: StopReason::Error, .. }) => {}
        Message::Assistant(message) => {
            for block in &message.content {
                match block {
                    AssistantContent::Thinking(block) => part("Assistant thinking", &block.thinking),
                    AssistantContent::Text(block) => part("Assistant", &block.text),
                    AssistantContent::ToolCall(call) => {
                        let arguments: Vec<_> =
                            call.arguments.iter().map(|(name, value)| format!("{name}={value}")).collect();
                        part("Assistant tool call", &format!("{}({})", call.name, arguments.join(", ")));
                    }
                }
            }
        }
        Message::ToolResult(message) => part("Tool result", &shortened(&join_text(&message.content))),
        Message::BashExecution(message) if message.exclude_from_context != Some(true) => {
            part("User ran", &format!("{}\n{}", message.command, shortened(&message.output)));
        }
        Message::BashExecution(_) => {}
        Message::Custom(message) => part("Note", &join_text(&message.content)),
        Message::BranchSummary(message) => part("Summary of another branch", &message.summary),
        Message::CompactionSummary(message) => part("Summary of what came before", &message.summary),
    }
}

fn shortened(text: &str) -> String {
    let mut characters = text.char_indices();
    match characters.nth(RESULT_LIMIT) {
        Some((end, _)) => format!("{}\n[{} more characters left out]", &text[..end], characters.count() + 1),
        None => text.to_owned(),
    }
}

pub(super) fn file_lists(files: &TouchedFiles) -> String {
    let mut text = String::new();
    for (tag, paths) in [(READ_FILES, &files.read), (MODIFIED_FILES, &files.modified)] {
        if !paths.is_empty() {
            let _ = write!(text, "\n\n<{tag}>\n{}\n</{tag}>", paths.join("\n"));
        }
    }
    text
}

/// Returns a summary without the file lists at its end, which the next summary rebuilds.
pub(super) fn without_file_lists(summary: &str) -> &str {
    let mut rest = summary;
    for tag in [MODIFIED_FILES, READ_FILES] {
        if rest.ends_with(&format!("\n</{tag}>"))
            && let Some(start) = rest.rfind(&format!("<{tag}>\n"))
        {
            rest = rest[..start].trim_end();
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_lists_are_removed_again() {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        for (read, modified) in [(&["a", "b"][..], &["c"][..]), (&["a"], &[]), (&[], &["c"]), (&[], &[])] {
            let lists = file_lists(&TouchedFiles { read: list(read), modified: list(modified) });
            assert_eq!(without_file_lists(&format!("what was{lists}")), "what was");
        }
        let quoted = "it says <read-files>\na\n</read-files> somewhere";
        assert_eq!(without_file_lists(quoted), quoted);
    }

    #[test]
    fn long_results_are_truncated_at_a_character() {
        assert_eq!(shortened("short"), "short");
        let text = "ä".repeat(RESULT_LIMIT + 3);
        let cut = shortened(&text);
        assert!(
            cut.starts_with(&"ä".repeat(RESULT_LIMIT)) && cut.ends_with("\n[3 more characters left out]")
        );
    }

    #[test]
    fn transcript_leaves_out_commands_excluded_from_context() {
        let messages = [
            serde_json::json!({"role": "user", "content": "fix it", "timestamp": 0}),
            serde_json::json!({"role": "assistant", "content": [{"type": "toolCall", "id": "t", "name": "read", "arguments": {"path": "a.rs"}}], "timestamp": 0}),
            serde_json::json!({"role": "bashExecution", "command": "secret", "output": "", "cancelled": false, "truncated": false, "excludeFromContext": true, "timestamp": 0}),
        ];
        let messages: Vec<_> =
            messages.into_iter().map(|message| Arc::new(serde_json::from_value(message).unwrap())).collect();
        assert_eq!(
            transcript(&messages),
            "<conversation>\n[User]: fix it\n\n[Assistant tool call]: read(path=\"a.rs\")\n\n</conversation>"
        );
    }
}
