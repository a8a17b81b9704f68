//! All configured servers, and what they offer together.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use bowline_tools::Tool;

use crate::configuration::{Configuration, ServerConfig, Start};
use crate::error::Error;
use crate::host::{Notice, ServerContext, Severity};
use crate::names;
use crate::resources::{ListResources, NAMES, ReadResource};
use crate::server::{Server, State};
use crate::tool::ServerTool;

/// All configured servers. Cheap to clone; making it starts nothing.
#[derive(Clone)]
pub struct Servers {
    servers: Arc<[Arc<Server>]>,
    context: ServerContext,
}

/// A server and what it is doing.
#[derive(Debug, Clone)]
pub struct Status {
    pub config: ServerConfig,
    /// One of idle, starting, ready, restarting, failed and stopped.
    pub state: &'static str,
    /// Why it cannot be used now.
    pub problem: Option<String>,
    /// What the server says it is.
    pub identity: Option<String>,
    pub protocol_version: Option<String>,
    pub instructions: Option<String>,
    pub tools: Vec<ToolSummary>,
    /// The commands of its prompts, with the names of their arguments.
    pub prompts: Vec<String>,
    pub has_resources: bool,
    pub omitted: Vec<String>,
}

/// A tool in a list.
#[derive(Debug, Clone)]
pub struct ToolSummary {
    /// Its name on the server.
    pub name: String,
    /// The name that models use.
    pub full_name: String,
    pub description: String,
}

impl Servers {
    /// Returns the enabled servers.
    pub fn new(configuration: &Configuration, context: ServerContext) -> Self {
        let enabled = configuration.servers.iter().filter(|server| server.enabled);
        let servers = enabled.map(|config| Server::new(config.clone(), context.clone())).collect();
        Self { servers, context }
    }

    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// Starts the servers that are not to wait until they are needed.
    pub fn start_early(&self) {
        for server in self.servers.iter().filter(|server| server.config.start == Start::AtStart) {
            server.begin();
        }
    }

    /// Starts all servers and waits until each is ready or cannot be used, but no longer than the limit. Those that are not
    /// ready by then go on starting, and are reported.
    pub async fn start(&self) {
        let has_begun: HashSet<&str> = self.begun();
        for server in self.servers.iter() {
            server.begin();
        }
        let limit = self.context.timing.start;
        let all = futures_util::future::join_all(self.servers.iter().map(|server| server.settled()));
        if tokio::time::timeout(limit, all).await.is_ok() {
            return;
        }
        for server in self.servers.iter() {
            let name = &server.config.name;
            if matches!(server.state(), State::Starting) && !has_begun.contains(name.as_str()) {
                let seconds = limit.as_secs_f32();
                let text = format!(
                    "The MCP server {name} is not ready after {seconds} s. Its tools are added when it is."
                );
                let notice = Notice { server: name.clone(), text, severity: Severity::Warning };
                self.context.listener.notice(notice);
            }
        }
    }

    fn begun(&self) -> HashSet<&str> {
        let waited_for = self.servers.iter().filter(|server| {
            server.config.start == Start::FirstUse && !matches!(server.state(), State::Idle)
        });
        waited_for.map(|server| server.config.name.as_str()).collect()
    }

    /// Returns whether every server is ready or cannot be used now.
    pub fn are_settled(&self) -> bool {
        self.servers.iter().all(|server| !matches!(server.state(), State::Idle | State::Starting))
    }

