//! The totals of a session, over all of its branches, in the header of the page.

use std::fmt::Write as _;

use bowline_core::Usage;
use bowline_session::{Error, ModelStatistics, Session, Statistics};

use crate::escape;
use crate::format;

/// The statistics of a session, ready to be rendered.
#[derive(Debug)]
pub(crate) struct Totals {
    pub statistics: Statistics,
    by_model: Vec<ModelStatistics>,
}

impl Totals {
    /// Returns the totals of a session.
    pub fn new(session: &Session) -> Result<Self, Error> {
        Ok(Self { statistics: session.statistics()?, by_model: session.statistics_by_model()? })
    }

    /// Returns the number of tokens of all kinds.
    pub fn tokens(&self) -> u64 {
        let usage = &self.statistics.usage;
        let parts = [usage.input, usage.output, usage.cache_read, usage.cache_write];
        parts.iter().fold(0_u64, |sum, part| sum.saturating_add(*part)).max(usage.total_tokens)
    }

    /// Appends a table with a row for each model.
    pub fn push_table(&self, page: &mut String) {
        if self.by_model.is_empty() {
            return;
        }
        page.push_str(
            "<div class=\"table\"><table class=\"totals\">\n<thead><tr><th>Model</th><th class=\"right\">Answers</th>\
             <th class=\"right\">In</th><th class=\"right\">From cache</th><th class=\"right\">To cache</th>\
             <th class=\"right\">Out</th><th class=\"right\">Cost</th></tr></thead>\n<tbody>\n",
        );
        for model in &self.by_model {
            let mut name = match model.model.as_str() {
                "" => "unknown".to_owned(),
                name => escape::text(name),
            };
            if !model.provider.is_empty() {
                let _ = write!(name, " <small>{}</small>", escape::text(&model.provider));
            }
            push_row(page, &name, model.assistant_messages, &model.usage);
        }
        if self.by_model.len() > 1 {
            page.push_str("</tbody><tbody class=\"sum\">\n");
            push_row(page, "Together", self.statistics.assistant_messages, &self.statistics.usage);
        }
        page.push_str("</tbody></table></div>\n");
    }
}

fn push_row(page: &mut String, name: &str, answers: u64, usage: &Usage) {
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
