//! Protected paths of the workspace that no mount can protect, because they do not exist or because there are no mounts:
//! after each call they are compared with what they were, and put back.
//!
//! A command may have planted links, so every path is followed from a folder that was opened at the start, and no link on
//! the way is. What the command left is moved to quarantine in bowline's own folder: it may be somebody's work.

mod quarantine;
mod saved;
mod watch;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bowline_core::sandbox::{ProtectedChange, SandboxLevel};
use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, openat2, renameat};
use rustix::io::Errno;

use self::quarantine::{Removal, RightToWrite, move_away, open_with_rights};
use self::saved::{Saved, Signature};
pub(crate) use self::watch::{Expected, Watch};
use crate::git_config;
use crate::git_folders::{self, GitFolders};
use crate::plan::{PROTECTED, Plan};

/// How many bytes of protected files are kept in memory.
const BUDGET: usize = 16 << 20;

/// How many hooks of a new repository are moved away at once.
const MOST_HOOKS: usize = 1_000;

/// The protected paths of a workspace.
#[derive(Debug)]
pub(crate) struct Protected {
    watched: Vec<Watched>,
    /// The folders that paths are followed from, by their paths.
    bases: Vec<(PathBuf, Arc<OwnedFd>)>,
    /// Folders that were renamed, if there are no mounts to prevent it.
    pinned: Vec<Pinned>,
    quarantine: PathBuf,
    roots: Vec<PathBuf>,
    known: GitFolders,
    /// Repositories that calls have made.
    made: Vec<PathBuf>,
    /// What of new repositories could not be moved away.
    stuck_in_made: Vec<PathBuf>,
}

/// A path that is compared after each call.
#[derive(Debug)]
struct Watched {
    /// A folder above it, as it was opened at the start.
    base: Arc<OwnedFd>,
    /// The folder of the path within that.
    folder: PathBuf,
    name: OsString,
    /// The whole path, for people.
    path: PathBuf,
    signature: Signature,
    saved: Saved,
    /// Whether what a call left there could not be moved away.
    is_stuck: bool,
    /// How many calls are running that may change it, because the user has allowed them to.
    expected: usize,
}

/// A folder that must stay in its place.
#[derive(Debug)]
struct Pinned {
    folder: Arc<OwnedFd>,
    path: PathBuf,
    /// The root that it is in, as it was opened at the start. Everything on the way from there may be replaced by links.
    root: Arc<OwnedFd>,
    root_path: PathBuf,
    /// Whether it was moved together with the folder that it was in, which is allowed.
    is_gone: bool,
}

impl Protected {
    /// Notes what the protected paths of a plan are now. Reads files.
    pub fn note(plan: &Plan, level: SandboxLevel, own_folder: &Path) -> io::Result<Self> {
        let mut protected = Self {
            watched: Vec::new(),
            bases: Vec::new(),
            pinned: Vec::new(),
            quarantine: own_folder.join("quarantine"),
            roots: plan.roots.clone(),
            known: plan.git_folders.clone(),
            made: Vec::new(),
            stuck_in_made: Vec::new(),
        };
        // What a mount protects needs no comparing.
        let is_mounted =
            |path: &Path| level == SandboxLevel::Full && plan.read_only_inside.iter().any(|at| at == path);
        let is_granted = |path: &Path| plan.granted.iter().any(|granted| granted.starts_with(path));
        let mut budget = BUDGET;
        for root in &plan.roots {
            for name in PROTECTED {
                if !is_mounted(&root.join(name)) && !is_granted(&root.join(name)) {
                    protected.watch(root, Path::new(""), name, &mut budget)?;
                }
            }
        }
        for git in plan.git_folders.all() {
            for name in git_folders::PROTECTED.iter().chain(&git_folders::POINTERS) {
                if !is_mounted(&git.join(name)) && !is_granted(&git.join(name)) {
                    protected.watch_in_git(git, name, &mut budget)?;
                }
            }
            // A mount keeps a folder in its place, but not the folders above it.
            let is_at_the_top = plan.roots.iter().any(|root| git.parent() == Some(root));
            if level != SandboxLevel::Full || !is_at_the_top {
                let root = plan.roots.iter().find(|root| git.starts_with(root)).map(PathBuf::as_path);
                if let Some(root) = root.or_else(|| git.parent()) {
                    let (root_opened, opened) = (protected.base(root)?, protected.base(git)?);
                    protected.pinned.push(Pinned::new((git, opened), (root, root_opened)));
                }
            }
        }
        for worktree in &plan.git_folders.worktrees {
            for name in git_folders::POINTERS.iter().chain(["config.worktree"].iter()) {
                protected.watch_at(worktree, name, &mut budget)?;
            }
        }
        for file in &plan.git_folders.files {
            // Also if it is mounted: a folder above it can be given another name.
            protected.watch_file(file, &mut budget)?;
        }
        // What a protected link leads to.
        for path in plan.read_only_inside.iter().filter(|path| level != SandboxLevel::Full && path.exists()) {
            let is_watched = protected.watched.iter().any(|watched| watched.path == *path);
            if !is_watched && plan.roots.iter().any(|root| path.starts_with(root) && path != root) {
                protected.watch_file(path, &mut budget)?;
            }
        }
        Ok(protected)
    }

