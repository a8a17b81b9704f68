//! The session's tree: its entries, labels in it, and the lists of sessions.

use std::path::Path;

use bowline_core::command::{Origin, SessionQuery};
use bowline_core::event::EntryName;
use bowline_core::reply::{Answer, ForkMessage, Refusal, RefusalCode, SessionPage};
use bowline_session::{ListQuery, Scope, Store};

use super::sessions::is_same_file;
use crate::agent::session_unavailable;
use crate::pending::JobOrder;
use crate::session::Session;

impl Session {
    pub(super) fn fork_messages(&self) -> Result<Answer, Refusal> {
        let messages = self.transcript.file().fork_messages().map_err(session_unavailable)?;
        let named = messages.into_iter().map(|message| ForkMessage {
            entry: EntryName::from(message.entry.as_str()),
            text: message.text,
        });
        Ok(Answer::ForkMessages(named.collect()))
    }

    pub(super) fn entries(&self, since: Option<&str>) -> Result<Answer, Refusal> {
        let entries = self.transcript.file().entries(since).map_err(session_unavailable)?;
        Ok(Answer::Entries { entries, leaf: self.transcript.leaf() })
    }

    pub(super) fn tree(&self) -> Result<Answer, Refusal> {
        let roots = self.transcript.file().tree_json().map_err(session_unavailable)?;
        Ok(Answer::Tree { roots, leaf: self.transcript.leaf() })
    }

    pub(super) fn set_label(&mut self, entry: &str, label: Option<&str>) -> Result<Answer, Refusal> {
        Ok(Answer::Written { entry: self.transcript.set_label(entry, label)? })
    }

    /// Lists sessions in the background.
    pub(super) fn list_sessions(&mut self, origin: Origin, query: SessionQuery) {
        let default = ListQuery::default();
        let scope =
            if query.everywhere { Scope::All } else { Scope::Directory(self.working_directory.clone()) };
        let limit = query.limit.unwrap_or(default.limit);
        let query = ListQuery { scope, search: query.search, cursor: query.cursor, limit };
        self.with_store(origin, move |store| {
            let page = store.list(&query)?;
            Ok(Answer::Sessions(SessionPage { sessions: page.sessions, next_cursor: page.cursor }))
        });
    }

    /// Deletes a session in the background.
    pub(super) fn delete_session(&mut self, origin: Origin, path: &Path) {
        let path = self.working_directory.join(path);
        if self.file().is_some_and(|current| is_same_file(current, &path)) {
            let text = "The session that is open cannot be deleted; switch to another one first";
            return self.reply(origin, Err(Refusal::new(RefusalCode::InvalidArgument, text)));
        }
        let options = self.instructions.toolbox().options();
        self.with_store(origin, move |store| {
            let id = store.delete(&path)?;
            if let Some(directory) = &options.temporary_directory {
                bowline_tools::remove_logs(directory, &id);
            }
            Ok(Answer::Done)
        });
    }

    /// Does something with the stored sessions in the background.
    fn with_store(
        &mut self,
        origin: Origin,
        work: impl FnOnce(&Store) -> Result<Answer, bowline_session::Error> + Send + 'static,
    ) {
        let Some(store) = self.agent.session_plan().store.clone() else {
            let text = "sessions are kept in memory only (--no-session)";
            return self.reply(origin, Err(Refusal::new(RefusalCode::SessionUnavailable, text)));
        };
        self.reply_later(origin, JobOrder::Exclusive, async move {
            match tokio::task::spawn_blocking(move || work(&store)).await {
                Ok(result) => result.map_err(session_unavailable),
                Err(error) => Err(Refusal::new(RefusalCode::Internal, format!("Internal error: {error}"))),
            }
        });
    }
}
