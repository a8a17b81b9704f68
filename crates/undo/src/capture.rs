//! What a path stands for now, with its content kept.

use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use crate::beneath::Folder;
use crate::error::Error;
use crate::git_index::Repository;
use crate::image::ImageId;
use crate::index::{Entry, Image, Index};
use crate::recorder::Recorder;
use crate::state::{Kind, Missing, Stamp, Stat, State};

/// How long files that git does not have are copied before the first command of a run. What is left is copied before the
/// next one.
const COPYING_TIME: Duration = Duration::from_secs(3);

/// What may be removed to keep a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// It is not kept.
    No,
    /// Only where there is room anyway: nobody has changed it yet.
    IfFree,
    /// The oldest runs make room.
    Always,
}

/// The folders that paths are relative to. Opened once for many paths.
#[derive(Debug)]
pub(crate) struct Roots {
    /// The workspace, unless it is gone.
    workspace: Option<Folder>,
    path: PathBuf,
    system: Folder,
}

impl Roots {
    pub fn open(workspace: &Path) -> Result<Self, Error> {
        let found = match workspace.canonicalize() {
            Ok(real) => Some(Folder::open(&real)?),
            Err(error) if is_gone(&error) => None,
            Err(error) => return Err(Error::access(workspace, error)),
        };
        Ok(Self { workspace: found, path: workspace.to_owned(), system: Folder::open(Path::new("/"))? })
    }

    /// Opens the folders. The workspace is the one that `held` is, even if it has been moved, unless that was removed.
    pub fn holding(workspace: &Path, held: Option<Folder>) -> Result<Self, Error> {
        match held.filter(|held| held.own_stat().is_ok_and(|stat| stat.links > 0)) {
            Some(held) => {
                let (path, system) = (workspace.to_owned(), Folder::open(Path::new("/"))?);
                Ok(Self { workspace: Some(held), path, system })
            }
            None => Self::open(workspace),
        }
    }

    pub fn workspace(&self) -> Option<&Folder> {
        self.workspace.as_ref()
    }

    /// Returns what tells the workspace from a folder that takes its place. Devices may have other numbers after the system
    /// was started again.
    pub fn inode(&self) -> Option<u64> {
        Some(self.workspace()?.own_stat().ok()?.inode)
    }

    /// Returns the folder that a path is in, and its name there.
    pub fn parent_of<'a>(&self, path: &'a str) -> Result<(Folder, &'a str), Error> {
        match path.strip_prefix('/') {
            Some(path) => self.system.parent_of(path),
            None => match &self.workspace {
                Some(workspace) => workspace.parent_of(path),
                None => Err(Error::access(&self.path, std::io::ErrorKind::NotFound)),
            },
        }
    }
}

impl Recorder {
    /// Returns what a path stands for, with its content kept; `None` if there is nothing.
    pub(crate) fn state_now(&self, roots: &Roots, path: &str) -> Result<Option<State>, Error> {
        self.look(roots, path, Keep::Always)
    }

    /// Returns what a path stands for without keeping its content.
    pub(crate) fn look_at(&self, roots: &Roots, path: &str) -> Result<Option<State>, Error> {
        self.look(roots, path, Keep::No)
    }

    fn look(&self, roots: &Roots, path: &str, keep: Keep) -> Result<Option<State>, Error> {
        let (folder, name) = match roots.parent_of(path) {
            Err(error) if error.is_not_found() || is_link_in_path(&error) => return Ok(None),
            found => found?,
        };
        let Some(stat) = folder.stat(name)? else { return Ok(None) };
        Ok(Some(match stat.kind {
            Kind::Folder => State::without_content(&stat, None),
            Kind::Other => State::without_content(&stat, Some(Missing::Special)),
            Kind::Link => match folder.target(name)? {
                Some(target) => State { target: Some(target), ..State::without_content(&stat, None) },
                None => State::without_content(&stat, Some(Missing::Unreadable)),
            },
            Kind::File => self.file_state(&folder, name, &stat, keep),
        }))
    }

    pub(crate) fn file_state(&self, folder: &Folder, name: &str, stat: &Stat, keep: Keep) -> State {
        if stat.links > 1 {
            return State::without_content(stat, Some(Missing::HardLinks));
        }
        if stat.size > self.options.max_file_bytes {
            return State::without_content(stat, Some(Missing::TooLarge));
        }
        match folder.read(name, self.options.max_file_bytes) {
            Ok(Some((content, stat))) => {
                let image = ImageId::of(&content);
                let missing = self.keep(image, &content, keep);
                let size = content.len() as u64;
                let mut state = State { image: Some(image), size, ..State::without_content(&stat, missing) };
                if keep == Keep::No {
                    // To be compared with a state whose content is not known.
                    state.stamp = Some(Stamp::of(&stat));
                }
                state
            }
            Ok(None) => State::without_content(stat, Some(Missing::TooLarge)),
            Err(_) => State::without_content(stat, Some(Missing::Unreadable)),
        }
    }