    /// Watches a name in a git folder, which is followed wherever it is moved.
    fn watch_in_git(&mut self, git: &Path, name: &str, budget: &mut usize) -> io::Result<()> {
        self.watch(git, Path::new(""), name, budget)
    }

    /// Opens a folder to follow paths from, once.
    fn base(&mut self, path: &Path) -> io::Result<Arc<OwnedFd>> {
        if let Some((_, opened)) = self.bases.iter().find(|(known, _)| known == path) {
            return Ok(Arc::clone(opened));
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let opened = Arc::new(rustix::fs::open(path, flags, Mode::empty())?);
        self.bases.push((path.to_owned(), Arc::clone(&opened)));
        Ok(opened)
    }

    /// Watches a name in a folder, whatever folder is at that path, from the root that it is in.
    fn watch_at(&mut self, folder: &Path, name: &str, budget: &mut usize) -> io::Result<()> {
        let root = self.roots.iter().find(|root| folder.starts_with(root)).cloned();
        match root.as_deref().and_then(|root| Some((root, folder.strip_prefix(root).ok()?))) {
            Some((root, within)) => self.watch(root, within, name, budget),
            None => self.watch(folder, Path::new(""), name, budget),
        }
    }

    /// Watches a file, whatever folder it is in.
    fn watch_file(&mut self, file: &Path, budget: &mut usize) -> io::Result<()> {
        match (file.parent(), file.file_name().and_then(OsStr::to_str)) {
            (Some(folder), Some(name)) => self.watch_at(folder, name, budget),
            _ => Ok(()),
        }
    }

    fn watch(&mut self, base: &Path, folder: &Path, name: &str, budget: &mut usize) -> io::Result<()> {
        let opened = self.base(base)?;
        let path = base.join(folder).join(name);
        let name = OsString::from(name);
        let (signature, saved) = match open_beneath(opened.as_fd(), folder) {
            Ok(parent) => (Signature::of(parent.as_fd(), &name), Saved::read(parent.as_fd(), &name, budget)),
            // The folder does not exist, so neither does the path.
            Err(_) => (Signature::default(), Saved::Absent),
        };
        self.watched.push(Watched {
            base: opened,
            folder: folder.to_owned(),
            name,
            path,
            signature,
            saved,
            is_stuck: false,
            expected: 0,
        });
        Ok(())
    }

    /// Tells whether something has changed. Takes a look at a few names.
    pub fn is_changed(&self) -> bool {
        self.watched.iter().any(Watched::is_changed) || self.pinned.iter().any(Pinned::is_moved)
    }

    /// Puts back what has changed, and returns what that was.
    pub fn put_back(&mut self) -> Vec<ProtectedChange> {
        let mut changes = Vec::new();
        for pinned in self.pinned.iter_mut().filter(|pinned| pinned.is_moved()) {
            changes.extend(pinned.put_back(&self.quarantine));
        }
        // What is made in their place is new.
        let gone = |git: &PathBuf| self.pinned.iter().any(|pinned| pinned.is_gone && pinned.path == *git);
        self.known.inside.retain(|git| !gone(git));
        for watched in self.watched.iter_mut().filter(|watched| watched.is_changed()) {
            // What stays in its place is reported once.
            let was_stuck = watched.is_stuck;
            let change = watched.put_back(&self.quarantine);
            if !(was_stuck && watched.is_stuck) {
                changes.push(change);
            }
        }
        changes
    }

    /// Returns a protected path that could not be put back, if there is one.
    pub fn stuck(&self) -> Option<&Path> {
        let watched = self.watched.iter().find(|watched| watched.is_stuck && watched.is_changed());
        let hook = || self.stuck_in_made.iter().find(|path| path.symlink_metadata().is_ok());
        watched.map(|watched| &watched.path).or_else(hook).map(PathBuf::as_path)
    }

    /// Returns the paths that contain one of these files, to change how they are watched.
    fn around(&mut self, files: &[PathBuf]) -> impl Iterator<Item = &mut Watched> {
        let watched = self.watched.iter_mut();
        watched.filter(|watched| files.iter().any(|file| file.starts_with(&watched.path)))
    }

    /// Lets changes of these files pass until they are accepted.
    pub fn expect(&mut self, files: &[PathBuf]) {
        self.around(files).for_each(|watched| watched.expected += 1);
    }

    /// Takes what the files are now for what they are to be.
    pub fn accept(&mut self, files: &[PathBuf]) {
        self.around(files).for_each(Watched::accept);
    }

    pub fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// Takes note of repositories that calls have made since. What makes git run programs in them is moved to quarantine.
    pub fn take_found(&mut self, root: &Path, found: GitFolders) -> Vec<ProtectedChange> {
        let mut changes = Vec::new();
        let new: Vec<_> = found.inside.into_iter().filter(|git| !self.known.inside.contains(git)).collect();
        for git in new {
            // A repository that was there before and has another place now keeps what it has.
            let was_there = self.pinned.iter().any(|pinned| pinned.is_folder(&git));
            if !was_there {
                for pointer in git_folders::POINTERS {
                    let _ = self.watch_in_git(&git, pointer, &mut 0);
                }
                self.made.push(git.clone());
            }
            self.known.inside.push(git);
        }
        for git in self.made.clone() {
            changes.extend(self.clear_made(root, &git));
        }
        for worktree in found.worktrees {
            if !self.known.worktrees.contains(&worktree) {
                if !git_folders::leads_back(&worktree) {
                    changes.extend(self.take_away(root, &worktree.join("commondir")));
                }
                self.known.worktrees.push(worktree);
            }
        }
        for file in found.files {
            if !self.known.files.contains(&file) && !self.known.has_made(&file) {
                changes.extend(self.take_away(root, &file));
            }
        }
        changes
    }

    /// Moves away what makes git run programs in a repository that a call has made.
    fn clear_made(&mut self, root: &Path, git: &Path) -> Vec<ProtectedChange> {
        let mut changes = Vec::new();
        for config in ["config", "config.worktree"].map(|name| git.join(name)) {
            if git_config::runs_programs(&config) {
                changes.extend(self.take_away(root, &config));
            }
        }
        let hooks = git.join("hooks");
        match hooks.symlink_metadata() {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return changes.into_iter().chain(self.take_away(root, &hooks)).collect(),
            Err(_) => return changes,
        }
        let is_sample = |name: &OsString| Path::new(name).extension() == Some(OsStr::new("sample"));
        let names = fs::read_dir(&hooks).into_iter().flatten().flatten().map(|entry| entry.file_name());
        let names: Vec<_> = names.filter(|name| !is_sample(name)).take(MOST_HOOKS).collect();
        for name in names {
            changes.extend(self.take_away(root, &hooks.join(name)));
        }
        changes
    }

    /// Moves something in a root away, without following links on the way to it.
    fn take_away(&mut self, root: &Path, path: &Path) -> Option<ProtectedChange> {
        let base = self.base(root).ok()?;
        let folder = open_with_rights(base.as_fd(), path.parent()?.strip_prefix(root).ok()?).ok()?;
        let _right = RightToWrite::take(folder.as_fd());
        let removal = move_away(folder.as_fd(), path.file_name()?, path, &self.quarantine);
        match removal {
            Removal::Nothing => return None,
            Removal::Stays if self.stuck_in_made.iter().any(|stuck| stuck == path) => return None,
            Removal::Stays => self.stuck_in_made.push(path.to_owned()),
            Removal::Moved(_) => {}
        }
        let (path, change) = (path.to_owned(), "created".to_owned());
        Some(ProtectedChange { path, quarantine: removal.place(), change })
    }
}

impl Watched {
    fn parent(&self) -> Result<OwnedFd, Errno> {
        open_beneath(self.base.as_fd(), &self.folder)
    }

