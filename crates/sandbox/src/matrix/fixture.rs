//! What an attempt is tried on: a folder with a workspace, and around it everything that must stay as it is.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use rustix::fs::{Mode, OFlags};
use rustix::io::FdFlags;

use super::attempt::Attempt;
use super::attempts;
use super::caller::{self, Argument, Caller};
use super::facts::{Facts, Handle};
use super::listeners::Listeners;
use super::observation::{Detail, Observation, look_at};
use super::victim::Victim;

/// A key as providers give them out, and the variable that the checker has it in.
pub(super) const KEY: &str = "sk-check-0123456789abcdef0123456789abcdef";
pub(super) const KEY_VARIABLE: &str = "BOWLINE_CHECK_API_KEY";

/// What of the workspace others would run. It may be changed for a moment, but not for good.
const PROTECTED: &[&str] = &[
    ".git/HEAD",
    ".git/config",
    ".git/hooks",
    ".git/commondir",
    "nested/.git/hooks",
    ".claude",
    ".codex",
    ".git-moved",
];

/// Descriptors that nothing inside has by chance have at least this number.
const FIRST_INHERITED: i32 = 200;

/// The folder, the victims around it, and what they were made of.
#[derive(Debug)]
pub(super) struct Fixture {
    pub root: PathBuf,
    temporary: PathBuf,
    pub listeners: Listeners,
    victim: Victim,
    facts: Facts,
    /// A key in the memory of the checker, for the attempt that searches it.
    #[expect(dead_code, reason = "it only has to be there")]
    key: String,
    _inherited: [OwnedFd; 2],
    _folder: Folder,
}

