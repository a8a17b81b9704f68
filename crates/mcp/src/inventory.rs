//! What a server offers: its tools, prompts and instructions, bounded and in the form that models and clients get.

use std::collections::HashSet;
use std::sync::Arc;

use bowline_core::tool::ToolDefinition;
use rmcp::model::{JsonObject, PaginatedRequestParams, Prompt, Tool};
use rmcp::service::ServiceError;
use rmcp::{Peer, RoleClient};
use serde_json::{Value, json};

use crate::configuration::ServerConfig;
use crate::limits::{
    LONGEST_DESCRIPTION, LONGEST_INSTRUCTIONS, LONGEST_SCHEMA, LONGEST_SCHEMAS, MOST_PAGES, MOST_PROMPTS,
    MOST_TOOLS, beginning,
};
use crate::names;

/// What a server offers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Inventory {
    pub tools: Vec<OfferedTool>,
    pub prompts: Vec<OfferedPrompt>,
    pub has_resources: bool,
    pub instructions: Option<String>,
    /// What the server says it is, as in `everything 2.0.0`.
    pub identity: Option<String>,
    pub protocol_version: String,
    /// What was left out, each in a sentence.
    pub omitted: Vec<String>,
}

/// A tool of a server.
#[derive(Debug, Clone)]
pub(crate) struct OfferedTool {
    /// Its name on the server.
    pub name: String,
    pub definition: ToolDefinition,
}

/// A prompt of a server.
#[derive(Debug, Clone)]
pub(crate) struct OfferedPrompt {
    /// Its name on the server.
    pub name: String,
    /// Its name as a command.
    pub command: String,
    pub description: String,
    pub arguments: Vec<PromptArgument>,
}

/// An argument of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PromptArgument {
    pub name: String,
    pub is_required: bool,
}

/// Asks a server what it offers.
pub(crate) async fn take(peer: &Peer<RoleClient>, config: &ServerConfig) -> Result<Inventory, ServiceError> {
    let Some(info) = peer.peer_info() else { return Ok(Inventory::default()) };
    let mut inventory = Inventory {
        has_resources: info.capabilities.resources.is_some(),
        instructions: info
            .instructions
            .as_deref()
            .map(str::trim)
            .filter(|text| !text.is_empty())
            .map(|text| beginning(text, LONGEST_INSTRUCTIONS)),
        identity: info
            .server_info
            .as_ref()
            .map(|server| format!("{} {}", beginning(&server.name, 100), beginning(&server.version, 50))),
        protocol_version: info.protocol_version.to_string(),
        ..Inventory::default()
    };
    if info.capabilities.tools.is_some() {
        let tools = all_tools(peer, &mut inventory.omitted).await?;
        inventory.tools = offered_tools(tools, config, &mut inventory.omitted);
    }
    if info.capabilities.prompts.is_some() {
        let prompts = all_prompts(peer, &mut inventory.omitted).await?;
        inventory.prompts = offered_prompts(prompts, config);
    }
    Ok(inventory)
}

fn page(cursor: Option<String>) -> Option<PaginatedRequestParams> {
    cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)))
}

async fn all_tools(peer: &Peer<RoleClient>, omitted: &mut Vec<String>) -> Result<Vec<Tool>, ServiceError> {
    let mut tools = Vec::new();
    let mut cursor = None;
    for _ in 0..MOST_PAGES {
        let result = peer.list_tools(page(cursor.take())).await?;
        tools.extend(result.tools);
        cursor = result.next_cursor;
        if cursor.is_none() || tools.len() > MOST_TOOLS {
            break;
        }
    }
    if tools.len() > MOST_TOOLS || cursor.is_some() {
        tools.truncate(MOST_TOOLS);
        omitted.push(format!("it has too many tools; only the first {} are used", tools.len()));
    }
    Ok(tools)
}

async fn all_prompts(
    peer: &Peer<RoleClient>,
    omitted: &mut Vec<String>,
) -> Result<Vec<Prompt>, ServiceError> {
    let mut prompts = Vec::new();
    let mut cursor = None;
    for _ in 0..MOST_PAGES {
        let result = peer.list_prompts(page(cursor.take())).await?;
        prompts.extend(result.prompts);
        cursor = result.next_cursor;
        if cursor.is_none() || prompts.len() > MOST_PROMPTS {
            break;
        }
    }
    if prompts.len() > MOST_PROMPTS || cursor.is_some() {
        prompts.truncate(MOST_PROMPTS);
        omitted.push(format!("it has too many prompts; only the first {} are used", prompts.len()));
    }
    Ok(prompts)
}

