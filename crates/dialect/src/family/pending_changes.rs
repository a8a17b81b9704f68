//! The commands about a workspace that is an overlay.

use bowline_core::command::Command;
use bowline_core::pending_changes::{
    AcceptReport, DiscardReport, PendingQuery, PendingReport, PendingSelection,
};
use serde_json::Value;

use crate::command_table::Action::Engine;
use crate::command_table::Row;
use crate::fields::Kind::{Boolean, Texts};
use crate::fields::{Field, Fields};
use crate::schema::schema_of;

const PATHS: Field = Field::optional(
    "paths",
    Texts,
    "Only these paths, relative to the working directory, and what is below them.",
);

/// The fields of the commands that settle changes.
const SELECTION: &[Field] =
    &[PATHS, Field::optional("force", Boolean, "Ends processes that tools left running.")];

pub(crate) const GET_PENDING_CHANGES: Row = Row {
    name: "get_pending_changes",
    about: "Returns what the session changed and nobody has accepted, if bowline was started with `--workspace overlay`.",
    fields: &[PATHS, Field::optional("diff", Boolean, "Adds a unified diff against the real workspace.")],
    result: Some(schema_of::<PendingReport>()),
    action: Engine(|mut fields| Command::GetPendingChanges {
        query: PendingQuery { paths: paths(&mut fields), with_diff: fields.flag("diff") },
    }),
};

pub(crate) const ACCEPT_CHANGES: Row = Row {
    name: "accept_changes",
    about: "Applies pending changes to the real workspace. A path that has changed there since is a conflict; it, and what is protected \
            or not supported, is left alone and stays pending. Refused with `busy` during a run, and while processes that tools started \
            are running.",
    fields: SELECTION,
    result: Some(schema_of::<AcceptReport>()),
    action: Engine(|mut fields| Command::AcceptChanges { selection: selection(&mut fields) }),
};

pub(crate) const DISCARD_CHANGES: Row = Row {
    name: "discard_changes",
    about: "Throws pending changes away. The model is told. Refused with `busy` during a run, and while processes that tools started are \
            running.",
    fields: SELECTION,
    result: Some(schema_of::<DiscardReport>()),
    action: Engine(|mut fields| Command::DiscardChanges { selection: selection(&mut fields) }),
};

fn selection(fields: &mut Fields) -> PendingSelection {
    PendingSelection { paths: paths(fields), force: fields.flag("force") }
}

/// Returns the paths; none of them is not all of them.
fn paths(fields: &mut Fields) -> Option<Vec<String>> {
    let text = |value: Value| match value {
        Value::String(text) => Some(text),
        _ => None,
    };
    fields.optional_list("paths").map(|paths| paths.into_iter().filter_map(text).collect())
}
