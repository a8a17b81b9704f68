//! A small dialect over JSON-RPC 2.0, which exists only in the tests. It proves that decoding and the schema do not
//! assume the flat envelope, and that a dialect can ask its client and receive the answer.

use bowline_core::SessionTag;
use bowline_core::ask::{Ask, AskAnswer, AskId, Decision, Question};
use bowline_core::command::{Command, Draft, Origin, Request};
use bowline_core::event::{Event, RunOutcome};
use bowline_core::policy::{Policy, PromptAnswer, Questions};
use bowline_core::reply::{Answer, Refusal, RefusalCode, Reply};
use bowline_wire::{Line, Record};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::command_table::Action::Engine;
use crate::command_table::Row;
use crate::decode::{ClientAnswer, Decoded, Problem};
use crate::envelope::json_rpc::JsonRpc;
use crate::fields::Field;
use crate::fields::Kind::{Boolean, Text};
use crate::protocol::{Answered, Id, Protocol};
use crate::protocol_info::{self, ProtocolInfo};
use crate::schema::{Describe, schema_of};
use crate::{Dialect, Incoming, json as encoding};

/// How a prompt ended.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it is a description")]
struct PromptResult {
    #[schemars(extend("enum" = ["end_turn", "cancelled"]))]
    stop_reason: String,
}

const TABLE: &[Row] = &[
    Row {
        name: "session/prompt",
        about: "Starts a run. The response is sent when the run ends.",
        fields: &[Field::required("text", Text, "The text of the user message.")],
        result: Some(schema_of::<PromptResult>()),
        action: Engine(|mut fields| Command::Prompt {
            message: Draft { text: fields.text("text"), ..Draft::default() },
            when_busy: None,
        }),
    },
    Row {
        name: "session/cancel",
        about: "Aborts the run.",
        fields: &[],
        result: None,
        action: Engine(|_| Command::Abort),
    },
    Row {
        name: "session/set_auto_retry",
        about: "Enables or disables automatic retries.",
        fields: &[Field::optional("enabled", Boolean, "By default, `false`.")],
        result: None,
        action: Engine(|fields| Command::SetAutoRetry { enabled: fields.flag("enabled") }),
    },
    protocol_info::ROW,
];

const PROTOCOL: Protocol = Protocol {
    dialect: "json-rpc",
    envelope: &JsonRpc,
    commands: TABLE,
    answers: &[],
    id: Id::Anything,
    answered: Answered::All,
    records: Describe::new(records),
    unsupported: &[],
    capabilities: &[],
};

const APPROVAL: &str = "session/request_permission";

fn records(_: &mut SchemaGenerator) -> Vec<Schema> {
    vec![json_schema!({
        "description": "Asks whether a tool call may run.",
        "type": "object",
        "properties": {
            "jsonrpc": { "const": "2.0" },
            "id": { "type": "integer" },
            "method": { "const": APPROVAL },
            "params": {
                "type": "object",
                "properties": { "tool": { "type": "string" }, "reason": { "type": "string" } },
                "required": ["tool", "reason"],
            },
        },
        "required": ["jsonrpc", "id", "method", "params"],
    })]
}

#[derive(Debug, Default)]
struct JsonRpcDialect;

impl Dialect for JsonRpcDialect {
    fn policy(&self) -> Policy {
        Policy { prompt_answer: PromptAnswer::OnSettled, questions: Questions::Asked, ..Policy::default() }
    }

    fn decode(&mut self, line: Line, records: &mut Vec<Record>) -> Option<Incoming> {
        let session = SessionTag::FIRST;
        match PROTOCOL.decode(line) {
            Ok(Decoded::Request(request)) => Some(Incoming::Request { session, request }),
            Ok(Decoded::Answer(answer)) => Some(Incoming::Answer { session, answer: decision(&answer)? }),
            Ok(Decoded::Quit(_)) => Some(Incoming::Quit),
            Ok(Decoded::Negotiated { .. }) => None,
            Ok(Decoded::ProtocolInfo(origin)) => {
                let info = encoding::to_line(&ProtocolInfo::from(&PROTOCOL));
                records.extend(respond(&origin, "result", &serde_json::from_slice(&info).unwrap()));
                None
            }
            Err(Problem::Unreadable { id, reason }) => {
                records.push(failure(id.as_deref().unwrap_or("null"), -32700, &reason));
                None
            }
            Err(Problem::UnknownCommand { id, name: None }) => {
                records.push(failure(id.as_deref().unwrap_or("null"), -32600, "there is no \"method\""));
                None
            }
            // A notification gets no response, whatever is wrong with it.
            Err(Problem::UnknownCommand { id, name: Some(name) }) => {
                records.extend(id.map(|id| failure(&id, -32601, &name)));
                None
            }
            Err(Problem::BadField { origin, reason, .. }) => {
                records.extend(origin.id.map(|id| failure(&id, -32602, &reason)));
                None
            }
        }
    }

