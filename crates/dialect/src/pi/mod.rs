//! The dialect `pi`: the current generation of `pi --mode rpc`.
//!
//! Every command is answered by exactly one `response`, and answers are streamed as deltas only.

mod commands;
mod events;

use bowline_core::SessionTag;
use bowline_core::event::Event;
use bowline_core::reply::Reply;
use bowline_wire::{Line, Record};

use crate::command_table;
use crate::family::state_parts::StateParts;
use crate::family::{data, responses};
use crate::schema::{Answers, Id, Protocol};
use crate::{Dialect, Incoming};

/// What the dialect says of itself.
pub(crate) const PROTOCOL: Protocol = Protocol {
    dialect: "pi",
    commands: commands::TABLE,
    id: Id::Anything,
    answers: Answers::All(responses::shape),
    records: events::records,
    capabilities: &["disposition", "entry_ids", "error_codes", "joined_deltas", "settled_error"],
};

/// The state of the translation.
#[derive(Debug, Default)]
pub(crate) struct Pi {
    updates: events::Updates,
    parts: StateParts,
}

impl Dialect for Pi {
    fn decode(&mut self, line: Line, records: &mut Vec<Record>) -> Option<Incoming> {
        match command_table::decode(commands::TABLE, line) {
            Ok(meant) => responses::take(meant, &PROTOCOL, records),
            Err(problem) => {
                records.extend(responses::refuse(&problem));
                None
            }
        }
    }

    fn event(&mut self, _session: SessionTag, event: &Event, records: &mut Vec<Record>) {
        records.extend(self.updates.encode(event));
    }

    fn reply(&mut self, _session: SessionTag, reply: &Reply, records: &mut Vec<Record>) {
        records.push(responses::encode(reply, |answer| data::data(answer, &mut self.parts)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what is answered to a line at once; a command for the engine is not.
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
    fn bad_lines_are_refused_with_what_is_known_of_them() {
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
    fn the_id_of_a_broken_line_is_found_when_it_comes_first() {
        check_refused(
            r#"{"id":"x","type":"prompt","message":"#,
            r#"{"id":"x","type":"response","command":"parse","success":false,"error":"Failed to parse command: EOF while parsing a value at line 1 column 36","code":"parse_error"}"#,
        );
    }

    #[test]
    fn every_command_refuses_every_wrong_field() {
        for row in commands::TABLE {
            for field in row.fields {
                let line = format!(r#"{{"type":"{}","{}":{{"not":"it"}}}}"#, row.name, field.name);
                let text = refusal(&line).unwrap_or_default();
                assert!(text.contains("success\":false"), "{line}: {text}");
            }
        }
    }

    #[test]
    fn all_33_commands_of_pi_are_known_and_five_more() {
        assert_eq!(commands::TABLE.len(), 33 + 5);
    }

    #[test]
    fn the_protocol_tells_what_it_is() {
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

    #[test]
    fn answers_of_the_user_interface_are_not_answered() {
        let mut records = Vec::new();
        let line = Line::Text(r#"{"type":"extension_ui_response","id":"1","value":"x"}"#.to_owned());
        assert_eq!(Pi::default().decode(line, &mut records), None);
        assert_eq!(records, []);
    }
}
