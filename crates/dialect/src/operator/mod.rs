//! The dialects `operator` and `operator-flat`: the RPC server of operator-use, as in its document and as in its code.
//!
//! The two agree on commands, events and messages. In the document a response is sent when the command has been carried
//! out, commands run one at a time, and events are wrapped; in the code a prompt is acknowledged immediately and events
//! are flat.

mod commands;
mod events;
mod message_ids;
mod messages;
pub(crate) mod options;
mod records;
mod replies;
mod run_memory;
mod streamed_answer;
mod user_interface;

use std::sync::Arc;

use bowline_core::SessionTag;
use bowline_core::command::Origin;
use bowline_core::event::Event;
use bowline_core::policy::{
    AbortAnswer, CompactionAnswer, EndOfInput, ForkPoint, Order, Policy, PromptAnswer, Questions,
    TruncatedAnswers, WhileRunning,
};
use bowline_core::reply::{Answer, Reply};
use bowline_wire::{Line, Record};

use crate::decode::Problem;
use crate::envelope::flat::Flat;
use crate::protocol::{Answered, Id, Protocol};
use crate::schema::Describe;
use crate::{Dialect, Incoming, single_session};
use user_interface::UserInterface;

/// The definition of the protocol in the document.
pub(crate) const PROTOCOL: Protocol = Protocol {
    dialect: "operator",
    envelope: &Flat { response: Describe::new(replies::schema), optional_data: &[] },
    commands: commands::TABLE,
    answers: &[],
    id: Id::Anything,
    answered: Answered::All,
    records: Describe::new(records::wrapped),
    unsupported: &[],
    capabilities: &["entry_ids", "joined_deltas"],
};

/// The definition of the protocol in the code.
pub(crate) const FLAT_PROTOCOL: Protocol = Protocol {
    dialect: "operator-flat",
    commands: commands::FLAT_TABLE,
    answers: &[user_interface::RESPONSE],
    records: Describe::new(records::flat),
    ..PROTOCOL
};

/// Which of the two protocols a client was written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Document,
    Code,
}

/// The dialect, with what it remembers between events.
#[derive(Debug)]
pub(crate) struct Operator {
    form: Form,
    events: events::Events,
    user_interface: UserInterface,
}

impl Operator {
    pub fn new(form: Form) -> Self {
        Self { form, events: events::Events::new(form), user_interface: UserInterface::default() }
    }

    fn protocol(&self) -> &'static Protocol {
        match self.form {
            Form::Document => &PROTOCOL,
            Form::Code => &FLAT_PROTOCOL,
        }
    }
}

impl Dialect for Operator {
    fn policy(&self) -> Policy {
        let shared = Policy {
            fork_point: ForkPoint::AfterEntry,
            truncated_answers: TruncatedAnswers::Kept,
            end_of_input: EndOfInput::Finishes,
            ..Policy::default()
        };
        match self.form {
            Form::Document => {
                Policy { prompt_answer: PromptAnswer::OnSettled, order: Order::OneAtATime, ..shared }
            }
            Form::Code => Policy {
                abort_answer: AbortAnswer::AtOnce,
                // The client gives up after 30 seconds, and a summary can take longer.
                compaction_answer: CompactionAnswer::WhenStarted,
                while_running: WhileRunning::AllowedButCompaction,
                // The document has no words for questions.
                questions: Questions::Asked,
                ..shared
            },
        }
    }

    fn decode(&mut self, line: Line, records: &mut Vec<Record>) -> Option<Incoming> {
        let decoded = self.protocol().decode(line).map_err(|problem| self.refuse(&problem));
        let respond = |origin: &Origin, info| replies::local(self.form, origin, info);
        single_session::forward(
            decoded,
            self.protocol(),
            respond,
            |answer| self.user_interface.decode(answer),
            records,
        )
    }

    fn event(&mut self, _session: SessionTag, event: &Event, records: &mut Vec<Record>) {
        if self.form == Form::Code {
            records.extend(self.user_interface.encode(event));
        }
        self.events.encode(event, records);
    }

    fn reply(&mut self, _session: SessionTag, reply: &Reply, records: &mut Vec<Record>) {
        if let Ok(Answer::SessionSwitched | Answer::Forked { .. }) = reply.result {
            self.events.change_session();
        }
        records.push(replies::encode(self.form, reply));
    }
}

