//! The session's tree: its entries, labels in it, and the lists of sessions.

use std::path::Path;

use bowline_core::command::{Origin, SessionQuery, TreeFormat};
use bowline_core::event::EntryName;
use bowline_core::reply::{Answer, FlatNode, ForkMessage, Refusal, RefusalCode, SessionPage};
use bowline_session::{ListQuery, NestedTree, Scope, Store};

use super::sessions::is_same_file;
use crate::agent::session_unavailable;
use crate::file_changes::UNDO_FOLDER;
use crate::pending::JobOrder;
use crate::session::Session;

/// The size of a session up to which reading all of it does not hold up the loop, in bytes.
const READ_AT_ONCE: u64 = 256 * 1024;

impl Session {
    pub(super) fn fork_messages(&mut self, origin: Origin) {
        self.read_session(origin, |file, _| {
            let messages = file.fork_messages()?.into_iter();
            let named = messages.map(|message| ForkMessage {
                entry: EntryName::from(message.entry.as_str()),
                text: message.text,
            });
            Ok(Answer::ForkMessages(named.collect()))
        });
    }

    pub(super) fn entries(&mut self, origin: Origin, since: Option<String>) {
        self.read_session(origin, move |file, leaf| {
            Ok(Answer::Entries { entries: file.entries(since.as_deref())?, leaf })
        });
    }

    pub(super) fn tree(&mut self, origin: Origin, format: TreeFormat) {
        self.read_session(origin, move |file, leaf| match format {
            TreeFormat::Nested => {
                let NestedTree { json, is_split } = file.tree_json()?;
                Ok(Answer::Tree { roots: json, is_split, leaf })
            }
            TreeFormat::Flat => {
                let nodes = file.tree()?.into_iter().map(|node| FlatNode {
                    entry: node.entry,
                    depth: node.depth,
                    label: node.label,
                    label_timestamp: node.label_timestamp,
                });
                Ok(Answer::FlatTree { nodes: nodes.collect(), leaf })
            }
        });
    }

    /// Replies with something that is read from the session's file: at once if the file is small, otherwise in the
    /// background from the file as it is now. Later commands wait meanwhile, so that replies keep their order; a run goes
    /// on.
    pub(super) fn read_session(
        &mut self,
        origin: Origin,
        read: impl FnOnce(&bowline_session::Session, Option<EntryName>) -> Result<Answer, bowline_session::Error>
        + Send
        + 'static,
    ) {
        let (file, leaf) = (self.transcript.file(), self.transcript.leaf());
        if file.size() <= READ_AT_ONCE {
            let result = read(file, leaf).map_err(session_unavailable);
            return self.reply(origin, result);
        }
        match file.reader() {
            Ok(reader) => self.reply_from_blocking(origin, move || read(&reader, leaf)),
            Err(error) => self.reply(origin, Err(session_unavailable(error))),
        }
    }

    pub(super) fn set_label(&mut self, entry: &str, label: Option<&str>) -> Result<Answer, Refusal> {
        Ok(Answer::Written { entry: self.transcript.set_label(entry, label)? })
    }

    /// Lists sessions in the background.
    pub(super) fn list_sessions(&mut self, origin: Origin, query: SessionQuery) {
        let default = ListQuery::default();
        let scope = match query.folder {
            Some(folder) => Scope::Directory(folder),
            None if query.everywhere => Scope::All,
            None => Scope::Directory(self.working_directory.clone()),
        };
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
            let ids = store.delete(&path)?;
            if let Some(directory) = &options.temporary_directory {
                ids.iter().for_each(|id| bowline_tools::remove_logs(directory, id));
            }
            if let Some(confinement) = &options.confinement {
                ids.iter().for_each(|id| confinement.forget_changes(id));
            }
            if let Some(own) = &options.own_folder {
                ids.iter().for_each(|id| bowline_undo::remove(&own.join(UNDO_FOLDER), id));
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
        self.reply_from_blocking(origin, move || work(&store));
    }

    /// Replies with the result of something that blocks. Later commands wait for it.
    fn reply_from_blocking(
        &mut self,
        origin: Origin,
        work: impl FnOnce() -> Result<Answer, bowline_session::Error> + Send + 'static,
    ) {
        self.reply_later(origin, JobOrder::Exclusive, async move {
            match tokio::task::spawn_blocking(work).await {
                Ok(result) => result.map_err(session_unavailable),
                Err(error) => Err(Refusal::new(RefusalCode::Internal, format!("Internal error: {error}"))),
            }
        });
    }
}
