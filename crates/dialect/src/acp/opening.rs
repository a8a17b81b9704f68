//! Opening sessions: new ones, those of before, and copies.

use std::path::{Path, PathBuf};

use bowline_core::SessionTag;
use bowline_core::ask::ApprovalForm;
use bowline_core::command::{Command, Origin, SessionQuery};
use bowline_core::reply::{Answer, Refusal, SessionSummary};
use bowline_core::sandbox::AskMode;
use bowline_core::session_tag::{SessionRequest, SessionSource};
use bowline_wire::Record;
use serde_json::{Map, Value};

use super::errors::{Failure, INVALID_PARAMS};
use super::expected::{AfterClose, Expected, OpeningStep};
use super::results::{OpenedResult, ResumedResult};
use super::{Acp, HOME, history, mcp_servers, options, records, requests};
use crate::Incoming;
use crate::fields::Fields;

/// What a session is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    New,
    /// The client wants to see the conversation.
    Load,
    Resume,
    /// The client wants a copy.
    Fork,
}

/// A session that is being opened, or looked at again for a client.
#[derive(Debug)]
pub(super) struct Opening {
    pub client: Origin,
    pub purpose: Purpose,
}

/// A session of before that is looked for.
#[derive(Debug)]
pub(super) struct Wanted {
    tag: SessionTag,
    /// The id of the session, or of the one to copy.
    id: String,
    /// The MCP servers that it is to use.
    servers: Map<String, Value>,
}

impl Acp {
    /// Opens a session that is new.
    pub(super) fn open_new(&mut self, client: Origin, fields: &mut Fields) -> Result<(), Failure> {
        let folder = requests::folder(fields)?;
        let servers = mcp_servers::read(&fields.list("mcpServers"))?;
        let opening = Opening { client, purpose: Purpose::New };
        let tag = self.seats.add(folder.clone(), String::new(), opening);
        self.open_at(tag, folder, SessionSource::New { is_kept: true }, servers);
        Ok(())
    }

    fn open_at(
        &mut self,
        session: SessionTag,
        folder: PathBuf,
        source: SessionSource,
        servers: Map<String, Value>,
    ) {
        let origin = self.expectations.add(Expected::Opened);
        let request = SessionRequest { working_directory: folder, source, servers };
        self.upcoming.push_back(Incoming::Open { session, origin, request });
    }

    /// Opens a session of before, once its file is found.
    pub(super) fn find_and_open(
        &mut self,
        origin: &Origin,
        purpose: Purpose,
        fields: &mut Fields,
        records: &mut Vec<Record>,
    ) -> Result<(), Failure> {
        let id = fields.text("sessionId");
        let folder = requests::folder(fields)?;
        let opening = Opening { client: origin.clone(), purpose };
        if let Some(tag) = self.seats.find(&id).filter(|_| purpose != Purpose::Fork) {
            return self.show_again(tag, opening, &folder, records);
        }
        let servers = mcp_servers::read(&fields.list("mcpServers"))?;
        // A copy gets an id of its own. Requests for the other one wait for it from now on.
        let own_id = if purpose == Purpose::Fork { String::new() } else { id.clone() };
        let tag = self.seats.add(folder, own_id, opening);
        let query = SessionQuery { everywhere: true, search: Some(id.clone()), ..SessionQuery::default() };
        let wanted = Box::new(Wanted { tag, id, servers });
        self.carry_out(HOME, Command::ListSessions { query }, Expected::FileToOpen { wanted });
        Ok(())
    }

    /// Answers for a session that is open already, without disturbing what it does.
    fn show_again(
        &mut self,
        tag: SessionTag,
        opening: Opening,
        folder: &Path,
        records: &mut Vec<Record>,
    ) -> Result<(), Failure> {
        let Some(seat) = self.seats.get_mut(tag) else { return Ok(()) };
        if seat.folder != folder {
            return Err(other_folder(&seat.folder));
        }
        if opening.purpose == Purpose::Load {
            seat.shown_again.push_back(opening.client);
            let expected = Expected::Opening(OpeningStep::EntriesAgain);
            self.carry_out(tag, Command::GetEntries { since: None }, expected);
        } else {
            let result = options::of(seat);
            records.extend(records::result(&opening.client, &result));
        }
        Ok(())
    }

    /// Opens the session of before that was looked for, if its file was found.
    pub(super) fn file_found(
        &mut self,
        wanted: Wanted,
        found: Result<&[SessionSummary], Failure>,
        records: &mut Vec<Record>,
    ) {
        let Wanted { tag, id, servers } = wanted;
        let Some(seat) = self.seats.get_mut(tag) else { return };
        let Some(purpose) = seat.opening.as_ref().map(|opening| opening.purpose) else { return };
        let folder = seat.folder.clone();
        let found = found.and_then(|sessions| {
            let found = sessions.iter().find(|session| session.id == id);
            found.ok_or_else(|| Failure::unknown_session(&id))
        });
        match found {
            Err(failure) => self.give_up_opening(tag, &failure, records),
            Ok(found) if purpose == Purpose::Fork => {
                self.open_at(tag, folder, SessionSource::CopyOf(found.path.clone()), servers);
            }
            Ok(found) if found.working_directory != folder => {
                let failure = other_folder(&found.working_directory);
                self.give_up_opening(tag, &failure, records);
            }
            Ok(found) => self.open_at(tag, folder, SessionSource::File(found.path.clone()), servers),
        }
    }

