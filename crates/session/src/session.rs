//! An open session: its storage, its tree, and how entries are appended.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::context::Context;
use crate::depth::{DEPTH_LIMIT, is_too_deep};
use crate::durability::Durability;
use crate::entry::{Entry, EntryBody, EntryId};
use crate::file::SessionFile;
use crate::header::{CURRENT_VERSION, Header, validate_session_id};
use crate::line::LINE_LIMIT;
use crate::scan::{Scan, scan};
use crate::statistics::{Counts, ModelStatistics, Statistics};
use crate::storage::{Save, Storage};
use crate::tree::{Node, Tree};
use crate::{Clock, Error, upgrade};

/// The properties of a new session.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// The absolute path of the session's working directory.
    pub working_directory: PathBuf,
    pub location: Location,
    /// The session's id; a version 7 UUID if absent.
    pub id: Option<String>,
    /// The session that this one is derived from, stored verbatim.
    pub parent: Option<String>,
}

/// Where a session is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// In a file in this directory.
    Directory(PathBuf),
    /// In this file, which does not exist.
    File(PathBuf),
    /// In memory only: it ends with the process.
    Memory,
}

/// What was wrong with a session's file when it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Damage {
    /// The number of lines that cannot be read.
    pub unreadable_lines: usize,
    /// The number of entries whose predecessor is missing. They follow the entry before the missing one.
    pub relinked_entries: usize,
}

/// An open session. It has no thread-bound state: open, read and fork it from any thread.
#[derive(Debug)]
pub struct Session {
    pub(crate) header: Header,
    pub(crate) working_directory: PathBuf,
    pub(crate) storage: Storage,
    pub(crate) tree: Tree,
    pub(crate) durability: Durability,
    /// The most recent name, exactly as written in the file.
    pub(crate) name: Option<String>,
    pub(crate) malformed_lines: usize,
    pub(crate) clock: Clock,
    /// Counted on first use and kept up to date afterwards. Shared with the readers of this session, so that what one of
    /// them counted is counted for all.
    pub(crate) counts: Arc<Mutex<Counts>>,
}

impl Session {
    /// Creates a session. Its file is written with the first message or by [`Session::persist_now`].
    pub fn create(options: NewSession) -> Result<Self, Error> {
        Self::create_by(options, Clock::System)
    }

    /// Creates a session whose times and ids come from `clock`.
    pub fn create_by(options: NewSession, clock: Clock) -> Result<Self, Error> {
        if let Some(id) = &options.id {
            validate_session_id(id)?;
        }
        let header = Header::new(options.id, &options.working_directory, options.parent, &clock);
        let content = header.line()?;
        let storage = Storage::new(options.location, &header, content);
        Ok(Self {
            header,
            working_directory: options.working_directory,
            storage,
            tree: Tree::default(),
            durability: Durability::default(),
            name: None,
            malformed_lines: 0,
            clock,
            counts: Arc::default(),
        })
    }

    /// Opens the session in an existing file and locks it. `current_directory` becomes the working directory of
    /// sessions that name none: those of the oldest format, and empty files, which become sessions here.
    pub fn open(path: &Path, current_directory: &Path) -> Result<Self, Error> {
        let mut file = SessionFile::open(path)?;
        let scan = scan(&mut file, current_directory)?;
        Ok(Self::from_scan(scan, Storage::File(file), current_directory))
    }

    /// Returns the session whose lines are in `storage`.
    pub(crate) fn from_scan(scan: Scan, storage: Storage, current_directory: &Path) -> Self {
        let Scan { header, tree, name, malformed_lines } = scan;
        let working_directory = match header.cwd.as_str() {
            "" => current_directory.to_path_buf(),
            directory => PathBuf::from(directory),
        };
        let (durability, clock, counts) = (Durability::default(), Clock::System, Arc::default());
        Self { header, working_directory, storage, tree, durability, name, malformed_lines, clock, counts }
    }

    /// Replaces the system clock.
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Sets how safely an entry is stored by the time [`Session::append`] returns.
    pub fn set_durability(&mut self, durability: Durability) {
        self.durability = durability;
        if let Storage::File(file) = &mut self.storage {
            file.set_durability(durability);
        }
    }

    /// Checks that the session's working directory still exists.
    pub fn check_working_directory(&self) -> Result<(), Error> {
        if self.working_directory.is_dir() {
            return Ok(());
        }
        let file = self.file().unwrap_or(Path::new("(in memory)")).to_path_buf();
        Err(Error::WorkingDirectoryGone { directory: self.working_directory.clone(), file })
    }

