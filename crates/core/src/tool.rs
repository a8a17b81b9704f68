//! A tool as a model and the rest of the program know it.

use serde_json::Value;

use crate::message::Arguments;

/// The name, the purpose and the parameters of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDefinition {
    pub name: String,
    /// What the tool does and when to use it, for the model.
    pub description: String,
    /// A JSON Schema of the arguments.
    pub parameters: Value,
    /// Whether providers are asked to keep the arguments to the schema while the model writes them.
    pub strict: Option<StrictArguments>,
}

/// How much it matters that a provider keeps the arguments of a tool to their schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StrictArguments {
    /// The tool is used without, too.
    Preferred,
    /// A request whose provider cannot do it fails.
    Required,
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

/// What some models call the path of a file, because other agents do.
pub const PATH_ALIAS: &str = "file_path";

impl ToolTraits {
    /// Returns the file or directory that a call with these arguments works on.
    pub fn path_in<'a>(&self, arguments: &'a Arguments) -> Option<&'a str> {
        let path =
            self.path_argument.and_then(|name| arguments.get(name).or_else(|| arguments.get(PATH_ALIAS)));
        path.and_then(Value::as_str)
    }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn path_is_found_under_its_name_and_that_of_other_agents() {
        let traits = ToolTraits {
            name: "read",
            mutates: false,
            path_argument: Some("path"),
            display: ToolDisplay::Read,
        };
        for arguments in
            [json!({"path": "a"}), json!({"file_path": "a"}), json!({"file_path": "b", "path": "a"})]
        {
            assert_eq!(traits.path_in(arguments.as_object().unwrap()), Some("a"));
        }
        assert_eq!(traits.path_in(json!({"path": 1}).as_object().unwrap()), None);
    }
}
