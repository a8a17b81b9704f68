//! How a tool call is shown: kind, title, places and content, both while it is made and when a session is loaded.

use std::path::{Path, PathBuf};

use bowline_core::message::{Arguments, Content};
use serde_json::{Map, Value, json};

use super::results::{Block, CallContent, CallLocation};
use crate::shown_patch;

/// The longest text of a call. Readers of clients have limits on the size of a message.
const LONGEST_TEXT: usize = 128 * 1024;

/// The most characters of a title.
const LONGEST_TITLE: usize = 200;

/// The most places of a call.
const MOST_LOCATIONS: usize = 20;

/// What a call is about, which does not depend on its result.
pub(super) struct Shown {
    pub title: String,
    pub kind: &'static str,
    pub locations: Vec<CallLocation>,
}

/// Returns the kind of a tool before its arguments are known.
pub(super) fn kind(tool: &str) -> &'static str {
    match tool {
        "read" => "read",
        "bash" => "execute",
        "edit" | "write" => "edit",
        "grep" | "find" | "ls" => "search",
        "todo" | "task" => "think",
        _ => "other",
    }
}

/// Returns how a call is shown before it runs.
pub(super) fn shown(tool: &str, arguments: &Arguments, folder: &Path) -> Shown {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let path = text("path").or_else(|| text("file_path"));
    let name = path.map(markdown_escaped);
    let title = match (tool, &name) {
        ("bash", _) => text("command").unwrap_or(tool).to_owned(),
        ("read", Some(name)) => format!("Read {name}{}", line_range(arguments)),
        ("edit", Some(name)) => format!("Edit {name}"),
        ("write", Some(name)) => format!("Write {name}"),
        ("ls", _) => format!("List {}", name.as_deref().unwrap_or(".")),
        ("grep", _) => {
            let place = name.as_deref().map(|name| format!(" in {name}")).unwrap_or_default();
            format!("Search {}{place}", markdown_escaped(&quoted(text("pattern").unwrap_or_default())))
        }
        ("find", _) => format!("Find {}", markdown_escaped(text("pattern").unwrap_or("*"))),
        ("todo", _) => "Plan".to_owned(),
        _ => tool.to_owned(),
    };
    let is_of_file = matches!(tool, "read" | "edit" | "write");
    let line = arguments.get("offset").and_then(Value::as_u64).filter(|_| tool == "read");
    let locations =
        path.filter(|_| is_of_file).map(|path| CallLocation { path: absolute(path, folder), line });
    Shown {
        title: shortened(&title, LONGEST_TITLE),
        kind: kind(tool),
        locations: locations.into_iter().collect(),
    }
}

fn line_range(arguments: &Arguments) -> String {
    let number = |name: &str| arguments.get(name).and_then(Value::as_u64);
    match (number("offset"), number("limit")) {
        (Some(first), Some(count)) => format!(" ({first}–{})", first.saturating_add(count).saturating_sub(1)),
        (Some(first), None) => format!(" (from {first})"),
        (None, Some(count)) => format!(" (1–{count})"),
        (None, None) => String::new(),
    }
}

/// Returns what a call that is over shows.
pub(super) fn content(
    tool: &str,
    arguments: &Arguments,
    output: &[Content],
    details: Option<&Value>,
    is_error: bool,
    folder: &Path,
) -> Vec<CallContent> {
    if !is_error && let Some(changes) = changes(tool, arguments, details, folder) {
        return changes;
    }
    let is_preformatted = matches!(tool, "bash" | "read" | "grep" | "find" | "ls");
    output.iter().filter_map(|block| block_of(block, is_preformatted)).collect()
}

fn block_of(block: &Content, is_preformatted: bool) -> Option<CallContent> {
    let content = match block {
        Content::Text { text } if text.is_empty() => return None,
        Content::Text { text } if is_preformatted => Block::Text { text: fenced(&bounded(text)) },
        Content::Text { text } => Block::Text { text: bounded(text) },
        Content::Image { data, mime_type } => {
            Block::Image { data: data.clone(), mime_type: mime_type.clone() }
        }
    };
    Some(CallContent::Content { content })
}

