//! How an agent is started: its arguments, its environment, and what its stdin and stdout are.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::agent::{Agent, code};
use crate::protocol::Protocol;
use crate::workspace::Workspace;

/// The variable by which an agent's processes are recognised, wherever they end up.
const MARK: &str = "BOWLINE_TESTKIT_AGENT";

/// How the names of variables begin that could lead to a real model or a real configuration.
const LEADING_AWAY: [&str; 12] = [
    "BOWLINE_",
    "PI_",
    "OMP_",
    "OPI_",
    "XDG_",
    "AWS_",
    "GOOGLE_",
    "OLLAMA_",
    "LMSTUDIO_",
    "LM_STUDIO_",
    "LLAMACPP_",
    "VLLM_",
];

/// How long a run over files may take.
const FILE_RUN_LIMIT: Duration = Duration::from_secs(10);

/// An agent about to be started.
///
/// It inherits the environment of the test without whatever could lead it to a real model, a real configuration or a
/// proxy.
#[derive(Debug)]
pub struct Launch {
    command: Command,
    program: PathBuf,
    mark: String,
    has_sockets: bool,
    /// The dialect that it speaks.
    dialect: String,
}

impl Launch {
    /// Prepares to start `binary` in the working directory of a workspace.
    #[expect(clippy::disallowed_methods, reason = "a test must not inherit the developer's settings")]
    pub fn new(binary: impl AsRef<Path>, workspace: &Workspace) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let mark = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let mut command = Command::new(binary.as_ref());
        for (name, _) in std::env::vars_os() {
            if is_leading_away(&name) {
                command.env_remove(name);
            }
        }
        command.current_dir(workspace.work()).env("HOME", workspace.home()).env(MARK, &mark);
        Self {
            command,
            program: binary.as_ref().to_owned(),
            mark: format!("{MARK}={mark}"),
            has_sockets: false,
            dialect: "pi".to_owned(),
        }
    }

    /// Adds arguments.
    pub fn arguments(mut self, arguments: &[&str]) -> Self {
        self.command.args(arguments);
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.split_once('=').unwrap_or((word, "")) {
                ("--dialect", "") => self.dialect = words.next().copied().unwrap_or_default().to_owned(),
                ("--dialect", name) => name.clone_into(&mut self.dialect),
                ("--rpc", _) => "opi".clone_into(&mut self.dialect),
                _ => {}
            }
        }
        self
    }

    /// Sets a variable of the environment.
    pub fn environment(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Starts in another directory than the workspace's.
    pub fn directory(mut self, directory: impl AsRef<Path>) -> Self {
        self.command.current_dir(directory);
        self
    }

    /// Starts under another program name, as through a link.
    pub fn program_name(mut self, name: &str) -> Self {
        self.command.arg0(name);
        if let Some(program) = bowline_dialect::PROGRAMS.iter().find(|program| program.name == name) {
            program.dialect.clone_into(&mut self.dialect);
        }
        self
    }

    /// Gives it UNIX sockets for stdin and stdout, as Node.js does, in place of pipes.
    pub fn over_sockets(mut self) -> Self {
        self.has_sockets = true;
        self
    }

    /// Runs it to its end with files for stdin and stdout, as a shell does with `<` and `>`; returns the exit code.
    #[track_caller]
    pub fn run_over_files(mut self, stdin: &Path, stdout: &Path) -> i32 {
        let input = File::open(stdin).expect("the file for stdin");
        let output = File::create(stdout).expect("the file for stdout");
        let mut child = self
            .command
            .stdin(input)
            .stdout(output)
            .spawn()
            .unwrap_or_else(|error| panic!("{} cannot be started: {error}", self.program.display()));
        let started = Instant::now();
        loop {
            match child.try_wait().expect("the state of the agent") {
                Some(status) => return code(status),
                None if started.elapsed() < FILE_RUN_LIMIT => thread::sleep(Duration::from_millis(5)),
                None => {
                    let _ = child.kill();
                    panic!("the agent does not end");
                }
            }
        }
    }

    /// Starts it.
    #[track_caller]
    pub fn start(mut self) -> Agent {
        let sockets = self.has_sockets.then(|| {
            let (our_stdin, its_stdin) = UnixStream::pair().expect("a pair of sockets");
            let (our_stdout, its_stdout) = UnixStream::pair().expect("a pair of sockets");
            self.command.stdin(OwnedFd::from(its_stdin)).stdout(OwnedFd::from(its_stdout));
            (File::from(OwnedFd::from(our_stdin)), File::from(OwnedFd::from(our_stdout)))
        });
        if sockets.is_none() {
            self.command.stdin(Stdio::piped()).stdout(Stdio::piped());
        }
        let mut child = self
            .command
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{} cannot be started: {error}", self.program.display()));
        // The agent's ends of the sockets must not stay open here, or we would never see its end.
        drop(self.command);
        let (stdin, stdout) = sockets.unwrap_or_else(|| {
            let stdin = child.stdin.take().expect("a piped stdin");
            let stdout = child.stdout.take().expect("a piped stdout");
            (File::from(OwnedFd::from(stdin)), File::from(OwnedFd::from(stdout)))
        });
        // Other programs stand in for it in the tests of this kit.
        let is_bowline = self.program.ends_with("bowline");
        // A dialect that there is not is told of in the words of the default.
        let dialect = bowline_dialect::find(&self.dialect).map_or("pi", |entry| entry.name);
        Agent::new(child, stdin, stdout, self.mark, is_bowline.then(|| Protocol::of(dialect)))
    }
}

/// Returns whether a variable could lead to a real model, a real configuration or a proxy.
fn is_leading_away(name: &OsString) -> bool {
    let name = name.to_string_lossy().to_uppercase();
    ["_API_KEY", "_TOKEN", "_PROXY"].iter().any(|end| name.ends_with(end))
        || LEADING_AWAY.iter().any(|start| name.starts_with(start))
}
