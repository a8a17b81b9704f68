//! Calling extensions at hooks, and showing them events before anybody else.

use std::sync::Arc;

use bowline_core::event::Event;
use bowline_core::hook::{HookEvent, HookKind, HookRole, TurnOutcome};
use bowline_core::reply::{Refusal, RefusalCode};
use tokio_util::sync::CancellationToken;

use super::Session;
use super::hook_points::HookPoint;
use super::message_preparation::Destination;
use crate::hook_chain::{ChainOutcome, HookFailure, HookOutcome, call_all};
use crate::hook_lane::AfterLane;
use crate::input::Step;
use crate::pending::{Awaited, PendingId};

/// A hook that is being called.
#[derive(Debug)]
pub(crate) struct OpenHook {
    pub point: HookPoint,
    /// What happens if nobody answers.
    unchanged: Arc<HookEvent>,
    cancel: CancellationToken,
}

impl OpenHook {
    /// Returns a hook; `unchanged` is what happens if nobody answers.
    pub fn new(point: HookPoint, unchanged: Arc<HookEvent>, cancel: CancellationToken) -> Self {
        Self { point, unchanged, cancel }
    }

    /// Cancels it and returns what waited for it.
    pub fn cancelled(self) -> HookPoint {
        self.cancel.cancel();
        self.point
    }
}

impl Session {
    /// Calls extensions at a hook and then goes on; at once if none is waited for.
    pub(super) fn hook(&mut self, event: HookEvent, point: HookPoint) {
        self.tell_extensions(&event);
        if self.is_awaited(event.kind(), event.tool()) {
            self.call_extensions(event, point);
        } else {
            self.hook_done(point, HookOutcome::unchanged(event));
        }
    }

    /// Tells whether extensions are waited for at a hook. An abort and the end of the process wait for nobody.
    pub(super) fn is_awaited(&self, hook: HookKind, tool: Option<&str>) -> bool {
        !self.activity.is_stopping() && !self.shutting_down && self.extensions.is_awaited(hook, tool)
    }

    /// Tells whether extensions take part in a hook.
    pub(super) fn is_hooked(&self, hook: HookKind) -> bool {
        self.extensions.is_subscribed(hook, None)
    }

    /// Calls extensions at a hook.
    pub(super) fn call_extensions(&mut self, event: HookEvent, point: HookPoint) -> PendingId {
        self.mirror();
        let extensions = self.extensions.awaiting(event.kind(), event.tool());
        let cancel = CancellationToken::new();
        let event = Arc::new(event);
        let open = OpenHook::new(point, Arc::clone(&event), cancel.clone());
        self.pending.start(Awaited::Hook(Box::new(open)), |reporter| async move {
            let outcome = call_all(extensions, event, cancel, &reporter).await;
            reporter.send(Step::HookDone(outcome)).await;
        })
    }

    /// Takes the outcome of a hook.
    pub(super) fn hook_reported(&mut self, id: PendingId, outcome: ChainOutcome) {
        let Some(Awaited::Hook(open)) = self.pending.remove(id) else { return };
        let OpenHook { point, unchanged, .. } = *open;
        // Nobody else has the event then, so it need not be copied.
        drop(unchanged);
        self.activity.end_preparing(id);
        if matches!(point, HookPoint::Shown) {
            return self.event_shown(id);
        }
        self.hook_done(point, outcome.into_hook_outcome());
    }

    /// Goes on without the answer to a hook.
    pub(super) fn give_up_hook(&mut self, id: PendingId) {
        if let Some(Awaited::Hook(open)) = self.pending.awaited(id) {
            open.cancel.cancel();
            let outcome = ChainOutcome::unchanged(Arc::clone(&open.unchanged));
            self.hook_reported(id, outcome);
        }
    }

    /// Goes on without the answers to all hooks of the run, because it is aborted, and without those of messages that
    /// wait for a queue.
    pub(super) fn give_up_hooks(&mut self) {
        self.stop_showing();
        for id in self.pending.hooks(|point| point.is_of_run() || matches!(point, HookPoint::Input(_))) {
            self.give_up_hook(id);
        }
    }

