//! The records of events. The order in which they are written is in [`HeldBack`].

use std::sync::Arc;
use std::time::Duration;

use bowline_core::command::Queue;
use bowline_core::event::{CompactionOutcome, CompactionReason, Event, RunOutcome, ToolReport};
use bowline_core::message::{Message, StopReason};
use bowline_core::stream::Update;
use bowline_wire::{self as wire, Pieces, Record};

use super::conversation_memory::ConversationMemory;
use super::held_back::HeldBack;
use super::messages::{self, AnswerShape, MessageRecord, TAGS};
use super::records::EventRecord;
use crate::json::{self, milliseconds};
use crate::snapshot::Snapshot;

/// Encodes events.
#[derive(Debug)]
pub(super) struct Events {
    snapshot: Snapshot<AnswerShape>,
    memory: ConversationMemory,
    held_back: HeldBack,
}

impl Default for Events {
    fn default() -> Self {
        Self {
            snapshot: Snapshot::new(AnswerShape),
            memory: ConversationMemory::default(),
            held_back: HeldBack::default(),
        }
    }
}

impl Events {
    pub fn encode(&mut self, event: &Event, records: &mut Vec<Record>) {
        match event {
            Event::RunStart => {
                self.held_back.start_run(line(&EventRecord::AgentStart { r#type: "AgentStart" }), records);
            }
            Event::RunEnd { conversation, will_retry, .. } => {
                self.memory.set_conversation(conversation);
                if !will_retry {
                    self.held_back.release(records);
                }
            }
            Event::Settled { outcome, .. } => self.settle(outcome, records),
            Event::TurnStart => {
                self.held_back.start_turn(line(&EventRecord::TurnStart { r#type: "TurnStart" }), records);
            }
            Event::TurnEnd { message, tool_results } => self.end_turn(message, tool_results, records),
            Event::MessageStart(message) => self.start_message(message, records),
            Event::MessageUpdate { usage, update } => {
                self.snapshot.count(usage);
                self.update(update, records);
            }
            Event::MessageEnd { message, .. } => self.end_message(message, records),
            Event::ToolStart { call_id, tool, arguments } => {
                records.push(line(&EventRecord::ToolExecutionStart {
                    args: arguments,
                    tool_call_id: call_id,
                    tool_name: tool,
                    r#type: "ToolExecutionStart",
                }));
            }
            Event::ToolProgress { call_id, tool, arguments, partial } => {
                records.push(line(&EventRecord::ToolExecutionUpdate {
                    args: arguments,
                    partial_result: messages::content(&partial.content),
                    tool_call_id: call_id,
                    tool_name: tool,
                    r#type: "ToolExecutionUpdate",
                }));
            }
            Event::ToolEnd { call_id, tool, result, is_error, .. } => {
                records.push(tool_end(call_id, tool, result, *is_error));
            }
            Event::Delivering { queue, texts } => records.push(delivery(*queue, texts)),
            Event::RetryStart { attempt, max_attempts, delay, error } => {
                records.push(retry_start(*attempt, *max_attempts, *delay, error));
            }
            Event::RetryEnd { success, attempt, final_error } => {
                let record = line(&EventRecord::AutoRetryEnd {
                    attempt: *attempt,
                    final_error: final_error.as_deref(),
                    success: *success,
                    r#type: "AutoRetryEnd",
                });
                if *success {
                    self.held_back.end_successful_retries(record, records);
                } else {
                    records.push(record);
                }
            }
            Event::CompactionStart { reason } => {
                let (reason, r#type) = (reason.as_str(), "CompactionStart");
                records.push(line(&EventRecord::CompactionStart { reason, r#type }));
            }
            Event::CompactionEnd { reason, outcome, .. } => {
                if let CompactionOutcome::Done(result) = outcome {
                    self.memory.set_compaction(result);
                }
                records.push(compaction_end(*reason, outcome));
            }
            Event::StorageFailed { error } => {
                let (message, r#type) = (error.as_str(), "SessionPersistError");
                records.push(line(&EventRecord::SessionPersistError { message, r#type }));
            }
            // opi's clients learn of queued messages only when they are delivered.
            Event::QueueChanged { .. }
            // The protocol has no records for these.
            | Event::SummaryRetryScheduled { .. }
            | Event::SummaryRetryStart(_)
            | Event::SummaryRetryEnd
            | Event::EntryAppended { .. }
            | Event::ThinkingLevelChanged { .. }
            | Event::SessionNameChanged { .. }
            | Event::ShellOutput { .. }
            | Event::RulesBroken { .. }
            | Event::TodoReminder { .. }
            | Event::OutputChecked { .. }
            | Event::LimitWarning(_)
            | Event::RunChanges(_)
            | Event::FilesRestored(_)
            | Event::PendingChanges(_)
            | Event::Ask(_)
            | Event::AskResolved { .. }
            | Event::Local(_)
            | Event::Display { .. }
            | Event::HostCall(_)
            | Event::HostCallOver { .. }
            | Event::ExtensionFailed(_)
            | Event::ProtectedPathChanged { .. }
            | Event::Subagent(_) => {}
        }
    }

    /// Ends the run with the whole conversation, without model responses that failed or were aborted.
    fn settle(&mut self, outcome: &RunOutcome, records: &mut Vec<Record>) {
        let conversation = self.memory.take_conversation();
        let is_part = |message: &&Arc<Message>| {
            let reason = message.as_assistant().map(|answer| answer.stop_reason);
            !matches!(reason, Some(StopReason::Error | StopReason::Aborted))
        };
        let messages = conversation.iter().filter(is_part).map(|message| self.memory.message(message));
        let record = line(&EventRecord::AgentEnd {
            error_kind: outcome.error_kind(),
            error_message: outcome.error_text(),
            messages: messages.collect(),
            reason: match outcome {
                RunOutcome::Done => "completed",
                RunOutcome::Aborted => "aborted",
                RunOutcome::Failed(_) => "error",
            },
            r#type: "AgentEnd",
        });
        self.held_back.end_run(record, records);
    }

    fn end_turn(&mut self, message: &Message, tool_results: &[Arc<Message>], records: &mut Vec<Record>) {
        let results = tool_results.iter().filter_map(|message| match &**message {
            Message::ToolResult(result) => Some(messages::tool_result(result)),
            _ => None,
        });
        let record = line(&EventRecord::TurnEnd {
            message: self.memory.message(message),
            tool_results: results.collect(),
            r#type: "TurnEnd",
        });
        self.held_back.end_turn(record, records);
    }

    /// Starts a model response; the protocol has no records for other messages.
    fn start_message(&mut self, message: &Message, records: &mut Vec<Record>) {
        let Message::Assistant(answer) = message else { return };
        self.memory.start_response();
        self.snapshot.start(answer);
        let message = MessageRecord::Assistant(self.memory.answer(answer));
        let record = line(&EventRecord::MessageStart { message, r#type: "MessageStart" });
        if answer.stop_reason == StopReason::Error {
            self.held_back.hold(record);
        } else {
            records.push(record);
        }
    }

    fn end_message(&mut self, message: &Message, records: &mut Vec<Record>) {
        if message.as_assistant().is_some() {
            let message = self.memory.message(message);
            let record = line(&EventRecord::MessageEnd { message, r#type: "MessageEnd" });
            self.held_back.write_in_order(record, records);
        }
    }

    /// Applies a step of a model response, and encodes it if opi has a record for it.
    fn update(&mut self, update: &Update, records: &mut Vec<Record>) {
        match update {
            Update::TextDelta { content_index, delta } => {
                records.push(self.delta("text_delta", *content_index, delta));
            }
            Update::ThinkingDelta { content_index, delta } => {
                records.push(self.delta("thinking_delta", *content_index, delta));
            }
            Update::ThinkingStart { content_index } => {
                self.snapshot.apply(update);
                records.push(self.step("thinking_start", *content_index, None));
            }
            Update::ThinkingEnd { content_index, content } => {
                self.snapshot.apply(update);
                records.push(self.step("thinking_end", *content_index, Some(content)));
            }
            Update::ToolCallStart { content_index, id, .. } => {
                self.snapshot.apply(update);
                self.memory.start_call(*content_index, id);
            }
            Update::ToolCallDelta { content_index, delta } => {
                self.snapshot.grow(*content_index, &json::string_body(delta));
                self.memory.add_arguments(*content_index, delta);
            }
            Update::TextStart { .. } | Update::TextEnd { .. } => self.snapshot.apply(update),
            // The arguments stay as the model wrote them, unless it wrote none.
            Update::ToolCallEnd { call, .. } => {
                if !self.memory.has_arguments(&call.id) {
                    self.snapshot.apply(update);
                }
            }
        }
    }

    fn delta(&mut self, kind: &str, content_index: usize, delta: &str) -> Record {
        let body = json::string_body(delta);
        self.snapshot.grow(content_index, &body);
        let mut prefix = br#"{"assistant_event":{"content_index":"#.to_vec();
        json::write(&mut prefix, &content_index);
        prefix.extend_from_slice(br#","delta":""#);
        let mut suffix = Pieces::default();
        suffix.extend(b"\"");
        self.append_answer(kind, &mut suffix);
        wire::Delta { key: self.snapshot.key(content_index), prefix: prefix.into(), body, suffix }.into()
    }

    fn step(&self, kind: &str, content_index: usize, content: Option<&str>) -> Record {
        let mut open = br#"{"assistant_event":{"#.to_vec();
        if let Some(content) = content {
            open.extend_from_slice(br#""content":"#);
            json::write(&mut open, &content);
            open.push(b',');
        }
        open.extend_from_slice(br#""content_index":"#);
        json::write(&mut open, &content_index);
        let mut record = Pieces::from(open);
        self.append_answer(kind, &mut record);
        record.into()
    }

    /// Appends the end of every update: the response so far, twice.
    fn append_answer(&self, kind: &str, out: &mut Pieces) {
        out.extend(br#","partial":"#);
        self.snapshot.append_to("", out);
        out.extend(br#","type":""#);
        out.extend(kind.as_bytes());
        out.extend(br#""},"message":"#);
        self.snapshot.append_to(TAGS, out);
        out.extend(br#","type":"MessageUpdate"}"#);
    }
}

fn tool_end(call_id: &str, tool: &str, result: &ToolReport, is_error: bool) -> Record {
    line(&EventRecord::ToolExecutionEnd {
        details: result.details.as_ref(),
        is_error,
        result: messages::content(&result.content),
        tool_call_id: call_id,
        tool_name: tool,
        r#type: "ToolExecutionEnd",
    })
}

fn delivery(queue: Queue, texts: &[String]) -> Record {
    let (follow_up, steering): (&[String], &[String]) = match queue {
        Queue::Steering => (&[], texts),
        Queue::FollowUp => (texts, &[]),
    };
    line(&EventRecord::QueueUpdate { follow_up, steering, r#type: "QueueUpdate" })
}

fn retry_start(attempt: u32, max_attempts: u32, delay: Duration, error: &str) -> Record {
    line(&EventRecord::AutoRetryStart {
        attempt,
        delay_ms: milliseconds(delay),
        error_message: error,
        max_attempts,
        r#type: "AutoRetryStart",
    })
}

fn compaction_end(reason: CompactionReason, outcome: &CompactionOutcome) -> Record {
    let (error_message, result) = match outcome {
        CompactionOutcome::Done(result) => (None, Some((&**result).into())),
        CompactionOutcome::Aborted => (None, None),
        CompactionOutcome::Failed(text) => (Some(text.as_str()), None),
    };
    line(&EventRecord::CompactionEnd {
        aborted: *outcome == CompactionOutcome::Aborted,
        error_message,
        reason: reason.as_str(),
        result,
        r#type: "CompactionEnd",
    })
}

fn line(record: &EventRecord<'_>) -> Record {
    Record::Plain(json::to_line(record))
}
