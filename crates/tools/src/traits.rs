//! What the rest of the program knows about the built-in tools.

use bowline_core::tool::{ToolDisplay, ToolTraits};

static TRAITS: [ToolTraits; 8] = [
    tool("read", false, ToolDisplay::Read),
    ToolTraits { path_argument: None, ..tool("bash", true, ToolDisplay::Command { argument: "command" }) },
    // The shell of other agents on Windows.
    ToolTraits {
        path_argument: None,
        ..tool("powershell", true, ToolDisplay::Command { argument: "command" })
    },
    tool("edit", true, ToolDisplay::Edit),
    tool("write", true, ToolDisplay::Write),
    tool("grep", false, ToolDisplay::Search),
    tool("find", false, ToolDisplay::Search),
    tool("ls", false, ToolDisplay::Search),
];

const fn tool(name: &'static str, mutates: bool, display: ToolDisplay) -> ToolTraits {
    ToolTraits { name, mutates, path_argument: Some("path"), display }
}

/// Returns the traits of a built-in tool, whether it is enabled or not.
pub fn traits_of(name: &str) -> Option<&'static ToolTraits> {
    TRAITS.iter().find(|traits| traits.name == name)
}