    fn is_changed(&self) -> bool {
        self.expected == 0 && self.signature_now() != self.signature
    }

    /// Notes that a call that the user has allowed has ended. What is there now is how it is to be.
    fn accept(&mut self) {
        self.expected = self.expected.saturating_sub(1);
        if let Ok(parent) = self.parent() {
            self.saved = Saved::read(parent.as_fd(), &self.name, &mut BUDGET.clone());
        }
        self.signature = self.signature_now();
    }

    fn signature_now(&self) -> Signature {
        // Most are in the folder that is open anyway, and this is done after each call.
        if self.folder.as_os_str().is_empty() {
            return Signature::of(self.base.as_fd(), &self.name);
        }
        match self.parent() {
            Ok(parent) => Signature::of(parent.as_fd(), &self.name),
            Err(Errno::ACCESS) => Signature::unknown(),
            Err(_) => Signature::default(),
        }
    }

    fn put_back(&mut self, quarantine: &Path) -> ProtectedChange {
        let is_there =
            |parent: &OwnedFd| rustix::fs::statat(parent, &self.name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
        let parent = open_with_rights(self.base.as_fd(), &self.folder).ok();
        let _right = parent.as_ref().map(|parent| RightToWrite::take(parent.as_fd()));
        let change = match (&self.saved, parent.as_ref().is_some_and(is_there)) {
            (Saved::Absent, _) => "created",
            (_, true) => "changed",
            (_, false) => "removed",
        };
        let removal = match &parent {
            Some(parent) => move_away(parent.as_fd(), &self.name, &self.path, quarantine),
            None => Removal::Nothing,
        };
        self.is_stuck = removal == Removal::Stays;
        if !self.is_stuck {
            if let Some(parent) = &parent {
                self.saved.write(parent.as_fd(), &self.name);
            }
            self.signature = self.signature_now();
        }
        ProtectedChange { path: self.path.clone(), quarantine: removal.place(), change: change.to_owned() }
    }
}

impl Pinned {
    fn new((path, folder): (&Path, Arc<OwnedFd>), (root_path, root): (&Path, Arc<OwnedFd>)) -> Self {
        Self { folder, path: path.to_owned(), root, root_path: root_path.to_owned(), is_gone: false }
    }

