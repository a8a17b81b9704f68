//! The fields of a command: what each must be, and taking them out once they have been checked.

use bowline_core::message::Content;
use serde_json::{Map, Value};

use crate::pi_classic::attachments;

/// A field that a command takes.
#[derive(Debug)]
pub(crate) struct Field {
    pub name: &'static str,
    pub kind: Kind,
    pub is_required: bool,
}

/// What a field may hold.
#[derive(Debug)]
pub(crate) enum Kind {
    Text,
    Boolean,
    /// A whole number from 1 on.
    Count,
    OneOf(&'static [&'static str]),
    /// A list of `{"type":"image","data":…,"mimeType":…}`.
    Images,
    /// A list of images and documents as the first generation of pi had them.
    Attachments,
}

impl Field {
    pub const fn required(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, is_required: true }
    }

    pub const fn optional(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, is_required: false }
    }

    /// Says what is wrong with the field, if anything is. A field that may be left out may also be `null`.
    pub fn check(&self, value: Option<&Value>) -> Result<(), String> {
        let value = value.filter(|value| self.is_required || !value.is_null());
        let name = self.name;
        match value {
            None if self.is_required => {
                Err(format!("\"{name}\" is missing; it must be {}", self.kind.describe()))
            }
            None => Ok(()),
            Some(value) => self.kind.check(value).map_err(|problem| format!("\"{name}\" {problem}")),
        }
    }
}

impl Kind {
    fn describe(&self) -> String {
        match self {
            Self::Text => "a string".to_owned(),
            Self::Boolean => "true or false".to_owned(),
            Self::Count => "a whole number from 1 on".to_owned(),
            Self::OneOf(names) => format!("one of {}", quoted(names)),
            Self::Images => "a list of images".to_owned(),
            Self::Attachments => "a list of attachments".to_owned(),
        }
    }

    fn check(&self, value: &Value) -> Result<(), String> {
        let fits = match self {
            Self::Text => value.is_string(),
            Self::Boolean => value.is_boolean(),
            Self::Count => value.as_u64().is_some_and(|count| count > 0),
            Self::OneOf(names) => value.as_str().is_some_and(|text| names.contains(&text)),
            Self::Images => match value.as_array() {
                Some(images) => return images.iter().enumerate().try_for_each(check_image),
                None => false,
            },
            Self::Attachments => match value.as_array() {
                Some(attachments) => return attachments::check(attachments),
                None => false,
            },
        };
        if fits { Ok(()) } else { Err(format!("must be {}, not {}", self.describe(), shorten(value))) }
    }
}

fn check_image((index, image): (usize, &Value)) -> Result<(), String> {
    let text = |name: &str| image.get(name).and_then(Value::as_str).unwrap_or_default();
    if image.get("type").is_some_and(|kind| kind != "image") {
        return Err(format!("[{index}].type must be \"image\""));
    }
    if !text("mimeType").starts_with("image/") {
        return Err(format!("[{index}].mimeType must be an image type such as \"image/png\""));
    }
    if is_base64(text("data")) { Ok(()) } else { Err(format!("[{index}].data must be the image in base64")) }
}

/// Tells whether a text can be the content of an image.
pub(crate) fn is_base64(text: &str) -> bool {
    let data = base64_part(text);
    !data.is_empty()
        && data.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
}

/// Leaves out the head of a `data:` URL, which clients send by mistake.
pub(crate) fn base64_part(data: &str) -> &str {
    match data.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")) {
        Some((_, data)) => data,
        None => data,
    }
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

/// Shows a value in an error text, whatever its size.
fn shorten(value: &Value) -> String {
    const LIMIT: usize = 60;
    let text = match value {
        Value::Array(_) => return "a list".to_owned(),
        Value::Object(_) => return "an object".to_owned(),
        Value::String(text) => format!("\"{}\"", text.chars().take(LIMIT).collect::<String>()),
        other => other.to_string(),
    };
    if text.chars().count() > LIMIT {
        format!("{}…", text.chars().take(LIMIT).collect::<String>())
    } else {
        text
    }
}

/// The fields of a command after they were checked against its table row. Taking out what is not there gives the
/// empty value of its kind.
#[derive(Debug)]
pub(crate) struct Fields(Map<String, Value>);

impl Fields {
    pub fn new(fields: Map<String, Value>) -> Self {
        Self(fields)
    }

    pub fn text(&mut self, name: &str) -> String {
        self.optional_text(name).unwrap_or_default()
    }

    pub fn optional_text(&mut self, name: &str) -> Option<String> {
        match self.0.remove(name) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    pub fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    pub fn count(&self, name: &str) -> Option<usize> {
        self.0.get(name).and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok())
    }

    pub fn list(&mut self, name: &str) -> Vec<Value> {
        match self.0.remove(name) {
            Some(Value::Array(values)) => values,
            _ => Vec::new(),
        }
    }

    pub fn images(&mut self, name: &str) -> Vec<Content> {
        let image = |value: Value| {
            let data = base64_part(value.get("data")?.as_str()?).to_owned();
            let mime_type = value.get("mimeType")?.as_str()?.to_owned();
            Some(Content::Image { data, mime_type })
        };
        self.list(name).into_iter().filter_map(image).collect()
    }
}
