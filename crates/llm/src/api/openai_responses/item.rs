//! The items of an answer, and the data that is kept to send them back unchanged.
//!
//! Reasoning is kept completely, as JSON, in the signature of the thinking. A message is kept by its id and phase, in
//! the signature of the text, in pi's form. A call has two ids, kept as `call_id|item_id`.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::api::frame::{Few, Text};

/// The relevant fields of an output item.
#[derive(Deserialize)]
pub(super) struct Item<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) call_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) arguments: Option<Text<'a>>,
    #[serde(borrow)]
    phase: Option<Text<'a>>,
    #[serde(borrow)]
    content: Option<Few<Part<'a>>>,
    #[serde(borrow)]
    summary: Option<Few<Part<'a>>>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    refusal: Option<Text<'a>>,
}

/// The data kept of a message.
#[derive(Serialize, Deserialize)]
pub(super) struct MessageMark<'a> {
    v: u8,
    #[serde(borrow)]
    pub(super) id: &'a str,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(super) phase: Option<&'a str>,
}

impl Item<'_> {
    /// Returns the id for a call.
    pub(super) fn joined_id(&self) -> String {
        let call = self.call_id.as_ref().map(|id| &*id.0).unwrap_or_default();
        let item = self.id.as_ref().map(|id| &*id.0).unwrap_or_default();
        match (call, item) {
            (call, "") => call.to_owned(),
            ("", item) => item.to_owned(),
            (call, item) => format!("{call}|{item}"),
        }
    }

    /// Returns the text of the complete item, for servers that do not stream it.
    pub(super) fn whole_text(&self) -> String {
        if let Some(arguments) = &self.arguments {
            return arguments.0.to_string();
        }
        let parts = self.summary.iter().chain(self.content.iter()).flat_map(Few::iter);
        let texts = parts.filter_map(|part| part.text.as_ref().or(part.refusal.as_ref()));
        let separator = if self.kind.0 == "reasoning" { "\n\n" } else { "" };
        texts.map(|text| &*text.0).filter(|text| !text.is_empty()).collect::<Vec<_>>().join(separator)
    }

    /// Returns the data to keep of a finished item.
    pub(super) fn signature(&self, raw: &RawValue) -> Option<String> {
        match &*self.kind.0 {
            "reasoning" => Some(raw.get().to_owned()),
            "message" => {
                let id = self.id.as_ref().map(|id| &*id.0).filter(|id| !id.is_empty())?;
                let phase = self.phase.as_ref().map(|phase| &*phase.0);
                serde_json::to_string(&MessageMark { v: 1, id, phase }).ok()
            }
            _ => None,
        }
    }
}

/// Returns the reasoning item in a signature, if the provider can read it: what it did not store, it knows only from
/// the encrypted content.
pub(super) fn reasoning(signature: &str) -> Option<&RawValue> {
    #[derive(Deserialize)]
    struct Reasoning<'a> {
        #[serde(borrow, rename = "type")]
        kind: Text<'a>,
        #[serde(borrow)]
        encrypted_content: Option<Text<'a>>,
    }
    let item: Reasoning<'_> = serde_json::from_str(signature).ok()?;
    let encrypted = item.encrypted_content.is_some_and(|content| !content.0.is_empty());
    if item.kind.0 != "reasoning" || !encrypted {
        return None;
    }
    serde_json::from_str(signature).ok()
}
