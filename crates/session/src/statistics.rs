//! Counts over all entries of a session, those of abandoned branches and before compactions included.

use bowline_core::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::Error;
use crate::decode::{self, Text};
use crate::session::Storage;
use crate::tree::{Position, Tree};

/// How much was said in a session, and what it cost.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Statistics {
    pub user_messages: u64,
    pub assistant_messages: u64,
    pub tool_calls: u64,
    pub tool_results: u64,
    /// Messages of every role.
    pub total_messages: u64,
    /// Of answers, tools, compactions and branch summaries together.
    pub usage: Usage,
}

/// What one model has said in a session, and what it cost.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelStatistics {
    /// Empty, as is the model, for what was used before any model was chosen.
    pub provider: String,
    pub model: String,
    pub assistant_messages: u64,
    /// Of its answers and, as those do not say who wrote them, of the summaries and tools on its branch.
    pub usage: Usage,
}

/// Everything that is counted.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) total: Statistics,
    pub(crate) by_model: Vec<ModelStatistics>,
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, default)]
    message: Option<Counted<'a>>,
    #[serde(default)]
    usage: Option<Usage>,
    #[serde(borrow, default)]
    provider: Option<&'a RawValue>,
    #[serde(borrow, default)]
    model: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Counted<'a> {
    #[serde(borrow)]
    role: Text<'a>,
    #[serde(default)]
    usage: Option<Usage>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    provider: Option<&'a RawValue>,
    #[serde(borrow, default)]
    model: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
}

impl Counts {
    /// Counts all entries.
    pub(crate) fn of(tree: &Tree, storage: &Storage) -> Result<Self, Error> {
        let mut counts = Self::default();
        for node in tree.nodes() {
            counts.count(&storage.read(node)?, node.parent, tree, storage);
        }
        Ok(counts)
    }

    /// Counts an entry by its line. Whatever the line has that we do not know counts as nothing.
    pub(crate) fn count(&mut self, line: &[u8], parent: Option<Position>, tree: &Tree, storage: &Storage) {
        let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else { return };
        let usage = self.total.count(&line);
        let is_answer = line.message.as_ref().is_some_and(|message| message.role.0 == "assistant");
        if !is_answer && usage.is_none() {
            return;
        }
        let named = match &line.message {
            Some(message) => name(message.provider, message.model),
            None => name(line.provider, line.model),
        };
        let (provider, model) = named.or_else(|| model_in_use(parent, tree, storage)).unwrap_or_default();
        let counts = self.of_model(provider, model);
        counts.assistant_messages += u64::from(is_answer);
        counts.usage.add(&usage.unwrap_or_default());
    }

    fn of_model(&mut self, provider: String, model: String) -> &mut ModelStatistics {
        let known = self.by_model.iter().position(|known| known.provider == provider && known.model == model);
        let number = known.unwrap_or(self.by_model.len());
        if known.is_none() {
            self.by_model.push(ModelStatistics { provider, model, ..ModelStatistics::default() });
        }
        &mut self.by_model[number]
    }
}

fn name(provider: Option<&RawValue>, model: Option<&RawValue>) -> Option<(String, String)> {
    let text = |value: &RawValue| serde_json::from_str::<String>(value.get()).ok();
    let model = model.and_then(text).filter(|model| !model.is_empty())?;
    Some((provider.and_then(text).unwrap_or_default(), model))
}

/// Returns the model that was in use at an entry.
fn model_in_use(at: Option<Position>, tree: &Tree, storage: &Storage) -> Option<(String, String)> {
    tree.upwards(at).find_map(|position| {
        let node = tree.node(position);
        decode::model(node.kind, &storage.read(node).ok()?)
    })
}

impl Statistics {
    /// Counts an entry and returns what it used.
    fn count(&mut self, line: &Line<'_>) -> Option<Usage> {
        let usage = match &line.message {
            Some(message) => self.count_message(message),
            None => line.usage,
        }?;
        self.usage.add(&usage);
        Some(usage)
    }

