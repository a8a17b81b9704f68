//! An open session: its file, its tree, and the one way to add to them.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::context::Context;
use crate::durability::Durability;
use crate::entry::{Entry, EntryBody, EntryId};
use crate::file::SessionFile;
use crate::header::{CURRENT_VERSION, Header, validate_session_id};
use crate::scan::{Scan, scan};
use crate::statistics::{Counts, ModelStatistics, Statistics};
use crate::tree::{Node, Tree};
use crate::{Clock, Error, upgrade};

/// What a new session is to be.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// The directory that the session works in, as an absolute path.
    pub working_directory: PathBuf,
    pub location: Location,
    /// The session's id; without one it gets a UUID of version 7.
    pub id: Option<String>,
    /// The session that this one comes from, kept as it is.
    pub parent: Option<String>,
}

/// Where a session is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// In a file in this directory.
    Directory(PathBuf),
    /// Nowhere: it ends with the process.
    Memory,
}

/// One open session.
#[derive(Debug)]
pub struct Session {
    pub(crate) header: Header,
    pub(crate) working_directory: PathBuf,
    pub(crate) storage: Storage,
    pub(crate) tree: Tree,
    pub(crate) durability: Durability,
    /// The name that was given last, as it stands in the file.
    name: Option<String>,
    malformed_lines: usize,
    pub(crate) clock: Clock,
    /// Counted when first asked for, and kept up to date from then on.
    counts: OnceLock<Counts>,
}

/// Where the lines of a session are. In all three, an entry's offset is the same: what is in memory is byte for
/// byte what the file will be.
#[derive(Debug)]
pub(crate) enum Storage {
    Memory(Vec<u8>),
    /// A file that has a name but does not exist yet.
    Unsaved {
        path: PathBuf,
        content: Vec<u8>,
    },
    File(SessionFile),
}

impl Session {
    /// Starts a session. Nothing is on disk before the first message or [`Session::persist_now`].
    pub fn create(options: NewSession) -> Result<Self, Error> {
        Self::create_by(options, Clock::System)
    }

    /// Starts a session whose times and ids come from `clock`.
    pub fn create_by(options: NewSession, clock: Clock) -> Result<Self, Error> {
        if let Some(id) = &options.id {
            validate_session_id(id)?;
        }
        let header = Header::new(options.id, &options.working_directory, options.parent, &clock);
        let content = header.line()?;
        let storage = match options.location {
            Location::Memory => Storage::Memory(content),
            Location::Directory(directory) => {
                Storage::Unsaved { path: directory.join(header.file_name()), content }
            }
        };
        Ok(Self {
            header,
            working_directory: options.working_directory,
            storage,
            tree: Tree::default(),
            durability: Durability::default(),
            name: None,
            malformed_lines: 0,
            clock,
            counts: OnceLock::from(Counts::default()),
        })
    }

