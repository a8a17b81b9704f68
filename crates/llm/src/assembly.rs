//! Assembles the events of a stream into the assistant's message, and returns what each event means to a client.

use std::sync::Arc;

use bowline_core::event::Failure;
use bowline_core::message::{
    AssistantContent, AssistantMessage, StopReason, TextBlock, ThinkingBlock, ToolCall,
};
use bowline_core::stream::{BlockKind, TokenCounts, Update};
use bowline_core::{Model, StreamEvent, ThinkingLevel, Usage};

use crate::arguments::{self, TooComplex};
use crate::limits::{NOTE_TEXT, shorten};

/// An assistant message under construction.
#[derive(Debug, Clone)]
pub struct Assembly {
    model: Arc<Model>,
    message: AssistantMessage,
    /// The argument text of each tool call that is still being streamed; parallel to the content.
    arguments: Vec<Option<String>>,
    /// The places of the tool calls whose arguments are too complex, and why.
    refused: Vec<(usize, TooComplex)>,
    done: bool,
}

impl Assembly {
    /// Returns an empty message from `model`.
    pub fn new(model: Arc<Model>, timestamp: u64) -> Self {
        let message = AssistantMessage {
            content: Vec::new(),
            api: model.api.clone(),
            provider: model.provider.clone(),
            model: model.id.clone(),
            thinking_level: None,
            usage: Usage::default(),
            stop_reason: StopReason::Pending,
            timestamp,
            response_id: None,
            raw_stop_reason: None,
            error_message: None,
            error_kind: None,
            duration: None,
            time_to_first_piece: None,
            completed_at: None,
        };
        Self { model, message, arguments: Vec::new(), refused: Vec::new(), done: false }
    }

    /// Has the message say the thinking level of the request.
    pub fn set_thinking_level(&mut self, level: ThinkingLevel) {
        self.message.thinking_level = Some(level);
    }

    /// Applies one event. Takes time proportional to the event, not to the message. Events of a block that was never
    /// started are ignored.
    pub fn apply(&mut self, event: StreamEvent) -> Option<Update> {
        match event {
            StreamEvent::Started { response_id } => {
                self.message.response_id = response_id.filter(|id| id.len() <= NOTE_TEXT);
                None
            }
            StreamEvent::BlockStart { index, kind } => self.start(index, kind),
            StreamEvent::Delta { index, text } => self.extend(index, text),
            StreamEvent::BlockEnd { index, signature } => self.end(index, signature),
            StreamEvent::Tokens(counts) => {
                self.count(counts);
                None
            }
            StreamEvent::Done { reason, raw_reason } => {
                self.message.stop_reason = reason;
                self.message.raw_stop_reason = raw_reason.map(|reason| shorten(&reason, NOTE_TEXT));
                self.done = true;
                None
            }
        }
    }

    /// Returns a copy of the message so far; its stop reason is `Pending` until the answer is complete.
    pub fn message(&self) -> AssistantMessage {
        let mut message = self.message.clone();
        settle_arguments(&mut message, &self.arguments);
        message
    }

    /// Returns the usage so far, with its cost.
    pub fn usage(&self) -> &Usage {
        &self.message.usage
    }

    /// Returns the block at this place.
    pub fn block(&self, index: usize) -> Option<&AssistantContent> {
        self.message.content.get(index)
    }

    /// Returns for each tool call why it is not carried out, if its arguments are too complex.
    pub fn refused_calls(&self) -> Vec<Option<String>> {
        let calls = self.message.content.iter().enumerate();
        let calls = calls.filter(|(_, block)| matches!(block, AssistantContent::ToolCall(_)));
        let refusal = |index| self.refused.iter().find(|(refused, _)| *refused == index);
        calls.map(|(index, _)| refusal(index).map(|(_, excess)| excess.told())).collect()
    }

    /// Returns whether the answer is complete.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Returns the finished message.
    pub fn finish(mut self) -> AssistantMessage {
        settle_arguments(&mut self.message, &self.arguments);
        self.message
    }

    /// Returns the message so far as an interrupted one. Tool calls that were still being streamed keep the part of
    /// their arguments that can be parsed.
    pub fn fail(mut self, reason: StopReason, failure: Failure) -> AssistantMessage {
        self.message.stop_reason = reason;
        self.message.error_message = Some(failure.text);
        self.message.error_kind = Some(failure.kind);
        self.finish()
    }

