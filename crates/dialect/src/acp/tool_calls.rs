//! How a tool call is shown: kind, title, places and content, both while it is made and when a session is loaded.

use std::path::{Path, PathBuf};

use bowline_core::json_length::length_of_json;
use bowline_core::message::{Arguments, Content};
use serde_json::{Map, Value, json};

use super::fitting::{self, LONGEST_CHANGES, LONGEST_TEXT};
use super::results::{Block, CallContent, CallLocation};
use crate::shown_patch;

/// The most characters of a title.
const LONGEST_TITLE: usize = 200;

/// The longest of the facts about a call, and the most of them.
const LONGEST_FACT: usize = 16 * 1024;
const MOST_FACTS: usize = 20;

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

/// Returns the server and the tool of a call of an MCP server.
fn of_server(tool: &str) -> Option<(&str, &str)> {
    tool.strip_prefix("mcp__")?.split_once("__")
}

/// Returns how a call is shown before it runs.
pub(super) fn shown(tool: &str, arguments: &Arguments, folder: &Path) -> Shown {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let path = text("path").or_else(|| text("file_path"));
    let name = path.map(|path| markdown_escaped(&shown_path(path, folder)));
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
        ("task", _) => text("description").map_or_else(|| tool.to_owned(), markdown_escaped),
        _ => match of_server(tool) {
            Some((server, name)) => markdown_escaped(&format!("{server}: {name}")),
            None => markdown_escaped(tool),
        },
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
        Content::Text { text } if is_preformatted => {
            Block::Text { text: fenced(&fitting::end_of(text, LONGEST_TEXT)) }
        }
        Content::Text { text } => Block::Text { text: fitting::end_of(text, LONGEST_TEXT) },
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
        return Some(vec![match fitting::size(text) {
            size if size <= LONGEST_CHANGES => diff(None, text.to_owned()),
            size => note(format!("{path} was created with {size} bytes, too many to be shown.")),
        }]);
    }
    let patch = details?.get("patch")?.as_str()?;
    let hunks = shown_patch::hunks(patch);
    let changes = hunks.into_iter().map(|hunk| (Some(hunk.before), hunk.after));
    let shown = fitting_changes(changes.collect(), diff);
    (!shown.is_empty()).then_some(shown)
}

fn note(text: String) -> CallContent {
    CallContent::Content { content: Block::Text { text } }
}

/// Returns as many changes as fit into a message. None is cut: a part of one would be a lie.
fn fitting_changes(
    changes: Vec<(Option<String>, String)>,
    diff: impl Fn(Option<String>, String) -> CallContent,
) -> Vec<CallContent> {
    let mut room = LONGEST_CHANGES;
    let mut left_out = 0;
    let mut shown = Vec::new();
    for (before, after) in changes {
        let size = before.as_deref().map_or(0, fitting::size) + fitting::size(&after);
        if size > room {
            left_out += 1;
            continue;
        }
        room -= size;
        shown.push(diff(before, after));
    }
    if left_out > 0 {
        shown.push(note(format!("{left_out} more changes are too long to be shown.")));
    }
    shown
}

/// Returns the places that a call has changed or found.
pub(super) fn found_places(
    tool: &str,
    arguments: &Arguments,
    details: Option<&Value>,
    output: &str,
    folder: &Path,
) -> Option<Vec<CallLocation>> {
    let places: Vec<_> = match tool {
        "edit" | "write" => {
            let path = arguments.get("path").or_else(|| arguments.get("file_path"))?.as_str()?;
            let path = absolute(path, folder);
            let hunks = shown_patch::hunks(details?.get("patch")?.as_str()?);
            let place = |line| CallLocation { path: path.clone(), line: Some(line) };
            hunks.into_iter().take(MOST_LOCATIONS).map(|hunk| place(hunk.first_changed_line)).collect()
        }
        "grep" => {
            let found = output.lines().filter_map(matched_line).take(MOST_LOCATIONS);
            found
                .map(|(path, line)| CallLocation { path: absolute(path, folder), line: Some(line) })
                .collect()
        }
        // Folders end with a slash; the rest is a blank line and notes.
        "find" => {
            let names = output.lines().take_while(|line| !line.is_empty());
            let files = names.filter(|name| !name.ends_with('/') && *name != "No files found.");
            let files = files.take(MOST_LOCATIONS);
            files.map(|path| CallLocation { path: absolute(path, folder), line: None }).collect()
        }
        _ => return None,
    };
    (!places.is_empty()).then_some(places)
}

/// Returns path and number of a line that `grep` has found, written as `path:7: text`.
fn matched_line(line: &str) -> Option<(&str, u64)> {
    line.match_indices(": ").find_map(|(end, _)| {
        let (path, number) = line[..end].rsplit_once(':')?;
        Some((path, number.parse().ok()?))
    })
}

/// Returns the title that a call has at its end, if that is another one.
pub(super) fn final_title(tool: &str, details: Option<&Value>) -> Option<String> {
    if tool != "todo" {
        return None;
    }
    let phases = details?["phases"].as_array()?;
    let statuses = || phases.iter().filter_map(|phase| phase["tasks"].as_array()).flatten();
    let done = statuses().filter(|task| task["status"] == "completed").count();
    Some(format!("Plan: {done} of {} done", statuses().count()))
}

