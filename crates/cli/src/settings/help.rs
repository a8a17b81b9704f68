//! The settings as text for people.

use std::fmt::Write as _;

use super::table::settings;
use crate::terminal::hanging;

/// The width of the text, but for examples, which are to be copied.
const WIDTH: usize = 79;

/// Returns a setting as it would stand in the file: `{"retry": {"maxRetries": 5}}`.
pub(crate) fn in_place(path: &str, value: &str) -> String {
    path.rsplit('.').fold(value.to_owned(), |inner, key| format!("{{\"{key}\": {inner}}}"))
}

/// What applies to all settings.
pub(crate) const INTRODUCTION: &str = "\
Settings in settings.json, which is in ~/.bowline (BOWLINE_HOME or
PI_CODING_AGENT_DIR moves it). Flags take precedence over them. A dot stands
for a nested object: retry.maxRetries is {\"retry\": {\"maxRetries\": 5}}.
bowline config shows and changes them.
";

/// A setting as text for people.
pub(crate) struct Described {
    pub path: &'static str,
    pub default: String,
    pub about: String,
    /// How it would stand in the file.
    pub example: String,
}

/// Returns every setting, in the order of the help.
pub(crate) fn described() -> impl Iterator<Item = Described> {
    settings().map(|setting| Described {
        path: setting.path,
        default: plain(setting.default),
        about: plain(setting.about),
        example: in_place(setting.path, setting.example),
    })
}

/// Returns the settings as text for `bowline help settings`.
pub(crate) fn help() -> String {
    let mut text = INTRODUCTION.to_owned();
    for Described { path, default, about, example } in described() {
        let _ = write!(text, "\n{path} (default: {default})\n    ");
        hanging(&mut text, &about, 4, WIDTH);
        let _ = writeln!(text, "    example: {example}");
    }
    text
}

/// Returns Markdown without its marks: no code marks, and of links only the text.
pub(crate) fn plain(markdown: &str) -> String {
    let mut text = String::new();
    let mut rest = markdown;
    while let Some((before, after)) = rest.split_once("](") {
        text.push_str(before);
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    text.push_str(rest);
    text.replace(['`', '['], "")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::Value;

    use super::*;

    /// The marks around the list in the documentation.
    const BEGIN: &str = "<!-- The table of settings is generated: ./test update -->\n";
    const END: &str = "<!-- end of the table -->\n";

    fn table() -> String {
        let rows = settings().map(|setting| {
            let is_value = serde_json::from_str::<Value>(setting.default).is_ok();
            let default =
                if is_value { format!("`{}`", setting.default) } else { setting.default.to_owned() };
            format!("| `{}` | {default} | {} |\n", setting.path, setting.about)
        });
        format!("| key | default | |\n|---|---|---|\n{}", rows.collect::<String>())
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the switch that rewrites the file instead of checking it")]
    fn documentation_lists_the_settings() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
        let page = std::fs::read_to_string(&path).unwrap();
        let (before, rest) = page.split_once(BEGIN).unwrap();
        let (_, after) = rest.split_once(END).unwrap();
        let expected = format!("{before}{BEGIN}\n{}\n{END}{after}", table());
        if std::env::var_os("BOWLINE_UPDATE").is_some() {
            std::fs::write(&path, &expected).unwrap();
        } else {
            assert!(page == expected, "docs/configuration.md is out of date: run ./test update");
        }
    }

    #[test]
    fn help_has_no_marks_of_markdown() {
        assert_eq!(plain("see [the page](a.md#b) or `x`: [y](z)"), "see the page or x: y");
        assert!(help().contains("retry.maxRetries (default: 3)\n    the maximum number of retries\n"));
    }
}
