//! What a server returned, as the result of a tool.

use bowline_core::message::Content;
use bowline_tools::{Limited, Outcome, fit_images, image_fits, limit_text};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Map, Value, json};

use crate::limits::{LARGEST_AUDIO, LARGEST_STRUCTURE, MOST_IMAGES, beginning};

/// What a result is made of while its blocks are read.
#[derive(Default)]
pub(crate) struct Parts {
    pub text: String,
    pub images: Vec<Content>,
    audio: Vec<Value>,
    audio_size: usize,
    /// Whether the text is only notes on what else there is.
    has_text: bool,
}

/// Returns a result of a server as the outcome of a call.
pub(crate) async fn outcome(
    result: CallToolResult,
    takes_images: bool,
    details: Map<String, Value>,
) -> Outcome {
    let is_error = result.is_error.unwrap_or(false);
    let mut parts = Parts::default();
    for block in result.content {
        parts.add(block);
    }
    let mut details = details;
    if let Some(structure) = result.structured_content {
        let text = structure.to_string();
        if !parts.has_text && parts.images.is_empty() {
            parts.line(&text);
        }
        if text.len() <= LARGEST_STRUCTURE {
            details.insert("structuredContent".to_owned(), structure);
        }
    }
    if parts.text.is_empty() && parts.images.is_empty() {
        parts.line(if is_error { "(an error without a text)" } else { "(no output)" });
    }
    if !parts.audio.is_empty() {
        details.insert("audio".to_owned(), Value::Array(std::mem::take(&mut parts.audio)));
    }
    let (content, truncation) = parts.content(takes_images).await;
    if let Some(truncation) = truncation {
        details.insert("truncation".to_owned(), truncation);
    }
    if is_error {
        return Outcome { content, ..Outcome::error("") };
    }
    Outcome { content, ..Outcome::text("") }.with_details(Value::Object(details))
}

impl Parts {
    /// Adds a block of content.
    pub fn add(&mut self, block: ContentBlock) {
        match block {
            ContentBlock::Text(text) => {
                self.has_text = true;
                self.line(&text.text);
            }
            ContentBlock::Image(image) => self.image(image.data, image.mime_type),
            ContentBlock::Audio(audio) => {
                self.line(&format!("[audio: {}, {}]", shown(&audio.mime_type), size(&audio.data)));
                self.audio_size += audio.data.len();
                if self.audio_size <= LARGEST_AUDIO {
                    self.audio.push(json!({"mimeType": audio.mime_type, "data": audio.data}));
                }
            }
            ContentBlock::ResourceLink(link) => {
                let mut line = format!("[resource: {}", beginning(&link.uri, 500));
                for part in [
                    link.title.as_ref().or(Some(&link.name)),
                    link.mime_type.as_ref(),
                    link.description.as_ref(),
                ] {
                    if let Some(part) = part.filter(|part| !part.is_empty()) {
                        line.push_str(", ");
                        line.push_str(&beginning(part, 200));
                    }
                }
                self.line(&format!("{line}]"));
            }
            ContentBlock::Resource(resource) => self.resource(resource.resource),
            _ => self.line("[content of a kind that bowline does not know]"),
        }
    }

