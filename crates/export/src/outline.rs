//! The side panel: links to the prompts and the branches.

use std::fmt::Write as _;

use bowline_session::display::{Block, Body};

use crate::escape;
use crate::format;
use crate::segments::{Position, Row, SegmentNumber};
use crate::view::{Kind, View};

/// The maximum indentation.
const DEEPEST: usize = 8;

/// The maximum number of characters of a message in the panel.
const WIDTH: usize = 90;

/// Appends the lists of the panel.
pub(crate) fn push_outline(page: &mut String, view: &View<'_>) {
    for Row { segment, depth } in view.segments.outline() {
        let is_turn = depth > 0;
        let _ = writeln!(
            page,
            "<ol class=\"d{}{}\" data-outline=\"{segment}\">",
            depth.min(DEEPEST),
            if is_turn { " turn" } else { "" }
        );
        push_rows(page, view, segment);
        page.push_str("</ol>\n");
    }
}

fn push_rows(page: &mut String, view: &View<'_>, number: SegmentNumber) {
    let segment = &view.segments.list[number];
    let is_worth_a_row = |position: &&Position| {
        matches!(view.kind(**position), Kind::Prompt | Kind::Summary | Kind::Command)
            || view.label(**position).is_some()
    };
    let mut rows: Vec<_> = segment.entries.iter().filter(is_worth_a_row).copied().collect();
    let is_message = |position: &&Position| matches!(view.kind(**position), Kind::Prompt | Kind::Answer(_));
    if rows.is_empty() {
        rows.extend(segment.entries.iter().find(is_message).or(segment.entries.first()));
    }
    let end = segment.entries.iter().rev().find(is_message).filter(|_| segment.children.is_empty()).copied();
    rows.extend(end.filter(|end| !rows.contains(end)));
    for position in rows {
        push_row(page, view, position, Some(position) == end);
    }
}

fn push_row(page: &mut String, view: &View<'_>, position: Position, is_end: bool) {
    let class = match view.kind(position) {
        Kind::Prompt => "user",
        Kind::Summary => "summary",
        Kind::Command => "shell",
        Kind::Answer(_) | Kind::Other => "answer",
    };
    let end = if is_end { " end" } else { "" };
    let _ = write!(page, "<li class=\"{class}{end}\"><a href=\"#{}\">", view.anchor(position));
    escape::push_text(page, &heading(view, position));
    if let Some(label) = view.label(position) {
        page.push_str(" <span class=\"label\">");
        escape::push_text(page, label);
        page.push_str("</span>");
    }
    page.push_str("</a></li>\n");
}

/// Returns a short description of an entry.
pub(crate) fn heading(view: &View<'_>, position: Position) -> String {
    let words = match &view.body(position) {
        Body::User(content) | Body::Custom { content, .. } => words_of(content),
        Body::Answer(answer) => {
            let words = words_of(&answer.content);
            match answer.calls().next() {
                Some(call) if words.is_empty() => format!("calls {}", first_words(&call.name, WIDTH)),
                _ => words,
            }
        }
        Body::ToolResult(result) => format!("result of {}", first_words(&result.tool, WIDTH)),
        Body::Bash(execution) => format!("$ {}", first_words(&execution.command, WIDTH)),
        Body::Compaction { tokens_before, .. } => {
            format!("Context compacted at {} tokens", format::tokens(*tokens_before))
        }
        Body::BranchSummary { .. } => "Summary of another branch".to_owned(),
        Body::ModelChange { model, .. } => format!("Model {}", first_words(model, WIDTH)),
        Body::ThinkingLevelChange(level) => format!("Thinking {}", first_words(level, WIDTH)),
        Body::Name(name) => format!("Session name {}", first_words(name, WIDTH)),
        Body::System(_) => "System prompt".to_owned(),
        _ => String::new(),
    };
    if words.is_empty() { "(no text)".to_owned() } else { words }
}

fn words_of(content: &[Block]) -> String {
    let text = content.iter().find_map(|block| match block {
        Block::Text(text) if !text.trim().is_empty() => {
            Some(without_marks(&first_words(first_paragraph(text), WIDTH)))
        }
        _ => None,
    });
    let has_image = content.iter().any(|block| matches!(block, Block::Image { .. }));
    text.unwrap_or_else(|| if has_image { "(image)".to_owned() } else { String::new() })
}

fn first_paragraph(text: &str) -> &str {
    text.trim_start().split("\n\n").next().unwrap_or_default()
}

/// Removes most Markdown syntax.
fn without_marks(words: &str) -> String {
    words.replace("**", "").replace('`', "").trim_start_matches(['#', '>', ' ']).to_owned()
}

/// Returns the beginning of a text as a single line.
pub(crate) fn first_words(text: &str, width: usize) -> String {
    let start = text.trim_start();
    let mut words = String::new();
    let mut count = 0;
    for character in start.chars() {
        if count == width {
            words.truncate(words.trim_end().len());
            words.push('…');
            return words;
        }
        if !character.is_whitespace() {
            words.push(character);
            count += 1;
        } else if !words.ends_with(' ') {
            words.push(' ');
            count += 1;
        }
    }
    words.truncate(words.trim_end().len());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_words_are_a_single_line() {
        assert_eq!(first_words("  a\n\n b\tc ", 9), "a b c");
        assert_eq!(first_words("éclair au chocolat", 7), "éclair…");
    }
}
