//! What tools may do, and when the user is asked.

use bowline_core::sandbox::{AskMode, SandboxLevel, SandboxMode, SandboxNetwork, SandboxWorkspace};
use bowline_sandbox::Home;
use bowline_tools::Inherit;

use super::{LONGEST_MS, Setting};
use crate::settings::value::Kind::{Choice, Number, Objects, Switch, Texts};

const SANDBOX_MODES: &[&str] = &["read-only", "workspace-write", "external", "full-access"];
const NETWORKS: &[&str] = &["none", "allow-list", "full"];

/// The settings, in the order of the documentation.
pub(super) const SETTINGS: &[Setting] = &[
    Setting {
        path: "sandbox.mode",
        kind: Choice(SANDBOX_MODES, |file, value| file.sandbox.mode = SandboxMode::parse(value)),
        default: r#""full-access""#,
        example: r#""workspace-write""#,
        about: "what the built-in tools and their commands [may do](security.md#modes): `read-only`, `workspace-write`, \
            `full-access`, or `external` if something else confines bowline",
    },
    Setting {
        path: "sandbox.network",
        kind: Choice(NETWORKS, |file, value| file.sandbox.network = SandboxNetwork::parse(value)),
        default: r#""none""#,
        example: r#""full""#,
        about: "what they [reach](security.md#network) in a sandbox: `none`, `allow-list` for `sandbox.hosts`, or `full`",
    },
    Setting {
        path: "sandbox.writable",
        kind: Texts(|file, value| file.sandbox.writable = value),
        default: "none",
        example: r#"["~/.cache/pip"]"#,
        about: "folders that they may write beside the working folder, as absolute paths",
    },
    Setting {
        path: "sandbox.readable",
        kind: Texts(|file, value| file.sandbox.readable = value),
        default: "none",
        example: r#"["~/.npmrc"]"#,
        about: "files and folders that they may read although they are [masked](security.md#modes), as absolute paths",
    },
    Setting {
        path: "sandbox.home",
        kind: Choice(&["read-only", "overlay"], |file, value| {
            file.sandbox.home = if value == "overlay" { Home::Overlay } else { Home::ReadOnly };
        }),
        default: r#""read-only""#,
        example: r#""overlay""#,
        about: "`overlay` lets them write to a copy of the home folder that is kept for each project, so that package managers work; the \
            real one stays as it is",
    },
    Setting {
        path: "sandbox.workspace",
        kind: Choice(&["direct", "overlay"], |file, value| {
            file.sandbox.workspace = SandboxWorkspace::parse(value);
        }),
        default: r#""direct""#,
        example: r#""overlay""#,
        about: "`overlay` keeps what they change in the working folder apart until the client [accepts it](workspace-overlay.md); needs \
            `sandbox.mode` `workspace-write`",
    },
    Setting {
        path: "sandbox.minimum",
        kind: Choice(&["full", "landlock"], |file, value| file.sandbox.minimum = SandboxLevel::parse(value)),
        default: r#""full""#,
        example: r#""landlock""#,
        about: "the least [level](security.md#levels) that is accepted: where it is unavailable, no tool runs",
    },
    Setting {
        path: "sandbox.hosts",
        kind: Texts(|file, value| file.sandbox.hosts = value),
        default: "none",
        example: r#"["crates.io", "*.crates.io", "example.org:8443"]"#,
        about: "the hosts that they reach if `sandbox.network` is `allow-list`",
    },
    Setting {
        path: "sandbox.deniedHosts",
        kind: Texts(|file, value| file.sandbox.denied_hosts = value),
        default: "none",
        example: r#"["uploads.example.org"]"#,
        about: "hosts that they do not reach although `sandbox.hosts` or an approval allows them",
    },
    Setting {
        path: "sandbox.unixSockets",
        kind: Choice(&["allow", "deny"], |file, value| file.sandbox.denies_unix_sockets = value == "deny"),
        default: r#""allow""#,
        example: r#""deny""#,
        about: "`deny` refuses Unix sockets altogether: those that exist at the start are out of reach in any case, but one that another \
            program makes later at a visible path is not",
    },
    Setting {
        path: "sandbox.clientMayWiden",
        kind: Switch(|file, value| file.sandbox.client_may_widen = value),
        default: "false",
        example: "true",
        about: "let the client loosen sandbox, approvals and limits, with `set_sandbox`, `set_approvals` and `set_limits`",
    },
    Setting {
        path: "sandbox.environment.inherit",
        kind: Choice(&["scrubbed", "core", "all"], |file, value| {
            file.command_variables = match value {
                "core" => Inherit::Core,
                "all" => Inherit::All,
                _ => Inherit::Scrubbed,
            };
        }),
        default: r#""scrubbed""#,
        example: r#""core""#,
        about: "which [variables](tools.md#environment-of-commands) commands get: `scrubbed` drops what looks secret, `core` \
            keeps only the necessary, `all` drops nothing",
    },
    Setting {
        path: "sandbox.environment.keep",
        kind: Texts(|file, value| file.kept_variables = value),
        default: "none",
        example: r#"["SSH_AUTH_SOCK", "MY_*"]"#,
        about: "names of variables that commands get in any case; a `*` at the end stands for any end",
    },
    Setting {
        path: "approvals.ask",
        kind: Choice(&["never", "on-request", "untrusted"], |file, value| {
            file.approvals.ask = AskMode::parse(value);
        }),
        default: r#""never""#,
        example: r#""on-request""#,
        about: "when the user is [asked about tool calls](approvals.md)",
    },
    Setting {
        path: "approvals.rules",
        kind: Objects(|file, value| file.approvals.rules = value),
        default: "none",
        example: r#"[{"tool": "bash", "prefix": ["git", "push"], "then": "ask"}]"#,
        about: "which calls run, which are asked about and which are refused: [rules](approvals.md#rules)",
    },
    Setting {
        path: "approvals.timeoutMs",
        kind: Number(LONGEST_MS, |file, value| file.approvals.timeout_ms = Some(value)),
        default: "600000",
        example: "60000",
        about: "how long a question about a call waits for an answer; then the call is denied. 0 waits forever",
    },
    Setting {
        path: "approvals.dialogChoices",
        kind: Choice(&["simple", "full"], |file, value| file.approvals.full_dialogs = value == "full"),
        default: r#""simple""#,
        example: r#""full""#,
        about: "`full` adds `Session` and `Project` to the dialogs about calls",
    },
];
