//! Decodes lines of a session file. Each type names only the fields that are needed; the rest of a line is skipped.

use std::borrow::Cow;

use bowline_core::custom_content::CustomContent;
use bowline_core::message::{
    BranchSummaryMessage, CompactionSummaryMessage, Content, CustomMessage, Message,
};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::clock;
use crate::entry::Kind;

/// A string that borrows from the line unless it has escapes.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// The fields that the index needs.
#[derive(Debug, Deserialize)]
pub(crate) struct Head<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) id: Option<Text<'a>>,
    #[serde(borrow, default, rename = "parentId")]
    pub(crate) parent: Option<Text<'a>>,
}

/// A new name of the session.
#[derive(Debug, Deserialize)]
pub(crate) struct SessionInfo {
    #[serde(default)]
    pub(crate) name: Option<String>,
}

/// A change of the model.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ModelChange {
    pub(crate) provider: String,
    pub(crate) model_id: String,
}

/// A change of the thinking level. It is kept as a string because newer programs may know more levels.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ThinkingLevelChange {
    pub(crate) thinking_level: String,
}

/// An edit of the context.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ContextEdit {
    pub(crate) target_id: String,
    pub(crate) replacement: Option<Replacement>,
}

/// The new content of an edited message.
#[derive(Debug, Deserialize)]
pub(crate) struct Replacement {
    pub(crate) content: Value,
}

/// A compaction.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Compaction {
    pub(crate) summary: String,
    #[serde(default)]
    pub(crate) first_kept_entry_id: Option<String>,
    /// Version 1 counted lines instead; the header is line 0.
    #[serde(default)]
    pub(crate) first_kept_entry_index: Option<usize>,
    #[serde(default)]
    pub(crate) details: Option<Value>,
    #[serde(default)]
    pub(crate) from_hook: Option<bool>,
    #[serde(default)]
    tokens_before: u64,
    #[serde(default)]
    timestamp: String,
}

