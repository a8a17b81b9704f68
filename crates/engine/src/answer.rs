//! One call of the model and its streamed answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bowline_core::event::{Event, RunOutcome};
use bowline_core::message::{AssistantContent, AssistantMessage, Message, StopReason};
use bowline_core::policy::UndeclaredThinking;
use bowline_core::stream::{FailureKind, StreamError, StreamEvent};
use bowline_core::usage::Usage;
use bowline_llm::{Assembly, ModelRequest};
use futures_util::StreamExt;

use crate::engine::{Engine, Input};
use crate::retry::last_words;
use crate::run::Phase;
use crate::task::Task;

/// What clients read in an answer that was stopped by hand.
const ABORTED: &str = "Request was aborted";

/// What clients read when a model thinks that was not declared to.
const UNDECLARED_THINKING: &str = "The model sent signed thinking, but is not declared to reason. Set \"reasoning\": true for it in models.json.";

/// An answer that is being streamed.
#[derive(Debug)]
pub(crate) struct Answering {
    number: u64,
    assembly: Assembly,
    asked: Instant,
    first_piece: Option<Duration>,
    /// Whether clients were told that the message began.
    announced: bool,
    /// Dropping it ends the request.
    _task: Task,
}

/// What the task that reads a stream has to tell.
#[derive(Debug)]
pub enum AnswerStep {
    Events(Vec<StreamEvent>),
    Failed(StreamError),
    /// The stream is over.
    Ended,
}

impl Engine {
    /// Asks the model to go on with the conversation.
    pub(crate) fn call_model(&mut self) {
        let Some(run) = &self.run else { return };
        if run.storage_failure.is_some() {
            return self.fail_for_storage();
        }
        let Some(model) = self.model.clone() else { return };
        let request = ModelRequest {
            model: Arc::clone(&model),
            system: self.system_prompt(),
            messages: self.conversation.messages().to_vec(),
            tools: self.tool_definitions(),
            thinking: self.thinking_level,
            max_tokens: None,
            session_id: self.session.id().to_owned(),
            cache: true,
        };
        let mut stream = self.providers.stream(request);
        let number = self.next_number();
        let inputs = self.inputs.clone();
        let task = Task::spawn(async move {
            while let Some(item) = stream.next().await {
                let step = match item {
                    Ok(events) => AnswerStep::Events(events),
                    Err(error) => AnswerStep::Failed(error),
                };
                if inputs.send(Input::Answer { number, step }).await.is_err() {
                    return;
                }
            }
            let _ = inputs.send(Input::Answer { number, step: AnswerStep::Ended }).await;
        });
        let assembly = Assembly::new(model, self.now());
        let answering = Answering {
            number,
            assembly,
            asked: Instant::now(),
            first_piece: None,
            announced: false,
            _task: task,
        };
        self.set_phase(Phase::Answering(Box::new(answering)));
    }

    /// Takes in a step of the answer, unless it belongs to a call that is no longer waited for.
    pub(crate) fn answer_step(&mut self, number: u64, step: AnswerStep) {
        let Some(run) = &mut self.run else { return };
        let mut answering = match std::mem::replace(&mut run.phase, Phase::Deciding) {
            Phase::Answering(answering) if answering.number == number => answering,
            other => return run.phase = other,
        };
        match step {
            AnswerStep::Events(events) => {
                answering.first_piece.get_or_insert_with(|| self.clock.since(answering.asked));
                for event in events {
                    if self.refuses_thinking(&answering, &event) {
                        let error = StreamError::new(FailureKind::Protocol, UNDECLARED_THINKING);
                        return self.answer_failed(*answering, error);
                    }
                    self.apply(&mut answering, event);
                }
                if answering.assembly.is_done() {
                    self.answer_finished(*answering);
                } else {
                    self.set_phase(Phase::Answering(answering));
                }
            }
            AnswerStep::Failed(error) => self.answer_failed(*answering, error),
            AnswerStep::Ended => {
                let text = "the provider closed the stream before the answer was complete";
                self.answer_failed(*answering, StreamError::new(FailureKind::Cut, text));
            }
        }
    }

    /// Tells whether an event ends a block of signed thinking that this dialect's clients do not expect.
    fn refuses_thinking(&self, answering: &Answering, event: &StreamEvent) -> bool {
        let StreamEvent::BlockEnd { index, signature: Some(_) } = event else { return false };
        self.policy.undeclared_thinking == UndeclaredThinking::Refused
            && self.model.as_ref().is_some_and(|model| !model.reasoning)
            && matches!(answering.assembly.message().content.get(*index), Some(AssistantContent::Thinking(_)))
    }

