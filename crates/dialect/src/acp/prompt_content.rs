//! The content of a prompt, as a message for the model.

use std::path::Path;

use bowline_core::command::Draft;
use bowline_core::message::Content;
use serde_json::Value;

use crate::fields::is_base64;

/// Returns the message that a list of blocks makes, or what is wrong with it.
pub(super) fn draft(blocks: &[Value], folder: &Path) -> Result<Draft, String> {
    let mut texts: Vec<String> = Vec::new();
    let mut contexts: Vec<String> = Vec::new();
    let mut images = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        let text = |name: &str| {
            let value = block.get(name).and_then(Value::as_str);
            value.ok_or_else(|| format!("\"prompt\"[{index}].{name} must be a string"))
        };
        match text("type")? {
            "text" => texts.push(text("text")?.to_owned()),
            "image" => images.push(image(text("data")?, text("mimeType")?, index)?),
            "resource_link" => texts.push(link(text("name")?, text("uri")?, folder)),
            "resource" => match &block["resource"] {
                Value::Object(resource) => embedded(resource, index, &mut contexts, &mut images)?,
                _ => return Err(format!("\"prompt\"[{index}].resource must be an object")),
            },
            other => {
                return Err(format!("\"prompt\"[{index}] is of the type {other}, which is not known here"));
            }
        }
    }
    texts.extend(contexts);
    texts.retain(|text| !text.is_empty());
    if texts.is_empty() && images.is_empty() {
        return Err("\"prompt\" is empty".to_owned());
    }
    Ok(Draft { text: texts.join("\n\n"), images, ..Draft::default() })
}

fn image(data: &str, mime_type: &str, index: usize) -> Result<Content, String> {
    if !mime_type.starts_with("image/") || !is_base64(data) {
        return Err(format!("\"prompt\"[{index}] must be an image in base64 with its media type"));
    }
    Ok(Content::Image { data: data.to_owned(), mime_type: mime_type.to_owned() })
}

/// Returns a link as text: a file by its path, which tools understand.
fn link(name: &str, uri: &str, folder: &Path) -> String {
    let target = match uri.strip_prefix("file://") {
        Some(path) => {
            let path = percent_decoded(path);
            Path::new(&path).strip_prefix(folder).map_or(path.clone(), |path| path.display().to_string())
        }
        None => uri.to_owned(),
    };
    format!("[@{name}]({target})")
}

fn embedded(
    resource: &serde_json::Map<String, Value>,
    index: usize,
    contexts: &mut Vec<String>,
    images: &mut Vec<Content>,
) -> Result<(), String> {
    let member = |name: &str| resource.get(name).and_then(Value::as_str);
    let uri = member("uri").ok_or_else(|| format!("\"prompt\"[{index}].resource.uri must be a string"))?;
    let uri = uri.replace(['"', '<', '>', '\n'], " ");
    match (member("text"), member("blob"), member("mimeType")) {
        (Some(text), ..) => contexts.push(format!("<context ref=\"{uri}\">\n{text}\n</context>")),
        (None, Some(blob), Some(kind)) if kind.starts_with("image/") => {
            images.push(image(blob, kind, index)?);
        }
        (None, Some(_), kind) => {
            let kind = kind.unwrap_or("an unknown type");
            contexts.push(format!("[{uri} is attached, but as {kind} it cannot be shown to a model]"));
        }
        (None, None, _) => {
            return Err(format!("\"prompt\"[{index}].resource needs a \"text\" or a \"blob\""));
        }
    }
    Ok(())
}

/// Returns a path of a URI as it is on disk. What is no escape stays as it is.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped = after.get(..2).filter(|_| *first == b'%');
        let escaped =
            escaped.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