    fn event(&mut self, _: SessionTag, event: &Event, records: &mut Vec<Record>) {
        if let Event::Ask(Ask { id, question: Question::Approval(approval), .. }) = event {
            let parameters = json!({ "tool": approval.tool, "reason": approval.reason });
            let request = json!({ "jsonrpc": "2.0", "id": id.0, "method": APPROVAL, "params": parameters });
            records.push(Record::Plain(encoding::to_line(&request)));
        }
    }

    fn reply(&mut self, _: SessionTag, reply: &Reply, records: &mut Vec<Record>) {
        records.extend(match &reply.result {
            Ok(Answer::RunOver(outcome)) => {
                let reason = if *outcome == RunOutcome::Aborted { "cancelled" } else { "end_turn" };
                respond(&reply.origin, "result", &json!({ "stop_reason": reason }))
            }
            Ok(_) => respond(&reply.origin, "result", &json!({})),
            Err(refusal) => {
                let error =
                    json!({ "code": -32000, "message": refusal.message, "data": refusal.code.as_str() });
                respond(&reply.origin, "error", &error)
            }
        });
    }
}

fn decision(answer: &ClientAnswer) -> Option<AskAnswer> {
    let id = AskId(answer.id.as_deref()?.parse().ok()?);
    let line: Value = serde_json::from_str(&answer.line).ok()?;
    let decision =
        if line["result"]["allow"] == true { Decision::Allow } else { Decision::Deny { reason: None } };
    Some(AskAnswer { id, decision })
}

/// Encodes the response to a request; a notification gets none.
fn respond(origin: &Origin, member: &str, value: &Value) -> Option<Record> {
    let id: Value = serde_json::from_str(origin.id.as_deref()?).unwrap();
    Some(Record::Plain(encoding::to_line(&json!({ "jsonrpc": "2.0", "id": id, member: value }))))
}

fn failure(id: &str, code: i32, message: &str) -> Record {
    let id: Value = serde_json::from_str(id).unwrap();
    let error = json!({ "code": code, "message": message });
    Record::Plain(encoding::to_line(&json!({ "jsonrpc": "2.0", "id": id, "error": error })))
}

mod tests {
    use std::sync::Arc;

    use bowline_core::ask::Approval;
    use bowline_core::message::Arguments;
    use bowline_core::ui::UiToken;

    use super::*;

    fn decode(line: &str) -> (Option<Incoming>, Vec<Value>) {
        let mut records = Vec::new();
        let incoming = JsonRpcDialect.decode(Line::Text(line.to_owned()), &mut records);
        (incoming, records.iter().map(parsed).collect())
    }

    fn parsed(record: &Record) -> Value {
        let Record::Plain(bytes) = record else { panic!("{record:?}") };
        serde_json::from_slice(bytes).unwrap()
    }

    #[track_caller]
    fn check_request(line: &str, id: Option<&str>, name: &'static str, command: Command) {
        let origin = Origin { id: id.map(Into::into), name, echo: None };
        let request = Request { origin, command };
        let expected = Incoming::Request { session: SessionTag::FIRST, request };
        assert_eq!(decode(line), (Some(expected), Vec::new()));
    }

    fn prompt(text: &str) -> Command {
        Command::Prompt { message: Draft { text: text.to_owned(), ..Draft::default() }, when_busy: None }
    }

