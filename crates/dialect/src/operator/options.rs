//! The options of a prompt: its images and where it came from. Operator-use has more of them, for sound, film and other
//! files, which no model gets to see here; a prompt with them is refused instead of losing them.

use bowline_core::message::Content;
use serde_json::{Map, Value, json};

use crate::fields::{base64_part, check_image, is_base64};

/// How the base64 of each kind of image begins.
const SIGNATURES: &[(&str, &str)] =
    &[("iVBORw0KGgo", "image/png"), ("/9j/", "image/jpeg"), ("R0lGOD", "image/gif"), ("UklGR", "image/webp")];

/// The options of a prompt.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Options {
    pub images: Vec<Content>,
    pub source: Option<String>,
}

/// Describes the options.
pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "images": {
                "type": ["array", "null"],
                "description": "The images of the user message.",
                "items": { "anyOf": [
                    { "type": "string", "description": "The image in base64, or as a `data:` URL." },
                    {
                        "type": "object",
                        "properties": {
                            "data": { "type": "string", "description": "The image in base64, or as a `data:` URL." },
                            "mimeType": { "type": "string", "pattern": "^image/", "description": "The media type, such as `image/png`." },
                        },
                        "required": ["data", "mimeType"],
                    },
                ] },
            },
            "source": {
                "type": ["string", "null"],
                "description": "Where the message comes from, as `input` reports it; `rpc` by default.",
            },
        },
    })
}

/// Returns what is wrong with options, if anything.
pub(crate) fn check(options: &Map<String, Value>) -> Result<(), String> {
    for (name, value) in options {
        let is_empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        match (name.as_str(), value) {
            _ if is_empty => {}
            ("source", Value::String(_)) => {}
            ("source", _) => return Err(".source must be a string".to_owned()),
            ("images", Value::Array(images)) => images.iter().enumerate().try_for_each(check_one)?,
            ("images", _) => return Err(".images must be a list of images".to_owned()),
            ("audio" | "video" | "file", _) => {
                return Err(format!(".{name} is not supported; there are images and source"));
            }
            // Unknown options are ignored like unknown fields.
            _ => {}
        }
    }
    Ok(())
}

fn check_one((index, image): (usize, &Value)) -> Result<(), String> {
    match image {
        Value::String(text) if is_base64(text) && mime_type(text).is_some() => Ok(()),
        Value::String(_) => Err(format!(
            ".images[{index}] must be a PNG, JPEG, GIF or WebP image in base64, or a data: URL of an image"
        )),
        image => check_image((index, image)).map_err(|problem| format!(".images{problem}")),
    }
}

/// Returns options that have been checked.
pub(crate) fn read(mut options: Map<String, Value>) -> Options {
    let images = match options.remove("images") {
        Some(Value::Array(images)) => images.iter().filter_map(read_one).collect(),
        _ => Vec::new(),
    };
    let source = match options.remove("source") {
        Some(Value::String(source)) => Some(source),
        _ => None,
    };
    Options { images, source }
}

fn read_one(image: &Value) -> Option<Content> {
    let (data, mime_type) = match image {
        Value::String(text) => (text.as_str(), mime_type(text)?),
        image => (image.get("data")?.as_str()?, image.get("mimeType")?.as_str()?),
    };
    Some(Content::Image { data: base64_part(data).to_owned(), mime_type: mime_type.to_owned() })
}

/// Returns the media type of an image: that of a `data:` URL, or what its first bytes show.
fn mime_type(image: &str) -> Option<&str> {
    if let Some((kind, _)) = image.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")) {
        return Some(kind).filter(|kind| kind.starts_with("image/"));
    }
    SIGNATURES.iter().find(|(start, _)| image.starts_with(start)).map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(members) => members,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn images_are_taken_as_base64_as_urls_and_as_objects() {
        let options = object(json!({ "source": "cron", "images": [
            "iVBORw0KGgoAAAA", "data:image/webp;base64,UklGRg==", { "data": "R0lGODlh", "mimeType": "image/gif" },
        ] }));
        assert_eq!(check(&options), Ok(()));
        let image =
            |data: &str, mime_type: &str| Content::Image { data: data.into(), mime_type: mime_type.into() };
        assert_eq!(
            read(options),
            Options {
                images: vec![
                    image("iVBORw0KGgoAAAA", "image/png"),
                    image("UklGRg==", "image/webp"),
                    image("R0lGODlh", "image/gif"),
                ],
                source: Some("cron".to_owned()),
            }
        );
    }

    #[test]
    fn options_that_would_be_lost_are_refused() {
        for (options, problem) in [
            (json!({ "audio": ["aGk="] }), ".audio is not supported; there are images and source"),
            (json!({ "source": 7 }), ".source must be a string"),
            (json!({ "images": "x" }), ".images must be a list of images"),
            (
                json!({ "images": ["https://example.org/a.png"] }),
                ".images[0] must be a PNG, JPEG, GIF or WebP image in base64, or a data: URL of an image",
            ),
            (
                json!({ "images": [{ "data": "aGk=" }] }),
                ".images[0].mimeType must be an image type such as \"image/png\"",
            ),
        ] {
            assert_eq!(check(&object(options)), Err(problem.to_owned()));
        }
        assert_eq!(check(&object(json!({ "audio": [], "meta": 1, "images": null }))), Ok(()));
    }
}
