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
use super::expected::{Expected, OpeningStep};
use super::results::{OpenedResult, ResumedResult};
use super::{Acp, HOME, history, mcp_servers, options, records, requests};
use crate::Incoming;
use crate::fields::Fields;

/// What a request wants opened.
#[derive(Debug)]
pub(super) struct Wanted {
    pub purpose: Purpose,
    pub folder: PathBuf,
    /// The id of a session of before.
    pub id: String,
    /// The MCP servers that it is to use.
    pub servers: Map<String, Value>,
}

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

impl Acp {
    /// Opens a session that is new.
    pub(super) fn open(&mut self, client: Origin, wanted: Wanted) {
        self.open_at(client, wanted, None);
    }

    fn open_at(&mut self, client: Origin, wanted: Wanted, file: Option<PathBuf>) {
        let Wanted { purpose, folder, servers, .. } = wanted;
        let session = self.seats.add(folder.clone(), Opening { client, purpose });
        let origin = self.expectations.add(Expected::Opened);
        let source = match file {
            None => SessionSource::New { is_kept: true },
            Some(file) if purpose == Purpose::Fork => SessionSource::CopyOf(file),
            Some(file) => SessionSource::File(file),
        };
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
        if let Some(tag) = self.seats.find(&id).filter(|_| purpose != Purpose::Fork) {
            return self.show_again(tag, Opening { client: origin.clone(), purpose }, &folder, records);
        }
        let query = SessionQuery { everywhere: true, search: Some(id.clone()), ..SessionQuery::default() };
        let servers = mcp_servers::read(&fields.list("mcpServers"))?;
        let wanted = Box::new(Wanted { purpose, folder, id, servers });
        let expected = Expected::FileToOpen { client: origin.clone(), wanted };
        self.carry_out(HOME, Command::ListSessions { query }, expected);
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
            seat.shown_again = Some(opening.client);
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
        client: Origin,
        wanted: Wanted,
        sessions: &[SessionSummary],
    ) -> Result<(), (Origin, Failure)> {
        let Some(found) = sessions.iter().find(|session| session.id == wanted.id) else {
            return Err((client, Failure::unknown_session(&wanted.id)));
        };
        if wanted.purpose != Purpose::Fork && found.working_directory != wanted.folder {
            return Err((client, other_folder(&found.working_directory)));
        }
        let file = found.path.clone();
        self.open_at(client, wanted, Some(file));
        Ok(())
    }

    /// A session was opened: asks for what the client is to be told of it.
    pub(super) fn opened(
        &mut self,
        tag: SessionTag,
        result: &Result<Answer, Refusal>,
        records: &mut Vec<Record>,
    ) {
        let Some(seat) = self.seats.get_mut(tag) else { return };
        let Some(opening) = &seat.opening else { return };
        match result {
            Ok(Answer::SessionOpened { id, .. }) => seat.id.clone_from(id),
            Ok(_) => {}
            Err(refusal) => {
                records.extend(Failure::from(refusal).answer(&opening.client));
                self.seats.remove(tag);
                return;
            }
        }
        let approvals = Some(ApprovalForm::FullDialog);
        self.set(tag, Command::SetClientCapabilities { approvals, changes: None, screen: None });
        if self.asks_by_default {
            self.set(tag, Command::SetApprovals { ask: AskMode::Untrusted });
        }
        self.carry_out(tag, Command::GetAvailableModels, Expected::Opening(OpeningStep::Models));
        self.carry_out(tag, Command::GetState, Expected::Opening(OpeningStep::State));
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
                let Some(origin) = seat.shown_again.take() else { return };
                history::replay(seat, client, entries, leaf.as_deref(), records);
                records.extend(records::result(&origin, &options::of(seat)));
            }
            (_, Ok(Answer::Models(models))) => seat.models.clone_from(models),
            (_, Ok(Answer::State(state))) => seat.take_state(state),
            (OpeningStep::Entries, Ok(Answer::Entries { entries, leaf })) => {
                let Some(opening) = seat.opening.take() else { return };
                if opening.purpose == Purpose::Load {
                    history::replay(seat, client, entries, leaf.as_deref(), records);
                } else {
                    history::remember(seat, entries);
                }
                finish(seat, &opening, records);
                seat.show_usage(records);
                self.carry_out(tag, Command::GetCommands, Expected::Commands);
            }
            (OpeningStep::EntriesAgain, Err(refusal)) => {
                let origin = seat.shown_again.take();
                records.extend(origin.and_then(|origin| Failure::from(refusal).answer(&origin)));
            }
            (_, Err(refusal)) => {
                if let Some(opening) = seat.opening.take() {
                    records.extend(Failure::from(refusal).answer(&opening.client));
                    self.close(tag, None, records);
                }
            }
            (_, Ok(_)) => {}
        }
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
