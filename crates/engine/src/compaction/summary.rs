//! Asking the model for a summary.

use std::fmt::Write as _;
use std::sync::Arc;

use bowline_core::event::TouchedFiles;
use bowline_core::message::{AssistantContent, AssistantMessage, Message, StopReason, join_text};
use bowline_core::model::Model;
use bowline_core::stream::{FailureKind, StreamError};
use bowline_core::thinking::ThinkingLevel;
use bowline_core::usage::Usage;
use bowline_llm::{Assembly, ModelRequest, Providers};
use bowline_session::Clock;
use futures_util::StreamExt;
use tokio::sync::mpsc;

use super::summarizing::SummaryStep;
use crate::engine::Input;
use crate::settings::RetrySettings;

/// More of a tool's result than this tells a summary nothing new.
const RESULT_LIMIT: usize = 2000;

/// The tags around the lists of files at the end of a summary.
const READ_FILES: &str = "read-files";
const MODIFIED_FILES: &str = "modified-files";

const INSTRUCTIONS: &str = "\
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

/// The text that joins the summary of a cut turn to the summary of what came before.
const SPLIT_TURN: &str = "\n\n---\n\n**Turn Context (split turn):**\n\n";

/// Whom to ask, and how.
#[derive(Debug)]
pub(crate) struct Summarizer {
    /// The number by which the engine knows what comes back.
    pub number: u64,
    pub inputs: mpsc::Sender<Input>,
    pub providers: Providers,
    pub model: Arc<Model>,
    pub thinking: ThinkingLevel,
    pub session_id: String,
    pub retry: RetrySettings,
    pub clock: Clock,
    pub max_tokens: u64,
}

/// What is to be summarised.
#[derive(Debug, Clone)]
pub(crate) enum Subject {
    Compaction {
        history: Vec<Arc<Message>>,
        turn_prefix: Vec<Arc<Message>>,
        previous_summary: Option<String>,
        instructions: Option<String>,
        files: TouchedFiles,
    },
    Branch {
        messages: Vec<Arc<Message>>,
        instructions: Option<String>,
    },
}

/// A summary, and what it cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    pub text: String,
    pub usage: Usage,
}

impl Summarizer {
    /// Returns the summary of a subject.
    pub async fn summarize(&self, subject: Subject) -> Result<Summary, StreamError> {
        match subject {
            Subject::Branch { messages, instructions } => {
                self.ask(branch_prompt(&messages, instructions.as_deref()), self.max_tokens).await
            }
            Subject::Compaction { history, turn_prefix, previous_summary, instructions, files } => {
                let mut summary = Summary { text: String::new(), usage: Usage::default() };
                if history.is_empty() {
                    summary.text = previous_summary.unwrap_or_default();
                } else {
                    let prompt =
                        history_prompt(&history, previous_summary.as_deref(), instructions.as_deref());
                    summary = self.ask(prompt, self.max_tokens).await?;
                }
                if !turn_prefix.is_empty() {
                    let prompt = prefix_prompt(&turn_prefix, instructions.as_deref());
                    let prefix = self.ask(prompt, self.max_tokens / 2).await?;
                    if !summary.text.is_empty() {
                        summary.text.push_str(SPLIT_TURN);
                    }
                    summary.text.push_str(&prefix.text);
                    summary.usage.add(&prefix.usage);
                }
                summary.text.push_str(&file_lists(&files));
                Ok(summary)
            }
        }
    }

    /// Tells the engine how it goes.
    pub async fn tell(&self, step: SummaryStep) {
        // Without an engine nobody waits for it.
        let _ = self.inputs.send(Input::Summary { number: self.number, step }).await;
    }

    /// Asks the model, again if it fails in a way that may pass.
    async fn ask(&self, prompt: String, max_tokens: u64) -> Result<Summary, StreamError> {
        let mut retries = 0;
        let result = loop {
            let result = self.ask_once(prompt.clone(), max_tokens).await;
            let Err(error) = &result else { break result };
            let attempt = retries + 1;
            let Some(delay) = self.retry.delay(error, attempt, self.clock.chance()) else { break result };
            retries = attempt;
            self.tell(SummaryStep::RetryScheduled { attempt, delay, error: error.message.clone() }).await;
            tokio::time::sleep(delay).await;
            self.tell(SummaryStep::RetryStart).await;
        };
        if retries > 0 {
            self.tell(SummaryStep::RetryEnd).await;
        }
        result
    }

