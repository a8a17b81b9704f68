//! The records that an extension sends to bowline.

use bowline_core::completion::Completion;
use bowline_core::message::Content;
use bowline_core::thinking::ThinkingLevel;
use bowline_core::usage::Usage;
use schemars::JsonSchema;
use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::registration::Registration;
use super::step::Chunk;

/// Returns the type of a record that begins with it, as most do: the line is read once then.
fn leading_type(line: &str) -> Option<&str> {
    let (r#type, _) = line.strip_prefix(r#"{"type":""#)?.split_once('"')?;
    r#type.bytes().all(|byte| byte.is_ascii_lowercase()).then_some(r#type)
}

/// Defines the records with their types in one table: the name of each selects how the rest of a line is read.
macro_rules! records {
    ($($(#[$about:meta])* $record:ident => $name:literal,)*) => {
        /// A record that an extension sends.
        #[derive(Debug)]
        pub enum FromExtension {
            $($record($record),)*
        }

        impl FromExtension {
            /// Reads a line; `None` if its type is unknown, as that of a later version may be.
            pub fn parse(line: &str) -> Result<Option<Self>, serde_json::Error> {
                #[derive(Deserialize)]
                struct Tagged<'line> {
                    #[serde(borrow)]
                    r#type: std::borrow::Cow<'line, str>,
                }
                // A list of values can be read as an object, too.
                if !line.trim_start().starts_with('{') {
                    return Err(serde_json::Error::custom("not a JSON object"));
                }
                let r#type = match leading_type(line) {
                    Some(r#type) => r#type.into(),
                    None => serde_json::from_str::<Tagged<'_>>(line)?.r#type,
                };
                Ok(Some(match &*r#type {
                    $($name => Self::$record(serde_json::from_str(line)?),)*
                    // It is still to be JSON.
                    _ => return serde_json::from_str::<Tagged<'_>>(line).map(|_| None),
                }))
            }
        }

        /// Describes each record: its name, what it is for, and its fields.
        pub(super) fn schemas(
            generator: &mut schemars::SchemaGenerator,
        ) -> Vec<(&'static str, schemars::Schema)> {
            vec![$(($name, $record::json_schema(generator)),)*]
        }
    };
}

records! {
    Registered => "registered",
    Loading => "loading",
    Register => "register",
    Unregister => "unregister",
    CallResult => "result",
    Update => "update",
    ChunkRecord => "chunk",
    Request => "request",
    Notify => "notify",
    Cancel => "cancel",
    ErrorRecord => "error",
    Log => "log",
}

impl FromExtension {
    /// Returns the extension that a record is about, if it names one.
    pub fn extension(&self) -> Option<&str> {
        match self {
            Self::Registered(_) => None,
            Self::Loading(record) => Some(&record.ext),
            Self::Register(record) => record.parts.ext.as_deref(),
            Self::Unregister(record) => record.ext.as_deref(),
            Self::CallResult(record) => record.ext.as_deref(),
            Self::Update(record) => record.ext.as_deref(),
            Self::ChunkRecord(record) => record.ext.as_deref(),
            Self::Request(record) => record.ext.as_deref(),
            Self::Notify(record) => record.ext.as_deref(),
            Self::Cancel(record) => record.ext.as_deref(),
            Self::ErrorRecord(record) => record.ext.as_deref(),
            Self::Log(record) => record.ext.as_deref(),
        }
    }

    /// Tells whether nobody asked for the record, so that only its sender knows when there will be no more of them.
    pub fn is_unasked(&self) -> bool {
        match self {
            Self::Update(_)
            | Self::Notify(_)
            | Self::Register(_)
            | Self::Unregister(_)
            | Self::ErrorRecord(_)
            | Self::Log(_) => true,
            Self::Registered(_)
            | Self::Loading(_)
            | Self::CallResult(_)
            | Self::ChunkRecord(_)
            | Self::Request(_)
            | Self::Cancel(_) => false,
        }
    }
}

/// Returns the id of the call that a line answers, if that can be made out although the line is no valid record.
pub(crate) fn answered_call(line: &str) -> Option<String> {
    #[derive(Default)]
    struct Seen {
        kind: Option<Value>,
        id: Option<Value>,
    }
    struct Members<'seen>(&'seen mut Seen);

    impl<'de> Visitor<'de> for Members<'_> {
        type Value = ();

        fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
            while let Some(name) = members.next_key::<String>()? {
                match &*name {
                    "type" => self.0.kind = Some(members.next_value()?),
                    "id" => self.0.id = Some(members.next_value()?),
                    _ => drop(members.next_value::<IgnoredAny>()?),
                }
            }
            Ok(())
        }
    }

    let mut seen = Seen::default();
    // What comes before a mistake is known.
    let _ = serde_json::Deserializer::from_str(line).deserialize_map(Members(&mut seen));
    match seen.id.filter(|_| seen.kind.is_some_and(|kind| kind == "result"))? {
        Value::String(id) => Some(id),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    }
}

