//! The tool calls of one answer: taken up in order, a limited number at a time, results recorded in the order of the
//! calls.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bowline_core::command::InterruptMode;
use bowline_core::event::{Event, ToolReport};
use bowline_core::hook::{HookEvent, HookKind};
use bowline_core::message::{Message, StopReason, ToolResultMessage};
use bowline_core::policy::ToolResults;
use bowline_core::sandbox::Grants;
use bowline_tools::{BoxFuture, CallContext, Outcome, Progress};
use tokio_util::sync::CancellationToken;

use super::Session;
use super::file_changes::watched_call;
use super::hook_points::HookPoint;
use crate::extension::FoundTool;
use crate::hook_lane::AfterLane;
use crate::input::Step;
use crate::pending::{Awaited, Reporter};
use crate::run::{Phase, Run};
use crate::tool_call_states::{Batch, Call, CallState, ProgressSlot, ToolStep};

/// How long a tool may take to stop before it is dropped.
const STOP_GRACE: Duration = Duration::from_secs(2);

/// What the model reads of a call that was skipped for a steering message.
const SKIPPED: &str = "Skipped due to queued user message.";

/// What the model reads of a call for which nothing is left to spend, before the reason.
const NOT_CARRIED_OUT: &str = "This call was not carried out.";

/// What the model reads of a call that an abort overtook.
pub(super) const NOT_STARTED: &str = "Aborted before it was started.";

impl Session {
    /// Starts the tools that an answer calls.
    pub(super) fn start_tools(&mut self, mut batch: Batch) {
        let toolbox = self.instructions.toolbox();
        batch.set_sequential(|tool| toolbox.get(tool).is_some_and(|tool| tool.runs_alone()));
        self.set_phase(Phase::Tools(batch));
        self.continue_batch();
    }

    /// Takes up as many calls as may run at the same time, and ends the turn once all have ended. Where steering
    /// messages may interrupt, calls run one by one.
    pub(super) fn continue_batch(&mut self) {
        let limit = match self.switches.interrupt_mode {
            InterruptMode::Immediate => 1,
            InterruptMode::Wait if self.batch().is_some_and(Batch::is_sequential) => 1,
            InterruptMode::Wait => self.agent.settings().max_parallel_tools.get(),
        };
        while let Some(batch) = self.batch()
            && let Some(index) = batch.next_waiting()
            && batch.open_calls() < limit
            && !batch.is_deciding()
        {
            self.take_up_call(index);
        }
        // Extensions decide about all calls that are taken up together before the first one of them runs.
        if let Some(batch) = self.batch()
            && !batch.is_deciding()
        {
            let cleared = batch.cleared();
            if !cleared.is_empty() && !self.lane.is_idle() {
                return self.after_events_shown(AfterLane::ContinueBatch);
            }
            for (index, started) in cleared {
                self.run_call(index, started);
            }
        }
        if self.batch().is_some_and(Batch::is_done) {
            self.finish_batch();
        }
    }

    /// Returns a tool of the session, enabled or not, and the context of a call outside of a run.
    pub(super) fn find_tool(&self, name: &str, builtin: bool) -> Option<FoundTool> {
        let context = CallContext {
            working_directory: self.transcript.working_directory().to_owned(),
            cancel: CancellationToken::new(),
            progress: Arc::new(|_| ()),
            environment: self.tool_environment(),
            takes_images: self.models.current().is_some_and(|model| model.takes_images()),
            session_id: Some(self.transcript.session_id().to_owned()),
            call_id: None,
            todos: self.todos.list.clone(),
            grants: Grants::default(),
            editor: None,
        };
        let tool = match builtin {
            true => self.instructions.built_in_tool(name),
            false => self.instructions.find_tool(name),
        };
        Some(FoundTool { tool: tool?, context })
    }

    /// Takes up a call: it runs, is asked about, or ends at once with a refusal.
    fn take_up_call(&mut self, index: usize) {
        let Some(batch) = self.batch() else { return };
        let Some(call) = batch.call(index) else { return };
        let (call_id, tool, arguments) = (call.id.clone(), call.tool.clone(), Arc::clone(&call.arguments));
        let refusal = self.refuse_call(index, batch.reason(), &tool).or_else(|| call.refusal.clone());
        let refusal = refusal.or_else(|| self.refuse_for_budget());
        let event = HookEvent::ToolCall {
            call_id: call_id.clone(),
            tool: tool.clone(),
            arguments: Arc::clone(&arguments),
        };
        self.emit(Event::ToolStart { call_id, tool, arguments });
        let started = Instant::now();
        if let Some(reason) = refusal {
            return self.end_call(index, Outcome::error(reason), started);
        }
        self.set_call_state(index, CallState::Deciding { started });
        self.tell_extensions(&event);
        if self.is_awaited(HookKind::ToolCall, event.tool()) {
            self.call_extensions(event, HookPoint::Call { index, started });
            return;
        }
        self.check_call(index, started, None);
    }

