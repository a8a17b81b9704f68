//! The engine's side of extensions: what takes part in a session from outside, and what it can ask of the session.
//!
//! A [`Host`] brings extensions to a session: command hooks, processes, MCP servers. An [`Extension`] is called at
//! hooks, runs slash commands and offers tools. It reaches its session through a [`SessionLink`]; what it sends is
//! handled like any other input, in the order in which it was sent, and a host that sends faster than the session
//! handles waits.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use bowline_core::command::{Command, Draft, Queue};
use bowline_core::completion::Completion;
use bowline_core::extension_info::ExtensionInfo;
use bowline_core::hook::{CustomMessageDraft, HookEvent, HookKind, HookResult, SessionReason, Subscription};
use bowline_core::model::Model;
use bowline_core::prompt::PromptParts;
use bowline_core::reply::{Answer, ContextUsage, Refusal, SlashCommand};
use bowline_core::slash_command::SourceInfo;
use bowline_core::thinking::ThinkingLevel;
use bowline_core::tool::ToolDefinition;
use bowline_core::ui::{Dialog, DialogAnswer, Display, ExtensionError, Screen, WidgetInput};
use bowline_llm::{Providers, Resolved};
use bowline_tools::{BoxFuture, CallContext, Tool};
use serde_json::{Map, Value};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::input::{Inputs, Report};

/// Brings extensions to sessions.
pub trait Host: fmt::Debug + Send + Sync {
    /// Takes part in a session. Nothing may block here: whatever takes time runs in the background and reports through
    /// the link. Returns `None` if there is nothing to bring; then the session never waits for this host.
    ///
    /// Otherwise prompts wait until the host sends [`ExtensionInput::Ready`], which it does in bounded time.
    fn attach(&self, link: SessionLink, about: About) -> Option<Box<dyn Attached>>;
}

/// Makes hosts of MCP servers that a client wants only one session to use.
pub trait SessionServers: fmt::Debug + Send + Sync {
    /// Returns the host of servers that are described by name, in the form of `mcp.json`.
    fn host(&self, servers: &Map<String, Value>) -> Arc<dyn Host>;
}

/// What a host keeps for a session. Dropping it ends everything that it started.
pub trait Attached: fmt::Debug + Send + Sync {
    /// Returns the extensions in the order in which hooks call them. It changes as extensions load and fail.
    fn extensions(&self) -> Vec<Arc<dyn Extension>>;

    /// Returns what clients are told of the extensions, including those that could not be loaded. Called for every request
    /// of the state, so it must not take long.
    fn describe(&self) -> Vec<ExtensionInfo> {
        Vec::new()
    }

    /// Ends the extensions, after the hook `session_shutdown`. The future is dropped if it takes too long. Others may be
    /// attached to the session afterwards.
    fn stop(&self) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// What a host knows of the session that it takes part in.
#[derive(Debug, Clone)]
pub struct About {
    pub session_id: String,
    pub session_file: Option<PathBuf>,
    pub directory: PathBuf,
    /// The models of the session. A host may add providers.
    pub providers: Providers,
    /// Why the extensions are started.
    pub reason: SessionReason,
    /// The names of the extensions that had a say in tool calls until now. Those of them that do not start block tools.
    pub guards: Arc<[Arc<str>]>,
}

/// Something that is called at hooks.
pub trait Extension: fmt::Debug + Send + Sync {
    /// Returns the name that clients know it by when it fails: a path, usually.
    fn name(&self) -> Arc<str>;

    /// Returns how it takes part in a hook; `tool` is the tool that the hook is about.
    fn subscription(&self, hook: HookKind, tool: Option<&str>) -> Subscription;

    /// Tells it of an event, without waiting for anything.
    fn tell(&self, event: &HookEvent);

