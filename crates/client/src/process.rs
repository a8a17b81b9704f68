//! One process: its command line, and what is known of its end.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use bowline_protocol::Ending;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::error::StartError;
use crate::stderr::{Listener, Tail, listen};

/// How long the rest of stderr is waited for once the process has ended. A process that it left behind may hold it open.
const STDERR_LIMIT: Duration = Duration::from_millis(500);

/// How the program is started.
#[derive(Clone, Default)]
pub(crate) struct Program {
    pub path: PathBuf,
    pub arguments: Vec<OsString>,
    pub working_directory: Option<PathBuf>,
    pub variables: Vec<(OsString, Option<OsString>)>,
    pub inherits_environment: bool,
    pub listener: Option<Listener>,
}

/// A process that runs.
pub(crate) struct Process {
    child: Child,
    tail: Tail,
    listening: JoinHandle<()>,
}

impl Program {
    /// Starts the program with the flags that choose its session.
    pub fn start(&self, session: &[String]) -> Result<(Process, ChildStdin, ChildStdout), StartError> {
        let failed = |source| StartError::Program { program: self.path.display().to_string(), source };
        let mut command = Command::new(&self.path);
        if !self.inherits_environment {
            command.env_clear();
        }
        for (name, value) in &self.variables {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.args(["--mode", "rpc"]).args(&self.arguments).args(session);
        if let Some(folder) = &self.working_directory {
            command.current_dir(folder);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().map_err(failed)?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(failed(std::io::ErrorKind::BrokenPipe.into()));
        };
        let tail = Tail::default();
        let listening = tokio::spawn(listen(stderr, tail.clone(), self.listener.clone()));
        Ok((Process { child, tail, listening }, stdin, stdout))
    }
}

impl Process {
    /// Returns the id of the process while it runs.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Waits for the end.
    pub async fn wait(&mut self) -> std::io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Waits for the end, and kills the process if that takes longer than the limit.
    pub async fn wait_or_kill(&mut self, limit: Duration) -> std::io::Result<ExitStatus> {
        if let Ok(status) = timeout(limit, self.child.wait()).await {
            return status;
        }
        self.child.start_kill()?;
        self.child.wait().await
    }

    /// Says how the process ended, as its status tells.
    pub async fn ending(self, status: std::io::Result<ExitStatus>) -> Ending {
        let _ = timeout(STDERR_LIMIT, self.listening).await;
        let (reason, exit_code) = match status {
            Ok(status) => (format!("bowline ended with {status}"), status.code()),
            Err(error) => (format!("bowline ended, and its exit status is not known: {error}"), None),
        };
        Ending { reason, exit_code, stderr: self.tail.text(), ..Ending::default() }
    }
}
