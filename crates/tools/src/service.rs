//! A program that runs beside the agent for as long as it is needed and is spoken to over its stdin and stdout, such as a
//! server of tools.
//!
//! It is started as commands are: with the environment that commands get, in a process group of its own, marked, and known
//! to the process that watches this one. Unlike a command it leaves nothing running: whatever it started is killed when it
//! exits, when it is stopped, and when it is dropped.

use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::oneshot;

use crate::error::Error;
use crate::kills;
use crate::orphans::{self, OwnChild};
use crate::platform;
use crate::process_tree::{self, Mark, ProcessTree};
use crate::toolbox::Options;
use crate::watch;

/// How long a kill is waited for: a process in the kernel's hands cannot be killed at once.
const LONGEST_KILL: Duration = Duration::from_secs(1);

/// A program to start.
#[derive(Clone)]
pub struct ServiceLaunch {
    /// A path, or a name that is looked up in `PATH`.
    pub program: String,
    pub arguments: Vec<String>,
    /// Variables added to those that commands get.
    pub environment: Vec<(String, String)>,
    pub working_directory: PathBuf,
    /// The options of the toolbox.
    pub options: Arc<Options>,
}

/// The ends of the program's pipes.
#[derive(Debug)]
pub struct ServicePipes {
    pub stdin: ChildStdin,
    pub stdout: ChildStdout,
    pub stderr: ChildStderr,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceEnd {
    Exited { code: i32 },
    Signalled { signal: i32 },
}

/// A running program.
pub struct Service {
    child: Child,
    /// Absent once the child was reaped.
    own: Option<OwnChild>,
    tree: ProcessTree,
    end: Option<ServiceEnd>,
}

impl Service {
    /// Starts a program.
    pub fn start(launch: &ServiceLaunch) -> Result<(Self, ServicePipes), Error> {
        if !launch.working_directory.is_dir() {
            return Err(Error::NoWorkingDirectory { path: launch.working_directory.clone() });
        }
        let mark = Mark::new();
        orphans::reap_from_now_on();
        orphans::begin_service(mark);
        if let Some(program) = &launch.options.watcher {
            watch::begin(program, mark);
        }
        Self::spawn(launch, mark).map_err(|source| {
            orphans::end_service(mark);
            watch::end(mark);
            Error::Service { program: launch.program.clone(), source }
        })
    }

