//! One call of the model and its streamed answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bowline_core::ErrorKind;
use bowline_core::event::{Event, Failure, RunOutcome};
use bowline_core::hook::{HookEvent, HookKind};
use bowline_core::message::{AssistantContent, AssistantMessage, Message, StopReason, ToolCall};
use bowline_core::policy::UndeclaredThinking;
use bowline_core::stream::{FailureKind, StreamError, StreamEvent};
use bowline_core::stream_rule::StreamRule;
use bowline_core::usage::Usage;
use bowline_llm::{Assembly, ModelRequest, Routed};
use futures_util::StreamExt;

use super::Session;
use super::hook_points::{FinishedAnswer, HookPoint};
use crate::expected_output::ExpectedOutput;
use crate::hook_lane::AfterLane;
use crate::input::Step;
use crate::pending::Awaited;
use crate::retry_delay::final_error;
use crate::run::{Answering, Phase, Run};
use crate::tool_call_states::Batch;

/// What clients read in an answer that was aborted.
const ABORTED: &str = "Request was aborted";

/// What clients read when a model thinks that was not declared to.
const UNDECLARED_THINKING: &str = "The model sent signed thinking, but is not declared to reason. Set \"reasoning\": true for it in models.json.";

/// What the task that reads a stream reports.
#[derive(Debug)]
pub(crate) enum AnswerStep {
    Events(Vec<StreamEvent>),
    Failed(StreamError),
    /// A virtual model has chosen the model that answers.
    Routed(Routed),
    /// The stream ended.
    Ended,
}

impl Session {
    /// Calls the model to go on with the conversation, once extensions have seen all events so far.
    pub(super) fn call_model(&mut self) {
        self.after_events_shown(AfterLane::CallModel);
    }

    pub(super) fn call_model_now(&mut self) {
        let Some(run) = self.activity.run_mut() else { return };
        let is_aborted = run.is_aborted();
        if run.storage_failure().is_some() {
            return self.fail_for_storage();
        }
        // A change of model takes effect with the next call.
        if let Some(model) = self.models.current() {
            run.set_model(Arc::clone(model));
        }
        let model = Arc::clone(run.model());
        if self.agent.providers().is_virtual(&model) {
            self.ask_for_route(model);
        } else {
            let thinking = self.models.level();
            self.request_answer(Routed { model, thinking }, false);
        }
        if is_aborted {
            self.abort_run();
        }
    }

    /// Sends a request to a model. The answer says the level if the model `is_routed`: nothing else does then.
    pub(super) fn request_answer(&mut self, routed: Routed, is_routed: bool) {
        let Routed { model, thinking } = routed;
        if let Some(run) = self.run_mut() {
            run.set_failed_answer(None);
        }
        let system = self.system_prompt();
        let unread_rules = self.watch_next_answer();
        let expected = self.run().and_then(Run::output);
        let output_schema = expected.map(|expected| Arc::new(expected.schema().clone()));
        let output_instructions = expected.map(ExpectedOutput::instructions);
        let mut request = ModelRequest {
            model: Arc::clone(&model),
            system: Arc::default(),
            messages: self.transcript.messages().to_vec(),
            tools: self.instructions.definitions(),
            thinking,
            max_tokens: None,
            session_id: self.transcript.session_id().to_owned(),
            cache: true,
            options: self.agent.settings().request_options,
            output_schema,
        };
        let providers = self.agent.providers().clone();
        let changes = self.instructions.run_changes();
        let hooks = self.request_hooks();
        let id = self.pending.start(Awaited::Answer, |reporter| async move {
            request.system = system.build(&reporter).await.with_changes(changes.as_deref());
            if let Some(instructions) = output_instructions {
                request.system = format!("{}\n\n{instructions}", request.system).trim_start().into();
            }
            if let Some(unread) = unread_rules {
                unread.read(&reporter).await;
            }
            let hooks = match hooks {
                Some(hooks) => hooks.apply(&mut request, &reporter).await,
                None => None,
            };
            let mut stream = providers.stream_with(request, hooks);
            while let Some(item) = stream.next().await {
                let step = match item {
                    Ok(events) => AnswerStep::Events(events),
                    Err(error) => AnswerStep::Failed(error),
                };
                if !reporter.send(Step::Answer(step)).await {
                    return;
                }
            }
            reporter.send(Step::Answer(AnswerStep::Ended)).await;
        });
        let mut assembly = Assembly::new(model, self.now());
        if is_routed {
            assembly.set_thinking_level(thinking);
        }
        let asked = Instant::now();
        let answering = Answering { id, assembly, asked, first_piece: None, is_announced: false };
        self.set_phase(Phase::Answering(Box::new(answering)));
    }

