//! Message counts and usage over all entries of a session, including abandoned branches and compacted messages.

use std::collections::HashMap;

use bowline_core::{ErrorKind, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::Error;
use crate::decode::Text;
use crate::entry::Kind;
use crate::storage::Storage;
use crate::tree::{Node, Position, Tree};

/// The message counts and the usage of a session.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Statistics {
    pub user_messages: u64,
    pub assistant_messages: u64,
    /// Those of them that say that a limit was reached, and that no model wrote.
    pub limit_stops: u64,
    pub tool_calls: u64,
    pub tool_results: u64,
    /// Messages of every role.
    pub total_messages: u64,
    /// The sum over answers, tools, subagents, compactions and branch summaries.
    pub usage: Usage,
}

/// The answers and the usage of one model in a session.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelStatistics {
    /// Empty, like `model`, for usage from before a model was chosen.
    pub provider: String,
    pub model: String,
    pub assistant_messages: u64,
    /// The usage of its answers, and of the summaries and tools on its branches, which name no model.
    pub usage: Usage,
}

/// All counts of a session.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) total: Statistics,
    pub(crate) by_model: Vec<ModelStatistics>,
    models: HashMap<ModelName, ModelNumber>,
    /// Each model by number, with its place in `by_model`; models that were chosen but not used have none.
    places: Vec<(ModelName, Option<usize>)>,
    /// The model in use after each entry, on the branch of that entry.
    in_use: Vec<Option<ModelNumber>>,
}

type ModelNumber = usize;

/// A provider and a model of it.
type ModelName = (String, String);

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, default)]
    message: Option<Counted<'a>>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    provider: Option<&'a RawValue>,
    #[serde(borrow, default)]
    model: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "modelId")]
    model_id: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Counted<'a> {
    #[serde(borrow)]
    role: Text<'a>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    provider: Option<&'a RawValue>,
    #[serde(borrow, default)]
    model: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "toolName")]
    tool_name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    details: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "errorKind")]
    error_kind: Option<&'a RawValue>,
}

/// The details of a tool that called models itself.
#[derive(Deserialize)]
struct Details<'a> {
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
}

impl Counts {
    /// Counts the entries that were not counted yet.
    pub(crate) fn catch_up(&mut self, tree: &Tree, storage: &Storage) -> Result<(), Error> {
        if self.entries() == 0 {
            let mut counts = Self { in_use: vec![None; tree.nodes().len()], ..Self::default() };
            for position in tree.parents_first() {
                let node = tree.node(position);
                counts.count(&storage.read(node)?, position, node);
            }
            *self = counts;
        }
        // What was appended follows its parent.
        while let Some(node) = tree.nodes().get(self.entries()) {
            let Ok(position) = Position::try_from(self.entries()) else { break };
            self.count(&storage.read(node)?, position, node);
        }
        Ok(())
    }

    /// Returns the number of entries that were counted.
    pub(crate) fn entries(&self) -> usize {
        self.in_use.len()
    }

    /// Counts the last entry of the tree, if it is the next one to be counted.
    pub(crate) fn count_next(&mut self, line: &[u8], tree: &Tree) {
        let next = self.entries();
        if next + 1 == tree.nodes().len()
            && let Ok(position) = Position::try_from(next)
        {
            self.count(line, position, tree.node(position));
        }
    }

    /// Counts an entry, whose parent must have been counted. Content of an unknown form does not count.
    fn count(&mut self, line: &[u8], position: Position, node: &Node) {
        let position = position as usize;
        let inherited = node.parent.and_then(|parent| self.in_use.get(parent as usize).copied().flatten());
        if self.in_use.len() <= position {
            self.in_use.resize(position + 1, None);
        }
        self.in_use[position] = inherited;
        let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else { return };
        let usage = self.total.count(&line);
        let is_answer = line.message.as_ref().is_some_and(|message| message.role.0 == "assistant");
        let named = match &line.message {
            Some(message) => name(message.provider, message.model),
            None => name(line.provider, line.model),
        };
        let named = named.map(|name| self.number(name));
        if node.kind == Kind::ModelChange {
            let chosen = name(line.provider, line.model_id).map(|name| self.number(name));
            self.in_use[position] = chosen.or(inherited);
        } else if is_answer {
            self.in_use[position] = named.or(inherited);
        }
        if is_answer || usage.is_some() {
            let number = named.or(inherited).unwrap_or_else(|| self.number(ModelName::default()));
            let counts = self.model_mut(number);
            counts.assistant_messages += u64::from(is_answer);
            counts.usage.add(&usage.unwrap_or_default());
        }
    }

    fn number(&mut self, name: ModelName) -> ModelNumber {
        if let Some(number) = self.models.get(&name) {
            return *number;
        }
        self.models.insert(name.clone(), self.places.len());
        self.places.push((name, None));
        self.places.len() - 1
    }

    fn model_mut(&mut self, number: ModelNumber) -> &mut ModelStatistics {
        let (name, place) = &mut self.places[number];
        let place = *place.get_or_insert_with(|| {
            let (provider, model) = name.clone();
            self.by_model.push(ModelStatistics { provider, model, ..ModelStatistics::default() });
            self.by_model.len() - 1
        });
        &mut self.by_model[place]
    }
}

/// Tells whether a message says that a limit was reached. It has no content: what a model wrote before has its own.
fn is_limit_stop(message: &Counted<'_>) -> bool {
    let kind = message.error_kind.and_then(|kind| serde_json::from_str::<ErrorKind>(kind.get()).ok());
    let is_empty = message.content.is_none_or(|content| content.get() == "[]");
    is_empty && kind.is_some_and(ErrorKind::is_of_limit)
}

