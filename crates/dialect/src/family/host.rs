//! The client's own tools and addresses, as in `omp`; `pi` has the same.

use bowline_core::SessionTag;
use bowline_core::command::Command;
use bowline_core::event::{Event, ToolReport};
use bowline_core::host::{
    HostCall, HostCallId, HostProgress, HostReport, HostTool, HostWork, UriResult, UriScheme,
};
use bowline_core::message::{Arguments, Content};
use bowline_wire::Record;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::user_interface::{self, Style};
use crate::Incoming;
use crate::answer_table::AnswerRow;
use crate::command_table::Action::Engine;
use crate::command_table::Row;
use crate::decode::ClientAnswer;
use crate::fields::Kind::{Boolean, Objects, Text, Texts, ToolOutput};
use crate::fields::{Field, ItemSchema, base64_part, is_base64};
use crate::json;
use crate::schema::schema_of;

/// How many calls are remembered. The engine bounds how many are open, and tells when one is not; this holds even if it
/// failed to.
const MOST: usize = 10_000;

/// How many blocks the output of a tool has at most.
const MOST_BLOCKS: usize = 1_000;

pub(crate) const SET_HOST_TOOLS: Row = Row {
    name: "set_host_tools",
    about: "Replaces the tools that the client supplies. The model can call them from its next turn on, in this session and \
            in those that follow it. Each call is a `host_tool_call`.",
    fields: &[Field::required(
        "tools",
        Objects(ItemSchema(host_tools_schema)),
        "The tools; none removes all.",
    )],
    result: Some(schema_of::<HostToolNames<'_>>()),
    action: Engine(|mut fields| Command::SetHostTools {
        tools: fields.list("tools").iter().map(host_tool).collect(),
    }),
};

pub(crate) const SET_HOST_URI_SCHEMES: Row = Row {
    name: "set_host_uri_schemes",
    about: "Replaces the schemes of the addresses that the client serves. When the model reads or writes `scheme://…`, the \
            client is sent a `host_uri_request`.",
    fields: &[Field::required(
        "schemes",
        Objects(ItemSchema(schemes_schema)),
        "The schemes; none removes all.",
    )],
    result: Some(schema_of::<UriSchemes<'_>>()),
    action: Engine(|mut fields| Command::SetUriSchemes {
        schemes: fields.list("schemes").iter().map(uri_scheme).collect(),
    }),
};

/// The tools of the client.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HostToolNames<'reply> {
    /// The names of the tools.
    pub tool_names: &'reply [String],
}

/// The schemes that the client serves.
#[derive(Serialize, JsonSchema)]
pub(crate) struct UriSchemes<'reply> {
    /// The schemes, in lower case.
    pub schemes: &'reply [String],
}

const TOOL_RESULT: AnswerRow = AnswerRow {
    name: "host_tool_result",
    about: "Ends a call of one of the client's tools. One for a call that is unknown or over is ignored.",
    fields: &[
        Field::required("id", Text, "The id of the `host_tool_call`."),
        Field::required("result", ToolOutput, "The output of the tool."),
        Field::optional("isError", Boolean, "Whether the call failed."),
    ],
};

const TOOL_UPDATE: AnswerRow = AnswerRow {
    name: "host_tool_update",
    about: "Reports the output of a running tool so far. It replaces that of earlier updates, and the time limit of the call \
            starts again.",
    fields: &[
        Field::required("id", Text, "The id of the `host_tool_call`."),
        Field::required("partialResult", ToolOutput, "The output so far."),
    ],
};

const URI_RESULT: AnswerRow = AnswerRow {
    name: "host_uri_result",
    about: "Answers a `host_uri_request`. One for a request that is unknown or over is ignored.",
    fields: &[
        Field::required("id", Text, "The id of the `host_uri_request`."),
        Field::optional("content", Text, "What was read, or how writing went."),
        Field::optional("notes", Texts, "Remarks for the model."),
        Field::optional("isError", Boolean, "Whether the request failed."),
        Field::optional("error", Text, "Why it failed."),
    ],
};

/// The lines by which clients answer what they are asked to do.
pub(crate) const ANSWERS: &[AnswerRow] = &[user_interface::RESPONSE, TOOL_RESULT, TOOL_UPDATE, URI_RESULT];

