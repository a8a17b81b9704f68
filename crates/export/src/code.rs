//! Renders code and output: a few visible lines, the rest folded.

use std::fmt::Write as _;

use crate::ansi;
use crate::escape;
use crate::format;
use crate::highlight::{self, Token};

/// The maximum length of a text in the page; longer ones are truncated.
pub(crate) const LONGEST: usize = 200 * 1024;

/// The minimum number of lines that are worth a fold.
const FEWEST_HIDDEN: usize = 4;

/// Lines longer than this are wrapped instead of scrolled.
const WIDEST: usize = 400;

/// Appends a code block without a fold, with the name of its language.
pub(crate) fn push_block(page: &mut String, tokens: &[Token<'_>], language: &str) {
    page.push_str("<figure class=\"code\">");
    if !language.is_empty() {
        page.push_str("<figcaption class=\"chrome\">");
        escape::push_text(page, language);
        page.push_str("</figcaption>");
    }
    page.push_str("<button type=\"button\" class=\"copy chrome\">Copy</button>");
    push_pre(page, tokens, "");
    page.push_str("</figure>\n");
}

/// Appends a code block with `lines` visible lines.
pub(crate) fn push_folded(page: &mut String, tokens: &[Token<'_>], lines: usize, class: &str) {
    let (first, rest) = highlight::split_at_line(tokens, lines);
    let hidden = line_count(&rest);
    if hidden < FEWEST_HIDDEN {
        push_pre(page, tokens, class);
        return;
    }
    push_pre(page, &first, class);
    let _ = write!(
        page,
        "<details class=\"more\"><summary class=\"chrome\">{}</summary>",
        format::counted(hidden as u64, "more line")
    );
    push_pre(page, &rest, class);
    page.push_str("</details>\n");
}

/// Appends the output of a program with `lines` visible lines.
pub(crate) fn push_output(page: &mut String, output: &str, lines: usize) {
    let shown = truncated(output).trim_end_matches(['\n', '\r']);
    if !ansi::has_sequences(shown) {
        push_folded(page, &highlight::tokens(shown, None), lines, "output");
        push_truncation_note(page, output);
        return;
    }
    let end_of_first =
        shown.match_indices('\n').nth(lines.saturating_sub(1)).map_or(shown.len(), |(end, _)| end + 1);
    let (first, rest) = shown.split_at(end_of_first);
    let hidden = if rest.is_empty() { 0 } else { rest.matches('\n').count() + 1 };
    let mut look = ansi::Look::default();
    if hidden < FEWEST_HIDDEN {
        push_terminal_pre(page, shown, &mut look);
    } else {
        push_terminal_pre(page, first, &mut look);
        let hidden = format::counted(hidden as u64, "more line");
        let _ = write!(page, "<details class=\"more\"><summary class=\"chrome\">{hidden}</summary>");
        push_terminal_pre(page, rest, &mut look);
        page.push_str("</details>\n");
    }
    push_truncation_note(page, output);
}

/// Appends the output of a command with its last `lines` lines visible: that is where the result and the errors are.
pub(crate) fn push_command_output(page: &mut String, output: &str, lines: usize) {
    let output = output.trim_end_matches(['\n', '\r']);
    let shown = &output[output.ceil_char_boundary(output.len().saturating_sub(LONGEST))..];
    if shown.len() < output.len() {
        let _ = writeln!(
            page,
            "<p class=\"cut\">The last {} of {} are shown. The session file has the rest.</p>",
            format::bytes(shown.len()),
            format::bytes(output.len())
        );
    }
    let start_of_last = shown.rmatch_indices('\n').nth(lines.saturating_sub(1)).map_or(0, |(end, _)| end + 1);
    let (earlier, last) = shown.split_at(start_of_last);
    let hidden = earlier.matches('\n').count();
    // What a terminal sequence changes stays changed in the lines below.
    let mut look = ansi::Look::default();
    if hidden < FEWEST_HIDDEN {
        return push_terminal_pre(page, shown, &mut look);
    }
    let hidden = format::counted(hidden as u64, "earlier line");
    let _ = write!(page, "<details class=\"more earlier\"><summary class=\"chrome\">{hidden}</summary>");
    push_terminal_pre(page, earlier, &mut look);
    page.push_str("</details>\n");
    push_terminal_pre(page, last, &mut look);
}

fn push_terminal_pre(page: &mut String, text: &str, look: &mut ansi::Look) {
    page.push_str("<pre class=\"output\"><code>");
    ansi::push_terminal_text(page, text, look);
    page.push_str("</code></pre>\n");
}

fn push_pre(page: &mut String, tokens: &[Token<'_>], class: &str) {
    let wraps = if widest(tokens) > WIDEST { " wrap" } else { "" };
    let _ = write!(page, "<pre class=\"{class}{wraps}\"><code>");
    highlight::push_tokens(page, tokens);
    page.push_str("</code></pre>\n");
}

fn line_count(tokens: &[Token<'_>]) -> usize {
    let ends = tokens.iter().map(|token| token.text.matches('\n').count()).sum::<usize>();
    let is_open = tokens
        .iter()
        .rev()
        .find(|token| !token.text.is_empty())
        .is_some_and(|token| !token.text.ends_with('\n'));
    ends + usize::from(is_open)
}

fn widest(tokens: &[Token<'_>]) -> usize {
    let mut widest = 0;
    let mut width = 0;
    for token in tokens {
        for (index, piece) in token.text.split('\n').enumerate() {
            width = if index > 0 { piece.len() } else { width + piece.len() };
            widest = widest.max(width);
        }
    }
    widest
}

/// Returns the part of a text that is shown in the page.
pub(crate) fn truncated(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST)]
}

/// Appends a note if `text` is truncated.
pub(crate) fn push_truncation_note(page: &mut String, text: &str) {
    if text.len() > LONGEST {
        let _ = writeln!(
            page,
            "<p class=\"cut\">Cut here: {} of {} are shown. The session file has the rest.</p>",
            format::bytes(truncated(text).len()),
            format::bytes(text.len())
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::highlight::tokens;

    fn folded(text: &str, lines: usize) -> String {
        let mut page = String::new();
        push_folded(&mut page, &tokens(text, None), lines, "");
        page
    }

    #[test]
    fn a_few_lines_are_not_folded() {
        assert!(!folded("1\n2\n3\n4\n5\n", 2).contains("<details"));
        let page = folded("1\n2\n3\n4\n5\n6", 2);
        assert!(page.contains("<code>1\n2\n</code>") && page.contains("4 more lines"), "{page}");
        assert!(page.contains("<code>3\n4\n5\n6</code>"), "{page}");
    }

    #[test]
    fn the_end_of_long_command_output_is_visible() {
        let mut page = String::new();
        push_command_output(&mut page, "1\n2\n3\n4\n5\n6\n\n", 2);
        assert!(page.contains("4 earlier lines") && page.ends_with("<code>5\n6</code></pre>\n"), "{page}");
        page.clear();
        push_command_output(&mut page, "1\n2\n3\n4\n5\n", 2);
        assert!(!page.contains("<details") && page.contains("<code>1\n2\n3\n4\n5</code>"), "{page}");
        page.clear();
        push_command_output(&mut page, &format!("{}\nthe end", "é".repeat(LONGEST)), 2);
        assert!(page.contains("The last 200.0 KB of") && page.contains("the end</code>"));
    }

    #[test]
    fn long_lines_are_wrapped() {
        assert!(folded(&"x".repeat(500), 2).contains("<pre class=\" wrap\">"));
        assert!(!folded(&"x\n".repeat(500), 2).contains("wrap"));
    }

    #[test]
    fn truncation_is_noted_and_keeps_characters_intact() {
        let text = "é".repeat(LONGEST);
        assert!(truncated(&text).len() <= LONGEST);
        let mut page = String::new();
        push_truncation_note(&mut page, &text);
        assert!(page.contains("200.0 KB of 400.0 KB"), "{page}");
        push_truncation_note(&mut page, "short");
        assert_eq!(page.matches("<p").count(), 1);
    }
}
