//! What runs, sessions and subagents may spend.

use std::num::NonZeroUsize;

use super::{LONGEST_MS, MOST_SPENT, MOST_TURNS, Setting};
use crate::settings::value::Kind::{Amount, Number, Switch};

const MOST_SUBAGENTS: u64 = 100;
const DEEPEST_SUBAGENTS: u64 = 8;

/// The settings, in the order of the documentation.
pub(super) const SETTINGS: &[Setting] = &[
    Setting {
        path: "maxTurns",
        kind: Number(MOST_TURNS, |file, value| file.max_turns = u32::try_from(value).ok()),
        default: "500",
        example: "100",
        about: "how often the model is called in a run for one message of yours; 0 means unlimited",
    },
    Setting {
        path: "limits.run.cost",
        kind: Amount(MOST_SPENT, |file, value| {
            file.limits.run.cost = Some(value).filter(|limit| *limit > 0.0);
        }),
        default: "no limit",
        example: "0.5",
        about: "what a run may [cost](budgets.md) in US dollars; 0 means unlimited",
    },
    Setting {
        path: "limits.run.tokens",
        kind: Number(MOST_SPENT, |file, value| {
            file.limits.run.tokens = Some(value).filter(|limit| *limit > 0);
        }),
        default: "no limit",
        example: "200000",
        about: "how many tokens of all kinds a run may use; 0 means unlimited",
    },
    Setting {
        path: "limits.run.turns",
        kind: Number(MOST_TURNS, |file, value| file.limits_run_turns = Some(value)),
        default: "`maxTurns`",
        example: "100",
        about: "the same as `maxTurns`, and used instead of it if both are set; 0 means unlimited",
    },
    Setting {
        path: "limits.run.toolCalls",
        kind: Number(MOST_SPENT, |file, value| {
            file.limits.run.tool_calls = Some(value).filter(|limit| *limit > 0);
        }),
        default: "no limit",
        example: "50",
        about: "how many tools a run may call; 0 means unlimited",
    },
    Setting {
        path: "limits.run.seconds",
        kind: Amount(MOST_SPENT, |file, value| {
            file.limits.run.seconds = Some(value).filter(|limit| *limit > 0.0);
        }),
        default: "no limit",
        example: "600",
        about: "how long a run may take, without the time in which you are asked something; 0 means unlimited",
    },
    Setting {
        path: "limits.session.cost",
        kind: Amount(MOST_SPENT, |file, value| {
            file.limits.session.cost = Some(value).filter(|limit| *limit > 0.0);
        }),
        default: "no limit",
        example: "20",
        about: "what all runs of a session may [cost](budgets.md) in US dollars; 0 means unlimited",
    },
    Setting {
        path: "limits.session.tokens",
        kind: Number(MOST_SPENT, |file, value| {
            file.limits.session.tokens = Some(value).filter(|limit| *limit > 0);
        }),
        default: "no limit",
        example: "200000",
        about: "how many tokens of all kinds all runs of a session may use; 0 means unlimited",
    },
    Setting {
        path: "limits.session.turns",
        kind: Number(MOST_SPENT, |file, value| {
            file.limits.session.turns = Some(value).filter(|limit| *limit > 0);
        }),
        default: "no limit",
        example: "1000",
        about: "how often the model may answer in all runs of a session; 0 means unlimited",
    },
    Setting {
        path: "limits.session.toolCalls",
        kind: Number(MOST_SPENT, |file, value| {
            file.limits.session.tool_calls = Some(value).filter(|limit| *limit > 0);
        }),
        default: "no limit",
        example: "500",
        about: "how many tools all runs of a session may call; 0 means unlimited",
    },
    Setting {
        path: "limits.session.seconds",
        kind: Amount(MOST_SPENT, |file, value| {
            file.limits.session.seconds = Some(value).filter(|limit| *limit > 0.0);
        }),
        default: "no limit",
        example: "7200",
        about: "how long all runs of a session may take, without the time in which you are asked something; 0 means unlimited",
    },
    Setting {
        path: "task.enabled",
        kind: Switch(|file, value| file.task.enabled = Some(value)),
        default: "on in the dialect omp",
        example: "true",
        about: "whether the model can give [tasks to subagents](subagents.md)",
    },
    Setting {
        path: "task.maxConcurrency",
        kind: Number(MOST_SUBAGENTS, |file, value| {
            file.task.max_concurrency = usize::try_from(value.max(1)).ok().and_then(NonZeroUsize::new);
        }),
        default: "4",
        example: "8",
        about: "how many subagents of a session run at the same time, at least 1; the others wait",
    },
    Setting {
        path: "task.maxRecursionDepth",
        kind: Number(DEEPEST_SUBAGENTS, |file, value| {
            file.task.max_recursion_depth = u32::try_from(value.max(1)).ok();
        }),
        default: "2",
        example: "1",
        about: "how deep subagents may be nested, at least 1; with 1, subagents have none of their own",
    },
    Setting {
        path: "task.maxTurns",
        kind: Number(MOST_TURNS, |file, value| file.task.max_turns = u32::try_from(value).ok()),
        default: "100",
        example: "30",
        about: "how often a subagent may call its model; 0 means unlimited",
    },
    Setting {
        path: "task.maxRuntimeMs",
        kind: Number(LONGEST_MS, |file, value| file.task.max_runtime_ms = Some(value)),
        default: "3600000",
        example: "600000",
        about: "how long a subagent may take; 0 means unlimited",
    },
];