    /// Returns the tools of all servers, in the order of the configuration. Those of a server that is being restarted stay:
    /// their calls say so.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.named_tools(|_| true, || NAMES.map(ToOwned::to_owned).into())
    }

    /// Returns the tools of a single server that there are others beside: those whose names on the server are wanted. The
    /// tools for its resources have names of their own.
    pub fn tools_of_one(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<Arc<dyn Tool>> {
        let part = self.servers.first().map_or("", |server| &server.config.part);
        self.named_tools(is_wanted, || names::full_names(part, &NAMES))
    }

    fn named_tools(
        &self,
        is_wanted: impl Fn(&str) -> bool,
        resource_tools: impl Fn() -> Vec<String>,
    ) -> Vec<Arc<dyn Tool>> {
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        let mut has_resources = false;
        for server in self.usable() {
            let inventory = server.inventory();
            has_resources |= inventory.has_resources;
            for tool in inventory.tools.iter().filter(|tool| is_wanted(&tool.name)) {
                tools.push(Arc::new(ServerTool::new(Arc::clone(server), tool.clone())));
            }
        }
        if has_resources {
            let mut names = resource_tools().into_iter();
            tools.extend(
                names.next().map(|name| Arc::new(ListResources::new(self.clone(), name)) as Arc<dyn Tool>),
            );
            tools.extend(
                names.next().map(|name| Arc::new(ReadResource::new(self.clone(), name)) as Arc<dyn Tool>),
            );
        }
        tools
    }

    /// Returns what servers say about how to use them, with their names.
    pub fn instructions(&self) -> Vec<(String, String)> {
        let of = |server: &Arc<Server>| {
            let text = server.inventory().instructions.clone()?;
            Some((server.config.name.clone(), text))
        };
        self.usable().filter_map(of).collect()
    }

    pub(crate) fn usable(&self) -> impl Iterator<Item = &Arc<Server>> {
        self.servers.iter().filter(|server| !matches!(server.state(), State::Failed(_) | State::Stopped))
    }

    /// Returns a server by its name in the configuration or in tool names.
    pub(crate) fn find(&self, name: &str) -> Result<&Arc<Server>, Error> {
        let is_named = |server: &&Arc<Server>| server.config.name == name || server.config.part == name;
        self.servers.iter().find(is_named).ok_or_else(|| Error::UnknownServer {
            name: name.to_owned(),
            known: known(self.servers.iter().map(|server| server.config.name.as_str())),
        })
    }

    /// Starts one server and waits until it is ready or cannot be used, but no longer than `limit`.
    pub async fn start_one(&self, name: &str, limit: Duration) -> Result<Status, Error> {
        let server = self.find(name)?;
        server.begin();
        if tokio::time::timeout(limit, server.settled()).await.is_err() {
            return Err(Error::Unavailable {
                server: name.to_owned(),
                reason: format!("it is not ready after {} s.", limit.as_secs()),
            });
        }
        Ok(status(server))
    }

    /// Returns the tool of a server by its name there or the name that models use.
    pub fn tool(&self, server: &str, name: &str) -> Result<Arc<dyn Tool>, Error> {
        let server = self.find(server)?;
        let inventory = server.inventory();
        let is_named =
            |tool: &&crate::inventory::OfferedTool| tool.name == name || tool.definition.name == name;
        match inventory.tools.iter().find(is_named) {
            Some(tool) => Ok(Arc::new(ServerTool::new(Arc::clone(server), tool.clone()))),
            None => Err(Error::Unknown {
                server: server.config.name.clone(),
                kind: "tool",
                name: name.to_owned(),
                known: known(inventory.tools.iter().map(|tool| tool.name.as_str())),
            }),
        }
    }

    /// Returns what the servers are doing.
    pub fn status(&self) -> Vec<Status> {
        self.servers.iter().map(status).collect()
    }

    /// Ends all servers, each of which gets some time to exit.
    pub async fn stop(&self) {
        futures_util::future::join_all(self.servers.iter().map(|server| server.stop())).await;
    }
}

fn status(server: &Arc<Server>) -> Status {
    let inventory = server.inventory();
    let state = server.state();
    let problem = match &state {
        State::Waiting { reason, .. } => Some(reason.clone()),
        State::Failed(error) => Some(error.to_string()),
        _ => None,
    };
    let tools = inventory.tools.iter().map(|tool| ToolSummary {
        name: tool.name.clone(),
        full_name: tool.definition.name.clone(),
        description: tool.definition.description.clone(),
    });
    Status {
        config: server.config.clone(),
        state: state.word(),
        problem,
        identity: inventory.identity.clone(),
        protocol_version: Some(inventory.protocol_version.clone()).filter(|version| !version.is_empty()),
        instructions: inventory.instructions.clone(),
        tools: tools.collect(),
        prompts: inventory.prompts.iter().map(crate::prompts::usage).collect(),
        has_resources: inventory.has_resources,
        omitted: inventory.omitted.clone(),
    }
}

/// Returns what there is instead of what was asked for.
pub(crate) fn known<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.take(30).collect();
    if names.is_empty() { "There is none.".to_owned() } else { format!("Known: {}.", names.join(", ")) }
}
