//! A tool of an extension.

use std::sync::Arc;

use bowline_core::message::Arguments;
use bowline_core::tool::ToolDefinition;
use bowline_tools::{BoxFuture, CallContext, Outcome, Tool};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::process::connection::{OpenCall, exited};
use crate::process::extension::ProcessExtension;
use crate::protocol::{ExecutionMode, ToExtension, ToolOutcome, ToolRegistration};

/// A tool of an extension.
pub(crate) struct ProcessTool {
    extension: Arc<ProcessExtension>,
    definition: ToolDefinition,
    mode: ExecutionMode,
    /// Whether the extension checks the arguments itself.
    is_unchecked: bool,
}

impl ProcessTool {
    pub fn new(extension: Arc<ProcessExtension>, tool: &ToolRegistration) -> Self {
        let definition = ToolDefinition {
            name: tool.name.clone(),
            description: tool.description.clone(),
            parameters: tool.parameters.clone(),
            strict: tool.constrained_sampling.map(Into::into),
        };
        Self { extension, definition, mode: tool.execution_mode, is_unchecked: tool.prepare_arguments }
    }
}

impl Tool for ProcessTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn runs_alone(&self) -> bool {
        self.mode == ExecutionMode::Sequential
    }

    fn call(&self, context: CallContext, arguments: Arguments) -> BoxFuture<'static, Outcome> {
        let name = &self.definition.name;
        let checked = match self.is_unchecked {
            true => Ok(arguments),
            false => bowline_json_schema::check_arguments(name, &self.definition.parameters, arguments),
        };
        let arguments = match checked {
            Ok(arguments) => arguments,
            Err(problem) => return Box::pin(std::future::ready(Outcome::error(problem))),
        };
        let (sender, end) = oneshot::channel();
        let open = OpenCall::Tool { end: sender, progress: Arc::clone(&context.progress) };
        let tool_call_id = context.call_id.as_deref().unwrap_or_default();
        let started = self.extension.connection().and_then(|connection| {
            connection.call(open, |line, id| {
                let record = ToExtension::Tool { id, name, tool_call_id, args: &arguments };
                bowline_dialect::write_json(line, &record);
            })
        });
        let Some(guard) = started else {
            return Box::pin(std::future::ready(Outcome::error(exited(self.extension.id()))));
        };
        Box::pin(async move {
            match guard.answer(end, None, context.cancel).await {
                Ok(value) => outcome(value),
                Err(problem) => Outcome::error(problem),
            }
        })
    }
}

/// Returns the outcome that the result of a tool means.
fn outcome(value: Value) -> Outcome {
    match serde_json::from_value::<ToolOutcome>(value) {
        Ok(ToolOutcome { content, details, structured_content, usage, is_error, terminate }) => {
            let content = content.into_blocks();
            let outcome = if is_error { Outcome::error("") } else { Outcome::text("") };
            let details = details.or(outcome.details.clone());
            Outcome { content, details, structured_content, usage, ends_run: terminate, ..outcome }
        }
        Err(problem) => Outcome::error(format!("The extension returned an invalid result: {problem}")),
    }
}