/// The answer to `init` and to `load`: what the extension offers and wants.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Registered {
    /// The version of the protocol that the extension was written for.
    pub protocol: u32,
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub version: Option<String>,
    /// One element, unless the process serves several extensions: then one for each that was loaded.
    #[serde(default)]
    pub extensions: Vec<Registration>,
    /// Why something could not be registered.
    #[serde(default)]
    pub errors: Vec<RegistrationError>,
}

/// Says which extension is being loaded, in a process that serves several. Sent again every few seconds as long as it takes:
/// if the process dies or is silent meanwhile, it is started again without this extension.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Loading {
    pub ext: String,
}

/// Why something could not be registered.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct RegistrationError {
    /// The extension that could not be loaded, if the process serves several.
    #[serde(default)]
    pub ext: Option<String>,
    pub error: String,
}

/// Offers or wants more than before. What has a name that the extension has registered already replaces it.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Register {
    #[serde(flatten)]
    pub parts: Registration,
}

/// Takes back what was registered.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Unregister {
    /// The extension that it is about, if the process serves several.
    #[serde(default)]
    pub ext: Option<String>,
    /// The names of tools.
    #[serde(default)]
    pub tools: Vec<String>,
    /// The names of commands.
    #[serde(default)]
    pub commands: Vec<String>,
    /// The names of hooks.
    #[serde(default)]
    pub hooks: Vec<String>,
    /// The names of providers.
    #[serde(default)]
    pub providers: Vec<String>,
    /// The names of MCP servers.
    #[serde(default, rename = "mcpServers")]
    pub mcp_servers: Vec<String>,
    /// The names of virtual models.
    #[serde(default, rename = "virtualModels")]
    pub virtual_models: Vec<String>,
}

/// The end of what a `hook`, `tool`, `command`, `complete`, `provider` or `route` asked for. With an `error` it failed.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Result")]
pub struct CallResult {
    /// The extension that it is about, if the process serves several.
    #[serde(default)]
    pub ext: Option<String>,
    pub id: String,
    #[serde(default)]
    pub result: Value,
    #[serde(default)]
    pub error: Option<Failure>,
}

/// Why something failed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    pub message: String,
    /// What kind of failure of a provider it is, which decides whether it is retried; found out from the text if absent.
    #[serde(default)]
    #[schemars(extend("enum" = ["auth", "not_found", "rate_limit", "overloaded", "quota", "network", "timeout", "context", "refused"]))]
    pub kind: Option<String>,
    /// How long a provider wants a retry to wait.
    #[serde(default)]
    pub retry_after_ms: Option<u64>,
}

impl Failure {
    /// Returns a failure of no particular kind.
    pub(crate) fn new(message: String) -> Self {
        Self { message, kind: None, retry_after_ms: None }
    }
}

/// The result of a tool.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ToolOutcome {
    /// What the model sees: text, or blocks of text and images.
    pub content: super::hook_result::TextOrBlocks,
    /// Data for the client that the model does not see.
    #[serde(default)]
    pub details: Option<Value>,
    /// The result as data, for programs that call the tool: the model does not see it, and it is not stored.
    #[serde(default, rename = "structuredContent", deserialize_with = "present")]
    pub structured_content: Option<Box<Value>>,
    /// What the tool spent on models of its own, which counts in the statistics of the session.
    #[serde(default)]
    pub usage: Option<Box<Usage>>,
    /// Whether the tool failed. An `error` of the record means the same.
    #[serde(default, rename = "isError")]
    pub is_error: bool,
    /// Ends the run if every call of the answer has it.
    #[serde(default)]
    pub terminate: bool,
}

/// Reads a value that may be `null`, which is not the same as none.
pub(super) fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Box<Value>>, D::Error> {
    Box::deserialize(from).map(Some)
}

/// A completion: an element of the `result` of a `complete` record.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CompletionResult {
    Text(String),
    Described {
        /// What takes the place of the text after the command's name.
        value: String,
        /// What to show instead of the value.
        #[serde(default)]
        label: Option<String>,
        #[serde(default)]
        description: Option<String>,
    },
}

impl From<CompletionResult> for Completion {
    fn from(result: CompletionResult) -> Self {
        match result {
            CompletionResult::Text(value) => Self { value, label: None, description: None },
            CompletionResult::Described { value, label, description } => Self { value, label, description },
        }
    }
}