    fn spawn(launch: &ServiceLaunch, mark: Mark) -> io::Result<(Self, ServicePipes)> {
        let mut command = Command::new(&launch.program);
        if let Some(variables) = launch.options.environment.variables() {
            command.env_clear().envs(variables.iter().map(|(name, value)| (name, value)));
        }
        command
            .args(&launch.arguments)
            .current_dir(&launch.working_directory)
            .envs(launch.environment.iter().map(|(name, value)| (name, value)))
            .env(process_tree::VARIABLE, mark.variable(launch.options.inherited_mark.as_deref()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        platform::separate(&mut command);
        let (mut child, own) = orphans::start(|| process_tree::spawn_marked(&mut command, mark), Child::id)?;
        let leader = child.id().and_then(|process| i32::try_from(process).ok()).unwrap_or_default();
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let service = Self { child, own: Some(own), tree: ProcessTree::new(leader, mark), end: None };
        match pipes {
            (Some(stdin), Some(stdout), Some(stderr)) => {
                Ok((service, ServicePipes { stdin, stdout, stderr }))
            }
            _ => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Returns the number of the process while it runs.
    pub fn process(&self) -> Option<u32> {
        self.child.id()
    }

    /// Waits until the program has exited, and kills what it left. Dropping the returned future loses nothing.
    pub async fn wait(&mut self) -> ServiceEnd {
        if let Some(end) = self.end {
            return end;
        }
        let status = self.child.wait().await;
        self.exited(status)
    }

    /// Waits until the program has exited, as it does when its stdin is closed, and kills it with all its descendants if
    /// it has not after `patience`.
    pub async fn stop(mut self, patience: Duration) -> ServiceEnd {
        if let Ok(end) = tokio::time::timeout(patience, self.wait()).await {
            return end;
        }
        let _ = tokio::time::timeout(LONGEST_KILL, self.kill_tree()).await;
        let status = tokio::time::timeout(LONGEST_KILL, self.child.wait()).await;
        self.exited(status.unwrap_or_else(|_| Ok(platform::lost_status())))
    }

    fn exited(&mut self, status: io::Result<ExitStatus>) -> ServiceEnd {
        // The program has exited even if waiting for it failed; only the status is lost.
        let status = status.unwrap_or_else(|_| platform::lost_status());
        let end = match (status.code(), platform::signal_of(status)) {
            (None, Some(signal)) => ServiceEnd::Signalled { signal },
            (code, _) => ServiceEnd::Exited { code: code.unwrap_or_default() },
        };
        // Its number, which is also that of its group, may belong to another process from now on.
        self.tree.leader = 0;
        self.own = None;
        self.end = Some(end);
        drop(self.kill_tree());
        end
    }

    fn kill_tree(&self) -> oneshot::Receiver<()> {
        orphans::end_service(self.tree.mark);
        kills::request(self.tree)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if self.end.is_none() {
            drop(self.kill_tree());
        }
    }
}

impl std::fmt::Debug for ServiceLaunch {
    /// Omits the arguments and the environment, whose values may be secret.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ServiceLaunch")
            .field("program", &self.program)
            .field("working_directory", &self.working_directory)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::path::Path;
    use std::time::Instant;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    fn launch(script: &str) -> ServiceLaunch {
        ServiceLaunch {
            program: "sh".to_owned(),
            arguments: vec!["-c".to_owned(), script.to_owned()],
            environment: vec![("GREETING".to_owned(), "hello".to_owned())],
            working_directory: std::path::PathBuf::from("/"),
            options: Arc::default(),
        }
    }

    async fn line(pipes: &mut ServicePipes) -> String {
        let mut line = String::new();
        loop {
            match pipes.stdout.read_u8().await {
                Ok(b'\n') | Err(_) => return line,
                Ok(byte) => line.push(char::from(byte)),
            }
        }
    }

    fn is_alive(process: &str) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        status.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['Z', 'X']))
    }

    fn becomes_dead(process: &str) -> bool {
        let start = Instant::now();
        while is_alive(process) && start.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
        !is_alive(process)
    }

    #[tokio::test]
    async fn service_is_spoken_to_and_ends_with_its_stdin() {
        let (service, mut pipes) =
            Service::start(&launch("read word; echo $GREETING $word; cat; exit 3")).unwrap();
        pipes.stdin.write_all(b"world\n").await.unwrap();
        assert_eq!(line(&mut pipes).await, "hello world");
        drop(pipes.stdin);
        assert_eq!(service.stop(PATIENCE).await, ServiceEnd::Exited { code: 3 });
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn descendants_die_when_the_service_is_dropped_stopped_or_exits() {
        let script = "setsid sleep 300 & echo $!; read word || sleep 300";
        let (service, mut pipes) = Service::start(&launch(script)).unwrap();
        let left = line(&mut pipes).await;
        assert!(is_alive(&left));
        drop(service);
        assert!(becomes_dead(&left), "dropped");

        let (service, mut pipes) = Service::start(&launch(script)).unwrap();
        let left = line(&mut pipes).await;
        assert!(matches!(service.stop(Duration::from_millis(50)).await, ServiceEnd::Signalled { signal: 9 }));
        assert!(becomes_dead(&left), "stopped");

        let (mut service, mut pipes) = Service::start(&launch(script)).unwrap();
        let left = line(&mut pipes).await;
        pipes.stdin.write_all(b"go\n").await.unwrap();
        assert_eq!(service.wait().await, ServiceEnd::Exited { code: 0 });
        assert!(becomes_dead(&left), "exited");
    }

    #[tokio::test]
    async fn program_or_folder_that_does_not_exist_is_named() {
        let missing = ServiceLaunch { program: "no-such-program".to_owned(), ..launch("") };
        let error = Service::start(&missing).err().unwrap().to_string();
        assert!(error.contains("no-such-program"), "{error}");
        let folder = Path::new("/no-such-folder").to_owned();
        let error = Service::start(&ServiceLaunch { working_directory: folder, ..launch("") }).err().unwrap();
        assert!(error.to_string().contains("/no-such-folder"), "{error}");
    }
}
