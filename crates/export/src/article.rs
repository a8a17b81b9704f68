//! Renders an entry.

use std::fmt::Write as _;

use bowline_core::Usage;
use bowline_session::display::{Answer, BashExecution, Block, Body};
use serde_json::Value;

use crate::code;
use crate::escape;
use crate::format;
use crate::highlight;
use crate::image;
use crate::markdown::{Breaks, push_markdown};
use crate::segments::Position;
use crate::tool;
use crate::view::{Kind, View};

/// Appends an entry, unless it is shown within another one.
pub(crate) fn push_article(page: &mut String, view: &View<'_>, position: Position) {
    if view.is_within_answer(position) {
        return;
    }
    let body = view.body(position);
    let article = Article { view, position, usage: body.usage() };
    match &body {
        Body::User(content) => article.push(page, "message user", "User", "", |page| {
            article.push_blocks(page, content, Breaks::Hard);
        }),
        Body::Answer(answer) => article.push_answer(page, answer),
        Body::ToolResult(result) => {
            let heading = format!("Result of {}", result.tool);
            article
                .push(page, "message lone", &heading, "", |page| tool::push_lone_result(page, view, result));
        }
        Body::Bash(execution) => article.push_bash(page, execution),
        Body::Custom { kind, content, is_shown } => article.push_custom(page, kind, content, *is_shown),
        Body::System(message) => {
            article.push(page, "message quiet", "System prompt", "", |page| push_system(page, message));
        }
        Body::Compaction { summary, first_kept, tokens_before, .. } => {
            let about = match tokens_before {
                0 => String::new(),
                tokens => format!("{} tokens until here", format::tokens(*tokens)),
            };
            let after = |page: &mut String| {
                article.push_reference(page, "Kept word for word: all from ", first_kept.as_deref());
            };
            article.push_summary(
                page,
                ["Context compacted", &about, "The summary in its place"],
                summary,
                after,
            );
        }
        Body::BranchSummary { summary, from, .. } => {
            let after = |page: &mut String| article.push_reference(page, "It ended at ", from.as_deref());
            article.push_summary(
                page,
                ["Summary of another branch", "", "What happened there"],
                summary,
                after,
            );
        }
        Body::ModelChange { provider, model } => {
            article.push_note(page, "Model", &[provider, model].map(String::as_str).join("/"));
        }
        Body::ThinkingLevelChange(level) => article.push_note(page, "Thinking", level),
        Body::Name(name) if name.is_empty() => article.push_note(page, "Session name", "removed"),
        // The title of the page says it already.
        Body::Name(name) if Some(name.trim()) == view.session.name() => {
            article.push_note(page, "Session name", "the present one");
        }
        Body::Name(name) => article.push_note(page, "Session name", name),
        Body::Label { label, target } => {
            article.push_note_about(page, "Label", label.as_deref().unwrap_or("removed"), target);
        }
        Body::ContextEdit { target, replacement } => {
            article.push_context_edit(page, target, replacement.as_deref());
        }
        Body::Spending { kind, usage, .. } => {
            article.push_note(page, "Tokens spent", &format!("{kind}, {}", usage_text(usage)));
        }
        Body::ExtensionData { kind, data } => {
            article.push_data(page, &format!("Extension data: {kind}"), data);
        }
        Body::Unknown(value) => article.push_data(page, "An entry of a kind unknown to this version", value),
        Body::Unreadable(line) => {
            article.push(page, "message quiet", "An entry that cannot be read", "", |page| {
                push_fold(page, "Show", |page| code::push_output(page, line, 20));
            });
        }
    }
}

struct Article<'a> {
    view: &'a View<'a>,
    position: Position,
    usage: Option<&'a Usage>,
}

