//! The fields of a command: what each must hold, and reading them once they have been checked.

use std::fmt::Display;

use bowline_core::message::Content;
use bowline_core::thinking::ThinkingLevel;
use bowline_core::todo::TodoPhase;
use serde_json::{Map, Value, json};

use crate::family::{attachments, file_changes, limits, todo_phases};
use crate::operator::options;

/// A field of a command.
#[derive(Debug, PartialEq)]
pub(crate) struct Field {
    pub name: &'static str,
    pub kind: Kind,
    /// What it is for, as the reference describes it.
    pub about: &'static str,
    pub is_required: bool,
    /// Another name that is accepted for this one.
    pub alias: Option<&'static str>,
    /// Whether the response repeats it.
    pub is_echoed: bool,
    /// The field that it cannot be given beside.
    pub excludes: Option<&'static str>,
    /// The field that it cannot be given without.
    pub needs: Option<&'static str>,
}

/// What a field may hold.
#[derive(Debug, PartialEq)]
pub(crate) enum Kind {
    Text,
    /// A text. Whatever else is sent counts as none.
    AnyText,
    /// A text that is not empty.
    FilledText,
    Boolean,
    TextOrBoolean,
    /// A list of texts.
    Texts,
    /// A list of objects, each of which fits a schema. The engine checks what they hold.
    Objects(ItemSchema),
    /// The output of a tool: `{"content":[…],"details":…}`.
    ToolOutput,
    /// An integer of at least 1.
    Count,
    OneOf(&'static [&'static str]),
    /// One of these numbers.
    OneNumberOf(&'static [u64]),
    /// An integer of at least 1 and at most this.
    CountTo(u64),
    /// An integer of at least 0 and at most this.
    NumberTo(u32),
    /// Any number.
    Number,
    /// An integer of at least 0.
    Whole,
    /// Any value.
    AnyValue,
    /// The name of one of these thinking levels.
    Level(&'static [ThinkingLevel]),
    /// A list of `{"type":"image","data":…,"mimeType":…}`.
    Images,
    /// A list of images and documents as in the first generation of pi.
    Attachments,
    /// The options of a prompt as in operator-use.
    PromptOptions,
    /// A list of phases with tasks.
    TodoPhases,
    /// An object with limits on what is spent.
    Limits,
    /// A run, a turn or an entry to go back to.
    UndoPoint,
    /// A JSON Schema. The engine checks what it holds.
    JsonSchema,
}

/// Describes the items of a list.
#[derive(Debug)]
pub(crate) struct ItemSchema(pub fn() -> Value);

impl PartialEq for ItemSchema {
    fn eq(&self, other: &Self) -> bool {
        (self.0)() == (other.0)()
    }
}

impl Field {
    pub const fn required(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self {
            name,
            kind,
            about,
            is_required: true,
            alias: None,
            is_echoed: false,
            excludes: None,
            needs: None,
        }
    }

    pub const fn optional(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self {
            name,
            kind,
            about,
            is_required: false,
            alias: None,
            is_echoed: false,
            excludes: None,
            needs: None,
        }
    }

    /// Accepts another name for this one too.
    pub const fn or(self, alias: &'static str) -> Self {
        Self { alias: Some(alias), ..self }
    }

    /// Makes the response repeat it.
    pub const fn echoed(self) -> Self {
        Self { is_echoed: true, ..self }
    }

    /// Refuses it beside another field.
    pub const fn not_with(self, other: &'static str) -> Self {
        Self { excludes: Some(other), ..self }
    }

    /// Refuses it without another field.
    pub const fn only_with(self, other: &'static str) -> Self {
        Self { needs: Some(other), ..self }
    }

    /// Describes the field.
    pub fn schema(&self) -> Value {
        let mut schema = self.kind.schema();
        if !self.is_required {
            allow_null(&mut schema);
        }
        schema["description"] = self.about.into();
        schema
    }

    /// Returns what is wrong with the field, if anything. An optional field may also be `null`.
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
    fn schema(&self) -> Value {
        match self {
            Self::Text => json!({ "type": "string" }),
            Self::AnyText => json!({ "type": "string" }),
            Self::FilledText => json!({ "type": "string", "minLength": 1 }),
            Self::Boolean => json!({ "type": "boolean" }),
            Self::TextOrBoolean => json!({ "type": ["string", "boolean"] }),
            Self::Texts => json!({ "type": "array", "items": { "type": "string" } }),
            Self::Objects(item) => json!({ "type": "array", "items": (item.0)() }),
            Self::ToolOutput => json!({
                "type": "object",
                "properties": {
                    "content": { "type": "array", "description": "The output for the model.", "items": {
                        "type": "object",
                        "properties": {
                            "type": { "enum": ["text", "image"] },
                            "text": { "type": "string", "description": "Of a text." },
                            "data": { "type": "string", "description": "Of an image: it, in base64." },
                            "mimeType": { "type": "string", "description": "Of an image: the media type, such as `image/png`." },
                        },
                        "required": ["type"],
                    } },
                    "details": { "description": "Details for clients that the model does not see." },
                },
                "required": ["content"],
            }),
            Self::Count => json!({ "type": "integer", "minimum": 1 }),
            Self::OneOf(names) => json!({ "enum": names }),
            Self::OneNumberOf(numbers) => json!({ "enum": numbers }),
            Self::CountTo(most) => json!({ "type": "integer", "minimum": 1, "maximum": most }),
            Self::NumberTo(most) => json!({ "type": "integer", "minimum": 0, "maximum": most }),
            Self::Number => json!({ "type": "number" }),
            Self::Whole => json!({ "type": "integer", "minimum": 0 }),
            Self::AnyValue => json!({}),
            Self::Level(levels) => json!({ "enum": levels }),
            Self::Images => json!({ "type": "array", "items": {
                "type": "object",
                "properties": {
                    "type": { "const": "image" },
                    "data": { "type": "string", "description": "The image in base64, or as a `data:` URL." },
                    "mimeType": { "type": "string", "pattern": "^image/", "description": "The media type, such as `image/png`." },
                },
                "required": ["data", "mimeType"],
            } }),
            Self::Attachments => json!({ "type": "array", "items": attachments::schema() }),
            Self::PromptOptions => options::schema(),
            Self::TodoPhases => todo_phases::schema(),
            Self::Limits => limits::schema(),
            Self::UndoPoint => file_changes::point_schema(),
            Self::JsonSchema => json!({ "type": "object" }),
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Text => "a string".to_owned(),
            Self::AnyText => "a string".to_owned(),
            Self::FilledText => "a string that is not empty".to_owned(),
            Self::Boolean => "true or false".to_owned(),
            Self::TextOrBoolean => "a string, true or false".to_owned(),
            Self::Texts => "a list of strings".to_owned(),
            Self::Objects(_) => "a list of objects".to_owned(),
            Self::ToolOutput => "an object with a list of content".to_owned(),
            Self::Count => "an integer of at least 1".to_owned(),
            Self::OneOf(names) => format!("one of {}", quoted(names.iter())),
            Self::OneNumberOf(numbers) => numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" or "),
            Self::CountTo(most) => format!("an integer from 1 to {most}"),
            Self::NumberTo(most) => format!("an integer from 0 to {most}"),
            Self::Number => "a number".to_owned(),
            Self::Whole => "an integer of at least 0".to_owned(),
            Self::AnyValue => "a value".to_owned(),
            Self::Level(levels) => format!("one of {}", quoted(levels.iter())),
            Self::Images => "a list of images".to_owned(),
            Self::Attachments => "a list of attachments".to_owned(),
            Self::PromptOptions => "an object".to_owned(),
            Self::TodoPhases => "a list of phases".to_owned(),
            Self::Limits => "an object".to_owned(),
            Self::UndoPoint => "an object with a run or an entry".to_owned(),
            Self::JsonSchema => "a JSON Schema as an object".to_owned(),
        }
    }

    fn check(&self, value: &Value) -> Result<(), String> {
        let fits = match self {
            Self::Text => value.is_string(),
            Self::AnyText => true,
            Self::FilledText => value.as_str().is_some_and(|text| !text.is_empty()),
            Self::Boolean => value.is_boolean(),
            Self::TextOrBoolean => value.is_string() || value.is_boolean(),
            Self::Texts => value.as_array().is_some_and(|texts| texts.iter().all(Value::is_string)),
            Self::Objects(_) => value.as_array().is_some_and(|objects| objects.iter().all(Value::is_object)),
            Self::ToolOutput => value.get("content").is_some_and(Value::is_array),
            Self::Count => value.as_u64().is_some_and(|count| count > 0),
            Self::OneNumberOf(numbers) => value.as_u64().is_some_and(|number| numbers.contains(&number)),
            Self::CountTo(most) => value.as_u64().is_some_and(|count| (1..=*most).contains(&count)),
            Self::NumberTo(most) => value.as_u64().is_some_and(|number| number <= u64::from(*most)),
            Self::Number => value.is_number(),
            Self::Whole => value.is_u64(),
            Self::AnyValue => true,
            Self::JsonSchema => value.is_object(),
            Self::OneOf(names) => value.as_str().is_some_and(|text| names.contains(&text)),
            Self::Level(levels) => {
                let level = value.as_str().and_then(ThinkingLevel::parse);
                level.is_some_and(|level| levels.contains(&level))
            }
            Self::Images => match value.as_array() {
                Some(images) => return images.iter().enumerate().try_for_each(check_image),
                None => false,
            },
            Self::Attachments => match value.as_array() {
                Some(attachments) => return attachments::check(attachments),
                None => false,
            },
            Self::TodoPhases => match value.as_array() {
                Some(phases) => return todo_phases::check(phases),
                None => false,
            },
            Self::Limits => match value.as_object() {
                Some(limits) => return limits::check(limits),
                None => false,
            },
            Self::UndoPoint => match value.as_object() {
                Some(point) => return file_changes::check_point(point),
                None => false,
            },
            Self::PromptOptions => match value.as_object() {
                Some(options) => return options::check(options),
                None => false,
            },
        };
        if fits { Ok(()) } else { Err(format!("must be {}, not {}", self.describe(), shorten(value))) }
    }
}

