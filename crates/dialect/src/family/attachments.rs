//! The attachments of a message, which the first pi had: images, which the model sees, and documents, whose text it
//! reads. They are kept on the message as they were sent.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bowline_core::message::Content;
use serde_json::{Value, json};

use crate::fields::{base64_part, is_base64};

/// Text types whose names do not start with `text/`.
const TEXT_TYPES: &[&str] = &[
    "application/json",
    "application/xml",
    "application/javascript",
    "application/yaml",
    "application/x-yaml",
    "application/toml",
    "application/x-sh",
];

/// Describes an attachment.
pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "id": { "type": ["string", "null"], "description": "Returned on the message." },
            "type": { "enum": ["image", "document"] },
            "fileName": { "type": ["string", "null"], "description": "The name of a document." },
            "mimeType": {
                "type": ["string", "null"],
                "description": "The media type, such as `image/png`. For a document, it decides whether the content is text.",
            },
            "preview": { "type": ["string", "null"], "description": "Returned on the message." },
            "size": { "type": ["integer", "null"], "minimum": 0, "description": "Returned on the message." },
            "content": { "type": ["string", "null"], "description": "The image or the document, in base64." },
            "extractedText": { "type": ["string", "null"], "description": "The text of a document; takes precedence over `content`." },
        },
        "required": ["type"],
        "anyOf": [{ "required": ["content"] }, { "required": ["extractedText"] }],
    })
}

/// Returns what is wrong with a list of attachments, if anything.
pub(crate) fn check(attachments: &[Value]) -> Result<(), String> {
    for (index, attachment) in attachments.iter().enumerate() {
        check_one(attachment).map_err(|problem| format!("[{index}]{problem}"))?;
    }
    Ok(())
}

fn check_one(attachment: &Value) -> Result<(), String> {
    for name in ["id", "fileName", "mimeType", "content", "extractedText", "preview"] {
        if attachment.get(name).is_some_and(|value| !value.is_string() && !value.is_null()) {
            return Err(format!(".{name} must be a string"));
        }
    }
    if attachment.get("size").is_some_and(|size| !size.is_u64() && !size.is_null()) {
        return Err(".size must be a number of bytes".to_owned());
    }
    let is_text = |name: &str| attachment.get(name).is_some_and(Value::is_string);
    match text(attachment, "type") {
        "image" if !text(attachment, "mimeType").starts_with("image/") => {
            Err(".mimeType must be an image type such as \"image/png\"".to_owned())
        }
        "image" if !is_base64(text(attachment, "content")) => {
            Err(".content must be the image in base64".to_owned())
        }
        "document" if !is_text("content") && !is_text("extractedText") => {
            Err(" must have its \"content\" in base64 or its \"extractedText\"".to_owned())
        }
        "image" | "document" => Ok(()),
        _ => Err(".type must be \"image\" or \"document\"".to_owned()),
    }
}

/// Returns the content that checked attachments become in the user message, in their order.
pub(crate) fn read(attachments: &[Value]) -> Vec<Content> {
    attachments.iter().map(read_one).collect()
}

/// Returns checked attachments as the message keeps them: without the members that are `null`.
pub(crate) fn kept(mut attachments: Vec<Value>) -> Vec<Value> {
    for members in attachments.iter_mut().filter_map(Value::as_object_mut) {
        members.retain(|_, value| !value.is_null());
    }
    attachments
}

fn read_one(attachment: &Value) -> Content {
    if text(attachment, "type") == "image" {
        return Content::Image {
            data: base64_part(text(attachment, "content")).to_owned(),
            mime_type: text(attachment, "mimeType").to_owned(),
        };
    }
    let name = Some(text(attachment, "fileName")).filter(|name| !name.is_empty()).unwrap_or("unnamed");
    let extracted = attachment.get("extractedText").and_then(Value::as_str).map(ToOwned::to_owned);
    Content::text(match extracted.or_else(|| decoded(attachment)) {
        Some(body) => format!("\n\n[Document: {name}]\n{body}"),
        None => {
            let kind = text(attachment, "mimeType");
            format!("\n\n[Document: {name}]\n(Its content cannot be read as text; its type is \"{kind}\".)")
        }
    })
}

/// Returns the text of a document, if its type and content are text.
fn decoded(attachment: &Value) -> Option<String> {
    let kind = text(attachment, "mimeType").split(';').next().unwrap_or_default().trim();
    let is_text = kind.starts_with("text/") || kind.ends_with("+json") || kind.ends_with("+xml");
    if !is_text && !TEXT_TYPES.contains(&kind) {
        return None;
    }
    let bytes = STANDARD.decode(base64_part(text(attachment, "content"))).ok()?;
    String::from_utf8(bytes).ok()
}

fn text<'value>(attachment: &'value Value, name: &str) -> &'value str {
    attachment.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check_text(attachment: Value, expected: &str) {
        assert_eq!(check(std::slice::from_ref(&attachment)), Ok(()));
        assert_eq!(read(&[attachment]), [Content::text(expected)]);
    }

    #[test]
    fn documents_become_their_extracted_or_decoded_text() {
        check_text(
            json!({ "type": "document", "fileName": "a.pdf", "mimeType": "application/pdf", "content": "JVBERg==", "extractedText": "one" }),
            "\n\n[Document: a.pdf]\none",
        );
        for kind in ["text/plain", "text/markdown; charset=utf-8", "application/json", "image/svg+xml"] {
            check_text(
                json!({ "type": "document", "fileName": "a", "mimeType": kind, "content": "aMOkdHRl" }),
                "\n\n[Document: a]\nhätte",
            );
        }
    }

    #[test]
    fn unreadable_documents_are_named() {
        for content in ["JVBERg==", "no base64!"] {
            check_text(
                json!({ "type": "document", "fileName": "a.pdf", "mimeType": "application/pdf", "content": content }),
                "\n\n[Document: a.pdf]\n(Its content cannot be read as text; its type is \"application/pdf\".)",
            );
        }
    }

    #[test]
    fn images_are_passed_on_unchanged() {
        let image = json!({ "id": "1", "type": "image", "fileName": "a.png", "mimeType": "image/png", "size": 2, "content": "aGk=" });
        assert_eq!(
            read(&[image]),
            [Content::Image { data: "aGk=".to_owned(), mime_type: "image/png".to_owned() }]
        );
    }

    #[test]
    fn invalid_attachments_are_refused() {
        for (attachment, problem) in [
            (json!("a.txt"), "[0].type must be \"image\" or \"document\""),
            (
                json!({ "type": "image", "mimeType": "text/plain", "content": "aGk=" }),
                "[0].mimeType must be an image type such as \"image/png\"",
            ),
            (
                json!({ "type": "image", "mimeType": "image/png", "content": "*" }),
                "[0].content must be the image in base64",
            ),
            (json!({ "type": "document", "content": "aGk=", "id": 7 }), "[0].id must be a string"),
            (
                json!({ "type": "document", "content": "aGk=", "size": "2" }),
                "[0].size must be a number of bytes",
            ),
            (
                json!({ "type": "document" }),
                "[0] must have its \"content\" in base64 or its \"extractedText\"",
            ),
        ] {
            assert_eq!(check(&[attachment]), Err(problem.to_owned()));
        }
    }
}
