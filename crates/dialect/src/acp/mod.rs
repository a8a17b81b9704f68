//! The dialect `acp`: the Agent Client Protocol, version 1, as editors speak it over JSON-RPC 2.0.
//!
//! One connection has many sessions. What a client asks for in one request is often several commands here, so a request is
//! carried out step by step: each step is a command with a number, and what is to be done with its reply is noted under that
//! number ([`expected::Expected`]).

mod client;
mod errors;
mod events;
mod expected;
mod extension_methods;
mod files;
mod fitting;
mod forms;
mod history;
mod iso_time;
mod mcp_servers;
mod methods;
mod opening;
mod options;
mod permissions;
mod prompt_content;
mod prompts;
mod records;
mod replies;
mod requests;
mod results;
mod seats;
mod session_list;
mod tool_calls;

use std::collections::VecDeque;

use bowline_core::SessionTag;
use bowline_core::command::{Command, Origin, Request};
use bowline_core::event::Event;
use bowline_core::policy::{
    AbortAnswer, Approvals, IdleQueue, Policy, PromptAnswer, Questions, SlashCommands, Todos, WhileCompacting,
};
use bowline_core::reply::Reply;
use bowline_wire::{Line, Record};

use crate::decode::{Decoded, Problem};
use crate::envelope::json_rpc::JsonRpc;
use crate::protocol::{Answered, Id, Protocol};
use crate::schema::Describe;
use crate::{Dialect, Incoming, Options};
use client::Client;
use expected::{Expectations, Expected};
use seats::Seats;

/// The definition of the protocol.
pub(crate) const PROTOCOL: Protocol = Protocol {
    dialect: "acp",
    envelope: &JsonRpc,
    commands: methods::TABLE,
    answers: &[],
    id: Id::Anything,
    answered: Answered::All,
    records: Describe::new(records::described),
    unsupported: &[],
    capabilities: &[],
};

/// The session that belongs to no client: it lists and deletes the others.
const HOME: SessionTag = SessionTag::FIRST;

/// The dialect, with what it remembers of the client and of each session.
#[derive(Debug)]
pub(crate) struct Acp {
    /// What the client can do, once it has said so.
    client: Option<Client>,
    seats: Seats,
    expectations: Expectations,
    /// What is to be carried out next.
    upcoming: VecDeque<Incoming>,
    permissions: permissions::Permissions,
    file_requests: files::FileRequests,
    /// Whether the client has logged out, so that prompts are refused.
    is_logged_out: bool,
    /// Whether sessions ask about calls although nobody has chosen that.
    asks_by_default: bool,
    /// Whether sessions are kept, so that they can be opened again.
    keeps_sessions: bool,
}

impl Acp {
    pub fn new(options: &Options) -> Self {
        Self {
            client: None,
            seats: Seats::default(),
            expectations: Expectations::default(),
            upcoming: VecDeque::new(),
            permissions: permissions::Permissions::default(),
            file_requests: files::FileRequests::default(),
            is_logged_out: false,
            asks_by_default: !options.has_chosen_approvals,
            keeps_sessions: !options.has_no_store,
        }
    }

    /// Has a command carried out, and notes what its reply is for.
    fn carry_out(&mut self, session: SessionTag, command: Command, expected: Expected) {
        let origin = self.expectations.add(expected);
        let request = Request { origin, command };
        self.upcoming.push_back(Incoming::Request { session, request });
    }

    /// Has a command carried out whose reply does not matter.
    fn set(&mut self, session: SessionTag, command: Command) {
        self.carry_out(session, command, Expected::Nothing);
    }
}

impl Dialect for Acp {
    fn policy(&self) -> Policy {
        Policy {
            prompt_answer: PromptAnswer::OnSettled,
            abort_answer: AbortAnswer::AtOnce,
            idle_queue: IdleQueue::StartsRun,
            questions: Questions::Asked,
            approvals: Approvals::Asked,
            slash_commands: SlashCommands::CarriedOutInSession,
            while_compacting: WhileCompacting::MessagesWait,
            todos: Todos::Kept,
            ..Policy::default()
        }
    }

    fn decode(&mut self, line: Line, records: &mut Vec<Record>) -> Option<Incoming> {
        match PROTOCOL.decode(line) {
            Ok(Decoded::Own { origin, mut fields }) => {
                if let Err(failure) = self.request(&origin, &mut fields, records) {
                    records.extend(failure.answer(&origin));
                }
            }
            Ok(Decoded::Answer(answer)) => {
                let taken = self.permissions.answered(&answer, &mut self.seats);
                return taken.or_else(|| self.file_requests.answered(&answer));
            }
            Ok(
                Decoded::Request(_)
                | Decoded::Quit(_)
                | Decoded::ProtocolInfo(_)
                | Decoded::Negotiated { .. },
            ) => {}
            Err(problem) => records.extend(refused(problem)),
        }
        self.follow_up()
    }

    fn event(&mut self, session: SessionTag, event: &Event, records: &mut Vec<Record>) {
        if session != HOME {
            self.session_event(session, event, records);
        }
    }

    fn reply(&mut self, session: SessionTag, reply: &Reply, records: &mut Vec<Record>) {
        if let Some(expected) = self.expectations.take(&reply.origin) {
            self.replied(session, expected, &reply.result, records);
        }
    }

    fn follow_up(&mut self) -> Option<Incoming> {
        self.upcoming.pop_front()
    }
}

/// Encodes the refusal of a line. A notification gets none, whatever is wrong with it.
fn refused(problem: Problem) -> Option<Record> {
    match problem {
        Problem::Unreadable { id, reason } => {
            Some(errors::Failure::new(errors::PARSE, reason).encode(id.as_deref().unwrap_or("null")))
        }
        Problem::UnknownCommand { id, name: None } => {
            let text = "a message is a JSON object with a \"method\"";
            Some(errors::Failure::new(errors::INVALID_REQUEST, text).encode(id.as_deref().unwrap_or("null")))
        }
        Problem::UnknownCommand { id, name: Some(name) } => {
            let text = format!("there is no method {name}");
            id.map(|id| errors::Failure::new(errors::NO_METHOD, text).encode(&id))
        }
        Problem::BadField { origin, reason, .. } => {
            errors::Failure::new(errors::INVALID_PARAMS, reason).answer(&origin)
        }
    }
}

/// Returns the JSON text of a client's id.
fn id_of(origin: &Origin) -> Option<&str> {
    origin.id.as_deref()
}
