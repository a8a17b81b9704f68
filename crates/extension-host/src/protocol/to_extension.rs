//! The records that bowline sends to an extension.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use bowline_core::message::{Arguments, Content, Message};
use bowline_core::model::Model;
use bowline_core::slash_command::SourceInfo;
use bowline_core::thinking::ThinkingLevel;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::hook_event::HookEventRecord;
use super::registration::ConstrainedSampling;
use super::step::Chunk;

/// A record that bowline sends.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ToExtension<'record> {
    /// The first record. The extension answers with `registered`.
    Init {
        /// The version of this protocol.
        #[schemars(extend("const" = super::VERSION))]
        protocol: u32,
        engine: Engine,
        /// How bowline runs: serving a client, or running messages once with text or with events as the output.
        #[schemars(extend("enum" = ["rpc", "print", "json"]))]
        mode: &'static str,
        /// Whether the client can be asked and shown anything. If not, dialogs have their default answer at once.
        #[serde(rename = "hasUI")]
        has_ui: bool,
        /// The client's protocol.
        dialect: &'record str,
        session: InitSession<'record>,
        /// Whether the user trusts the project.
        trusted: bool,
        /// The values of the flags that the extension's manifest declares.
        flags: &'record BTreeMap<String, Value>,
        /// What is known of the session. The rest follows in a `state` record before the first hook.
        state: Box<State<'record>>,
        /// The extensions that the process serves: one element, but for the process that extensions of pi share.
        extensions: &'record [InitExtension<'record>],
        limits: Limits,
    },
    /// Further extensions for the process that extensions of pi share. It answers with `registered` for them.
    Load { extensions: &'record [InitExtension<'record>] },
    /// Calls the extension and waits for its `result`.
    Hook {
        id: &'record str,
        event: &'record HookEventRecord<'record>,
        /// How long the extension may take. The time during which it waits for the user or a model does not count.
        deadline_ms: u64,
    },
    /// Tells the extension of an event. There is no answer.
    Event { event: &'record HookEventRecord<'record> },
    /// Calls a tool of the extension, which answers with any number of `update` and one `result`.
    Tool { id: &'record str, name: &'record str, tool_call_id: &'record str, args: &'record Arguments },
    /// Runs a command of the extension, which answers with a `result`.
    Command {
        id: &'record str,
        name: &'record str,
        /// The text after the command's name.
        args: &'record str,
    },
    /// Asks for what can follow the name of a command of the extension that has `hasCompletion`. The `result` is a list of
    /// texts or of objects with `value`, `label` and `description`.
    Complete {
        id: &'record str,
        command: &'record str,
        /// The text after the command's name so far.
        prefix: &'record str,
    },
    /// Asks a provider of the extension for an answer (`stream`), which is sent as any number of `chunk` and one
    /// `result`, or for its list of models (`refresh`), which is the `result`. One with a `login` is also asked to log the
    /// user in (`login`), with dialogs: the `result` is the credential, an object with `access`, `refresh` and `expires`
    /// (milliseconds since 1970), which bowline stores in `auth.json`. `refreshToken` has another one for it, and `apiKey`
    /// the key that it stands for, as a text.
    Provider {
        id: &'record str,
        provider: &'record str,
        #[schemars(extend("enum" = ["stream", "refresh", "login", "refreshToken", "apiKey"]))]
        op: &'static str,
        /// With `refreshToken` and `apiKey`, and with `refresh` if the user is logged in: the credential of the login.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<BTreeMap<String, Value>>")]
        credential: Option<&'record Value>,
        /// What to answer, with `stream`.
        #[serde(skip_serializing_if = "Option::is_none")]
        request: Option<ProviderRequest<'record>>,
    },
    /// Asks for the model that a request to a virtual model of the extension goes to, which is the `result`.
    Route {
        id: &'record str,
        /// The name of the virtual model.
        name: &'record str,
        /// The virtual model.
        model: &'record Model,
        /// The level that the user chose for it.
        thinking_level: ThinkingLevel,
        /// `user`: a message of the user is to be answered. `continuation`: the work on it goes on. `retry`: the request
        /// before failed. `direct`: the request is no part of a run.
        #[schemars(extend("enum" = ["user", "continuation", "retry", "direct"]))]
        reason: &'static str,
        /// What gave the latest answer that succeeded.
        #[serde(skip_serializing_if = "Option::is_none")]
        previous: Option<AnsweredBy<'record>>,
        /// The answer that failed, with `retry`. It is no longer part of the conversation.
        #[serde(skip_serializing_if = "Option::is_none")]
        failed: Option<&'record Message>,
        /// The system prompt and the messages of the request. They are absent if they are those of the session, which
        /// `session.context` returns.
        #[serde(skip_serializing_if = "Option::is_none")]
        system_prompt: Option<&'record str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        messages: Option<&'record [Arc<Message>]>,
    },
    /// What has changed of the session. Always sent before the hook that may depend on it.
    State {
        patch: Box<State<'record>>,
        /// The lines that were added to the session's file, if the extension wants them.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        #[schemars(with = "Option<Vec<BTreeMap<String, Value>>>")]
        entries: Vec<&'record RawValue>,
    },
    /// More of the answer to a `model.stream`.
    Chunk { id: &'record str, event: &'record Chunk },
    /// The output so far of the tool that a `tool.execute` runs.
    Progress { id: &'record str, partial: Box<ToolProgress> },
    /// The answer to a `request` of the extension: a result or an error.
    Response {
        id: &'record str,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<&'record Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<ErrorBody<'record>>,
    },
    /// The user presses keys while a component of the extension is shown: the `id` is that of its `ui.custom`.
    Input {
        id: &'record str,
        /// What a terminal sends for the keys.
        data: &'record str,
    },
    /// What was asked for is no longer wanted. The `result` is still expected, soon.
    Cancel {
        id: &'record str,
        #[schemars(extend("enum" = ["abort", "timeout"]))]
        reason: &'static str,
    },
    /// The extension has to exit. Its stdin is closed afterwards.
    Shutdown { deadline_ms: u64 },
}

