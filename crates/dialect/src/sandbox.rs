//! The commands about what confines the tools, which are the same in every dialect that has them.

use bowline_core::command::Command;
use bowline_core::sandbox::{SandboxChange, SandboxMode, SandboxNetwork, SandboxReport, SandboxSummary};

use crate::command_table::Action::Engine;
use crate::command_table::Row;
use crate::fields::Field;
use crate::fields::Kind::{Boolean, OneOf};
use crate::schema::schema_of;

const MODES: &[&str] = &["read-only", "workspace-write", "external", "full-access"];
const NETWORKS: &[&str] = &["none", "allow-list", "full"];

pub(crate) const GET_SANDBOX: Row = Row {
    name: "get_sandbox",
    about: "Returns what the tools may do, what of it was tried in the sandbox of this session, and what is not enforced. The \
            sandbox is made first, if there is to be one and no tool has needed it yet. Fails with `sandbox_unavailable` if it \
            cannot be made; then no tool runs either.",
    fields: &[Field::optional(
        "connections",
        Boolean,
        "Also returns the last connections through the proxy: host, port, bytes and decision.",
    )],
    result: Some(schema_of::<SandboxReport>()),
    action: Engine(|fields| Command::GetSandbox { connections: fields.flag("connections") }),
};

pub(crate) const SET_SANDBOX: Row = Row {
    name: "set_sandbox",
    about: "Changes what the tools may do, from the next call on; calls in progress go on as they began. Fails with `forbidden` if \
            that is less strict than it is now, unless bowline was started with `--client-may-widen`, and with \
            `invalid_argument` if a network other than `full` is asked for without a mode that confines.",
    fields: &[
        Field::optional("mode", OneOf(MODES), "What tools may do to the machine; without it, as before."),
        Field::optional("network", OneOf(NETWORKS), "What they reach of the network; without it, as before."),
    ],
    result: Some(schema_of::<SandboxSummary>()),
    action: Engine(|mut fields| Command::SetSandbox {
        change: SandboxChange {
            mode: fields.optional_text("mode").as_deref().and_then(SandboxMode::parse),
            network: fields.optional_text("network").as_deref().and_then(SandboxNetwork::parse),
        },
    }),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_vocabulary() {
        assert!(MODES.iter().copied().eq(SandboxMode::ALL.iter().map(|mode| mode.as_str())));
        assert!(NETWORKS.iter().copied().eq(SandboxNetwork::ALL.iter().map(|network| network.as_str())));
    }
}
