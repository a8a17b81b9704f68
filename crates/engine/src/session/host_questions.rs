//! Hosts that tools want to reach and that are not on the list of the sandbox.

use std::sync::Arc;

use bowline_core::ask::{Approval, Decision, Terms};
use bowline_core::message::Arguments;
use bowline_tools::HostAnswer;

use super::Session;
use super::call_approval::Subject;
use crate::call_gate::{HostName, Verdict};
use crate::host_question::{HostQuestion, HostQuestions};
use crate::tool_call_states::Batch;

/// What a question names as the tool if several calls are running.
const NO_CALL: &str = "network";

impl Session {
    /// Returns what asks this session about hosts.
    pub fn host_questions(&self) -> HostQuestions {
        let (inputs, session) = self.pending.way_back();
        HostQuestions::new(inputs.clone(), session)
    }

    /// Decides whether tools may reach a host, or asks the user. Only the calls of a run can ask.
    pub(super) fn host_asked(&mut self, question: HostQuestion) {
        let HostQuestion { host, port, withdrawn, reply } = question;
        let name = format!("{host}:{port}");
        let is_running = self.batch().is_some_and(|batch| batch.running().next().is_some());
        if !is_running || self.activity.is_stopping() {
            let _ = reply.send(HostAnswer::NotAsked);
            return;
        }
        if let Some(answer) = self.approvals.host(&name) {
            let _ = reply.send(answer);
            return;
        }
        let directory = self.transcript.working_directory();
        let verdict =
            self.agent.gate().check_host(&HostName { host: &host, port, working_directory: directory });
        let asking = match verdict {
            Verdict::Ask(asking) if self.cannot_ask(asking.code).is_none() => *asking,
            verdict => {
                let is_allowed = matches!(verdict, Verdict::Run { .. });
                let _ = reply.send(if is_allowed { HostAnswer::Allowed } else { HostAnswer::NotAsked });
                return;
            }
        };
        let subject = Subject::Host { name, reply, withdrawn };
        let approval = self.approval_of_running_call();
        self.ask_about_host(approval, asking, subject);
    }

    /// Returns a question that names the call that is running, if it is the only one.
    fn approval_of_running_call(&self) -> Approval {
        let mut running = self.batch().into_iter().flat_map(Batch::running);
        let (call_id, tool, arguments) = match (running.next(), running.next()) {
            (Some(call), None) => (call.id.clone(), call.tool.clone(), Arc::clone(&call.arguments)),
            _ => (String::new(), NO_CALL.to_owned(), Arc::new(Arguments::new())),
        };
        Approval { call_id, tool, arguments, reason: String::new(), terms: Terms::default() }
    }
}

/// Returns what whoever wants to reach a host is told.
pub(super) fn answer(decision: &Decision) -> HostAnswer {
    match decision {
        Decision::Allow | Decision::AllowFor(_) => HostAnswer::Allowed,
        Decision::Deny { .. } | Decision::Dialog(_) => HostAnswer::Declined,
        Decision::Expired => HostAnswer::Unanswered,
        Decision::NotAsked { .. } => HostAnswer::NotAsked,
    }
}
