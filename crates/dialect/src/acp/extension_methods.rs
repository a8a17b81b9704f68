//! Methods beyond the protocol. Each is a command of the engine with the session that it is for, described by the same row
//! as in other dialects.

use bowline_core::command::{Command, Origin, Queue};
use bowline_core::reply::{Answer, Refusal};
use bowline_wire::Record;
use serde_json::json;

use super::errors::Failure;
use super::expected::Expected;
use super::methods::{self, MESSAGE, SESSION};
use super::results::Empty;
use super::{Acp, records};
use crate::command_table::Action::{Engine, Own};
use crate::command_table::Row;
use crate::family::commands::{self, SUMMARY_FOCUS};
use crate::family::data::data;
use crate::family::file_changes::{self, AFTER_ENTRY, DRY_RUN, ONLY_RUN, UNDO_TO, UNDONE_RUN, WITH_DIFF};
use crate::family::state_cache::StateCache;
use crate::family::tree::{self, BRANCH_FOCUS, ENTRY, FORMAT, SUMMARIZE};
use crate::fields::{Field, Fields};
use crate::schema::schema_of;

/// What the names of all methods begin with.
const PREFIX: &str = "_bowline/";

pub(super) const FOLLOW_UP: Row = Row {
    name: "_bowline/follow_up",
    about: "Queues a message for the end of the turn, which then goes on with it; without a turn it starts one. The answer \
            comes at once.",
    fields: &[SESSION, MESSAGE],
    result: Some(schema_of::<Empty>()),
    action: Own,
};
pub(super) const COMPACT: Row = like(&commands::COMPACT, "_bowline/compact", &[SESSION, SUMMARY_FOCUS]);
pub(super) const STATS: Row = like(&commands::GET_SESSION_STATS, "_bowline/stats", &[SESSION]);
pub(super) const TREE: Row = like(&tree::GET_TREE, "_bowline/tree", &[SESSION, FORMAT]);
pub(super) const NAVIGATE: Row =
    like(&tree::NAVIGATE_TREE, "_bowline/navigate", &[SESSION, ENTRY, SUMMARIZE, BRANCH_FOCUS]);
pub(super) const CHANGES: Row =
    like(&file_changes::GET_CHANGES, "_bowline/changes", &[SESSION, ONLY_RUN, AFTER_ENTRY, WITH_DIFF]);
pub(super) const UNDO: Row =
    like(&file_changes::UNDO, "_bowline/undo", &[SESSION, UNDONE_RUN, UNDO_TO, DRY_RUN]);
pub(super) const REDO: Row = like(&file_changes::REDO, "_bowline/redo", &[SESSION, DRY_RUN]);

/// The commands of other dialects that methods stand for, by the name of the method.
const COMMANDS: [(&str, Row); 7] = [
    (COMPACT.name, commands::COMPACT),
    (STATS.name, commands::GET_SESSION_STATS),
    (TREE.name, tree::GET_TREE),
    (NAVIGATE.name, tree::NAVIGATE_TREE),
    (CHANGES.name, file_changes::GET_CHANGES),
    (UNDO.name, file_changes::UNDO),
    (REDO.name, file_changes::REDO),
];

/// Returns a method that does the same as a command of other dialects, for the session that it names.
const fn like(row: &Row, name: &'static str, fields: &'static [Field]) -> Row {
    Row { name, about: row.about, fields, result: row.result, action: Own }
}

/// Returns the names of the methods, as they are advertised.
pub(super) fn names() -> Vec<&'static str> {
    let names = methods::TABLE.iter().map(|row| row.name);
    names.filter(|name| name.starts_with(PREFIX)).collect()
}

impl Acp {
    /// Carries out a method beyond the protocol, if it is one.
    pub(super) fn extension_method(&mut self, origin: &Origin, fields: &mut Fields) -> Result<(), Failure> {
        let tag = self.seat_of(fields)?;
        let known = COMMANDS.iter().find(|(name, _)| *name == origin.name);
        let command = match known.map(|(_, row)| &row.action) {
            Some(Engine(build)) => build(fields.take()),
            _ => Command::Enqueue { message: self.draft(tag, fields)?, queue: Queue::FollowUp },
        };
        self.carry_out(tag, command, Expected::Extension { client: origin.clone() });
        Ok(())
    }
}

/// Encodes the answer to a method beyond the protocol.
pub(super) fn answer(client: &Origin, result: &Result<Answer, Refusal>) -> Option<Record> {
    let answer = match result {
        Ok(answer) => answer,
        Err(refusal) => {
            let mut failure = Failure::from(refusal);
            failure.data = Some(json!({ "code": refusal.code.as_str(), "details": refusal.message }));
            return failure.answer(client);
        }
    };
    // How a message was queued is told as nothing: it was accepted.
    if let Answer::Accepted(_) = answer {
        return records::result(client, &Empty {});
    }
    match data(answer, &mut StateCache::default()) {
        Some(data) => records::result(client, &data),
        None => records::result(client, &Empty {}),
    }
}
