//! Output of subcommands and warnings. The protocol is never written this way.
//!
//! Names, paths, messages and errors come from files and servers, and a terminal obeys the control characters in them:
//! they could repaint the screen, set its title or feed its input. So everything that is written here is made plain.

use std::borrow::Cow;
use std::fmt::{Display, Write as _};
use std::io::{self, IsTerminal as _, Write as _};

use crate::failure::Failure;

/// Writes a text to stdout, with its control characters escaped.
pub(crate) fn say(text: &str) -> Result<(), Failure> {
    say_exactly(&plain(text))
}

/// Writes a text to stdout as it is: one of our own making, or one that another program reads.
pub(crate) fn say_exactly(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(Failure::io("writing to stdout"))
}

/// Writes a line to stderr, with its control characters escaped. That nobody reads stderr is no reason to fail.
pub(crate) fn note(text: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{}", plain(&text.to_string()));
}

/// Returns a text that a terminal only shows: line feeds and tabs stay, every other control character is written as
/// `\u001b`. In JSON such an escape means the same as the character.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    escape(text, |character| character == '\n' || character == '\t')
}

/// Returns a text as part of a line: like [`plain`], with line feeds and tabs as spaces.
pub(crate) fn plain_line(text: &str) -> String {
    let is_space = |character: char| matches!(character, '\n' | '\r' | '\t');
    escape(&text.replace(is_space, " "), |_| false).into_owned()
}

/// Appends a paragraph whose first line has begun in a column; the others begin in the same one. No line is longer than
/// `width`, but for long words.
pub(crate) fn hanging(text: &mut String, paragraph: &str, column: usize, width: usize) {
    let mut used = column;
    for word in paragraph.split_whitespace() {
        let length = word.chars().count();
        if used > column && used + 1 + length > width {
            text.push('\n');
            text.extend(std::iter::repeat_n(' ', column));
            used = column;
        } else if used > column {
            text.push(' ');
            used += 1;
        }
        text.push_str(word);
        used += length;
    }
    text.push('\n');
}

/// Shows on stderr what goes on, in place of what was shown before, or removes that. Only a terminal shows it.
pub(crate) fn show_progress(text: Option<&str>) {
    let mut stderr = io::stderr().lock();
    if stderr.is_terminal() {
        let _ = write!(stderr, "\r\u{1b}[K{}", plain_line(text.unwrap_or_default()));
        let _ = stderr.flush();
    }
}

/// Returns how many columns the terminal has that stdout is; none if it is no terminal, or one that does not say.
#[cfg(unix)]
pub(crate) fn columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

#[cfg(not(unix))]
pub(crate) fn columns() -> Option<usize> {
    None
}

fn escape(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_plain = |character: char| !is_control(character) || stays(character);
    let Some(first) = text.find(|character| !is_plain(character)) else { return Cow::Borrowed(text) };
    let mut escaped = text[..first].to_owned();
    for character in text[first..].chars() {
        if is_plain(character) {
            escaped.push(character);
        } else {
            // Writing to a string cannot fail.
            let _ = write!(escaped, "\\u{:04x}", u32::from(character));
        }
    }
    Cow::Owned(escaped)
}

/// Returns whether a terminal may obey a character instead of showing it: C0 and C1, the line separators, and the marks
/// that change the direction of what follows.
fn is_control(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_the_rest_stays() {
        for (text, expected) in [
            ("héllo 世界 🦀\n\tx", "héllo 世界 🦀\n\tx"),
            ("\u{1b}[31mred\u{7}\u{8}\r", "\\u001b[31mred\\u0007\\u0008\\u000d"),
            ("\u{9b}2J\u{7f}", "\\u009b2J\\u007f"),
            ("abc\u{202e}fdp\u{2066}", "abc\\u202efdp\\u2066"),
        ] {
            assert_eq!(plain(text), expected);
        }
        assert_eq!(plain_line("a\nb\tc\u{1b}]0;t\u{7}"), "a b c\\u001b]0;t\\u0007");
    }

    #[test]
    fn json_means_the_same_after_escaping() {
        let value = serde_json::json!({ "a\u{9b}": "\u{1b}\u{202e}\n\"\\u{85}" });
        let text = serde_json::to_string_pretty(&value).unwrap();
        assert_eq!(serde_json::from_str::<serde_json::Value>(&plain(&text)).unwrap(), value);
    }
}
