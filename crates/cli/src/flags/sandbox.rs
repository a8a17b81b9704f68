//! Flags that confine the tools.

use bowline_core::sandbox::{SandboxMode, SandboxNetwork, SandboxWorkspace};

use super::Group::Sandbox;
use super::Takes::{Nothing, Value};
use super::{Flag, flag, set};

/// The flags, in the order of the help.
pub(super) const FLAGS: &[Flag] = &[
    flag(
        Sandbox,
        "--sandbox",
        None,
        Value("MODE"),
        "What tools may do: read-only, workspace-write, full-access or external (default: full-access)",
        |arguments, value| {
            // What clients of other agents pass to run without a sandbox.
            let is_off = matches!(value.as_str(), "off" | "none");
            let mode = if is_off { Some(SandboxMode::FullAccess) } else { SandboxMode::parse(&value) };
            let mode = mode.ok_or_else(|| {
                unknown("a sandbox mode", &value, &SandboxMode::ALL.iter().map(|mode| mode.as_str()))
            });
            set(&mut arguments.sandbox, mode?)
        },
    ),
    flag(
        Sandbox,
        "--network",
        None,
        Value("MODE"),
        "What tools reach from a sandbox: none, allow-list or full (default: none)",
        |arguments, value| {
            let names = SandboxNetwork::ALL.iter().map(|network| network.as_str());
            let network = SandboxNetwork::parse(&value).ok_or_else(|| unknown("a network", &value, &names));
            set(&mut arguments.network, network?)
        },
    ),
    flag(
        Sandbox,
        "--writable",
        None,
        Value("FOLDER"),
        "Tools may also write this folder from a sandbox; may be repeated",
        |arguments, value| {
            if value.is_empty() {
                return Err("the name of a folder is missing".to_owned());
            }
            arguments.writable.push(value);
            Ok(())
        },
    ),
    flag(
        Sandbox,
        "--workspace",
        None,
        Value("direct|overlay"),
        "Where changes go with --sandbox workspace-write; overlay: nowhere until accepted (default: direct)",
        |arguments, value| {
            let names = SandboxWorkspace::ALL.iter().map(|workspace| workspace.as_str());
            let workspace = SandboxWorkspace::parse(&value);
            let workspace = workspace.ok_or_else(|| unknown("a kind of workspace", &value, &names));
            set(&mut arguments.workspace, workspace?)
        },
    ),
    flag(
        Sandbox,
        "--sandbox-eager",
        None,
        Nothing,
        "Make the sandbox at the start instead of at the first tool call",
        |arguments, _| {
            arguments.sandbox_eager = true;
            Ok(())
        },
    ),
    flag(
        Sandbox,
        "--client-may-widen",
        None,
        Nothing,
        "Let the client loosen sandbox, approvals and limits",
        |arguments, _| {
            arguments.client_may_widen = true;
            Ok(())
        },
    ),
];

/// Says that a value is not one of several words.
fn unknown(what: &str, value: &str, words: &(impl Iterator<Item = &'static str> + Clone)) -> String {
    let words: Vec<_> = words.clone().collect();
    format!("\"{value}\" is not {what}; there are {}", words.join(", "))
}