    /// Goes on without what extensions are asked or shown, because of an abort.
    pub(super) fn stop_waiting_for_extensions(&mut self) {
        self.withdraw_dialogs();
        if self.extensions.is_empty() && self.attachment.is_started() {
            return;
        }
        self.stop_showing();
        self.cancel_extension_commands(None);
        self.reply_to_held_prompts();
        self.refuse_early_messages();
        // A prompt that is prepared is refused by the abort; a message for a queue stays.
        let is_given_up = |point: &HookPoint| match point {
            HookPoint::Resources => true,
            HookPoint::Input(incoming) => matches!(incoming.destination, Destination::Queue { .. }),
            _ => false,
        };
        for id in self.pending.hooks(is_given_up) {
            self.give_up_hook(id);
        }
        let is_refused =
            |point: &HookPoint| matches!(point, HookPoint::SessionChange(_) | HookPoint::Input(_));
        for id in self.pending.hooks(is_refused) {
            if self.activity.is_preparing(id) {
                continue;
            }
            let Some(Awaited::Hook(open)) = self.pending.remove(id) else { continue };
            let (origin, text) = match open.cancelled() {
                HookPoint::SessionChange(request) => (request.origin, "Opening the session was aborted"),
                HookPoint::Input(incoming) => (incoming.submission.origin, "the prompt was aborted"),
                _ => continue,
            };
            self.reply(origin, Err(Refusal::new(RefusalCode::Cancelled, text)));
        }
    }

    /// Goes on without the answers to the hooks that later commands wait for. Returns whether there were any.
    pub(super) fn give_up_exclusive_hooks(&mut self) -> bool {
        let open = self.pending.hooks(HookPoint::is_exclusive);
        for id in &open {
            self.give_up_hook(*id);
        }
        !open.is_empty()
    }

    pub(super) fn hook_failed(&mut self, failure: HookFailure) {
        let HookFailure { extension, hook, error } = failure;
        self.ahead(|session| session.extension_failed(&extension, hook.as_str(), error));
    }

    /// Has what is emitted meanwhile go before what extensions hold back.
    pub(super) fn ahead(&mut self, work: impl FnOnce(&mut Self)) {
        let before = self.outputs.set_ahead(true);
        work(self);
        self.outputs.set_ahead(before);
    }

    /// Tells the extensions that are not waited for of an event.
    pub(super) fn tell_extensions(&mut self, event: &HookEvent) {
        // Those that are left have seen the end of their session.
        if self.attachment.is_leaving() {
            return;
        }
        let tells_everyone = self.activity.is_stopping() || self.shutting_down;
        let is_told = if tells_everyone {
            self.extensions.is_subscribed(event.kind(), event.tool())
        } else {
            self.extensions.is_told(event.kind(), event.tool())
        };
        if !is_told {
            return;
        }
        // A delta changes nothing that is mirrored.
        if event.kind().role() != HookRole::Streams {
            self.mirror();
        }
        if tells_everyone {
            self.extensions.tell_everyone(event);
        } else {
            self.extensions.tell(event);
        }
    }

    /// Lets extensions see an event before it is emitted. Those that want to hold it up are waited for.
    pub(super) fn show_to_extensions(&mut self, event: HookEvent) {
        self.tell_extensions(&event);
        let is_streamed = event.kind().role() == HookRole::Streams;
        if is_streamed || self.attachment.is_leaving() || !self.is_awaited(event.kind(), event.tool()) {
            return;
        }
        let barrier = self.outputs.hold();
        self.lane.push(event, barrier);
        self.show_next();
    }

    fn show_next(&mut self) {
        if let Some((event, barrier)) = self.lane.take_next() {
            let id = self.call_extensions(event, HookPoint::Shown);
            self.lane.set_showing(id, barrier);
        }
    }

    fn event_shown(&mut self, id: PendingId) {
        if let Some(barrier) = self.lane.shown(id) {
            self.outputs.release(barrier);
        }
        self.show_next();
        self.continue_after_lane();
    }

    /// Stops showing events to extensions; what was held back is emitted.
    pub(super) fn stop_showing(&mut self) {
        if let Some(id) = self.lane.clear()
            && let Some(Awaited::Hook(open)) = self.pending.remove(id)
        {
            open.cancel.cancel();
        }
        self.outputs.release_all();
        self.continue_after_lane();
    }