    /// Returns what the model reads of a call for which nothing is left to spend. The run ends after it.
    fn refuse_for_budget(&mut self) -> Option<String> {
        self.budget.refuse_tool().map(|failure| format!("{NOT_CARRIED_OUT} {}", failure.text))
    }

    /// Returns why a call is not carried out, if it is not.
    fn refuse_call(&self, index: usize, reason: StopReason, tool: &str) -> Option<String> {
        if self.activity.is_stopping() {
            return Some(NOT_STARTED.to_owned());
        }
        if index > 0 && self.is_interrupted() {
            return Some(SKIPPED.to_owned());
        }
        if reason == StopReason::Length {
            return Some(format!(
                "The answer was cut off at the output limit, so the arguments of this call of {tool} may be incomplete and it was not carried out. Call it again with complete arguments, in smaller pieces if they are large."
            ));
        }
        if self.instructions.toolbox().get(tool).is_some() {
            return None;
        }
        let names = self.instructions.toolbox().names().join(", ");
        let known = if names.is_empty() {
            "No tools are switched on.".to_owned()
        } else {
            format!("The tools are: {names}.")
        };
        Some(format!("There is no tool named {tool}. {known}"))
    }

    /// Runs a call, once extensions have seen all events so far.
    pub(super) fn run_call(&mut self, index: usize, started: Instant) {
        if self.activity.is_stopping() {
            return self.end_call(index, Outcome::error(NOT_STARTED), started);
        }
        if !self.lane.is_idle() {
            self.set_call_state(index, CallState::Cleared { started });
            return self.after_events_shown(AfterLane::ContinueBatch);
        }
        let Some(call) = self.batch().and_then(|batch| batch.call(index)) else { return };
        let Some(tool) = self.instructions.toolbox().get(&call.tool) else {
            let text = format!("The tool {} was switched off.", call.tool);
            return self.end_call(index, Outcome::error(text), started);
        };
        // Others that were taken up with it may have used up the rest.
        if let Some(reason) = self.refuse_for_budget() {
            return self.end_call(index, Outcome::error(reason), started);
        }
        self.budget.start_call();
        self.spent();
        let Some(call) = self.batch().and_then(|batch| batch.call(index)) else { return };
        let Some(cancel) = self.run().map(|run| run.cancel_token().clone()) else { return };
        self.answer_for_hosts();
        let (arguments, call_id) = (Arc::clone(&call.arguments), Some(call.id.clone()));
        let grants = call.grants.clone();
        let progress = ProgressSlot::default();
        let (slot, environment) = (progress.clone(), self.tool_environment());
        let working_directory = self.transcript.working_directory().to_owned();
        let session_id = Some(self.transcript.session_id().to_owned());
        let takes_images = self.run().is_some_and(|run| run.model().takes_images());
        let delegation = self.delegation(index, &*tool);
        let watched =
            self.watch_call(&*tool, call_id.as_deref().unwrap_or_default(), &arguments, !grants.is_empty());
        let tool = self.with_addresses(tool, &arguments);
        let (todos, editor) = (self.todos.list.clone(), self.editor.clone());
        let task = self.pending.start(Awaited::Call { index }, |reporter| {
            let context = CallContext {
                working_directory,
                cancel: cancel.clone(),
                progress: report_to(slot, reporter.clone()),
                environment,
                takes_images,
                session_id,
                call_id,
                todos,
                grants,
                editor,
            };
            let arguments = (*arguments).clone();
            let task_reporter = reporter.clone();
            let start = move || match delegation {
                Some(delegation) => delegation.run(context, arguments, task_reporter),
                None => tool.call(context, arguments),
            };
            let call = match watched {
                Some(watched) => watched_call(watched, cancel.clone(), reporter.clone(), start),
                None => start(),
            };
            run_tool(call, cancel, reporter)
        });
        self.set_call_state(index, CallState::Running { task, started, progress });
    }

