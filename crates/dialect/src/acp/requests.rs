//! Carrying out what clients request.

use std::path::PathBuf;

use bowline_core::SessionTag;
use bowline_core::command::{Command, Draft, Origin, Queue};
use bowline_wire::Record;
use serde_json::{Value, json};

use super::client::Client;
use super::errors::{Failure, INVALID_PARAMS, INVALID_REQUEST};
use super::expected::{Expected, SetBy};
use super::opening::{Purpose, Wanted};
use super::results::{
    AgentCapabilities, AgentInfo, AuthMethod, Empty, Initialized, InitializedMeta, McpCapabilities,
    PromptCapabilities, SessionCapabilities, Steering, SteeringResult,
};
use super::{Acp, HOME, mcp_servers, methods, options, prompt_content, records};
use crate::Incoming;
use crate::fields::Fields;

/// The version of the protocol.
const VERSION: u64 = 1;

impl Acp {
    /// Carries out a request or notification whose parameters have been checked.
    pub(super) fn request(
        &mut self,
        origin: &Origin,
        fields: &mut Fields,
        records: &mut Vec<Record>,
    ) -> Result<(), Failure> {
        if self.client.is_none() && origin.name != methods::INITIALIZE {
            return Err(Failure::new(INVALID_REQUEST, "the connection begins with initialize"));
        }
        match origin.name {
            methods::INITIALIZE => self.initialize(origin, fields, records),
            methods::AUTHENTICATE => self.authenticate(origin, fields)?,
            methods::NEW => {
                let folder = folder(fields)?;
                let servers = mcp_servers::read(&fields.list("mcpServers"))?;
                let wanted = Wanted { purpose: Purpose::New, folder, id: String::new(), servers };
                self.open(origin.clone(), wanted);
            }
            methods::LOAD => self.find_and_open(origin, Purpose::Load, fields, records)?,
            methods::RESUME => self.find_and_open(origin, Purpose::Resume, fields, records)?,
            methods::FORK => self.find_and_open(origin, Purpose::Fork, fields, records)?,
            methods::LIST => self.list(origin, fields),
            methods::CLOSE => {
                let tag = self.seat_of(fields)?;
                self.close(tag, Some(origin.clone()), records);
            }
            methods::DELETE => self.delete(origin, fields, records),
            methods::PROMPT => {
                let tag = self.seat_of(fields)?;
                let draft = self.draft(tag, fields)?;
                self.prompt(tag, origin.clone(), draft, records);
            }
            // A cancel of a session that is not there is as late as any other.
            methods::CANCEL => {
                if let Ok(tag) = self.seat_of(fields) {
                    self.cancel(tag, records);
                }
            }
            methods::CANCEL_REQUEST => self.cancel_request(&fields.value("requestId"), records),
            methods::SET_MODE => {
                let tag = self.seat_of(fields)?;
                let value = Value::String(fields.text("modeId"));
                self.set_option(tag, origin, SetBy::Mode, options::MODE, &value)?;
            }
            methods::SET_OPTION => {
                let tag = self.seat_of(fields)?;
                let (option, value) = (fields.text("configId"), fields.value("value"));
                self.set_option(tag, origin, SetBy::Option, &option, &value)?;
            }
            methods::STEERING => self.steer(origin, fields, records)?,
            _ => {}
        }
        Ok(())
    }

    fn initialize(&mut self, origin: &Origin, fields: &mut Fields, records: &mut Vec<Record>) {
        self.client = Some(Client::read(&fields.value("clientCapabilities")));
        let if_kept = || self.keeps_sessions.then_some(Empty {});
        let initialized = Initialized {
            protocol_version: VERSION,
            agent_info: AgentInfo { name: "bowline", title: "bowline", version: env!("CARGO_PKG_VERSION") },
            agent_capabilities: AgentCapabilities {
                load_session: self.keeps_sessions,
                prompt_capabilities: PromptCapabilities { image: true, audio: false, embedded_context: true },
                mcp_capabilities: McpCapabilities { http: true, sse: false },
                session_capabilities: SessionCapabilities {
                    list: if_kept(),
                    resume: if_kept(),
                    close: Empty {},
                    delete: if_kept(),
                    fork: if_kept(),
                },
            },
            auth_methods: vec![AuthMethod {
                id: options::KEYS,
                name: "Keys in the environment or in auth.json",
                description: "Set a variable such as ANTHROPIC_API_KEY, or run bowline auth set",
            }],
            meta: InitializedMeta { steering: Steering { supported: true } },
        };
        records.extend(records::result(origin, &initialized));
    }

    fn authenticate(&mut self, origin: &Origin, fields: &mut Fields) -> Result<(), Failure> {
        let method = fields.text("methodId");
        if method != options::KEYS {
            return Err(Failure::new(INVALID_PARAMS, format!("there is no method {method} to log in by")));
        }
        let expected = Expected::Authenticated { client: origin.clone() };
        self.carry_out(HOME, Command::GetAvailableModels, expected);
        Ok(())
    }

    /// Returns the open session that a request names.
    fn seat_of(&self, fields: &mut Fields) -> Result<SessionTag, Failure> {
        let id = fields.text("sessionId");
        self.seats.find(&id).ok_or_else(|| Failure::unknown_session(&id))
    }

    /// Returns the message that a request brings.
    fn draft(&mut self, tag: SessionTag, fields: &mut Fields) -> Result<Draft, Failure> {
        let folder = self.seats.get_mut(tag).map(|seat| seat.folder.clone()).unwrap_or_default();
        prompt_content::draft(&fields.list("prompt"), &folder)
            .map_err(|problem| Failure::new(INVALID_PARAMS, problem))
    }

    fn steer(
        &mut self,
        origin: &Origin,
        fields: &mut Fields,
        records: &mut Vec<Record>,
    ) -> Result<(), Failure> {
        let tag = self.seat_of(fields)?;
        let needs_turn = fields.value("_meta")["steering"]["idleBehavior"] == json!("promptRequired");
        let message = self.draft(tag, fields)?;
        let was_running = self.seats.get_mut(tag).is_some_and(|seat| seat.running.is_some());
        if !was_running && needs_turn {
            let result = SteeringResult { outcome: "promptRequired", reason: Some("noRunningTurn") };
            records.extend(records::result(origin, &result));
            return Ok(());
        }
        let command = Command::Enqueue { message, queue: Queue::Steering };
        self.carry_out(tag, command, Expected::Steered { client: origin.clone(), was_running });
        Ok(())
    }

    /// Closes a session; the request, if there is one, is answered when it is gone.
    pub(super) fn close(&mut self, tag: SessionTag, client: Option<Origin>, records: &mut Vec<Record>) {
        self.cancel(tag, records);
        let origin = self.expectations.add(Expected::Closed { client, tag });
        self.upcoming.push_back(Incoming::Close { session: tag, origin });
    }
}

/// Returns the folder that a request names.
pub(super) fn folder(fields: &mut Fields) -> Result<PathBuf, Failure> {
    let folder = PathBuf::from(fields.text("cwd"));
    if folder.is_absolute() {
        return Ok(folder);
    }
    Err(Failure::new(INVALID_PARAMS, format!("\"cwd\" must be an absolute path, not {}", folder.display())))
}
