//! Escapes text from a session for the page. Everything from a session passes through here.
//!
//! Characters that are invisible, or change how others are shown, are written out, because a reader must see what the
//! model saw.

use std::fmt::Write as _;

/// Appends `text` as content of an element.
pub(crate) fn push_text(page: &mut String, text: &str) {
    push(page, text, |page, name| {
        let _ = write!(page, "<span class=\"control\">{name}</span>");
    });
}

/// Appends `text` as the value of an attribute in double quotes.
pub(crate) fn push_attribute(page: &mut String, text: &str) {
    push(page, text, |page, name| {
        let _ = write!(page, "[{name}]");
    });
}

/// Returns `text` as content of an element.
pub(crate) fn text(text: &str) -> String {
    let mut page = String::with_capacity(text.len() + text.len() / 8);
    push_text(&mut page, text);
    page
}

/// Returns `text` as the value of an attribute in double quotes.
pub(crate) fn attribute(text: &str) -> String {
    let mut page = String::with_capacity(text.len());
    push_attribute(&mut page, text);
    page
}

fn push(page: &mut String, text: &str, spell_out: impl Fn(&mut String, &str)) {
    let mut plain_from = 0;
    for (index, character) in text.char_indices() {
        if is_plain(character) {
            continue;
        }
        page.push_str(&text[plain_from..index]);
        plain_from = index + character.len_utf8();
        match character {
            '&' => page.push_str("&amp;"),
            '<' => page.push_str("&lt;"),
            '>' => page.push_str("&gt;"),
            '"' => page.push_str("&quot;"),
            '\'' => page.push_str("&#39;"),
            // Part of the line ending.
            '\r' if text[plain_from..].starts_with('\n') => {}
            '\0'..='\u{1f}' => page.extend(char::from_u32(0x2400 + u32::from(character))),
            '\u{7f}' => page.push('\u{2421}'),
            _ => spell_out(page, &format!("U+{:04X}", u32::from(character))),
        }
    }
    page.push_str(&text[plain_from..]);
}

fn is_plain(character: char) -> bool {
    match character {
        '\n' | '\t' | ' ' => true,
        '&' | '<' | '>' | '"' | '\'' => false,
        '\0'..='\u{7f}' => !character.is_ascii_control(),
        _ => !is_invisible(character),
    }
}

/// Returns whether a character is a control, changes the text direction, or has no width and no use in emoji or in a
/// script that needs it.
fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{80}'..='\u{9f}'
        | '\u{ad}' | '\u{61c}' | '\u{180e}'
        | '\u{200b}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        // Tag characters, which can hide a whole text.
        | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns `page` without its tags.
    pub(crate) fn without_tags(page: &str) -> String {
        let mut text = String::new();
        let mut in_tag = false;
        for character in page.chars() {
            match character {
                '<' => in_tag = true,
                '>' if in_tag => in_tag = false,
                _ if !in_tag => text.push(character),
                _ => {}
            }
        }
        text
    }

    #[test]
    fn markup_is_escaped() {
        assert_eq!(
            text("</script><img onerror='x' src=\"y\">&amp;"),
            "&lt;/script&gt;&lt;img onerror=&#39;x&#39; src=&quot;y&quot;&gt;&amp;amp;"
        );
    }

    #[test]
    fn invisible_characters_are_written_out() {
        assert_eq!(text("a\u{202e}b"), "a<span class=\"control\">U+202E</span>b");
        assert_eq!(attribute("a\u{2066}b"), "a[U+2066]b");
        assert_eq!(text("\0\u{1b}[1m\u{7f}\r\n\r"), "\u{2400}\u{241b}[1m\u{2421}\n\u{240d}");
        assert_eq!(text("👩\u{200d}🚀 e\u{301} ẞ"), "👩\u{200d}🚀 e\u{301} ẞ");
    }

    proptest! {
        #[test]
        fn an_attribute_has_no_markup(input in any::<String>()) {
            prop_assert!(!attribute(&input).contains(['<', '>', '"', '\'', '\0']));
        }
    }
}
