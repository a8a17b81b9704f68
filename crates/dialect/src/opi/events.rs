//! What events look like on the wire, and in which order.
//!
//! opi's runs are simpler than the engine's: a retry is part of its turn, a run has one end, and that end comes last.
//! So what the engine says of an answer that failed before its first word is held until it is known whether it is
//! asked for again, and the end of a run until nothing more can follow.

use std::sync::Arc;
use std::time::Duration;

use bowline_core::command::Queue;
use bowline_core::event::{CompactionOutcome, Event, RunOutcome};
use bowline_core::message::{Message, StopReason};
use bowline_core::stream::Update;
use bowline_wire::{self as wire, Pieces, Record};

use super::messages::{self, AnswerShape, Known, Spoken, TAGS};
use super::records::Said;
use crate::json;
use crate::snapshot::Snapshot;

/// Encodes events, and remembers what one of them needs of earlier ones.
#[derive(Debug)]
pub(super) struct Events {
    snapshot: Snapshot<AnswerShape>,
    known: Known,
    /// The calls of the answer that is being streamed, by their blocks.
    calls: Vec<(usize, String)>,
    /// Whether a run was announced and its end was not.
    is_running: bool,
    /// Whether a turn was announced and its end was not.
    is_in_turn: bool,
    /// What there is to say of an answer that failed before its first word.
    held: Vec<Record>,
    /// The end of a series of retries, which follows the turn that it belongs to.
    retry_end: Option<Record>,
    /// The conversation at the last end of a stretch.
    conversation: Vec<Arc<Message>>,
}

impl Default for Events {
    fn default() -> Self {
        Self {
            snapshot: Snapshot::new(AnswerShape),
            known: Known::default(),
            calls: Vec::new(),
            is_running: false,
            is_in_turn: false,
            held: Vec::new(),
            retry_end: None,
            conversation: Vec::new(),
        }
    }
}

