//! What is said about limits: that one is reached and how to raise it, and that a client cannot.

use bowline_core::ErrorKind;
use bowline_core::event::Failure;
use bowline_core::limits::{LimitScope, Limited};

/// Returns why a run or a session may not go on.
pub(super) fn failure(scope: LimitScope, limited: Limited, limit: f64, used: f64) -> Failure {
    if (scope, limited) == (LimitScope::Run, Limited::Turns) {
        let text = format!(
            "The run was stopped after {} without a message of yours. Send another prompt to go on, or raise the limit: {}.",
            limited.with_unit(limit),
            remedy(limited)
        );
        return Failure::new(ErrorKind::TooManyTurns, text);
    }
    let (amount, used) = (limited.with_unit(limit), limited.with_unit(used));
    let text = match scope {
        LimitScope::Run => format!(
            "The run was stopped at its limit of {amount}; it has used {used}. Send another prompt to go on, or raise the limit: {}.",
            remedy(limited)
        ),
        LimitScope::Session => format!(
            "The session has reached its limit of {amount}; it has used {used}. Start another session, or raise limits.session.{} in settings.json.",
            limited.as_str()
        ),
    };
    Failure::new(ErrorKind::Budget, text)
}

/// Returns why a client cannot raise a limit.
pub(super) fn widening(scope: LimitScope, limited: Limited, most: f64) -> String {
    format!(
        "{}.{} cannot exceed {}, the configured limit; a client can only make limits stricter unless bowline is started with --client-may-widen",
        scope.as_str(),
        limited.as_str(),
        limited.with_unit(most)
    )
}

/// Returns what raises a limit of runs: the flag, which takes precedence, and the setting.
fn remedy(limited: Limited) -> String {
    let flag = match limited {
        Limited::Cost => "--max-cost",
        Limited::Tokens => "--max-tokens",
        Limited::Turns => "--max-turns",
        Limited::ToolCalls => "--max-tool-calls",
        Limited::Seconds => "--max-time",
    };
    format!("{flag}, or limits.run.{} in settings.json", limited.as_str())
}
