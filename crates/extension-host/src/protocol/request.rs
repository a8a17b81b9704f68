//! What an extension can ask for: the table of requests.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bowline_core::message::{Arguments, AssistantMessage, Content, Message};
use bowline_core::model::Model;
use bowline_core::thinking::ThinkingLevel;
use bowline_core::usage::Usage;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::prompt::{PromptChangesRecord, PromptPartsBody};
use super::registration::{ConstrainedSampling, ModelRegistration};

/// Describes a method: its name, what it does, its parameters and its result.
#[derive(Debug)]
pub(super) struct Method {
    pub name: &'static str,
    pub about: &'static str,
    pub parameters: fn(&mut SchemaGenerator) -> Schema,
    /// Absent for what is not answered.
    pub result: Option<fn(&mut SchemaGenerator) -> Schema>,
}

/// Defines the requests in one table: each has a name, parameters and a result.
macro_rules! requests {
    ($($about:literal $name:literal => $request:ident($parameters:ty) -> $result:ty,)*) => {
        /// A request with its parameters.
        #[derive(Debug)]
        pub enum RequestBody {
            $($request($parameters),)*
        }

        impl RequestBody {
            /// Reads the parameters of a method.
            pub fn parse(method: &str, parameters: Map<String, Value>) -> Result<Self, String> {
                let parameters = Value::Object(parameters);
                match method {
                    $($name => serde_json::from_value(parameters)
                        .map(Self::$request)
                        .map_err(|error| format!("invalid parameters of {method}: {error}")),)*
                    _ => Err(format!("there is no method {method}")),
                }
            }
        }

        pub(super) const REQUESTS: &[Method] = &[$(Method {
            name: $name,
            about: $about,
            parameters: SchemaGenerator::subschema_for::<$parameters>,
            result: Some(SchemaGenerator::subschema_for::<$result>),
        },)*];
    };
}

requests! {
    "Lets the user choose one of several options. `null` if they chose none."
    "ui.select" => Select(SelectParams) -> Option<String>,
    "Asks the user yes or no."
    "ui.confirm" => Confirm(ConfirmParams) -> bool,
    "Asks the user for a line of text. `null` if they gave none."
    "ui.input" => Input(InputParams) -> Option<String>,
    "Lets the user edit a text. `null` if they cancelled it."
    "ui.editor" => Editor(EditorParams) -> Option<String>,
    "Shows a component until the client closes it, or until the request is cancelled. `ui.setWidget` with its key shows \
     other lines. Refused if `render` of the state is `null`."
    "ui.custom" => Custom(CustomParams) -> (),
    "Calls a model and waits for its answer. Nothing of it becomes part of the session."
    "model.complete" => Complete(Box<ModelParams>) -> AssistantMessage,
    "The same, and sends the answer as it arrives in records of the type `chunk`."
    "model.stream" => Stream(Box<ModelParams>) -> AssistantMessage,
    "Returns the models that can be used."
    "model.list" => ListModels(ListModelsParams) -> Vec<Model>,
    "Returns the key and the headers of a provider, and to the extension that carries out its logins the credential of the \
     login instead of the key. Extensions of a project get none."
    "model.auth" => ModelAuth(ModelAuthParams) -> ModelAuth,
    "Returns whether there is a key or a login for a provider, and where it is."
    "model.authStatus" => ModelAuthStatus(ModelAuthStatusParams) -> ModelAuthStatus,
    "Stores a credential in `auth.json`. Not for extensions of a project."
    "model.storeCredential" => StoreCredential(StoreCredentialParams) -> (),
    "Runs a tool of the session, enabled or not. No hook is called for it."
    "tool.execute" => ExecuteTool(ExecuteToolParams) -> ExecutedTool,
    "Starts another session. Not while a hook of the same extension is waited for."
    "session.new" => NewSession(NewSessionParams) -> Switched,
    "Starts another session with what came before a message of the user."
    "session.fork" => Fork(ForkParams) -> Switched,
    "Opens another session."
    "session.switch" => SwitchSession(SwitchParams) -> Switched,
    "Continues from another entry of the session."
    "session.navigate" => Navigate(NavigateParams) -> Switched,
    "Ends all extensions and starts them anew, with settings, command hooks, MCP servers, skills, templates, context files and \
     stream rules read again. It is answered at once and carried out as soon as nothing is in progress; the process that asks \
     is ended by it. Refused while extensions are just being started."
    "session.reload" => Reload(NoParams) -> (),
    "Waits until nothing is in progress."
    "session.waitIdle" => WaitIdle(NoParams) -> (),
    "Returns the entries of the session's file, those after `since` if it is given."
    "session.entries" => Entries(EntriesParams) -> SessionEntries,
    "Returns the slash commands of the session: those of extensions, templates and skills."
    "session.commands" => Commands(NoParams) -> Vec<CommandBody>,
    "Returns the system prompt."
    "session.systemPrompt" => SystemPrompt(SystemPromptParams) -> SystemPromptBody,
    "Returns what the system prompt is made of."
    "session.systemPromptOptions" => SystemPromptOptions(NoParams) -> PromptPartsBody<'static>,
    "Returns the system prompt and the conversation."
    "session.context" => Context(NoParams) -> ContextBody,
    "Compacts the conversation."
    "agent.compact" => Compact(CompactParams) -> Compacted,
    "Returns a setting of the user, or all of them."
    "settings.get" => Setting(SettingParams) -> Value,
    "Runs a program, without a shell, and returns its output."
    "exec" => Exec(ExecParams) -> ExecResult,
}

