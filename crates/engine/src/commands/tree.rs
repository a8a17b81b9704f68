//! Questions about the session's tree, labels in it, and lists of sessions.

use std::path::Path;

use bowline_core::command::SessionQuery;
use bowline_core::event::EntryName;
use bowline_core::reply::{Answer, ForkMessage, Refusal, RefusalCode, SessionPage};
use bowline_session::{EntryId, ListQuery, Scope, Store};

use crate::commands::sessions::{is_same_file, unavailable};
use crate::engine::Engine;

impl Engine {
    pub(crate) fn fork_messages(&self) -> Result<Answer, Refusal> {
        let messages = self.session.fork_messages().map_err(unavailable)?;
        let named = messages
            .into_iter()
            .map(|message| ForkMessage { entry: name(&message.entry), text: message.text });
        Ok(Answer::ForkMessages(named.collect()))
    }

    pub(crate) fn entries(&self, since: Option<&str>) -> Result<Answer, Refusal> {
        let entries = self.session.entries(since).map_err(unavailable)?;
        Ok(Answer::Entries { entries, leaf: self.leaf() })
    }

    pub(crate) fn tree(&self) -> Result<Answer, Refusal> {
        let roots = self.session.tree_json().map_err(unavailable)?;
        Ok(Answer::Tree { roots, leaf: self.leaf() })
    }

    pub(crate) fn set_label(&mut self, entry: &str, label: Option<&str>) -> Result<Answer, Refusal> {
        let entry = self.session.label(entry, label).map_err(unavailable)?;
        Ok(Answer::Written { entry: name(&entry) })
    }

    pub(crate) fn list_sessions(&self, query: SessionQuery) -> Result<Answer, Refusal> {
        let default = ListQuery::default();
        let page = self
            .session_store()?
            .list(&ListQuery {
                scope: if query.everywhere {
                    Scope::All
                } else {
                    Scope::Directory(self.working_directory.clone())
                },
                search: query.search,
                cursor: query.cursor,
                limit: query.limit.unwrap_or(default.limit),
            })
            .map_err(unavailable)?;
        Ok(Answer::Sessions(SessionPage { sessions: page.sessions, next_cursor: page.cursor }))
    }

    pub(crate) fn delete_session(&self, path: &Path) -> Result<Answer, Refusal> {
        let path = self.working_directory.join(path);
        if self.session.file().is_some_and(|current| is_same_file(current, &path)) {
            let text = "The session that is open cannot be deleted; switch to another one first";
            return Err(Refusal::new(RefusalCode::InvalidArgument, text));
        }
        self.session_store()?.delete(&path).map_err(unavailable)?;
        Ok(Answer::Done)
    }

    fn session_store(&self) -> Result<&Store, Refusal> {
        self.session_plan.store.as_ref().ok_or_else(|| {
            Refusal::new(RefusalCode::SessionUnavailable, "sessions are kept in memory only (--no-session)")
        })
    }

    fn leaf(&self) -> Option<EntryName> {
        self.session.leaf().map(name)
    }
}

pub(crate) fn name(entry: &EntryId) -> EntryName {
    EntryName::from(entry.as_str())
}
