//! A tool as a model is told of it.

use serde_json::Value;

/// The name, the purpose and the parameters of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDefinition {
    pub name: String,
    /// What the tool does and when to use it, for the model.
    pub description: String,
    /// A JSON Schema of the arguments.
    pub parameters: Value,
}
