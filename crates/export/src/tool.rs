//! A call of a tool with what came back, as one block of the page.

use std::fmt::Write as _;

use serde_json::Value;

use crate::code;
use crate::diff::Diff;
use crate::entry::{Block, Call, Position, ToolResult};
use crate::escape;
use crate::format;
use crate::highlight::{self, Language};
use crate::image;
use crate::view::View;

/// Lines of output in sight.
const OUTPUT_LINES: usize = 8;

/// Lines of a command, of arguments or of a written file in sight.
const INPUT_LINES: usize = 12;

/// Arguments longer than this do not fit into the heading.
const SHORT: usize = 160;

/// Appends a call with its result, if it has come.
pub(crate) fn push_call(page: &mut String, view: &View<'_>, call: &Call, result: Option<Position>) {
    let found = result.and_then(|position| match &view.entry(position).body {
        crate::entry::Body::ToolResult(result) => Some((position, result.as_ref())),
        _ => None,
    });
    let is_error = found.is_some_and(|(_, result)| result.is_error);
    page.push_str(if is_error { "<section class=\"tool failed\"" } else { "<section class=\"tool\"" });
    if let Some((position, _)) = found {
        let _ = write!(page, " id=\"{}\"", view.anchor(position));
    }
    page.push_str(">\n");
    let diff =
        found.filter(|_| call.name == "edit").and_then(|(_, result)| Diff::of_details(&result.details));
    let diff = diff.or_else(|| Diff::of_call(call).filter(|_| call.name == "edit"));
    push_heading(page, view, call, diff.as_ref(), found);
    push_input(page, view, call);
    if let Some(diff) = &diff {
        diff.push(page);
    }
    match found {
        // That an edit was made is what the change shows.
        Some((_, result)) if diff.is_none() || result.is_error => {
            push_content(page, view, &result.content, language_of(call), result.is_error);
        }
        Some(_) => {}
        None => page.push_str("<p class=\"cut\">No result</p>\n"),
    }
    page.push_str("</section>\n");
}

/// Appends a result whose call is elsewhere.
pub(crate) fn push_lone_result(page: &mut String, view: &View<'_>, result: &ToolResult) {
    if let Some(diff) = Diff::of_details(&result.details) {
        diff.push(page);
    }
    push_content(page, view, &result.content, None, result.is_error);
}

fn push_heading(
    page: &mut String,
    view: &View<'_>,
    call: &Call,
    diff: Option<&Diff<'_>>,
    result: Option<(Position, &ToolResult)>,
) {
    page.push_str("<header><h3>");
    escape::push_text(page, &call.name);
    page.push_str("</h3>");
    if let Some(subject) = subject(call) {
        page.push_str("<code class=\"subject\">");
        escape::push_text(page, subject);
        page.push_str("</code>");
    }
    if let Some(diff) = diff {
        let (new, old) = diff.counts();
        let _ = write!(
            page,
            "<span class=\"counts chrome\"><b class=\"new\">+{new}</b> <b class=\"old\">−{old}</b></span>"
        );
    }
    push_small_arguments(page, call);
    if let Some((position, result)) = result {
        if result.is_error {
            page.push_str("<span class=\"badge bad chrome\">failed</span>");
        }
        push_duration(page, view, position);
    }
    page.push_str("</header>\n");
}

/// Appends the link to a result: how long it took to come.
fn push_duration(page: &mut String, view: &View<'_>, position: Position) {
    let entry = view.entry(position);
    let before = entry.parent.and_then(|parent| view.entry(parent).time);
    match before.zip(entry.time) {
        Some((before, time)) => {
            let anchor = view.anchor(position);
            let duration = format::duration(before, time);
            let _ = write!(
                page,
                "<a class=\"permalink chrome\" href=\"#{anchor}\" title=\"Link to this\">{duration}</a>"
            );
        }
        None => push_permalink(page, view, position),
    }
}

/// Appends the link to an entry: its time.
pub(crate) fn push_permalink(page: &mut String, view: &View<'_>, position: Position) {
    let anchor = view.anchor(position);
    let time = view.entry(position).time.map_or_else(|| "link".to_owned(), format::time_element);
    let _ =
        write!(page, "<a class=\"permalink chrome\" href=\"#{anchor}\" title=\"Link to this\">{time}</a>");
}

/// Returns what a call is about, if it is known and fits into the heading.
fn subject(call: &Call) -> Option<&str> {
    let name = match call.name.as_str() {
        "read" | "write" | "edit" | "ls" => "path",
        "grep" | "find" => "pattern",
        _ => return None,
    };
    call.arguments.get(name).and_then(Value::as_str).filter(|text| text.len() <= SHORT)
}

