//! What happens when an answer breaks a stream rule: it is interrupted and asked for again with the rule, or the model is
//! told of the rule afterwards.

use std::sync::Arc;

use bowline_core::ErrorKind;
use bowline_core::event::{Event, Failure};
use bowline_core::message::{AssistantContent, Content, CustomMessage, Message, StopReason};
use bowline_core::stream_rule::{InterruptedAnswer, StreamRule};
use bowline_extension::stream_rules::{self, Loaded, Places};
use serde_json::json;

use super::Session;
use crate::input::Step;
use crate::pending::Reporter;
use crate::rule_watch::BlockKind;
use crate::run::{AfterAttempt, Answering, Run, TurnEnd};
use crate::session_notes::rules_entry;

/// The type of the messages that tell the model of a rule.
const INJECTION: &str = "ttsr-injection";

/// How much of an interrupted answer the model sees again, in bytes.
const LONGEST_QUOTE: usize = 16 * 1024;

/// Rules that are to be read before the model is called.
#[derive(Debug)]
pub(super) struct UnreadRules {
    places: Places,
    warn: fn(&str),
}

impl UnreadRules {
    /// Reads the rules on a thread that may block, and tells the session.
    pub async fn read(self, reporter: &Reporter) {
        let Self { places, warn } = self;
        let directory = places.working.clone();
        // The process is ending if the thread is gone; a panic costs the rules, not the answer.
        let loaded =
            tokio::task::spawn_blocking(move || stream_rules::load(&places)).await.unwrap_or_default();
        loaded.warnings.iter().for_each(|warning| warn(warning));
        reporter.send(Step::StreamRules { directory, loaded: Box::new(loaded) }).await;
    }
}

impl Session {
    /// Prepares to watch the next answer. Returns the rules that have to be read first, if any.
    pub(super) fn watch_next_answer(&mut self) -> Option<UnreadRules> {
        self.rules.start_answer();
        let settings = &self.agent.settings().stream_rules;
        let working = self.transcript.working_directory();
        if !settings.enabled || self.rules.knows(working) {
            return None;
        }
        let places = Places {
            own: settings.own_folder.clone(),
            working: working.to_owned(),
            disabled: settings.disabled.clone(),
            agent: settings.agent.clone(),
        };
        Some(UnreadRules { places, warn: settings.warn })
    }

    /// Takes the rules that were read.
    pub(super) fn rules_read(&mut self, directory: std::path::PathBuf, loaded: Loaded) {
        self.rules.take(directory, loaded);
    }

    /// Interrupts an answer and calls the model again, with the rules.
    pub(super) fn interrupt_for_rules(&mut self, answering: Answering, rules: &[Arc<StreamRule>]) {
        self.emit(Event::RulesBroken { rules: rules.to_vec() });
        let names: Vec<_> = rules.iter().map(|rule| rule.name.as_str()).collect();
        let plural = if names.len() == 1 { "" } else { "s" };
        let reason = format!("TTSR matched rule{plural}: {}", names.join(", "));
        let message =
            self.interrupt(answering, StopReason::Aborted, Failure::new(ErrorKind::Aborted, reason));
        // The provider answered, which is what the retries were for.
        let attempt = self.run_mut().map_or(0, Run::take_retries);
        if attempt > 0 {
            self.emit(Event::RetryEnd { success: true, attempt, final_error: None });
        }
        self.emit(Event::TurnEnd { message: Arc::clone(&message), tool_results: Vec::new() });
        self.rules.count_turn();
        self.end_attempt(AfterAttempt::Retry);
        let mut text = self.rules.blocks(rules, BlockKind::Interrupt);
        match self.agent.settings().stream_rules.interrupted_answer {
            // An answer that could not be written is not part of the conversation.
            InterruptedAnswer::Discard if self.has_storage_failed() => {}
            InterruptedAnswer::Discard => self.forget_failed_answer(),
            InterruptedAnswer::Keep => {
                let quoted = quote(&message);
                text = format!("<interrupted-output>\n{quoted}\n</interrupted-output>\n\n{text}");
            }
        }
        self.record_held_commands();
        self.tell_of_rules(rules, text);
        self.emit(Event::RunStart);
        self.next_turn(TurnEnd::ToolResults);
    }

    /// Returns what the result of a call begins with, if the call broke rules.
    pub(super) fn rules_for_result(&mut self, call_id: &str) -> Option<Content> {
        let rules = self.rules.take_for_call(call_id);
        if rules.is_empty() {
            return None;
        }
        self.note_rules(&rules);
        Some(Content::text(self.rules.blocks(&rules, BlockKind::Reminder)))
    }

    /// Tells the model of the rules that its complete answer broke. Returns whether there are any.
    pub(super) fn mention_rules(&mut self) -> bool {
        let rules = self.rules.take_for_later();
        if !rules.is_empty() {
            let text = self.rules.blocks(&rules, BlockKind::Reminder);
            self.tell_of_rules(&rules, text);
        }
        !rules.is_empty()
    }

    /// Adds a message about rules to the conversation, which clients are not shown.
    fn tell_of_rules(&mut self, rules: &[Arc<StreamRule>], text: String) {
        let names: Vec<_> = rules.iter().map(|rule| rule.name.as_str()).collect();
        self.record_hidden(CustomMessage {
            custom_type: INJECTION.to_owned(),
            content: vec![Content::text(text)].into(),
            display: false,
            details: Some(json!({ "rules": names })),
            timestamp: self.now(),
        });
        self.note_rules(rules);
    }

    /// Keeps which rules have stepped in.
    fn note_rules(&mut self, rules: &[Arc<StreamRule>]) {
        let names: Vec<_> = rules.iter().map(|rule| rule.name.as_str()).collect();
        self.append_note(rules_entry(&names));
    }
}

/// Returns the end of an answer as text.
fn quote(message: &Message) -> String {
    let Some(answer) = message.as_assistant() else { return String::new() };
    let blocks = answer.content.iter().filter_map(|block| match block {
        AssistantContent::Text(block) => Some(block.text.clone()),
        AssistantContent::Thinking(_) => None,
        AssistantContent::ToolCall(call) => {
            let arguments = serde_json::to_string(&call.arguments).unwrap_or_default();
            Some(format!("[{} {arguments}]", call.name))
        }
    });
    let text = blocks.collect::<Vec<_>>().join("\n");
    let mut start = text.len().saturating_sub(LONGEST_QUOTE);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text[start..].replace("</interrupted-output", "&lt;/interrupted-output")
}
