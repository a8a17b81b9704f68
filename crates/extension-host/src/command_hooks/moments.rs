//! What happens at each hook: which event it is for commands, and what their answers do.

use std::sync::Arc;
use std::time::Duration;

use bowline_core::command::Queue;
use bowline_core::hook::{
    Boundary, CompactionPreparation, EntryDraft, HookEvent, HookKind, HookResult, SessionReason,
    StartAdditions, ToolResultChange, TurnOutcome,
};
use bowline_core::message::{Arguments, Content};
use bowline_core::ui::NotifyLevel;
use bowline_engine::Delivery;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::answer::Decision;
use super::event::HookEventName;
use super::payload;
use super::session_hooks::{Asked, Shared, message};
use super::tools::{ForeignCall, names_of};

/// How often in a row `Stop` hooks send the model back to work.
const MOST_STOPS: u32 = 8;

/// Stands for the time limits of the commands.
const OWN_LIMITS: Duration = Duration::MAX;

/// A tool call that commands are asked about.
struct Call {
    id: String,
    tool: String,
    arguments: Arc<Arguments>,
}

impl Shared {
    /// Asks the commands of a hook.
    pub(super) async fn called(self: &Arc<Self>, event: HookEvent, cancel: &CancellationToken) -> HookResult {
        match event {
            HookEvent::ToolCall { call_id, tool, arguments } => {
                self.before_tool(Call { id: call_id, tool, arguments }, cancel).await
            }
            HookEvent::ToolResult { call_id, tool, arguments, content, is_error, .. } => {
                self.after_tool(Call { id: call_id, tool, arguments }, content, is_error, cancel).await
            }
            HookEvent::Input { text, streaming_behavior, .. } => {
                self.prompt_submitted(&text, streaming_behavior, cancel).await
            }
            HookEvent::AgentBeforeSettle { outcome: TurnOutcome::Completed, boundary } => {
                self.about_to_stop(&boundary, cancel).await
            }
            HookEvent::SessionStart { reason, .. } => {
                self.session_started(reason, cancel).await;
                HookResult::None
            }
            HookEvent::SessionCompact { .. } => {
                self.started_from("compact", HookKind::SessionCompact, cancel).await;
                HookResult::None
            }
            HookEvent::SessionShutdown { reason, .. } => {
                self.session_ends(reason, cancel).await;
                HookResult::None
            }
            HookEvent::SessionBeforeCompact(preparation) => {
                self.before_compaction(&preparation, cancel).await;
                HookResult::None
            }
            _ => HookResult::None,
        }
    }

    async fn before_tool(self: &Arc<Self>, call: Call, cancel: &CancellationToken) -> HookResult {
        let event = HookEventName::PreToolUse;
        let blocked = |reason: &str| HookResult::Block { reason: Some(reason.to_owned()), terminate: false };
        let Some(foreign) = self.foreign(&call).await else { return blocked("The hooks could not be run.") };
        let fields = payload::of_call(&call.tool, &call.id, &call.arguments, &foreign);
        let names = names_of(&call.tool);
        let asked = Asked { event, hook: HookKind::ToolCall, names: &names, fields, call: Some(&foreign) };
        let verdict = self.ask(asked, OWN_LIMITS, cancel).await;
        // Commands that were killed have allowed nothing.
        if cancel.is_cancelled() || self.runner.ended.is_cancelled() {
            return blocked("Aborted before the hooks had decided.");
        }
        if let Some(text) = verdict.context(event) {
            self.send_context(event, text, Delivery::Steer).await;
        }
        let mut results = Vec::new();
        if let Some(reason) = &verdict.stop {
            results.push(HookResult::Stop { reason: reason.clone() });
            let reason = reason.clone().unwrap_or_else(|| "A PreToolUse hook ended the run.".to_owned());
            results.push(HookResult::Block { reason: Some(reason), terminate: true });
            return one(results);
        }
        if let Some(reason) = verdict.blocked() {
            return blocked(reason);
        }
        if let Some(wanted) = verdict.updated_input {
            let arguments = foreign.own_arguments(&call.tool, wanted);
            results.push(HookResult::Arguments { arguments, validate: true });
        }
        if let Some((Decision::Ask, reason)) = verdict.decision {
            results.push(HookResult::Ask { reason });
        }
        one(results)
    }

    async fn after_tool(
        self: &Arc<Self>,
        call: Call,
        content: Vec<Content>,
        is_error: bool,
        cancel: &CancellationToken,
    ) -> HookResult {
        let event = if is_error { HookEventName::PostToolUseFailure } else { HookEventName::PostToolUse };
        let names = names_of(&call.tool);
        if !self.config().has(event, &names) {
            return HookResult::None;
        }
        let Some(foreign) = self.foreign(&call).await else { return HookResult::None };
        let mut fields = payload::of_call(&call.tool, &call.id, &call.arguments, &foreign);
        payload::add_result(&mut fields, &call.tool, &foreign, &content, is_error);
        let asked = Asked { event, hook: HookKind::ToolResult, names: &names, fields, call: Some(&foreign) };
        let verdict = self.ask(asked, OWN_LIMITS, cancel).await;
        let mut results = Vec::new();
        if let Some(content) = verdict.result(event, content) {
            results.push(HookResult::ToolResult(ToolResultChange {
                content: Some(content),
                ..ToolResultChange::default()
            }));
        }
        results.extend(verdict.stop.map(|reason| HookResult::Stop { reason }));
        one(results)
    }

