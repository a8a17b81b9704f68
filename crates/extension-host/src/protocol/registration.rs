//! What an extension offers and wants: tools, commands, flags, hooks and providers.

use std::collections::BTreeMap;

use bowline_core::model::{InputKind, Price};
use bowline_core::thinking::ThinkingLevel;
use bowline_core::tool::StrictArguments;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What an extension offers and wants.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct Registration {
    /// The extension that offers it, if the process serves several.
    #[serde(default)]
    pub ext: Option<String>,
    #[serde(default)]
    pub tools: Vec<ToolRegistration>,
    #[serde(default)]
    pub commands: Vec<CommandRegistration>,
    #[serde(default)]
    pub flags: Vec<FlagRegistration>,
    #[serde(default)]
    pub hooks: Vec<HookRegistration>,
    #[serde(default)]
    pub providers: Vec<ProviderRegistration>,
    /// MCP servers for this session. A server that the user or the project describes takes precedence.
    #[serde(default, rename = "mcpServers")]
    pub mcp_servers: Vec<McpServerRegistration>,
    /// Models that pass each request on to one that the extension chooses.
    #[serde(default, rename = "virtualModels")]
    pub virtual_models: Vec<VirtualModelRegistration>,
    /// What the extension wants to be told beyond its hooks.
    #[serde(default)]
    pub wants: Vec<Want>,
}

impl Registration {
    /// Returns both together.
    pub fn and(mut self, other: Self) -> Self {
        self.tools.extend(other.tools);
        self.commands.extend(other.commands);
        self.flags.extend(other.flags);
        self.hooks.extend(other.hooks);
        self.providers.extend(other.providers);
        self.mcp_servers.extend(other.mcp_servers);
        self.virtual_models.extend(other.virtual_models);
        self.wants.extend(other.wants);
        self
    }
}

/// Something that an extension can want.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Want {
    /// The lines that are added to the session's file.
    Entries,
}

/// A tool.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolRegistration {
    /// Letters, digits, `_` and `-`, at most 64. The name of a built-in tool replaces that tool.
    pub name: String,
    /// A name for people.
    #[serde(default)]
    pub label: Option<String>,
    /// What the tool does and when to use it, for the model.
    pub description: String,
    /// A JSON Schema of the arguments, of the type `object`.
    pub parameters: Value,
    /// A line about the tool for the system prompt.
    #[serde(default)]
    pub prompt_snippet: Option<String>,
    /// Rules about its use for the system prompt.
    #[serde(default)]
    pub prompt_guidelines: Vec<String>,
    /// Whether calls of it run beside others of the same answer.
    #[serde(default)]
    pub execution_mode: ExecutionMode,
    /// Whether it is enabled at once.
    #[serde(default = "yes")]
    pub default_active: bool,
    /// Whether the extension prepares and checks the arguments itself. Otherwise they are converted to what `parameters` say
    /// and checked before the tool is called.
    #[serde(default)]
    pub prepare_arguments: bool,
    /// Asks providers to keep the arguments to `parameters` while the model writes them.
    #[serde(default)]
    pub constrained_sampling: Option<ConstrainedSampling>,
}

/// What providers are asked to keep the arguments of a tool to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ConstrainedSampling {
    /// The schema of the parameters.
    JsonSchema { strict: Strictness },
}

/// What happens where a provider cannot do it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Strictness {
    /// The tool is used without.
    Prefer,
    /// The request fails.
    Require,
}

impl From<ConstrainedSampling> for StrictArguments {
    fn from(ConstrainedSampling::JsonSchema { strict }: ConstrainedSampling) -> Self {
        match strict {
            Strictness::Prefer => Self::Preferred,
            Strictness::Require => Self::Required,
        }
    }
}

impl From<StrictArguments> for ConstrainedSampling {
    fn from(strict: StrictArguments) -> Self {
        let strict = match strict {
            StrictArguments::Preferred => Strictness::Prefer,
            StrictArguments::Required => Strictness::Require,
        };
        Self::JsonSchema { strict }
    }
}

/// Whether calls of a tool run beside others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExecutionMode {
    #[default]
    Parallel,
    /// The calls of an answer that calls it run one after the other.
    Sequential,
}

