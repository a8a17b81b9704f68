//! Errors of JSON-RPC.

use bowline_core::ErrorKind;
use bowline_core::command::Origin;
use bowline_core::event::RunOutcome;
use bowline_core::reply::{Refusal, RefusalCode};
use bowline_wire::Record;
use serde_json::{Value, json};

use super::records;

pub(super) const PARSE: i64 = -32700;
pub(super) const INVALID_REQUEST: i64 = -32600;
/// The client has cancelled it.
pub(super) const CANCELLED: i64 = -32800;
pub(super) const NO_METHOD: i64 = -32601;
pub(super) const INVALID_PARAMS: i64 = -32602;
pub(super) const INTERNAL: i64 = -32603;
/// The user has to log in first.
pub(super) const NO_LOGIN: i64 = -32000;
/// There is no such session.
pub(super) const NOT_FOUND: i64 = -32002;

/// Why a request failed.
#[derive(Debug)]
pub(super) struct Failure {
    code: i64,
    message: String,
    /// More for programs.
    pub data: Option<Value>,
}

impl Failure {
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub fn unknown_session(id: &str) -> Self {
        Self::new(NOT_FOUND, format!("there is no session {id}"))
    }

    /// Encodes the answer to a request; a notification gets none.
    pub fn answer(&self, origin: &Origin) -> Option<Record> {
        super::id_of(origin).map(|id| self.encode(id))
    }

    /// Encodes the answer to the request with this id.
    pub fn encode(&self, id: &str) -> Record {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        } else if self.code == INTERNAL {
            // Some clients show this instead of the message.
            error["data"] = json!({ "details": self.message });
        }
        records::answer(id, "error", &error)
    }
}

impl From<&Refusal> for Failure {
    fn from(refusal: &Refusal) -> Self {
        let code = match refusal.code {
            RefusalCode::NoModel | RefusalCode::NoCredentials => NO_LOGIN,
            RefusalCode::InvalidArgument | RefusalCode::ModelNotFound => INVALID_PARAMS,
            RefusalCode::SessionUnavailable => NOT_FOUND,
            RefusalCode::Cancelled => CANCELLED,
            _ => INTERNAL,
        };
        Self::new(code, &refusal.message)
    }
}

impl Failure {
    /// Returns why a turn failed, if it did.
    pub fn of_run(outcome: &RunOutcome) -> Option<Self> {
        let RunOutcome::Failed(failure) = outcome else { return None };
        let code = if failure.kind == ErrorKind::Auth { NO_LOGIN } else { INTERNAL };
        Some(Self::new(code, &failure.text))
    }
}