    fn is_moved(&self) -> bool {
        !self.is_gone && self.at(&self.path).is_none()
    }

    /// Tells whether it is this folder that is at a path.
    fn is_folder(&self, path: &Path) -> bool {
        self.at(path).is_some()
    }

    /// Opens the folder of a path within the root, and returns it with the name in it.
    fn parent_of<'path>(&self, path: &'path Path) -> Option<(OwnedFd, &'path OsStr)> {
        let folder = path.parent()?.strip_prefix(&self.root_path).ok()?;
        Some((open_beneath(self.root.as_fd(), folder).ok()?, path.file_name()?))
    }

    /// Returns the same if it is this very folder that is at the path.
    fn at<'path>(&self, path: &'path Path) -> Option<(OwnedFd, &'path OsStr)> {
        let (parent, name) = self.parent_of(path)?;
        let found = rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let wanted = rustix::fs::fstat(&*self.folder).ok()?;
        ((found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino)).then_some((parent, name))
    }

    fn put_back(&mut self, quarantine: &Path) -> Option<ProtectedChange> {
        use std::os::fd::AsRawFd as _;
        let Some((parent, name)) = self.parent_of(&self.path) else {
            self.is_gone = true;
            return None;
        };
        let moved = move_away(parent.as_fd(), name, &self.path, quarantine).place();
        // Where it is now is what the kernel says. By the time that the path is followed it may lead elsewhere, so it is
        // followed from the root without links, and must still lead to the folder.
        let now = fs::read_link(format!("/proc/self/fd/{}", self.folder.as_raw_fd())).ok()?;
        if let Some((now_parent, now_name)) = self.at(&now) {
            let _ = renameat(&now_parent, now_name, &parent, name);
        }
        Some(ProtectedChange { path: self.path.clone(), quarantine: moved, change: "removed".to_owned() })
    }
}

/// Opens a folder beneath another, without following links.
fn open_beneath(base: BorrowedFd<'_>, folder: &Path) -> Result<OwnedFd, Errno> {
    let path = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(base, path, flags, Mode::empty(), resolve)
}

#[cfg(test)]
mod tests;