    fn count_message(&mut self, message: &Counted<'_>) -> Option<Usage> {
        match message.role.0.as_ref() {
            "user" => self.user_messages += 1,
            "assistant" => {
                self.assistant_messages += 1;
                self.tool_calls += count_tool_calls(message.content);
            }
            "toolResult" => self.tool_results += 1,
            // The prompt that newer programs store is not something that was said.
            "system" => return None,
            _ => {}
        }
        self.total_messages += 1;
        message.usage
    }
}

fn count_tool_calls(content: Option<&RawValue>) -> u64 {
    let blocks = content.and_then(|content| serde_json::from_str::<Vec<Block<'_>>>(content.get()).ok());
    blocks.unwrap_or_default().iter().filter(|block| block.kind.0 == "toolCall").count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Written;
    use crate::{EntryBody, Session};

    #[test]
    fn every_kind_of_entry_counts_for_what_it_is() {
        let mut statistics = Statistics::default();
        for line in [
            r#"{"type":"message","message":{"role":"system","content":"","sections":{}}}"#,
            r#"{"type":"message","message":{"role":"user","content":"plain"}}"#,
            r#"{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":""},{"type":"toolCall"},{"type":"toolCall"}],"usage":{"input":1,"totalTokens":1,"cost":{"total":0.5}}}}"#,
            r#"{"type":"message","message":{"role":"toolResult","content":[],"usage":{"output":2}}}"#,
            r#"{"type":"message","message":{"role":"bashExecution","command":"ls"}}"#,
            r#"{"type":"compaction","summary":"s","usage":{"input":10,"cost":{"total":0.25}}}"#,
            r#"{"type":"usage","kind":"cache_warm","usage":{"cacheWrite":7}}"#,
            r#"{"type":"from_the_future","message":3}"#,
        ] {
            if let Ok(line) = serde_json::from_str(line) {
                statistics.count(&line);
            }
        }
        let Statistics { user_messages, assistant_messages, tool_calls, tool_results, total_messages, usage } =
            statistics;
        assert_eq!(
            (user_messages, assistant_messages, tool_calls, tool_results, total_messages),
            (1, 1, 2, 1, 4)
        );
        assert_eq!((usage.input, usage.output, usage.cache_write, usage.cost.total), (11, 2, 7, 0.75));
    }

    #[test]
    fn what_was_used_belongs_to_the_model_that_was_in_use_on_that_branch() {
        let answer = |id: u32, parent: u32, model: &str, input: u32| {
            format!(
                r#"{{"type":"message","id":"{id}","parentId":"{parent}","message":{{"role":"assistant","content":[],"provider":"p","model":"{model}","usage":{{"input":{input}}},"timestamp":1}}}}"#
            )
        };
        let written = Written::new(&[
            r#"{"type":"session","version":3,"id":"s"}"#,
            r#"{"type":"compaction","id":"1","parentId":null,"summary":"s","usage":{"input":1}}"#,
            &answer(2, 1, "a", 10),
            &answer(3, 2, "b", 100),
            r#"{"type":"branch_summary","id":"4","parentId":"2","fromId":"3","summary":"s","usage":{"input":1000}}"#,
            r#"{"type":"usage","id":"5","parentId":"4","provider":"p","model":"c","usage":{"input":10000}}"#,
            r#"{"type":"message","id":"6","parentId":"3","message":{"role":"toolResult","content":[],"usage":{"input":100000}}}"#,
            r#"{"type":"model_change","id":"7","parentId":"6","provider":"p","modelId":"c"}"#,
        ]);
        let mut session = written.open();
        let check = |session: &Session, of_c: u64| {
            let by_model = session.statistics_by_model().unwrap();
            let figures: Vec<_> = by_model
                .iter()
                .map(|model| (model.model.as_str(), model.assistant_messages, model.usage.input))
                .collect();
            assert_eq!(figures, [("", 0, 1), ("a", 1, 1010), ("b", 1, 100_100), ("c", 0, of_c)]);
            let sum: u64 = by_model.iter().map(|model| model.usage.input).sum();
            assert_eq!(sum, session.statistics().unwrap().usage.input);
        };
        check(&session, 10_000);
        let usage = Some(Usage { input: 5, ..Usage::default() });
        let (summary, details, from_hook) = (String::new(), None, false);
        session.append(EntryBody::BranchSummary { from: None, summary, details, usage, from_hook }).unwrap();
        check(&session, 10_005);
    }
}