/// The progress of a tool.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Update {
    /// The extension that it is about, if the process serves several.
    #[serde(default)]
    pub ext: Option<String>,
    /// The id of the `tool` record.
    pub id: String,
    /// The output so far, which replaces that of earlier updates.
    pub partial: PartialOutcome,
}

/// The output of a running tool.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct PartialOutcome {
    #[serde(default)]
    pub content: Vec<Content>,
    #[serde(default)]
    pub details: Option<Value>,
}

/// More of the answer of a provider.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ChunkRecord")]
pub struct ChunkRecord {
    /// The extension that it is about, if the process serves several.
    #[serde(default)]
    pub ext: Option<String>,
    /// The id of the `provider` record.
    pub id: String,
    pub event: Chunk,
}

/// The model that an extension has chosen: the `result` of a `route` record.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RouteResult {
    pub provider: String,
    /// No virtual model.
    pub model_id: String,
    /// One that the model does not have is replaced by the closest.
    #[serde(default)]
    pub thinking_level: ThinkingLevel,
}

/// How an answer of a provider ended: the `result` of a `provider` record with `stream`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StreamEnd {
    #[serde(default)]
    pub stop_reason: StreamStop,
}

/// Why an answer of a provider ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StreamStop {
    #[default]
    Stop,
    /// The output limit was reached.
    Length,
    ToolUse,
}

/// Asks bowline for something. The answer is a `response` with the same id.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Request {
    /// The extension that it is about, if the process serves several.
    #[serde(default)]
    pub ext: Option<String>,
    /// Unique among the requests of the extension.
    pub id: String,
    pub method: String,
    #[serde(default)]
    pub params: Map<String, Value>,
}

/// Tells bowline to do something. There is no answer; a failure is reported as `extension_error` to the client.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Notify {
    /// The extension that it is about, if the process serves several.
    #[serde(default)]
    pub ext: Option<String>,
    pub method: String,
    #[serde(default)]
    pub params: Map<String, Value>,
}

/// Withdraws a `request`, which is answered at once.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Cancel {
    /// The extension that it is about, if the process serves several.
    #[serde(default)]
    pub ext: Option<String>,
    pub id: String,
}

/// Reports an error that belongs to no call.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Error")]
pub struct ErrorRecord {
    /// The extension that it is about, if the process serves several.
    #[serde(default)]
    pub ext: Option<String>,
    pub message: String,
    /// What the extension was doing; `process` if absent.
    #[serde(default, rename = "where")]
    pub place: Option<String>,
    #[serde(default)]
    pub stack: Option<String>,
}

/// A line for bowline's log, which is shown with `--verbose`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Log {
    /// The extension that it is about, if the process serves several.
    #[serde(default)]
    pub ext: Option<String>,
    #[serde(default)]
    pub level: Option<String>,
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_that_an_invalid_line_answers_is_made_out() {
        for (line, expected) in [
            (r#"{"type":"result","id":"3","error":"text"}"#, Some("3")),
            (r#"{"type":"result","id":3,"result":null}"#, Some("3")),
            (r#"{"type":"result","id":"3","result":{"x":NaN}}"#, Some("3")),
            (r#"{"id":"3","result":1e999,"type":"result"}"#, Some("3")),
            (r#"{"result":NaN,"type":"result","id":"3"}"#, None),
            (r#"{"type":"request","id":"3","params":[]}"#, None),
            (r#"["result","3"]"#, None),
            ("nonsense", None),
        ] {
            assert_eq!(answered_call(line).as_deref(), expected, "{line}");
        }
        let deep = format!(r#"{{"type":"result","id":"3","result":{}"#, "[".repeat(100_000));
        assert_eq!(answered_call(&deep).as_deref(), Some("3"));
    }

    #[test]
    fn type_may_be_anywhere_in_a_record() {
        for line in [
            r#"{"type":"result","id":"1"}"#,
            r#"{"id":"1","type":"result"}"#,
            r#"{"type":"resul\u0074","id":"1"}"#,
            r#" { "type" : "result", "id" : "1" }"#,
        ] {
            assert!(matches!(FromExtension::parse(line), Ok(Some(FromExtension::CallResult(_)))), "{line}");
        }
        assert!(matches!(FromExtension::parse(r#"{"type":"later"}"#), Ok(None)));
        for line in [r#"{"type":"result","id":"1""#, r#"{"type":"later""#] {
            assert!(FromExtension::parse(line).is_err(), "{line}");
        }
    }
}