    fn start(&mut self, index: usize, kind: BlockKind) -> Option<Update> {
        if index != self.message.content.len() {
            return None;
        }
        let content_index = index;
        let (block, arguments, update) = match kind {
            BlockKind::Text => {
                (AssistantContent::Text(TextBlock::default()), None, Update::TextStart { content_index })
            }
            BlockKind::Thinking => {
                let block = AssistantContent::Thinking(ThinkingBlock::default());
                (block, None, Update::ThinkingStart { content_index })
            }
            BlockKind::RedactedThinking => {
                let block = ThinkingBlock { redacted: Some(true), ..ThinkingBlock::default() };
                (AssistantContent::Thinking(block), None, Update::ThinkingStart { content_index })
            }
            BlockKind::ToolCall { id, name } => {
                let call = ToolCall { id: id.clone(), name: name.clone(), ..ToolCall::default() };
                let update = Update::ToolCallStart { content_index, id, name };
                (AssistantContent::ToolCall(call), Some(String::new()), update)
            }
        };
        self.message.content.push(block);
        self.arguments.push(arguments);
        Some(update)
    }

    fn extend(&mut self, index: usize, delta: String) -> Option<Update> {
        let content_index = index;
        match self.message.content.get_mut(index)? {
            AssistantContent::Text(block) => {
                block.text.push_str(&delta);
                Some(Update::TextDelta { content_index, delta })
            }
            AssistantContent::Thinking(block) => {
                block.thinking.push_str(&delta);
                Some(Update::ThinkingDelta { content_index, delta })
            }
            AssistantContent::ToolCall(_) => {
                self.arguments.get_mut(index)?.as_mut()?.push_str(&delta);
                Some(Update::ToolCallDelta { content_index, delta })
            }
        }
    }

    fn end(&mut self, index: usize, signature: Option<String>) -> Option<Update> {
        let content_index = index;
        match self.message.content.get_mut(index)? {
            AssistantContent::Text(block) => {
                block.text_signature = signature;
                Some(Update::TextEnd { content_index, content: block.text.clone() })
            }
            AssistantContent::Thinking(block) => {
                block.thinking_signature = signature;
                Some(Update::ThinkingEnd { content_index, content: block.thinking.clone() })
            }
            AssistantContent::ToolCall(call) => {
                let text = self.arguments.get_mut(index)?.take()?;
                match arguments::read(&text) {
                    Ok(arguments) => call.arguments = arguments,
                    Err(excess) => self.refused.push((index, excess)),
                }
                call.thought_signature = signature;
                Some(Update::ToolCallEnd { content_index, call: call.clone() })
            }
        }
    }

    fn count(&mut self, counts: TokenCounts) {
        let TokenCounts { input, output, cache_read, cache_write, reasoning } = counts;
        let total_tokens =
            input.saturating_add(output).saturating_add(cache_read).saturating_add(cache_write);
        let usage = &mut self.message.usage;
        *usage =
            Usage { input, output, cache_read, cache_write, total_tokens, reasoning, ..Usage::default() };
        self.model.price(usage);
    }
}

