//! A tool of a server, as models call it.

use std::sync::Arc;

use bowline_core::message::Arguments;
use bowline_core::tool::ToolDefinition;
use bowline_tools::{BoxFuture, CallContext, Outcome, Tool};
use serde_json::{Map, json};

use crate::content;
use crate::inventory::OfferedTool;
use crate::server::Server;

/// A tool of a server.
pub(crate) struct ServerTool {
    server: Arc<Server>,
    tool: OfferedTool,
}

impl ServerTool {
    pub fn new(server: Arc<Server>, tool: OfferedTool) -> Self {
        Self { server, tool }
    }
}

impl Tool for ServerTool {
    fn definition(&self) -> &ToolDefinition {
        &self.tool.definition
    }

    fn call(&self, context: CallContext, arguments: Arguments) -> BoxFuture<'static, Outcome> {
        let (server, tool) = (Arc::clone(&self.server), self.tool.name.clone());
        Box::pin(async move {
            let connection = match server.connection() {
                Ok(connection) => connection,
                Err(error) => return Outcome::error(error.to_string()),
            };
            let mut details = Map::new();
            details.insert("server".to_owned(), json!(server.config.name));
            details.insert("tool".to_owned(), json!(tool));
            match connection.call(tool, arguments, &context, server.config.timeout).await {
                Ok(result) => content::outcome(result, context.takes_images, details).await,
                Err(error) => Outcome::error(error.to_string()),
            }
        })
    }
}