/// There are no parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct NoParams {}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(description = "The parameters of `ui.select`.")]
pub struct SelectParams {
    pub title: String,
    pub options: Vec<String>,
    /// What is said about each option, in their order.
    #[serde(default, rename = "optionDetails")]
    pub option_details: Vec<OptionDetail>,
    /// After this time in milliseconds the answer is `null`.
    pub timeout: Option<u64>,
}

/// What is said about an option.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct OptionDetail {
    pub description: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(description = "The parameters of `ui.confirm`.")]
pub struct ConfirmParams {
    pub title: String,
    #[serde(default)]
    pub message: String,
    /// After this time in milliseconds the answer is `false`.
    pub timeout: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(description = "The parameters of `ui.custom`.")]
pub struct CustomParams {
    /// Different for every component that is open.
    pub key: String,
    pub lines: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(description = "The parameters of `ui.input`.")]
pub struct InputParams {
    pub title: String,
    pub placeholder: Option<String>,
    /// After this time in milliseconds the answer is `null`.
    pub timeout: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(description = "The parameters of `ui.editor`.")]
pub struct EditorParams {
    pub title: String,
    pub prefill: Option<String>,
    /// Whether it is to look and behave like the place where prompts are written.
    #[serde(default, rename = "promptStyle")]
    pub prompt_style: bool,
    /// After this time in milliseconds the answer is `null`.
    pub timeout: Option<u64>,
}

/// What a model is to answer.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelParams {
    /// `provider/id`, or a description of a model; the model of the session if absent.
    pub model: Option<NamedModel>,
    /// The key to use, instead of that of the provider.
    pub api_key: Option<String>,
    /// Headers to send, in addition to those of the provider.
    #[serde(default)]
    pub headers: BTreeMap<String, Option<String>>,
    pub system_prompt: Option<String>,
    /// A message of the user, instead of `messages`.
    pub prompt: Option<String>,
    pub messages: Option<Vec<Message>>,
    pub max_tokens: Option<u64>,
    pub thinking_level: Option<ThinkingLevel>,
    /// Left out for models of Anthropic that think.
    pub temperature: Option<f64>,
    /// Whether and which tools are to be called, in the words of the model's API.
    pub tool_choice: Option<Value>,
    #[serde(default)]
    pub tools: Vec<DeclaredTool>,
}

/// A model to call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum NamedModel {
    Name(String),
    /// bowline talks to its `baseUrl` in the protocol `api`, whatever provider has this name.
    Described(Box<DescribedModel>),
}

/// A model that need not be listed.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct DescribedModel {
    pub provider: String,
    #[serde(flatten)]
    pub model: ModelRegistration,
}

/// A tool that a model may call. The extension has to carry out the calls.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "DeclaredTool")]
pub struct DeclaredTool {
    pub name: String,
    pub description: String,
    pub parameters: Value,
    /// Asks the provider to keep the arguments to `parameters` while the model writes them.
    #[serde(default, rename = "constrainedSampling")]
    pub constrained_sampling: Option<ConstrainedSampling>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(description = "The parameters of `model.list`.")]
pub struct ListModelsParams {
    /// Whether providers of extensions list their models anew first.
    #[serde(default)]
    pub refresh: bool,
    /// Whether models of providers without a key are listed, too.
    #[serde(default)]
    pub all: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(description = "The parameters of `model.auth`.")]
pub struct ModelAuthParams {
    pub provider: String,
    /// The id of a model, whose headers are returned as well.
    pub model: Option<String>,
}

