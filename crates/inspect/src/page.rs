//! The page: the same for a live exchange, which it asks the server for, and a saved one, which it contains.

use std::io::BufWriter;
use std::path::Path;

use bowline_export::{GENERATOR, THEME_SCRIPT, THEME_STYLE, Target, content_security_policy};
use serde::Serialize;
use serde_json::json;

use crate::Error;
use crate::protocol::{Problem, Protocols};
use crate::row::Row;
use crate::store::Store;

/// The style and the parts of the script, in the order in which they need one another.
const OWN_STYLE: &str = include_str!("page/page.css");
const OWN_SCRIPT: &str = concat!(
    include_str!("page/text.js"),
    include_str!("page/facts.js"),
    include_str!("page/exchange.js"),
    include_str!("page/records.js"),
    include_str!("page/detail.js"),
    include_str!("page/conversation.js"),
    include_str!("page/timing.js"),
    include_str!("page/usage.js"),
    include_str!("page/command_box.js"),
    include_str!("page/source.js"),
    include_str!("page/main.js"),
);
const BODY: &str = include_str!("page/body.html");

/// A longer line is shown from its beginning; the live page can ask for the rest.
const LONGEST_SHOWN: usize = 256 * 1024;

/// How many bytes of rows go to a page at a time, and into a saved one.
const MOST_BYTES_AT_ONCE: u64 = 4 * 1024 * 1024;
const MOST_SAVED_BYTES: usize = 200 * 1024 * 1024;

/// How many rows are saved at a time.
const SAVED_AT_ONCE: usize = 5000;

/// Returns the live page.
pub(crate) fn live(token: &str, can_send: bool) -> String {
    let about = json!({ "token": token, "canSend": can_send });
    let mut page = head("bowline inspect", None);
    page.push_str(BODY);
    page.push_str(&data("live", &about));
    page.push_str("</body>\n</html>\n");
    page
}

/// Returns the policy of the live page, which is sent with it.
pub(crate) fn live_policy() -> String {
    let (style, script) = (style(), script());
    format!("{}; connect-src 'self'; frame-ancestors 'none'", content_security_policy(&style, &script))
}

/// Saves the page with its rows.
pub(crate) fn save(
    store: &Store,
    protocols: &Protocols,
    out: &Path,
    source: Option<&Path>,
) -> Result<(), Error> {
    let target = Target::new(out, source)?;
    let written = target.write(|file| {
        let mut file = BufWriter::with_capacity(1 << 16, file);
        write(&mut file, store, protocols).map_err(bowline_export::Error::Write)
    });
    written.map(drop).map_err(Error::Save)
}

fn write(file: &mut impl std::io::Write, store: &Store, protocols: &Protocols) -> std::io::Result<()> {
    let policy = content_security_policy(&style(), &script());
    file.write_all(head("Exchange with an agent", Some(&policy)).as_bytes())?;
    file.write_all(BODY.as_bytes())?;
    file.write_all(b"<script type=\"application/json\" class=\"rows\">\n")?;
    let (mut from, mut bytes) = (0, 0);
    loop {
        let rows = rows(store, protocols, from, SAVED_AT_ONCE)?;
        if rows.is_empty() || bytes > MOST_SAVED_BYTES {
            break;
        }
        from += rows.len();
        for row in rows {
            let row = inert(&row);
            bytes += row.len();
            file.write_all(row.as_bytes())?;
            file.write_all(b"\n")?;
        }
    }
    file.write_all(b"</script>\n")?;
    let about = json!({
        "rows": store.progress().rows,
        "saved": from,
        "dialect": protocols.chosen().map(|protocol| protocol.name),
        "header": store.header(),
    });
    file.write_all(data("saved", &about).as_bytes())?;
    file.write_all(b"</body>\n</html>\n")?;
    file.flush()
}

/// Returns rows for the page, each with what is wrong with it.
pub(crate) fn rows(
    store: &Store,
    protocols: &Protocols,
    from: usize,
    most: usize,
) -> std::io::Result<Vec<String>> {
    protocols.look(store)?;
    let rows = store.read(from, most, MOST_BYTES_AT_ONCE)?;
    Ok(rows.iter().map(|row| shown(row, protocols)).collect())
}

#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    row: Row,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<Problem>,
    /// The length of the line, if this is its beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    shortened: Option<usize>,
}

fn shown(row: &str, protocols: &Protocols) -> String {
    // The rows are our own; one that cannot be read would be a mistake, and is shown as it is.
    let Ok(mut row) = serde_json::from_str::<Row>(row) else { return row.to_owned() };
    let problems = protocols.check(&row);
    let shortened = (row.line.len() > LONGEST_SHOWN).then_some(row.line.len());
    if shortened.is_some() {
        let end = row.line.floor_char_boundary(LONGEST_SHOWN);
        row.line.truncate(end);
    }
    serde_json::to_string(&Shown { row, problems, shortened }).unwrap_or_default()
}

fn head(title: &str, policy: Option<&str>) -> String {
    let policy = policy.map_or_else(String::new, |policy| {
        format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n")
    });
    let (style, script) = (style(), script());
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{policy}\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n{GENERATOR}\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n\
         <style>{style}</style>\n<script>{script}</script>\n</head>\n<body>\n"
    )
}

fn style() -> String {
    [THEME_STYLE, OWN_STYLE].concat()
}

fn script() -> String {
    [THEME_SCRIPT, "(() => {\n", OWN_SCRIPT, "})();\n"].concat()
}

/// Returns an element with data that nothing runs.
fn data(mode: &str, about: &serde_json::Value) -> String {
    let about = inert(&about.to_string());
    format!("<script type=\"application/json\" id=\"about\" data-mode=\"{mode}\">{about}</script>\n")
}

/// Returns JSON that cannot end the element that it is in. In JSON, a `<` is only ever within a text.
fn inert(json: &str) -> String {
    json.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn style_and_script_cannot_end_their_elements() {
        let (style, script) = (style(), script());
        assert!(!style.contains("</") && !script.contains("</") && !script.contains("<!--"));
        // The parser would turn it into a line feed, which would change the hash.
        assert!(!style.contains('\r') && !script.contains('\r'));
    }

    #[test]
    fn nothing_of_a_record_becomes_html() {
        assert_eq!(inert(r#"{"a":"</script><img>"}"#), r#"{"a":"\u003c/script>\u003cimg>"}"#);
    }

    #[test]
    fn script_turns_no_text_into_html_or_code() {
        for way in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"]
        {
            assert!(!script().contains(way), "{way}");
        }
    }
}