impl Events {
    pub fn encode(&mut self, event: &Event, records: &mut Vec<Record>) {
        match event {
            Event::RunStart if self.is_running => self.held.clear(),
            Event::RunStart => {
                self.is_running = true;
                records.push(line(&Said::AgentStart { r#type: "AgentStart" }));
            }
            Event::RunEnd { conversation, will_retry, .. } => {
                self.conversation.clone_from(conversation);
                if !will_retry {
                    self.let_go(records);
                }
            }
            Event::Settled(outcome) => self.settle(outcome, records),
            Event::TurnStart if self.is_in_turn => {}
            Event::TurnStart => {
                self.is_in_turn = true;
                records.push(line(&Said::TurnStart { r#type: "TurnStart" }));
            }
            Event::TurnEnd { message, tool_results } => self.end_turn(message, tool_results, records),
            Event::MessageStart(message) => self.start_message(message, records),
            Event::MessageUpdate { usage, update } => {
                self.snapshot.count(usage);
                self.update(update, records);
            }
            Event::MessageEnd { message, .. } if message.as_assistant().is_some() => {
                let message = self.known.message(message);
                let record = line(&Said::MessageEnd { message, r#type: "MessageEnd" });
                self.say_or_hold(record, records);
            }
            _ => self.encode_beside(event, records),
        }
    }

    /// Encodes what happens beside the messages.
    fn encode_beside(&mut self, event: &Event, records: &mut Vec<Record>) {
        let said = match event {
            Event::ToolStart { call_id, tool, arguments } => Said::ToolExecutionStart {
                args: arguments,
                tool_call_id: call_id,
                tool_name: tool,
                r#type: "ToolExecutionStart",
            },
            Event::ToolProgress { call_id, tool, arguments, partial } => Said::ToolExecutionUpdate {
                args: arguments,
                partial_result: messages::content(&partial.content),
                tool_call_id: call_id,
                tool_name: tool,
                r#type: "ToolExecutionUpdate",
            },
            Event::ToolEnd { call_id, tool, result, is_error, .. } => Said::ToolExecutionEnd {
                details: result.details.as_ref(),
                is_error: *is_error,
                result: messages::content(&result.content),
                tool_call_id: call_id,
                tool_name: tool,
                r#type: "ToolExecutionEnd",
            },
            Event::Delivering { queue, texts } => {
                let (follow_up, steering): (&[String], &[String]) =
                    if *queue == Queue::Steering { (&[], texts) } else { (texts, &[]) };
                Said::QueueUpdate { follow_up, steering, r#type: "QueueUpdate" }
            }
            Event::RetryStart { attempt, max_attempts, delay, error } => Said::AutoRetryStart {
                attempt: *attempt,
                delay_ms: milliseconds(*delay),
                error_message: error,
                max_attempts: *max_attempts,
                r#type: "AutoRetryStart",
            },
            Event::RetryEnd { success, attempt, final_error } => {
                let record = line(&Said::AutoRetryEnd {
                    attempt: *attempt,
                    final_error: final_error.as_deref(),
                    success: *success,
                    r#type: "AutoRetryEnd",
                });
                if *success && self.is_in_turn {
                    self.retry_end = Some(record);
                } else {
                    records.push(record);
                }
                return;
            }
            Event::CompactionStart { reason } => {
                Said::CompactionStart { reason: reason.as_str(), r#type: "CompactionStart" }
            }
            Event::CompactionEnd { reason, outcome, .. } => {
                if let CompactionOutcome::Done(result) = outcome {
                    self.known.compaction = Some(Arc::clone(result));
                }
                Said::CompactionEnd {
                    aborted: *outcome == CompactionOutcome::Aborted,
                    error_message: if let CompactionOutcome::Failed(text) = outcome {
                        Some(text)
                    } else {
                        None
                    },
                    reason: reason.as_str(),
                    result: if let CompactionOutcome::Done(result) = outcome {
                        Some((&**result).into())
                    } else {
                        None
                    },
                    r#type: "CompactionEnd",
                }
            }
            // opi's clients hear of no other messages than the model's, and of queues only when they are taken from.
            _ => return,
        };
        records.push(line(&said));
    }

    /// Says what was held back.
    fn let_go(&mut self, records: &mut Vec<Record>) {
        if !self.held.is_empty() {
            self.is_in_turn = false;
            records.append(&mut self.held);
        }
    }

    /// Says that the run is over, with the whole conversation; answers that failed or were stopped are no part of it.
    fn settle(&mut self, outcome: &RunOutcome, records: &mut Vec<Record>) {
        self.let_go(records);
        self.is_running = false;
        let conversation = std::mem::take(&mut self.conversation);
        self.forget_arguments(&conversation);
        let counts = |message: &&Arc<Message>| {
            let reason = message.as_assistant().map(|answer| answer.stop_reason);
            !matches!(reason, Some(StopReason::Error | StopReason::Aborted))
        };
        let messages = conversation.iter().filter(counts).map(|message| self.known.message(message));
        records.push(line(&Said::AgentEnd {
            error_message: if let RunOutcome::Failed(text) = outcome { Some(text) } else { None },
            messages: messages.collect(),
            reason: match outcome {
                RunOutcome::Done => "completed",
                RunOutcome::Aborted => "aborted",
                RunOutcome::Failed(_) => "error",
            },
            r#type: "AgentEnd",
        }));
    }

    /// Forgets how the calls were written that are no longer part of the conversation.
    fn forget_arguments(&mut self, conversation: &[Arc<Message>]) {
        let answers = conversation.iter().filter_map(|message| message.as_assistant());
        let calls = answers.flat_map(|answer| answer.tool_calls());
        let ids: std::collections::HashSet<_> = calls.map(|call| call.id.as_str()).collect();
        self.known.arguments.retain(|id, _| ids.contains(id.as_str()));
    }

    fn end_turn(&mut self, message: &Message, tool_results: &[Arc<Message>], records: &mut Vec<Record>) {
        let results = tool_results.iter().filter_map(|message| match &**message {
            Message::ToolResult(result) => Some(messages::tool_result(result)),
            _ => None,
        });
        let record = line(&Said::TurnEnd {
            message: self.known.message(message),
            tool_results: results.collect(),
            r#type: "TurnEnd",
        });
        if self.held.is_empty() {
            self.is_in_turn = false;
        }
        self.say_or_hold(record, records);
        records.extend(self.retry_end.take());
    }

    fn start_message(&mut self, message: &Message, records: &mut Vec<Record>) {
        let Message::Assistant(answer) = message else { return };
        self.calls.clear();
        self.snapshot.start(answer);
        let message = Spoken::Assistant(self.known.answer(answer));
        let record = line(&Said::MessageStart { message, r#type: "MessageStart" });
        if answer.stop_reason == StopReason::Error {
            self.held.push(record);
        } else {
            records.push(record);
        }
    }

    fn say_or_hold(&mut self, record: Record, records: &mut Vec<Record>) {
        if self.held.is_empty() { records.push(record) } else { self.held.push(record) }
    }

    /// Takes in a step of an answer, and tells of it if it is one of those that opi tells of.
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
                self.calls.push((*content_index, id.clone()));
                self.known.arguments.insert(id.clone(), String::new());
            }
            Update::ToolCallDelta { content_index, delta } => {
                self.snapshot.grow(*content_index, &json::string_body(delta));
                let call = self.calls.iter().find(|(index, _)| index == content_index);
                if let Some(written) = call.and_then(|(_, id)| self.known.arguments.get_mut(id)) {
                    written.push_str(delta);
                }
            }
            Update::TextStart { .. } | Update::TextEnd { .. } => self.snapshot.apply(update),
            // The arguments stay as the model wrote them, unless it wrote none.
            Update::ToolCallEnd { call, .. } => {
                if self.known.arguments.get(&call.id).is_none_or(|written| written.trim().is_empty()) {
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
        let mut begun = br#"{"assistant_event":{"#.to_vec();
        if let Some(content) = content {
            begun.extend_from_slice(br#""content":"#);
            json::write(&mut begun, &content);
            begun.push(b',');
        }
        begun.extend_from_slice(br#""content_index":"#);
        json::write(&mut begun, &content_index);
        let mut record = Pieces::from(begun);
        self.append_answer(kind, &mut record);
        record.into()
    }

    /// Appends what every update ends with: the answer so far, twice.
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

fn line(said: &Said<'_>) -> Record {
    Record::Plain(json::to_line(said))
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
