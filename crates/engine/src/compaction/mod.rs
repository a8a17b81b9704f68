//! Compaction: which messages a summary replaces, and asking the model for the summary.

mod plan;
mod prompts;
mod summary;

pub(crate) use plan::{Nothing, Plan};
pub(crate) use summary::{Subject, Summarizer, Summary, SummaryStep};
