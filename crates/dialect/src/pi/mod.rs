//! The dialect `pi`: the current generation of `pi --mode rpc`.
//!
//! Every command gets exactly one `response`, and model responses are streamed as deltas only.

mod commands;
mod events;

use bowline_core::SessionTag;
use bowline_core::event::Event;
use bowline_core::policy::{Policy, Questions};
use bowline_core::reply::Reply;
use bowline_wire::{Line, Record};
use schemars::{Schema, SchemaGenerator};

use crate::envelope::flat::Flat;
use crate::family::approvals::ApprovalRecord;
use crate::family::host::{ANSWERS, HostCalls};
use crate::family::state_cache::StateCache;
use crate::family::subagents::{SubagentRecord, SubagentRecords};
use crate::family::user_interface::{Style, UserInterface};
use crate::family::{data, responses};
use crate::protocol::{Answered, Id, Protocol};
use crate::schema::{Describe, variants};
use crate::{Dialect, Incoming, single_session};

/// The definition of the protocol.
pub(crate) const PROTOCOL: Protocol = Protocol {
    dialect: "pi",
    envelope: &Flat { response: Describe::new(responses::schema), optional_data: &[] },
    commands: commands::TABLE,
    answers: ANSWERS,
    id: Id::Anything,
    answered: Answered::All,
    records: Describe::new(records),
    unsupported: &[],
    capabilities: &["disposition", "entry_ids", "error_codes", "joined_deltas", "settled_error"],
};

fn records(generator: &mut SchemaGenerator) -> Vec<Schema> {
    let mut records = events::records(generator);
    records.extend(variants::<SubagentRecord<'_>>(generator));
    records.extend(variants::<ApprovalRecord<'_>>(generator));
    records
}

/// The dialect, with what it remembers between events and replies.
#[derive(Debug)]
pub(crate) struct Pi {
    events: events::Events,
    subagents: SubagentRecords<events::Events>,
    state_cache: StateCache,
    user_interface: UserInterface,
    host_calls: HostCalls,
}

impl Default for Pi {
    fn default() -> Self {
        Self {
            subagents: SubagentRecords::default(),
            events: events::Events::default(),
            state_cache: StateCache::default(),
            user_interface: UserInterface::new(Style::Pi),
            host_calls: HostCalls::new(Style::Pi),
        }
    }
}

impl Dialect for Pi {
    fn policy(&self) -> Policy {
        Policy { questions: Questions::Asked, ..Policy::default() }
    }

    fn decode(&mut self, line: Line, records: &mut Vec<Record>) -> Option<Incoming> {
        let decoded = PROTOCOL.decode(line).map_err(|problem| responses::refuse(&problem));
        single_session::forward(
            decoded,
            &PROTOCOL,
            responses::local,
            |answer| self.user_interface.decode(answer).or_else(|| self.host_calls.decode(answer)),
            records,
        )
    }

    fn event(&mut self, _session: SessionTag, event: &Event, records: &mut Vec<Record>) {
        if let Event::Subagent(event) = event {
            let encode = |events: &mut events::Events, event: &Event, records: &mut Vec<Record>| {
                records.extend(events.encode(event));
            };
            return self.subagents.encode(event, events::Events::default, encode, records);
        }
        records.extend(match event {
            Event::Ask(_) | Event::AskResolved { .. } | Event::Display { .. } => {
                self.user_interface.encode(event)
            }
            Event::HostCall(_) | Event::HostCallOver { .. } => self.host_calls.encode(event),
            event => self.events.encode(event),
        });
    }

    fn reply(&mut self, _session: SessionTag, reply: &Reply, records: &mut Vec<Record>) {
        records.push(responses::encode(reply, |answer| data::data(answer, &mut self.state_cache)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the record that a line is answered with, unless it is for the engine.
    fn refusal(line: &str) -> Option<String> {
        let mut records = Vec::new();
        let incoming = Pi::default().decode(Line::Text(line.to_owned()), &mut records);
        match (incoming, records.pop()) {
            (None, Some(Record::Plain(bytes))) => Some(String::from_utf8(bytes).unwrap()),
            _ => None,
        }
    }

    #[track_caller]
    fn check_refused(line: &str, expected: &str) {
        assert_eq!(refusal(line).as_deref(), Some(expected));
    }

    #[test]
    fn invalid_lines_are_refused_with_id_and_command_if_known() {
        check_refused(
            r#"{"id":5,"type":"bogus"}"#,
            r#"{"id":5,"type":"response","command":"bogus","success":false,"error":"Unknown command: bogus","code":"unknown_command"}"#,
        );
        for line in ["null", "[]", "42", "\"x\"", "{}", "true", "[[],{}]", "1.5", "-1"] {
            check_refused(
                line,
                r#"{"type":"response","success":false,"error":"Unknown command: undefined","code":"unknown_command"}"#,
            );
        }
        check_refused(
            r#"{"id":"a","type":"prompt"}"#,
            r#"{"id":"a","type":"response","command":"prompt","success":false,"error":"prompt: \"message\" is missing; it must be a string","code":"invalid_argument"}"#,
        );
        check_refused(
            r#"{"type":"set_steering_mode","mode":"weird"}"#,
            r#"{"type":"response","command":"set_steering_mode","success":false,"error":"set_steering_mode: \"mode\" must be one of \"all\", \"one-at-a-time\", not \"weird\"","code":"invalid_argument"}"#,
        );
    }

    #[test]
    fn id_of_a_broken_line_is_known_if_it_precedes_the_error() {
        check_refused(
            r#"{"id":"x","type":"prompt","message":"#,
            r#"{"id":"x","type":"response","command":"parse","success":false,"error":"Failed to parse command: EOF while parsing a value at line 1 column 36","code":"parse_error"}"#,
        );
    }

    #[test]
    fn every_command_refuses_every_invalid_field() {
        for row in commands::TABLE {
            for field in row.fields {
                let line = format!(r#"{{"type":"{}","{}":{{"not":"it"}}}}"#, row.name, field.name);
                let text = refusal(&line).unwrap_or_default();
                assert!(text.contains("success\":false"), "{line}: {text}");
            }
        }
    }

    #[test]
    fn table_has_all_33_commands_of_pi_and_27_more() {
        assert_eq!(commands::TABLE.len(), 33 + 27);
    }

    #[test]
    fn protocol_info_lists_the_commands() {
        let answer = refusal(r#"{"id":"i","type":"get_protocol_info"}"#).unwrap();
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        assert_eq!((&answer["id"], &answer["success"]), (&"i".into(), &true.into()));
        let data = &answer["data"];
        assert_eq!((&data["name"], &data["dialect"]), (&"bowline".into(), &"pi".into()));
        assert_eq!(data["version"], env!("CARGO_PKG_VERSION"));
        let commands = data["commands"].as_array().unwrap();
        assert_eq!(commands.len(), commands::TABLE.len());
        assert!(commands.contains(&"prompt".into()) && commands.contains(&"get_protocol_info".into()));
    }
}
