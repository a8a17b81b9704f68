//! The dialect `opi`: the protocol of `opi --rpc`, version 0.5, whose `schema_version` is 2.
//!
//! The response to a prompt is sent when the prompt is accepted; every update repeats the model response so far, twice.
//! Keys are in alphabetical order, as in opi.

mod commands;
mod conversation_memory;
mod events;
mod held_back;
mod messages;
mod records;
mod replies;
mod thinking;

use std::sync::Arc;

use bowline_core::SessionTag;
use bowline_core::command::{Command, QueueMode, Request};
use bowline_core::event::Event;
use bowline_core::policy::{
    AbortAnswer, IdleQueue, Policy, StateDetail, TruncatedAnswers, UndeclaredLevels, UndeclaredThinking,
    WhileCompacting, WhileRunning,
};
use bowline_core::reply::Reply;
use bowline_wire::{Line, Record};
use serde_json::Value;

use crate::decode::{Decoded, Problem};
use crate::envelope::ONE_OBJECT;
use crate::envelope::flat::Flat;
use crate::protocol::{Answered, Id, Protocol};
use crate::schema::Describe;
use crate::{Dialect, Incoming, OtherTool, single_session};

/// The emulated version of opi.
pub(crate) const VERSION: &str = "0.5.0";

/// The version of the protocol, in the first record.
const SCHEMA_VERSION: u32 = 2;

/// The tools of opi that bowline does not have.
pub(crate) const OTHER_TOOLS: &[OtherTool] = &[OtherTool { name: "glob", instead: Some("find") }];

/// The definition of the protocol.
pub(crate) const PROTOCOL: Protocol = Protocol {
    dialect: "opi",
    envelope: &Flat { response: Describe::new(replies::schema), optional_data: &[] },
    commands: commands::TABLE,
    answers: &[],
    id: Id::Text,
    answered: Answered::All,
    records: Describe::new(records::records),
    unsupported: &[],
    capabilities: &["joined_deltas", "run_errors", "search_tools_when_mutating"],
};

/// The dialect, with what it remembers between events.
#[derive(Debug, Default)]
pub(crate) struct Opi {
    events: events::Events,
}

impl Dialect for Opi {
    fn policy(&self) -> Policy {
        Policy {
            abort_answer: AbortAnswer::AtOnce,
            idle_queue: IdleQueue::WaitsForTurn,
            while_running: WhileRunning::Refused,
            while_compacting: WhileCompacting::EverythingWaits,
            state_detail: StateDetail::WithInstructions,
            undeclared_thinking: UndeclaredThinking::Refused,
            undeclared_levels: UndeclaredLevels::Declare,
            truncated_answers: TruncatedAnswers::Kept,
            steering_mode: QueueMode::All,
            thinking_budgets: thinking::BUDGETS,
            ..Policy::default()
        }
    }

    fn opening(&mut self, records: &mut Vec<Record>) {
        records.push(replies::ready(SCHEMA_VERSION, VERSION));
    }

    fn decode(&mut self, line: Line, records: &mut Vec<Record>) -> Option<Incoming> {
        let decoded = PROTOCOL.decode(line).map_err(Refused::from).and_then(checked);
        single_session::forward(
            decoded.map_err(|refused| refused.record()),
            &PROTOCOL,
            replies::local,
            single_session::unasked,
            records,
        )
    }

    fn event(&mut self, _session: SessionTag, event: &Event, records: &mut Vec<Record>) {
        self.events.encode(event, records);
    }

    fn reply(&mut self, _session: SessionTag, reply: &Reply, records: &mut Vec<Record>) {
        records.push(replies::encode(reply));
    }
}

/// Why a line was refused, with opi's error text.
struct Refused {
    id: Option<Arc<str>>,
    command: &'static str,
    error: String,
}

impl Refused {
    fn record(&self) -> Record {
        // A client that uses ids expects them to be strings.
        let id = self.id.as_deref().filter(|id| id.starts_with('"'));
        replies::failure(id, self.command, &self.error)
    }

    /// A line that opi's parser rejects.
    fn unreadable(id: Option<Arc<str>>, reason: &str) -> Self {
        Self { id, command: "parse", error: format!("failed to parse command: {reason}") }
    }
}

/// Checks what opi's parser checks besides fields: that an id is a string, and the form of a model's name.
fn checked(mut decoded: Decoded) -> Result<Decoded, Refused> {
    match &mut decoded {
        Decoded::Request(Request { origin, .. })
        | Decoded::Quit(origin)
        | Decoded::ProtocolInfo(origin)
        | Decoded::Own { origin, .. }
        | Decoded::Negotiated { origin, .. } => {
            origin.id = checked_id(origin.id.take())?;
        }
        Decoded::Answer(_) => {}
    }
    if let Decoded::Request(Request { origin, command: Command::SetModel { provider, id } }) = &decoded
        && (provider.is_empty() || id.is_empty())
    {
        let error = "invalid model spec: expected provider:model".to_owned();
        return Err(Refused { id: origin.id.clone(), command: origin.name, error });
    }
    Ok(decoded)
}

