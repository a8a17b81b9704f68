//! How a client is configured.

use std::env::consts::EXE_SUFFIX;
use std::ffi::{OsStr, OsString};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bowline_protocol::{
    ApprovalRequestRecord, Decision, DialogAnswer, ExtensionUiRequestRecord, Handlers, HostUriRequestRecord,
    HostUriScheme, Options, Tool,
};

use crate::client::Client;
use crate::error::StartError;
use crate::process::Program;
use crate::session_choice::SessionChoice;

/// How long bowline may take to end. It needs up to five seconds itself.
const STOP_LIMIT: Duration = Duration::from_secs(8);

/// What happens when the process dies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Restarts {
    /// The client is of no use any more.
    #[default]
    Never,
    /// The process is started again with its session, up to so many times without a minute in between.
    UpTo(u32),
}

/// Starts a [`Client`].
#[must_use]
pub struct Builder {
    pub(crate) program: Program,
    pub(crate) handlers: Handlers,
    pub(crate) options: Options,
    pub(crate) restarts: Restarts,
    pub(crate) stop_limit: Duration,
    pub(crate) session: SessionChoice,
}

impl Default for Builder {
    fn default() -> Self {
        let program = Program { path: "bowline".into(), inherits_environment: true, ..Program::default() };
        Self {
            program,
            handlers: Handlers::default(),
            options: Options::default(),
            restarts: Restarts::Never,
            stop_limit: STOP_LIMIT,
            session: SessionChoice::default(),
        }
    }
}

impl Builder {
    /// Names the program, as a path or a name on the PATH. Without it, `bowline` on the PATH.
    pub fn program(mut self, path: impl Into<PathBuf>) -> Self {
        self.program.path = path.into();
        self
    }

    /// Names the program by what the caller has read from a variable, such as `BOWLINE`; unset or empty, it changes nothing.
    ///
    /// ```
    /// let builder = bowline_client::Client::builder().program_from(std::env::var_os("BOWLINE"));
    /// ```
    pub fn program_from(self, variable: Option<OsString>) -> Self {
        match variable.filter(|path| !path.is_empty()) {
            Some(path) => self.program(path),
            None => self,
        }
    }

    /// Names the program beside another one, such as your own that comes with bowline; if there is none, it changes nothing.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> {
    /// let builder = bowline_client::Client::builder().program_beside(std::env::current_exe()?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn program_beside(self, other: impl AsRef<Path>) -> Self {
        let program = other.as_ref().with_file_name(format!("bowline{EXE_SUFFIX}"));
        if program.is_file() { self.program(program) } else { self }
    }

    /// Selects the model, such as `anthropic/claude-sonnet-4-5` or `scripted/demo`.
    pub fn model(self, name: impl AsRef<OsStr>) -> Self {
        self.argument("--model").argument(name)
    }

    /// Sets the folder that the agent works in, instead of that of this process.
    pub fn working_directory(mut self, folder: impl Into<PathBuf>) -> Self {
        self.program.working_directory = Some(folder.into());
        self
    }

    /// Opens a session by its file or the start of its id. A file that does not exist yet becomes that of a new session.
    pub fn session(mut self, session: impl Into<String>) -> Self {
        self.session = SessionChoice::named(session.into());
        self
    }

    /// Opens the session with exactly this id, or creates it.
    pub fn session_id(mut self, id: impl Into<String>) -> Self {
        self.session = SessionChoice::id(id.into());
        self
    }

    /// Opens the newest session of the folder.
    pub fn continue_session(mut self) -> Self {
        self.session = SessionChoice::newest();
        self
    }

    /// Keeps the session in memory only. Then a restart begins with an empty one.
    pub fn no_session(mut self) -> Self {
        self.session = SessionChoice::memory();
        self
    }

    /// Adds an argument of the command line, after `--mode rpc`.
    pub fn argument(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.program.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Sets a variable of the environment of the process.
    pub fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.program.variables.push((name.into(), Some(value.into())));
        self
    }

    /// Removes a variable from the environment of the process.
    pub fn without_variable(mut self, name: impl Into<OsString>) -> Self {
        self.program.variables.push((name.into(), None));
        self
    }

    /// Starts the process with the variables that are set here only.
    pub fn clear_environment(mut self) -> Self {
        self.program.inherits_environment = false;
        self
    }

    /// Has a function answer dialogs of extensions. Without one, every dialog is closed at once.
    pub fn on_dialog<Answering>(
        mut self,
        handler: impl Fn(ExtensionUiRequestRecord) -> Answering + Send + Sync + 'static,
    ) -> Self
    where
        Answering: Future<Output = DialogAnswer> + Send + 'static,
    {
        self.handlers = self.handlers.on_dialog(handler);
        self
    }

    /// Leaves dialogs to whoever reads the events and answers them with [`Connection::answer`](crate::Connection::answer).
    pub fn leave_dialogs(mut self) -> Self {
        self.handlers = self.handlers.leave_dialogs();
        self
    }

    /// Has a function decide about tool calls that need the user's consent. Without one, they are dialogs.
    pub fn on_approval<Deciding>(
        mut self,
        handler: impl Fn(ApprovalRequestRecord) -> Deciding + Send + Sync + 'static,
    ) -> Self
    where
        Deciding: Future<Output = Decision> + Send + 'static,
    {
        self.handlers = self.handlers.on_approval(handler);
        self
    }

    /// Adds a tool that the model can call.
    pub fn tool(mut self, tool: Tool) -> Self {
        self.handlers = self.handlers.tool(tool);
        self
    }

    /// Has a function read and write the addresses of these schemes.
    pub fn on_uri<Serving>(
        mut self,
        schemes: impl IntoIterator<Item = HostUriScheme>,
        handler: impl Fn(HostUriRequestRecord) -> Serving + Send + Sync + 'static,
    ) -> Self
    where
        Serving: Future<Output = Result<String, String>> + Send + 'static,
    {
        self.handlers = self.handlers.on_uri(schemes, handler);
        self
    }

    /// Has a function get each line that the process writes to stderr. It must not block.
    pub fn on_stderr(mut self, listener: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.program.listener = Some(std::sync::Arc::new(listener));
        self
    }

    /// Sets time-outs, and how much of what is not read is kept.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Says what happens when the process dies.
    pub fn restarts(mut self, restarts: Restarts) -> Self {
        self.restarts = restarts;
        self
    }

    /// Sets how long the process may take to end before it is killed, instead of 8 seconds.
    pub fn stop_limit(mut self, limit: Duration) -> Self {
        self.stop_limit = limit;
        self
    }

    /// Starts the process, and waits until it serves.
    pub async fn start(self) -> Result<Client, StartError> {
        Client::start(self).await
    }
}