    /// Calls it and waits for its result. The extension keeps the time limit of the hook. An error is what clients read.
    /// When `cancel` is cancelled it should return soon; after a moment it is no longer waited for.
    fn call(
        &self,
        event: Arc<HookEvent>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<HookResult, String>>;

    /// Runs a slash command that it offers. Its work can take any time.
    fn run_command(
        &self,
        name: &str,
        _arguments: &str,
        _cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<CommandResult, String>> {
        let error = format!("there is no command named {name}");
        Box::pin(std::future::ready(Err(error)))
    }

    /// Returns what can follow the name of a slash command that it offers, instead of `prefix`, within a moment.
    fn complete(
        self: Arc<Self>,
        _command: &str,
        _prefix: &str,
        _cancel: CancellationToken,
    ) -> BoxFuture<'static, Vec<Completion>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    /// Takes what has changed of the session, before the hook that may depend on it. `entries` are the lines that were
    /// added to the session's file.
    fn mirror(&self, _session: &Arc<Mirror>, _entries: &[Arc<str>]) {}

    /// Takes what the user does with a component, and returns whether it shows one under this key.
    fn widget_input(&self, _key: &str, _input: &WidgetInput) -> bool {
        false
    }

    /// Returns whether it wants the lines that are added to the session's file.
    fn wants_entries(&self) -> bool {
        false
    }
}

/// What a slash command results in.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum CommandResult {
    /// It did its work.
    #[default]
    Done,
    /// A message that is sent to the model in place of the command.
    Prompt(Draft),
}

/// What extensions can read of a session without asking.
#[derive(Debug, Clone, PartialEq)]
pub struct Mirror {
    pub model: Option<Arc<Model>>,
    pub thinking_level: ThinkingLevel,
    /// The models that the user limited the choice to, if they did.
    pub scoped_models: Arc<[Resolved]>,
    pub is_idle: bool,
    pub has_pending_messages: bool,
    pub active_tools: Arc<[String]>,
    pub all_tools: Arc<[KnownTool]>,
    pub commands: Arc<[SlashCommand]>,
    pub session_name: Option<String>,
    pub session_id: String,
    pub session_file: Option<PathBuf>,
    pub directory: PathBuf,
    pub leaf: Option<Arc<str>>,
    pub context: Option<ContextUsage>,
    /// The place that the client has for components, if it shows them.
    pub screen: Option<Screen>,
}

/// A tool that a session knows, enabled or not.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownTool {
    pub definition: ToolDefinition,
    /// Where it comes from.
    pub source: ToolSource,
    /// Where what offers it was found; `None` for tools of bowline and of the client.
    pub source_info: Option<SourceInfo>,
    /// Rules about its use for the system prompt.
    pub guidelines: Vec<String>,
}

/// Where tools come from. Of one name, the first source that has it wins, but for the built-in tools, which any other
/// source may replace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolSource {
    BuiltIn,
    /// The client supplies it.
    Client,
    /// An extension, by the place of its host and its name.
    Extension {
        host: usize,
        name: Arc<str>,
    },
}

/// A tool that an extension offers.
#[derive(Clone)]
pub struct OfferedTool {
    pub tool: Arc<dyn Tool>,
    /// A line about the tool for the system prompt.
    pub snippet: Option<String>,
    /// Rules about its use for the system prompt.
    pub guidelines: Vec<String>,
    /// Whether it is enabled at once.
    pub is_active: bool,
    /// Where the extension was found; `None` if no extension offers it.
    pub source_info: Option<SourceInfo>,
}

impl fmt::Debug for OfferedTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("OfferedTool").field(&self.tool.definition().name).finish()
    }
}