    /// Does something once extensions have seen all events before it; at once if there are none.
    pub(super) fn after_events_shown(&mut self, then: AfterLane) {
        if self.lane.is_idle() {
            self.do_after_lane(then);
        } else {
            self.lane.wait(then);
        }
    }

    fn continue_after_lane(&mut self) {
        for then in self.lane.take_waiting() {
            self.do_after_lane(then);
        }
    }

    fn do_after_lane(&mut self, then: AfterLane) {
        match then {
            AfterLane::CallModel => self.call_model_now(),
            AfterLane::ContinueBatch => self.continue_batch(),
            AfterLane::EndRun(outcome) => self.end_run_now(outcome),
            AfterLane::TakeDeferred => self.take_deferred_messages(),
            AfterLane::DiscoverResources(reason) => self.discover_resources(reason),
            AfterLane::Started => self.start_seen(),
            AfterLane::StopHosts => self.stop_hosts(),
        }
    }

    /// Shows extensions what an event is to them.
    pub(super) fn observe(&mut self, event: &Event) {
        if self.extensions.is_empty() {
            return;
        }
        if let Some(event) = self.as_hook(event) {
            self.show_to_extensions(event);
        }
    }

    /// Returns what an event is to extensions, if anything. The usual end of a message or a turn is a hook of its own; here
    /// are those that nothing can be changed about.
    fn as_hook(&self, event: &Event) -> Option<HookEvent> {
        let wants = |hook| self.extensions.is_subscribed(hook, None);
        Some(match event {
            Event::RunStart => HookEvent::AgentStart,
            Event::RunEnd { messages, .. } if wants(HookKind::AgentEnd) => {
                HookEvent::AgentEnd { messages: messages.clone() }
            }
            Event::Settled { outcome, .. } => {
                HookEvent::AgentSettled { aborted: *outcome == bowline_core::event::RunOutcome::Aborted }
            }
            Event::TurnStart => HookEvent::TurnStart { index: self.turn_index(), timestamp: self.now() },
            Event::TurnEnd { message, tool_results } if wants(HookKind::TurnEnd) => {
                let is_aborted = self.activity.is_stopping();
                let outcome = if is_aborted { TurnOutcome::Aborted } else { TurnOutcome::Error };
                self.turn_end_event(Arc::clone(message), tool_results.clone(), outcome)
            }
            Event::MessageStart(message) => HookEvent::MessageStart(Arc::clone(message)),
            Event::MessageEnd { message, .. } => HookEvent::MessageEnd(Arc::clone(message)),
            Event::MessageUpdate { usage, update } if wants(HookKind::MessageUpdate) => {
                HookEvent::MessageUpdate { usage: *usage, update: update.clone() }
            }
            Event::ToolStart { call_id, tool, arguments } => HookEvent::ToolExecutionStart {
                call_id: call_id.clone(),
                tool: tool.clone(),
                arguments: Arc::clone(arguments),
            },
            Event::ToolProgress { call_id, tool, arguments, partial }
                if self.extensions.is_subscribed(HookKind::ToolExecutionUpdate, Some(tool)) =>
            {
                HookEvent::ToolExecutionUpdate {
                    call_id: call_id.clone(),
                    tool: tool.clone(),
                    arguments: Arc::clone(arguments),
                    content: partial.content.clone(),
                    details: partial.details.clone(),
                }
            }
            Event::ToolEnd { call_id, tool, result, is_error, duration }
                if self.extensions.is_subscribed(HookKind::ToolExecutionEnd, Some(tool)) =>
            {
                HookEvent::ToolExecutionEnd {
                    call_id: call_id.clone(),
                    tool: tool.clone(),
                    content: result.content.clone(),
                    details: result.details.clone(),
                    structured_content: result.structured_content.clone(),
                    usage: result.usage.clone(),
                    is_error: *is_error,
                    duration: *duration,
                }
            }
            Event::SessionNameChanged { name, .. } => {
                HookEvent::SessionInfoChanged { name: Some(name.clone()) }
            }
            _ => return None,
        })
    }
}
