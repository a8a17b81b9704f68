//! Resources of servers, as two tools: one lists them, the other reads one.

use bowline_core::message::Arguments;
use bowline_core::tool::ToolDefinition;
use bowline_tools::{BoxFuture, CallContext, Outcome, Tool, limit_text};
use rmcp::model::{
    ClientRequest, ListResourceTemplatesRequest, ListResourcesRequest, PaginatedRequestParams,
    ReadResourceRequest, ReadResourceRequestParams, ServerResult,
};
use serde_json::{Value, json};

use crate::content::Parts;
use crate::error::Error;
use crate::limits::{MOST_PAGES, MOST_RESOURCES, beginning};
use crate::server::Server;
use crate::servers::Servers;

/// The names of the tools.
pub(crate) const NAMES: [&str; 2] = ["list_mcp_resources", "read_mcp_resource"];

/// Lists the resources.
pub(crate) struct ListResources {
    servers: Servers,
    definition: ToolDefinition,
}

/// Reads a resource.
pub(crate) struct ReadResource {
    servers: Servers,
    definition: ToolDefinition,
}

impl ListResources {
    pub fn new(servers: Servers, name: String) -> Self {
        let definition = ToolDefinition {
            name,
            description: "Lists the resources and resource templates of MCP servers: files, records and other data that a server offers for reading.".to_owned(),
            parameters: json!({"type": "object", "properties": {
                "server": {"type": "string", "description": "Only the resources of this server"},
            }}),
            strict: None,
        };
        Self { servers, definition }
    }
}

impl ReadResource {
    pub fn new(servers: Servers, name: String) -> Self {
        let definition = ToolDefinition {
            name,
            description: "Reads a resource of an MCP server.".to_owned(),
            parameters: json!({"type": "object", "required": ["server", "uri"], "properties": {
                "server": {"type": "string", "description": "The name of the server"},
                "uri": {"type": "string", "description": "The address of the resource, as listed or from a template"},
            }}),
            strict: None,
        };
        Self { servers, definition }
    }
}

fn text<'a>(arguments: &'a Arguments, name: &str) -> Option<&'a str> {
    arguments.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// Runs a task until it has ended or the call is cancelled.
async fn until_cancelled(
    context: &CallContext,
    task: impl Future<Output = Result<Outcome, Error>>,
) -> Outcome {
    tokio::select! {
        biased;
        () = context.cancel.cancelled() => Outcome::error(Error::Aborted.to_string()),
        outcome = task => outcome.unwrap_or_else(|error| Outcome::error(error.to_string())),
    }
}

impl Tool for ListResources {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call(&self, context: CallContext, arguments: Arguments) -> BoxFuture<'static, Outcome> {
        let servers = self.servers.clone();
        Box::pin(async move {
            let list = async {
                let mut lines = String::new();
                if let Some(name) = text(&arguments, "server") {
                    lines.push_str(&list(servers.find(name)?).await?);
                } else {
                    for server in servers.usable().filter(|server| server.inventory().has_resources) {
                        // One server that fails does not hide the others.
                        match list(server).await {
                            Ok(listed) => lines.push_str(&listed),
                            Err(error) => lines.push_str(&format!("{error}\n")),
                        }
                    }
                }
                if lines.is_empty() {
                    lines.push_str("There are no resources.");
                }
                let limited = limit_text(lines.trim_end());
                let details =
                    limited.truncation.map_or(json!({}), |truncation| json!({"truncation": truncation}));
                Ok(Outcome::text(limited.text).with_details(details))
            };
            until_cancelled(&context, list).await
        })
    }
}

impl Tool for ReadResource {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call(&self, context: CallContext, arguments: Arguments) -> BoxFuture<'static, Outcome> {
        let servers = self.servers.clone();
        Box::pin(async move {
            let read = async {
                let missing =
                    |name: &str| Error::Arguments(format!("{name} is required and must be a text."));
                let name = text(&arguments, "server").ok_or_else(|| missing("server"))?;
                let uri = text(&arguments, "uri").ok_or_else(|| missing("uri"))?;
                let parts = read(servers.find(name)?, uri).await?;
                let (content, truncation) = parts.content(context.takes_images).await;
                let details = truncation.map_or(json!({}), |truncation| json!({"truncation": truncation}));
                Ok(Outcome { content, ..Outcome::text("") }.with_details(details))
            };
            until_cancelled(&context, read).await
        })
    }
}

/// Returns a line for each resource and template of a server.
async fn list(server: &Server) -> Result<String, Error> {
    let connection = server.connection()?;
    let mut lines = String::new();
    let mut count = 0;
    let mut add = |uri: &str, parts: [Option<&String>; 3]| {
        count += 1;
        let parts: Vec<String> = parts.into_iter().flatten().map(|part| beginning(part, 300)).collect();
        if count <= MOST_RESOURCES {
            lines.push_str(&format!(
                "{} {} ({})\n",
                server.config.name,
                beginning(uri, 1000),
                parts.join(", ")
            ));
        }
        count <= MOST_RESOURCES
    };
    let mut cursor = None;
    for _ in 0..MOST_PAGES {
        let request =
            ListResourcesRequest::with_param(PaginatedRequestParams::default().with_cursor(cursor.take()));
        let ServerResult::ListResourcesResult(page) =
            connection.ask(ClientRequest::ListResourcesRequest(request), server.config.timeout).await?
        else {
            return Err(invalid(server));
        };
        let goes_on = page.resources.iter().all(|resource| {
            let title = resource.title.as_ref().or(Some(&resource.name));
            add(&resource.uri, [title, resource.mime_type.as_ref(), resource.description.as_ref()])
        });
        cursor = page.next_cursor.filter(|_| goes_on);
        if cursor.is_none() {
            break;
        }
    }
    // Not every server has templates.
    let request = ListResourceTemplatesRequest::with_param(PaginatedRequestParams::default());
    let request = ClientRequest::ListResourceTemplatesRequest(request);
    if let Ok(ServerResult::ListResourceTemplatesResult(page)) =
        connection.ask(request, server.config.timeout).await
    {
        for template in &page.resource_templates {
            let title = template.title.as_ref().or(Some(&template.name));
            add(&template.uri_template, [title, template.mime_type.as_ref(), template.description.as_ref()]);
        }
    }
    if count > MOST_RESOURCES {
        lines.push_str(&format!("{} has more than {MOST_RESOURCES} resources.\n", server.config.name));
    }
    Ok(lines)
}

async fn read(server: &Server, uri: &str) -> Result<Parts, Error> {
    let connection = server.connection()?;
    let request = ReadResourceRequest::new(ReadResourceRequestParams::new(uri));
    let request = ClientRequest::ReadResourceRequest(request);
    let ServerResult::ReadResourceResult(result) = connection.ask(request, server.config.timeout).await?
    else {
        return Err(invalid(server));
    };
    let mut parts = Parts::default();
    for contents in result.contents {
        parts.resource(contents);
    }
    if parts.text.is_empty() {
        parts.line("(the resource is empty)");
    }
    Ok(parts)
}

fn invalid(server: &Server) -> Error {
    Error::Answer { server: server.config.name.clone(), text: "it does not fit the request".to_owned() }
}
