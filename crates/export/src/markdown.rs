//! Renders Markdown as HTML. Only elements that are written here can result; HTML in the source is shown as text.

use std::fmt::Write as _;

use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::code;
use crate::escape;
use crate::highlight;

/// The maximum nesting; deeper elements are flattened, because browsers and readers cannot cope with them.
const DEEPEST: usize = 40;

/// What a single line break means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Breaks {
    /// A space, as in Markdown.
    Soft,
    /// A line break, as people type it.
    Hard,
}

/// Appends `text` as HTML.
pub(crate) fn push_markdown(page: &mut String, text: &str, breaks: Breaks) {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer =
        Writer { page, breaks, open: Vec::new(), too_deep: 0, code: None, alignments: Vec::new(), cell: 0 };
    for event in Parser::new_ext(text, options) {
        writer.event(event);
    }
    writer.finish();
}

struct Writer<'p, 'a> {
    page: &'p mut String,
    breaks: Breaks,
    /// The closing tags of the open elements.
    open: Vec<&'static str>,
    /// The number of open elements that were omitted because they are nested too deeply.
    too_deep: usize,
    /// The current code block with its language.
    code: Option<(String, CodeBlockKind<'a>)>,
    /// The alignments of the columns of the current table.
    alignments: Vec<Alignment>,
    /// The column of the next cell.
    cell: usize,
}

impl<'a> Writer<'_, 'a> {
    fn event(&mut self, event: Event<'a>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((code, _)) => code.push_str(&text),
                None => escape::push_text(self.page, &text),
            },
            Event::Html(text) | Event::InlineHtml(text) => {
                self.page.push_str("<code class=\"markup\">");
                escape::push_text(self.page, text.trim_end_matches('\n'));
                self.page.push_str("</code>");
                if text.ends_with('\n') {
                    self.page.push_str("<br>\n");
                }
            }
            Event::Code(text) => {
                self.page.push_str("<code>");
                escape::push_text(self.page, &text);
                self.page.push_str("</code>");
            }
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                escape::push_text(self.page, &text);
            }
            Event::SoftBreak if self.breaks == Breaks::Soft => self.page.push('\n'),
            Event::SoftBreak | Event::HardBreak => self.page.push_str("<br>\n"),
            Event::Rule => self.page.push_str("<hr>\n"),
            Event::TaskListMarker(is_done) => self.page.push_str(if is_done {
                "<span class=\"task\" role=\"img\" aria-label=\"done\">☑</span> "
            } else {
                "<span class=\"task\" role=\"img\" aria-label=\"to do\">☐</span> "
            }),
        }
    }

    fn start(&mut self, tag: Tag<'a>) {
        if let Tag::CodeBlock(kind) = tag {
            self.code = Some((String::new(), kind));
            return;
        }
        if self.too_deep > 0 || self.open.len() >= DEEPEST {
            self.too_deep += 1;
            return;
        }
        match tag {
            Tag::Paragraph => self.element("<p>", "</p>\n"),
            // The page itself uses the first two levels.
            Tag::Heading { level: HeadingLevel::H1, .. } => self.element("<h3 class=\"first\">", "</h3>\n"),
            Tag::Heading { level: HeadingLevel::H2, .. } => self.element("<h3>", "</h3>\n"),
            Tag::Heading { level: HeadingLevel::H3, .. } => self.element("<h4>", "</h4>\n"),
            Tag::Heading { .. } => self.element("<h5>", "</h5>\n"),
            Tag::BlockQuote(_) => self.element("<blockquote>\n", "</blockquote>\n"),
            Tag::HtmlBlock => self.element("<p>", "</p>\n"),
            Tag::List(None) => self.element("<ul>\n", "</ul>\n"),
            Tag::List(Some(start)) => {
                let _ = writeln!(self.page, "<ol start=\"{start}\">");
                self.open.push("</ol>\n");
            }
            Tag::Item => self.element("<li>", "</li>\n"),
            Tag::Table(alignments) => {
                self.alignments = alignments;
                self.element("<div class=\"table\"><table>\n", "</tbody></table></div>\n");
            }
            Tag::TableHead => {
                self.cell = 0;
                self.element("<thead><tr>", "</tr></thead>\n<tbody>\n");
            }
            Tag::TableRow => {
                self.cell = 0;
                self.element("<tr>", "</tr>\n");
            }
            Tag::TableCell => self.table_cell(),
            Tag::Emphasis => self.element("<em>", "</em>"),
            Tag::Strong => self.element("<strong>", "</strong>"),
            Tag::Strikethrough => self.element("<del>", "</del>"),
            Tag::Link { dest_url, .. } => self.link(&dest_url, ""),
            // Images may be anywhere, so they are never loaded, only linked to.
            Tag::Image { dest_url, .. } => self.link(&dest_url, "image: "),
            _ => self.element("<div>", "</div>\n"),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        if tag == TagEnd::CodeBlock {
            if let Some((code, kind)) = self.code.take() {
                self.code_block(&code, &kind);
            }
        } else if self.too_deep > 0 {
            self.too_deep -= 1;
        } else if let Some(close) = self.open.pop() {
            self.page.push_str(close);
        }
    }

    fn element(&mut self, open: &str, close: &'static str) {
        self.page.push_str(open);
        self.open.push(close);
    }

    fn table_cell(&mut self) {
        let is_head = self.open.last().is_some_and(|close| close.starts_with("</tr></thead>"));
        let (open, close) = if is_head { ("<th", "</th>") } else { ("<td", "</td>") };
        self.page.push_str(open);
        self.page.push_str(match self.alignments.get(self.cell) {
            Some(Alignment::Right) => " class=\"right\">",
            Some(Alignment::Center) => " class=\"center\">",
            _ => ">",
        });
        self.cell += 1;
        self.open.push(close);
    }

    fn link(&mut self, address: &str, before: &str) {
        if is_harmless(address) {
            self.page.push_str("<a href=\"");
            escape::push_attribute(self.page, address);
            self.page.push_str("\" rel=\"noopener noreferrer nofollow\" target=\"_blank\">");
            self.page.push_str(before);
            self.open.push("</a>");
        } else {
            // The title shows where the link would have led.
            self.page.push_str("<span class=\"no-link\" title=\"");
            escape::push_attribute(self.page, beginning(address));
            self.page.push_str("\">");
            self.page.push_str(before);
            self.open.push("</span>");
        }
    }

    fn code_block(&mut self, text: &str, kind: &CodeBlockKind<'_>) {
        let name = match kind {
            CodeBlockKind::Fenced(name) => name.split([' ', ',', '{']).next().unwrap_or_default(),
            CodeBlockKind::Indented => "",
        };
        let language = highlight::of_name(name);
        code::push_block(self.page, &highlight::tokens(text, language), beginning(name));
    }

    fn finish(mut self) {
        while let Some(close) = self.open.pop() {
            self.page.push_str(close);
        }
    }
}