    async fn prompt_submitted(
        self: &Arc<Self>,
        text: &str,
        queue: Option<Queue>,
        cancel: &CancellationToken,
    ) -> HookResult {
        let event = HookEventName::UserPromptSubmit;
        let fields = json!({"prompt": text});
        let asked = Asked { event, hook: HookKind::Input, names: &[], fields, call: None };
        let verdict = self.ask(asked, OWN_LIMITS, cancel).await;
        if let Some(reason) = verdict.blocked() {
            self.notify(reason.to_owned(), NotifyLevel::Warning).await;
        }
        if verdict.blocked().is_some() || verdict.stop.is_some() {
            return HookResult::Handled;
        }
        let Some(text) = verdict.context(event) else { return HookResult::None };
        let delivery = match queue {
            None => {
                let message = Some(message(event, text, false));
                return HookResult::Start(StartAdditions { message, ..StartAdditions::default() });
            }
            Some(Queue::Steering) => Delivery::Steer,
            Some(Queue::FollowUp) => Delivery::FollowUp,
        };
        self.send_context(event, text, delivery).await;
        HookResult::None
    }

    async fn about_to_stop(self: &Arc<Self>, boundary: &Boundary, cancel: &CancellationToken) -> HookResult {
        let (event, hook) = (HookEventName::Stop, HookKind::AgentBeforeSettle);
        let (stops, last_answer) = {
            let memory = self.memory();
            (memory.stops, memory.last_answer.clone())
        };
        let fields = json!({"stop_hook_active": stops > 0, "last_assistant_message": last_answer});
        let verdict =
            self.ask(Asked { event, hook, names: &[], fields, call: None }, OWN_LIMITS, cancel).await;
        self.memory().stops = 0;
        if let Some(reason) = verdict.stop {
            return HookResult::Stop { reason };
        }
        let Some(reason) = verdict.blocked().filter(|_| boundary.can_continue) else {
            return HookResult::None;
        };
        if stops >= MOST_STOPS {
            let error = "Stop hooks have sent the model back to work 8 times in a row; the run ends now";
            self.complain(event, hook, error).await;
            return HookResult::None;
        }
        self.memory().stops = stops + 1;
        let text = [Some(format!("Feedback from the Stop hook:\n{reason}")), verdict.context(event)];
        let text = text.into_iter().flatten().collect::<Vec<_>>().join("\n");
        let entries = vec![EntryDraft::Message(message(event, text, true))];
        HookResult::Boundary { entries, continues: Some(true) }
    }

    async fn session_started(self: &Arc<Self>, reason: SessionReason, cancel: &CancellationToken) {
        self.load().await;
        let has_messages = reason == SessionReason::Startup && self.has_messages().await;
        if let Some(source) = payload::source_of(reason, has_messages) {
            self.started_from(source, HookKind::SessionStart, cancel).await;
        }
    }

    async fn started_from(self: &Arc<Self>, source: &str, hook: HookKind, cancel: &CancellationToken) {
        let event = HookEventName::SessionStart;
        let mirror = self.mirror();
        let mut fields = json!({"source": source});
        if let Some(model) = mirror.as_ref().and_then(|mirror| mirror.model.as_ref()) {
            fields["model"] = model.id.clone().into();
        }
        let asked = Asked { event, hook, names: &[source], fields, call: None };
        let verdict = self.ask(asked, OWN_LIMITS, cancel).await;
        if let Some(text) = verdict.context(event) {
            // A run that goes on after a compaction needs it at once.
            let is_running = hook == HookKind::SessionCompact && mirror.is_some_and(|mirror| !mirror.is_idle);
            let delivery = if is_running { Delivery::Steer } else { Delivery::NextTurn };
            self.send_context(event, text, delivery).await;
        }
    }

    async fn session_ends(self: &Arc<Self>, reason: SessionReason, cancel: &CancellationToken) {
        let Some(reason) = payload::end_of(reason) else { return };
        let (event, hook) = (HookEventName::SessionEnd, HookKind::SessionShutdown);
        let fields = json!({"reason": reason});
        self.ask(Asked { event, hook, names: &[reason], fields, call: None }, hook.limit(), cancel).await;
    }

    async fn before_compaction(
        self: &Arc<Self>,
        preparation: &CompactionPreparation,
        cancel: &CancellationToken,
    ) {
        let (event, hook) = (HookEventName::PreCompact, HookKind::SessionBeforeCompact);
        let trigger = payload::trigger_of(preparation.reason);
        let instructions = preparation.instructions.clone().unwrap_or_default();
        let fields = json!({"trigger": trigger, "custom_instructions": instructions});
        self.ask(Asked { event, hook, names: &[trigger], fields, call: None }, OWN_LIMITS, cancel).await;
    }

    /// Returns a call as commands see it. Finding out what its path means can block.
    async fn foreign(&self, call: &Call) -> Option<ForeignCall> {
        let (tool, arguments, place) = (call.tool.clone(), Arc::clone(&call.arguments), self.place());
        tokio::task::spawn_blocking(move || ForeignCall::new(&tool, &arguments, &place)).await.ok()
    }
}

/// Returns several results as one.
fn one(mut results: Vec<HookResult>) -> HookResult {
    match results.len() {
        0 => HookResult::None,
        1 => results.swap_remove(0),
        _ => HookResult::All(results),
    }
}