/// Allows `null` too, as for every optional field.
fn allow_null(schema: &mut Value) {
    match schema.get_mut("type") {
        Some(Value::Array(kinds)) => kinds.push(json!("null")),
        Some(kind) => *kind = json!([kind, "null"]),
        None => {}
    }
    if let Some(names) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        names.push(Value::Null);
    }
}

/// Returns what is wrong with an image, if anything.
pub(crate) fn check_image((index, image): (usize, &Value)) -> Result<(), String> {
    let text = |name: &str| image.get(name).and_then(Value::as_str).unwrap_or_default();
    if image.get("type").is_some_and(|kind| kind != "image") {
        return Err(format!("[{index}].type must be \"image\""));
    }
    if !text("mimeType").starts_with("image/") {
        return Err(format!("[{index}].mimeType must be an image type such as \"image/png\""));
    }
    if is_base64(text("data")) { Ok(()) } else { Err(format!("[{index}].data must be the image in base64")) }
}

/// Returns whether a text can be the content of an image.
pub(crate) fn is_base64(text: &str) -> bool {
    let data = base64_part(text);
    !data.is_empty()
        && data.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
}

/// Returns the data of a `data:` URL, which some clients send instead of the data alone.
pub(crate) fn base64_part(data: &str) -> &str {
    match data.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")) {
        Some((_, data)) => data,
        None => data,
    }
}