impl Operator {
    /// Encodes the response to an invalid line, with the code's error texts.
    fn refuse(&self, problem: &Problem) -> Record {
        let failure = |id: &Option<Arc<str>>, command: &str, error: &str| {
            replies::failure(self.form, id.as_deref(), command, error)
        };
        match problem {
            Problem::Unreadable { id, reason } => failure(id, "parse", reason),
            Problem::UnknownCommand { id, name } => {
                let name = name.as_deref().unwrap_or_default();
                let command = if name.is_empty() { "unknown" } else { name };
                failure(id, command, &format!("Unknown command: '{name}'"))
            }
            Problem::BadField { origin, field, value, reason } => {
                let name = match (self.form, field.alias) {
                    (Form::Code, Some(alias)) if origin.name != "steer" && origin.name != "follow_up" => {
                        alias
                    }
                    _ => field.name,
                };
                let given = value.as_deref().filter(|value| !value.is_null() && *value != "");
                let error = match (origin.name, given.map(|value| value.as_str())) {
                    ("steer" | "follow_up" | "set_thinking_level", None) => {
                        format!("'{name}' required and session must be active")
                    }
                    ("set_thinking_level", Some(Some(level))) => format!("Unknown thinking level: '{level}'"),
                    ("set_auto_compaction", None) => format!("'{name}' required"),
                    (_, None) => format!("'{name}' is required"),
                    _ => reason.clone(),
                };
                failure(&origin.id, origin.name, &error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_refused(form: Form, line: &str, expected: &str) {
        let mut records = Vec::new();
        let incoming = Operator::new(form).decode(Line::Text(line.to_owned()), &mut records);
        assert_eq!(incoming, None);
        let [Record::Plain(bytes)] = &records[..] else { panic!("{records:?}") };
        assert_eq!(std::str::from_utf8(bytes).unwrap(), expected);
    }

    #[test]
    fn invalid_lines_are_refused_with_the_error_texts_of_the_code() {
        let check = |line, expected| check_refused(Form::Code, line, expected);
        check(
            r#"{"id":"a","type":"prompt"}"#,
            r#"{"type":"response","command":"prompt","success":false,"error":"'message' is required","id":"a"}"#,
        );
        check(
            r#"{"type":"follow_up","message":""}"#,
            r#"{"type":"response","command":"follow_up","success":false,"error":"'message' required and session must be active"}"#,
        );
        check(
            r#"{"type":"switch_session"}"#,
            r#"{"type":"response","command":"switch_session","success":false,"error":"'session_path' is required"}"#,
        );
        check(
            r#"{"type":"set_thinking_level","level":"x"}"#,
            r#"{"type":"response","command":"set_thinking_level","success":false,"error":"Unknown thinking level: 'x'"}"#,
        );
        check(
            r#"{"type":"set_auto_compaction"}"#,
            r#"{"type":"response","command":"set_auto_compaction","success":false,"error":"'enabled' required"}"#,
        );
        check(
            r#"{"type":"foo","id":7}"#,
            r#"{"type":"response","command":"foo","success":false,"error":"Unknown command: 'foo'","id":7}"#,
        );
        check(
            "[]",
            r#"{"type":"response","command":"unknown","success":false,"error":"Unknown command: ''"}"#,
        );
    }

    #[test]
    fn invalid_lines_are_refused_with_the_key_order_of_the_document() {
        check_refused(
            Form::Document,
            r#"{"id":"a","type":"prompt"}"#,
            r#"{"type":"response","command":"prompt","id":"a","success":false,"error":"'text' is required"}"#,
        );
        check_refused(
            Form::Document,
            r#"{"id":"a","type":"switch_session","session_file":7}"#,
            r#"{"type":"response","command":"switch_session","id":"a","success":false,"error":"\"session_file\" must be a string that is not empty, not 7"}"#,
        );
    }

    #[test]
    fn table_has_all_17_commands() {
        // `extension_ui_response`, the seventeenth, is an answer and not in the table; `get_protocol_info` and two about the
        // sandbox are added.
        assert_eq!(commands::TABLE.len(), 17 - 1 + 3);
    }
}
