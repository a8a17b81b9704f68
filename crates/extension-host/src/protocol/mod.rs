//! The protocol between bowline and the process of an extension, version 1.
//!
//! Each line, in both directions, is one JSON object. The types here are both what is written and read and what the schema
//! and the reference are made of.

mod from_extension;
mod hook_event;
mod hook_result;
mod notification;
mod prompt;
mod registration;
mod request;
mod schema;
mod step;
mod to_extension;

pub(crate) use from_extension::answered_call;
pub use from_extension::{
    CallResult, Cancel, CompletionResult, ErrorRecord, Failure, FromExtension, Log, Notify, PartialOutcome,
    Registered, Request, RouteResult, StreamEnd, StreamStop, ToolOutcome, Unregister, Update,
};
pub use hook_event::HookEventRecord;
pub use hook_result::parse as parse_result;
pub use notification::{DeliverAs, NotificationBody, NotifyType, OpenUrlParams, Placement, QueueName};
pub use prompt::{PromptChangesRecord, PromptOptionsRecord, PromptPartsBody};
pub use registration::{
    CommandRegistration, ExecutionMode, FlagRegistration, FlagType, HookRegistration, LoginRegistration,
    McpServerRegistration, ModelRegistration, ProviderRegistration, Registration, ToolRegistration,
    VirtualModelRegistration, Want,
};
pub use request::{
    CommandBody, CompactParams, Compacted, ConfirmParams, ContextBody, CustomParams, DescribedModel,
    EditorParams, EntriesParams, ExecParams, ExecResult, ExecuteToolParams, ExecutedTool, ForkParams,
    ForkPlace, InputParams, ListModelsParams, ModelAuth, ModelAuthParams, ModelAuthStatus, ModelParams,
    NamedModel, NavigateParams, NewSessionParams, RequestBody, SelectParams, SessionEntries,
    StoreCredentialParams, SwitchParams, Switched, SystemPromptBody, SystemPromptParams,
};
pub use schema::schema;
pub use step::Chunk;
pub use to_extension::{
    AnsweredBy, CommandInfo, ContextInfo, Engine, ErrorBody, InitExtension, InitSession, Limits,
    ProviderRequest, Render, ScopedModel, SourceInfoRecord, State, ToExtension, ToolDeclaration, ToolInfo,
    ToolProgress,
};

/// The version of the protocol.
pub const VERSION: u32 = 1;

/// The longest line that is read.
pub const LONGEST_LINE: usize = 64 * 1024 * 1024;