    async fn ask_once(&self, prompt: String, max_tokens: u64) -> Result<Summary, StreamError> {
        let mut stream = self.providers.stream(ModelRequest {
            model: Arc::clone(&self.model),
            system: INSTRUCTIONS.into(),
            messages: vec![Arc::new(Message::user(prompt, Vec::new(), 0))],
            tools: Arc::default(),
            thinking: self.thinking,
            max_tokens: Some(max_tokens.max(1)),
            session_id: self.session_id.clone(),
            cache: false,
        });
        let mut assembly = Assembly::new(Arc::clone(&self.model), 0);
        while let Some(events) = stream.next().await {
            for event in events? {
                assembly.apply(event);
            }
        }
        if !assembly.is_done() {
            return Err(StreamError::new(
                FailureKind::Cut,
                "the stream ended before the summary was complete",
            ));
        }
        checked(&assembly.finish())
    }
}

fn checked(answer: &AssistantMessage) -> Result<Summary, StreamError> {
    let refuse = |text: &str| Err(StreamError::new(FailureKind::Rejected, text));
    if answer.stop_reason == StopReason::Length {
        return refuse("generation hit the token cap and the summary is incomplete");
    }
    if answer.tool_calls().next().is_some() {
        return refuse("Summarization attempted to call a tool");
    }
    let text = answer.text().trim().to_owned();
    if text.is_empty() {
        return refuse("the model returned an empty summary");
    }
    Ok(Summary { text, usage: answer.usage })
}

fn history_prompt(messages: &[Arc<Message>], previous: Option<&str>, instructions: Option<&str>) -> String {
    let mut prompt = transcript(messages);
    if let Some(previous) = previous {
        let _ = write!(prompt, "\n\n<previous-summary>\n{previous}\n</previous-summary>\n\n{MERGE}");
    }
    let _ = write!(prompt, "\n\n{FORM}");
    add_instructions(&mut prompt, instructions);
    prompt
}

fn prefix_prompt(messages: &[Arc<Message>], instructions: Option<&str>) -> String {
    let mut prompt = format!("{}\n\n{TURN_FORM}", transcript(messages));
    add_instructions(&mut prompt, instructions);
    prompt
}

fn branch_prompt(messages: &[Arc<Message>], instructions: Option<&str>) -> String {
    let mut prompt = format!("{}\n\n{BRANCH_FORM}", transcript(messages));
    add_instructions(&mut prompt, instructions);
    prompt
}

fn add_instructions(prompt: &mut String, instructions: Option<&str>) {
    if let Some(instructions) = instructions.map(str::trim).filter(|text| !text.is_empty()) {
        let _ = write!(prompt, "\n\nThe user asks for this in particular: {instructions}");
    }
}

/// Writes the messages down as text, so that the model reads them instead of answering them.
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

fn file_lists(files: &TouchedFiles) -> String {
    let mut text = String::new();
    for (tag, paths) in [(READ_FILES, &files.read), (MODIFIED_FILES, &files.modified)] {
        if !paths.is_empty() {
            let _ = write!(text, "\n\n<{tag}>\n{}\n</{tag}>", paths.join("\n"));
        }
    }
    text
}

/// Returns a summary without the lists at its end, which the next summary gets anew.
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
    fn the_lists_of_files_come_off_again() {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        for (read, modified) in [(&["a", "b"][..], &["c"][..]), (&["a"], &[]), (&[], &["c"]), (&[], &[])] {
            let lists = file_lists(&TouchedFiles { read: list(read), modified: list(modified) });
            assert_eq!(without_file_lists(&format!("what was{lists}")), "what was");
        }
        let quoted = "it says <read-files>\na\n</read-files> somewhere";
        assert_eq!(without_file_lists(quoted), quoted);
    }

    #[test]
    fn long_results_are_cut_at_a_character() {
        assert_eq!(shortened("short"), "short");
        let text = "ä".repeat(RESULT_LIMIT + 3);
        let cut = shortened(&text);
        assert!(
            cut.starts_with(&"ä".repeat(RESULT_LIMIT)) && cut.ends_with("\n[3 more characters left out]")
        );
    }

    #[test]
    fn a_transcript_holds_what_was_said_but_not_what_was_kept_from_the_model() {
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
