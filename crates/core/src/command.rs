//! What a client can ask of the engine.

use std::path::PathBuf;
use std::sync::Arc;

use crate::message::Content;
use crate::thinking::ThinkingLevel;

/// A command together with where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub origin: Origin,
    pub command: Command,
}

/// What an answer must name so that the client finds its question. The engine passes it on and never looks inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The client's id as it was written, JSON text and all.
    pub id: Option<Arc<str>>,
    /// The command's name in the client's dialect.
    pub name: &'static str,
    /// What of the command its answer repeats, as JSON text, where the dialect has answers that do.
    pub echo: Option<Arc<str>>,
}

/// Everything that a client can ask.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Starts a run, or, while one is under way, queues the text as `when_busy` says.
    Prompt {
        message: Draft,
        when_busy: Option<Queue>,
    },
    /// Starts a run with a message, but only in a conversation that has begun.
    Continue {
        message: Draft,
    },
    /// Stops the run and starts another with a message, with nothing in between.
    AbortAndPrompt {
        message: Draft,
    },
    /// Puts a text into a queue.
    Enqueue {
        message: Draft,
        queue: Queue,
    },
    /// Stops the run with everything that belongs to it.
    Abort,
    /// Takes all texts out of both queues.
    ClearQueue,

    GetState,
    GetMessages,
    GetCommands,
    GetLastAssistantText,
    GetSessionStatistics,

    SetModel {
        provider: String,
        id: String,
    },
    /// Uses the model that a name or a part of one stands for, as on the command line.
    ChooseModel {
        provider: Option<String>,
        pattern: String,
    },
    CycleModel,
    GetAvailableModels,
    SetThinkingLevel {
        level: ThinkingLevel,
    },
    CycleThinkingLevel,
    GetAvailableThinkingLevels,
    SetQueueMode {
        queue: Queue,
        mode: QueueMode,
    },
    SetInterruptMode {
        mode: InterruptMode,
    },
    SetAutoCompaction {
        enabled: bool,
    },
    SetAutoRetry {
        enabled: bool,
    },
    /// Gives up a retry that is waiting for its time.
    AbortRetry,

    /// Runs a shell command by hand.
    Shell {
        command: String,
        exclude_from_context: bool,
    },
    /// Kills every shell command that was started by hand.
    AbortShell,

    NewSession {
        parent: Option<String>,
    },
    SwitchSession {
        path: PathBuf,
    },
    SetSessionName {
        name: String,
    },

    /// Puts a summary in place of all but the newest messages.
    Compact {
        instructions: Option<String>,
    },
    /// Begins another session with what came before a user's message.
    Fork {
        entry: String,
    },
    /// Begins another session with the conversation as it is.
    Clone,
    GetForkMessages,
    GetEntries {
        since: Option<String>,
    },
    GetTree,
    /// Goes on from another entry of the same session; the branch that is left may be summarised.
    NavigateTree {
        entry: String,
        summarize: bool,
        instructions: Option<String>,
    },
    SetLabel {
        entry: String,
        label: Option<String>,
    },
    ListSessions {
        query: SessionQuery,
    },
    DeleteSession {
        path: PathBuf,
    },
    ExportHtml {
        path: Option<PathBuf>,
    },
}

/// A user's message before it has a place in the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Draft {
    pub text: String,
    pub images: Vec<Content>,
}

/// The two queues of messages that wait for a run to take them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queue {
    /// Taken before the next call of the model.
    Steering,
    /// Taken when the run would otherwise end.
    FollowUp,
}

/// Which sessions to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionQuery {
    /// Those of every working directory, not only of the current one.
    pub everywhere: bool,
    /// Only those with this in their name, their first message or their id.
    pub search: Option<String>,
    pub limit: Option<usize>,
    /// Where an earlier list ended.
    pub cursor: Option<String>,
}

/// What a steering message does to the tools that are still to run in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InterruptMode {
    /// They are skipped. Tools then run one after the other.
    Immediate,
    /// They run first.
    #[default]
    Wait,
}

impl InterruptMode {
    /// Returns the mode's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Immediate => "immediate",
            Self::Wait => "wait",
        }
    }
}

/// How many messages a run takes out of a queue at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QueueMode {
    All,
    #[default]
    OneAtATime,
}

impl QueueMode {
    /// Returns the mode's name on the wire and in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::OneAtATime => "one-at-a-time",
        }
    }

    /// Returns the mode with this name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::All, Self::OneAtATime].into_iter().find(|mode| mode.as_str() == name)
    }
}
