//! The lines of a client.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::Error;

/// A command, and what its success response contains.
pub trait Command: Serialize {
    /// The `type` on the wire.
    const TYPE: &'static str;
    /// Whether the response has `data`.
    const HAS_DATA: bool;
    /// The `data` of the response; `()` if it has none.
    type Data: DeserializeOwned;
}

/// A line that answers a record of the agent. There is no response to it.
pub trait Answer: Serialize {
    /// The `type` on the wire.
    const TYPE: &'static str;
}

#[derive(Serialize)]
struct Sent<'line, Fields> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'line str>,
    r#type: &'line str,
    #[serde(flatten)]
    fields: &'line Fields,
}

/// Returns the line of a command or an answer, with its LF.
pub(crate) fn encode(id: Option<&str>, kind: &str, fields: &impl Serialize) -> Result<Vec<u8>, Error> {
    let unwritable =
        |error: serde_json::Error| Error::Unwritable { command: kind.to_owned(), problem: error.to_string() };
    let mut line = serde_json::to_vec(&Sent { id, r#type: kind, fields }).map_err(unwritable)?;
    line.push(b'\n');
    Ok(line)
}

/// Returns the type of a command that is not one of this version, and its line with another id.
pub(crate) fn encode_value(id: &str, command: &Value) -> Result<(String, Vec<u8>), Error> {
    let kind = command.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let unwritable = |problem: &str| Error::Unwritable { command: kind.clone(), problem: problem.to_owned() };
    if kind.is_empty() {
        return Err(unwritable("it needs a type, which is a string"));
    }
    let mut command = command.clone();
    command["id"] = Value::from(id);
    let mut line = command.to_string().into_bytes();
    line.push(b'\n');
    Ok((kind, line))
}
