//! The content of messages that extensions add: clients see it as the extension gave it, text or blocks.

use std::ops::{Deref, DerefMut};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::message::Content;

/// Text, or blocks of text and images. Both are blocks for whoever reads them.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomContent {
    blocks: Vec<Content>,
    /// Whether it is one block of text that is written as a text.
    is_text: bool,
}

impl CustomContent {
    /// Returns a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { blocks: vec![Content::text(text.into())], is_text: true }
    }
}

impl From<Vec<Content>> for CustomContent {
    fn from(blocks: Vec<Content>) -> Self {
        Self { blocks, is_text: false }
    }
}

impl From<CustomContent> for Vec<Content> {
    fn from(content: CustomContent) -> Self {
        content.blocks
    }
}

impl Deref for CustomContent {
    type Target = Vec<Content>;

    fn deref(&self) -> &Self::Target {
        &self.blocks
    }
}

impl DerefMut for CustomContent {
    fn deref_mut(&mut self) -> &mut Self::Target {
        // What is changed need not be one text any longer.
        self.is_text = false;
        &mut self.blocks
    }
}

impl Serialize for CustomContent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &*self.blocks {
            [Content::Text { text, .. }] if self.is_text => serializer.serialize_str(text),
            blocks => blocks.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for CustomContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Text(String),
            Blocks(Vec<Content>),
        }
        Ok(match Either::deserialize(deserializer)? {
            Either::Text(text) => Self::text(text),
            Either::Blocks(blocks) => blocks.into(),
        })
    }
}

impl JsonSchema for CustomContent {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CustomContent".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let blocks = generator.subschema_for::<Vec<Content>>();
        schemars::json_schema!({
            "description": "Text, or blocks of text and images.",
            "anyOf": [{ "type": "string" }, blocks],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_written_as_it_was_given() {
        for json in [
            r#""text""#,
            r#"[{"type":"text","text":"text"}]"#,
            r#"[]"#,
            r#"[{"type":"text","text":"a"},{"type":"image","data":"aGk=","mimeType":"image/png"}]"#,
        ] {
            let content: CustomContent = serde_json::from_str(json).unwrap();
            assert_eq!(serde_json::to_string(&content).unwrap(), json);
        }
    }
}
