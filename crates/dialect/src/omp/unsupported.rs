//! The commands of later versions of omp that bowline does not have. They are refused by name, so that a client learns at
//! once what to do instead.

/// Each command, and what its client can do instead.
pub(super) const COMMANDS: &[(&str, &str)] = &[
    ("set_fast_mode", "no model has a fast mode here; choose a faster model with set_model"),
    ("handoff", "continue in a new session with new_session, or shorten this one with compact"),
];

/// Returns why a command is refused.
pub(super) fn reason(name: &str) -> Option<&'static str> {
    COMMANDS.iter().find(|(unsupported, _)| *unsupported == name).map(|(_, reason)| *reason)
}