    /// Handles a step of the answer.
    pub(super) fn answer_step(&mut self, step: AnswerStep) {
        let Some(mut answering) = self.run_mut().and_then(Run::take_answering) else { return };
        match step {
            AnswerStep::Events(events) => {
                answering.first_piece.get_or_insert_with(|| self.agent.clock().since(answering.asked));
                for event in events {
                    if self.refuses_thinking(&answering, &event) {
                        let error = StreamError::new(FailureKind::Protocol, UNDECLARED_THINKING);
                        return self.answer_failed(answering, error);
                    }
                    let broken = self.apply(&mut answering, event);
                    if !broken.is_empty() {
                        return self.interrupt_for_rules(answering, &broken);
                    }
                }
                if answering.assembly.is_done() {
                    self.answer_finished(answering);
                } else {
                    self.set_phase(Phase::Answering(Box::new(answering)));
                }
            }
            AnswerStep::Failed(error) => self.answer_failed(answering, error),
            AnswerStep::Routed(routed) => self.request_routed(answering, routed),
            AnswerStep::Ended => {
                let text = "the provider closed the stream before the answer was complete";
                self.answer_failed(answering, StreamError::new(FailureKind::Incomplete, text));
            }
        }
    }

    /// Tells whether an event ends a block of signed thinking that this dialect's clients do not expect.
    fn refuses_thinking(&self, answering: &Answering, event: &StreamEvent) -> bool {
        let StreamEvent::BlockEnd { index, signature: Some(_) } = event else { return false };
        self.agent.policy().undeclared_thinking == UndeclaredThinking::Refused
            && self.run().is_some_and(|run| !run.model().reasoning)
            && matches!(answering.assembly.block(*index), Some(AssistantContent::Thinking(_)))
    }

    /// Applies an event, and returns the rules for which the answer is to be interrupted.
    fn apply(&mut self, answering: &mut Answering, event: StreamEvent) -> Vec<Arc<StreamRule>> {
        // The first event has the provider's id of the answer, which the announcement is to carry.
        let begins = matches!(event, StreamEvent::Started { .. });
        let mut update = if begins { answering.assembly.apply(event.clone()) } else { None };
        if !answering.is_announced {
            answering.is_announced = true;
            let message = Arc::new(Message::Assistant(answering.assembly.message()));
            self.emit(Event::MessageStart(message));
        }
        if !begins {
            update = answering.assembly.apply(event);
        }
        let Some(update) = update else { return Vec::new() };
        let broken = self.rules.observe(&update, &self.agent.settings().stream_rules);
        self.emit(Event::MessageUpdate { usage: *answering.assembly.usage(), update });
        if !broken.mentioned.is_empty() {
            self.emit(Event::RulesBroken { rules: broken.mentioned });
        }
        broken.interrupting
    }

    /// Ends the task of an answer and returns the message, with how long it took.
    fn complete(
        &mut self,
        answering: Answering,
        end: impl FnOnce(Assembly) -> AssistantMessage,
    ) -> AssistantMessage {
        self.pending.remove(answering.id);
        AssistantMessage {
            duration: Some(milliseconds(self.agent.clock().since(answering.asked))),
            time_to_first_piece: answering.first_piece.map(milliseconds),
            completed_at: Some(self.now()),
            ..end(answering.assembly)
        }
    }