    /// Adds the content of a resource.
    pub fn resource(&mut self, contents: ResourceContents) {
        match contents {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                self.has_text = true;
                self.line(&format!("[resource: {}]", beginning(&uri, 500)));
                self.line(&text);
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let kind = mime_type.unwrap_or_default();
                self.line(&format!(
                    "[resource: {}, {}, {}]",
                    beginning(&uri, 500),
                    shown(&kind),
                    size(&blob)
                ));
                if kind.starts_with("image/") {
                    self.image(blob, kind);
                }
            }
            _ => self.line("[a resource of a kind that bowline does not know]"),
        }
    }

    fn image(&mut self, data: String, mime_type: String) {
        if self.images.len() < MOST_IMAGES {
            self.images.push(Content::Image { data, mime_type });
        } else {
            self.line("[one more image, which is not shown]");
        }
    }

    /// Adds a text on a line of its own.
    pub fn line(&mut self, text: &str) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }

    /// Returns the content for a model, bounded, and the details of what was cut.
    pub async fn content(self, takes_images: bool) -> (Vec<Content>, Option<Value>) {
        let Self { mut text, mut images, .. } = self;
        if !takes_images && !images.is_empty() {
            let count = images.len();
            images.clear();
            let note = format!("[{count} image(s) are not shown: the model takes no images]");
            text.push_str(if text.is_empty() { "" } else { "\n" });
            text.push_str(&note);
        }
        let Limited { mut text, truncation } = limit_text(&text);
        if images.iter().any(|image| !image_fits(image)) {
            let fitted = tokio::task::spawn_blocking(move || fit_images(text, images)).await;
            (text, images) =
                fitted.unwrap_or_else(|_| ("[the images could not be read]".to_owned(), Vec::new()));
        }
        let mut content = Vec::with_capacity(images.len() + 1);
        if !text.is_empty() {
            content.push(Content::text(text));
        }
        content.extend(images);
        (content, truncation)
    }
}

fn shown(mime_type: &str) -> String {
    if mime_type.is_empty() { "of an unknown type".to_owned() } else { beginning(mime_type, 100) }
}

/// Returns the size of what a base64 text stands for.
fn size(base64: &str) -> String {
    let bytes = base64.trim_end_matches('=').len() * 3 / 4;
    if bytes < 1024 { format!("{bytes} B") } else { format!("{} KB", bytes / 1024) }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn shown(result: Value, takes_images: bool) -> Outcome {
        outcome(serde_json::from_value(result).unwrap(), takes_images, Map::new()).await
    }

    const PIXEL: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

    #[tokio::test]
    async fn every_kind_of_content_is_shown() {
        let result = json!({"content": [
            {"type": "text", "text": "hello"},
            {"type": "image", "mimeType": "image/png", "data": PIXEL},
            {"type": "audio", "mimeType": "audio/wav", "data": "AAAA"},
            {"type": "resource_link", "uri": "demo://a", "name": "A", "mimeType": "text/plain"},
            {"type": "resource", "resource": {"uri": "demo://b", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "demo://c", "blob": "AAAA", "mimeType": "application/zip"}},
        ], "structuredContent": {"n": 1}});
        let outcome = shown(result.clone(), true).await;
        let text = "hello\n[audio: audio/wav, 3 B]\n[resource: demo://a, A, text/plain]\n[resource: demo://b]\ninside\n[resource: demo://c, application/zip, 3 B]";
        let image = Content::Image { data: PIXEL.to_owned(), mime_type: "image/png".to_owned() };
        assert_eq!(outcome.content, [Content::text(text), image]);
        let details = outcome.details.unwrap();
        assert_eq!(details["structuredContent"], json!({"n": 1}));
        assert_eq!(details["audio"][0]["mimeType"], "audio/wav");
        let blind = self::shown(result, false).await;
        assert_eq!(blind.content.len(), 1);
    }

    #[tokio::test]
    async fn structured_content_alone_is_shown_as_json() {
        let outcome = shown(json!({"content": [], "structuredContent": {"n": 1}}), true).await;
        assert_eq!(outcome.content, [Content::text("{\"n\":1}")]);
    }

    #[tokio::test]
    async fn error_is_an_error_and_nothing_is_said_to_be_nothing() {
        let outcome =
            shown(json!({"content": [{"type": "text", "text": "no"}], "isError": true}), true).await;
        assert_eq!((outcome.is_error, outcome.content), (true, vec![Content::text("no")]));
        assert_eq!(shown(json!({"content": []}), true).await, Outcome::text("(no output)"));
    }

    #[tokio::test]
    async fn long_text_is_truncated() {
        let outcome =
            shown(json!({"content": [{"type": "text", "text": "line\n".repeat(100_000)}]}), true).await;
        let [Content::Text { text, .. }] = &outcome.content[..] else { panic!() };
        assert!(text.len() < 60_000 && text.contains("[Truncated"), "{}", text.len());
        assert_eq!(outcome.details.unwrap()["truncation"]["totalLines"], 100_000);
    }
}
