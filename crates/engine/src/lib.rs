//! The agent loop.
//!
//! An [`Agent`] is what sessions share: providers, tools, settings, the policy of the dialect, the clock. A [`Session`]
//! is a state machine with one closed [`Input`] enum: commands, answers to questions, and steps of the tasks that it
//! started. Each input is handled to completion without waiting, so that admission is atomic by construction; whatever
//! takes time runs in a task that reports back as another input. Events and replies are queued as [`Output`] for the
//! caller to fetch. Any number of sessions live on one thread; their inputs carry a tag. The engine knows no dialect
//! and serialises nothing.
//!
//! The modules form two layers. Those beside `session` each own one part of a session's state, with private fields,
//! and know nothing of the whole. Those in `session/` hold the flow: what happens next.

mod activity;
mod agent;
mod approvals;
mod attachment;
mod budget;
mod call_digest;
mod call_gate;
mod client_editor;
mod compaction;
mod configuration;
mod conversation;
mod detached_session;
mod estimate;
mod expected_output;
mod extension;
mod extensions;
mod file_changes;
mod hook_chain;
mod hook_lane;
mod host;
mod host_question;
mod input;
mod instructions;
mod local_commands;
mod model_choice;
mod model_wishes;
mod pending;
mod queues;
mod retry_delay;
mod rule_watch;
mod run;
mod session;
mod session_notes;
mod settings;
mod subagents;
mod system_prompt;
mod todo_progress;
mod tool_call_states;
mod tool_set;
mod transcript;

pub use agent::{Agent, ModelDefaults, OpenedSession, Parts};
pub use approvals::{ApprovalSettings, DEFAULT_APPROVAL_TIMEOUT};
pub use call_digest::call_digest;
pub use call_gate::{
    Asking, CallGate, Check, Consent, GatedCall, HostName, Remembering, RunEverything, Verdict,
};
pub use configuration::{Configuration, Configured};
pub use detached_session::DetachedSession;
pub use extension::{
    About, Attached, CommandResult, Delivery, Extension, ExtensionInput, FoundTool, Host, HostId, KnownTool,
    Mirror, OfferedTool, SessionContext, SessionLink, SessionServers, ToolSource,
};
pub use file_changes::{UNDO_FOLDER, restored_note};
pub use host::HostRequest;
pub use host_question::{HostQuestion, HostQuestions};
pub use input::{Input, Inputs, Output, Report, Tagged};
pub use model_wishes::{LaterModels, ModelWishes};
pub use session::Session;
pub use settings::{
    CompactionLimits, CompactionSettings, DEFAULT_HOST_CALL_LIMIT, DEFAULT_MAX_PARALLEL_TOOLS, RetrySettings,
    SessionPlan, Settings, StreamRuleSettings, TodoSettings, UndoSettings,
};
pub use subagents::{SubagentSettings, TASK_TOOL, TaskTool};
pub use system_prompt::{SystemPrompt, own_guidelines, render as render_prompt};