    /// Opens the session in an existing file and locks it. `current_directory` is for the sessions that do not
    /// say where they work: those of the oldest format, and empty files, which become sessions here.
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
        let (durability, clock, counts) = (Durability::default(), Clock::System, OnceLock::new());
        Self { header, working_directory, storage, tree, durability, name, malformed_lines, clock, counts }
    }

    /// Returns the session with another clock than the system's.
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Says how safe an entry is when [`Session::append`] returns.
    pub fn set_durability(&mut self, durability: Durability) {
        self.durability = durability;
        if let Storage::File(file) = &mut self.storage {
            file.set_durability(durability);
        }
    }

    /// Checks that the directory that the session works in is still there.
    pub fn check_working_directory(&self) -> Result<(), Error> {
        if self.working_directory.is_dir() {
            return Ok(());
        }
        let file = self.file().unwrap_or(Path::new("(in memory)")).to_path_buf();
        Err(Error::WorkingDirectoryGone { directory: self.working_directory.clone(), file })
    }

    /// Adds an entry as a child of the leaf and makes it the leaf. When this returns, the entry is in the file,
    /// if the session has one yet; after an error the session and its file are as they were.
    pub fn append(&mut self, body: EntryBody) -> Result<EntryId, Error> {
        self.append_at(&self.clock.text(), body)
    }

    /// Adds an entry that says to be from `timestamp`.
    pub(crate) fn append_at(&mut self, timestamp: &str, body: EntryBody) -> Result<EntryId, Error> {
        self.upgrade_if_old()?;
        let id = self.tree.fresh_id(&self.clock);
        let line = Entry { id: &id, parent: self.leaf(), timestamp, body: &body }.line()?;
        let offset = self.storage.append(&line, body.is_worth_a_file(), self.durability)?;
        let parent = self.tree.leaf_position();
        self.tree.push(Node { id: id.clone(), parent, kind: body.kind(), offset, length: line.len() - 1 });
        if let Some(counts) = self.counts.get_mut() {
            counts.count(&line, parent, &self.tree, &self.storage);
        }
        if let EntryBody::SessionInfo { name } = body {
            self.name = Some(name);
        }
        Ok(id)
    }

    /// Writes the session to its file even if nothing was said in it yet.
    pub fn persist_now(&mut self) -> Result<(), Error> {
        self.storage.save(self.durability)
    }

    /// Moves the conversation to another entry, or before the first one: the next entry starts a new branch
    /// there. The move itself is not recorded.
    pub fn move_leaf(&mut self, leaf: Option<&EntryId>) -> Result<(), Error> {
        self.tree.set_leaf(leaf)
    }

    /// Returns what the path from the root to the leaf amounts to.
    pub fn context(&self) -> Result<Context, Error> {
        Context::build(&self.tree, &self.storage)
    }

    /// Returns the counts over all entries of all branches.
    pub fn statistics(&self) -> Result<Statistics, Error> {
        Ok(self.counts()?.total)
    }

    /// Returns what each model has said and cost, over all entries of all branches, in the order of first use.
    /// Together they have used what [`Session::statistics`] says.
    pub fn statistics_by_model(&self) -> Result<Vec<ModelStatistics>, Error> {
        Ok(self.counts()?.by_model.clone())
    }

    fn counts(&self) -> Result<&Counts, Error> {
        if let Some(counts) = self.counts.get() {
            return Ok(counts);
        }
        let counts = Counts::of(&self.tree, &self.storage)?;
        Ok(self.counts.get_or_init(|| counts))
    }

    /// Returns the session's id.
    pub fn id(&self) -> &str {
        &self.header.id
    }

    /// Returns the header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the session's file, also when it does not exist yet; a session in memory has none.
    pub fn file(&self) -> Option<&Path> {
        match &self.storage {
            Storage::Memory(_) => None,
            Storage::Unsaved { path, .. } => Some(path),
            Storage::File(file) => Some(file.path()),
        }
    }

    /// Tells whether the session's file exists.
    pub fn is_saved(&self) -> bool {
        matches!(self.storage, Storage::File(_))
    }

    /// Returns the name that the user gave the session.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref().map(str::trim).filter(|name| !name.is_empty())
    }

    /// Returns the directory that the session works in.
    pub fn working_directory(&self) -> &Path {
        &self.working_directory
    }

    /// Returns the entry that the conversation is at.
    pub fn leaf(&self) -> Option<&EntryId> {
        self.tree.leaf().map(|node| &node.id)
    }

    /// Tells whether the session has an entry with this id, on whatever branch.
    pub fn has_entry(&self, id: &str) -> bool {
        self.tree.position(id).is_some()
    }

    /// Returns how many lines of the file were passed over because they are not entries of a session.
    pub fn malformed_lines(&self) -> usize {
        self.malformed_lines
    }

    // An old file is only read until something is to be added to it: looking at a session does not change it.
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

impl Storage {
    /// Adds a line and returns where it starts. With `save`, a session that is not on disk yet gets its file.
    fn append(&mut self, line: &[u8], save: bool, durability: Durability) -> Result<u64, Error> {
        match self {
            Self::File(file) => file.append(line),
            Self::Memory(content) => Ok(extend(content, line)),
            Self::Unsaved { path, content } => {
                let offset = extend(content, line);
                if save {
                    match SessionFile::create(path, content, durability) {
                        Ok(file) => *self = Self::File(file),
                        Err(error) => {
                            content.truncate(content.len() - line.len());
                            return Err(error);
                        }
                    }
                }
                Ok(offset)
            }
        }
    }

    fn save(&mut self, durability: Durability) -> Result<(), Error> {
        if let Self::Unsaved { path, content } = self {
            *self = Self::File(SessionFile::create(path, content, durability)?);
        }
        Ok(())
    }

    /// Returns the line of an entry.
    pub(crate) fn read(&self, node: &Node) -> Result<Vec<u8>, Error> {
        match self {
            Self::File(file) => file.read(node.offset, node.length),
            Self::Memory(content) | Self::Unsaved { content, .. } => {
                let start = usize::try_from(node.offset).unwrap_or(usize::MAX);
                Ok(content[start..start + node.length].to_vec())
            }
        }
    }
}