fn is_harmless(address: &str) -> bool {
    let scheme = address.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    matches!(scheme.as_deref(), Some("http" | "https" | "mailto"))
}

fn beginning(text: &str) -> &str {
    let end = text.char_indices().nth(200).map_or(text.len(), |(index, _)| index);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn markdown(text: &str) -> String {
        let mut page = String::new();
        push_markdown(&mut page, text, Breaks::Soft);
        page
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(markdown(text).trim_end(), expected);
    }

    #[test]
    fn markdown_becomes_html() {
        check(
            "a *b* **c** ~~d~~ `e<`",
            "<p>a <em>b</em> <strong>c</strong> <del>d</del> <code>e&lt;</code></p>",
        );
        check("# A\n### B", "<h3 class=\"first\">A</h3>\n<h4>B</h4>");
        check(
            "3. a\n4. [x] b",
            "<ol start=\"3\">\n<li>a</li>\n<li><span class=\"task\" role=\"img\" aria-label=\"done\">☑</span> b</li>\n</ol>",
        );
        check(
            "a|b\n-|-:\nc|d",
            "<div class=\"table\"><table>\n<thead><tr><th>a</th><th class=\"right\">b</th></tr></thead>\n<tbody>\n<tr><td>c</td><td class=\"right\">d</td></tr>\n</tbody></table></div>",
        );
    }

    #[test]
    fn html_is_escaped() {
        check(
            "a <b onclick=x>c</b>",
            "<p>a <code class=\"markup\">&lt;b onclick=x&gt;</code>c<code class=\"markup\">&lt;/b&gt;</code></p>",
        );
        let page = markdown("<script>\nalert(1)\n</script>\n\n<img src=x onerror=alert(1)>");
        assert!(!page.contains("<script") && !page.contains("<img"), "{page}");
    }

    #[test]
    fn only_harmless_addresses_become_links() {
        for address in ["https://a.b/?q=\"><script>", "HTTP://a", "mailto:a@b"] {
            let page = markdown(&format!("[x](<{address}>)"));
            assert!(
                page.contains("<a href=\"") && page.contains("rel=\"noopener noreferrer nofollow\""),
                "{page}"
            );
            assert!(!page.contains("<script"), "{page}");
        }
        for address in [
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            "data:text/html,x",
            "vbscript:x",
            "file:///etc/passwd",
            "/a",
            "//a.b",
            "#entry-1",
            "java&#115;cript:alert(1)",
            "&#1;javascript:alert(1)",
        ] {
            let page = markdown(&format!("[x](<{address}>)"));
            assert!(!page.contains("href"), "{address}: {page}");
        }
    }

    #[test]
    fn images_are_never_loaded() {
        let page = markdown("![alt](https://a.b/c.png) ![](data:image/png;base64,AAAA)");
        assert!(page.contains(">image: alt</a>") && !page.contains("<img"), "{page}");
    }

    #[test]
    fn deep_nesting_is_flattened() {
        let page = markdown(&format!("{} deep", ">".repeat(5_000)));
        assert_eq!(page.matches("<blockquote>").count(), DEEPEST);
        assert_eq!(page.matches("</blockquote>").count(), DEEPEST);
        assert!(page.contains("deep"));
    }

    proptest! {
        #[test]
        fn every_element_is_closed(text in "([a-z*_`~<>\\[\\]()!#|\\-+0-9. \n&\"']|\n\n|```|> |- |\\|-\\|){0,80}") {
            let page = markdown(&text);
            for name in ["p", "h3", "h4", "h5", "blockquote", "ul", "ol", "li", "table", "thead", "tbody", "tr", "td", "th", "em", "strong", "del", "a", "span", "code", "pre", "div", "button", "figure"] {
                let opened = page.matches(&format!("<{name}>")).count() + page.matches(&format!("<{name} ")).count();
                prop_assert_eq!(opened, page.matches(&format!("</{name}>")).count(), "{}: {}", name, page);
            }
        }
    }
}