/// Returns the exit code of a command that is over, if it has one.
pub(super) fn exit_code(tool: &str, output: &str, is_error: bool) -> Option<i32> {
    if tool != "bash" {
        return None;
    }
    if !is_error {
        return Some(0);
    }
    // The last line is a note that no command can write: it follows the output.
    let note = output.lines().next_back()?;
    let (_, code) = note.strip_prefix('[')?.split_once("Exit code ")?;
    code.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

/// Returns the change that a call is going to make, as far as its arguments say. What a file has that is written over is
/// not known yet, so that is shown as text.
pub(super) fn planned_change(tool: &str, arguments: &Arguments, folder: &Path) -> Option<Vec<CallContent>> {
    let path = absolute(arguments.get("path").or_else(|| arguments.get("file_path"))?.as_str()?, folder);
    let text = |value: &Map<String, Value>, name: &str| Some(value.get(name)?.as_str()?.to_owned());
    let diff = |old_text, new_text| CallContent::Diff { path: path.clone(), old_text, new_text };
    match tool {
        "write" => {
            let content = text(arguments, "content").filter(|content| !content.is_empty())?;
            Some(vec![note(fenced(&fitting::end_of(&content, LONGEST_TEXT)))])
        }
        "edit" => {
            let edits = arguments.get("edits")?.as_array()?.iter().filter_map(Value::as_object);
            let changes =
                edits.filter_map(|edit| Some((Some(text(edit, "oldText")?), text(edit, "newText")?)));
            Some(fitting_changes(changes.collect(), diff))
        }
        _ => None,
    }
}

/// Returns facts about a call that is over, for programs: not its text again.
pub(super) fn raw_output(details: Option<&Value>, duration_ms: Option<u64>) -> Option<Value> {
    let mut facts = Map::new();
    if let Some(details) = details.and_then(Value::as_object) {
        let is_small = |value: &Value| length_of_json(value) <= LONGEST_FACT;
        let wanted = details.iter().filter(|(name, value)| *name != "diff" && is_small(value));
        facts.extend(wanted.take(MOST_FACTS).map(|(name, value)| (name.clone(), value.clone())));
    }
    facts.extend(duration_ms.map(|duration| ("durationMs".to_owned(), json!(duration))));
    (!facts.is_empty()).then_some(facts.into())
}

/// Returns a path for people: without the folder of the session.
fn shown_path(path: &str, folder: &Path) -> String {
    let within = Path::new(path).strip_prefix(folder).ok().and_then(Path::to_str);
    within.filter(|within| !within.is_empty()).unwrap_or(path).to_owned()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: &Value) -> Arguments {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn titles_name_what_a_call_is_about() {
        let folder = Path::new("/w");
        for (tool, arguments, title) in [
            ("read", json!({ "path": "a.rs", "offset": 10, "limit": 50 }), "Read a.rs (10–59)"),
            ("read", json!({ "path": "/w/a_b.rs" }), "Read a\\_b.rs"),
            ("bash", json!({ "command": "echo *x*" }), "echo *x*"),
            ("grep", json!({ "pattern": "x", "path": "src" }), "Search \"x\" in src"),
            ("find", json!({ "pattern": "*.rs" }), "Find \\*.rs"),
            ("ls", json!({}), "List ."),
            ("mcp__time__now", json!({}), "time: now"),
            ("deploy", json!({ "path": "x" }), "deploy"),
            ("edit", json!({}), "edit"),
        ] {
            assert_eq!(shown(tool, &object(&arguments), folder).title, title);
        }
    }

    #[test]
    fn places_that_were_found_are_files_with_lines() {
        let places = |tool, output| {
            let places = found_places(tool, &Arguments::new(), None, output, Path::new("/w"));
            serde_json::to_value(places).unwrap()
        };
        assert_eq!(
            places(
                "grep",
                "a.rs:7: let x: u8 = 1;\na.rs-8- }\nb: c.rs:1: x\n\n[There are more than 2 matches.]"
            ),
            json!([{ "path": "/w/a.rs", "line": 7 }, { "path": "/w/b: c.rs", "line": 1 }])
        );
        assert_eq!(places("find", "a.rs\nsub/\n\n[note]"), json!([{ "path": "/w/a.rs" }]));
        assert_eq!(places("find", "No files found."), Value::Null);
        assert_eq!(places("ls", "a"), Value::Null);
    }

    #[test]
    fn exit_code_is_that_of_the_note() {
        assert_eq!(exit_code("bash", "x", false), Some(0));
        assert_eq!(exit_code("bash", "[Exit code 5.]\n\n[Exit code 3.]", true), Some(3));
        assert_eq!(
            exit_code("bash", "x\n\n[These are lines 1-2 of 9. Exit code 127 (not found).]", true),
            Some(127)
        );
        assert_eq!(exit_code("bash", "[The command was killed by signal 9.]", true), None);
        assert_eq!(exit_code("read", "[Exit code 5.]", true), None);
    }

    #[test]
    fn changes_that_are_too_long_are_left_out_whole() {
        let long = "x".repeat(LONGEST_CHANGES);
        let arguments = object(&json!({ "path": "a", "edits": [
            { "oldText": "a", "newText": long }, { "oldText": "b", "newText": "c" },
        ] }));
        let shown = serde_json::to_value(planned_change("edit", &arguments, Path::new("/w"))).unwrap();
        assert_eq!(shown[0]["oldText"], "b");
        assert_eq!(shown[1]["content"]["text"], "1 more changes are too long to be shown.");
    }
}
