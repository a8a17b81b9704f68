//! What extensions decide about tool calls and change about their results.

use std::time::Instant;

use bowline_core::hook::{HookEvent, HookKind, HookResult};
use bowline_core::message::Message;
use bowline_tools::Outcome;

use super::Session;
use super::hook_points::HookPoint;
use crate::hook_chain::HookOutcome;
use crate::run::Run;
use crate::tool_call_states::CallState;

/// What the model reads of a call that an extension blocked without a reason.
const BLOCKED: &str = "Tool execution was blocked";

/// What the model reads of a call that an abort overtook.
const ABORTED: &str = "Operation aborted";

impl Session {
    /// Goes on with a call that extensions have decided about.
    pub(super) fn call_hooked(&mut self, index: usize, started: Instant, outcome: HookOutcome) {
        if outcome.stops_run()
            && let Some(run) = self.run_mut()
        {
            run.stop();
        }
        let HookOutcome { event, results } = outcome;
        if let HookEvent::ToolCall { arguments, .. } = event
            && let Some(batch) = self.run_mut().and_then(Run::batch_mut)
        {
            batch.set_arguments(index, arguments);
        }
        let mut asks = None;
        for result in results {
            match result {
                HookResult::Block { reason, terminate } => {
                    let mut blocked = Outcome::error(reason.unwrap_or_else(|| BLOCKED.to_owned()));
                    blocked.ends_run = terminate;
                    self.end_call(index, blocked, started);
                    return self.continue_batch();
                }
                HookResult::Ask { reason } => asks = Some(reason),
                _ => {}
            }
        }
        if self.activity.is_stopping() {
            self.end_call(index, Outcome::error(ABORTED), started);
        } else {
            self.check_call(index, started, asks);
        }
        self.continue_batch();
    }

    /// Lets extensions change the outcome of a call.
    pub(super) fn hook_call_result(&mut self, index: usize, outcome: Outcome, started: Instant) {
        let Some(call) = self.batch().and_then(|batch| batch.call(index)) else { return };
        let event = HookEvent::ToolResult {
            call_id: call.id.clone(),
            tool: call.tool.clone(),
            arguments: std::sync::Arc::clone(&call.arguments),
            content: outcome.content.clone(),
            details: outcome.details.clone(),
            structured_content: outcome.structured_content.clone(),
            usage: outcome.usage.clone(),
            is_error: outcome.is_error,
        };
        self.tell_extensions(&event);
        if !self.is_awaited(HookKind::ToolResult, event.tool()) || self.activity.is_stopping() {
            self.end_call(index, outcome, started);
            return self.continue_batch();
        }
        self.set_call_state(index, CallState::Finishing { started });
        let ends_run = outcome.ends_run;
        self.call_extensions(event, HookPoint::CallResult { index, started, ends_run });
    }

    /// Ends a call whose outcome extensions have seen.
    pub(super) fn call_result_hooked(
        &mut self,
        index: usize,
        started: Instant,
        ends_run: bool,
        outcome: HookOutcome,
    ) {
        if outcome.stops_run()
            && let Some(run) = self.run_mut()
        {
            run.stop();
        }
        if let HookEvent::ToolResult { content, details, structured_content, usage, is_error, .. } =
            outcome.event
        {
            let protected = Vec::new();
            let outcome =
                Outcome { content, details, structured_content, usage, is_error, ends_run, protected };
            self.end_call(index, outcome, started);
        }
        self.continue_batch();
    }

    /// Records the results of a batch as extensions have left them.
    pub(super) fn call_messages_hooked(&mut self, outcome: HookOutcome) {
        let HookEvent::Context(messages) = outcome.event else { return };
        let mut messages = messages.into_iter();
        if let Some(batch) = self.run_mut().and_then(Run::batch_mut) {
            batch.replace_unrecorded(|outcome| {
                if let Some(Message::ToolResult(result)) =
                    messages.next().map(std::sync::Arc::unwrap_or_clone)
                {
                    outcome.content = result.content;
                    outcome.details = result.details;
                    outcome.usage = result.usage;
                    outcome.is_error = result.is_error;
                }
            });
        }
        self.record_batch();
    }
}
