//! The tools that one answer calls: all at once, ends as they come, results in the order of the calls.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bowline_core::command::{InterruptMode, Queue};
use bowline_core::event::{Event, ToolReport};
use bowline_core::message::{Arguments, Content, Message, StopReason, ToolCall, ToolResultMessage};
use bowline_core::policy::ToolResults;
use bowline_tools::{CallContext, Outcome, Progress};
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::engine::{Engine, Input};
use crate::run::Phase;
use crate::task::Task;

/// How long a tool that was told to stop may take before it is dropped.
const STOP_GRACE: Duration = Duration::from_secs(2);

/// What the model reads of a call that gave way to the user.
const SKIPPED: &str = "Skipped due to queued user message.";

/// The calls of one answer.
#[derive(Debug)]
pub(crate) struct Batch {
    number: u64,
    message: Arc<Message>,
    reason: StopReason,
    calls: Vec<Call>,
    /// How many calls were started.
    started: usize,
}

#[derive(Debug)]
struct Call {
    id: String,
    tool: String,
    arguments: Arc<Arguments>,
    started: Instant,
    /// The newest report of a tool that is running.
    progress: Arc<Mutex<Option<Progress>>>,
    outcome: Option<Outcome>,
    /// The message with the outcome, once there is one.
    result: Option<Arc<Message>>,
    task: Option<Task>,
}

/// What a running tool has to tell.
#[derive(Debug)]
pub enum ToolStep {
    /// There is a new report to be fetched.
    Progress,
    Done(Outcome),
}

impl Engine {
    /// Starts the tools that an answer calls: all of them, or, where a steering message may cut in, one by one.
    pub(crate) fn start_tools(&mut self, message: Arc<Message>, calls: Vec<ToolCall>, reason: StopReason) {
        let number = self.next_number();
        let calls = calls.into_iter().map(|ToolCall { id, name, arguments, .. }| Call {
            id,
            tool: name,
            arguments: Arc::new(arguments),
            started: Instant::now(),
            progress: Arc::default(),
            outcome: None,
            result: None,
            task: None,
        });
        let batch = Batch { number, message, reason, calls: calls.collect(), started: 0 };
        self.set_phase(Phase::Tools(batch));
        self.go_on_with_batch(number);
    }

    /// Starts what can be started, and closes the turn once every call has ended.
    fn go_on_with_batch(&mut self, number: u64) {
        let one_by_one = self.interrupt_mode == InterruptMode::Immediate;
        while let Some(batch) = self.batch(number)
            && batch.started < batch.calls.len()
            && !(one_by_one && batch.calls[..batch.started].iter().any(|call| call.outcome.is_none()))
        {
            let index = batch.started;
            batch.started += 1;
            self.start_call(number, index);
        }
        self.finish_batch(number);
    }

    fn start_call(&mut self, number: u64, index: usize) {
        let gives_way = self.interrupt_mode == InterruptMode::Immediate
            && index > 0
            && !self.queues.is_empty(Queue::Steering);
        let Some(batch) = self.batch(number) else { return };
        let reason = batch.reason;
        let call = &mut batch.calls[index];
        call.started = Instant::now();
        let (call_id, tool) = (call.id.clone(), call.tool.clone());
        let (arguments, progress) = (Arc::clone(&call.arguments), Arc::clone(&call.progress));
        self.emit(Event::ToolStart { call_id, tool: tool.clone(), arguments: Arc::clone(&arguments) });
        let refusal = if self.is_stopping() {
            Some(failure("Aborted before it was started.".to_owned()))
        } else if gives_way {
            Some(failure(SKIPPED.to_owned()))
        } else {
            self.refuse_call(&tool, reason)
        };
        match refusal {
            Some(outcome) => self.end_call(number, index, outcome),
            None => {
                let task = self.run_tool(number, index, &tool, &arguments, &progress);
                if let Some(batch) = self.batch(number) {
                    batch.calls[index].task = task;
                }
            }
        }
    }

    /// Returns the result of a call that is not to be carried out.
    fn refuse_call(&self, tool: &str, reason: StopReason) -> Option<Outcome> {
        if reason == StopReason::Length {
            let text = format!(
                "The answer was cut off at the output limit, so the arguments of this call of {tool} may be incomplete and it was not carried out. Call it again with complete arguments, in smaller pieces if they are large."
            );
            return Some(failure(text));
        }
        if self.toolbox.get(tool).is_some() {
            return None;
        }
        let names = self.toolbox.names().join(", ");
        let known = if names.is_empty() {
            "No tools are switched on.".to_owned()
        } else {
            format!("The tools are: {names}.")
        };
        Some(failure(format!("There is no tool named {tool}. {known}")))
    }

    fn run_tool(
        &self,
        number: u64,
        index: usize,
        name: &str,
        arguments: &Arc<Arguments>,
        progress: &Arc<Mutex<Option<Progress>>>,
    ) -> Option<Task> {
        let tool = self.toolbox.get(name)?;
        let cancel = self.run.as_ref()?.cancel.clone();
        let context = CallContext {
            working_directory: self.session.working_directory().to_owned(),
            cancel: cancel.clone(),
            progress: reporter(number, index, Arc::clone(progress), self.inputs.clone()),
            environment: self.tool_environment(),
            takes_images: self.model.as_ref().is_some_and(|model| model.takes_images()),
        };
        let call = tool.call(context, Arguments::clone(arguments));
        let inputs = self.inputs.clone();
        Some(Task::spawn(async move {
            let outcome = tokio::select! {
                outcome = call => outcome,
                () = overdue(cancel) => failure("Aborted; the tool did not stop in time and was dropped.".to_owned()),
            };
            let _ = inputs.send(Input::Tool { number, index, step: ToolStep::Done(outcome) }).await;
        }))
    }