/// Returns the changes that a call made to a file: one for each place that changed.
fn changes(
    tool: &str,
    arguments: &Arguments,
    details: Option<&Value>,
    folder: &Path,
) -> Option<Vec<CallContent>> {
    if !matches!(tool, "edit" | "write") {
        return None;
    }
    let path = absolute(arguments.get("path").or_else(|| arguments.get("file_path"))?.as_str()?, folder);
    let diff = |old_text, new_text| CallContent::Diff { path: path.clone(), old_text, new_text };
    let is_created = details.is_some_and(|details| details["created"] == true);
    if tool == "write" && is_created {
        let text = arguments.get("content").and_then(Value::as_str)?;
        return Some(vec![diff(None, bounded(text))]);
    }
    let patch = details?.get("patch")?.as_str()?;
    let hunks = shown_patch::hunks(patch);
    let shown: Vec<_> = hunks.into_iter().map(|hunk| diff(Some(hunk.before), hunk.after)).collect();
    (!shown.is_empty()).then_some(shown)
}

/// Returns the places that a call has changed or found.
pub(super) fn changed_lines(
    tool: &str,
    arguments: &Arguments,
    details: Option<&Value>,
    folder: &Path,
) -> Option<Vec<CallLocation>> {
    let path = arguments.get("path").or_else(|| arguments.get("file_path"))?.as_str()?;
    let patch = details.filter(|_| matches!(tool, "edit" | "write"))?.get("patch")?.as_str()?;
    let path = absolute(path, folder);
    let places = shown_patch::hunks(patch).into_iter().take(MOST_LOCATIONS);
    Some(
        places.map(|hunk| CallLocation { path: path.clone(), line: Some(hunk.first_changed_line) }).collect(),
    )
}

/// Returns the change that a call is going to make, as far as its arguments say.
pub(super) fn planned_change(tool: &str, arguments: &Arguments, folder: &Path) -> Option<Vec<CallContent>> {
    let path = absolute(arguments.get("path").or_else(|| arguments.get("file_path"))?.as_str()?, folder);
    let text = |value: &Map<String, Value>, name: &str| Some(bounded(value.get(name)?.as_str()?));
    let diff = |old_text, new_text| CallContent::Diff { path: path.clone(), old_text, new_text };
    match tool {
        "write" => Some(vec![diff(None, text(arguments, "content")?)]),
        "edit" => {
            let edits = arguments.get("edits")?.as_array()?.iter().filter_map(Value::as_object);
            let shown =
                edits.filter_map(|edit| Some(diff(Some(text(edit, "oldText")?), text(edit, "newText")?)));
            Some(shown.collect())
        }
        _ => None,
    }
}

/// Returns facts about a call that is over, for programs: not its text again.
pub(super) fn raw_output(details: Option<&Value>, duration_ms: Option<u64>) -> Option<Value> {
    let mut facts = Map::new();
    if let Some(details) = details.and_then(Value::as_object) {
        let is_small = |value: &Value| match value {
            Value::String(text) => text.len() <= LONGEST_TEXT,
            Value::Array(items) => items.len() <= MOST_LOCATIONS,
            _ => true,
        };
        let wanted = details.iter().filter(|(name, value)| *name != "diff" && is_small(value));
        facts.extend(wanted.map(|(name, value)| (name.clone(), value.clone())));
    }
    facts.extend(duration_ms.map(|duration| ("durationMs".to_owned(), json!(duration))));
    (!facts.is_empty()).then_some(facts.into())
}

/// Returns a path as clients want it: absolute, without `.` and `..`.
pub(super) fn absolute(path: &str, folder: &Path) -> String {
    let mut whole = PathBuf::new();
    for part in folder.join(path).components() {
        match part {
            std::path::Component::ParentDir => drop(whole.pop()),
            std::path::Component::CurDir => {}
            other => whole.push(other),
        }
    }
    whole.to_string_lossy().into_owned()
}

/// Returns a text as Markdown shows it unchanged: in a fence longer than any in the text.
pub(super) fn fenced(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}\n{text}{end}{fence}")
}

/// Returns the end of a text that is too long, which is what matters of most output.
fn bounded(text: &str) -> String {
    if text.len() <= LONGEST_TEXT {
        return text.to_owned();
    }
    let start = text.ceil_char_boundary(text.len() - LONGEST_TEXT);
    format!("[{start} bytes are not shown]\n{}", &text[start..])
}

fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

/// Returns a text with the characters escaped that Markdown would interpret. Paths rarely have any.
fn markdown_escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(letter, '*' | '_' | '`' | '[' | ']' | '<' | '>' | '\\') {
            escaped.push('\\');
        }
        escaped.push(if letter.is_control() { ' ' } else { letter });
    }
    escaped
}
