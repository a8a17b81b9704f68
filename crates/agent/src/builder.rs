//! What an agent is made of, as its caller says.

use std::collections::HashMap;
use std::future::Future;
use std::path::PathBuf;

use bowline_protocol::{
    ApprovalRequestRecord, AskMode, Decision, DialogAnswer, ExtensionUiRequestRecord, Handlers,
    HostUriRequestRecord, HostUriScheme, LimitSettings, Options, ThinkingLevel, Tool,
};

use crate::agent::Agent;
use crate::error::StartError;

/// Puts an [`Agent`] together.
#[must_use]
pub struct Builder {
    pub(crate) working_directory: PathBuf,
    pub(crate) model: Option<String>,
    pub(crate) thinking: Option<ThinkingLevel>,
    pub(crate) api_key: Option<String>,
    pub(crate) environment: HashMap<String, String>,
    pub(crate) models_file: Option<PathBuf>,
    pub(crate) auth_file: Option<PathBuf>,
    pub(crate) session_folder: Option<PathBuf>,
    pub(crate) session_file: Option<PathBuf>,
    pub(crate) tools: Option<Vec<String>>,
    pub(crate) instructions: Option<String>,
    pub(crate) additions: Vec<String>,
    pub(crate) use_context_files: bool,
    pub(crate) ask: AskMode,
    pub(crate) run_limits: LimitSettings,
    pub(crate) session_limits: LimitSettings,
    pub(crate) temporary_directory: Option<PathBuf>,
    pub(crate) home_directory: Option<PathBuf>,
    pub(crate) watcher: Option<PathBuf>,
    pub(crate) handlers: Handlers,
    pub(crate) options: Options,
}

impl Builder {
    pub(crate) fn new(working_directory: PathBuf) -> Self {
        Self {
            working_directory,
            model: None,
            thinking: None,
            api_key: None,
            environment: HashMap::new(),
            models_file: None,
            auth_file: None,
            session_folder: None,
            session_file: None,
            tools: None,
            instructions: None,
            additions: Vec::new(),
            use_context_files: false,
            ask: AskMode::Never,
            run_limits: LimitSettings::default(),
            session_limits: LimitSettings::default(),
            temporary_directory: None,
            home_directory: None,
            watcher: None,
            handlers: Handlers::default(),
            options: Options::default(),
        }
    }

    /// Selects the model, such as `anthropic/claude-sonnet-4-5`. `scripted/demo`, or `scripted/` and the path of a script, needs
    /// neither a key nor a network.
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// Sets how much the model thinks.
    pub fn thinking(mut self, level: ThinkingLevel) -> Self {
        self.thinking = Some(level);
        self
    }

    /// Sets the key for the provider of the model. It is sent to no other.
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.api_key = Some(key.into());
        self
    }

    /// Sets the variables that providers take keys and proxies from. Commands get them, too, without those that look like
    /// secrets. Without this, neither has any.
    pub fn environment(mut self, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        self.environment = variables.into_iter().collect();
        self
    }

    /// Names the file that describes further models, in the format of `models.json`.
    pub fn models_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.models_file = Some(file.into());
        self
    }

    /// Names the file with keys, in the format of `auth.json`.
    pub fn auth_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.auth_file = Some(file.into());
        self
    }

    /// Keeps sessions as files in this folder, instead of in memory only.
    pub fn session_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.session_folder = Some(folder.into());
        self
    }

    /// Continues the session in this file; if there is none yet, it becomes that of a new session.
    pub fn session_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.session_file = Some(file.into());
        self
    }

    /// Enables these built-in tools only, such as `read`, `grep`, `find` and `ls`.
    pub fn tools<Name: Into<String>>(mut self, names: impl IntoIterator<Item = Name>) -> Self {
        self.tools = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Enables no built-in tool.
    pub fn no_tools(self) -> Self {
        self.tools::<String>([])
    }

    /// Adds a tool of your own.
    pub fn tool(mut self, tool: Tool) -> Self {
        self.handlers = self.handlers.tool(tool);
        self
    }

    /// Replaces bowline's own instructions to the model.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Adds to the instructions.
    pub fn add_instructions(mut self, text: impl Into<String>) -> Self {
        self.additions.push(text.into());
        self
    }

    /// Adds `AGENTS.md` and its like of the working folder and the folders around it to the instructions.
    pub fn context_files(mut self) -> Self {
        self.use_context_files = true;
        self
    }

    /// Says when the user is asked about tool calls. By default never, and every call runs.
    pub fn ask(mut self, mode: AskMode) -> Self {
        self.ask = mode;
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

    /// Has a function answer dialogs. Without one, every dialog is closed at once, which counts as a no.
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

    /// Limits what each run may spend. What is absent stays as it is: a run has at most 500 turns. 0 means unlimited.
    pub fn run_limits(mut self, limits: LimitSettings) -> Self {
        self.run_limits = limits;
        self
    }

    /// Limits what the session may spend.
    pub fn session_limits(mut self, limits: LimitSettings) -> Self {
        self.session_limits = limits;
        self
    }

    /// Names the folder that keeps the whole output of commands of which the model sees only a part.
    pub fn temporary_directory(mut self, folder: impl Into<PathBuf>) -> Self {
        self.temporary_directory = Some(folder.into());
        self
    }

    /// Names the folder that `~` stands for in the paths of tools, and beyond which no context files are searched.
    pub fn home_directory(mut self, folder: impl Into<PathBuf>) -> Self {
        self.home_directory = Some(folder.into());
        self
    }

    /// Names the program `bowline`, which is started with the first command and kills the commands in progress if this
    /// process is killed. Without it they go on.
    pub fn watcher(mut self, program: impl Into<PathBuf>) -> Self {
        self.watcher = Some(program.into());
        self
    }

    /// Sets time-outs, and how much of what is not read is kept.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Starts the agent in tasks of the current runtime.
    pub async fn start(self) -> Result<Agent, StartError> {
        Agent::start(self).await
    }
}
