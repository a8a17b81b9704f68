//! The extensions of a session in the response to `get_state`.

use std::borrow::Cow;

use bowline_core::extension_info::ExtensionInfo;
use schemars::JsonSchema;
use serde::Serialize;

use super::answers::SourceInfoRecord;

/// An extension of the session.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Extension")]
pub(crate) struct ExtensionRecord<'reply> {
    name: &'reply str,
    /// The file or folder. `extensionPath` of `extension_error` is the same.
    path: Cow<'reply, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'reply str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'reply str>,
    /// How it is doing. `restarting`: it has exited and is started again. `failed`: it is not started again. `not_loaded`: it
    /// is there, but not to be used.
    #[schemars(extend("enum" = ["starting", "running", "restarting", "failed", "not_loaded"]))]
    status: &'static str,
    /// Why it is not running. Absent if it is, or is starting.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'reply str>,
    source_info: SourceInfoRecord<'reply>,
    /// The names of its tools.
    tools: &'reply [String],
    /// The names of its slash commands.
    commands: &'reply [String],
    /// The names of its providers of models.
    providers: &'reply [String],
    /// The hooks that it takes part in.
    hooks: &'reply [&'static str],
}

impl<'reply> From<&'reply ExtensionInfo> for ExtensionRecord<'reply> {
    fn from(extension: &'reply ExtensionInfo) -> Self {
        Self {
            name: &extension.name,
            path: extension.path.to_string_lossy(),
            version: extension.version.as_deref(),
            description: extension.description.as_deref(),
            status: extension.status.as_str(),
            reason: extension.status.reason(),
            source_info: (&extension.source_info).into(),
            tools: &extension.tools,
            commands: &extension.commands,
            providers: &extension.providers,
            hooks: &extension.hooks,
        }
    }
}

/// Returns the records of all extensions.
pub(crate) fn records(extensions: &[ExtensionInfo]) -> Vec<ExtensionRecord<'_>> {
    extensions.iter().map(Into::into).collect()
}
