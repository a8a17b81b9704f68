//! A dialect with several sessions: every line carries the number of a session, around a command or a record of `pi`.

use std::collections::BTreeMap;

use bowline_core::SessionTag;
use bowline_core::ask::{AskAnswer, AskId, Decision};
use bowline_core::command::Origin;
use bowline_core::event::Event;
use bowline_core::reply::{Answer, Reply};
use bowline_core::session_tag::{SessionRequest, SessionSource};
use bowline_dialect::{Dialect, Incoming};
use bowline_wire::{Line, Outbox, Record, memory};
use serde_json::{Map, Value, json};

/// The state of the translation: that of `pi`, for each session.
#[derive(Default)]
pub struct Numbered {
    sessions: BTreeMap<SessionTag, Box<dyn Dialect>>,
}

impl Numbered {
    fn pi(&mut self, session: SessionTag) -> &mut dyn Dialect {
        &mut **self.sessions.entry(session).or_insert_with(|| bowline_dialect::find("pi").unwrap().make())
    }

    /// Encodes with the dialect of a session, and adds its number.
    fn wrap(
        &mut self,
        session: SessionTag,
        records: &mut Vec<Record>,
        encode: impl FnOnce(&mut dyn Dialect, &mut Vec<Record>),
    ) {
        let mut inner = Vec::new();
        encode(self.pi(session), &mut inner);
        records.extend(inner.into_iter().map(|record| numbered(session, read(record))));
    }
}

impl Dialect for Numbered {
    fn decode(&mut self, line: Line, records: &mut Vec<Record>) -> Option<Incoming> {
        let Line::Text(text) = line else { panic!("{line:?}") };
        let line: Value = serde_json::from_str(&text).unwrap();
        let session = SessionTag(u32::try_from(line["session"].as_u64().unwrap()).unwrap());
        let origin = |name| Origin { id: Some(line["id"].to_string().into()), name, echo: None };
        if let Some(open) = line.get("open") {
            let request = SessionRequest {
                working_directory: open["directory"].as_str().unwrap().into(),
                source: match open["file"].as_str() {
                    Some(file) => SessionSource::File(file.into()),
                    None => SessionSource::New { is_kept: false },
                },
                servers: Map::new(),
            };
            return Some(Incoming::Open { session, origin: origin("open"), request });
        }
        if line.get("close").is_some() {
            return Some(Incoming::Close { session, origin: origin("close") });
        }
        if let Some(answer) = line.get("answer") {
            let id = AskId(answer["ask"].as_u64().unwrap());
            let is_allowed = answer["allow"].as_bool().unwrap();
            let decision = if is_allowed { Decision::Allow } else { Decision::Deny { reason: None } };
            return Some(Incoming::Answer { session, answer: AskAnswer { id, decision } });
        }
        let command = Line::Text(line["command"].to_string());
        let mut incoming = None;
        self.wrap(session, records, |pi, records| incoming = pi.decode(command, records));
        match incoming? {
            Incoming::Request { request, .. } => Some(Incoming::Request { session, request }),
            other => Some(other),
        }
    }

    fn event(&mut self, session: SessionTag, event: &Event, records: &mut Vec<Record>) {
        match event {
            Event::Ask(ask) => records.push(numbered(session, json!({ "type": "ask", "ask": ask.id.0 }))),
            Event::AskResolved { id, .. } => {
                records.push(numbered(session, json!({ "type": "ask_resolved", "ask": id.0 })));
            }
            event => self.wrap(session, records, |pi, records| pi.event(session, event, records)),
        }
    }

    fn reply(&mut self, session: SessionTag, reply: &Reply, records: &mut Vec<Record>) {
        if let Ok(Answer::SessionOpened { id, file }) = &reply.result {
            let request: Value = serde_json::from_str(reply.origin.id.as_deref().unwrap()).unwrap();
            let data = json!({ "sessionId": id, "file": file });
            let record = json!({ "type": "response", "id": request, "success": true, "data": data });
            return records.push(numbered(session, record));
        }
        self.wrap(session, records, |pi, records| pi.reply(session, reply, records));
    }
}

fn numbered(session: SessionTag, record: Value) -> Record {
    Record::Plain(json!({ "session": session.0, "record": record }).to_string().into_bytes())
}

/// Returns a record as JSON.
fn read(record: Record) -> Value {
    let (_input, mut output, mut client) = memory::pair(1 << 24);
    let mut outbox = Outbox::new(1 << 24);
    outbox.push(record);
    outbox.flush_now(&mut output).unwrap();
    serde_json::from_slice(&client.receive_now(usize::MAX)).unwrap()
}
