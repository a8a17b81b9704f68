//! Files that sessions have the client read and write.

use bowline_core::SessionTag;
use bowline_core::host::{HostCall, HostCallId, HostProgress, HostReport, HostWork, UriResult};
use bowline_wire::Record;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{Acp, records};
use crate::Incoming;
use crate::decode::ClientAnswer;

/// The requests about files that the client has not answered yet.
#[derive(Debug, Default)]
pub(super) struct FileRequests {
    last: u64,
    open: Vec<Open>,
}

#[derive(Debug)]
struct Open {
    /// The id of the request.
    id: String,
    session: SessionTag,
    call: HostCallId,
}

/// The parameters of a request to read a file.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReadParams<'call> {
    session_id: &'call str,
    path: String,
}

/// The parameters of a request to write a file.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct WriteParams<'call> {
    session_id: &'call str,
    path: String,
    content: &'call str,
}

impl FileRequests {
    /// Returns the client's answer to a request that is open.
    pub fn answered(&mut self, answer: &ClientAnswer) -> Option<Incoming> {
        let id: String = serde_json::from_str(answer.id.as_deref()?).ok()?;
        let place = self.open.iter().position(|open| open.id == id)?;
        let Open { session, call, .. } = self.open.remove(place);
        let mut line: Value = serde_json::from_str(&answer.line).ok()?;
        let is_error = line.get("result").is_none();
        // Not by indexing, which panics on what is no object.
        let content = match line.pointer_mut("/result/content").map(Value::take) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let error = line["error"]["message"].as_str().filter(|_| is_error).map(ToOwned::to_owned);
        let result = UriResult { content, notes: Vec::new(), is_error, error };
        let report = Box::new(HostReport { id: call, progress: HostProgress::Resolved(result) });
        Some(Incoming::HostReport { session, report })
    }
}

impl Acp {
    /// Has the client read or write a file.
    pub(super) fn call_client(&mut self, session: SessionTag, call: &HostCall, records: &mut Vec<Record>) {
        let Some(seat) = self.seats.get_mut(session) else { return };
        let requests = &mut self.file_requests;
        requests.last += 1;
        let number = requests.last;
        let session_id = seat.id.as_str();
        let (id, record) = match &call.work {
            HostWork::ReadFile { path } => {
                let id = format!("read-{number}");
                let params = ReadParams { session_id, path: path.to_string_lossy().into_owned() };
                let record = records::request(&id, records::READ_FILE, params);
                (id, record)
            }
            HostWork::WriteFile { path, content } => {
                let id = format!("write-{number}");
                let params = WriteParams { session_id, path: path.to_string_lossy().into_owned(), content };
                let record = records::request(&id, records::WRITE_FILE, params);
                (id, record)
            }
            // The client offers neither tools nor addresses.
            HostWork::Tool { .. } | HostWork::Read { .. } | HostWork::Write { .. } => return,
        };
        requests.open.push(Open { id, session, call: call.id });
        records.push(record);
    }

    /// A request is over. If the client has not answered it, it is told.
    pub(super) fn client_call_over(
        &mut self,
        session: SessionTag,
        call: HostCallId,
        records: &mut Vec<Record>,
    ) {
        let open = &mut self.file_requests.open;
        if let Some(place) = open.iter().position(|open| open.session == session && open.call == call) {
            records.push(records::withdrawal(&open.remove(place).id));
        }
    }
}
