//! The tools that `--tools` names.

use bowline_dialect::OtherTool;
use bowline_tools::Options;

use crate::failure::Failure;
use crate::similar::nearest;
use crate::terminal::note;
use crate::toolboxes;

/// The tools that MCP servers bring besides their own.
const OF_SERVERS: [&str; 2] = ["list_mcp_resources", "read_mcp_resource"];

/// Returns whether a name is one of tools that are known only once a server runs.
pub(crate) fn is_of_server(name: &str) -> bool {
    name.starts_with("mcp__") || OF_SERVERS.contains(&name)
}

/// Returns the named tools that are built in. Those that the emulated agent has and bowline does not are replaced or left
/// out, with a warning, because a client names them in good faith; any other unknown name is a mistake, unless extensions
/// may offer such a tool.
pub(crate) fn own_tools(
    names: &[String],
    other_tools: &[OtherTool],
    may_be_offered: bool,
) -> Result<Vec<String>, Failure> {
    let builtin = toolboxes::all(&Options::default()).names();
    let mut own: Vec<String> = Vec::new();
    for name in names.iter().filter(|name| !is_of_server(name)) {
        let used = match other_tools.iter().find(|tool| tool.name == name) {
            None if !builtin.contains(name) && may_be_offered => continue,
            None if !builtin.contains(name) => return Err(unknown(name, &builtin)),
            None => name.as_str(),
            Some(OtherTool { instead: Some(instead), .. }) => {
                note(format_args!("bowline: there is no tool named {name}; {instead} is enabled instead"));
                instead
            }
            Some(OtherTool { instead: None, .. }) => {
                note(format_args!("bowline: there is no tool named {name}; it is left out"));
                continue;
            }
        };
        if !own.iter().any(|name| name == used) {
            own.push(used.to_owned());
        }
    }
    Ok(own)
}

fn unknown(name: &str, known: &[String]) -> Failure {
    let hint = nearest(name, known.iter().map(String::as_str));
    let hint = hint.map(|name| format!(" Did you mean `{name}`?")).unwrap_or_default();
    Failure::Usage(format!("There is no tool named `{name}`.{hint} The tools are: {}.", known.join(", ")))
}