    /// Appends an entry as a child of the leaf and makes it the leaf. On success the entry is in the file, if there is
    /// one yet; on failure the session and its file are unchanged.
    pub fn append(&mut self, body: EntryBody) -> Result<EntryId, Error> {
        self.append_at(&self.clock.text(), body)
    }

    /// Appends an entry with a given timestamp.
    pub(crate) fn append_at(&mut self, timestamp: &str, body: EntryBody) -> Result<EntryId, Error> {
        self.upgrade_if_old()?;
        let id = self.tree.fresh_id(&self.clock);
        let line = Entry { id: &id, parent: self.leaf(), timestamp, body: &body }.line()?;
        check_readable(&line)?;
        let save = if body.is_worth_a_file() { Save::Now } else { Save::Later };
        let offset = self.storage.append(&line, save, self.durability)?;
        let parent = self.tree.leaf_position();
        self.tree.push(Node { id: id.clone(), parent, kind: body.kind(), offset, length: line.len() - 1 });
        // If a reader is counting, the entry is counted when the counts are next needed.
        if let Ok(mut counts) = self.counts.try_lock() {
            counts.count_next(&line, &self.tree);
        }
        if let EntryBody::SessionInfo { name } = body {
            self.name = Some(name);
        }
        Ok(id)
    }

    /// Writes the session to its file even if it has no message yet.
    pub fn persist_now(&mut self) -> Result<(), Error> {
        self.storage.save(self.durability)
    }

    /// Moves the leaf to another entry, or before the first one, so that the next entry starts a new branch there. The
    /// move itself is not recorded.
    pub fn move_leaf(&mut self, leaf: Option<&EntryId>) -> Result<(), Error> {
        self.tree.set_leaf(leaf)
    }

    /// Returns the context for the path from the root to the leaf.
    pub fn context(&self) -> Result<Context, Error> {
        Context::build(&self.tree, &self.storage)
    }

    /// Returns the counts over all entries of all branches.
    pub fn statistics(&self) -> Result<Statistics, Error> {
        Ok(self.counts()?.total)
    }

    /// Returns the counts per model over all entries of all branches, in the order of first use. Their usage adds up to
    /// that of [`Session::statistics`].
    pub fn statistics_by_model(&self) -> Result<Vec<ModelStatistics>, Error> {
        Ok(self.counts()?.by_model.clone())
    }

    /// Returns whether the statistics are counted already, so that asking for them reads nothing.
    pub fn has_statistics(&self) -> bool {
        self.counts.try_lock().is_ok_and(|counts| counts.entries() == self.tree.nodes().len())
    }

    fn counts(&self) -> Result<MutexGuard<'_, Counts>, Error> {
        // A panic while counting leaves counts that are too low, which is no reason for another panic.
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.catch_up(&self.tree, &self.storage)?;
        Ok(counts)
    }

    /// Returns the session's id.
    pub fn id(&self) -> &str {
        &self.header.id
    }

    /// Returns the header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the path of the session's file, which may not exist yet; none for a session in memory.
    pub fn file(&self) -> Option<&Path> {
        match &self.storage {
            Storage::Memory(_) | Storage::Snapshot(_) => None,
            Storage::Unsaved { path, .. } => Some(path),
            Storage::File(file) => Some(file.path()),
        }
    }

    /// Returns whether the session's file exists.
    pub fn is_saved(&self) -> bool {
        matches!(self.storage, Storage::File(_))
    }

    /// Returns the name that the user gave the session.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref().map(str::trim).filter(|name| !name.is_empty())
    }

    /// Returns the session's working directory.
    pub fn working_directory(&self) -> &Path {
        &self.working_directory
    }

    /// Returns the current leaf.
    pub fn leaf(&self) -> Option<&EntryId> {
        self.tree.leaf().map(|node| &node.id)
    }

    /// Returns whether an entry with this id exists on any branch.
    pub fn has_entry(&self, id: &str) -> bool {
        self.tree.position(id).is_some()
    }

    /// Returns the size of the session's entries in bytes.
    pub fn size(&self) -> u64 {
        self.tree.nodes().last().map_or(0, |last| last.offset + last.length as u64)
    }

    /// Returns the number of lines that were skipped because they are not entries.
    pub fn malformed_lines(&self) -> usize {
        self.malformed_lines
    }

    /// Returns what was wrong with the file; none if nothing was. Damage within an entry shows only when the entry is read.
    pub fn damage(&self) -> Option<Damage> {
        let damage =
            Damage { unreadable_lines: self.malformed_lines, relinked_entries: self.tree.relinked_count() };
        (damage != Damage::default()).then_some(damage)
    }

    // Upgrading waits for the first append, so that only looking at an old session does not change its file.
    fn upgrade_if_old(&mut self) -> Result<(), Error> {
        if self.header.version >= CURRENT_VERSION {
            return Ok(());
        }
        let leaf = self.leaf().cloned();
        let Storage::File(file) = &mut self.storage else { return Ok(()) };
        let Scan { header, tree, .. } = upgrade::upgrade(file, &self.header, &self.tree)?;
        self.header = header;
        self.tree = tree;
        self.tree.set_leaf(leaf.as_ref())
    }
}