/// The program that the extension is part of.
#[derive(Serialize, JsonSchema)]
pub struct Engine {
    pub name: &'static str,
    pub version: &'static str,
}

/// The session that the extension takes part in.
#[derive(Serialize, JsonSchema)]
pub struct InitSession<'record> {
    pub id: &'record str,
    /// Absent if the session is in memory only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<&'record Path>,
    pub cwd: &'record Path,
    /// Why the extension is started: with bowline, by a reload, because the session goes on in another folder (`new`,
    /// `resume`, `fork`), or because it had exited (`restart`).
    #[schemars(extend("enum" = ["startup", "reload", "new", "resume", "fork", "restart"]))]
    pub reason: &'static str,
}

/// The extension as bowline knows it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitExtension<'record> {
    /// A short name. In a process that serves several extensions it is unique, and `ext` in records.
    pub id: &'record str,
    /// Its path, by which clients know it when it fails.
    pub path: &'record str,
    pub source_info: SourceInfoRecord<'record>,
}

/// Where an extension comes from.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SourceInfo")]
pub struct SourceInfoRecord<'record> {
    path: &'record Path,
    /// `auto` if it was found in a folder, `local` if the settings name it, `cli` if the command line does.
    source: &'record str,
    #[schemars(extend("enum" = ["user", "project", "temporary"]))]
    scope: &'static str,
    #[schemars(extend("enum" = ["top-level", "package"]))]
    origin: &'static str,
    /// The folder that it was found in.
    #[serde(skip_serializing_if = "Option::is_none")]
    base_dir: Option<&'record Path>,
}

impl<'record> From<&'record SourceInfo> for SourceInfoRecord<'record> {
    fn from(info: &'record SourceInfo) -> Self {
        Self {
            path: &info.path,
            source: &info.source,
            scope: info.scope.as_str(),
            origin: info.packaging.as_str(),
            base_dir: info.base_folder.as_deref(),
        }
    }
}

/// How long things may take.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// Most hooks.
    pub hook_ms: u64,
    /// From `init` to `registered`. Prompts wait no longer.
    pub start_ms: u64,
}