impl Compaction {
    /// Returns the message that replaces the compacted ones.
    pub(crate) fn message(self) -> Message {
        Message::CompactionSummary(CompactionSummaryMessage {
            summary: self.summary,
            tokens_before: self.tokens_before,
            timestamp: clock::milliseconds(&self.timestamp),
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BranchSummary {
    from_id: String,
    #[serde(default)]
    summary: String,
    #[serde(default)]
    timestamp: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CustomEntry {
    custom_type: String,
    content: CustomContent,
    #[serde(default)]
    display: bool,
    #[serde(default)]
    details: Option<Value>,
    #[serde(default)]
    timestamp: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum TextOrBlocks {
    Text(String),
    Blocks(Vec<Content>),
}

impl From<TextOrBlocks> for Vec<Content> {
    fn from(content: TextOrBlocks) -> Self {
        match content {
            TextOrBlocks::Text(text) => vec![Content::text(text)],
            TextOrBlocks::Blocks(blocks) => blocks,
        }
    }
}

#[derive(Deserialize)]
struct MessageLine<'a> {
    #[serde(borrow)]
    message: &'a RawValue,
}

#[derive(Deserialize)]
struct Role<'a> {
    #[serde(borrow)]
    role: Text<'a>,
    #[serde(default)]
    provider: String,
    #[serde(default)]
    model: String,
}

#[derive(Deserialize)]
struct RoleAndContent<'a> {
    #[serde(borrow)]
    role: Text<'a>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ContentOf<'a> {
    #[serde(borrow)]
    content: &'a RawValue,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(default)]
    text: String,
}

/// Returns whether the message in a line has this role.
pub(crate) fn role_is(line: &[u8], role: &str) -> bool {
    let line: Result<MessageLine<'_>, _> = serde_json::from_slice(line);
    let message = line.and_then(|line| serde_json::from_str::<RoleAndContent<'_>>(line.message.get()));
    message.is_ok_and(|message| message.role.0 == role)
}

/// Returns the text of a user message; none for any other entry.
pub(crate) fn user_text(kind: Kind, line: &[u8]) -> Option<String> {
    if kind != Kind::Message {
        return None;
    }
    let line: MessageLine<'_> = serde_json::from_slice(line).ok()?;
    let message: RoleAndContent<'_> = serde_json::from_str(line.message.get()).ok()?;
    (message.role.0 == "user").then(|| message.content.map(text_of).unwrap_or_default())
}

/// Returns the text of a message from an extension.
pub(crate) fn custom_text(line: &[u8]) -> Option<String> {
    serde_json::from_slice::<ContentOf<'_>>(line).ok().map(|entry| text_of(entry.content))
}

/// Returns the text blocks of a content, concatenated as in pi.
fn text_of(content: &RawValue) -> String {
    if let Ok(text) = serde_json::from_str(content.get()) {
        return text;
    }
    let parts = serde_json::from_str::<Vec<Part<'_>>>(content.get()).unwrap_or_default();
    parts.into_iter().filter(|part| part.kind.0 == "text").map(|part| part.text).collect()
}

/// A label on an entry.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LabelEntry {
    pub(crate) target_id: String,
    #[serde(default)]
    pub(crate) label: Option<String>,
    #[serde(default)]
    pub(crate) timestamp: String,
}

/// The time of an entry.
#[derive(Debug, Deserialize)]
pub(crate) struct Dated<'a> {
    #[serde(borrow)]
    pub(crate) timestamp: Text<'a>,
}

/// The place of the parent's id in a line.
#[derive(Debug, Deserialize)]
pub(crate) struct ParentOf<'a> {
    #[serde(borrow, rename = "parentId")]
    pub(crate) parent: &'a RawValue,
}

/// The place of the id of the first kept entry in the line of a compaction.
#[derive(Debug, Deserialize)]
pub(crate) struct FirstKeptOf<'a> {
    #[serde(borrow, rename = "firstKeptEntryId")]
    pub(crate) first_kept: &'a RawValue,
}

/// Returns the message that an entry adds to the context, if any. Unknown roles, such as `system` in newer programs,
/// add none.
pub(crate) fn message(kind: Kind, line: &[u8]) -> Result<Option<Message>, serde_json::Error> {
    match kind {
        Kind::Message => stored_message(serde_json::from_slice::<MessageLine<'_>>(line)?.message.get()),
        Kind::CustomMessage => {
            let entry: CustomEntry = serde_json::from_slice(line)?;
            Ok(Some(Message::Custom(CustomMessage {
                custom_type: entry.custom_type,
                content: entry.content,
                display: entry.display,
                details: entry.details,
                timestamp: clock::milliseconds(&entry.timestamp),
            })))
        }
        Kind::BranchSummary => {
            let entry: BranchSummary = serde_json::from_slice(line)?;
            let timestamp = clock::milliseconds(&entry.timestamp);
            let BranchSummary { from_id, summary, .. } = entry;
            let message = BranchSummaryMessage { summary, from_id, timestamp };
            Ok((!message.summary.is_empty()).then_some(Message::BranchSummary(message)))
        }
        _ => Ok(None),
    }
}

// Decoding by role instead of through a tagged enum avoids buffering the whole message, and tells unknown roles from
// malformed messages.
fn stored_message(json: &str) -> Result<Option<Message>, serde_json::Error> {
    let role = match role_at_start(json) {
        Some(role) => Cow::Borrowed(role),
        None => serde_json::from_str::<RoleAndContent<'_>>(json)?.role.0,
    };
    Ok(Some(match role.as_ref() {
        "user" => Message::User(serde_json::from_str(json)?),
        "assistant" => Message::Assistant(serde_json::from_str(json)?),
        "toolResult" => Message::ToolResult(serde_json::from_str(json)?),
        "bashExecution" => Message::BashExecution(serde_json::from_str(json)?),
        // Version 2 called it `hookMessage`.
        "custom" | "hookMessage" => Message::Custom(serde_json::from_str(json)?),
        "branchSummary" => Message::BranchSummary(serde_json::from_str(json)?),
        "compactionSummary" => Message::CompactionSummary(serde_json::from_str(json)?),
        _ => return Ok(None),
    }))
}

/// Returns the role of a message that starts with it, as known programs write it.
fn role_at_start(json: &str) -> Option<&str> {
    let (role, _) = json.strip_prefix(r#"{"role":""#)?.split_once('"')?;
    role.bytes().all(|byte| byte.is_ascii_alphanumeric()).then_some(role)
}

/// Returns the provider and the model in use according to an entry, if it names them.
pub(crate) fn model(kind: Kind, line: &[u8]) -> Option<(String, String)> {
    match kind {
        Kind::ModelChange => {
            let change: ModelChange = serde_json::from_slice(line).ok()?;
            Some((change.provider, change.model_id))
        }
        Kind::Message => {
            let line: MessageLine<'_> = serde_json::from_slice(line).ok()?;
            let role: Role<'_> = serde_json::from_str(line.message.get()).ok()?;
            let answered = role.role.0 == "assistant" && !role.model.is_empty();
            answered.then_some((role.provider, role.model))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_roles_are_ignored_and_malformed_messages_are_errors() {
        let line = br#"{"message":{"role":"system","content":"","sections":{}}}"#;
        assert_eq!(message(Kind::Message, line).unwrap(), None);
        assert!(message(Kind::Message, br#"{"message":{"role":"user"}}"#).is_err());
    }

    #[test]
    fn the_head_ignores_all_other_fields() {
        let head: Head<'_> =
            serde_json::from_slice(br#"{"type":"x","later":[{"id":1}],"id":"a\u0062","parentId":null}"#)
                .unwrap();
        assert_eq!(
            (head.kind.0.as_ref(), head.id.unwrap().0.as_ref(), head.parent.is_none()),
            ("x", "ab", true)
        );
    }
}