/// What the client is to do, or to stop.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub(crate) enum HostRecord<'event> {
    /// The model calls one of the client's tools. The client answers with `host_tool_result`.
    #[serde(rename = "host_tool_call")]
    ToolCall {
        id: String,
        /// The id of the call in the model response.
        tool_call_id: &'event str,
        tool_name: &'event str,
        arguments: &'event Arguments,
    },
    /// A call of one of the client's tools is to stop: it was aborted, or its time is up. No answer is expected.
    #[serde(rename = "host_tool_cancel")]
    ToolCancel {
        id: String,
        /// The id of the `host_tool_call`.
        target_id: String,
    },
    /// The model reads or writes one of the client's addresses. The client answers with `host_uri_result`.
    #[serde(rename = "host_uri_request")]
    UriRequest {
        id: String,
        #[schemars(extend("enum" = ["read", "write"]))]
        operation: &'static str,
        url: &'event str,
        /// What to write; absent for `read`.
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<&'event str>,
    },
    /// A request for one of the client's addresses is to stop: it was aborted, or its time is up. No answer is expected.
    #[serde(rename = "host_uri_cancel")]
    UriCancel {
        id: String,
        /// The id of the `host_uri_request`.
        target_id: String,
    },
}

/// Encodes what the client is to do, and decodes its reports.
#[derive(Debug)]
pub(crate) struct HostCalls {
    style: Style,
    open: Vec<Open>,
}

/// A call that is not over.
#[derive(Debug)]
struct Open {
    call: HostCallId,
    /// The id on the wire.
    id: String,
    subject: Subject,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    Tool,
    Address,
}

impl HostCalls {
    pub fn new(style: Style) -> Self {
        Self { style, open: Vec::new() }
    }

    /// Encodes an event that is about a call of the client, if it has a record.
    pub fn encode(&mut self, event: &Event) -> Option<Record> {
        let record = match event {
            Event::HostCall(call) => self.start(call),
            Event::HostCallOver { id, cancel } => {
                let index = self.open.iter().position(|open| open.call == *id)?;
                let open = self.open.remove(index);
                let (id, target_id) = (self.style.id((*cancel)?), open.id);
                match open.subject {
                    Subject::Tool => HostRecord::ToolCancel { id, target_id },
                    Subject::Address => HostRecord::UriCancel { id, target_id },
                }
            }
            _ => return None,
        };
        Some(Record::Plain(json::to_line(&record)))
    }

    fn start<'event>(&mut self, call: &'event HostCall) -> HostRecord<'event> {
        let id = self.style.id(call.token);
        let (subject, record) = match &call.work {
            HostWork::Tool { call_id, tool, arguments } => {
                let (id, tool_call_id, tool_name) = (id.clone(), call_id, tool);
                (Subject::Tool, HostRecord::ToolCall { id, tool_call_id, tool_name, arguments })
            }
            // No client of this family offers to read and write files.
            HostWork::ReadFile { path } => {
                let (id, operation, url, content) =
                    (id.clone(), "read", path.to_str().unwrap_or_default(), None);
                (Subject::Address, HostRecord::UriRequest { id, operation, url, content })
            }
            HostWork::WriteFile { path, content } => {
                let (id, operation, url, content) =
                    (id.clone(), "write", path.to_str().unwrap_or_default(), Some(&**content));
                (Subject::Address, HostRecord::UriRequest { id, operation, url, content })
            }
            HostWork::Read { url } => {
                let (id, operation, content) = (id.clone(), "read", None);
                (Subject::Address, HostRecord::UriRequest { id, operation, url, content })
            }
            HostWork::Write { url, content } => {
                let (id, operation, content) = (id.clone(), "write", Some(&**content));
                (Subject::Address, HostRecord::UriRequest { id, operation, url, content })
            }
        };
        if self.open.len() >= MOST {
            self.open.remove(0);
        }
        self.open.push(Open { call: call.id, id, subject });
        record
    }

    /// Returns a client's report for the session, if it is about an open call.
    pub fn decode(&self, answer: &ClientAnswer) -> Option<Incoming> {
        let name = answer.row?.name;
        let mut line: Map<String, Value> = serde_json::from_str(&answer.line).ok()?;
        let id = line.get("id")?.as_str()?;
        let open = self.open.iter().find(|open| open.id == id)?;
        let progress = match (open.subject, name) {
            (Subject::Tool, "host_tool_update") => match output(line.remove("partialResult")) {
                Ok(report) => HostProgress::Update(report),
                // An update costs nothing if it is lost; the result counts.
                Err(_) => return None,
            },
            (Subject::Tool, "host_tool_result") => match output(line.remove("result")) {
                Ok(result) => HostProgress::Done { result, is_error: flag(&line, "isError") },
                Err(problem) => HostProgress::Invalid(format!("\"result\" {problem}")),
            },
            (Subject::Address, "host_uri_result") => HostProgress::Resolved(uri_result(line)),
            _ => return None,
        };
        let report = HostReport { id: open.call, progress };
        Some(Incoming::HostReport { session: SessionTag::FIRST, report: Box::new(report) })
    }
}

