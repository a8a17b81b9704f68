//! A tool as a model and the rest of the program know it.

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

/// What a tool does to the workspace, for those who show, summarise or guard its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolTraits {
    pub name: &'static str,
    /// Whether a call can change files or run arbitrary commands.
    pub mutates: bool,
    /// The argument that names the file or directory the call works on.
    pub path_argument: Option<&'static str>,
    /// How a call is shown to people.
    pub display: ToolDisplay,
}

/// How a call of a tool is shown to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolDisplay {
    /// A command line, held by `argument`, with its output.
    Command { argument: &'static str },
    /// The content of one file.
    Read,
    /// The new content of one file.
    Write,
    /// The changes to one file.
    Edit,
    /// A list of matches or names.
    Search,
    /// The arguments and the result as they are.
    Generic,
}