    #[test]
    fn requests_are_decoded_from_params() {
        check_request(
            r#"{"jsonrpc":"2.0","id":"a","method":"session/prompt","params":{"text":"hi"}}"#,
            Some("\"a\""),
            "session/prompt",
            prompt("hi"),
        );
        // The members of the envelope may come in any order, and parameters may share their names.
        check_request(
            r#"{"params":{"text":"hi","id":2,"method":"x","result":1},"method":"session/prompt","id":7}"#,
            Some("7"),
            "session/prompt",
            prompt("hi"),
        );
    }

    #[test]
    fn parameters_outside_of_params_are_ignored() {
        let (incoming, records) = decode(r#"{"id":1,"method":"session/prompt","text":"hi"}"#);
        assert_eq!((incoming, &records[0]["error"]["code"]), (None, &json!(-32602)));
        let (incoming, records) = decode(r#"{"id":1,"method":"session/prompt","params":["hi"]}"#);
        assert_eq!((incoming, &records[0]["error"]["code"]), (None, &json!(-32602)));
    }

    #[test]
    fn notifications_are_decoded_and_never_answered() {
        let line = r#"{"jsonrpc":"2.0","method":"session/cancel"}"#;
        check_request(line, None, "session/cancel", Command::Abort);
        for line in [r#"{"method":"no/such"}"#, r#"{"method":"session/prompt","params":{}}"#] {
            assert_eq!(decode(line), (None, Vec::new()), "{line}");
        }
        let origin = Origin { id: None, name: "session/cancel", echo: None };
        let mut records = Vec::new();
        JsonRpcDialect.reply(SessionTag::FIRST, &Reply { origin, result: Ok(Answer::Done) }, &mut records);
        assert_eq!(records, []);
    }

    #[test]
    fn question_is_a_request_and_its_response_is_the_answer() {
        let approval = Approval {
            call_id: "c".to_owned(),
            tool: "bash".to_owned(),
            arguments: Arc::new(Arguments::new()),
            reason: "it writes".to_owned(),
            terms: bowline_core::ask::Terms::default(),
        };
        let ask = Ask { id: AskId(3), token: UiToken(0), question: Question::Approval(Box::new(approval)) };
        let mut records = Vec::new();
        JsonRpcDialect.event(SessionTag::FIRST, &Event::Ask(ask), &mut records);
        let request = parsed(&records[0]);
        assert_eq!((&request["id"], &request["method"]), (&json!(3), &json!(APPROVAL)));

        for (member, decision) in [
            (r#""result":{"allow":true}"#, Decision::Allow),
            (r#""error":{"code":1,"message":"no"}"#, Decision::Deny { reason: None }),
        ] {
            let line = format!(r#"{{"jsonrpc":"2.0","id":3,{member}}}"#);
            let answer = AskAnswer { id: AskId(3), decision };
            let expected = Incoming::Answer { session: SessionTag::FIRST, answer };
            assert_eq!(decode(&line), (Some(expected), Vec::new()));
        }
    }

    #[test]
    fn invalid_lines_are_refused_with_their_ids() {
        for (line, id, code) in [
            ("{", json!(null), -32700),
            (r#"{"id":4,"method":"session/cancel""#, json!(4), -32700),
            ("[]", json!(null), -32600),
            (r#"{"id":5}"#, json!(5), -32600),
            (r#"{"id":6,"type":"session/cancel"}"#, json!(6), -32600),
            (r#"{"id":7,"method":"no/such"}"#, json!(7), -32601),
        ] {
            let (incoming, records) = decode(line);
            assert_eq!(incoming, None, "{line}");
            assert_eq!((&records[0]["id"], &records[0]["error"]["code"]), (&id, &json!(code)), "{line}");
        }
    }

    #[test]
    fn schema_describes_the_lines_of_the_protocol() {
        let schema = PROTOCOL.schema();
        let definitions = &schema["$defs"];
        assert_references_resolve(&schema, definitions);
        let names: Vec<_> = definitions.as_object().unwrap().keys().map(String::as_str).collect();
        for name in [
            "SessionPromptCommand",
            "SessionPromptResponse",
            "FailureResponse",
            "SessionRequestPermissionRecord",
            "PromptResult",
        ] {
            assert!(names.contains(&name), "{name}: {names:?}");
        }

        let accepts = |name: &str, line: &str| {
            fits(&definitions[name], &serde_json::from_str(line).unwrap(), definitions)
        };
        let prompt = r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"text":"hi"}}"#;
        assert!(accepts("Command", prompt));
        assert!(accepts("Command", r#"{"jsonrpc":"2.0","method":"session/cancel"}"#));
        assert!(accepts(
            "Command",
            r#"{"jsonrpc":"2.0","id":1,"method":"session/set_auto_retry","params":{}}"#
        ));
        assert!(!accepts("Command", r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt"}"#));
        assert!(!accepts("Command", r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{}}"#));
        assert!(!accepts("Command", r#"{"id":1,"type":"session/prompt","text":"hi"}"#));
        assert_eq!(PROTOCOL.record_names(), [APPROVAL, "error"]);
    }

    #[test]
    fn schema_describes_every_record_that_is_written() {
        let definitions = PROTOCOL.schema()["$defs"].take();
        let origin = || Origin { id: Some("1".into()), name: "session/prompt", echo: None };
        let busy = Refusal::new(RefusalCode::Busy, "a run is in progress");
        let mut records = Vec::new();
        for result in [Ok(Answer::RunOver(RunOutcome::Aborted)), Err(busy)] {
            JsonRpcDialect.reply(SessionTag::FIRST, &Reply { origin: origin(), result }, &mut records);
        }
        let mut lines: Vec<_> = records.iter().map(parsed).collect();
        for line in [r#"{"id":1,"method":"get_protocol_info"}"#, r#"{"id":1,"method":"x"}"#] {
            lines.extend(decode(line).1);
        }
        assert_eq!(lines.len(), 4);
        for line in &lines {
            assert!(fits(&definitions["Output"], line, &definitions), "{line}");
        }
        assert_eq!(JsonRpcDialect.policy().questions, Questions::Asked);
    }

    #[track_caller]
    fn assert_references_resolve(schema: &Value, definitions: &Value) {
        match schema {
            Value::Object(members) => {
                if let Some(path) = schema["$ref"].as_str() {
                    let name = path.strip_prefix("#/$defs/").unwrap();
                    assert!(definitions[name].is_object(), "{path}");
                }
                members.values().for_each(|member| assert_references_resolve(member, definitions));
            }
            Value::Array(items) => {
                items.iter().for_each(|item| assert_references_resolve(item, definitions));
            }
            _ => {}
        }
    }

    /// Returns whether a value satisfies a schema. Members that are not described are not allowed.
    fn fits(schema: &Value, value: &Value, definitions: &Value) -> bool {
        let count = |schemas: &Value| {
            let schemas = schemas.as_array().unwrap().iter();
            schemas.filter(|schema| fits(schema, value, definitions)).count()
        };
        schema.as_object().unwrap().iter().all(|(keyword, wanted)| match keyword.as_str() {
            "title" | "description" => true,
            "$ref" => {
                let name = wanted.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                fits(&definitions[name], value, definitions)
            }
            "const" => value == wanted,
            "enum" => wanted.as_array().unwrap().contains(value),
            "allOf" => count(wanted) == wanted.as_array().unwrap().len(),
            "anyOf" => count(wanted) > 0,
            "oneOf" => count(wanted) == 1,
            "required" => {
                wanted.as_array().unwrap().iter().all(|name| value.get(name.as_str().unwrap()).is_some())
            }
            "properties" => value.as_object().is_some_and(|members| {
                members.iter().all(|(name, member)| {
                    wanted.get(name).is_some_and(|schema| fits(schema, member, definitions))
                })
            }),
            "items" => value.as_array().unwrap().iter().all(|item| fits(wanted, item, definitions)),
            "type" => {
                let is = |kind: &Value| match kind.as_str().unwrap() {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "integer" => value.is_i64() || value.is_u64(),
                    "number" => value.is_number(),
                    "boolean" => value.is_boolean(),
                    "null" => value.is_null(),
                    other => panic!("{other}"),
                };
                wanted.as_array().map_or_else(|| is(wanted), |kinds| kinds.iter().any(is))
            }
            other => panic!("unexpected keyword {other}"),
        })
    }
}
