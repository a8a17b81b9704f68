//! Entries of a session and how they are written.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use bowline_core::custom_content::CustomContent;
use bowline_core::{Message, ThinkingLevel, Usage};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::Error;

/// The id of an entry, unique in its session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntryId(Arc<str>);

impl EntryId {
    /// Returns the id as a string.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for EntryId {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for EntryId {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl Borrow<str> for EntryId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The content of an entry.
#[derive(Debug, Clone, PartialEq)]
pub enum EntryBody {
    Message(Arc<Message>),
    ModelChange {
        provider: String,
        model_id: String,
    },
    ThinkingLevelChange {
        level: ThinkingLevel,
    },
    /// The session's name; an empty one clears it.
    SessionInfo {
        name: String,
    },
    /// Removes the target's message from the context, or replaces its content.
    ContextEdit {
        target: EntryId,
        /// The new content; without it the message is removed.
        replacement: Option<Value>,
    },
    /// A summary that replaces earlier entries in the context.
    Compaction {
        summary: String,
        /// The first earlier entry that stays in the context; without it none does.
        first_kept: Option<EntryId>,
        tokens_before: u64,
        details: Option<Value>,
        usage: Option<Usage>,
        /// Whether an extension created the summary.
        from_hook: bool,
    },
    /// A summary of an abandoned branch.
    BranchSummary {
        /// The leaf of that branch; none if it was empty.
        from: Option<EntryId>,
        summary: String,
        details: Option<Value>,
        usage: Option<Usage>,
        from_hook: bool,
    },
    /// Data of an extension, which the model does not see.
    Custom {
        custom_type: String,
        data: Option<Value>,
    },
    /// A message from an extension to the model.
    CustomMessage {
        custom_type: String,
        content: CustomContent,
        display: bool,
        details: Option<Value>,
    },
    /// A label on an entry; without a text the label is removed.
    Label {
        target: EntryId,
        label: Option<String>,
    },
}

/// The kinds of entries, as stored in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Message,
    ModelChange,
    ThinkingLevelChange,
    SessionInfo,
    ContextEdit,
    Compaction,
    BranchSummary,
    Custom,
    CustomMessage,
    Label,
    /// A type from a newer program: part of the tree, but its content is ignored.
    Unknown,
}

impl Kind {
    const NAMES: [(Self, &'static str); 10] = [
        (Self::Message, "message"),
        (Self::ModelChange, "model_change"),
        (Self::ThinkingLevelChange, "thinking_level_change"),
        (Self::SessionInfo, "session_info"),
        (Self::ContextEdit, "context_edit"),
        (Self::Compaction, "compaction"),
        (Self::BranchSummary, "branch_summary"),
        (Self::Custom, "custom"),
        (Self::CustomMessage, "custom_message"),
        (Self::Label, "label"),
    ];

    /// Returns the kind with this name.
    pub(crate) fn from_name(name: &str) -> Self {
        Self::NAMES.iter().find(|(_, known)| *known == name).map_or(Self::Unknown, |(kind, _)| *kind)
    }

    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(known, _)| *known == self).map_or("unknown", |(_, name)| name)
    }
}

impl EntryBody {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Message(_) => Kind::Message,
            Self::ModelChange { .. } => Kind::ModelChange,
            Self::ThinkingLevelChange { .. } => Kind::ThinkingLevelChange,
            Self::SessionInfo { .. } => Kind::SessionInfo,
            Self::ContextEdit { .. } => Kind::ContextEdit,
            Self::Compaction { .. } => Kind::Compaction,
            Self::BranchSummary { .. } => Kind::BranchSummary,
            Self::Custom { .. } => Kind::Custom,
            Self::CustomMessage { .. } => Kind::CustomMessage,
            Self::Label { .. } => Kind::Label,
        }
    }

    /// Returns whether the entry is a reason to create the file. The initial settings are not, so that a session without
    /// messages leaves no file.
    pub(crate) fn is_worth_a_file(&self) -> bool {
        matches!(self, Self::Message(_) | Self::CustomMessage { .. })
    }
}

/// An entry to write.
pub(crate) struct Entry<'a> {
    pub(crate) id: &'a EntryId,
    pub(crate) parent: Option<&'a EntryId>,
    pub(crate) timestamp: &'a str,
    pub(crate) body: &'a EntryBody,
}

impl Entry<'_> {
    /// Returns the line for the file, with its line feed.
    pub(crate) fn line(&self) -> Result<Vec<u8>, Error> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }
}

