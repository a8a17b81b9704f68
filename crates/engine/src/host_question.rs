//! Questions of whatever serves the tools of a session from another thread, such as the proxy that their connections go
//! through: may they reach this host?

use std::sync::Weak;

use bowline_tools::{BoxFuture, HostAnswer, HostGate};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::input::{Inputs, Report};

/// Whether tools may reach a host.
#[derive(Debug)]
pub struct HostQuestion {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Cancelled when the answer is not needed any more.
    pub(crate) withdrawn: CancellationToken,
    pub(crate) reply: oneshot::Sender<HostAnswer>,
}

/// Asks a session about hosts. It may be used on any thread, and outlive the session.
#[derive(Debug, Clone)]
pub struct HostQuestions {
    inputs: Inputs,
    session: Weak<()>,
}

impl HostQuestions {
    pub(crate) fn new(inputs: Inputs, session: Weak<()>) -> Self {
        Self { inputs, session }
    }
}

impl HostGate for HostQuestions {
    /// No answer is a no, and so is a session that has ended. Dropping the future withdraws the question.
    fn ask(&self, host: &str, port: u16) -> BoxFuture<'static, HostAnswer> {
        let (inputs, session, host) = (self.inputs.clone(), self.session.clone(), host.to_owned());
        Box::pin(async move {
            let withdrawn = CancellationToken::new();
            let _withdraws = withdrawn.clone().drop_guard();
            let (reply, answer) = oneshot::channel();
            let question = HostQuestion { host, port, withdrawn, reply };
            let is_open = session.strong_count() > 0;
            if !is_open || !inputs.send(Report::HostQuestion(Box::new(question))).await {
                return HostAnswer::NotAsked;
            }
            answer.await.unwrap_or(HostAnswer::NotAsked)
        })
    }
}
