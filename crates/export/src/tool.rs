//! Renders a tool call together with its result.

use std::fmt::Write as _;

use bowline_core::tool::{ToolDisplay, ToolTraits};
use bowline_session::display::{Block, Body, Call, ToolResult};
use serde_json::Value;

use crate::code;
use crate::diff::Diff;
use crate::escape;
use crate::format;
use crate::highlight::{self, Language};
use crate::image;
use crate::segments::Position;
use crate::view::View;

/// The number of visible lines of output.
const OUTPUT_LINES: usize = 8;

/// The number of visible lines of a command, of arguments or of a written file.
const INPUT_LINES: usize = 12;

/// The maximum length of an argument in the heading.
const SHORT: usize = 160;

/// The argument of a search that says what to look for.
const PATTERN: &str = "pattern";

/// Arguments that are shown below the heading, if at all.
const LONG_ARGUMENTS: [&str; 3] = ["content", "oldText", "newText"];

/// Appends a call with its result, if it has one.
pub(crate) fn push_call(page: &mut String, view: &View<'_>, call: &Call, result: Option<Position>) {
    let found = result.and_then(|position| match view.body(position) {
        Body::ToolResult(result) => Some((position, result)),
        _ => None,
    });
    let found = found.as_ref().map(|(position, result)| (*position, result.as_ref()));
    let tool = Tool::new(view, call);
    let is_error = found.is_some_and(|(_, result)| result.is_error);
    page.push_str(if is_error { "<section class=\"tool failed\"" } else { "<section class=\"tool\"" });
    if let Some((position, _)) = found {
        let _ = write!(page, " id=\"{}\"", view.anchor(position));
    }
    page.push_str(">\n");
    let diff = (tool.display == ToolDisplay::Edit).then(|| {
        let made = found.and_then(|(_, result)| Diff::of_details(&result.details));
        made.or_else(|| Diff::of_call(call))
    });
    let diff = diff.flatten();
    push_heading(page, view, &tool, diff.as_ref(), found);
    push_input(page, view, &tool);
    if let Some(diff) = &diff {
        diff.push(page);
    }
    match found {
        // The diff already shows that the edit was made.
        Some((_, result)) if diff.is_none() || result.is_error => {
            let is_command = matches!(tool.display, ToolDisplay::Command { .. });
            let shown = if is_command { Shown::End } else { Shown::Beginning(tool.language()) };
            push_content(page, view, &result.content, shown, result.is_error);
        }
        Some(_) => {}
        None => page.push_str("<p class=\"cut\">No result</p>\n"),
    }
    page.push_str("</section>\n");
}

/// Appends a result whose call is not in the same segment.
pub(crate) fn push_lone_result(page: &mut String, view: &View<'_>, result: &ToolResult) {
    if let Some(diff) = Diff::of_details(&result.details) {
        diff.push(page);
    }
    push_content(page, view, &result.content, Shown::Beginning(None), result.is_error);
}

fn push_heading(
    page: &mut String,
    view: &View<'_>,
    tool: &Tool<'_>,
    diff: Option<&Diff<'_>>,
    result: Option<(Position, &ToolResult)>,
) {
    page.push_str("<header><h3>");
    escape::push_text(page, &tool.call.name);
    page.push_str("</h3>");
    if let Some(subject) = tool.subject() {
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
    push_small_arguments(page, tool);
    if let Some((position, result)) = result {
        if result.is_error {
            page.push_str("<span class=\"badge bad chrome\">failed</span>");
        }
        push_duration(page, view, position);
    }
    page.push_str("</header>\n");
}

/// Appends the link to a result; its text is how long the call took.
fn push_duration(page: &mut String, view: &View<'_>, position: Position) {
    let before = view.parent(position).and_then(|parent| view.time(parent));
    let times = before.zip(view.time(position));
    match times.and_then(|(before, time)| format::duration(before, time)) {
        Some(duration) => {
            let anchor = view.anchor(position);
            let _ = write!(
                page,
                "<a class=\"permalink chrome\" href=\"#{anchor}\" title=\"Link to this\">{duration}</a>"
            );
        }
        None => push_permalink(page, view, position),
    }
}

/// Appends the link to an entry; its text is the time.
pub(crate) fn push_permalink(page: &mut String, view: &View<'_>, position: Position) {
    let anchor = view.anchor(position);
    let time = view.time(position).map_or_else(|| "link".to_owned(), format::time_element);
    let _ =
        write!(page, "<a class=\"permalink chrome\" href=\"#{anchor}\" title=\"Link to this\">{time}</a>");
}

/// A call with what is known about its tool.
struct Tool<'a> {
    call: &'a Call,
    display: ToolDisplay,
    path_argument: Option<&'static str>,
}

impl<'a> Tool<'a> {
    fn new(view: &View<'_>, call: &'a Call) -> Self {
        let traits = view.tool(&call.name);
        let display = traits.map_or(ToolDisplay::Generic, |traits: &ToolTraits| traits.display);
        Self { call, display, path_argument: traits.and_then(|traits| traits.path_argument) }
    }

