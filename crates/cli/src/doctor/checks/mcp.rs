//! The MCP servers. They are only started if the user lets this check use a network: most of them do.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bowline_extension_host::McpOptions;
use bowline_mcp::{Configuration, Listener, Notice, ServerConfig, Transport};
use bowline_tools::BoxFuture;

use super::program::first_in;
use crate::doctor::facts::Facts;
use crate::doctor::finding::Finding;
use crate::{mcp, startup};

/// How long servers may take to start.
const LONGEST_START: Duration = Duration::from_secs(20);

/// The result says what failed.
struct Silent;

impl Listener for Silent {
    fn notice(&self, _: Notice) {}

    fn changed(&self) {}
}

pub(in crate::doctor) fn check(facts: &Facts) -> BoxFuture<'_, Vec<Finding>> {
    Box::pin(async move {
        let options =
            startup::mcp_options(&facts.arguments, &facts.environment, &facts.file, &facts.resources);
        let options = match options {
            Ok(options) => options,
            Err(failure) => return vec![Finding::look(format!("not checked: {failure}"))],
        };
        let configuration = options.configuration(&facts.environment.working_directory);
        let mut findings: Vec<_> = configuration
            .problems
            .iter()
            .map(|problem| match problem.server {
                Some(_) => Finding::broken(problem.to_string()),
                None => Finding::look(problem.to_string()),
            })
            .map(|finding| finding.remedy("bowline mcp list"))
            .collect();
        if facts.arguments.online {
            findings.extend(started(facts, &configuration, &options).await);
        } else {
            let servers = configuration.servers.iter().filter(|server| server.enabled);
            findings.extend(servers.map(|server| of_server(facts, server)));
        }
        if findings.is_empty() {
            findings.push(Finding::fine("no MCP server is configured"));
        }
        findings
    })
}

/// Returns what can be said of a server without starting it.
fn of_server(facts: &Facts, server: &ServerConfig) -> Finding {
    let name = &server.name;
    let Transport::Command { command, .. } = &server.transport else {
        return Finding::fine(format!("{name} is configured; --online connects to it"));
    };
    let path = facts.environment.variable("PATH").unwrap_or_default();
    let is_there = match Path::new(command) {
        path if path.is_absolute() => path.exists(),
        // Relative to the folder that the server is started in, which may be the project's.
        relative if relative.components().count() > 1 => true,
        _ => first_in(path, command).is_some(),
    };
    if is_there {
        return Finding::fine(format!("{name} is configured; --online starts it"));
    }
    Finding::broken(format!("{name}: the program {command} is not there"))
        .because("Its tools are missing.")
        .remedy(format!("bowline mcp test {name}"))
}

/// Starts the servers.
async fn started(facts: &Facts, configuration: &Configuration, options: &McpOptions) -> Vec<Finding> {
    let servers = mcp::servers(configuration, options, &facts.environment, Arc::new(Silent));
    let enabled = configuration.servers.iter().filter(|server| server.enabled);
    let names: Vec<_> = enabled.map(|server| server.name.clone()).collect();
    let results = mcp::start_all(&servers, &names, LONGEST_START).await;
    servers.stop().await;
    let of_result = |(name, (result, took)): (&String, (Result<bowline_mcp::Status, _>, Duration))| {
        let problem = match result {
            Ok(status) if status.state == "ready" => {
                let (tools, took) = (status.tools.len(), took.as_millis());
                return Finding::fine(format!("{name} is ready in {took} ms, with {tools} tools"));
            }
            Ok(status) => status.problem.unwrap_or_else(|| status.state.to_owned()),
            Err(error) => bowline_mcp::Error::to_string(&error),
        };
        Finding::broken(format!("{name}: {problem}")).remedy(format!("bowline mcp test {name}"))
    };
    names.iter().zip(results).map(of_result).collect()
}