    /// Answers that a session cannot be opened, and carries out what has waited for it.
    fn give_up_opening(&mut self, tag: SessionTag, failure: &Failure, records: &mut Vec<Record>) {
        let Some(seat) = self.seats.remove(tag) else { return };
        records.extend(seat.opening.and_then(|opening| failure.answer(&opening.client)));
        self.carry_out_later(seat.later, records);
    }

    /// Carries out requests that have waited until their session was open.
    pub(super) fn carry_out_later(&mut self, later: Vec<(Origin, Fields)>, records: &mut Vec<Record>) {
        for (origin, mut fields) in later {
            if let Err(failure) = self.request(&origin, &mut fields, records) {
                records.extend(failure.answer(&origin));
            }
        }
    }

    /// A session was opened: asks for what the client is to be told of it.
    pub(super) fn opened(
        &mut self,
        tag: SessionTag,
        result: &Result<Answer, Refusal>,
        records: &mut Vec<Record>,
    ) {
        let files = self.client.unwrap_or_default().files;
        let Some(seat) = self.seats.get_mut(tag) else { return };
        match result {
            Ok(Answer::SessionOpened { id, .. }) => seat.id.clone_from(id),
            Ok(_) => {}
            Err(refusal) => return self.give_up_opening(tag, &Failure::from(refusal), records),
        }
        let command = Command::SetClientCapabilities {
            approvals: Some(ApprovalForm::FullDialog),
            changes: None,
            screen: None,
            files: Some(files),
        };
        self.set(tag, command);
        if self.asks_by_default {
            self.set(tag, Command::SetApprovals { ask: AskMode::Untrusted });
        }
        self.carry_out(tag, Command::GetAvailableModels, Expected::Opening(OpeningStep::Models));
        self.carry_out(tag, Command::GetState, Expected::Opening(OpeningStep::State));
        self.carry_out(tag, Command::GetCommands, Expected::Opening(OpeningStep::Commands));
        self.carry_out(tag, Command::GetEntries { since: None }, Expected::Opening(OpeningStep::Entries));
    }

    /// A step of opening a session is done. After the last one the client is told.
    pub(super) fn opening_step(
        &mut self,
        tag: SessionTag,
        step: OpeningStep,
        result: &Result<Answer, Refusal>,
        records: &mut Vec<Record>,
    ) {
        let client = self.client.unwrap_or_default();
        let Some(seat) = self.seats.get_mut(tag) else { return };
        match (step, result) {
            (OpeningStep::EntriesAgain, Ok(Answer::Entries { entries, leaf })) => {
                let Some(origin) = seat.shown_again.pop_front() else { return };
                history::replay(seat, client, entries, leaf.as_deref(), records);
                records.extend(records::result(&origin, &options::of(seat)));
            }
            (_, Ok(Answer::Models(models))) => seat.models.clone_from(models),
            (_, Ok(Answer::State(state))) => seat.take_state(state),
            (OpeningStep::Commands, Ok(Answer::Commands(commands))) => {
                seat.commands.clone_from(commands);
                self.finish_opening(tag, records);
            }
            (OpeningStep::Entries, Ok(Answer::Entries { entries, leaf })) => {
                let Some(opening) = &seat.opening else { return };
                if opening.purpose == Purpose::Load {
                    history::replay(seat, client, entries, leaf.as_deref(), records);
                } else {
                    history::remember(seat, entries);
                }
                self.finish_opening(tag, records);
            }
            (OpeningStep::EntriesAgain, Err(refusal)) => {
                let origin = seat.shown_again.pop_front();
                records.extend(origin.and_then(|origin| Failure::from(refusal).answer(&origin)));
            }
            (_, Err(refusal)) => {
                if let Some(opening) = seat.opening.take() {
                    records.extend(Failure::from(refusal).answer(&opening.client));
                    let later = std::mem::take(&mut seat.later);
                    self.close(tag, AfterClose::Nothing, records);
                    self.carry_out_later(later, records);
                }
            }
            (_, Ok(_)) => {}
        }
    }
}

impl Acp {
    /// Counts one of the two steps that take time. After both, the client is told that its session is open and what it has
    /// to know at once, in this order: updates of a session that is not open yet would be lost.
    fn finish_opening(&mut self, tag: SessionTag, records: &mut Vec<Record>) {
        let Some(seat) = self.seats.get_mut(tag) else { return };
        seat.opening_steps += 1;
        if seat.opening_steps < 2 {
            return;
        }
        let Some(opening) = seat.opening.take() else { return };
        finish(seat, &opening, records);
        seat.show_commands(records);
        seat.show_usage(records);
        let later = std::mem::take(&mut seat.later);
        self.carry_out_later(later, records);
    }
}

/// Tells the client that its session is open.
fn finish(seat: &super::seats::Seat, opening: &Opening, records: &mut Vec<Record>) {
    let options = options::of(seat);
    records.extend(match opening.purpose {
        Purpose::New | Purpose::Fork => {
            records::result(&opening.client, &OpenedResult { session_id: seat.id.clone(), options })
        }
        Purpose::Load | Purpose::Resume => records::result::<ResumedResult>(&opening.client, &options),
    });
}

fn other_folder(folder: &Path) -> Failure {
    let text = format!("\"cwd\" must be the folder of the session, {}", folder.display());
    Failure::new(INVALID_PARAMS, text)
}
