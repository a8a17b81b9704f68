//! Listing and deleting sessions.

use bowline_core::command::{Command, Origin, SessionQuery};
use bowline_core::reply::{SessionPage, SessionSummary};
use bowline_wire::Record;

use super::expected::Expected;
use super::results::{Empty, ListedSession, ListedSessions};
use super::{Acp, HOME, iso_time, records};
use crate::fields::Fields;

/// How many sessions are on a page.
const PAGE: usize = 100;

/// The longest title.
const LONGEST_TITLE: usize = 80;

impl Acp {
    pub(super) fn list(&mut self, origin: &Origin, fields: &mut Fields) {
        let folder = fields.optional_text("cwd");
        let cursor = fields.optional_text("cursor");
        let query = SessionQuery { everywhere: true, search: None, limit: Some(PAGE), cursor };
        let expected = Expected::Listed { client: origin.clone(), folder };
        self.carry_out(HOME, Command::ListSessions { query }, expected);
    }

    /// Deletes a session, once it is closed and its file is found.
    pub(super) fn delete(&mut self, origin: &Origin, fields: &mut Fields, records: &mut Vec<Record>) {
        let id = fields.text("sessionId");
        if let Some(tag) = self.seats.find(&id) {
            self.close(tag, None, records);
        }
        let query = SessionQuery { everywhere: true, search: Some(id.clone()), ..SessionQuery::default() };
        let expected = Expected::FileToDelete { client: origin.clone(), id };
        self.carry_out(HOME, Command::ListSessions { query }, expected);
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
pub(super) fn listed(page: &SessionPage, folder: Option<&str>) -> ListedSessions {
    let is_wanted = |session: &&SessionSummary| {
        !session.first_message.is_empty()
            && folder.is_none_or(|folder| session.working_directory.as_os_str() == folder)
    };
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
