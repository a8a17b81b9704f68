//! The MCP servers that a client wants a session to use.

use serde_json::{Map, Value, json};

use super::errors::{Failure, INVALID_PARAMS};

/// How many servers a session may have.
const MOST: usize = 100;

/// Returns the servers by name, in the form of `mcp.json`.
pub(super) fn read(servers: &[Value]) -> Result<Map<String, Value>, Failure> {
    if servers.len() > MOST {
        return Err(Failure::new(INVALID_PARAMS, format!("\"mcpServers\" has more than {MOST} servers")));
    }
    let mut read = Map::new();
    for (index, server) in servers.iter().enumerate() {
        let wrong = |what: &str| Failure::new(INVALID_PARAMS, format!("\"mcpServers\"[{index}]{what}"));
        let text = |name: &str| {
            server
                .get(name)
                .and_then(Value::as_str)
                .ok_or_else(|| wrong(&format!(".{name} must be a string")))
        };
        let name = text("name")?;
        let described = match server.get("type").and_then(Value::as_str) {
            None | Some("stdio") => json!({
                "command": text("command")?,
                "args": server.get("args").cloned().unwrap_or_else(|| json!([])),
                "env": pairs(server.get("env")),
            }),
            Some("http") => json!({ "url": text("url")?, "headers": pairs(server.get("headers")) }),
            Some(other) => {
                return Err(wrong(&format!(" is of the type {other}; only stdio and http are known")));
            }
        };
        // Two servers of one name are told apart, so that neither is lost.
        let mut unique = name.to_owned();
        let mut count = 1;
        while read.contains_key(&unique) {
            count += 1;
            unique = format!("{name}-{count}");
        }
        read.insert(unique, described);
    }
    Ok(read)
}

/// Returns a list of names with values as an object.
fn pairs(list: Option<&Value>) -> Value {
    let pairs = list.and_then(Value::as_array).into_iter().flatten();
    let pair = |pair: &Value| Some((pair["name"].as_str()?.to_owned(), pair["value"].clone()));
    pairs.filter_map(pair).collect::<Map<_, _>>().into()
}
