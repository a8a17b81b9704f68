//! The commands about the tree of a session.

use bowline_core::command::{Command, SummaryInstructions, TreeFormat};

use super::answers::{Navigated, Tree};
use crate::command_table::Action::Engine;
use crate::command_table::Row;
use crate::fields::Field;
use crate::fields::Kind::{Boolean, OneOf, Text};
use crate::schema::schema_of;

pub(crate) const FORMAT: Field = Field::optional(
    "format",
    OneOf(&["nested", "flat"]),
    "`nested`, the default, for nodes within nodes; `flat` for a list, which has the same depth however long the session is.",
);

pub(crate) const GET_TREE: Row = Row {
    name: "get_tree",
    about: "Returns the entries of the session file as a tree.",
    fields: &[FORMAT],
    result: Some(schema_of::<Tree<'_>>()),
    action: Engine(|mut fields| Command::GetTree {
        format: match fields.optional_text("format").as_deref() {
            Some("flat") => TreeFormat::Flat,
            _ => TreeFormat::Nested,
        },
    }),
};

pub(crate) const ENTRY: Field = Field::required(
    "entryId",
    Text,
    "The entry. For a user message, the conversation continues before it, so that it can be edited.",
);
pub(crate) const SUMMARIZE: Field =
    Field::optional("summarize", Boolean, "Adds a summary of the abandoned branch.");
pub(crate) const BRANCH_FOCUS: Field =
    Field::optional("customInstructions", Text, "What the summary should focus on; only with `summarize`.");

pub(crate) const NAVIGATE_TREE: Row = Row {
    name: "navigate_tree",
    about: "Continues from another entry of the session. A run in progress is aborted first.",
    fields: &[ENTRY, SUMMARIZE, BRANCH_FOCUS],
    result: Some(schema_of::<Navigated<'_>>()),
    action: Engine(|mut fields| Command::NavigateTree {
        entry: fields.text("entryId"),
        summarize: fields.flag("summarize"),
        instructions: fields.optional_text("customInstructions").map(SummaryInstructions::further),
    }),
};
