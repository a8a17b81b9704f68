//! The current branch of a session as text to read in a terminal.

use std::collections::HashMap;

use bowline_core::tool::ToolDisplay;
use bowline_session::Session;
use bowline_session::display::{Answer, BashExecution, Block, Body, Call, ToolResult};
use jiff::Timestamp;

use crate::failure::Failure;
use crate::local_time;
use crate::terminal::plain_line;

/// The most characters of a tool call, or of the error that it ended in.
const CALL_WIDTH: usize = 100;

/// Returns the messages from the root to the leaf. A message is indented below its heading, and a tool call is a line.
pub(crate) fn render(session: &Session) -> Result<String, Failure> {
    let mut path = Vec::new();
    let mut next = session.leaf().and_then(|leaf| session.number_of(leaf.as_str()));
    while let Some(number) = next {
        path.push(session.displayed_entry(number)?);
        next = session.place(number).parent;
    }
    path.reverse();
    let mut transcript = Transcript::default();
    for entry in &path {
        if let Body::ToolResult(result) = &entry.body {
            transcript.results.insert(&result.call_id, result);
        }
    }
    for entry in &path {
        transcript.add(&entry.body, entry.time);
    }
    Ok(transcript.text)
}

#[derive(Default)]
struct Transcript<'a> {
    text: String,
    /// The results on the branch, by the id of their call.
    results: HashMap<&'a str, &'a ToolResult>,
}

impl Transcript<'_> {
    fn add(&mut self, body: &Body, time: Option<Timestamp>) {
        match body {
            Body::User(content) => {
                self.heading("user", time);
                self.blocks(content);
            }
            Body::Answer(answer) => self.answer(answer, time),
            Body::Bash(bash) => self.bash(bash, time),
            Body::Custom { kind, content, is_shown: true } => {
                self.heading(kind, time);
                self.blocks(content);
            }
            Body::Compaction { summary, .. } => {
                self.heading("summary of the conversation so far", time);
                self.indented(summary);
            }
            Body::BranchSummary { summary, .. } if !summary.is_empty() => {
                self.heading("summary of another branch", time);
                self.indented(summary);
            }
            Body::Unreadable(_) => self.heading("an entry that cannot be read", time),
            // Results are shown with their calls; the rest is not part of the conversation.
            _ => {}
        }
    }

    fn answer(&mut self, answer: &Answer, time: Option<Timestamp>) {
        self.heading(&format!("{}/{}", answer.provider, answer.model), time);
        self.blocks(&answer.content);
        if let Some(error) = &answer.error {
            self.indented(&format!("({}: {error})", answer.stop_reason));
        }
    }

    fn bash(&mut self, bash: &BashExecution, time: Option<Timestamp>) {
        let end = match bash.exit_code {
            _ if bash.is_cancelled => ", cancelled".to_owned(),
            None | Some(0) => String::new(),
            Some(code) => format!(", exit code {code}"),
        };
        self.heading(&format!("command{end}"), time);
        self.indented(&format!("$ {}", bash.command));
        self.indented(&bash.output);
    }

    fn heading(&mut self, who: &str, time: Option<Timestamp>) {
        let time = time.map(|time| format!("  {}", local_time::of_timestamp(time))).unwrap_or_default();
        self.text.push_str(&format!("\n{}{time}\n", plain_line(who)));
    }

    fn blocks(&mut self, blocks: &[Block]) {
        for block in blocks {
            match block {
                Block::Text(text) => self.indented(text),
                Block::Thinking { .. } => self.indented("(thinking)"),
                Block::Call(call) => self.call(call),
                Block::Image { mime_type, .. } => self.indented(&format!("(image: {mime_type})")),
                Block::Unknown(_) => self.indented("(content of an unknown kind)"),
            }
        }
    }

    fn call(&mut self, call: &Call) {
        let mut result = match self.results.get(call.id.as_str()) {
            None => "no result".to_owned(),
            Some(result) if result.is_error => format!("failed: {}", text_of(&result.content).trim()),
            Some(result) => match text_of(&result.content).lines().count() {
                1 => "1 line".to_owned(),
                count => format!("{count} lines"),
            },
        };
        result = shortened(&plain_line(&result));
        self.indented(&format!("> {} {} ({result})", plain_line(&call.name), arguments(call)));
    }

    /// Adds the lines of a text, indented, so that none of them looks like a heading.
    fn indented(&mut self, text: &str) {
        for line in text.trim_end().lines() {
            self.text.push_str(format!("  {line}").trim_end());
            self.text.push('\n');
        }
    }
}

/// Returns the arguments of a call: the command or the file if the tool has one, else all as JSON.
fn arguments(call: &Call) -> String {
    let name = bowline_tools::traits_of(&call.name).and_then(|tool| match tool.display {
        ToolDisplay::Command { argument } => Some(argument),
        ToolDisplay::Read | ToolDisplay::Write | ToolDisplay::Edit => tool.path_argument,
        ToolDisplay::Search | ToolDisplay::Generic => None,
    });
    let main = name.and_then(|name| call.arguments.get(name)?.as_str());
    let text =
        main.map_or_else(|| serde_json::to_string(&call.arguments).unwrap_or_default(), ToOwned::to_owned);
    shortened(&plain_line(&text))
}

fn text_of(blocks: &[Block]) -> String {
    let texts = blocks
        .iter()
        .filter_map(|block| if let Block::Text(text) = block { Some(text.as_str()) } else { None });
    texts.collect::<Vec<_>>().join("\n")
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(CALL_WIDTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
