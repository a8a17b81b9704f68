//! The agent, driven over its pipes.

use std::process::Command;

use serde_json::{Value, json};

use crate::failure::Failure;
use crate::pipe::Pipe;

/// The command whose response shows that the agent is ready.
pub(crate) const GET_STATE: &[u8] = b"{\"id\":\"1\",\"type\":\"get_state\"}\n";

const RESPONSE: &[u8] = b"{\"id\":\"1\",\"type\":\"response\",\"command\":\"get_state\",\"success\":true";

/// The prefix of the last record.
const SETTLED: &[u8] = b"{\"type\":\"agent_settled\"";

/// Adds the arguments that every measure uses.
pub(crate) fn arguments(command: &mut Command, model: &str) {
    command.args(["--mode", "rpc", "--model", model]);
}

/// Asks for the state and waits for it.
pub(crate) fn ask_for_state(agent: &mut Pipe) -> Result<(), Failure> {
    agent.send(GET_STATE)?;
    let answer = agent.line()?;
    if answer.starts_with(RESPONSE) {
        return Ok(());
    }
    Err(Failure::new(format!("get_state was answered with {}", String::from_utf8_lossy(answer))))
}

/// Prompts the agent and returns everything that it writes until the last record. Nothing is parsed meanwhile, so that
/// the reader keeps up.
pub(crate) fn run(agent: &mut Pipe, message: &str) -> Result<Records, Failure> {
    agent.send(format!("{}\n", json!({ "type": "prompt", "message": message })).as_bytes())?;
    let mut bytes = Vec::with_capacity(4 * 1024 * 1024);
    loop {
        let line = agent.line()?;
        bytes.extend_from_slice(line);
        if line.starts_with(SETTLED) {
            return Ok(Records(bytes));
        }
        if bytes.len() == line.len() && !is_accepted(line) {
            return Err(Failure::new(format!("the prompt was refused: {}", String::from_utf8_lossy(line))));
        }
    }
}

fn is_accepted(response: &[u8]) -> bool {
    serde_json::from_slice::<Value>(response).is_ok_and(|response| response["success"] == true)
}

/// The unparsed output of an agent.
pub(crate) struct Records(Vec<u8>);

impl Records {
    /// Returns the records in their order.
    pub(crate) fn parse(&self) -> Result<Vec<Value>, Failure> {
        self.0
            .split_inclusive(|byte| *byte == b'\n')
            .map(|line| {
                serde_json::from_slice(line).map_err(Failure::while_doing("a line of the agent is no JSON"))
            })
            .collect()
    }
}
