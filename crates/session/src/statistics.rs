//! Counts over all entries of a session, those of abandoned branches and before compactions included.

use bowline_core::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::decode::Text;

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

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, default)]
    message: Option<Counted<'a>>,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Counted<'a> {
    #[serde(borrow)]
    role: Text<'a>,
    #[serde(default)]
    usage: Option<Usage>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
}

impl Statistics {
    /// Counts an entry by its line. Whatever the line has that we do not know counts as nothing.
    pub(crate) fn count(&mut self, line: &[u8]) {
        let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else { return };
        if let Some(usage) = &line.usage {
            self.usage.add(usage);
        }
        if let Some(message) = &line.message {
            self.count_message(message);
        }
    }

    fn count_message(&mut self, message: &Counted<'_>) {
        match message.role.0.as_ref() {
            "user" => self.user_messages += 1,
            "assistant" => {
                self.assistant_messages += 1;
                self.tool_calls += count_tool_calls(message.content);
            }
            "toolResult" => self.tool_results += 1,
            // The prompt that newer programs store is not something that was said.
            "system" => return,
            _ => {}
        }
        self.total_messages += 1;
        if let Some(usage) = &message.usage {
            self.usage.add(usage);
        }
    }
}

fn count_tool_calls(content: Option<&RawValue>) -> u64 {
    let blocks = content.and_then(|content| serde_json::from_str::<Vec<Block<'_>>>(content.get()).ok());
    blocks.unwrap_or_default().iter().filter(|block| block.kind.0 == "toolCall").count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

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
            statistics.count(line.as_bytes());
        }
        let Statistics { user_messages, assistant_messages, tool_calls, tool_results, total_messages, usage } =
            statistics;
        assert_eq!(
            (user_messages, assistant_messages, tool_calls, tool_results, total_messages),
            (1, 1, 2, 1, 4)
        );
        assert_eq!((usage.input, usage.output, usage.cache_write, usage.cost.total), (11, 2, 7, 0.75));
    }
}