    fn apply(&mut self, answering: &mut Answering, event: StreamEvent) {
        // The first event tells the provider's name of the answer, which the announcement is to carry.
        let begins = matches!(event, StreamEvent::Started { .. });
        let mut update = if begins { answering.assembly.apply(event.clone()) } else { None };
        if !answering.announced {
            answering.announced = true;
            let message = Arc::new(Message::Assistant(answering.assembly.message()));
            self.emit(Event::MessageStart(message));
        }
        if !begins {
            update = answering.assembly.apply(event);
        }
        if let Some(update) = update {
            self.emit(Event::MessageUpdate { usage: *answering.assembly.usage(), update });
        }
    }

    /// Returns an answer that is over now, with how long it took.
    fn complete(
        &self,
        answering: Answering,
        end: impl FnOnce(Assembly) -> AssistantMessage,
    ) -> AssistantMessage {
        AssistantMessage {
            duration: Some(milliseconds(self.clock.since(answering.asked))),
            time_to_first_piece: answering.first_piece.map(milliseconds),
            completed_at: Some(self.now()),
            ..end(answering.assembly)
        }
    }

    fn answer_finished(&mut self, answering: Answering) {
        let answer = self.complete(answering, Assembly::finish);
        let reason = answer.stop_reason;
        if reason == StopReason::Error {
            let text =
                answer.error_message.clone().unwrap_or_else(|| "the model refused to answer".to_owned());
            let recorded = self.record(Message::Assistant(answer));
            self.announce_end(&recorded);
            return self.turn_failed(&recorded.message, &StreamError::new(FailureKind::Rejected, text));
        }
        let calls: Vec<_> = answer.tool_calls().cloned().collect();
        let recorded = self.record(Message::Assistant(answer));
        self.announce_end(&recorded);
        let message = recorded.message;
        if let Some(run) = &mut self.run {
            let attempt = std::mem::take(&mut run.retries);
            if attempt > 0 {
                self.emit(Event::RetryEnd { success: true, attempt, final_error: None });
            }
        }
        // A call that is not on disk is not carried out: nobody could tell later what it did.
        if calls.is_empty() || self.storage_has_failed() {
            self.end_turn(message, Vec::new());
        } else {
            self.start_tools(message, calls, reason);
        }
    }

    /// Ends an answer that failed. If that ends the run, too, its text says what to do.
    fn answer_failed(&mut self, answering: Answering, mut error: StreamError) {
        let retries = self.run.as_ref().map_or(0, |run| run.retries);
        if !self.settings.retry.is_due(&error, retries + 1) {
            error.message = last_words(&error, retries);
        }
        let message = self.break_off(answering, StopReason::Error, error.message.clone());
        self.turn_failed(&message, &error);
    }

    /// Ends an answer that was stopped by hand, and the run with it.
    pub(crate) fn answer_aborted(&mut self, answering: Answering) {
        let message = self.break_off(answering, StopReason::Aborted, ABORTED.to_owned());
        self.emit(Event::TurnEnd { message, tool_results: Vec::new() });
        self.end_run(RunOutcome::Aborted);
    }

    fn break_off(&mut self, answering: Answering, reason: StopReason, error: String) -> Arc<Message> {
        let announced = answering.announced;
        let answer = self.complete(answering, |assembly| assembly.fail(reason, error));
        let recorded = self.record(Message::Assistant(answer));
        if announced {
            self.announce_end(&recorded);
        } else {
            self.announce(&recorded);
        }
        recorded.message
    }

    /// Returns an answer without content that tells why there is none.
    pub(crate) fn empty_answer(&self, stop_reason: StopReason, error: &str) -> Arc<Message> {
        let model = self.model.as_deref();
        Arc::new(Message::Assistant(AssistantMessage {
            content: Vec::new(),
            api: model.map(|model| model.api.clone()).unwrap_or_default(),
            provider: model.map(|model| model.provider.clone()).unwrap_or_default(),
            model: model.map(|model| model.id.clone()).unwrap_or_default(),
            usage: Usage::default(),
            stop_reason,
            timestamp: self.now(),
            response_id: None,
            raw_stop_reason: None,
            error_message: Some(error.to_owned()),
            duration: None,
            time_to_first_piece: None,
            completed_at: None,
        }))
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
