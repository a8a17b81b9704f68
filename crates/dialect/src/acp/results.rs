//! The results of methods. Their doc comments are the descriptions in the schema and the reference.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// Nothing to say.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Empty {}

/// What bowline can do.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Initialized {
    /// Always 1.
    pub protocol_version: u64,
    pub agent_info: AgentInfo,
    pub agent_capabilities: AgentCapabilities,
    pub auth_methods: Vec<AuthMethod>,
    /// What bowline does beyond the protocol.
    #[serde(rename = "_meta")]
    pub meta: InitializedMeta,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AgentInfo {
    pub name: &'static str,
    pub title: &'static str,
    pub version: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct AgentCapabilities {
    pub load_session: bool,
    pub prompt_capabilities: PromptCapabilities,
    pub mcp_capabilities: McpCapabilities,
    pub session_capabilities: SessionCapabilities,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PromptCapabilities {
    pub image: bool,
    pub audio: bool,
    pub embedded_context: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct McpCapabilities {
    pub http: bool,
    pub sse: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SessionCapabilities {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<Empty>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<Empty>,
    pub close: Empty,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete: Option<Empty>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fork: Option<Empty>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AuthMethod {
    pub id: &'static str,
    pub name: &'static str,
    pub description: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct InitializedMeta {
    pub steering: Steering,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Steering {
    /// Whether `_session/steering` is there.
    pub supported: bool,
}

/// A session that has started.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct OpenedResult {
    pub session_id: String,
    #[serde(flatten)]
    pub options: ResumedResult,
}

/// What can be chosen in a session.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResumedResult {
    pub config_options: Vec<ConfigOption>,
    /// The first of the options again, in its older form.
    pub modes: Modes,
}

/// All options of a session.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct OptionsResult {
    pub config_options: Vec<ConfigOption>,
}

/// Something that can be chosen.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ConfigOption {
    pub id: &'static str,
    pub name: &'static str,
    pub category: &'static str,
    #[schemars(extend("const" = "select"))]
    pub r#type: &'static str,
    pub current_value: String,
    pub options: Vec<OptionValue>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct OptionValue {
    pub value: String,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'static str>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Modes {
    pub current_mode_id: String,
    pub available_modes: Vec<Mode>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Mode {
    pub id: &'static str,
    pub name: &'static str,
    pub description: &'static str,
}

/// How a turn ended.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PromptResult {
    #[schemars(extend("enum" = ["end_turn", "max_tokens", "max_turn_requests", "cancelled"]))]
    pub stop_reason: &'static str,
}

/// What became of a steering message.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SteeringResult {
    #[schemars(extend("enum" = ["injected", "startedNewTurn", "promptRequired"]))]
    pub outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
}

/// A page of the list of sessions.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListedSessions {
    pub sessions: Vec<ListedSession>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListedSession {
    pub session_id: String,
    pub cwd: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// In ISO 8601.
    pub updated_at: String,
}

/// A tool call, or what changes of one.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub(super) struct ToolCallFields {
    pub tool_call_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["read", "edit", "search", "execute", "think", "fetch", "other"]))]
    pub kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["pending", "in_progress", "completed", "failed"]))]
    pub status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<CallContent>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locations: Option<Vec<CallLocation>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_input: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_output: Option<Value>,
    /// What clients with terminals of their own show of a command.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
}

/// A part of what a tool call shows.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(super) enum CallContent {
    Content {
        content: Block,
    },
    #[serde(rename_all = "camelCase")]
    Diff {
        path: String,
        /// Absent for a new file.
        #[serde(skip_serializing_if = "Option::is_none")]
        old_text: Option<String>,
        new_text: String,
    },
    #[serde(rename_all = "camelCase")]
    Terminal {
        terminal_id: String,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(super) struct CallLocation {
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// Content of a message or of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(super) enum Block {
    Text {
        text: String,
    },
    #[serde(rename_all = "camelCase")]
    Image {
        data: String,
        mime_type: String,
    },
}

/// Something that happened in a session.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "sessionUpdate", rename_all = "snake_case")]
pub(super) enum Update<'update> {
    #[serde(rename_all = "camelCase")]
    UserMessageChunk {
        content: Block,
        message_id: &'update str,
    },
    #[serde(rename_all = "camelCase")]
    AgentMessageChunk {
        content: Block,
        message_id: &'update str,
    },
    #[serde(rename_all = "camelCase")]
    AgentThoughtChunk {
        content: Block,
        message_id: &'update str,
    },
    ToolCall(Box<ToolCallFields>),
    #[serde(rename = "tool_call_update")]
    ToolCallChange(Box<ToolCallFields>),
    Plan {
        entries: Vec<PlanEntry>,
    },
    #[serde(rename = "available_commands_update", rename_all = "camelCase")]
    AvailableCommands {
        available_commands: Vec<AvailableCommand>,
    },
    #[serde(rename = "current_mode_update", rename_all = "camelCase")]
    CurrentMode {
        current_mode_id: &'update str,
    },
    #[serde(rename = "config_option_update", rename_all = "camelCase")]
    ConfigOptions {
        config_options: Vec<ConfigOption>,
    },
    #[serde(rename = "session_info_update", rename_all = "camelCase")]
    SessionInfo {
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'update str>,
    },
    #[serde(rename = "usage_update")]
    Usage {
        used: u64,
        size: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        cost: Option<CostSoFar>,
    },
    Notice {
        #[schemars(extend("enum" = ["info", "warning", "error"]))]
        severity: &'static str,
        title: &'update str,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'update str>,
    },
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CostSoFar {
    pub amount: f64,
    pub currency: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PlanEntry {
    pub content: String,
    #[schemars(extend("enum" = ["high", "medium", "low"]))]
    pub priority: &'static str,
    #[schemars(extend("enum" = ["pending", "in_progress", "completed"]))]
    pub status: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AvailableCommand {
    pub name: String,
    pub description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<CommandInput>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CommandInput {
    pub hint: String,
}

/// One of the answers that a user can give to a question about a tool call.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PermissionOption {
    pub option_id: &'static str,
    pub name: &'static str,
    #[schemars(extend("enum" = ["allow_once", "allow_always", "reject_once", "reject_always"]))]
    pub kind: &'static str,
}