    /// Returns what commands that the model runs can learn of the session they run in.
    fn tool_environment(&self) -> Vec<(String, String)> {
        let mut variables = vec![
            ("AI_AGENT", "bowline".to_owned()),
            ("PI_CODING_AGENT", "true".to_owned()),
            ("PI_SESSION_ID", self.session.id().to_owned()),
            ("PI_REASONING_LEVEL", self.thinking_level.to_string()),
        ];
        if let Some(file) = self.session.file() {
            variables.push(("PI_SESSION_FILE", file.display().to_string()));
        }
        if let Some(model) = &self.model {
            variables.push(("PI_PROVIDER", model.provider.clone()));
            variables.push(("PI_MODEL", model.id.clone()));
        }
        variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Takes in what a tool has to tell, unless its batch is no longer waited for.
    pub(crate) fn tool_step(&mut self, number: u64, index: usize, step: ToolStep) {
        match step {
            ToolStep::Progress => self.report_progress(number, index),
            ToolStep::Done(outcome) => {
                self.report_progress(number, index);
                self.end_call(number, index, outcome);
                self.go_on_with_batch(number);
            }
        }
    }

    fn report_progress(&mut self, number: u64, index: usize) {
        // How often a tool gets to show something depends on the time it takes, which a fixed clock does not have.
        if matches!(self.clock, bowline_session::Clock::Fixed(_)) {
            return;
        }
        let Some(call) = self.batch(number).and_then(|batch| batch.calls.get_mut(index)) else { return };
        let Some(Progress { content, details }) = take(&call.progress) else { return };
        let event = Event::ToolProgress {
            call_id: call.id.clone(),
            tool: call.tool.clone(),
            arguments: Arc::clone(&call.arguments),
            partial: ToolReport { content, details },
        };
        self.emit(event);
    }

    fn end_call(&mut self, number: u64, index: usize, outcome: Outcome) {
        let clock = self.clock.clone();
        let Some(call) = self.batch(number).and_then(|batch| batch.calls.get_mut(index)) else { return };
        if call.outcome.is_some() {
            return;
        }
        call.task = None;
        let event = Event::ToolEnd {
            call_id: call.id.clone(),
            tool: call.tool.clone(),
            result: ToolReport { content: outcome.content.clone(), details: outcome.details.clone() },
            is_error: outcome.is_error,
            duration: clock.since(call.started),
        };
        call.outcome = Some(outcome);
        self.emit(event);
        if self.policy.tool_results == ToolResults::AsTheyEnd {
            self.record_result(number, index);
        }
    }

    /// Makes the outcome of a call a message of the conversation.
    fn record_result(&mut self, number: u64, index: usize) {
        let Some(call) = self.batch(number).and_then(|batch| batch.calls.get(index)) else { return };
        let Some(Outcome { content, details, is_error }) = call.outcome.clone() else { return };
        let (tool_call_id, tool_name) = (call.id.clone(), call.tool.clone());
        let recorded = self.record(Message::ToolResult(ToolResultMessage {
            tool_call_id,
            tool_name,
            content,
            details,
            is_error,
            timestamp: self.now(),
        }));
        self.announce(&recorded);
        if let Some(call) = self.batch(number).and_then(|batch| batch.calls.get_mut(index)) {
            call.result = Some(recorded.message);
        }
    }

    /// Records the results that are not recorded yet and closes the turn once every call has ended.
    fn finish_batch(&mut self, number: u64) {
        let Some(batch) = self.batch(number) else { return };
        if batch.calls.iter().any(|call| call.outcome.is_none()) {
            return;
        }
        for index in 0..batch.calls.len() {
            if self.batch(number).is_some_and(|batch| batch.calls[index].result.is_none()) {
                self.record_result(number, index);
            }
        }
        let Some(batch) = self.batch(number) else { return };
        let results = batch.calls.iter_mut().filter_map(|call| call.result.take()).collect();
        let message = Arc::clone(&batch.message);
        self.set_phase(Phase::Deciding);
        self.end_turn(message, results);
    }

    fn batch(&mut self, number: u64) -> Option<&mut Batch> {
        match &mut self.run.as_mut()?.phase {
            Phase::Tools(batch) if batch.number == number => Some(batch),
            _ => None,
        }
    }
}

/// Returns the callback by which a tool reports. Only the newest report is kept, so a tool that reports faster than
/// the client reads costs no memory; a signal that finds the channel full may be lost, the report is not.
fn reporter(
    number: u64,
    index: usize,
    slot: Arc<Mutex<Option<Progress>>>,
    inputs: mpsc::Sender<Input>,
) -> Arc<dyn Fn(Progress) + Send + Sync> {
    Arc::new(move |progress| {
        slot.lock().unwrap_or_else(PoisonError::into_inner).replace(progress);
        let _ = inputs.try_send(Input::Tool { number, index, step: ToolStep::Progress });
    })
}

fn take(slot: &Mutex<Option<Progress>>) -> Option<Progress> {
    slot.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Returns a while after `cancel` was cancelled.
async fn overdue(cancel: CancellationToken) {
    cancel.cancelled().await;
    tokio::time::sleep(STOP_GRACE).await;
}

fn failure(text: String) -> Outcome {
    Outcome { content: vec![Content::text(text)], details: Some(json!({})), is_error: true }
}