// Not derived, because the format puts the base fields between the tag and the rest.
impl Serialize for Entry<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", self.body.kind().name())?;
        map.serialize_entry("id", self.id)?;
        map.serialize_entry("parentId", &self.parent)?;
        map.serialize_entry("timestamp", self.timestamp)?;
        match self.body {
            EntryBody::Message(message) => map.serialize_entry("message", message)?,
            EntryBody::ModelChange { provider, model_id } => {
                map.serialize_entry("provider", provider)?;
                map.serialize_entry("modelId", model_id)?;
            }
            EntryBody::ThinkingLevelChange { level } => map.serialize_entry("thinkingLevel", level)?,
            EntryBody::SessionInfo { name } => map.serialize_entry("name", name)?,
            EntryBody::ContextEdit { target, replacement } => {
                map.serialize_entry("targetId", target)?;
                let replacement =
                    replacement.as_ref().map(|content| serde_json::json!({ "content": content }));
                map.serialize_entry("replacement", &replacement)?;
            }
            EntryBody::Compaction { summary, first_kept, tokens_before, details, usage, from_hook } => {
                map.serialize_entry("summary", summary)?;
                map.serialize_entry("firstKeptEntryId", first_kept.as_ref().unwrap_or(self.id))?;
                map.serialize_entry("tokensBefore", tokens_before)?;
                write_if_present(&mut map, "details", details.as_ref())?;
                write_if_present(&mut map, "usage", usage.as_ref())?;
                map.serialize_entry("fromHook", from_hook)?;
            }
            EntryBody::BranchSummary { from, summary, details, usage, from_hook } => {
                map.serialize_entry("fromId", from.as_ref().map_or("root", EntryId::as_str))?;
                map.serialize_entry("summary", summary)?;
                write_if_present(&mut map, "details", details.as_ref())?;
                write_if_present(&mut map, "usage", usage.as_ref())?;
                map.serialize_entry("fromHook", from_hook)?;
            }
            EntryBody::Custom { custom_type, data } => {
                map.serialize_entry("customType", custom_type)?;
                write_if_present(&mut map, "data", data.as_ref())?;
            }
            EntryBody::CustomMessage { custom_type, content, display, details } => {
                map.serialize_entry("customType", custom_type)?;
                map.serialize_entry("content", content)?;
                map.serialize_entry("display", display)?;
                write_if_present(&mut map, "details", details.as_ref())?;
            }
            EntryBody::Label { target, label } => {
                map.serialize_entry("targetId", target)?;
                write_if_present(&mut map, "label", label.as_ref())?;
            }
        }
        map.end()
    }
}

fn write_if_present<M: SerializeMap>(
    map: &mut M,
    key: &str,
    value: Option<&impl Serialize>,
) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| map.serialize_entry(key, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &EntryBody, rest: &str) {
        let entry = Entry { id: &"0a".into(), parent: Some(&"0b".into()), timestamp: "T", body };
        let kind = body.kind().name();
        let expected = format!(r#"{{"type":"{kind}","id":"0a","parentId":"0b","timestamp":"T",{rest}}}"#);
        assert_eq!(String::from_utf8(entry.line().unwrap()).unwrap(), expected + "\n");
        assert_eq!(Kind::from_name(kind), body.kind());
    }

    #[test]
    fn entry_fields_are_written_in_the_order_of_the_format() {
        check(
            &EntryBody::Message(Arc::new(Message::user("hi", Vec::new(), 7))),
            r#""message":{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":7}"#,
        );
        check(
            &EntryBody::ModelChange { provider: "p".into(), model_id: "m".into() },
            r#""provider":"p","modelId":"m""#,
        );
        check(&EntryBody::ThinkingLevelChange { level: ThinkingLevel::High }, r#""thinkingLevel":"high""#);
        check(&EntryBody::SessionInfo { name: "n".into() }, r#""name":"n""#);
        check(
            &EntryBody::ContextEdit { target: "0c".into(), replacement: None },
            r#""targetId":"0c","replacement":null"#,
        );
        check(
            &EntryBody::ContextEdit { target: "0c".into(), replacement: Some("x".into()) },
            r#""targetId":"0c","replacement":{"content":"x"}"#,
        );
        check(&EntryBody::Label { target: "0c".into(), label: None }, r#""targetId":"0c""#);
        check(
            &EntryBody::Custom { custom_type: "t".into(), data: Some(1.into()) },
            r#""customType":"t","data":1"#,
        );
    }

    #[test]
    fn a_compaction_that_keeps_nothing_refers_to_itself() {
        let body = EntryBody::Compaction {
            summary: "s".into(),
            first_kept: None,
            tokens_before: 9,
            details: None,
            usage: None,
            from_hook: false,
        };
        check(&body, r#""summary":"s","firstKeptEntryId":"0a","tokensBefore":9,"fromHook":false"#);
        let body = EntryBody::BranchSummary {
            from: None,
            summary: "s".into(),
            details: None,
            usage: None,
            from_hook: true,
        };
        check(&body, r#""fromId":"root","summary":"s","fromHook":true"#);
    }
}