    /// Returns what commands that the model runs can learn of their session.
    fn tool_environment(&self) -> Vec<(String, String)> {
        let mut variables = vec![
            ("AI_AGENT", "bowline".to_owned()),
            ("PI_CODING_AGENT", "true".to_owned()),
            ("PI_SESSION_ID", self.transcript.session_id().to_owned()),
            ("PI_REASONING_LEVEL", self.models.level().to_string()),
        ];
        if let Some(file) = self.file() {
            variables.push(("PI_SESSION_FILE", file.display().to_string()));
        }
        let chosen = self.models.current().filter(|model| self.agent.providers().is_virtual(model));
        if let Some(model) = chosen.or_else(|| self.run().map(Run::model)) {
            variables.push(("PI_PROVIDER", model.provider.clone()));
            variables.push(("PI_MODEL", model.id.clone()));
        }
        variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Handles a report of a running tool.
    pub(super) fn tool_step(&mut self, index: usize, step: ToolStep) {
        self.report_progress(index);
        self.warn_of_lost_changes();
        match step {
            ToolStep::Progress => {}
            ToolStep::Subagent(event) => self.subagent_reported(event),
            ToolStep::ExtensionFailed(error) => self.emit(Event::ExtensionFailed(error)),
            ToolStep::ProtectedPathChanged(change) => self.report_protected_by(index, vec![change]),
            ToolStep::Spent(spent) => self.subagent_spent(&spent),
            ToolStep::Asks(passed_on) => self.pass_on(index, passed_on),
            ToolStep::Done(outcome) => self.tool_ended(index, outcome),
        }
    }

    /// Ends a call whose tool ended, and goes on with the others.
    pub(super) fn tool_ended(&mut self, index: usize, mut outcome: Outcome) {
        // At once: what happens to the result, which extensions may change, does not change what happened.
        self.report_protected_by(index, std::mem::take(&mut outcome.protected));
        let Some(call) = self.batch().and_then(|batch| batch.call(index)) else { return };
        let &CallState::Running { task, started, .. } = call.state() else { return };
        let is_hooked = self.extensions.is_subscribed(HookKind::ToolResult, Some(&call.tool));
        self.pending.remove(task);
        if is_hooked {
            return self.hook_call_result(index, outcome, started);
        }
        self.end_call(index, outcome, started);
        self.continue_batch();
    }

    fn report_progress(&mut self, index: usize) {
        if !self.agent.settings().reports_progress {
            return;
        }
        let Some(call) = self.batch().and_then(|batch| batch.call(index)) else { return };
        let CallState::Running { progress, .. } = call.state() else { return };
        let Some(Progress { content, details }) = progress.take() else { return };
        let event = Event::ToolProgress {
            call_id: call.id.clone(),
            tool: call.tool.clone(),
            arguments: Arc::clone(&call.arguments),
            partial: ToolReport { content, details, ..ToolReport::default() },
        };
        self.emit(event);
    }

    /// Ends a call.
    pub(super) fn end_call(&mut self, index: usize, mut outcome: Outcome, started: Instant) {
        let Some(call) = self.batch().and_then(|batch| batch.call(index)) else { return };
        let (call_id, tool) = (call.id.clone(), call.tool.clone());
        self.withdraw_questions_of(index);
        self.end_subagents_of(&call_id);
        if let Some(rules) = self.rules_for_result(&call_id) {
            outcome.content.insert(0, rules);
        }
        self.note_call_for_todos(&tool, outcome.is_error);
        let event = Event::ToolEnd {
            call_id,
            tool,
            result: ToolReport {
                content: outcome.content.clone(),
                details: outcome.details.clone(),
                structured_content: outcome.structured_content.clone(),
                usage: outcome.usage.clone(),
                ends_run: outcome.ends_run,
            },
            is_error: outcome.is_error,
            duration: self.agent.clock().since(started),
        };
        self.emit(event);
        self.set_call_state(index, CallState::Done { outcome, result: None });
        // Calls that run one after the other need not wait for the others, unless extensions may change their messages.
        let is_alone =
            self.batch().is_some_and(Batch::is_sequential) && !self.is_awaited(HookKind::MessageEnd, None);
        if is_alone || self.agent.policy().tool_results == ToolResults::AsTheyEnd {
            self.record_result(index);
        }
    }

    /// Makes the outcome of a call a message of the conversation, unless it is one.
    fn record_result(&mut self, index: usize) {
        let Some(call) = self.batch().and_then(|batch| batch.call(index)) else { return };
        let CallState::Done { outcome, result: None } = call.state() else { return };
        let message = result_message(call, outcome, self.now());
        let recorded = self.record(message);
        match self.agent.policy().tool_results {
            ToolResults::AsTheyEnd => self.announce(&recorded),
            ToolResults::AfterAll => self.announce_hooked(&recorded),
        }
        if let Some(batch) = self.run_mut().and_then(Run::batch_mut) {
            batch.set_result(index, recorded.message);
        }
        self.store_todos();
        self.note_sandbox();
    }

    /// Records the results that are not recorded yet and ends the turn. Extensions see them first.
    fn finish_batch(&mut self) {
        let now = self.now();
        if self.is_awaited(HookKind::MessageEnd, None)
            && let Some(batch) = self.batch()
        {
            let messages =
                batch.unrecorded().map(|(call, outcome)| Arc::new(result_message(call, outcome, now)));
            let messages: Vec<_> = messages.collect();
            if !messages.is_empty() {
                self.hook_messages(messages, HookPoint::CallMessages);
                return;
            }
        }
        self.record_batch();
    }

    pub(super) fn record_batch(&mut self) {
        if self.batch().is_some_and(Batch::ends_run)
            && let Some(run) = self.run_mut()
        {
            run.stop();
        }
        if let Some((message, results)) = self.close_batch() {
            self.end_turn(message, results);
        }
    }

    /// Records the results that are not recorded yet, and returns the answer with them.
    fn close_batch(&mut self) -> Option<(Arc<Message>, Vec<Arc<Message>>)> {
        for index in 0..self.batch().map_or(0, Batch::len) {
            self.record_result(index);
        }
        self.end_turn_of_files();
        let batch = self.batch()?;
        let closed = (Arc::clone(batch.message()), batch.results());
        self.withdraw_host_questions();
        self.approvals.end_turn();
        self.set_phase(Phase::Deciding);
        Some(closed)
    }

    /// Ends every call that has not ended with an error, and the turn with them; the run does not go on by itself.
    pub(super) fn fail_batch(&mut self, error: &str) {
        self.deny_questions();
        for index in 0..self.batch().map_or(0, Batch::len) {
            let Some(call) = self.batch().and_then(|batch| batch.call(index)) else { return };
            let started = call.started().unwrap_or_else(Instant::now);
            match call.state() {
                CallState::Done { .. } => continue,
                CallState::Asked { .. }
                | CallState::Deciding { .. }
                | CallState::Cleared { .. }
                | CallState::Running { .. }
                | CallState::Finishing { .. } => {}
                CallState::Waiting => self.emit(Event::ToolStart {
                    call_id: call.id.clone(),
                    tool: call.tool.clone(),
                    arguments: Arc::clone(&call.arguments),
                }),
            }
            self.end_call(index, Outcome::error(error), started);
        }
        if let Some((message, tool_results)) = self.close_batch() {
            self.emit(Event::TurnEnd { message, tool_results });
        }
    }

    pub(super) fn batch(&self) -> Option<&Batch> {
        self.run().and_then(Run::batch)
    }

    pub(super) fn set_call_state(&mut self, index: usize, state: CallState) {
        if let Some(batch) = self.run_mut().and_then(Run::batch_mut) {
            batch.set_state(index, state);
        }
    }
}

/// Returns the message that a call's outcome becomes.
fn result_message(call: &Call, outcome: &Outcome, timestamp: u64) -> Message {
    let Outcome { content, details, usage, is_error, .. } = outcome.clone();
    let (tool_call_id, tool_name) = (call.id.clone(), call.tool.clone());
    Message::ToolResult(ToolResultMessage {
        tool_call_id,
        tool_name,
        content,
        details,
        usage,
        is_error,
        timestamp,
    })
}

/// Runs a tool and reports its outcome.
async fn run_tool(call: BoxFuture<'static, Outcome>, cancel: CancellationToken, reporter: Reporter) {
    let outcome = tokio::select! {
        outcome = call => outcome,
        () = overdue(cancel) => Outcome::error("Aborted; the tool did not stop in time and was dropped."),
    };
    reporter.send(Step::Tool(ToolStep::Done(outcome))).await;
}

/// Returns the callback by which a tool reports. A signal that finds the channel full may be lost; the report stays in
/// the slot.
fn report_to(slot: ProgressSlot, reporter: Reporter) -> Arc<dyn Fn(Progress) + Send + Sync> {
    Arc::new(move |progress| {
        slot.put(progress);
        reporter.try_send(Step::Tool(ToolStep::Progress));
    })
}

/// Returns a while after `cancel` was cancelled.
async fn overdue(cancel: CancellationToken) {
    cancel.cancelled().await;
    tokio::time::sleep(STOP_GRACE).await;
}
