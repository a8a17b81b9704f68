//! Updates that repeat the message so far: `message` beside the step, and `partial` inside it.

use bowline_core::message::{AssistantMessage, Message, StopReason};
use bowline_core::stream::Update;
use bowline_core::usage::Usage;
use bowline_wire::Record;
use schemars::{Schema, SchemaGenerator, json_schema};

use super::shape::FamilyShape;
use super::steps::{self, Step};
use crate::json;
use crate::snapshot::Snapshot;

/// Describes an update.
pub(crate) fn update(generator: &mut SchemaGenerator) -> Schema {
    let message = generator.subschema_for::<Message>();
    let mut steps = steps::shapes(generator);
    for step in &mut steps {
        step["properties"]["partial"] = message.as_value().clone();
        if let Some(required) = step["required"].as_array_mut() {
            required.push("partial".into());
        }
    }
    json_schema!({
        "description": "There is more of an answer.",
        "type": "object",
        "properties": {
            "type": { "const": "message_update" },
            "message": message,
            "assistantMessageEvent": {
                "description": "What is new; `partial` is the message so far, as `message` is.",
                "oneOf": steps,
            },
        },
        "required": ["type", "message", "assistantMessageEvent"],
    })
}

const LEAD: &str = r#""role":"assistant","#;

/// Where `message` stands in an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    BeforeTheStep,
    AfterTheStep,
}

/// Encodes the updates of one answer after the other.
#[derive(Debug)]
pub(crate) struct Repeating {
    snapshot: Snapshot<FamilyShape>,
    place: Place,
}

impl Repeating {
    pub fn new(place: Place) -> Self {
        Self { snapshot: Snapshot::new(FamilyShape), place }
    }

    /// Begins another message. If it is an answer, returns it as these clients are told of it: that it is not
    /// complete has no name here.
    pub fn start(&mut self, message: &Message) -> Option<AssistantMessage> {
        let mut answer = message.as_assistant()?.clone();
        self.snapshot.start(&answer);
        if answer.stop_reason == StopReason::Pending {
            answer.stop_reason = StopReason::Stop;
        }
        Some(answer)
    }

    pub fn encode(&mut self, usage: &Usage, update: &Update) -> Record {
        self.snapshot.count(usage);
        let mut prefix;
        match Step::from(update) {
            Step::Delta(delta) => {
                let body = json::string_body(delta.text);
                self.snapshot.grow(delta.content_index, &body);
                prefix = self.before_the_step();
                delta.open(&mut prefix);
                let mut suffix = Vec::with_capacity(2 * self.snapshot.size());
                suffix.push(b'"');
                self.end_step(&mut suffix);
                Record::Delta { key: self.snapshot.key(delta.content_index), prefix, body, suffix }
            }
            Step::Bound(bound) => {
                self.snapshot.apply(update);
                prefix = self.before_the_step();
                json::write(&mut prefix, &bound);
                // The step's own end comes after what is added to it.
                prefix.pop();
                self.end_step(&mut prefix);
                Record::Plain(prefix)
            }
        }
    }

    fn before_the_step(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(2 * self.snapshot.size());
        out.extend_from_slice(br#"{"type":"message_update","#);
        if self.place == Place::BeforeTheStep {
            out.extend_from_slice(br#""message":"#);
            self.snapshot.append_to(LEAD, &mut out);
            out.push(b',');
        }
        out.extend_from_slice(br#""assistantMessageEvent":"#);
        out
    }

    /// Appends the message so far to an open step and closes the step and the record.
    fn end_step(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(br#","partial":"#);
        self.snapshot.append_to(LEAD, out);
        out.push(b'}');
        if self.place == Place::AfterTheStep {
            out.extend_from_slice(br#","message":"#);
            self.snapshot.append_to(LEAD, out);
        }
        out.push(b'}');
    }
}