/// A command that a prompt names with a leading slash.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandRegistration {
    /// Without the slash.
    pub name: String,
    #[serde(default)]
    pub description: Option<String>,
    /// Whether the extension completes what follows the name: it answers `complete`.
    #[serde(default)]
    pub has_completion: bool,
}

/// A flag of the command line. Its value is in the field `flags` of the state.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub struct FlagRegistration {
    /// Without the dashes.
    pub name: String,
    pub r#type: FlagType,
    #[serde(default)]
    pub description: Option<String>,
    #[serde(default)]
    pub default: Option<Value>,
}

/// Whether a flag has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FlagType {
    Boolean,
    String,
}

/// A hook that the extension takes part in.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct HookRegistration {
    /// The name of the hook. One that does not exist is ignored.
    pub event: String,
    /// Whether what follows waits for the extension. Otherwise it is only told.
    #[serde(default = "yes")]
    pub r#await: bool,
    #[serde(default)]
    pub filter: Option<HookFilter>,
}

/// Which events of a hook the extension wants.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookFilter {
    /// Only those about these tools.
    #[serde(default)]
    pub tool_name: Option<Vec<String>>,
}

/// An MCP server.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub struct McpServerRegistration {
    pub name: String,
    /// Its description as in `mcpServers` of the settings, and `exposure` and `toolExposure` as in pi: tools that are not
    /// `hidden` are declared to the model.
    #[schemars(with = "BTreeMap<String, Value>")]
    pub config: Value,
}

/// A virtual model. For each request to it the extension is sent `route` and chooses the model that is called.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VirtualModelRegistration {
    /// `provider/id`. The provider may have other models; then the virtual one can be used when they can. An extension of a
    /// project cannot add to a provider that the user has.
    pub name: String,
    /// A name for people.
    #[serde(default)]
    pub label: Option<String>,
    /// The levels that the user can choose. What they mean is up to the extension. `off` if there are none.
    #[serde(default)]
    pub thinking_levels: Vec<ThinkingLevel>,
    /// What is shown before the first answer; later the limits of the model that answered apply. 0 if it is not known.
    #[serde(default)]
    pub context_window: u64,
    #[serde(default)]
    pub max_tokens: u64,
    /// Text and images if absent. A chosen model that takes no images gets a note in their place.
    #[serde(default)]
    pub input: Option<Vec<InputKind>>,
}

/// A provider of models. Without models it is a change of a provider that exists. A project's extension cannot change one,
/// and its keys, headers and addresses name no variables and commands.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderRegistration {
    #[serde(skip_serializing)]
    pub name: String,
    /// Whether the extension answers itself. Otherwise bowline talks to `baseUrl` in the protocol `api`.
    #[serde(default, skip_serializing)]
    pub stream: bool,
    /// Whether the extension can list its models anew. Without models it is asked for them at once.
    #[serde(default, skip_serializing)]
    pub refresh: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The API of its models, as in `models.json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<String>,
    /// The key, as in `models.json`: a value, `$VARIABLE` or `!command`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Whether the key is sent as `Authorization: Bearer`.
    #[serde(default)]
    pub auth_header: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelRegistration>,
    /// A login that the extension carries out. Not for extensions of a project, which get no logins.
    #[serde(default, skip_serializing)]
    pub login: Option<LoginRegistration>,
}

/// A login that an extension carries out: it logs the user in, renews the credential and makes a key out of it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoginRegistration {
    /// What it is called, for people.
    #[serde(default)]
    pub name: Option<String>,
    /// Whether the provider cannot be used without a login or a key.
    #[serde(default = "yes")]
    pub required: bool,
    /// Whether the models depend on the login. They are listed anew then, with its credential.
    #[serde(default)]
    pub modifies_models: bool,
}

/// A model of a provider.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelRegistration {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    #[serde(default)]
    pub reasoning: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BTreeMap<String, Option<String>>>")]
    pub thinking_level_map: Option<BTreeMap<ThinkingLevel, Option<String>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Vec<InputKind>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Price>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compat: Option<Value>,
}

fn yes() -> bool {
    true
}