fn flag(line: &Map<String, Value>, name: &str) -> bool {
    line.get(name).and_then(Value::as_bool).unwrap_or_default()
}

fn text(object: &Value, name: &str) -> String {
    object.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn host_tool(tool: &Value) -> HostTool {
    HostTool {
        name: text(tool, "name").trim().to_owned(),
        description: text(tool, "description").trim().to_owned(),
        parameters: tool.get("parameters").cloned().unwrap_or_default(),
        is_hidden: tool.get("hidden").and_then(Value::as_bool).unwrap_or_default(),
    }
}

fn uri_scheme(scheme: &Value) -> UriScheme {
    let description = text(scheme, "description").trim().to_owned();
    UriScheme {
        name: text(scheme, "scheme").trim().to_owned(),
        description: Some(description).filter(|description| !description.is_empty()),
        is_writable: scheme.get("writable").and_then(Value::as_bool).unwrap_or_default(),
    }
}

/// Returns what the result of a request for an address says.
fn uri_result(mut line: Map<String, Value>) -> UriResult {
    let is_error = flag(&line, "isError");
    let mut text = |name: &str| match line.remove(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    let (content, error) = (text("content"), text("error"));
    let notes = match line.remove("notes") {
        Some(Value::Array(notes)) => notes,
        _ => Vec::new(),
    };
    let notes = notes.into_iter().filter_map(|note| match note {
        Value::String(note) => Some(note),
        _ => None,
    });
    UriResult { content, notes: notes.take(MOST_BLOCKS).collect(), is_error, error }
}

/// Returns the output of a tool, or what is wrong with it.
fn output(value: Option<Value>) -> Result<ToolReport, String> {
    let Some(Value::Object(mut output)) = value else {
        return Err("must be an object with a list of \"content\"".to_owned());
    };
    let Some(Value::Array(blocks)) = output.remove("content") else {
        return Err("has no list of \"content\"".to_owned());
    };
    if blocks.len() > MOST_BLOCKS {
        return Err(format!("has more than {MOST_BLOCKS} blocks of \"content\""));
    }
    let content = blocks.iter().enumerate().map(|(index, block)| {
        block_of(block)
            .map_err(|problem| format!("has a block of \"content\" at index {index} that {problem}"))
    });
    let details = output.remove("details").filter(|details| !details.is_null());
    Ok(ToolReport { content: content.collect::<Result<_, _>>()?, details, ..ToolReport::default() })
}

fn block_of(block: &Value) -> Result<Content, &'static str> {
    let field = |name: &str| block.get(name).and_then(Value::as_str);
    match (field("type"), field("text"), field("data"), field("mimeType")) {
        (Some("text"), Some(text), _, _) => Ok(Content::text(text)),
        (Some("image"), _, Some(data), Some(mime_type))
            if mime_type.starts_with("image/") && is_base64(data) =>
        {
            Ok(Content::Image { data: base64_part(data).to_owned(), mime_type: mime_type.to_owned() })
        }
        (Some("text"), ..) => Err("has no \"text\""),
        (Some("image"), ..) => Err("is no image in base64 with a \"mimeType\""),
        _ => Err("is neither of the type \"text\" nor \"image\""),
    }
}

fn host_tools_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "description": "The name that the model calls: up to 128 letters, digits, `_`, `-` and `.`." },
            "description": { "type": "string", "description": "What the tool does and when to use it, for the model." },
            "parameters": { "type": "object", "description": "The arguments, as JSON Schema." },
            "label": { "type": ["string", "null"], "description": "A title for people. Nothing shows it here." },
            "hidden": { "type": ["boolean", "null"], "description": "Whether the model is told of the tool only if an extension enables it." },
        },
        "required": ["name", "description", "parameters"],
    })
}

fn schemes_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "scheme": { "type": "string", "description": "What precedes `://`: a letter, then letters, digits, `+`, `.` and `-`." },
            "description": { "type": ["string", "null"], "description": "What is found there, for the model." },
            "writable": { "type": ["boolean", "null"], "description": "Whether the model may write there." },
        },
        "required": ["scheme"],
    })
}