fn offered_tools(tools: Vec<Tool>, config: &ServerConfig, omitted: &mut Vec<String>) -> Vec<OfferedTool> {
    let mut seen = HashSet::new();
    let mut schemas = 0;
    let mut kept = Vec::new();
    for tool in tools {
        let shown = beginning(&tool.name, 100);
        if !seen.insert(tool.name.to_string()) {
            omitted.push(format!("it lists the tool {shown} more than once; the first one is used"));
            continue;
        }
        let size = serde_json::to_vec(&*tool.input_schema).map_or(usize::MAX, |text| text.len());
        if size > LONGEST_SCHEMA || schemas + size > LONGEST_SCHEMAS {
            omitted.push(format!("the schema of its tool {shown} is too long; the tool is not used"));
            continue;
        }
        schemas += size;
        kept.push(tool);
    }
    let names: Vec<&str> = kept.iter().map(|tool| &*tool.name).collect();
    let full_names = names::full_names(&config.part, &names);
    let offered = kept.iter().zip(full_names).map(|(tool, full_name)| OfferedTool {
        name: tool.name.to_string(),
        definition: ToolDefinition {
            name: full_name,
            description: description(tool, config),
            parameters: parameters(&tool.input_schema),
            strict: None,
        },
    });
    offered.collect()
}

fn description(tool: &Tool, config: &ServerConfig) -> String {
    let text = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default().trim();
    if text.is_empty() {
        return format!("The tool {} of the MCP server {}.", beginning(&tool.name, 100), config.name);
    }
    beginning(text, LONGEST_DESCRIPTION)
}

/// Returns a schema that every provider accepts: of an object that has properties.
fn parameters(schema: &Arc<JsonObject>) -> Value {
    let mut schema = JsonObject::clone(schema);
    schema.insert("type".to_owned(), json!("object"));
    if !schema.get("properties").is_some_and(Value::is_object) {
        schema.insert("properties".to_owned(), json!({}));
    }
    schema.remove("$schema");
    Value::Object(schema)
}

fn offered_prompts(prompts: Vec<Prompt>, config: &ServerConfig) -> Vec<OfferedPrompt> {
    let mut seen = HashSet::new();
    let prompts: Vec<Prompt> =
        prompts.into_iter().filter(|prompt| seen.insert(prompt.name.clone())).collect();
    let names: Vec<&str> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
    let commands = names::full_names(&config.part, &names);
    let offered = prompts.iter().zip(commands).map(|(prompt, command)| {
        let arguments = prompt.arguments.iter().flatten().take(50).map(|argument| PromptArgument {
            name: beginning(&argument.name, 100),
            is_required: argument.required.unwrap_or(false),
        });
        let text = prompt.description.as_deref().or(prompt.title.as_deref()).unwrap_or_default().trim();
        OfferedPrompt {
            name: prompt.name.clone(),
            command,
            description: beginning(text, 500),
            arguments: arguments.collect(),
        }
    });
    offered.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::{Configuration, Source};

    fn config() -> ServerConfig {
        let servers = json!({"s": {"command": "x"}}).as_object().unwrap().clone();
        let source = Source::Servers { origin: "f".into(), servers };
        Configuration::read(&[source]).servers.remove(0)
    }

    fn tool(name: &str, schema: &Value) -> Tool {
        serde_json::from_value(json!({"name": name, "inputSchema": schema})).unwrap()
    }

    #[test]
    fn schemas_become_what_providers_accept() {
        let mut omitted = Vec::new();
        let tools = vec![
            tool("a", &json!({})),
            tool("b", &json!({"type": "object", "properties": {"x": {"type": "string"}}, "$schema": "s"})),
        ];
        let offered = offered_tools(tools, &config(), &mut omitted);
        assert_eq!(offered[0].definition.parameters, json!({"type": "object", "properties": {}}));
        assert_eq!(
            offered[1].definition.parameters,
            json!({"type": "object", "properties": {"x": {"type": "string"}}})
        );
        assert_eq!(offered[0].definition.description, "The tool a of the MCP server s.");
        assert_eq!(omitted, [""; 0]);
    }

    #[test]
    fn doubles_and_endless_schemas_are_left_out_and_reported() {
        let mut omitted = Vec::new();
        let long = json!({"type": "object", "description": "x".repeat(LONGEST_SCHEMA)});
        let tools = vec![tool("a", &json!({})), tool("a", &json!({})), tool("b", &long)];
        let offered = offered_tools(tools, &config(), &mut omitted);
        assert_eq!(offered.len(), 1);
        assert_eq!(omitted.len(), 2, "{omitted:?}");
    }
}