/// Why something failed.
#[derive(Serialize, JsonSchema)]
pub struct ErrorBody<'record> {
    pub message: &'record str,
}

/// What an extension knows of the session without asking. Only what has changed is sent; `null` means that there is none.
#[derive(Serialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase")]
pub struct State<'record> {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<NullOr<Model>>")]
    pub model: Option<Option<&'record Model>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<ThinkingLevel>,
    /// The models that the user limited the choice to with `--models` or `enabledModels`; empty if they did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scoped_models: Option<Vec<ScopedModel<'record>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_idle: Option<bool>,
    /// Whether messages wait in a queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_pending_messages: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_tools: Option<&'record [String]>,
    /// All tools, enabled or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all_tools: Option<Vec<ToolInfo<'record>>>,
    /// The slash commands of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commands: Option<Vec<CommandInfo<'record>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<NullOr<String>>")]
    pub session_name: Option<Option<&'record str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<&'record str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<NullOr<String>>")]
    pub session_file: Option<Option<&'record Path>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<&'record Path>,
    /// The entry that the conversation continues from.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<NullOr<String>>")]
    pub leaf_id: Option<Option<&'record str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<NullOr<ContextInfo>>")]
    pub context_usage: Option<Option<ContextInfo>>,
    /// The place that the client has for components; `null` if it shows none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<NullOr<Render>>")]
    pub render: Option<Option<Render>>,
    /// Whether the project is trusted, if that was decided only after the extension was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trusted: Option<bool>,
    /// The values of the flags that the extension has registered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flags: Option<&'record BTreeMap<String, Value>>,
}

/// Describes a value that may be `null`, which the generator would otherwise take for one that may be absent.
#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[expect(dead_code, reason = "it only describes a value")]
enum NullOr<T> {
    Some(T),
    Null(()),
}

/// A model that the user limited the choice to.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScopedModel<'record> {
    pub model: &'record Model,
    /// The level that the user named with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<ThinkingLevel>,
}

/// A tool.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolInfo<'record> {
    pub name: &'record str,
    pub description: &'record str,
    pub parameters: &'record Value,
    /// Where it comes from.
    #[schemars(extend("enum" = ["builtin", "client", "extension"]))]
    pub source: &'static str,
    /// The extension that offers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extension: Option<&'record str>,
    /// Where the extension was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_info: Option<SourceInfoRecord<'record>>,
    /// Rules about its use for the system prompt.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub prompt_guidelines: &'record [String],
}

/// A slash command.
#[derive(Serialize, JsonSchema)]
pub struct CommandInfo<'record> {
    pub name: &'record str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'record str>,
    pub source: &'record str,
    #[serde(rename = "sourceInfo")]
    pub source_info: SourceInfoRecord<'record>,
}

/// The output of a running tool.
#[derive(Serialize, JsonSchema)]
pub struct ToolProgress {
    pub content: Vec<Content>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// The place that a client has for components.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Render {
    pub columns: u16,
    pub rows: u16,
}

/// How much of the model's window is used.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextInfo {
    /// `null` until the model has reported its usage.
    pub tokens: Option<u64>,
    pub context_window: u64,
    pub percent: Option<f64>,
}

/// What a provider of the extension is to answer.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderRequest<'record> {
    pub model: &'record Model,
    pub system_prompt: &'record str,
    pub messages: &'record [Arc<Message>],
    pub tools: Vec<ToolDeclaration<'record>>,
    pub thinking_level: ThinkingLevel,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    pub session_id: &'record str,
}

/// What gave an answer.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnsweredBy<'record> {
    pub provider: &'record str,
    pub model_id: &'record str,
    /// The level of the request, if a virtual model chose it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<ThinkingLevel>,
}

/// A tool that the model may call.
#[derive(Serialize, JsonSchema)]
pub struct ToolDeclaration<'record> {
    pub name: &'record str,
    pub description: &'record str,
    pub parameters: &'record Value,
    #[serde(skip_serializing_if = "Option::is_none", rename = "constrainedSampling")]
    pub constrained_sampling: Option<ConstrainedSampling>,
}
