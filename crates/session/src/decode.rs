//! The lines of a session file, read back. Only what is asked for is parsed: the rest of a line is skipped.

use std::borrow::Cow;

use bowline_core::message::{
    BranchSummaryMessage, CompactionSummaryMessage, Content, CustomMessage, Message,
};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::clock;
use crate::entry::Kind;

/// A text that borrows from the line unless it has escapes.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// What the index needs of every line.
#[derive(Debug, Deserialize)]
pub(crate) struct Head<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) id: Option<Text<'a>>,
    #[serde(borrow, default, rename = "parentId")]
    pub(crate) parent: Option<Text<'a>>,
}

/// A name of the session.
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

/// A change of the thinking level. The level stays a text: a newer program may know more of them.
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

/// What an edit puts in place of a message's content.
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
    /// The first generation counted lines, the header being line 0.
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
    /// Returns the message that stands for what was compacted.
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
    content: TextOrBlocks,
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
struct Spoken<'a> {
    #[serde(borrow)]
    role: Text<'a>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Noted<'a> {
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

/// Tells whether the message in a line has this role.
pub(crate) fn role_is(line: &[u8], role: &str) -> bool {
    let line: Result<MessageLine<'_>, _> = serde_json::from_slice(line);
    let spoken = line.and_then(|line| serde_json::from_str::<Spoken<'_>>(line.message.get()));
    spoken.is_ok_and(|spoken| spoken.role.0 == role)
}

/// Returns the text of a user's message; of any other entry, nothing.
pub(crate) fn user_text(kind: Kind, line: &[u8]) -> Option<String> {
    if kind != Kind::Message {
        return None;
    }
    let line: MessageLine<'_> = serde_json::from_slice(line).ok()?;
    let spoken: Spoken<'_> = serde_json::from_str(line.message.get()).ok()?;
    (spoken.role.0 == "user").then(|| spoken.content.map(text_of).unwrap_or_default())
}

/// Returns the text of what an extension says to the model.
pub(crate) fn custom_text(line: &[u8]) -> Option<String> {
    serde_json::from_slice::<Noted<'_>>(line).ok().map(|noted| text_of(noted.content))
}

/// Returns the texts in a content, joined without anything between them as pi does.
fn text_of(content: &RawValue) -> String {
    if let Ok(text) = serde_json::from_str(content.get()) {
        return text;
    }
    let parts = serde_json::from_str::<Vec<Part<'_>>>(content.get()).unwrap_or_default();
    parts.into_iter().filter(|part| part.kind.0 == "text").map(|part| part.text).collect()
}

/// A bookmark.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LabelEntry {
    pub(crate) target_id: String,
    #[serde(default)]
    pub(crate) label: Option<String>,
    #[serde(default)]
    pub(crate) timestamp: String,
}

/// When an entry was written.
#[derive(Debug, Deserialize)]
pub(crate) struct Dated<'a> {
    #[serde(borrow)]
    pub(crate) timestamp: Text<'a>,
}

/// Where the id of the parent stands in a line.
#[derive(Debug, Deserialize)]
pub(crate) struct ParentOf<'a> {
    #[serde(borrow, rename = "parentId")]
    pub(crate) parent: &'a RawValue,
}

/// Where the id of the first entry that a compaction keeps stands in its line.
#[derive(Debug, Deserialize)]
pub(crate) struct FirstKeptOf<'a> {
    #[serde(borrow, rename = "firstKeptEntryId")]
    pub(crate) first_kept: &'a RawValue,
}

/// Returns what an entry adds to the context, if it adds anything. Messages of a role that we do not know, such
/// as the `system` of newer programs, add nothing.
pub(crate) fn message(kind: Kind, line: &[u8]) -> Result<Option<Message>, serde_json::Error> {
    match kind {
        Kind::Message => written_message(serde_json::from_slice::<MessageLine<'_>>(line)?.message.get()),
        Kind::CustomMessage => {
            let entry: CustomEntry = serde_json::from_slice(line)?;
            Ok(Some(Message::Custom(CustomMessage {
                custom_type: entry.custom_type,
                content: entry.content.into(),
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

// By role rather than through the tagged enum, which would first copy the whole message into a buffer and could
// not tell an unknown role from a broken message.
fn written_message(json: &str) -> Result<Option<Message>, serde_json::Error> {
    let role: Role<'_> = serde_json::from_str(json)?;
    Ok(Some(match role.role.0.as_ref() {
        "user" => Message::User(serde_json::from_str(json)?),
        "assistant" => Message::Assistant(serde_json::from_str(json)?),
        "toolResult" => Message::ToolResult(serde_json::from_str(json)?),
        "bashExecution" => Message::BashExecution(serde_json::from_str(json)?),
        // The name that the second generation had for it.
        "custom" | "hookMessage" => Message::Custom(serde_json::from_str(json)?),
        "branchSummary" => Message::BranchSummary(serde_json::from_str(json)?),
        "compactionSummary" => Message::CompactionSummary(serde_json::from_str(json)?),
        _ => return Ok(None),
    }))
}

/// Returns the provider and the model that an entry shows to be in use, if it shows any.
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
    fn an_unknown_role_is_no_message_and_a_broken_one_is_an_error() {
        let line = br#"{"message":{"role":"system","content":"","sections":{}}}"#;
        assert_eq!(message(Kind::Message, line).unwrap(), None);
        assert!(message(Kind::Message, br#"{"message":{"role":"user"}}"#).is_err());
    }

    #[test]
    fn a_head_is_read_without_the_rest() {
        let head: Head<'_> =
            serde_json::from_slice(br#"{"type":"x","later":[{"id":1}],"id":"a\u0062","parentId":null}"#)
                .unwrap();
        assert_eq!(
            (head.kind.0.as_ref(), head.id.unwrap().0.as_ref(), head.parent.is_none()),
            ("x", "ab", true)
        );
    }
}
