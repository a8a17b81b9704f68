//! Commands by which a client offers tools and addresses of its own.

use std::sync::Arc;

use bowline_core::host::{HostTool, UriScheme};
use bowline_core::policy::HostToolNames;
use bowline_core::reply::{Answer, Refusal, RefusalCode};
use bowline_tools::Tool;

use crate::extension::{OfferedTool, ToolSource};
use crate::host::{Addresses, ClientTool};
use crate::session::Session;

const MOST_TOOLS: usize = 256;
const LONGEST_NAME: usize = 128;
const LONGEST_DESCRIPTION: usize = 64 * 1024;
const LARGEST_SCHEMA: usize = 256 * 1024;
const MOST_SCHEMES: usize = 64;

/// Schemes that mean something elsewhere: to models, to bowline, or to the agents that it emulates.
const RESERVED: &[&str] = &[
    "agent",
    "artifact",
    "blob",
    "conflict",
    "data",
    "file",
    "ftp",
    "http",
    "https",
    "issue",
    "javascript",
    "local",
    "mcp",
    "memory",
    "omp",
    "pi",
    "plan",
    "pr",
    "rule",
    "security",
    "skill",
    "ssh",
    "xd",
];

impl Session {
    /// Replaces the tools that the client supplies.
    pub(super) fn set_host_tools(&mut self, tools: Vec<HostTool>) -> Result<Answer, Refusal> {
        self.check_host_tools(&tools).map_err(invalid)?;
        let names = tools.iter().map(|tool| tool.name.clone()).collect();
        let link = self.host_link();
        let offered = tools.into_iter().map(|tool| {
            let is_active = !tool.is_hidden;
            let tool: Arc<dyn Tool> = Arc::new(ClientTool::new(tool, link.clone()));
            OfferedTool { tool, snippet: None, guidelines: Vec::new(), is_active, source_info: None }
        });
        self.instructions.offer_tools(&ToolSource::Client, offered.collect());
        Ok(Answer::HostTools(names))
    }

    /// Returns what is wrong with the tools of a client, if anything.
    fn check_host_tools(&self, tools: &[HostTool]) -> Result<(), String> {
        if tools.len() > MOST_TOOLS {
            return Err(format!("There are {} host tools; at most {MOST_TOOLS} are possible", tools.len()));
        }
        for (index, tool) in tools.iter().enumerate() {
            let name = &tool.name;
            if name.is_empty() {
                return Err(format!("Host tool at index {index} must provide a non-empty name"));
            }
            let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
            if name.len() > LONGEST_NAME || !name.chars().all(is_plain) {
                let shown: String = name.chars().take(LONGEST_NAME).collect();
                return Err(format!(
                    "Host tool at index {index} has the name {shown:?}; a name has up to {LONGEST_NAME} letters, digits, \"_\", \"-\" and \".\""
                ));
            }
            if tool.description.is_empty() {
                return Err(format!("Host tool \"{name}\" must provide a non-empty description"));
            }
            if tool.description.len() > LONGEST_DESCRIPTION {
                return Err(format!(
                    "The description of host tool \"{name}\" has more than {LONGEST_DESCRIPTION} bytes"
                ));
            }
            if !tool.parameters.is_object() {
                return Err(format!("Host tool \"{name}\" must provide a JSON Schema object"));
            }
            if tool.parameters.to_string().len() > LARGEST_SCHEMA {
                return Err(format!(
                    "The schema of host tool \"{name}\" has more than {LARGEST_SCHEMA} bytes"
                ));
            }
            if tools[..index].iter().any(|other| other.name == *name) {
                return Err("RPC host tool names must be unique".to_owned());
            }
            if self.is_taken(name) {
                return Err(format!("RPC host tool \"{name}\" conflicts with an existing tool"));
            }
        }
        Ok(())
    }

    /// Tells whether another tool has this name that a client's tool does not replace.
    fn is_taken(&self, name: &str) -> bool {
        match self.instructions.tool_source(name) {
            None | Some(ToolSource::Client) => false,
            Some(ToolSource::BuiltIn) => self.agent.policy().host_tool_names == HostToolNames::MustBeNew,
            Some(ToolSource::Extension { .. }) => true,
        }
    }

    /// Replaces the schemes of the addresses that the client serves.
    pub(super) fn set_uri_schemes(&mut self, schemes: Vec<UriScheme>) -> Result<Answer, Refusal> {
        if schemes.len() > MOST_SCHEMES {
            let text =
                format!("There are {} host URI schemes; at most {MOST_SCHEMES} are possible", schemes.len());
            return Err(invalid(text));
        }
        let mut checked: Vec<UriScheme> = Vec::new();
        for scheme in schemes {
            let scheme = check_scheme(scheme).map_err(invalid)?;
            // Of one name, the last counts.
            checked.retain(|other| other.name != scheme.name);
            checked.push(scheme);
        }
        let names = checked.iter().map(|scheme| scheme.name.clone()).collect();
        self.addresses = Addresses::new(checked);
        self.instructions.set_tool_notes(self.addresses.notes());
        Ok(Answer::UriSchemes(names))
    }
}

/// Returns a scheme in lower case, or what is wrong with it.
fn check_scheme(scheme: UriScheme) -> Result<UriScheme, String> {
    let name = scheme.name.to_ascii_lowercase();
    if name.is_empty() {
        return Err("Host URI scheme must be a non-empty string".to_owned());
    }
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "+.-".contains(letter);
    if name.len() > LONGEST_NAME
        || !name.starts_with(|letter: char| letter.is_ascii_lowercase())
        || !name.chars().all(is_plain)
    {
        let shown: String = scheme.name.chars().take(LONGEST_NAME).collect();
        return Err(format!("Host URI scheme contains invalid characters: {shown}"));
    }
    if RESERVED.contains(&name.as_str()) {
        return Err(format!("Host URI scheme is reserved by bowline: {name}://"));
    }
    // It is a line of the system prompt.
    let description = scheme.description.map(|text| {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        text.chars().take(1_000).collect()
    });
    Ok(UriScheme { name, description, ..scheme })
}

fn invalid(text: String) -> Refusal {
    Refusal::new(RefusalCode::InvalidArgument, text)
}
