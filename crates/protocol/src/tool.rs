//! Tools of the client: functions that the model calls.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::connection::Connection;
use crate::error::Error;
use crate::generated::{
    HostTool, HostToolCallRecord, HostToolContent, HostToolContentType, HostToolOutput, HostToolUpdateAnswer,
};

type Run = dyn Fn(ToolCall) -> BoxFuture<'static, Result<ToolOutput, String>> + Send + Sync;

/// A tool that the client supplies: an async function with a name, and a JSON Schema of its arguments.
#[derive(Clone)]
pub struct Tool {
    description: HostTool,
    run: Arc<Run>,
}

/// The tools that the client has now.
#[derive(Debug)]
pub(crate) struct Tools {
    tools: Mutex<Vec<Tool>>,
}

/// New tools, of which the agent is being told: until it knows, calls are of those before as well.
#[must_use = "without an end, the tools are those before"]
pub(crate) struct Replacing<'tools> {
    all: &'tools Tools,
    before: Vec<Tool>,
    after: Option<Vec<Tool>>,
}

impl Tools {
    pub fn new(tools: Vec<Tool>) -> Self {
        Self { tools: Mutex::new(tools) }
    }

    pub fn find(&self, name: &str) -> Option<Tool> {
        self.lock().iter().find(|tool| tool.name() == name).cloned()
    }

    pub fn descriptions(&self) -> Vec<HostTool> {
        self.lock().iter().map(Tool::description).collect()
    }

    pub fn replace(&self, after: Vec<Tool>) -> Replacing<'_> {
        let mut tools = self.lock();
        let before = tools.clone();
        // The first of a name is the one that is called.
        *tools = after.iter().chain(&before).cloned().collect();
        Replacing { all: self, before, after: Some(after) }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Tool>> {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Replacing<'_> {
    /// The agent knows.
    pub fn finish(mut self) {
        if let Some(after) = self.after.take() {
            *self.all.lock() = after;
        }
    }
}

impl Drop for Replacing<'_> {
    fn drop(&mut self) {
        // The agent has refused them, or nobody waits for its answer.
        if self.after.is_some() {
            *self.all.lock() = std::mem::take(&mut self.before);
        }
    }
}

/// A call of one of the client's tools. The function is dropped if the call is aborted or its time is up.
#[derive(Debug)]
pub struct ToolCall {
    connection: Connection,
    record: HostToolCallRecord,
}

/// What a tool returns: the output for the model, and details for clients.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolOutput {
    content: Vec<HostToolContent>,
    details: Option<Value>,
}

impl Tool {
    /// Returns a tool. `parameters` is a JSON Schema of an object; anything else counts as one without properties.
    ///
    /// What the function returns as an error is what the model reads, and the call counts as failed.
    pub fn new<Running, Output, Failure>(
        name: impl Into<String>,
        description: impl Into<String>,
        parameters: Value,
        run: impl Fn(ToolCall) -> Running + Send + Sync + 'static,
    ) -> Self
    where
        Running: Future<Output = Result<Output, Failure>> + Send + 'static,
        Output: Into<ToolOutput>,
        Failure: fmt::Display,
    {
        let parameters = match parameters {
            Value::Object(schema) => schema,
            _ => Map::from_iter([("type".to_owned(), Value::from("object"))]),
        };
        let run = move |call| {
            let running = run(call);
            async move { running.await.map(Into::into).map_err(|failure| failure.to_string()) }.boxed()
        };
        Self { description: HostTool::new(name, description, parameters), run: Arc::new(run) }
    }

    /// Returns the name that the model calls.
    pub fn name(&self) -> &str {
        &self.description.name
    }

    pub(crate) fn description(&self) -> HostTool {
        self.description.clone()
    }

    pub(crate) fn run(&self, call: ToolCall) -> BoxFuture<'static, Result<ToolOutput, String>> {
        (self.run)(call)
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Tool").field(&self.description.name).finish()
    }
}

impl ToolCall {
    pub(crate) fn new(connection: Connection, record: HostToolCallRecord) -> Self {
        Self { connection, record }
    }

    /// Returns the id of the call in the model response.
    pub fn tool_call_id(&self) -> &str {
        &self.record.tool_call_id
    }

    /// Returns an argument; `null` if the model gave none of this name.
    pub fn argument(&self, name: &str) -> &Value {
        self.record.arguments.get(name).unwrap_or(&Value::Null)
    }

    /// Returns all arguments as a value of your own type. The error is one that the model can act on.
    pub fn arguments<Arguments: DeserializeOwned>(&self) -> Result<Arguments, String> {
        serde_json::from_value(Value::Object(self.record.arguments.clone()))
            .map_err(|error| format!("invalid arguments: {error}"))
    }

    /// Shows the output so far, in place of what was shown before. The time limit of the call starts again.
    pub async fn update(&self, output: impl Into<ToolOutput>) -> Result<(), Error> {
        let output = HostToolOutput::from(output.into());
        self.connection.answer(HostToolUpdateAnswer::new(&self.record.id, output)).await
    }
}

impl ToolOutput {
    /// Adds a text.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        let text = Some(text.into());
        self.content.push(HostToolContent { text, ..HostToolContent::new(HostToolContentType::Text) });
        self
    }

    /// Adds an image, in base64, with its media type.
    #[must_use]
    pub fn image(mut self, data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        let (data, mime_type) = (Some(data.into()), Some(mime_type.into()));
        let image = HostToolContent::new(HostToolContentType::Image);
        self.content.push(HostToolContent { data, mime_type, ..image });
        self
    }

    /// Sets details for clients, which the model does not see.
    #[must_use]
    pub fn details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self::default().text(text)
    }
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> Self {
        Self::default().text(text)
    }
}

impl From<ToolOutput> for HostToolOutput {
    fn from(output: ToolOutput) -> Self {
        Self { content: output.content, details: output.details }
    }
}
