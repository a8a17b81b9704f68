//! Carrying out what clients request.

use std::path::PathBuf;

use bowline_core::SessionTag;
use bowline_core::command::{Command, Draft, Origin, Queue};
use bowline_wire::Record;
use serde_json::{Value, json};

use super::client::Client;
use super::errors::{Failure, INVALID_PARAMS, INVALID_REQUEST, NO_LOGIN};
use super::expected::{AfterClose, Expected, SetBy};
use super::opening::Purpose;
use super::results::{
    AgentCapabilities, AgentInfo, AgentMeta, Auth, AuthMethod, BowlineMethods, Empty, Initialized,
    InitializedMeta, McpCapabilities, PromptCapabilities, SessionCapabilities, Steering, SteeringResult,
};
use super::{Acp, HOME, extension_methods, methods, options, prompt_content, records};
use crate::Incoming;
use crate::fields::Fields;

/// The version of the protocol.
const VERSION: u64 = 1;

/// The methods to log in by: one that looks for keys, and one in a terminal.
const KEYS: &str = "keys";
const LOGIN: &str = "login";

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
        // Whatever is for a session that is being opened waits for that.
        if let Some(seat) = fields.peek("sessionId").and_then(|id| self.seats.in_between(id))
            && origin.name != methods::FORK
        {
            seat.later.push((origin.clone(), fields.take()));
            return Ok(());
        }
        match origin.name {
            methods::INITIALIZE => self.initialize(origin, fields, records),
            methods::AUTHENTICATE => self.authenticate(origin, fields)?,
            methods::LOGOUT => {
                self.is_logged_out = true;
                records.extend(records::result(origin, &Empty {}));
            }
            methods::NEW => self.open_new(origin.clone(), fields)?,
            methods::LOAD => self.find_and_open(origin, Purpose::Load, fields, records)?,
            methods::RESUME => self.find_and_open(origin, Purpose::Resume, fields, records)?,
            methods::FORK => self.find_and_open(origin, Purpose::Fork, fields, records)?,
            methods::LIST => self.list(origin, fields)?,
            methods::CLOSE => {
                let tag = self.seat_of(fields)?;
                self.close(tag, AfterClose::Answer(origin.clone()), records);
            }
            methods::DELETE => self.delete(origin, fields, records),
            methods::PROMPT => {
                self.refuse_if_logged_out()?;
                let tag = self.seat_of(fields)?;
                let draft = self.draft(tag, fields)?;
                self.prompt(tag, origin.clone(), draft, records);
            }
            // A cancel of a session that is not there is as late as any other. Both are notifications; one with an id is
            // answered, like everything that has one.
            methods::CANCEL => {
                if let Ok(tag) = self.seat_of(fields) {
                    self.cancel(tag, records);
                }
                records.extend(records::result(origin, &Empty {}));
            }
            methods::CANCEL_REQUEST => {
                self.cancel_request(&fields.value("requestId"), records);
                records.extend(records::result(origin, &Empty {}));
            }
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
            _ => self.extension_method(origin, fields)?,
        }
        Ok(())
    }

    fn initialize(&mut self, origin: &Origin, fields: &mut Fields, records: &mut Vec<Record>) {
        let client = Client::read(&fields.value("clientCapabilities"));
        self.client = Some(client);
        let if_kept = || self.keeps_sessions.then_some(Empty {});
        let keys = AuthMethod {
            id: KEYS,
            name: "Keys in the environment or in auth.json",
            description: "Set a variable such as ANTHROPIC_API_KEY, or run bowline auth set",
            r#type: None,
            args: None,
        };
        // The client starts its own command line for the agent with these arguments.
        let login = AuthMethod {
            id: LOGIN,
            name: "Enter a key in the terminal",
            description: "Asks for the provider and its key, and keeps it in auth.json",
            r#type: Some("terminal"),
            args: Some(vec!["--login"]),
        };
        let auth_methods = if client.opens_terminals { vec![login, keys] } else { vec![keys] };
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
                auth: Auth { logout: Empty {} },
                meta: AgentMeta { bowline: BowlineMethods { methods: extension_methods::names() } },
            },
            auth_methods,
            meta: InitializedMeta { steering: Steering { supported: true } },
        };
        records.extend(records::result(origin, &initialized));
    }

    fn authenticate(&mut self, origin: &Origin, fields: &mut Fields) -> Result<(), Failure> {
        let method = fields.text("methodId");
        if method != KEYS && method != LOGIN {
            return Err(Failure::new(INVALID_PARAMS, format!("there is no method {method} to log in by")));
        }
        let expected = Expected::Authenticated { client: origin.clone() };
        self.carry_out(HOME, Command::GetAvailableModels, expected);
        Ok(())
    }

    /// Refuses what needs a login if the client has logged out.
    pub(super) fn refuse_if_logged_out(&self) -> Result<(), Failure> {
        if self.is_logged_out {
            return Err(Failure::new(NO_LOGIN, "you have logged out: authenticate first"));
        }
        Ok(())
    }

    /// Returns the open session that a request names.
    pub(super) fn seat_of(&self, fields: &mut Fields) -> Result<SessionTag, Failure> {
        let id = fields.text("sessionId");
        self.seats.find(&id).ok_or_else(|| Failure::unknown_session(&id))
    }

    /// Returns the message that a request brings.
    pub(super) fn draft(&mut self, tag: SessionTag, fields: &mut Fields) -> Result<Draft, Failure> {
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
        self.refuse_if_logged_out()?;
        let tag = self.seat_of(fields)?;
        let needs_turn = fields.value("_meta")["steering"]["idleBehavior"] == json!("promptRequired");
        let message = self.draft(tag, fields)?;
        let was_running = self.seats.get_mut(tag).is_some_and(|seat| seat.is_busy());
        if !was_running && needs_turn {
            let result = SteeringResult { outcome: "promptRequired", reason: Some("noRunningTurn") };
            records.extend(records::result(origin, &result));
            return Ok(());
        }
        let command = Command::Enqueue { message, queue: Queue::Steering };
        self.carry_out(tag, command, Expected::Steered { client: origin.clone(), was_running });
        Ok(())
    }

    /// Closes a session.
    pub(super) fn close(&mut self, tag: SessionTag, then: AfterClose, records: &mut Vec<Record>) {
        self.cancel(tag, records);
        // From now on there is no such session for the client.
        if let Some(seat) = self.seats.get_mut(tag) {
            seat.is_closing = true;
        }
        let origin = self.expectations.add(Expected::Closed { tag, then });
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