fn name(provider: Option<&RawValue>, model: Option<&RawValue>) -> Option<ModelName> {
    let text = |value: &RawValue| serde_json::from_str::<String>(value.get()).ok();
    let model = model.and_then(text).filter(|model| !model.is_empty())?;
    Some((provider.and_then(text).unwrap_or_default(), model))
}

/// Returns a usage with limits that keep any sum of them from overflowing.
fn read_usage(usage: Option<&RawValue>) -> Option<Usage> {
    const MOST: u64 = 1 << 40;
    let mut usage: Usage = serde_json::from_str(usage?.get()).ok()?;
    let counts = [
        &mut usage.input,
        &mut usage.output,
        &mut usage.cache_read,
        &mut usage.cache_write,
        &mut usage.total_tokens,
    ];
    for count in counts.into_iter().chain(usage.reasoning.as_mut()) {
        *count = (*count).min(MOST);
    }
    Some(usage)
}

impl Statistics {
    /// Counts an entry and returns its usage.
    fn count(&mut self, line: &Line<'_>) -> Option<Usage> {
        let usage = match &line.message {
            Some(message) => self.count_message(message),
            None => read_usage(line.usage),
        }?;
        self.usage.add(&usage);
        Some(usage)
    }

    fn count_message(&mut self, message: &Counted<'_>) -> Option<Usage> {
        match message.role.0.as_ref() {
            "user" => self.user_messages += 1,
            "assistant" => {
                self.assistant_messages += 1;
                self.limit_stops += u64::from(is_limit_stop(message));
                self.tool_calls += count_tool_calls(message.content);
            }
            "toolResult" => self.tool_results += 1,
            // Newer programs store the system prompt as a message.
            "system" => return None,
            _ => {}
        }
        self.total_messages += 1;
        read_usage(message.usage).or_else(|| subagent_usage(message))
    }
}

/// Returns what the subagents used whose results a message holds. As in omp, it is in the details of the tool `task`.
fn subagent_usage(message: &Counted<'_>) -> Option<Usage> {
    if message.role.0 != "toolResult" || message.tool_name.map(RawValue::get) != Some(r#""task""#) {
        return None;
    }
    let details: Details<'_> = serde_json::from_str(message.details?.get()).ok()?;
    read_usage(details.usage)
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
    fn every_kind_of_entry_is_counted() {
        let mut statistics = Statistics::default();
        for line in [
            r#"{"type":"message","message":{"role":"system","content":"","sections":{}}}"#,
            r#"{"type":"message","message":{"role":"user","content":"plain"}}"#,
            r#"{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":""},{"type":"toolCall"},{"type":"toolCall"}],"usage":{"input":1,"totalTokens":1,"cost":{"total":0.5}}}}"#,
            r#"{"type":"message","message":{"role":"toolResult","content":[],"usage":{"output":2}}}"#,
            r#"{"type":"message","message":{"role":"toolResult","toolName":"task","content":[],"details":{"usage":{"output":20,"cost":{"total":0.125}}}}}"#,
            r#"{"type":"message","message":{"role":"toolResult","toolName":"mine","content":[],"details":{"usage":{"output":200}}}}"#,
            r#"{"type":"message","message":{"role":"bashExecution","command":"ls"}}"#,
            r#"{"type":"compaction","summary":"s","usage":{"input":10,"cost":{"total":0.25}}}"#,
            r#"{"type":"usage","kind":"cache_warm","usage":{"cacheWrite":7}}"#,
            r#"{"type":"from_the_future","message":3}"#,
        ] {
            if let Ok(line) = serde_json::from_str(line) {
                statistics.count(&line);
            }
        }
        let Statistics {
            user_messages,
            assistant_messages,
            tool_calls,
            tool_results,
            total_messages,
            usage,
            ..
        } = statistics;
        assert_eq!(
            (user_messages, assistant_messages, tool_calls, tool_results, total_messages),
            (1, 1, 2, 3, 6)
        );
        assert_eq!((usage.input, usage.output, usage.cache_write, usage.cost.total), (11, 22, 7, 0.875));
    }

    #[test]
    fn what_says_that_a_limit_was_reached_is_told_apart() {
        let mut statistics = Statistics::default();
        for (content, kind) in [
            ("[]", "too_many_turns"),
            ("[]", "budget"),
            ("[]", "overloaded"),
            (r#"[{"type":"text"}]"#, "budget"),
        ] {
            let line = format!(
                r#"{{"type":"message","message":{{"role":"assistant","content":{content},"errorKind":"{kind}"}}}}"#
            );
            statistics.count(&serde_json::from_str(&line).unwrap());
        }
        assert_eq!((statistics.assistant_messages, statistics.limit_stops), (4, 2));
    }

    #[test]
    fn usage_without_a_model_belongs_to_the_model_in_use_on_its_branch() {
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

    #[test]
    fn malformed_and_enormous_usage_is_tolerated() {
        let answer = |id: u32, usage: &str| {
            format!(
                r#"{{"type":"message","id":"{id}","parentId":null,"message":{{"role":"assistant","content":[],"usage":{usage}}}}}"#
            )
        };
        let most = r#"{"input":18446744073709551615,"reasoning":18446744073709551615}"#;
        let lines = [answer(1, "7"), answer(2, most), answer(3, most)];
        let [first, second, third] = lines.each_ref().map(String::as_str);
        let session =
            Written::new(&[r#"{"type":"session","version":3,"id":"s"}"#, first, second, third]).open();
        let statistics = session.statistics().unwrap();
        assert_eq!((statistics.assistant_messages, statistics.usage.input), (3, 1 << 41));
    }
}