    fn answer_finished(&mut self, answering: Answering) {
        let refusals = answering.assembly.refused_calls();
        let mut answer = self.complete(answering, Assembly::finish);
        let reason = answer.stop_reason;
        if reason == StopReason::Error {
            let text =
                answer.error_message.clone().unwrap_or_else(|| "the model refused to answer".to_owned());
            answer.error_kind = Some(ErrorKind::Refused);
            let recorded = self.record(Message::Assistant(answer));
            self.announce_end(&recorded);
            return self.turn_failed(&recorded.message, &StreamError::new(FailureKind::Rejected, text));
        }
        let calls = answer.tool_calls().cloned().collect();
        let message = Arc::new(Message::Assistant(answer));
        let finished = FinishedAnswer { message: Arc::clone(&message), calls, refusals, reason };
        if self.is_awaited(HookKind::MessageEnd, None) {
            self.call_extensions(HookEvent::MessageEnd(message), HookPoint::Answer(finished));
        } else {
            self.answer_hooked(finished);
        }
    }

    /// Records a complete answer and carries out its calls.
    pub(super) fn answer_hooked(&mut self, finished: FinishedAnswer) {
        let FinishedAnswer { message, calls: told, refusals, reason } = finished;
        let calls: Vec<_> =
            message.as_assistant().map(|answer| answer.tool_calls().cloned().collect()).unwrap_or_default();
        // An extension may have changed which calls there are.
        let refusal_of = |call: &ToolCall| {
            let place = told.iter().position(|told| told.id == call.id)?;
            refusals.get(place).cloned().flatten()
        };
        let refusals = calls.iter().map(refusal_of).collect();
        let recorded = self.record(Arc::unwrap_or_clone(message));
        self.announce_hooked_end(&recorded);
        let message = recorded.message;
        let attempt = self.run_mut().map_or(0, Run::take_retries);
        if attempt > 0 {
            self.emit(Event::RetryEnd { success: true, attempt, final_error: None });
        }
        // A call that is not on disk is not carried out: nobody could tell later what it did.
        if calls.is_empty() || self.has_storage_failed() {
            self.end_turn(message, Vec::new());
        } else {
            self.start_tools(Batch::new(message, calls, refusals, reason));
        }
    }

    /// Ends an answer that failed. If that ends the run too, its text says what to do.
    pub(super) fn answer_failed(&mut self, answering: Answering, mut error: StreamError) {
        let retries = self.run().map_or(0, Run::retries);
        if !self.retry_settings().is_due(&error, retries + 1) {
            error.message = final_error(&error, retries);
        }
        let message = self.interrupt(answering, StopReason::Error, Failure::from(&error));
        self.turn_failed(&message, &error);
    }

    /// Ends an answer that was aborted, and the run with it.
    pub(super) fn answer_aborted(&mut self, answering: Answering) {
        let (reason, failure, outcome) = match self.run().and_then(Run::stop_failure).cloned() {
            Some(failure) => (StopReason::Error, failure.clone(), RunOutcome::Failed(failure)),
            None => (StopReason::Aborted, Failure::new(ErrorKind::Aborted, ABORTED), RunOutcome::Aborted),
        };
        let message = self.interrupt(answering, reason, failure);
        self.emit(Event::TurnEnd { message, tool_results: Vec::new() });
        self.end_run(outcome);
    }

    /// Records as much of an answer as there is.
    pub(super) fn interrupt(
        &mut self,
        answering: Answering,
        reason: StopReason,
        failure: Failure,
    ) -> Arc<Message> {
        let is_announced = answering.is_announced;
        let answer = self.complete(answering, |assembly| assembly.fail(reason, failure));
        let recorded = self.record(Message::Assistant(answer));
        if is_announced {
            self.announce_end(&recorded);
        } else {
            self.announce(&recorded);
        }
        recorded.message
    }

    /// Returns an answer without content that carries an error.
    pub(super) fn failed_answer(&self, failure: &Failure) -> Arc<Message> {
        let model = self.run().map(Run::model).or_else(|| self.models.current());
        Arc::new(Message::Assistant(AssistantMessage {
            content: Vec::new(),
            api: model.map(|model| model.api.clone()).unwrap_or_default(),
            provider: model.map(|model| model.provider.clone()).unwrap_or_default(),
            model: model.map(|model| model.id.clone()).unwrap_or_default(),
            thinking_level: None,
            usage: Usage::default(),
            stop_reason: StopReason::Error,
            timestamp: self.now(),
            response_id: None,
            raw_stop_reason: None,
            error_message: Some(failure.text.clone()),
            error_kind: Some(failure.kind),
            duration: None,
            time_to_first_piece: None,
            completed_at: None,
        }))
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