    fn text(&self, argument: &str) -> Option<&'a str> {
        self.call.arguments.get(argument).and_then(Value::as_str)
    }

    /// Returns the argument that says what the call is about.
    fn main_argument(&self) -> Option<&'static str> {
        match self.display {
            ToolDisplay::Command { argument } => Some(argument),
            ToolDisplay::Read | ToolDisplay::Write | ToolDisplay::Edit => self.path_argument,
            // Some searches only list a directory.
            ToolDisplay::Search if self.call.arguments.contains_key(PATTERN) => Some(PATTERN),
            ToolDisplay::Search => self.path_argument,
            ToolDisplay::Generic => None,
        }
    }

    /// Returns whether the arguments have the expected form; otherwise they are shown as JSON.
    fn is_well_formed(&self) -> bool {
        match self.display {
            ToolDisplay::Search if !self.call.arguments.contains_key(PATTERN) => true,
            _ => self.main_argument().is_some_and(|argument| self.text(argument).is_some()),
        }
    }

    /// Returns what the call is about, if that fits into the heading.
    fn subject(&self) -> Option<&'a str> {
        match self.display {
            ToolDisplay::Command { .. } => None,
            _ => self.text(self.main_argument()?).filter(|text| text.len() <= SHORT),
        }
    }

    /// Returns the language of the file that the call works on.
    fn language(&self) -> Option<&'static Language> {
        match self.display {
            ToolDisplay::Read | ToolDisplay::Write | ToolDisplay::Edit => {
                highlight::of_path(self.text(self.path_argument?)?)
            }
            _ => None,
        }
    }
}

/// Appends the arguments beside the subject: numbers, booleans and short strings.
fn push_small_arguments(page: &mut String, tool: &Tool<'_>) {
    if !tool.is_well_formed() {
        return;
    }
    let command = match tool.display {
        ToolDisplay::Command { argument } => Some(argument),
        _ => None,
    };
    let subject = tool.subject();
    for (name, value) in &tool.call.arguments {
        let text = match value {
            Value::String(text) if text.len() <= SHORT && Some(text.as_str()) != subject => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ => continue,
        };
        if command == Some(name) || LONG_ARGUMENTS.contains(&name.as_str()) {
            continue;
        }
        page.push_str("<span class=\"argument\">");
        escape::push_text(page, name);
        page.push(' ');
        escape::push_text(page, &text);
        page.push_str("</span>");
    }
}

/// Appends the argument that is too long for the heading, or all of them if they do not have the expected form.
fn push_input(page: &mut String, view: &View<'_>, tool: &Tool<'_>) {
    if !tool.is_well_formed() {
        if !tool.call.arguments.is_empty() {
            push_json(page, view, &Value::Object(tool.call.arguments.clone()));
        }
        return;
    }
    match tool.display {
        ToolDisplay::Command { argument } => {
            push_shell_code(page, view, tool.text(argument).unwrap_or_default());
        }
        ToolDisplay::Write => {
            let look = Look { language: tool.language(), ..INPUT };
            push_code(page, view, tool.text("content").unwrap_or_default(), look);
        }
        _ => {}
    }
}

/// Appends JSON, folded after a few lines.
pub(crate) fn push_json(page: &mut String, view: &View<'_>, value: &Value) {
    let json = serde_json::to_string_pretty(value).unwrap_or_default();
    push_code(page, view, &json, Look { language: highlight::of_name("json"), ..INPUT });
}

/// How a piece of code looks.
#[derive(Clone, Copy)]
struct Look<'a> {
    language: Option<&'a Language>,
    /// The number of visible lines.
    lines: usize,
    class: &'static str,
}

const INPUT: Look<'static> = Look { language: None, lines: INPUT_LINES, class: "" };
const OUTPUT: Look<'static> = Look { language: None, lines: OUTPUT_LINES, class: "output" };

fn push_code(page: &mut String, view: &View<'_>, text: &str, look: Look<'_>) {
    let shown = code::truncated(text).trim_end_matches('\n');
    let tokens = highlight::tokens_of_beginning(shown, look.language, view.highlighted(shown.len()));
    code::push_folded(page, &tokens, look.lines, look.class);
    code::push_truncation_note(page, text);
}

fn push_shell_code(page: &mut String, view: &View<'_>, command: &str) {
    let look = Look { language: highlight::of_name("bash"), class: "command", ..INPUT };
    push_code(page, view, command, look);
}

/// Which lines of a long result are visible.
#[derive(Clone, Copy)]
enum Shown<'a> {
    /// The first ones, in a language.
    Beginning(Option<&'a Language>),
    /// The last ones.
    End,
}

fn push_content(page: &mut String, view: &View<'_>, content: &[Block], shown: Shown<'_>, is_error: bool) {
    for block in content {
        match block {
            Block::Text(text) if text.is_empty() => {}
            Block::Text(text) => match shown {
                Shown::End => code::push_command_output(page, text, OUTPUT_LINES),
                Shown::Beginning(Some(language)) if !is_error => {
                    push_code(page, view, text, Look { language: Some(language), ..OUTPUT });
                }
                Shown::Beginning(_) => code::push_output(page, text, OUTPUT_LINES),
            },
            Block::Image { data, mime_type } => image::push_image(page, data, mime_type),
            Block::Thinking { text, .. } => code::push_output(page, text, OUTPUT_LINES),
            Block::Call(call) => push_json(page, view, &Value::Object(call.arguments.clone())),
            Block::Unknown(value) => push_json(page, view, value),
        }
    }
}

/// Appends a user-initiated command and its output.
pub(crate) fn push_command(page: &mut String, view: &View<'_>, command: &str, output: &str) {
    push_shell_code(page, view, command);
    if !output.trim().is_empty() {
        code::push_command_output(page, output, OUTPUT_LINES);
    }
}
