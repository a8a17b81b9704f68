//! Text in roff, the language of manual pages.

use std::fmt::Write as _;

/// A page in the making.
#[derive(Debug)]
pub(super) struct Page {
    text: String,
    /// Whether a heading has just been written, after which no paragraph is begun.
    after_heading: bool,
}

impl Page {
    /// Begins a page. `about` says in a few words what it describes.
    pub fn new(name: &str, section: u8, about: &str) -> Self {
        let version = env!("CARGO_PKG_VERSION");
        let mut page = Self { text: String::new(), after_heading: false };
        // No date: the same program makes the same page at any time.
        page.write(&format!(".TH {} {section} \"\" \"bowline {version}\"", literal(&name.to_uppercase())));
        page.section("NAME");
        page.write(&format!("{} \\- {}", literal(name), literal(about)));
        page
    }

    pub fn section(&mut self, heading: &str) {
        self.write(&format!(".SH {}", quoted(&literal(heading))));
        self.after_heading = true;
    }

    pub fn paragraph(&mut self, text: &str) {
        self.begin_paragraph();
        self.write(&lines(text, "\n"));
    }

    /// Writes lines as they are.
    pub fn as_it_is(&mut self, text: &str) {
        self.begin_paragraph();
        self.write(&format!(".nf\n{}\n.fi", lines(text, "\n")));
    }

    /// Writes something with its description, whose lines stay lines.
    pub fn entry(&mut self, title: &str, text: &str) {
        self.write(&format!(".TP\n.B {}\n{}", quoted(&literal(title)), lines(text, "\n.br\n")));
    }

    /// Writes references to other pages: a name and a section each.
    pub fn references(&mut self, pages: impl Iterator<Item = (String, u8)>) {
        let pages: Vec<_> =
            pages.map(|(name, section)| format!(".BR {} ({section})", literal(&name))).collect();
        self.write(&pages.join(" ,\n"));
    }

    pub fn finish(self) -> String {
        self.text
    }

    fn begin_paragraph(&mut self) {
        if !self.after_heading {
            self.write(".PP");
        }
    }

    fn write(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
        self.after_heading = false;
    }
}

/// Returns text of which roff shows every letter as it is. It also stays so if it is copied from the page: a hyphen of a flag
/// is not a dash.
fn literal(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' => shown.push_str("\\e"),
            '-' => shown.push_str("\\-"),
            '\'' => shown.push_str("\\(aq"),
            '`' => shown.push_str("\\(ga"),
            '^' => shown.push_str("\\(ha"),
            '~' => shown.push_str("\\(ti"),
            '"' => shown.push_str("\\(dq"),
            letter if letter.is_ascii() => shown.push(letter),
            letter => {
                let _ = write!(shown, "\\[u{:04X}]", u32::from(letter));
            }
        }
    }
    shown
}

/// Returns text whose lines are no requests, whatever they begin with.
fn lines(text: &str, between: &str) -> String {
    let line = |line: &str| match line.starts_with('.') {
        true => format!("\\&{}", literal(line)),
        false => literal(line),
    };
    text.trim_end().lines().map(line).collect::<Vec<_>>().join(between)
}

fn quoted(argument: &str) -> String {
    format!("\"{argument}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_shown_as_it_is() {
        for (text, shown) in [
            ("--model \\x", "\\-\\-model \\ex"),
            (".TH it's\n'x", "\\&.TH it\\(aqs\n\\(aqx"),
            ("~/a\u{2026}", "\\(ti/a\\[u2026]"),
        ] {
            assert_eq!(lines(text, "\n"), shown);
        }
    }
}
