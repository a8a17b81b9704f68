//! What a client can do beyond what every client can.

use bowline_core::Command;
use bowline_core::ask::ApprovalForm;

use crate::command_table::Action::Engine;
use crate::command_table::Row;
use crate::fields::Field;
use crate::fields::Kind::{Boolean, OneOf};

pub(crate) const SET_CLIENT_CAPABILITIES: Row = Row {
    name: "set_client_capabilities",
    about: "Says what the client can do. What is absent stays as it is.",
    fields: &[
        Field::optional(
            "approvals",
            OneOf(&["dialog", "record"]),
            "How the client wants to be asked about tool calls: with a dialog (the default), or with `approval_request`.",
        ),
        Field::optional(
            "changes",
            Boolean,
            "Whether the client gets a `run_changes` record for each run that changed files.",
        ),
    ],
    result: None,
    action: Engine(|mut fields| Command::SetClientCapabilities {
        approvals: fields.optional_text("approvals").map(|form| match form.as_str() {
            "record" => ApprovalForm::Record,
            _ => ApprovalForm::Dialog,
        }),
        changes: fields.optional_flag("changes"),
    }),
};