/// The key of a provider, if there is one.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelAuth {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The credential of a login, renewed if it had expired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential: Option<Value>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(description = "The parameters of `model.authStatus`.")]
pub struct ModelAuthStatusParams {
    pub provider: String,
}

/// Whether there is a key or a login for a provider.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelAuthStatus {
    /// Whether the provider can be used: there is a key or a login, or it needs none.
    pub configured: bool,
    /// Where the key or the login is: `auth.json`, the environment, `models.json` or what an extension registered, or the
    /// command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["stored", "environment", "models_json_key", "models_json_command", "runtime"]))]
    pub source: Option<&'static str>,
    /// The variable of the environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Whether it is a login and not a key.
    pub oauth: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(description = "The parameters of `model.storeCredential`.")]
pub struct StoreCredentialParams {
    pub provider: String,
    /// `{"type": "api_key", "key"}`, or `{"type": "oauth", "access", "refresh", "expires"}` with whatever else the provider
    /// needs. `null` removes the credential.
    pub credential: Option<Value>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(description = "The parameters of `tool.execute`.")]
pub struct ExecuteToolParams {
    /// Whether the built-in tool is meant although another one has taken its place.
    #[serde(default)]
    pub builtin: bool,
    pub name: String,
    #[serde(default)]
    pub args: Arguments,
}

/// The result of a tool.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecutedTool {
    pub content: Vec<Content>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// The result as data, if the tool has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Box<Value>>,
    /// What the tool spent on models of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Box<Usage>>,
    pub is_error: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "The parameters of `session.new`.")]
pub struct NewSessionParams {
    pub parent_session: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "The parameters of `session.fork`.")]
pub struct ForkParams {
    /// A message of the user, or any entry with the position `at`.
    pub entry_id: String,
    /// Whether the new session begins with what came before the entry, or with the entry as well.
    pub position: Option<ForkPlace>,
}

/// What a fork begins with.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ForkPlace {
    Before,
    At,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "The parameters of `session.switch`.")]
pub struct SwitchParams {
    pub session_path: PathBuf,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "The parameters of `session.navigate`.")]
pub struct NavigateParams {
    pub target_id: String,
    /// Whether the branch that is left is summarised.
    #[serde(default)]
    pub summarize: bool,
    pub custom_instructions: Option<String>,
    /// Whether the instructions take the place of the usual ones.
    #[serde(default)]
    pub replace_instructions: bool,
}

/// Whether an extension cancelled it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Switched {
    pub cancelled: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(description = "The parameters of `session.entries`.")]
pub struct EntriesParams {
    /// The id of an entry.
    pub since: Option<String>,
}

/// Entries of the session's file.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionEntries {
    pub entries: Vec<Value>,
    pub leaf_id: Option<String>,
}

/// The system prompt and the conversation.
/// A slash command.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ListedCommand")]
pub struct CommandBody {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[schemars(extend("enum" = ["builtin", "extension", "prompt", "skill"]))]
    pub source: &'static str,
    pub source_info: Value,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(description = "The parameters of `session.systemPrompt`.")]
pub struct SystemPromptParams {
    /// Changes as a handler of `before_agent_start` returns them, one after the other. The prompt is returned as it would be
    /// with them. Absent for the prompt as it is.
    #[serde(default)]
    pub changes: Vec<PromptChangesRecord>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SystemPrompt")]
pub struct SystemPromptBody {
    pub system_prompt: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SessionContext")]
pub struct ContextBody {
    pub system_prompt: String,
    pub messages: Vec<std::sync::Arc<Message>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "The parameters of `agent.compact`.")]
pub struct CompactParams {
    pub custom_instructions: Option<String>,
}

/// What a compaction did.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Compacted {
    pub summary: String,
    pub first_kept_entry_id: Option<String>,
    pub tokens_before: u64,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(description = "The parameters of `settings.get`.")]
pub struct SettingParams {
    /// A key with dots between the levels; all settings if absent.
    pub key: Option<String>,
}

/// A program to run.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ExecParams {
    /// A path, or a name that is looked up in `PATH`.
    pub command: String,
    #[serde(default)]
    pub args: Vec<String>,
    /// Where it runs; the session's working directory if absent.
    pub cwd: Option<PathBuf>,
    /// After this time in milliseconds it is killed.
    pub timeout: Option<u64>,
}

/// What a program did.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExecResult {
    pub stdout: String,
    pub stderr: String,
    /// 1 if the program could not be started; then `stderr` says why.
    pub code: i32,
    /// Whether it was killed, because it took too long or was cancelled.
    pub killed: bool,
    /// Whether there was more output than is returned.
    pub truncated: bool,
}