impl Article<'_> {
    /// Appends an article with a heading, a remark in small print, and a body.
    fn push(
        &self,
        page: &mut String,
        class: &str,
        heading: &str,
        about: &str,
        body: impl FnOnce(&mut String),
    ) {
        let _ =
            write!(page, "<article class=\"{class}\" id=\"{}\">\n<header>", self.view.anchor(self.position));
        if !heading.is_empty() {
            page.push_str("<h2>");
            escape::push_text(page, heading);
            page.push_str("</h2>");
        }
        if !about.is_empty() {
            page.push_str("<span class=\"about\">");
            escape::push_text(page, about);
            page.push_str("</span>");
        }
        self.push_label(page);
        self.push_usage(page);
        tool::push_permalink(page, self.view, self.position);
        page.push_str("</header>\n");
        body(page);
        page.push_str("</article>\n");
    }

    fn push_usage(&self, page: &mut String) {
        if let Some(usage) = self.usage.filter(|usage| **usage != Usage::default()) {
            let _ = write!(page, "<span class=\"usage chrome\">{}</span>", usage_text(usage));
        }
    }

    fn push_label(&self, page: &mut String) {
        if let Some(label) = self.view.label(self.position) {
            page.push_str("<span class=\"label\">");
            escape::push_text(page, label);
            page.push_str("</span>");
        }
    }

    fn push_answer(&self, page: &mut String, answer: &Answer) {
        let model = if answer.model.is_empty() { "Assistant" } else { &answer.model };
        let (class, heading) =
            if self.continues() { ("message answer continued", "") } else { ("message answer", model) };
        self.push(page, class, heading, "", |page| {
            self.push_blocks(page, &answer.content, Breaks::Soft);
            push_ending(page, answer);
        });
    }

    /// Returns whether the answer directly follows one of the same model, so that its name need not be repeated.
    fn continues(&self) -> bool {
        let mut before = self.view.parent(self.position);
        while let Some(position) = before.filter(|position| self.view.is_within_answer(*position)) {
            before = self.view.parent(position);
        }
        let same_segment = |position: &Position| {
            self.view.segments.segment_of[*position] == self.view.segments.segment_of[self.position]
        };
        let kind = self.view.kind(self.position);
        matches!(kind, Kind::Answer(_))
            && before.filter(same_segment).is_some_and(|before| self.view.kind(before) == kind)
    }

    fn push_blocks(&self, page: &mut String, content: &[Block], breaks: Breaks) {
        let mut calls = 0;
        for block in content {
            match block {
                Block::Text(text) => push_prose(page, text, breaks),
                Block::Thinking { is_redacted: true, .. } => {
                    page.push_str("<p class=\"cut\">Thinking, encrypted</p>\n");
                }
                Block::Thinking { text, .. } => push_thinking(page, text),
                Block::Call(call) => {
                    tool::push_call(page, self.view, call, self.view.result(self.position, calls));
                    calls += 1;
                }
                Block::Image { data, mime_type } => image::push_image(page, data, mime_type),
                Block::Unknown(value) => tool::push_json(page, self.view, value),
            }
        }
    }

    fn push_bash(&self, page: &mut String, execution: &BashExecution) {
        let about = if execution.is_private { "not shown to the model" } else { "" };
        self.push(page, "message shell", "User ran a command", about, |page| {
            tool::push_command(page, self.view, &execution.command, &execution.output);
            let mut notes = Vec::new();
            match execution.exit_code {
                _ if execution.is_cancelled => notes.push("cancelled".to_owned()),
                Some(0) => {}
                Some(code) => notes.push(format!("exit code {code}")),
                None => notes.push("no exit code".to_owned()),
            }
            if execution.is_truncated {
                let path = execution.full_output_path.as_deref();
                notes.push(path.map_or("output truncated".to_owned(), |path| {
                    format!("output truncated; all of it was in {path}")
                }));
            }
            if !notes.is_empty() {
                let _ = writeln!(page, "<p class=\"cut\">{}</p>", escape::text(&notes.join(" · ")));
            }
        });
    }

    fn push_custom(&self, page: &mut String, kind: &str, content: &[Block], is_shown: bool) {
        let heading = if kind.is_empty() { "Extension" } else { kind };
        let about =
            if is_shown { "message of an extension" } else { "message of an extension, for the model only" };
        self.push(page, "message custom", heading, about, |page| {
            if is_shown {
                self.push_blocks(page, content, Breaks::Hard);
            } else {
                push_fold(page, "Show", |page| self.push_blocks(page, content, Breaks::Hard));
            }
        });
    }

    /// Appends a summary with a heading, a remark and the title of its fold.
    fn push_summary(
        &self,
        page: &mut String,
        [heading, about, fold]: [&str; 3],
        summary: &str,
        after: impl FnOnce(&mut String),
    ) {
        self.push(page, "message summary", heading, about, |page| {
            push_fold(page, fold, |page| push_prose(page, summary, Breaks::Soft));
            after(page);
        });
    }

    /// Appends a line with a link to another entry.
    fn push_reference(&self, page: &mut String, text: &str, id: Option<&str>) {
        if let Some(link) = id.and_then(|id| self.link_to(id)) {
            let _ = writeln!(page, "<p class=\"reference chrome\">{text}{link}</p>");
        }
    }

    fn link_to(&self, id: &str) -> Option<String> {
        let position = self.view.position(id).filter(|position| *position != self.position)?;
        let heading = escape::text(&crate::outline::heading(self.view, position));
        Some(format!("<a href=\"#{}\">{heading}</a>", self.view.anchor(position)))
    }

    /// Appends a note about the session that is not part of the conversation.
    fn push_note(&self, page: &mut String, heading: &str, text: &str) {
        self.push_note_about(page, heading, text, "");
    }

    /// Appends a note about another entry.
    fn push_note_about(&self, page: &mut String, heading: &str, text: &str, target: &str) {
        let anchor = self.view.anchor(self.position);
        let _ = write!(page, "<article class=\"note\" id=\"{anchor}\"><h2>{heading}</h2> <span>");
        escape::push_text(page, text);
        page.push_str("</span>");
        if let Some(link) = self.link_to(target) {
            let _ = write!(page, "<span class=\"reference chrome\">on {link}</span>");
        }
        self.push_label(page);
        tool::push_permalink(page, self.view, self.position);
        page.push_str("</article>\n");
    }

    fn push_context_edit(&self, page: &mut String, target: &str, replacement: Option<&[Block]>) {
        let Some(content) = replacement else {
            self.push_note_about(page, "Context edited", "hidden from the model from here on", target);
            return;
        };
        self.push(
            page,
            "message quiet",
            "Context edited",
            "the model sees this in a message's place",
            |page| {
                push_fold(page, "Show", |page| self.push_blocks(page, content, Breaks::Hard));
                self.push_reference(page, "It replaces ", Some(target));
            },
        );
    }

    fn push_data(&self, page: &mut String, heading: &str, data: &Value) {
        self.push(page, "message quiet", heading, "", |page| {
            push_fold(page, "Show", |page| tool::push_json(page, self.view, data));
        });
    }
}