fn checked_id(id: Option<Arc<str>>) -> Result<Option<Arc<str>>, Refused> {
    match id.as_deref() {
        None | Some("null") => Ok(None),
        Some(text) if text.starts_with('"') => Ok(id),
        Some(text) => {
            let value = serde_json::from_str(text).unwrap_or_default();
            let reason = format!("invalid type: {}, expected a string", kind_of(&value));
            Err(Refused::unreadable(id, &reason))
        }
    }
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        match problem {
            // opi's parser says no more than what is wrong.
            Problem::Unreadable { id, reason } => {
                Self::unreadable(id, reason.strip_suffix(ONE_OBJECT).unwrap_or(&reason))
            }
            Problem::UnknownCommand { id, name: None } => Self::unreadable(id, "missing field `type`"),
            Problem::UnknownCommand { id, name: Some(name) } => {
                let names: Vec<_> = commands::TABLE.iter().map(|row| format!("`{}`", row.name)).collect();
                let reason = format!("unknown variant `{name}`, expected one of {}", names.join(", "));
                Self::unreadable(id, &reason)
            }
            Problem::BadField { origin, field, value, .. } => match (origin.name, value.as_deref()) {
                ("set_thinking_level", Some(Value::String(level))) => {
                    let expected = thinking::level_list();
                    let error = format!("invalid thinking level '{level}': expected {expected}");
                    Self { id: origin.id, command: origin.name, error }
                }
                (_, None) => Self::unreadable(origin.id, &format!("missing field `{}`", field.name)),
                (_, Some(value)) => {
                    let reason = format!("invalid type: {}, expected a string", kind_of(value));
                    Self::unreadable(origin.id, &reason)
                }
            },
        }
    }
}

/// Returns the name of a value in the error texts of opi's parser.
fn kind_of(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("boolean `{value}`"),
        Value::Number(number) if number.is_f64() => format!("floating point `{number}`"),
        Value::Number(number) => format!("integer `{number}`"),
        Value::String(text) => format!("string {text:?}"),
        Value::Array(_) => "sequence".to_owned(),
        Value::Object(_) => "map".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_refused(line: &str, expected: &str) {
        let mut records = Vec::new();
        assert_eq!(Opi::default().decode(Line::Text(line.to_owned()), &mut records), None);
        let [Record::Plain(bytes)] = &records[..] else { panic!("{records:?}") };
        assert_eq!(std::str::from_utf8(bytes).unwrap(), expected);
    }

    #[test]
    fn invalid_lines_are_refused_with_the_errors_of_opi_s_parser() {
        let check = |line, id: &str, reason: &str| {
            let expected = format!(
                r#"{{"command":"parse","error":"failed to parse command: {reason}",{id}"success":false,"type":"response"}}"#
            );
            check_refused(line, &expected);
        };
        check("not json", "", "expected ident at line 1 column 2");
        check(r#"{"id":"a"}"#, r#""id":"a","#, "missing field `type`");
        check(r#"{"type":"abort","id":7}"#, "", "invalid type: integer `7`, expected a string");
        check(r#"{"type":"prompt","id":"p"}"#, r#""id":"p","#, "missing field `message`");
        check(r#"{"type":"steer","message":true}"#, "", "invalid type: boolean `true`, expected a string");
        check(
            r#"{"type":"fly","id":"x"}"#,
            r#""id":"x","#,
            "unknown variant `fly`, expected one of `prompt`, `continue`, `steer`, `follow_up`, `abort`, `set_model`, `set_thinking_level`, `compact`, `session_info`, `quit`, `get_protocol_info`, `get_sandbox`, `set_sandbox`",
        );
    }

    #[test]
    fn invalid_values_are_refused_as_errors_of_the_command() {
        check_refused(
            r#"{"type":"set_model","model":"m1","id":"m"}"#,
            r#"{"command":"set_model","error":"invalid model spec: expected provider:model","id":"m","success":false,"type":"response"}"#,
        );
        check_refused(
            r#"{"type":"set_thinking_level","level":"max","id":null}"#,
            r#"{"command":"set_thinking_level","error":"invalid thinking level 'max': expected off, low, medium, or high","success":false,"type":"response"}"#,
        );
    }

    #[test]
    fn quit_is_answered_first() {
        let mut records = Vec::new();
        let line = Line::Text(r#"{"type":"quit","id":"q"}"#.to_owned());
        assert_eq!(Opi::default().decode(line, &mut records), Some(Incoming::Quit));
        let expected = br#"{"command":"quit","id":"q","success":true,"type":"response"}"#;
        assert_eq!(records, [Record::Plain(expected.to_vec())]);
    }
}