/// Adds `line` to `content` and returns where it starts.
fn extend(content: &mut Vec<u8>, line: &[u8]) -> u64 {
    let offset = content.len() as u64;
    content.extend_from_slice(line);
    offset
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use bowline_core::{Message, ThinkingLevel};

    use super::*;
    use crate::fixture::{Written, texts};

    fn new(location: Location) -> Session {
        let working_directory = PathBuf::from("/work");
        let id = Some("my-id".into());
        Session::create(NewSession { working_directory, location, id, parent: None }).unwrap()
    }

    fn said(text: &str) -> EntryBody {
        EntryBody::Message(Arc::new(Message::user(text, Vec::new(), 7)))
    }

    fn files(directory: &Path) -> usize {
        fs::read_dir(directory).unwrap().count()
    }

    #[test]
    fn a_file_exists_from_the_first_message_on_and_is_named_before() {
        let directory = tempfile::tempdir().unwrap();
        let mut session = new(Location::Directory(directory.path().join("sub")));
        let file = session.file().unwrap().to_path_buf();
        assert!(file.to_str().unwrap().ends_with("Z_my-id.jsonl"));
        session.append(EntryBody::ModelChange { provider: "p".into(), model_id: "m".into() }).unwrap();
        session.append(EntryBody::ThinkingLevelChange { level: ThinkingLevel::Low }).unwrap();
        assert_eq!((files(directory.path()), session.is_saved()), (0, false));
        session.append(said("hi")).unwrap();
        assert!(session.is_saved());
        let content = fs::read_to_string(&file).unwrap();
        let types: Vec<_> = content.lines().map(|line| line.split('"').nth(3).unwrap()).collect();
        assert_eq!(types, ["session", "model_change", "thinking_level_change", "message"]);
    }

    #[test]
    fn a_session_can_be_saved_before_anything_is_said() {
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
        session.append(said("hi")).unwrap();
        session.persist_now().unwrap();
        assert_eq!((session.file(), session.is_saved()), (None, false));
        assert_eq!(texts(&session), ["hi"]);
    }

    #[test]
    fn a_failed_first_write_leaves_the_session_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let mut session = new(Location::Directory(directory.path().join("sub")));
        session.append(EntryBody::SessionInfo { name: "n".into() }).unwrap();
        let leaf = session.leaf().cloned();
        fs::write(directory.path().join("sub"), "in the way").unwrap();
        assert!(matches!(session.append(said("lost?")), Err(Error::Write { .. })));
        assert_eq!((session.leaf(), session.statistics().unwrap().total_messages), (leaf.as_ref(), 0));
        fs::remove_file(directory.path().join("sub")).unwrap();
        session.append(said("again")).unwrap();
        let file = session.file().unwrap().to_path_buf();
        drop(session);
        let session = Session::open(&file, Path::new("/")).unwrap();
        assert_eq!((texts(&session), session.name()), (vec!["again".into()], Some("n")));
    }

    #[test]
    fn a_new_branch_leaves_the_old_one_in_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let mut session = new(Location::Directory(directory.path().into()));
        let root = session.append(said("root")).unwrap();
        session.append(said("left")).unwrap();
        session.move_leaf(Some(&root)).unwrap();
        session.append(said("right")).unwrap();
        assert_eq!(texts(&session), ["root", "right"]);
        let statistics = session.statistics().unwrap();
        let file = session.file().unwrap().to_path_buf();
        drop(session);
        let mut session = Session::open(&file, Path::new("/")).unwrap();
        assert_eq!(texts(&session), ["root", "right"]);
        assert_eq!(statistics.user_messages, 3);
        assert_eq!(session.statistics().unwrap(), statistics);
        session.append(said("more")).unwrap();
        assert_eq!(session.statistics().unwrap().user_messages, 4);
    }

    #[test]
    fn the_last_name_counts_and_an_empty_one_clears_it() {
        let mut session = new(Location::Memory);
        assert_eq!(session.name(), None);
        session.append(EntryBody::SessionInfo { name: "a".into() }).unwrap();
        session.append(EntryBody::SessionInfo { name: "b ".into() }).unwrap();
        assert_eq!(session.name(), Some("b"));
        session.append(EntryBody::SessionInfo { name: String::new() }).unwrap();
        assert_eq!(session.name(), None);
    }

    #[test]
    fn a_working_directory_that_is_gone_is_noticed() {
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
    fn a_bad_id_is_refused() {
        let options = NewSession {
            working_directory: "/".into(),
            location: Location::Memory,
            id: Some("../x".into()),
            parent: None,
        };
        assert!(matches!(Session::create(options), Err(Error::InvalidId { .. })));
    }

    #[test]
    fn sessions_can_move_to_another_thread() {
        fn check<T: Send + Sync>() {}
        check::<Session>();
    }
}