    /// Keeps a content. Returns why it is not kept, if so.
    fn keep(&self, image: ImageId, content: &[u8], keep: Keep) -> Option<Missing> {
        if keep == Keep::No {
            return None;
        }
        self.pin(image);
        if self.store.has(image) {
            return None;
        }
        if !self.make_room(content.len() as u64, keep) {
            return Some(Missing::NoRoom);
        }
        match self.store.put(image, content) {
            Ok(()) => None,
            Err(error) => {
                self.note_failure(&error);
                Some(Missing::NotWritten)
            }
        }
    }

    /// Returns what an entry of an index stood for. A content that was in git is copied from there.
    pub(crate) fn state_of(&self, entry: &Entry, repository: Option<&Repository>) -> State {
        let stat = &entry.stat;
        match &entry.image {
            Image::None if stat.kind == Kind::Folder => State::without_content(stat, None),
            Image::None => State::without_content(stat, Some(Missing::NoTime)),
            Image::Target(target) => {
                State { target: Some(target.clone()), ..State::without_content(stat, None) }
            }
            Image::Stored(image) => State { image: Some(*image), ..State::without_content(stat, None) },
            Image::Missing(missing) => State::without_content(stat, Some(*missing)),
            Image::Git(name) => {
                if stat.size > self.options.max_file_bytes {
                    return State::without_content(stat, Some(Missing::TooLarge));
                }
                let found = repository.and_then(|repository| repository.objects.content(name, stat.size));
                match found {
                    Some(content) => {
                        let image = ImageId::of(&content);
                        let missing = self.keep(image, &content, Keep::Always);
                        State { image: Some(image), ..State::without_content(stat, missing) }
                    }
                    None => State::without_content(stat, Some(Missing::GoneFromGit)),
                }
            }
        }
    }

    /// Finds out where the contents of an index are available, and copies those that nobody else has. `previous` is an index
    /// whose contents are kept.
    pub(crate) fn keep_contents(
        &self,
        roots: &Roots,
        index: &mut Index,
        previous: Option<&Index>,
        repository: Option<&Repository>,
    ) {
        let deadline = Instant::now() + COPYING_TIME;
        let mut entries = std::mem::take(&mut index.entries);
        let mut known = previous.map(Index::cursor);
        for entry in &mut entries {
            if entry.stat.kind == Kind::File && entry.image == Image::None {
                let kept = known.as_mut().and_then(|known| known.find(&entry.path));
                let kept =
                    previous.zip(kept).and_then(|(previous, kept)| kept_image(previous, kept, &entry.stat));
                let is_racy = index.is_racy(&entry.stat);
                entry.image = self.image_of(roots, entry, is_racy, kept, repository, deadline);
            }
        }
        index.entries = entries;
    }

    fn image_of(
        &self,
        roots: &Roots,
        entry: &Entry,
        is_racy: bool,
        kept: Option<&Image>,
        repository: Option<&Repository>,
        deadline: Instant,
    ) -> Image {
        let (path, stat) = (&*entry.path, &entry.stat);
        if stat.links > 1 {
            return Image::Missing(Missing::HardLinks);
        }
        let known = kept.and_then(|kept| if let Image::Git(name) = kept { Some(*name) } else { None });
        if let Some(name) = repository.and_then(|repository| repository.content_of(path, stat, known))
            && !is_racy
        {
            return Image::Git(name);
        }
        if stat.size > self.options.max_file_bytes {
            return Image::Missing(Missing::TooLarge);
        }
        if let Some(Image::Stored(image)) = kept
            && self.store.has(*image)
        {
            return Image::Stored(*image);
        }
        if Instant::now() > deadline {
            return Image::Missing(Missing::NoTime);
        }
        match self.look(roots, path, Keep::IfFree) {
            Ok(Some(State { image: Some(image), missing: None, .. })) => Image::Stored(image),
            Ok(Some(State { missing: Some(missing), .. })) => Image::Missing(missing),
            _ => Image::Missing(Missing::Unreadable),
        }
    }
}

/// Returns where the content of a file was for an index, if the file has not changed since.
fn kept_image<'a>(index: &Index, entry: &'a Entry, stat: &Stat) -> Option<&'a Image> {
    (entry.stat == *stat && !index.is_racy(stat)).then_some(&entry.image)
}

/// Returns a path without links, as the journal names it: relative to the workspace if it is below. `None` if it cannot be
/// named, because it is not UTF-8.
pub(crate) fn journal_path(workspace: &Path, path: &Path) -> Option<String> {
    let real = bowline_files::canonical(path);
    if real.components().any(|part| part == Component::ParentDir) {
        return None;
    }
    let workspace = bowline_files::canonical(workspace);
    let named = real.strip_prefix(&workspace).unwrap_or(&real);
    named.to_str().filter(|path| !path.is_empty()).map(str::to_owned)
}

fn is_gone(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

/// Tells whether a part of a path is a link or a file, where a folder was.
fn is_link_in_path(error: &Error) -> bool {
    matches!(error, Error::Access { source, .. } if source.raw_os_error().is_some_and(is_loop))
}

#[cfg(unix)]
fn is_loop(code: i32) -> bool {
    code == rustix::io::Errno::LOOP.raw_os_error()
}

#[cfg(not(unix))]
fn is_loop(_: i32) -> bool {
    false
}