/// Fills in the arguments of tool calls that have not ended.
fn settle_arguments(message: &mut AssistantMessage, open: &[Option<String>]) {
    for (block, text) in message.content.iter_mut().zip(open) {
        if let (AssistantContent::ToolCall(call), Some(text)) = (block, text) {
            call.arguments = arguments::read_partial(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_core::ErrorKind;
    use bowline_core::message::Arguments;
    use bowline_core::model::Price;

    fn model() -> Arc<Model> {
        Arc::new(Model {
            id: "m".into(),
            name: "m".into(),
            api: "a".into(),
            provider: "p".into(),
            base_url: String::new(),
            reasoning: false,
            input: Vec::new(),
            cost: Price { input: 2.0, ..Price::default() },
            context_window: 1000,
            max_tokens: 100,
            thinking_level_map: None,
            compat: None,
        })
    }

    fn start_call(assembly: &mut Assembly, index: usize) {
        let kind = BlockKind::ToolCall { id: "c".into(), name: "write".into() };
        assembly.apply(StreamEvent::BlockStart { index, kind });
    }

    fn delta(index: usize, text: &str) -> StreamEvent {
        StreamEvent::Delta { index, text: text.into() }
    }

    #[test]
    fn message_is_assembled_block_by_block() {
        let mut assembly = Assembly::new(model(), 7);
        assert_eq!(assembly.apply(StreamEvent::Started { response_id: Some("r".into()) }), None);
        let start = StreamEvent::BlockStart { index: 0, kind: BlockKind::Thinking };
        assert_eq!(assembly.apply(start), Some(Update::ThinkingStart { content_index: 0 }));
        assembly.apply(delta(0, "h"));
        assembly.apply(delta(0, "m"));
        let end = assembly.apply(StreamEvent::BlockEnd { index: 0, signature: Some("s".into()) });
        assert_eq!(end, Some(Update::ThinkingEnd { content_index: 0, content: "hm".into() }));
        start_call(&mut assembly, 1);
        assembly.apply(delta(1, r#"{"path":"#));
        assert_eq!(assembly.message().tool_calls().next().unwrap().arguments, Arguments::new());
        assembly.apply(delta(1, r#""a"}"#));
        let Some(Update::ToolCallEnd { call, .. }) =
            assembly.apply(StreamEvent::BlockEnd { index: 1, signature: None })
        else {
            panic!("no end of the call");
        };
        assert_eq!(call.arguments["path"], "a");
        let counts = TokenCounts { input: 500_000, output: 3, ..TokenCounts::default() };
        assembly.apply(StreamEvent::Tokens(counts));
        assert_eq!(assembly.message().stop_reason, StopReason::Pending);
        assembly.apply(StreamEvent::Done { reason: StopReason::ToolUse, raw_reason: None });
        assert!(assembly.is_done());
        let message = assembly.finish();
        assert_eq!(message.usage.total_tokens, 500_003);
        assert_eq!(message.usage.cost.total, 1.0);
        assert_eq!(message.response_id.as_deref(), Some("r"));
        assert_eq!(message.stop_reason, StopReason::ToolUse);
    }

    #[test]
    fn invalid_arguments_become_an_empty_object() {
        for text in ["", "nonsense", "[1]", r#"{"a":"#] {
            let mut assembly = Assembly::new(model(), 7);
            start_call(&mut assembly, 0);
            assembly.apply(delta(0, text));
            assembly.apply(StreamEvent::BlockEnd { index: 0, signature: None });
            assert_eq!(assembly.finish().tool_calls().next().unwrap().arguments, Arguments::new());
        }
    }

    #[test]
    fn failed_message_keeps_what_arrived() {
        let mut assembly = Assembly::new(model(), 7);
        assembly.apply(StreamEvent::BlockStart { index: 0, kind: BlockKind::Text });
        assembly.apply(delta(0, "I wi"));
        start_call(&mut assembly, 1);
        assembly.apply(delta(1, r#"{"path":"a","content":"one\ntw"#));
        let message =
            assembly.fail(StopReason::Aborted, Failure::new(ErrorKind::Aborted, "Request was aborted"));
        assert_eq!(message.text(), "I wi");
        let call = message.tool_calls().next().unwrap();
        assert_eq!(call.arguments["path"], "a");
        assert_eq!(call.arguments["content"], "one\ntw");
        assert_eq!(message.stop_reason, StopReason::Aborted);
        assert_eq!(message.error_message.as_deref(), Some("Request was aborted"));
        assert_eq!(message.error_kind, Some(ErrorKind::Aborted));
    }

    #[test]
    fn token_counts_do_not_wrap() {
        let mut assembly = Assembly::new(model(), 7);
        let counts = TokenCounts {
            input: u64::MAX,
            output: u64::MAX,
            cache_read: 1,
            cache_write: u64::MAX,
            reasoning: Some(u64::MAX),
        };
        assembly.apply(StreamEvent::Tokens(counts));
        assert_eq!(assembly.usage().total_tokens, u64::MAX);
        let mut sum = *assembly.usage();
        sum.add(assembly.usage());
        assert_eq!((sum.input, sum.total_tokens, sum.reasoning), (u64::MAX, u64::MAX, Some(u64::MAX)));
    }

    #[test]
    fn too_complex_arguments_refuse_only_their_call() {
        let mut assembly = Assembly::new(model(), 7);
        start_call(&mut assembly, 0);
        assembly.apply(delta(0, &format!(r#"{{"a":{}{}}}"#, "[".repeat(120), "]".repeat(120))));
        assembly.apply(StreamEvent::BlockEnd { index: 0, signature: None });
        start_call(&mut assembly, 1);
        assembly.apply(delta(1, r#"{"path":"a"}"#));
        assembly.apply(StreamEvent::BlockEnd { index: 1, signature: None });
        let refused = assembly.refused_calls();
        assert!(refused[0].as_ref().unwrap().contains("100 levels"));
        assert_eq!(refused[1..], [None]);
        assert_eq!(assembly.finish().tool_calls().next().unwrap().arguments, Arguments::new());
    }
}
