//! What watches and records the conversation: stream rules, tasks, undo, durability.

use bowline_core::stream_rule::RuleInterrupt;
use bowline_session::Durability;

use super::{MOST_TURNS, Setting};
use crate::settings::value::Kind::{Choice, Number, Switch, Texts};

const MOST_REMINDERS: u64 = 100;
/// A content is in memory while it is kept.
const LARGEST_UNDO_FILE: u64 = 100 * 1024 * 1024;
const MOST_UNDO_BYTES: u64 = 1 << 40;

/// The settings, in the order of the documentation.
pub(super) const SETTINGS: &[Setting] = &[
    Setting {
        path: "ttsr.enabled",
        kind: Switch(|file, value| file.stream_rules.enabled = Some(value)),
        default: "`false`; in the dialect `omp`, `true`",
        example: "true",
        about: "whether [stream rules](stream-rules.md) watch what the model writes",
    },
    Setting {
        path: "ttsr.interruptMode",
        kind: Choice(&["always", "prose-only", "tool-only", "never"], |file, value| {
            file.stream_rules.interrupt = RuleInterrupt::parse(value);
        }),
        default: r#""always""#,
        example: r#""prose-only""#,
        about: "which matches interrupt the answer, unless a rule says; the others are mentioned afterwards",
    },
    Setting {
        path: "ttsr.contextMode",
        kind: Choice(&["discard", "keep"], |file, value| {
            file.stream_rules.keeps_interrupted = value == "keep";
        }),
        default: r#""discard""#,
        example: r#""keep""#,
        about: "whether the model sees what it had written before it was interrupted",
    },
    Setting {
        path: "ttsr.repeatMode",
        kind: Choice(&["once", "after-gap"], |file, value| file.stream_rules.repeats = value == "after-gap"),
        default: r#""once""#,
        example: r#""after-gap""#,
        about: "whether a rule steps in once in a session, or again after `ttsr.repeatGap` turns",
    },
    Setting {
        path: "ttsr.repeatGap",
        kind: Number(MOST_TURNS, |file, value| file.stream_rules.repeat_gap = Some(value)),
        default: "10",
        example: "5",
        about: "the number of turns, at least 1",
    },
    Setting {
        path: "ttsr.disabledRules",
        kind: Texts(|file, value| file.stream_rules.disabled = value),
        default: "none",
        example: r#"["no-unwrap"]"#,
        about: "the names of rules that are not used",
    },
    Setting {
        path: "todo.enabled",
        kind: Switch(|file, value| file.todos.enabled = Some(value)),
        default: "`false`; in the dialect `omp`, `true`",
        example: "true",
        about: "whether the tool [`todo`](todos.md) is enabled by default",
    },
    Setting {
        path: "todo.reminders",
        kind: Switch(|file, value| file.todos.reminders = Some(value)),
        default: "true",
        example: "false",
        about: "whether a model that stops is reminded of the tasks that are left",
    },
    Setting {
        path: "todo.remindersMax",
        kind: Number(MOST_REMINDERS, |file, value| file.todos.max_reminders = u32::try_from(value).ok()),
        default: "3",
        example: "1",
        about: "the maximum number of reminders after one prompt",
    },
    Setting {
        path: "undo.enabled",
        kind: Switch(|file, value| file.undo.enabled = Some(value)),
        default: "true",
        example: "false",
        about: "whether former contents of files are kept, so that changes of runs can be [taken back](undo.md)",
    },
    Setting {
        path: "undo.commands",
        kind: Switch(|file, value| file.undo.commands = Some(value)),
        default: "true",
        example: "false",
        about: "whether the changes of commands are looked for, or only those of the file tools are kept",
    },
    Setting {
        path: "undo.eachCommand",
        kind: Switch(|file, value| file.undo.each_command = Some(value)),
        default: "false",
        example: "true",
        about: "whether the changes of commands are looked for after each command instead of each turn",
    },
    Setting {
        path: "undo.maxFileBytes",
        kind: Number(LARGEST_UNDO_FILE, |file, value| file.undo.max_file_bytes = Some(value)),
        default: "10485760",
        example: "1048576",
        about: "the largest file whose content is kept, in bytes",
    },
    Setting {
        path: "undo.maxBytes",
        kind: Number(MOST_UNDO_BYTES, |file, value| file.undo.max_bytes = Some(value)),
        default: "209715200",
        example: "52428800",
        about: "the most that is kept of one session, in bytes; what the oldest runs need is dropped first",
    },
    Setting {
        path: "durability",
        kind: Choice(&["flush", "fsync"], |file, value| {
            file.durability = Some(if value == "fsync" { Durability::Fsync } else { Durability::Flush });
        }),
        default: r#""flush""#,
        example: r#""fsync""#,
        about: "`fsync` waits for the disk after every session entry: [sessions.md](sessions.md#when-entries-are-written)",
    },
];
