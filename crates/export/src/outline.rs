//! The side panel: what was asked and where the session branches, as a list of links.

use std::fmt::Write as _;

use crate::entry::{Block, Body, Position};
use crate::escape;
use crate::format;
use crate::tree::{Row, SegmentNumber};
use crate::view::View;

/// What is indented further is no further to the right.
const DEEPEST: usize = 8;

/// How many characters of a message stand in the panel.
const WIDTH: usize = 90;

/// Appends the panel's list.
pub(crate) fn push_outline(page: &mut String, view: &View<'_>) {
    for Row { segment, depth } in view.tree.outline() {
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
    let segment = &view.tree.segments[number];
    let is_worth_a_row = |position: &&Position| {
        matches!(
            view.entry(**position).body,
            Body::User(_) | Body::Compaction { .. } | Body::BranchSummary { .. } | Body::Bash(_)
        ) || view.label(**position).is_some()
    };
    let mut rows: Vec<_> = segment.entries.iter().filter(is_worth_a_row).copied().collect();
    let is_said =
        |position: &&Position| matches!(view.entry(**position).body, Body::User(_) | Body::Answer(_));
    if rows.is_empty() {
        rows.extend(segment.entries.iter().find(is_said).or(segment.entries.first()));
    }
    let end = segment.entries.iter().rev().find(is_said).filter(|_| segment.children.is_empty()).copied();
    rows.extend(end.filter(|end| !rows.contains(end)));
    for position in rows {
        push_row(page, view, position, Some(position) == end);
    }
}

fn push_row(page: &mut String, view: &View<'_>, position: Position, is_end: bool) {
    let kind = match view.entry(position).body {
        Body::User(_) => "user",
        Body::Compaction { .. } | Body::BranchSummary { .. } => "summary",
        Body::Bash(_) => "shell",
        _ => "answer",
    };
    let end = if is_end { " end" } else { "" };
    let _ = write!(page, "<li class=\"{kind}{end}\"><a href=\"#{}\">", view.anchor(position));
    escape::push_text(page, &heading(view, position));
    if let Some(label) = view.label(position) {
        page.push_str(" <span class=\"label\">");
        escape::push_text(page, label);
        page.push_str("</span>");
    }
    page.push_str("</a></li>\n");
}

/// Returns an entry in a few words.
pub(crate) fn heading(view: &View<'_>, position: Position) -> String {
    let words = match &view.entry(position).body {
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

/// Returns the words of Markdown without most of its marks.
fn without_marks(words: &str) -> String {
    words.replace("**", "").replace('`', "").trim_start_matches(['#', '>', ' ']).to_owned()
}

/// Returns the beginning of a text on one line.
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
    fn a_few_words_are_on_one_line() {
        assert_eq!(first_words("  a\n\n b\tc ", 9), "a b c");
        assert_eq!(first_words("éclair au chocolat", 7), "éclair…");
    }
}
