//! The tools of omp that bowline does not have.

use crate::OtherTool;

const fn missing(name: &'static str) -> OtherTool {
    OtherTool { name, instead: None }
}

/// The tools of omp 5 to 18 that bowline does not have.
pub(crate) const OTHER_TOOLS: &[OtherTool] = &[
    OtherTool { name: "glob", instead: Some("find") },
    missing("ask"),
    missing("ast_edit"),
    missing("ast_grep"),
    missing("browser"),
    missing("checkpoint"),
    missing("debug"),
    missing("eval"),
    missing("github"),
    missing("hub"),
    missing("lsp"),
    missing("rewind"),
    OtherTool { name: "todo_write", instead: Some("todo") },
    missing("web_search"),
];
