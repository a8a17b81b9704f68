//! The page as a whole: its head, the header, the panel, the displayed branch, and the other branches in templates.

use std::fmt::Write as _;
use std::io::Write;

use bowline_session::Session;
use jiff::Timestamp;

use crate::Error;
use crate::Options;
use crate::article;
use crate::changes;
use crate::escape;
use crate::format;
use crate::outline;
use crate::policy::{SCRIPT, STYLE, content_security_policy};
use crate::segments::SegmentNumber;
use crate::totals::Totals;
use crate::view::View;

/// What every page has in its head, by which a page is known to be one of ours.
pub const GENERATOR: &str = "<meta name=\"generator\" content=\"bowline\">";

/// The maximum length of a title that is taken from the first message.
const TITLE_WIDTH: usize = 80;

/// Writes the page.
pub(crate) fn write(out: &mut impl Write, view: &View<'_>, options: &Options) -> Result<(), Error> {
    let (session, title) = (view.session, options.title.as_deref());
    // A title that repeats the first message need not be read before it.
    let is_named = title.is_some() || session.name().is_some() || view.first_prompt().is_none();
    let title = title.map_or_else(|| title_of(view), ToOwned::to_owned);
    let totals = Totals::new(session)?;
    let mut page = String::new();
    push_head(&mut page, &title);
    push_bar(&mut page, &title, &totals, view.segments.list.len() > 1);
    page.push_str("<nav id=\"panel\" class=\"chrome\" aria-label=\"Outline and branches\">\n");
    outline::push_outline(&mut page, view);
    page.push_str("</nav>\n<div id=\"middle\">\n");
    let _ = writeln!(
        page,
        "<section id=\"top\">\n<h1{}>{}</h1>",
        if is_named { "" } else { " class=\"repeated\"" },
        escape::text(&title)
    );
    push_about(&mut page, session, &totals, view);
    page.push_str("<main id=\"conversation\" tabindex=\"-1\">\n");
    flush(out, &mut page)?;

    let path = view.segments.path();
    for number in path {
        write_segment(out, view, number)?;
    }
    page.push_str("</main>\n");
    changes::push(&mut page, &options.changes);
    push_end(&mut page, session);
    page.push_str("</div>\n");
    push_help(&mut page);
    flush(out, &mut page)?;

    let others = (0..view.segments.list.len()).filter(|number| !view.segments.list[*number].is_current);
    for number in others {
        writeln!(out, "<template data-segment=\"{number}\">").map_err(Error::Write)?;
        write_segment(out, view, number)?;
        out.write_all(b"</template>\n").map_err(Error::Write)?;
    }
    out.write_all(b"</body>\n</html>\n").map_err(Error::Write)
}

fn flush(out: &mut impl Write, page: &mut String) -> Result<(), Error> {
    out.write_all(page.as_bytes()).map_err(Error::Write)?;
    page.clear();
    Ok(())
}

fn title_of(view: &View<'_>) -> String {
    let session = view.session;
    let first = || Some(outline::first_words(&outline::heading(view, view.first_prompt()?), TITLE_WIDTH));
    session.name().map(str::to_owned).or_else(first).unwrap_or_else(|| format!("Session {}", session.id()))
}

fn push_head(page: &mut String, title: &str) {
    let policy = content_security_policy(STYLE, SCRIPT);
    let title = escape::attribute(title);
    let _ = write!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n{GENERATOR}\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n\
         <style>{STYLE}</style>\n<script>{SCRIPT}</script>\n</head>\n<body>\n"
    );
}

fn push_bar(page: &mut String, title: &str, totals: &Totals, has_branches: bool) {
    page.push_str("<header id=\"bar\" class=\"chrome\">\n");
    let panel = if has_branches { "Outline and branches (b)" } else { "Outline (b)" };
    let _ = writeln!(
        page,
        "<button type=\"button\" id=\"show-panel\" title=\"{panel}\" aria-controls=\"panel\" aria-expanded=\"false\">☰</button>"
    );
    let _ = writeln!(page, "<a id=\"bar-title\" href=\"#top\">{}</a>", escape::text(title));
    let mut figures = vec![format::counted(totals.statistics.total_messages, "message")];
    figures.push(format!("{} tokens", format::tokens(totals.tokens())));
    let cost = totals.statistics.usage.cost.total;
    if cost > 0.0 {
        figures.push(format::dollars(cost));
    }
    let _ = writeln!(page, "<span id=\"bar-totals\">{}</span>", figures.join(" · "));
    page.push_str(
        "<form id=\"search\" role=\"search\">\
         <input type=\"search\" id=\"search-text\" placeholder=\"Search\" aria-label=\"Search\" autocomplete=\"off\" spellcheck=\"false\">\
         <output id=\"search-count\" for=\"search-text\"></output>\
         <button type=\"button\" id=\"search-elsewhere\" hidden></button>\
         <button type=\"button\" id=\"search-previous\" title=\"Previous match (Shift Enter)\" aria-label=\"Previous match\">↑</button>\
         <button type=\"button\" id=\"search-next\" title=\"Next match (Enter)\" aria-label=\"Next match\">↓</button>\
         </form>\n\
         <button type=\"button\" id=\"folds\" title=\"Open or close all folds (e)\" aria-label=\"Open or close all folds\">⊞</button>\n\
         <button type=\"button\" id=\"theme\" title=\"Light or dark (t)\" aria-label=\"Light or dark\">◐</button>\n\
         <button type=\"button\" id=\"show-help\" title=\"Keyboard shortcuts (?)\" aria-label=\"Keyboard shortcuts\">?</button>\n\
         </header>\n",
    );
}