/// Appends a fold that is closed at first.
fn push_fold(page: &mut String, title: &str, body: impl FnOnce(&mut String)) {
    let _ = writeln!(page, "<details><summary>{title}</summary>");
    body(page);
    page.push_str("</details>\n");
}

/// Appends Markdown. Text that is too long for prose is shown as it is.
fn push_prose(page: &mut String, text: &str, breaks: Breaks) {
    if text.trim().is_empty() {
        return;
    }
    if text.len() > code::LONGEST {
        code::push_folded(page, &highlight::tokens(code::truncated(text), None), 20, "wrap");
        code::push_truncation_note(page, text);
        return;
    }
    page.push_str("<div class=\"prose\">\n");
    push_markdown(page, text, breaks);
    page.push_str("</div>\n");
}

fn push_thinking(page: &mut String, text: &str) {
    if text.trim().is_empty() {
        return;
    }
    page.push_str("<details class=\"thinking\"><summary>Thinking <span class=\"chrome\">");
    escape::push_text(page, &crate::outline::first_words(text, 120));
    page.push_str("</span></summary>\n");
    push_prose(page, text, Breaks::Hard);
    page.push_str("</details>\n");
}

/// Appends how an answer ended, unless it ended normally.
fn push_ending(page: &mut String, answer: &Answer) {
    let reason = match answer.stop_reason.as_str() {
        "" | "stop" | "toolUse" | "pending" => None,
        "length" => Some("The answer reached the output limit"),
        "aborted" => Some("Aborted"),
        "error" => Some("Failed"),
        other => Some(other),
    };
    if reason.is_some() || answer.error.is_some() {
        page.push_str("<p class=\"ending\">");
        escape::push_text(page, reason.unwrap_or("Failed"));
        if let Some(error) = &answer.error {
            page.push_str(": ");
            escape::push_text(page, code::truncated(error));
        }
        page.push_str("</p>\n");
    }
}

/// Returns tokens and cost as text.
pub(crate) fn usage_text(usage: &Usage) -> String {
    let mut parts = vec![format!("{} in", format::tokens(usage.input.saturating_add(usage.cache_write)))];
    if usage.cache_read > 0 {
        parts.push(format!("{} cached", format::tokens(usage.cache_read)));
    }
    parts.push(format!("{} out", format::tokens(usage.output)));
    if usage.cost.total > 0.0 {
        parts.push(format::dollars(usage.cost.total));
    }
    parts.join(" · ")
}

fn push_system(page: &mut String, message: &Value) {
    push_fold(page, "Show", |page| {
        let content = message.get("content").and_then(Value::as_str).unwrap_or_default();
        push_prose(page, content, Breaks::Hard);
        if let Some(Value::Object(sections)) = message.get("sections") {
            for (name, section) in sections {
                let _ = writeln!(page, "<h3>{}</h3>", escape::text(name));
                push_prose(page, section.as_str().unwrap_or("(removed)"), Breaks::Hard);
            }
        }
        if let Some(Value::Array(tools)) = message.get("toolsAdded") {
            let names: Vec<_> = tools.iter().filter_map(|tool| tool.get("name")?.as_str()).collect();
            let _ = writeln!(page, "<p>Tools: {}</p>", escape::text(&names.join(", ")));
        }
    });
}