fn quoted(names: impl Iterator<Item: Display>) -> String {
    names.map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

/// Returns a value as an error text shows it: short, whatever its size.
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

/// The fields of a command after they were checked against its row. Reading an absent field returns the empty value of
/// its kind.
#[derive(Debug, PartialEq)]
pub(crate) struct Fields(Map<String, Value>);

impl Fields {
    pub fn new(fields: Map<String, Value>) -> Self {
        Self(fields)
    }

    /// Returns a text without taking it.
    pub fn peek(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// Takes all of them.
    pub fn take(&mut self) -> Self {
        Self(std::mem::take(&mut self.0))
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

    pub fn level(&mut self, name: &str) -> ThinkingLevel {
        self.optional_text(name).as_deref().and_then(ThinkingLevel::parse).unwrap_or_default()
    }

    /// Returns a yes or no that may be absent.
    pub fn optional_flag(&self, name: &str) -> Option<bool> {
        self.0.get(name).and_then(Value::as_bool)
    }

    pub fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    pub fn count(&self, name: &str) -> Option<usize> {
        self.0.get(name).and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok())
    }

    /// Returns a place in a file. Fractions are dropped, and what is before the start is the start.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the conversion saturates, which is what is wanted"
    )]
    pub fn offset(&self, name: &str) -> u64 {
        let value = self.0.get(name);
        value.and_then(|value| value.as_u64().or_else(|| Some(value.as_f64()? as u64))).unwrap_or_default()
    }

    /// Returns a list that may be absent.
    pub fn optional_list(&mut self, name: &str) -> Option<Vec<Value>> {
        match self.0.remove(name) {
            Some(Value::Array(list)) => Some(list),
            _ => None,
        }
    }

    pub fn list(&mut self, name: &str) -> Vec<Value> {
        match self.0.remove(name) {
            Some(Value::Array(values)) => values,
            _ => Vec::new(),
        }
    }

    /// Returns a value of any kind; `null` if it is absent.
    pub fn value(&mut self, name: &str) -> Value {
        self.0.remove(name).unwrap_or_default()
    }

    /// Returns an object that may be absent.
    pub fn optional_object(&mut self, name: &str) -> Option<Map<String, Value>> {
        match self.0.remove(name) {
            Some(Value::Object(members)) => Some(members),
            _ => None,
        }
    }

    /// Returns a small number that may be absent.
    pub fn number(&self, name: &str) -> Option<u32> {
        self.0.get(name).and_then(Value::as_u64).and_then(|number| u32::try_from(number).ok())
    }

    pub fn object(&mut self, name: &str) -> Map<String, Value> {
        match self.0.remove(name) {
            Some(Value::Object(members)) => members,
            _ => Map::new(),
        }
    }

    pub fn todo_phases(&mut self, name: &str) -> Vec<TodoPhase> {
        self.list(name).into_iter().filter_map(|phase| serde_json::from_value(phase).ok()).collect()
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