fn push_about(page: &mut String, session: &Session, totals: &Totals, view: &View<'_>) {
    page.push_str("<p class=\"facts\">");
    let started = session.header().timestamp.parse::<Timestamp>().ok().or_else(|| view.times().min());
    let mut facts = Vec::new();
    if let Some(started) = started {
        facts.push(format::time_element(started));
        facts.extend(view.times().max().and_then(|last| format::duration(started, last)));
    }
    facts.push(format::counted(totals.statistics.user_messages, "prompt"));
    facts.push(format::counted(totals.statistics.tool_calls, "tool call"));
    let branches = view.segments.list.iter().filter(|segment| segment.children.is_empty()).count();
    if branches > 1 {
        facts.push(format::counted(branches as u64, "branch"));
    }
    let _ = writeln!(page, "{}</p>", facts.join(" · "));
    page.push_str("<details><summary>About this session</summary>\n<dl>\n");
    push_fact(page, "Folder", &session.header().cwd);
    push_fact(page, "Session", session.id());
    push_fact(page, "Continues", session.header().parent_session.as_deref().unwrap_or_default());
    page.push_str("</dl>\n");
    totals.push_table(page);
    page.push_str("</details>\n</section>\n");
}

fn push_fact(page: &mut String, name: &str, value: &str) {
    if !value.is_empty() {
        let _ = writeln!(page, "<dt>{name}</dt><dd>{}</dd>", escape::text(value));
    }
}

fn write_segment(out: &mut impl Write, view: &View<'_>, number: SegmentNumber) -> Result<(), Error> {
    let segment = &view.segments.list[number];
    let parent = segment.parent.map(|parent| format!(" data-parent=\"{parent}\"")).unwrap_or_default();
    let leaf = segment.leaf;
    writeln!(out, "<section class=\"segment\" data-segment=\"{number}\" data-leaf=\"{leaf}\"{parent}>")
        .map_err(Error::Write)?;
    let mut page = String::new();
    push_fork(&mut page, view, number);
    for position in &segment.entries {
        article::push_article(&mut page, view, *position);
        view.check()?;
        flush(out, &mut page)?;
    }
    out.write_all(b"</section>\n").map_err(Error::Write)
}

/// Appends links to the branches that start at the same fork.
fn push_fork(page: &mut String, view: &View<'_>, number: SegmentNumber) {
    let siblings = view.segments.siblings(number);
    if siblings.len() < 2 {
        return;
    }
    let place = siblings.iter().position(|sibling| *sibling == number).unwrap_or_default();
    let link = |page: &mut String, place: Option<usize>, sign: &str, name: &str| {
        let first = place.and_then(|place| view.segments.list[*siblings.get(place)?].entries.first());
        let _ = match first {
            Some(first) => {
                write!(
                    page,
                    "<a href=\"#{}\" title=\"{name}\" aria-label=\"{name}\">{sign}</a>",
                    view.anchor(*first)
                )
            }
            None => write!(page, "<span>{sign}</span>"),
        };
    };
    page.push_str("<nav class=\"fork chrome\" aria-label=\"Branches\">");
    link(page, place.checked_sub(1), "‹", "Previous branch");
    let _ = write!(page, "<b>Branch {} of {}</b>", place + 1, siblings.len());
    link(page, place.checked_add(1), "›", "Next branch");
    page.push_str("</nav>\n");
}

fn push_end(page: &mut String, session: &Session) {
    page.push_str("<footer id=\"end\">");
    match session.malformed_lines() {
        0 => {}
        count => {
            let lines = format::counted(count as u64, "line");
            let _ = write!(page, "<p>{lines} of the session file could not be read and are not shown.</p>");
        }
    }
    let _ = writeln!(page, "<p>Exported by bowline {}</p></footer>", env!("CARGO_PKG_VERSION"));
}

fn push_help(page: &mut String) {
    const KEYS: [(&str, &str); 11] = [
        ("/", "search"),
        ("n  N", "next, previous match"),
        ("j  k", "next, previous message"),
        ("u  i", "next, previous prompt"),
        ("]  [", "next, previous branch here"),
        ("l", "link to this message"),
        ("b", "outline and branches"),
        ("e", "open or close all folds"),
        ("t", "light or dark"),
        ("g  G", "start, end"),
        ("?", "this list"),
    ];
    page.push_str("<dialog id=\"help\" class=\"chrome\" aria-label=\"Keyboard shortcuts\">\n<h2>Keyboard shortcuts</h2>\n<dl>\n");
    for (keys, what) in KEYS {
        let keys: Vec<_> = keys.split_whitespace().map(|key| format!("<kbd>{key}</kbd>")).collect();
        let _ = writeln!(page, "<dt>{}</dt><dd>{what}</dd>", keys.join(" "));
    }
    page.push_str("</dl>\n<form method=\"dialog\"><button>Close</button></form>\n</dialog>\n");
}
