//! Updates that repeat the message so far: as `message` beside the step, and as `partial` inside it.

use std::borrow::Cow;

use bowline_core::message::{AssistantMessage, Message, StopReason};
use bowline_core::stream;
use bowline_core::usage::Usage;
use bowline_wire::{self as wire, Pieces, Record};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::shape::FamilyShape;
use super::steps::{self, Step};
use crate::json;
use crate::snapshot::Snapshot;

/// Describes an update, which is assembled from bytes.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "More of a model response has arrived.")]
#[expect(dead_code, reason = "it is a description")]
pub(crate) struct Update<'event> {
    #[schemars(extend("const" = "message_update"))]
    r#type: &'static str,
    /// The message so far.
    message: &'event Message,
    /// What is new. Its `partial` is the message so far, too.
    assistant_message_event: RepeatingStep,
}

struct RepeatingStep;

impl JsonSchema for RepeatingStep {
    fn schema_name() -> Cow<'static, str> {
        "Step".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let message = generator.subschema_for::<Message>();
        let mut steps = steps::schemas(generator);
        for step in &mut steps {
            step["properties"]["partial"] = message.as_value().clone();
            step["required"].as_array_mut().into_iter().for_each(|names| names.push("partial".into()));
        }
        json_schema!({ "description": "What is new in a model response.", "oneOf": steps })
    }
}

const LEAD: &str = r#""role":"assistant","#;

/// The position of `message` in an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    BeforeTheStep,
    AfterTheStep,
}

/// Encodes the updates of one model response after another.
#[derive(Debug)]
pub(crate) struct Repeating {
    snapshot: Snapshot<FamilyShape>,
    place: Place,
}

impl Repeating {
    pub fn new(place: Place) -> Self {
        Self { snapshot: Snapshot::new(FamilyShape), place }
    }

    /// Starts another message. Returns a model response as these clients expect it: they have no stop reason for an
    /// incomplete one.
    pub fn start(&mut self, message: &Message) -> Option<AssistantMessage> {
        let mut answer = message.as_assistant()?.clone();
        self.snapshot.start(&answer);
        if answer.stop_reason == StopReason::Pending {
            answer.stop_reason = StopReason::Stop;
        }
        Some(answer)
    }

    pub fn encode(&mut self, usage: &Usage, update: &stream::Update) -> Record {
        self.snapshot.count(usage);
        match Step::from(update) {
            Step::Delta(delta) => {
                let body = json::string_body(delta.text);
                self.snapshot.grow(delta.content_index, &body);
                let mut opened = Vec::new();
                delta.open(&mut opened);
                let prefix = self.begin(&opened);
                let mut suffix = Pieces::default();
                suffix.extend(b"\"");
                self.end(&mut suffix);
                wire::Delta { key: self.snapshot.key(delta.content_index), prefix, body, suffix }.into()
            }
            Step::Bound(bound) => {
                self.snapshot.apply(update);
                let mut step = json::to_line(&bound);
                // The step is closed after `partial` has been added to it.
                step.pop();
                let mut record = self.begin(&step);
                self.end(&mut record);
                record.into()
            }
        }
    }

    /// Returns a record up to its step, which is left open.
    fn begin(&self, step: &[u8]) -> Pieces {
        let mut out = Pieces::default();
        out.extend(br#"{"type":"message_update","#);
        if self.place == Place::BeforeTheStep {
            out.extend(br#""message":"#);
            self.snapshot.append_to(LEAD, &mut out);
            out.extend(b",");
        }
        out.extend(br#""assistantMessageEvent":"#);
        out.extend(step);
        out
    }

    /// Appends the message so far to an open step and closes the step and the record.
    fn end(&self, out: &mut Pieces) {
        out.extend(br#","partial":"#);
        self.snapshot.append_to(LEAD, out);
        out.extend(b"}");
        if self.place == Place::AfterTheStep {
            out.extend(br#","message":"#);
            self.snapshot.append_to(LEAD, out);
        }
        out.extend(b"}");
    }
}
