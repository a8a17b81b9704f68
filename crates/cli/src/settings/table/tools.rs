//! Tools, commands, queues, and where sessions are.

use std::num::NonZeroUsize;

use bowline_core::command::QueueMode;

use super::{LONGEST_MS, Setting};
use crate::settings::value::Kind::{Choice, Number, Switch, Text, Texts};

const MOST_PARALLEL_TOOLS: u64 = 1000;
const QUEUE_MODES: &[&str] = &["one-at-a-time", "all"];

/// The settings, in the order of the documentation.
pub(super) const SETTINGS: &[Setting] = &[
    Setting {
        path: "defaultTools",
        kind: Texts(|file, value| file.default_tools = Some(value)),
        default: "read, bash, edit, write",
        example: r#"["read", "grep"]"#,
        about: "a list of tools, as for `--tools`",
    },
    Setting {
        path: "sessionDir",
        kind: Text(|file, value| file.session_dir = Some(value)),
        default: "`sessions` in the folder",
        example: r#""~/sessions""#,
        about: "one folder for the sessions of all projects, as `--session-dir`",
    },
    Setting {
        path: "steeringMode",
        kind: Choice(QUEUE_MODES, |file, value| file.steering_mode = QueueMode::parse(value)),
        default: "`\"one-at-a-time\"`; in the dialect `opi`, `\"all\"`",
        example: r#""all""#,
        about: "`\"one-at-a-time\"` or `\"all\"`",
    },
    Setting {
        path: "followUpMode",
        kind: Choice(QUEUE_MODES, |file, value| file.follow_up_mode = QueueMode::parse(value)),
        default: r#""one-at-a-time""#,
        example: r#""all""#,
        about: "`\"one-at-a-time\"` or `\"all\"`",
    },
    Setting {
        path: "shellPath",
        kind: Text(|file, value| file.shell_path = Some(value.into())),
        default: "`/bin/bash`, or `sh`",
        example: r#""/bin/bash""#,
        about: "the shell for commands; it is called with `-c` and the command",
    },
    Setting {
        path: "shellCommandPrefix",
        kind: Text(|file, value| file.shell_command_prefix = Some(value)),
        default: "none",
        example: r#""source ~/.bash_aliases""#,
        about: "inserted before each command, on a separate line",
    },
    Setting {
        path: "commandTimeoutMs",
        kind: Number(LONGEST_MS, |file, value| file.command_timeout_ms = Some(value)),
        default: "600000",
        example: "1800000",
        about: "when the tool `bash` kills a command for which the model sets no `timeout`; 0 is never",
    },
    Setting {
        path: "maxParallelTools",
        kind: Number(MOST_PARALLEL_TOOLS, |file, value| {
            file.max_parallel_tools = usize::try_from(value.max(1)).ok().and_then(NonZeroUsize::new);
        }),
        default: "16",
        example: "4",
        about: "how many tool calls of an answer run at the same time, at least 1; the others wait",
    },
    Setting {
        path: "hostToolTimeoutMs",
        kind: Number(LONGEST_MS, |file, value| file.host_tool_timeout_ms = Some(value)),
        default: "1800000",
        example: "60000",
        about: "how long a client may send neither a result nor an update for a call of one of [its tools](host-tools.md); 0 means unlimited",
    },
    Setting {
        path: "acp.editorWrites",
        kind: Switch(|file, value| file.editor_writes = Some(value)),
        default: "true",
        example: "false",
        about: "whether `edit` and `write` go through [editors](acp.md#files) that offer it, so that changes can be reviewed there",
    },
];
