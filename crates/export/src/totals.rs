//! What the session cost, over all of its branches, and how much was said in it.

use std::fmt::Write as _;

use bowline_core::Usage;

use crate::entry::{Body, Session};
use crate::escape;
use crate::format;

/// Counts over a session.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub usage: Usage,
    pub messages: usize,
    pub prompts: usize,
    pub calls: usize,
    /// By model, in the order in which they were first used; what names none is last.
    models: Vec<Share>,
}

#[derive(Debug)]
struct Share {
    provider: String,
    model: String,
    answers: usize,
    usage: Usage,
}

impl Totals {
    /// Counts the entries of a session.
    pub fn of(session: &Session) -> Self {
        let mut totals = Self::default();
        let mut unnamed = Usage::default();
        for entry in &session.entries {
            totals.count(&entry.body);
            match entry.body.usage() {
                Some((usage, Some((provider, model)))) => totals.add(provider, model, usage, &entry.body),
                Some((usage, None)) => unnamed.add(usage),
                None => {}
            }
        }
        for share in &totals.models {
            totals.usage.add(&share.usage);
        }
        totals.usage.add(&unnamed);
        if unnamed != Usage::default() {
            let model = "summaries and tools".to_owned();
            totals.models.push(Share { provider: String::new(), model, answers: 0, usage: unnamed });
        }
        totals
    }

    fn count(&mut self, body: &Body) {
        match body {
            Body::User(_) => self.prompts += 1,
            Body::Answer(answer) => self.calls += answer.calls().count(),
            Body::ToolResult(_) | Body::Bash(_) | Body::Custom { .. } => {}
            _ => return,
        }
        self.messages += 1;
    }

    fn add(&mut self, provider: &str, model: &str, usage: &Usage, body: &Body) {
        let found =
            self.models.iter_mut().position(|share| share.provider == provider && share.model == model);
        let index = found.unwrap_or_else(|| {
            let (provider, model) = (provider.to_owned(), model.to_owned());
            self.models.push(Share { provider, model, answers: 0, usage: Usage::default() });
            self.models.len() - 1
        });
        let share = &mut self.models[index];
        share.usage.add(usage);
        share.answers += usize::from(matches!(body, Body::Answer(_)));
    }

    /// Returns all tokens, however they were paid for.
    pub fn tokens(&self) -> u64 {
        tokens(&self.usage)
    }

    /// Appends a table of the models that were used.
    pub fn push_table(&self, page: &mut String) {
        if self.models.is_empty() {
            return;
        }
        page.push_str(
            "<div class=\"table\"><table class=\"totals\">\n<thead><tr><th>Model</th><th class=\"right\">Answers</th>\
             <th class=\"right\">In</th><th class=\"right\">From cache</th><th class=\"right\">To cache</th>\
             <th class=\"right\">Out</th><th class=\"right\">Cost</th></tr></thead>\n<tbody>\n",
        );
        for share in &self.models {
            let mut name = escape::text(&share.model);
            if !share.provider.is_empty() {
                let _ = write!(name, " <small>{}</small>", escape::text(&share.provider));
            }
            push_row(page, &name, share.answers, &share.usage);
        }
        if self.models.len() > 1 {
            let answers = self.models.iter().map(|share| share.answers).sum();
            page.push_str("</tbody><tbody class=\"sum\">\n");
            push_row(page, "Together", answers, &self.usage);
        }
        page.push_str("</tbody></table></div>\n");
    }
}

fn push_row(page: &mut String, name: &str, answers: usize, usage: &Usage) {
    let _ = write!(page, "<tr><td>{name}</td>");
    let numbers = [
        answers.to_string(),
        format::tokens(usage.input),
        format::tokens(usage.cache_read),
        format::tokens(usage.cache_write),
        format::tokens(usage.output),
        format::dollars(usage.cost.total),
    ];
    for number in numbers {
        let _ = write!(page, "<td class=\"right\">{number}</td>");
    }
    page.push_str("</tr>\n");
}

fn tokens(usage: &Usage) -> u64 {
    let parts = [usage.input, usage.output, usage.cache_read, usage.cache_write];
    parts.iter().fold(0_u64, |sum, part| sum.saturating_add(*part)).max(usage.total_tokens)
}
