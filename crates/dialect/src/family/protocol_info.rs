//! `get_protocol_info`: what a client can rely on, told by the dialect itself. The engine has no part in it.

use bowline_core::command::Origin;
use bowline_wire::Record;
use serde::Serialize;

use super::responses;
use crate::command_table::{Problem, Row};

/// The command's name. It stands in no table, because no command of the engine comes of it.
const NAME: &str = "get_protocol_info";

/// What a dialect says of itself.
#[derive(Debug)]
pub(crate) struct Protocol {
    pub dialect: &'static str,
    pub commands: &'static [Row],
    /// The types of the records that are not responses.
    pub events: &'static [&'static str],
    /// What is there beyond the protocol that the dialect is named after.
    pub capabilities: &'static [&'static str],
}

#[derive(Serialize)]
struct Info {
    name: &'static str,
    version: &'static str,
    dialect: &'static str,
    commands: Vec<&'static str>,
    events: &'static [&'static str],
    capabilities: &'static [&'static str],
}

impl Protocol {
    /// Answers a line that asks for this; any other problem is none of its.
    pub fn answer(&self, problem: &Problem) -> Option<Record> {
        let Problem::UnknownCommand { id, name: Some(name) } = problem else { return None };
        if name != NAME {
            return None;
        }
        let origin = Origin { id: id.clone(), name: NAME, echo: None };
        let commands = self.commands.iter().map(|row| row.name).chain([NAME]).collect();
        let info = Info {
            name: "bowline",
            version: env!("CARGO_PKG_VERSION"),
            dialect: self.dialect,
            commands,
            events: self.events,
            capabilities: self.capabilities,
        };
        Some(responses::success(&origin, Some(info)))
    }
}
