//! Listing and deleting sessions.

use bowline_core::command::{Command, Origin, SessionQuery};
use bowline_core::reply::{SessionPage, SessionSummary};
use bowline_wire::Record;

use super::errors::Failure;
use super::expected::{AfterClose, Expected};
use super::results::{Empty, ListedSession, ListedSessions};
use super::{Acp, HOME, iso_time, records, requests};
use crate::fields::Fields;

/// How many sessions are on a page.
const PAGE: usize = 100;

/// The longest title.
const LONGEST_TITLE: usize = 80;

impl Acp {
    pub(super) fn list(&mut self, origin: &Origin, fields: &mut Fields) -> Result<(), Failure> {
        let folder = match fields.peek("cwd") {
            Some(_) => Some(requests::folder(fields)?),
            None => None,
        };
        let cursor = fields.optional_text("cursor");
        let query = SessionQuery { everywhere: true, folder, search: None, limit: Some(PAGE), cursor };
        self.carry_out(HOME, Command::ListSessions { query }, Expected::Listed { client: origin.clone() });
        Ok(())
    }

    /// Deletes a session, once it is closed and its file is found.
    pub(super) fn delete(&mut self, origin: &Origin, fields: &mut Fields, records: &mut Vec<Record>) {
        let (client, id) = (origin.clone(), fields.text("sessionId"));
        match self.seats.find(&id) {
            Some(tag) => self.close(tag, AfterClose::Delete { client, id }, records),
            None => self.find_to_delete(client, id),
        }
    }

    /// Looks for the file of a session that is to be deleted.
    pub(super) fn find_to_delete(&mut self, client: Origin, id: String) {
        let query = SessionQuery { everywhere: true, search: Some(id.clone()), ..SessionQuery::default() };
        self.carry_out(HOME, Command::ListSessions { query }, Expected::FileToDelete { client, id });
    }

    /// Deletes the file that was looked for. One that is not there is deleted already.
    pub(super) fn file_to_delete(
        &mut self,
        client: Origin,
        id: &str,
        sessions: &[SessionSummary],
        records: &mut Vec<Record>,
    ) {
        match sessions.iter().find(|session| session.id == id) {
            Some(found) => {
                let command = Command::DeleteSession { path: found.path.clone() };
                self.carry_out(HOME, command, Expected::Deleted { client });
            }
            None => records.extend(records::result(&client, &Empty {})),
        }
    }
}

/// Returns the answer to a request for the list.
pub(super) fn listed(page: &SessionPage) -> ListedSessions {
    let is_wanted = |session: &&SessionSummary| !session.first_message.is_empty();
    let sessions = page.sessions.iter().filter(is_wanted).map(|session| {
        let title = session.name.as_deref().unwrap_or(&session.first_message);
        let title = title.lines().next().unwrap_or_default().chars().take(LONGEST_TITLE).collect();
        ListedSession {
            session_id: session.id.clone(),
            cwd: session.working_directory.to_string_lossy().into_owned(),
            title: Some(title),
            updated_at: iso_time::of(session.modified),
        }
    });
    ListedSessions { sessions: sessions.collect(), next_cursor: page.next_cursor.clone() }
}
