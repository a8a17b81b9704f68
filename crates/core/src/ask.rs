//! What the engine asks the user of a client, and how the user answers.
//!
//! A question has an id, and an answer that is assumed when nobody gives one. A dialect that has words for questions
//! says so in its policy; in the others the assumed answer is taken at once.

use std::sync::Arc;

use crate::message::Arguments;
use crate::ui::{Dialog, DialogAnswer, UiToken};

/// The id of a question, unique within its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AskId(pub u64);

/// A question that waits for an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    pub id: AskId,
    /// The random part of the id on the wire.
    pub token: UiToken,
    pub question: Question,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    /// Whether a tool call may run. Without an answer it may not.
    Approval(Approval),
    /// What an extension wants to know. Without an answer it is cancelled.
    Dialog(Dialog),
}

/// A tool call that needs the user's consent.
#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    pub call_id: String,
    pub tool: String,
    pub arguments: Arc<Arguments>,
    /// Why consent is needed, in a sentence for the user.
    pub reason: String,
}

/// The user's answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskAnswer {
    pub id: AskId,
    pub decision: Decision,
}

/// What the user decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    Allow,
    /// The reason is passed on to the model.
    Deny {
        reason: Option<String>,
    },
    /// The answer to a dialog.
    Dialog(DialogAnswer),
}