/// What a host or an extension can send to its session.
#[derive(Debug)]
pub enum ExtensionInput {
    /// The host's extensions have registered, or it does not wait for them any longer.
    Ready,
    /// The extensions of the host, what they subscribe to or the commands that they offer have changed.
    Changed,
    /// The tools that an extension offers from now on.
    Tools {
        extension: Arc<str>,
        tools: Vec<OfferedTool>,
    },
    /// The slash commands that an extension offers from now on.
    Commands {
        extension: Arc<str>,
        commands: Vec<SlashCommand>,
    },
    /// Enables these tools and no others. Unknown names are ignored.
    SetActiveTools {
        names: Vec<String>,
    },
    /// Asks the user. `cancel` withdraws the question.
    Dialog {
        dialog: Dialog,
        cancel: CancellationToken,
        reply: oneshot::Sender<DialogAnswer>,
    },
    Display(Display),
    Failed(ExtensionError),
    /// Carries out a command as if a client had sent it. The reply goes to the sender.
    Command {
        command: Command,
        reply: oneshot::Sender<Result<Answer, Refusal>>,
    },
    /// Adds a message of the extension to the conversation.
    SendMessage {
        message: CustomMessageDraft,
        delivery: Delivery,
        /// Whether the model is called if nothing is in progress; during a run, whether the message is delivered to it.
        triggers_turn: Option<bool>,
    },
    /// Sends a message as the user would.
    SendUserMessage {
        message: Draft,
        queue: Option<Queue>,
        expands_templates: bool,
    },
    /// Adds data to the session's file that the model does not see.
    AppendEntry {
        custom_type: String,
        data: Option<serde_json::Value>,
    },
    /// Replies when nothing is in progress.
    WaitIdle {
        reply: oneshot::Sender<()>,
    },
    /// Returns the conversation.
    GetContext {
        reply: oneshot::Sender<SessionContext>,
    },
    /// Returns a tool, enabled or not, and the context of a call that belongs to no run.
    FindTool {
        name: String,
        /// Whether the built-in tool is meant although another one has taken its place.
        builtin: bool,
        reply: oneshot::Sender<Option<FoundTool>>,
    },
    /// Ends the extensions and starts them anew, with everything read again that users configure, as soon as nothing is
    /// in progress. The reply says whether that will happen; it does not wait for it.
    Reload {
        /// The extension that asks. Its commands end with it, which is no failure.
        extension: Arc<str>,
        reply: oneshot::Sender<Result<(), Refusal>>,
    },
    /// Ends the process once what is in progress is over.
    Shutdown,
    /// Ends the process as failed: it was started in a way in which it must not go on.
    GiveUp,
}

/// A tool, and the context of a call that belongs to no run.
#[derive(Clone)]
pub struct FoundTool {
    pub tool: Arc<dyn Tool>,
    pub context: CallContext,
}

impl fmt::Debug for FoundTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("FoundTool").field(&self.tool.definition().name).finish()
    }
}

/// The conversation with the system prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionContext {
    /// The system prompt of the run in progress, or else of the next one.
    pub system_prompt: Arc<str>,
    /// What the system prompt is usually made of.
    pub parts: Arc<PromptParts>,
    pub messages: Vec<Arc<bowline_core::Message>>,
}

/// When a message of an extension reaches the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Delivery {
    /// Before the next call of the model.
    #[default]
    Steer,
    /// When the run would otherwise end.
    FollowUp,
    /// With the next prompt.
    NextTurn,
}

/// A host that is attached to a session. One that is attached again is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostId {
    /// The place of the host among the hosts of the session.
    pub(crate) place: usize,
    /// How often hosts were attached before.
    pub(crate) attachment: u64,
}

/// The way from a host to its session, as long as it is attached.
#[derive(Debug, Clone)]
pub struct SessionLink {
    inputs: Inputs,
    attached: Weak<()>,
    host: HostId,
}

impl SessionLink {
    pub(crate) fn new(inputs: Inputs, attached: Weak<()>, host: HostId) -> Self {
        Self { inputs, attached, host }
    }

    /// Sends something to the session, waiting for room. Returns whether the host is still attached to it.
    pub async fn send(&self, input: ExtensionInput) -> bool {
        self.is_open() && self.inputs.send(self.report(input)).await
    }

    /// Asks the user and waits for the answer.
    pub async fn ask(&self, dialog: Dialog, cancel: CancellationToken) -> DialogAnswer {
        let (reply, answer) = oneshot::channel();
        if !self.send(ExtensionInput::Dialog { dialog, cancel, reply }).await {
            return DialogAnswer::Cancelled;
        }
        answer.await.unwrap_or(DialogAnswer::Cancelled)
    }

    /// Returns whether the host is still attached to the session.
    pub fn is_open(&self) -> bool {
        self.attached.strong_count() > 0
    }

    fn report(&self, input: ExtensionInput) -> Report {
        Report::Extension { host: self.host, input: Box::new(input) }
    }
}