/// Checks that a line can be read again.
fn check_readable(line: &[u8]) -> Result<(), Error> {
    if line.len() > LINE_LIMIT {
        return Err(Error::TooLong { limit: LINE_LIMIT });
    }
    if is_too_deep(line) { Err(Error::TooDeep { limit: DEPTH_LIMIT }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use bowline_core::{Message, ThinkingLevel};
    use serde_json::{Value, json};

    use super::*;
    use crate::fixture::{Written, texts};

    fn new(location: Location) -> Session {
        let working_directory = PathBuf::from("/work");
        let id = Some("my-id".into());
        Session::create(NewSession { working_directory, location, id, parent: None }).unwrap()
    }

    fn user(text: &str) -> EntryBody {
        EntryBody::Message(Arc::new(Message::user(text, Vec::new(), 7)))
    }

    fn files(directory: &Path) -> usize {
        fs::read_dir(directory).unwrap().count()
    }

    #[test]
    fn the_file_is_named_at_once_and_created_with_the_first_message() {
        let directory = tempfile::tempdir().unwrap();
        let mut session = new(Location::Directory(directory.path().join("sub")));
        let file = session.file().unwrap().to_path_buf();
        assert!(file.to_str().unwrap().ends_with("Z_my-id.jsonl"));
        session.append(EntryBody::ModelChange { provider: "p".into(), model_id: "m".into() }).unwrap();
        session.append(EntryBody::ThinkingLevelChange { level: ThinkingLevel::Low }).unwrap();
        assert_eq!((files(directory.path()), session.is_saved()), (0, false));
        session.append(user("hi")).unwrap();
        assert!(session.is_saved());
        let content = fs::read_to_string(&file).unwrap();
        let types: Vec<_> = content.lines().map(|line| line.split('"').nth(3).unwrap()).collect();
        assert_eq!(types, ["session", "model_change", "thinking_level_change", "message"]);
    }

    #[test]
    fn whatever_is_appended_can_be_read_again() {
        let nested = |levels: usize| (0..levels).fold(json!("x"), |inner, _| json!([inner]));
        let custom =
            |levels: usize| EntryBody::Custom { custom_type: "t".into(), data: Some(nested(levels)) };
        let directory = tempfile::tempdir().unwrap();
        let mut session = new(Location::Directory(directory.path().into()));
        session.append(user("hi")).unwrap();
        session.append(custom(DEPTH_LIMIT - 1)).unwrap();
        let before = fs::read(session.file().unwrap()).unwrap();
        for levels in [DEPTH_LIMIT, 125, 127, 500] {
            let error = session.append(custom(levels)).unwrap_err();
            assert!(matches!(error, Error::TooDeep { .. }), "{error}");
        }
        assert_eq!(fs::read(session.file().unwrap()).unwrap(), before);
        let long = user(&"x".repeat(LINE_LIMIT));
        assert!(matches!(session.append(long), Err(Error::TooLong { .. })));
        for line in fs::read_to_string(session.file().unwrap()).unwrap().lines() {
            serde_json::from_str::<Value>(line).unwrap();
        }
        session.append(user("ho")).unwrap();
        assert_eq!(texts(&session), ["hi", "ho"]);
    }

    #[test]
    fn a_session_can_be_created_in_a_given_file() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a/b.jsonl");
        let mut session = new(Location::File(file.clone()));
        assert!(!file.exists());
        session.append(user("hi")).unwrap();
        drop(session);
        assert_eq!(texts(&Session::open(&file, Path::new("/")).unwrap()), ["hi"]);
    }

    #[test]
    fn a_session_without_messages_can_be_saved() {
        let directory = tempfile::tempdir().unwrap();
        let mut session = new(Location::Directory(directory.path().into()));
        session.persist_now().unwrap();
        session.persist_now().unwrap();
        let file = session.file().unwrap().to_path_buf();
        assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 1);
        assert!(matches!(Session::open(&file, Path::new("/")), Err(Error::Locked { .. })));
        drop(session);
        let session = Session::open(&file, Path::new("/")).unwrap();
        assert_eq!((session.id(), session.working_directory()), ("my-id", Path::new("/work")));
        assert_eq!(session.leaf(), None);
    }

    #[test]
    fn a_session_in_memory_has_no_file() {
        let mut session = new(Location::Memory);
        session.append(user("hi")).unwrap();
        session.persist_now().unwrap();
        assert_eq!((session.file(), session.is_saved()), (None, false));
        assert_eq!(texts(&session), ["hi"]);
    }

    #[test]
    fn a_failed_first_write_leaves_the_session_unchanged() {
        let directory = tempfile::tempdir().unwrap();
        let mut session = new(Location::Directory(directory.path().join("sub")));
        session.append(EntryBody::SessionInfo { name: "n".into() }).unwrap();
        let leaf = session.leaf().cloned();
        fs::write(directory.path().join("sub"), "in the way").unwrap();
        assert!(matches!(session.append(user("lost?")), Err(Error::Write { .. })));
        assert_eq!((session.leaf(), session.statistics().unwrap().total_messages), (leaf.as_ref(), 0));
        fs::remove_file(directory.path().join("sub")).unwrap();
        session.append(user("again")).unwrap();
        let file = session.file().unwrap().to_path_buf();
        drop(session);
        let session = Session::open(&file, Path::new("/")).unwrap();
        assert_eq!((texts(&session), session.name()), (vec!["again".into()], Some("n")));
    }

    #[test]
    fn a_new_branch_keeps_the_old_one_in_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let mut session = new(Location::Directory(directory.path().into()));
        let root = session.append(user("root")).unwrap();
        session.append(user("left")).unwrap();
        session.move_leaf(Some(&root)).unwrap();
        session.append(user("right")).unwrap();
        assert_eq!(texts(&session), ["root", "right"]);
        let statistics = session.statistics().unwrap();
        let file = session.file().unwrap().to_path_buf();
        drop(session);
        let mut session = Session::open(&file, Path::new("/")).unwrap();
        assert_eq!(texts(&session), ["root", "right"]);
        assert_eq!(statistics.user_messages, 3);
        assert_eq!(session.statistics().unwrap(), statistics);
        session.append(user("more")).unwrap();
        assert_eq!(session.statistics().unwrap().user_messages, 4);
    }

    #[test]
    fn the_last_name_wins_and_an_empty_one_clears_it() {
        let mut session = new(Location::Memory);
        assert_eq!(session.name(), None);
        session.append(EntryBody::SessionInfo { name: "a".into() }).unwrap();
        session.append(EntryBody::SessionInfo { name: "b ".into() }).unwrap();
        assert_eq!(session.name(), Some("b"));
        session.append(EntryBody::SessionInfo { name: String::new() }).unwrap();
        assert_eq!(session.name(), None);
    }

    #[test]
    fn a_missing_working_directory_is_reported() {
        let gone =
            Written::new(&[r#"{"type":"session","version":3,"id":"s","cwd":"/no/such/directory"}"#]).open();
        let error = gone.check_working_directory().unwrap_err().to_string();
        assert!(
            error.starts_with("Stored session working directory does not exist: /no/such/directory\n"),
            "{error}"
        );
        let nowhere = Written::new(&[r#"{"type":"session","version":3,"id":"s"}"#]).open();
        assert_eq!(nowhere.working_directory(), Path::new("/current"));
    }

    #[test]
    fn an_invalid_id_is_rejected() {
        let options = NewSession {
            working_directory: "/".into(),
            location: Location::Memory,
            id: Some("../x".into()),
            parent: None,
        };
        assert!(matches!(Session::create(options), Err(Error::InvalidId { .. })));
    }

    #[test]
    fn sessions_are_opened_listed_and_forked_on_other_threads() {
        fn check<T: Send + Sync + 'static>() {}
        check::<crate::Store>();
        check::<Context>();
        check::<crate::Fork>();
        let written = Written::new(&[
            r#"{"type":"session","version":3,"id":"s","cwd":"/"}"#,
            r#"{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":"a","timestamp":1}}"#,
        ]);
        let path = written.path().to_path_buf();
        let open = move || {
            let session = Session::open(&path, Path::new("/")).unwrap();
            let context = session.context().unwrap();
            (session, context)
        };
        let (session, context) = std::thread::spawn(open).join().unwrap();
        assert_eq!(context.messages.len(), 1);
        let session = Arc::new(session);
        let shared = Arc::clone(&session);
        let forks = std::thread::spawn(move || {
            (shared.fork("1").unwrap(), shared.fork_after("1").unwrap(), shared.clone_at_leaf().unwrap())
        });
        assert_eq!(texts(&session), ["a"]);
        let (before, after, clone) = forks.join().unwrap();
        assert_eq!(
            (before.text.as_str(), texts(&after), texts(&clone)),
            ("a", vec!["a".into()], vec!["a".into()])
        );
    }
}
