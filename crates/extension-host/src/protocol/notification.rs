//! What an extension can tell bowline to do without an answer: the table of notifications.

use bowline_core::thinking::ThinkingLevel;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::hook_result::{CustomMessageResult, TextOrBlocks};
use super::request::{Method, NoParams};

/// Defines the notifications in one table: each has a name and parameters.
macro_rules! notifications {
    ($($about:literal $name:literal => $notification:ident($parameters:ty),)*) => {
        /// A notification with its parameters.
        #[derive(Debug)]
        pub enum NotificationBody {
            $($notification($parameters),)*
        }

        impl NotificationBody {
            /// Reads the parameters of a method.
            pub fn parse(method: &str, parameters: Map<String, Value>) -> Result<Self, String> {
                let parameters = Value::Object(parameters);
                match method {
                    $($name => serde_json::from_value(parameters)
                        .map(Self::$notification)
                        .map_err(|error| format!("invalid parameters of {method}: {error}")),)*
                    _ => Err(format!("there is no method {method}")),
                }
            }
        }

        pub(super) const NOTIFICATIONS: &[Method] = &[$(Method {
            name: $name,
            about: $about,
            parameters: SchemaGenerator::subschema_for::<$parameters>,
            result: None,
        },)*];
    };
}

notifications! {
    "Shows a message to the user."
    "ui.notify" => Notify(NotifyParams),
    "Shows a short text under a key; without a text it is removed."
    "ui.setStatus" => SetStatus(SetStatusParams),
    "Shows lines of text under a key; without lines they are removed."
    "ui.setWidget" => SetWidget(SetWidgetParams),
    "Sets the title of the window."
    "ui.setTitle" => SetTitle(SetTitleParams),
    "Replaces what the user is typing."
    "ui.setEditorText" => SetEditorText(SetEditorTextParams),
    "Asks the user to open a web page."
    "ui.openUrl" => OpenUrl(OpenUrlParams),
    "Adds a message of the extension to the conversation."
    "session.sendMessage" => SendMessage(SendMessageParams),
    "Sends a message as the user would."
    "session.sendUserMessage" => SendUserMessage(SendUserMessageParams),
    "Adds data to the session's file that the model does not see."
    "session.appendEntry" => AppendEntry(AppendEntryParams),
    "Names the session."
    "session.setName" => SetName(SetNameParams),
    "Labels an entry; without a label it is removed."
    "session.setLabel" => SetLabel(SetLabelParams),
    "Enables these tools and no others. Unknown names are ignored."
    "tools.setActive" => SetActiveTools(SetActiveToolsParams),
    "Selects a model."
    "model.set" => SetModel(SetModelParams),
    "Selects a thinking level."
    "thinking.set" => SetThinkingLevel(SetThinkingLevelParams),
    "Aborts the run."
    "agent.abort" => Abort(NoParams),
    "Ends bowline once nothing is in progress."
    "agent.shutdown" => Shutdown(NoParams),
    "Sends data to the other extensions of the session that take part in the hook `bus`."
    "bus.emit" => Emit(EmitParams),
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(description = "The parameters of `ui.notify`.")]
pub struct NotifyParams {
    pub message: String,
    pub r#type: Option<NotifyType>,
}

/// How much a message matters.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NotifyType {
    Info,
    Warning,
    Error,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(description = "The parameters of `ui.setStatus`.")]
pub struct SetStatusParams {
    pub key: String,
    pub text: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(description = "The parameters of `ui.setWidget`.")]
pub struct SetWidgetParams {
    pub key: String,
    pub lines: Option<Vec<String>>,
    pub placement: Option<Placement>,
}

/// Where lines are shown.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Placement {
    AboveEditor,
    BelowEditor,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(description = "The parameters of `ui.setTitle`.")]
pub struct SetTitleParams {
    pub title: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(description = "The parameters of `ui.setEditorText`.")]
pub struct SetEditorTextParams {
    pub text: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "The parameters of `ui.openUrl`.")]
pub struct OpenUrlParams {
    /// It begins with `https://` or `http://`.
    pub url: String,
    /// What to open instead, if `url` is only to be shown.
    pub launch_url: Option<String>,
    /// What the user is to do there.
    pub instructions: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "The parameters of `session.sendMessage`.")]
pub struct SendMessageParams {
    pub message: CustomMessageResult,
    pub deliver_as: Option<DeliverAs>,
    /// Whether the model is called if nothing is in progress. During a run, `false` keeps the message until the turn ends.
    pub trigger_turn: Option<bool>,
}

/// When a message reaches the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DeliverAs {
    /// Before the next call of the model.
    Steer,
    /// When the run would otherwise end.
    FollowUp,
    /// With the next prompt.
    NextTurn,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "The parameters of `session.sendUserMessage`.")]
pub struct SendUserMessageParams {
    pub content: TextOrBlocks,
    /// How the message is queued during a run. Without it a message during a run is refused.
    pub deliver_as: Option<QueueName>,
    /// Whether `/name` means a template or a skill.
    #[serde(default)]
    pub expand_prompt_templates: bool,
}

/// A queue of messages.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum QueueName {
    Steer,
    FollowUp,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "The parameters of `session.appendEntry`.")]
pub struct AppendEntryParams {
    pub custom_type: String,
    pub data: Option<Value>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(description = "The parameters of `session.setName`.")]
pub struct SetNameParams {
    pub name: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "The parameters of `session.setLabel`.")]
pub struct SetLabelParams {
    pub entry_id: String,
    pub label: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(description = "The parameters of `tools.setActive`.")]
pub struct SetActiveToolsParams {
    pub names: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "The parameters of `model.set`.")]
pub struct SetModelParams {
    pub provider: String,
    pub model_id: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(description = "The parameters of `thinking.set`.")]
pub struct SetThinkingLevelParams {
    pub level: ThinkingLevel,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(description = "The parameters of `bus.emit`.")]
pub struct EmitParams {
    pub channel: String,
    #[serde(default)]
    pub data: Value,
}
