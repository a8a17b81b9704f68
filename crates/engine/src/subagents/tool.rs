//! The tool `task` as models see it.

use std::future::ready;
use std::sync::OnceLock;

use bowline_core::message::Arguments;
use bowline_core::tool::{ToolDefinition, ToolTraits};
use bowline_tools::{BoxFuture, CallContext, Outcome, Tool, traits_of};
use serde_json::json;

use super::orders::MOST_TASKS;

/// The name of the tool.
pub const TASK_TOOL: &str = "task";

const DESCRIPTION: &str = "\
Gives tasks to subagents, which work at the same time in the same folder and each return an answer. Use it for work that \
can be split, and for searches that read much and report little. A subagent knows nothing of this conversation: its task \
must name the files, the goal and what to answer. Two of them must not change the same files. Agents: task (the default) \
has your tools; explore only reads and searches.";

/// Tells whether traits are those of this tool. A tool of an extension that has its name has others.
pub(crate) fn is_task_tool(traits: Option<&ToolTraits>) -> bool {
    traits.is_some() && traits == traits_of(TASK_TOOL)
}

/// The tool `task`. Sessions carry out its calls.
#[derive(Debug, Default)]
pub struct TaskTool {
    /// Built when first asked for.
    definition: OnceLock<ToolDefinition>,
}

impl Tool for TaskTool {
    fn definition(&self) -> &ToolDefinition {
        self.definition.get_or_init(definition)
    }

    fn name(&self) -> &str {
        TASK_TOOL
    }

    fn traits(&self) -> Option<&'static ToolTraits> {
        traits_of(TASK_TOOL)
    }

    fn call(&self, _context: CallContext, _arguments: Arguments) -> BoxFuture<'static, Outcome> {
        Box::pin(ready(Outcome::error("Subagents need a session to belong to.")))
    }
}

/// Returns the definition that a model sees.
fn definition() -> ToolDefinition {
    let text = |description: &str| json!({ "type": "string", "description": description });
    let parameters = json!({
        "type": "object",
        "properties": {
            "context": text("What every subagent of this call has to know."),
            "tasks": {
                "type": "array",
                "minItems": 1,
                "maxItems": MOST_TASKS,
                "items": {
                    "type": "object",
                    "properties": {
                        "task": text("What to do, and what to answer."),
                        "agent": text("The agent that does it."),
                        "name": text("A short name for it, such as parser-tests."),
                        "tools": {
                            "type": "array",
                            "items": { "type": "string" },
                            "description": "Only these tools.",
                        },
                        "model": text("Another model than yours, as provider/id."),
                        "outputSchema": {
                            "type": "object",
                            "description": "A JSON Schema. The answer is then JSON that fits it.",
                        },
                    },
                    "required": ["task"],
                },
            },
        },
        "required": ["tasks"],
    });
    let (name, description) = (TASK_TOOL.to_owned(), DESCRIPTION.to_owned());
    ToolDefinition { name, description, parameters, strict: None }
}