/// The folder itself, which goes with the fixture, also with one that could not be made to the end.
#[derive(Debug)]
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Fixture {
    /// Makes a fixture in a folder, which must not be the private one of the sandbox, and in the machine's `/tmp`.
    pub fn make(place: &Path, temporary: &Path) -> io::Result<Self> {
        let process = std::process::id();
        let time = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let token = format!("bowline-check-{process}-{}", time.subsec_nanos());
        let folder = Folder(place.join(&token));
        let root = folder.0.clone();
        make_files(&root)?;
        let listeners = Listeners::open(&root, temporary, &token)?;
        let victim = Victim::start(root.join("victim"), root.join("outside"), &token)?;
        let inherited_file = inherit(&root.join("outside/23/file"), OFlags::WRONLY | OFlags::APPEND)?;
        let inherited_folder = inherit(&root.join("outside/24"), OFlags::RDONLY | OFlags::DIRECTORY)?;
        let facts = Facts {
            bowline: process.cast_signed(),
            victim: victim.pid(),
            secret_address: victim.secret_address,
            tcp4: listeners.tcp4()?,
            tcp6: listeners.tcp6(),
            own_address: listeners.own_address(),
            udp: listeners.udp()?,
            socket_in_tmp: listeners.socket_in_tmp.clone(),
            file_in_tmp: temporary.join(format!("{token}.file")),
            file_in_shm: Path::new("/dev/shm").join(format!("{token}.file")),
            abstract_name: listeners.abstract_name.clone(),
            // Positive, unlikely to be anybody's, and different for checkers that run at the same time.
            memory_key: 0x0b0b_0000 | (process & 0xffff).cast_signed(),
            queue_key: 0x0b0c_0000 | (process & 0xffff).cast_signed(),
            inherited_file: inherited_file.as_raw_fd(),
            inherited_folder: inherited_folder.as_raw_fd(),
            handle: handle_of(&root.join("outside/49/file"), &root),
            user: rustix::process::geteuid().as_raw(),
            token,
        };
        fs::write(&facts.file_in_tmp, "of the machine\n")?;
        // A machine without /dev/shm has nothing there to be changed.
        let _ = fs::write(&facts.file_in_shm, "of the machine\n");
        let fixture = Self {
            root,
            temporary: temporary.to_owned(),
            listeners,
            victim,
            facts,
            key: KEY.to_owned(),
            _folder: folder,
            _inherited: [inherited_file, inherited_folder],
        };
        fixture.make_shared_memory()?;
        fixture.facts.write(&fixture.root)?;
        Ok(fixture)
    }

    fn make_shared_memory(&self) -> io::Result<()> {
        let flags = libc::IPC_CREAT | 0o600;
        let made = Caller::new()
            .call(libc::SYS_shmget, [self.facts.memory_key.into(), 4096.into(), flags.into()])
            .call(libc::SYS_msgget, [self.facts.queue_key.into(), flags.into()])
            .run_in(&self.root);
        made.map_err(|stop| io::Error::other(format!("making shared memory: {stop:?}")))
    }

    fn remove_shared_memory(&self) {
        let _ = Caller::new()
            .call(libc::SYS_shmget, [self.facts.memory_key.into(), 0.into(), 0.into()])
            .call(libc::SYS_shmctl, [Argument::Result(0), libc::IPC_RMID.into(), 0.into()])
            .run_in(&self.root);
        let _ = Caller::new()
            .call(libc::SYS_msgget, [self.facts.queue_key.into(), 0.into()])
            .call(libc::SYS_msgctl, [Argument::Result(0), libc::IPC_RMID.into(), 0.into()])
            .run_in(&self.root);
    }

    pub fn workspace(&self) -> PathBuf {
        self.root.join("workspace")
    }

    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Bowline's own folder.
    pub fn state(&self) -> PathBuf {
        self.root.join("bowline")
    }

    /// The port that a listed name stands for in the attempts on the proxy.
    pub fn port(&self) -> u16 {
        self.facts.tcp4.port()
    }

    /// Makes what earlier attempts may have destroyed whole again.
    pub fn repair(&mut self) -> io::Result<()> {
        self.victim.revive(&self.facts.token)?;
        if self.facts.victim != self.victim.pid() {
            self.facts.victim = self.victim.pid();
            self.facts.write(&self.root)?;
        }
        let workspace = self.workspace();
        if workspace.join(".git-moved").exists() {
            fs::rename(workspace.join(".git-moved"), workspace.join(".git"))?;
        }
        Ok(())
    }

    /// Undoes what got through in the workspace, so that the next attempt finds it as the first one did.
    pub fn clean_workspace(&self) {
        let workspace = self.workspace();
        for path in [".git/commondir", ".git/hooks/pre-commit", "nested/.git/hooks/pre-commit"] {
            let _ = fs::remove_file(workspace.join(path));
        }
        let _ = fs::remove_dir_all(workspace.join(".codex"));
        // What is as it was is not written again: what compares the files would take that for a change by somebody else.
        for (path, content) in [(".git/config", GIT_CONFIG), (".claude/settings.json", "{}\n")] {
            let path = workspace.join(path);
            if !fs::read_to_string(&path).is_ok_and(|found| found == content) {
                let _ = fs::write(path, content);
            }
        }
    }

    /// Returns how everything is that an attempt could reach.
    pub fn observe(&mut self, attempt: &Attempt) -> Observation {
        let mut observation = Observation::new();
        let number = attempt.number;
        let mut look = |name: &str, path: &Path, detail| look_at(&mut observation, name, path, detail);
        look("outside", &self.root.join("outside").join(number), Detail::All);
        look("the victim's file", &self.root.join("outside/victim-input"), Detail::All);
        look("home", &self.home(), Detail::Content);
        look("auth.json", &self.state().join("auth.json"), Detail::All);
        look("sessions", &self.state().join("sessions"), Detail::All);
        for path in PROTECTED {
            look(path, &self.workspace().join(path), Detail::Content);
        }
        for shared in [&self.facts.file_in_tmp, &self.facts.file_in_shm] {
            let name = shared.parent().unwrap_or(shared).display().to_string();
            look(&format!("a file in {name}"), shared, Detail::All);
            look(&format!("a new file in {name}"), &shared.with_extension("new"), Detail::All);
        }
        let is_alive = self.victim.is_alive();
        observation.insert("the victim".to_owned(), format!("alive: {is_alive}"));
        let limits = fs::read_to_string(format!("/proc/{}/limits", self.facts.victim)).unwrap_or_default();
        observation.insert("the victim's limits".to_owned(), limits);
        for (name, file, key) in
            [("shared memory", "shm", self.facts.memory_key), ("the queue", "msg", self.facts.queue_key)]
        {
            observation.insert(name.to_owned(), shared_memory(file, key));
        }
        observation
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.remove_shared_memory();
        let shared = fs::read_dir(&self.temporary).into_iter().flatten();
        for entry in shared.chain(fs::read_dir("/dev/shm").into_iter().flatten()).flatten() {
            if entry.file_name().to_string_lossy().starts_with(&self.facts.token) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// Returns how the kernel describes a segment or a queue.
fn shared_memory(file: &str, key: i32) -> String {
    let text = fs::read_to_string(format!("/proc/sysvipc/{file}")).unwrap_or_default();
    let is_meant = |line: &&str| line.split_whitespace().next() == Some(key.to_string().as_str());
    text.lines().find(is_meant).unwrap_or_default().to_owned()
}

const GIT_CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n";

fn make_files(root: &Path) -> io::Result<()> {
    let workspace = root.join("workspace");
    for folder in ["workspace/.claude", "outside", "home/.ssh", "home/.aws", "bowline/sessions"] {
        fs::create_dir_all(root.join(folder))?;
    }
    for repository in ["", "nested"] {
        let git = workspace.join(repository).join(".git");
        for folder in ["hooks", "objects", "refs/heads"] {
            fs::create_dir_all(git.join(folder))?;
        }
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n")?;
        fs::write(git.join("config"), GIT_CONFIG)?;
    }
    fs::write(workspace.join(".claude/settings.json"), "{}\n")?;
    fs::write(root.join("outside/victim-input"), "")?;
    fs::write(root.join("home/.ssh/id_ed25519"), format!("a private key: {KEY}\n"))?;
    fs::write(root.join("home/.aws/credentials"), format!("{KEY}\n"))?;
    fs::write(root.join("home/.bashrc"), "# start\n")?;
    fs::write(root.join("bowline/auth.json"), format!("{{\"key\":\"{KEY}\"}}\n"))?;
    fs::write(root.join("bowline/sessions/session.jsonl"), "{}\n")?;
    for attempt in attempts::all() {
        let (scratch, outside) = (workspace.join(attempt.number), root.join("outside").join(attempt.number));
        fs::create_dir_all(&scratch)?;
        fs::create_dir_all(outside.join("empty"))?;
        fs::create_dir_all(outside.join("folder"))?;
        fs::write(outside.join("file"), "as it was\n")?;
        fs::write(outside.join("linked"), "as it was\n")?;
        symlink(outside.join("file"), scratch.join("link-to-file"))?;
        symlink(outside.join("folder"), scratch.join("link-to-folder"))?;
        fs::hard_link(outside.join("linked"), scratch.join("hard-link"))?;
    }
    Ok(())
}

/// Opens a file as a careless program does: whatever is started from now on has it too.
fn inherit(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let opened = rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty())?;
    let inherited = rustix::io::fcntl_dupfd_cloexec(opened, FIRST_INHERITED)?;
    rustix::io::fcntl_setfd(&inherited, FdFlags::empty())?;
    Ok(inherited)
}

/// Returns the handle of a file, if its file system has any.
fn handle_of(path: &Path, folder: &Path) -> Option<Handle> {
    const LONGEST: usize = 128;
    let mut buffer = vec![0; 8 + LONGEST];
    buffer[0] = LONGEST as u8;
    let length = buffer.len() as u64;
    let asker = Caller::new()
        .call(
            libc::SYS_name_to_handle_at,
            [libc::AT_FDCWD.into(), path.into(), buffer.into(), vec![0; 8].into(), 0.into()],
        )
        .call(libc::SYS_write, [1.into(), Argument::Earlier(0, 2), length.into()]);
    let program = folder.join("handle");
    caller::write_program(&program, &asker.assemble()).ok()?;
    let output = Command::new(program).stdin(Stdio::null()).output().ok()?;
    let (head, bytes) = output.stdout.split_at_checked(8)?;
    let length = u32::from_le_bytes(head[..4].try_into().ok()?) as usize;
    let kind = i32::from_le_bytes(head[4..].try_into().ok()?);
    Some(Handle { kind, bytes: bytes.get(..length)?.to_vec() })
}
