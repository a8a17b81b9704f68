//! How an agent is started: its arguments, its environment, and its stdin and stdout.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::fs::chown;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::agent::{Agent, code};
use crate::finished::Finished;
use crate::protocol::Protocol;
use crate::workspace::Workspace;

/// The environment variable that marks the processes of an agent, whatever becomes of their parents.
const MARK: &str = "BOWLINE_TESTKIT_AGENT";

/// Prefixes of environment variables that could lead to a real model or a real configuration.
const UNSAFE_PREFIXES: [&str; 12] = [
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

/// How long a process may take that is run to its end.
const RUN_LIMIT: Duration = Duration::from_secs(30);

/// An agent about to be started.
///
/// It inherits the environment of the test, except for variables that could lead it to a real model, a real
/// configuration or a proxy.
#[derive(Debug)]
pub struct Launch {
    command: Command,
    program: PathBuf,
    mark: String,
    has_sockets: bool,
    /// Whether it is bowline, whose records have a schema.
    is_bowline: bool,
    dialect: String,
}

/// Returns the path of the bowline that is tested.
///
/// Cargo and nextest name it when they run an integration test of its package.
#[track_caller]
#[expect(clippy::disallowed_methods, reason = "cargo names the binary in the environment")]
pub fn bowline() -> PathBuf {
    ["CARGO_BIN_EXE_bowline", "NEXTEST_BIN_EXE_bowline"]
        .iter()
        .find_map(std::env::var_os)
        .map_or_else(beside_the_test, PathBuf::from)
}

/// Changes the owner of a folder and of everything in it.
#[track_caller]
fn give_to(path: &Path, user: u32) {
    chown(path, Some(user), Some(user)).expect("the right to give files away");
    if path.is_dir() {
        for entry in fs::read_dir(path).expect("the folder").flatten() {
            give_to(&entry.path(), user);
        }
    }
}

/// Returns where cargo puts binaries: a folder above the test's own.
#[expect(clippy::disallowed_methods, reason = "the binary is built beside the test")]
fn beside_the_test() -> PathBuf {
    let test = std::env::current_exe().expect("the path of the test");
    let folder = test.ancestors().nth(2).expect("a folder above the test's");
    folder.join("bowline")
}

impl Launch {
    /// Prepares to start bowline in its RPC mode, as `bowline --mode rpc`.
    #[track_caller]
    pub fn rpc(workspace: &Workspace) -> Self {
        Self::bowline(workspace).arguments(&["--mode", "rpc"])
    }

    /// Prepares to start bowline without arguments.
    #[track_caller]
    pub fn bowline(workspace: &Workspace) -> Self {
        Self::new(bowline(), workspace)
    }

    /// Prepares to start bowline in its RPC mode with a limit on the size of files, which acts like a full disk.
    #[track_caller]
    pub fn rpc_on_full_disk(workspace: &Workspace, kibibytes: u32) -> Self {
        let script = format!("ulimit -f {kibibytes}; exec \"$0\" \"$@\"");
        let mut launch = Self::new("/bin/bash", workspace);
        launch.is_bowline = true;
        launch.command.arg("-c").arg(script).arg(bowline());
        launch.arguments(&["--mode", "rpc"])
    }

    /// Prepares to start any program in the working directory of a workspace.
    #[expect(clippy::disallowed_methods, reason = "a test must not inherit the developer's settings")]
    pub fn new(program: impl AsRef<Path>, workspace: &Workspace) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let mark = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let mut command = Command::new(program.as_ref());
        for (name, _) in std::env::vars_os() {
            if is_unsafe(&name) {
                command.env_remove(name);
            }
        }
        command.current_dir(workspace.work()).env("HOME", workspace.home()).env(MARK, &mark);
        Self {
            command,
            is_bowline: program.as_ref().ends_with("bowline"),
            program: program.as_ref().to_owned(),
            mark: format!("{MARK}={mark}"),
            has_sockets: false,
            dialect: "pi".to_owned(),
        }
    }

    /// Selects the model.
    pub fn model(self, name: &str) -> Self {
        self.arguments(&["--model", name])
    }

    /// Selects the dialect.
    pub fn dialect(self, name: &str) -> Self {
        self.arguments(&["--dialect", name])
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

    /// Sets an environment variable.
    pub fn environment(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Starts it as another user, whom the workspace is given to. Only root can do that.
    #[track_caller]
    pub fn user(mut self, user: u32, workspace: &Workspace) -> Self {
        give_to(workspace.home(), user);
        self.command.uid(user).gid(user);
        self
    }

    /// Replaces the working directory.
    pub fn directory(mut self, directory: impl AsRef<Path>) -> Self {
        self.command.current_dir(directory);
        self
    }

    /// Replaces the program name, as a link does.
    pub fn program_name(mut self, name: &str) -> Self {
        self.command.arg0(name);
        if let Some(program) = bowline_dialect::PROGRAMS.iter().find(|program| program.name == name) {
            program.dialect.clone_into(&mut self.dialect);
        }
        self
    }

    /// Uses UNIX sockets for stdin and stdout, as Node.js does, instead of pipes.
    pub fn over_sockets(mut self) -> Self {
        self.has_sockets = true;
        self
    }

    /// Runs it to its end with files as stdin and stdout, as a shell does with `<` and `>`; returns the exit code.
    #[track_caller]
    pub fn run_over_files(mut self, stdin: &Path, stdout: &Path) -> i32 {
        let input = File::open(stdin).expect("the file for stdin");
        let output = File::create(stdout).expect("the file for stdout");
        self.command.stdin(input).stdout(output);
        wait_for_exit(&mut self.spawn())
    }

    /// Runs it to its end with nothing on stdin.
    #[track_caller]
    pub fn run(self) -> Finished {
        self.run_with_input("")
    }

    /// Runs it to its end with a text on stdin.
    #[track_caller]
    pub fn run_with_input(mut self, input: &str) -> Finished {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.spawn();
        // A process that does not read its input may end before it is written.
        let _ = child.stdin.take().expect("a piped stdin").write_all(input.as_bytes());
        let output = child.wait_with_output().expect("the output of the process");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output in UTF-8");
        Finished { code: code(output.status), stdout: text(output.stdout), stderr: text(output.stderr) }
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
        self.command.stderr(Stdio::piped());
        let mut child = self.spawn();
        // The agent's ends of the sockets must not stay open here, or we would never see its end.
        drop(self.command);
        let (stdin, stdout) = sockets.unwrap_or_else(|| {
            let stdin = child.stdin.take().expect("a piped stdin");
            let stdout = child.stdout.take().expect("a piped stdout");
            (File::from(OwnedFd::from(stdin)), File::from(OwnedFd::from(stdout)))
        });
        // The error about an unknown dialect is written in the default one.
        let dialect = bowline_dialect::find(&self.dialect).map_or("pi", |entry| entry.name);
        Agent::new(child, stdin, stdout, self.mark, self.is_bowline.then(|| Protocol::of(dialect)))
    }

    /// Starts it and takes the record with which its dialect greets the client, if it has one.
    #[track_caller]
    pub fn start_greeted(self) -> Agent {
        let greeting = match self.dialect.as_str() {
            "omp" => Some("ready"),
            "opi" => Some("rpc_ready"),
            _ => None,
        };
        let mut agent = self.start();
        if let Some(greeting) = greeting {
            assert_eq!(agent.next()["type"], greeting);
        }
        agent
    }

    #[track_caller]
    fn spawn(&mut self) -> Child {
        let child = self.command.spawn();
        child.unwrap_or_else(|error| panic!("{} cannot be started: {error}", self.program.display()))
    }
}

/// Waits for the end of a process and returns its exit code.
#[track_caller]
fn wait_for_exit(child: &mut Child) -> i32 {
    let started = Instant::now();
    loop {
        match child.try_wait().expect("the state of the process") {
            Some(status) => return code(status),
            None if started.elapsed() < RUN_LIMIT => thread::sleep(Duration::from_millis(5)),
            None => {
                let _ = child.kill();
                panic!("the process does not end");
            }
        }
    }
}

/// Returns whether a variable could lead to a real model, a real configuration or a proxy.
fn is_unsafe(name: &OsString) -> bool {
    let name = name.to_string_lossy().to_uppercase();
    ["_API_KEY", "_TOKEN", "_PROXY"].iter().any(|suffix| name.ends_with(suffix))
        || UNSAFE_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}