/// Appends the arguments beside the subject: numbers, switches and short texts.
fn push_small_arguments(page: &mut String, call: &Call) {
    if !is_known(call) {
        return;
    }
    let shown = subject(call);
    for (name, value) in &call.arguments {
        let text = match value {
            Value::String(text) if text.len() <= SHORT && Some(text.as_str()) != shown => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ => continue,
        };
        if matches!(name.as_str(), "command" | "content" | "oldText" | "newText") {
            continue;
        }
        page.push_str("<span class=\"argument\">");
        escape::push_text(page, name);
        page.push(' ');
        escape::push_text(page, &text);
        page.push_str("</span>");
    }
}

fn is_known(call: &Call) -> bool {
    let main = match call.name.as_str() {
        "bash" | "powershell" => "command",
        "read" | "write" | "edit" => "path",
        "grep" | "find" => "pattern",
        "ls" => return true,
        _ => return false,
    };
    call.arguments.get(main).is_some_and(Value::is_string)
}

/// Appends the argument that is too long for the heading, or all of them where the tool is not one of ours.
fn push_input(page: &mut String, view: &View<'_>, call: &Call) {
    let text = |name: &str| call.arguments.get(name).and_then(Value::as_str);
    match call.name.as_str() {
        "bash" | "powershell" if is_known(call) => {
            push_shell_code(page, view, text("command").unwrap_or_default());
        }
        "write" if is_known(call) => {
            push_code(
                page,
                view,
                text("content").unwrap_or_default(),
                Look { language: language_of(call), ..INPUT },
            );
        }
        _ if is_known(call) => {}
        _ if call.arguments.is_empty() => {}
        _ => push_json(page, view, &Value::Object(call.arguments.clone())),
    }
}

/// Appends JSON, a few lines of it in sight.
pub(crate) fn push_json(page: &mut String, view: &View<'_>, value: &Value) {
    let json = serde_json::to_string_pretty(value).unwrap_or_default();
    push_code(page, view, &json, Look { language: highlight::of_name("json"), ..INPUT });
}

/// How a piece of code is shown.
#[derive(Clone, Copy)]
struct Look<'a> {
    language: Option<&'a Language>,
    /// How many lines are in sight.
    lines: usize,
    class: &'static str,
}

const INPUT: Look<'static> = Look { language: None, lines: INPUT_LINES, class: "" };
const OUTPUT: Look<'static> = Look { language: None, lines: OUTPUT_LINES, class: "output" };

fn push_code(page: &mut String, view: &View<'_>, text: &str, look: Look<'_>) {
    let shown = code::cut(text).trim_end_matches('\n');
    let tokens = highlight::tokens_of_beginning(shown, look.language, view.coloured(shown.len()));
    code::push_folded(page, &tokens, look.lines, look.class);
    code::push_cut_note(page, text);
}

fn push_shell_code(page: &mut String, view: &View<'_>, command: &str) {
    let look = Look { language: highlight::of_name("bash"), class: "command", ..INPUT };
    push_code(page, view, command, look);
}

fn language_of(call: &Call) -> Option<&'static Language> {
    let has_file = matches!(call.name.as_str(), "read" | "write" | "edit");
    call.arguments.get("path").and_then(Value::as_str).filter(|_| has_file).and_then(highlight::of_path)
}

fn push_content(
    page: &mut String,
    view: &View<'_>,
    content: &[Block],
    language: Option<&Language>,
    is_error: bool,
) {
    for block in content {
        match block {
            Block::Text(text) if text.is_empty() => {}
            Block::Text(text) => match language {
                Some(language) if !is_error => {
                    push_code(page, view, text, Look { language: Some(language), ..OUTPUT });
                }
                _ => code::push_output(page, text, OUTPUT_LINES),
            },
            Block::Image { data, mime_type } => image::push_image(page, data, mime_type),
            Block::Thinking { text, .. } => code::push_output(page, text, OUTPUT_LINES),
            Block::Call(call) => push_json(page, view, &Value::Object(call.arguments.clone())),
            Block::Unknown(value) => push_json(page, view, value),
        }
    }
}

/// Appends the output of a command that the user ran.
pub(crate) fn push_command(page: &mut String, view: &View<'_>, command: &str, output: &str) {
    push_shell_code(page, view, command);
    if !output.trim().is_empty() {
        code::push_output(page, output, OUTPUT_LINES);
    }
}
