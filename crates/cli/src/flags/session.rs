//! Flags that choose and keep the session.

use bowline_session::Clock;

use super::Group::Session;
use super::Takes::{Nothing, Value};
use super::{Flag, flag, set};

/// The flags, in the order of the help.
pub(super) const FLAGS: &[Flag] = &[
    flag(
        Session,
        "--clock",
        None,
        Value("system|fixed"),
        "fixed: constant times and ids, for reproducible output",
        |arguments, value| match value.as_str() {
            "system" => set(&mut arguments.clock, Clock::System),
            "fixed" => set(&mut arguments.clock, Clock::fixed()),
            _ => Err(format!("\"{value}\" is not a clock; there are system and fixed")),
        },
    ),
    flag(
        Session,
        "--continue",
        Some("-c"),
        Nothing,
        "Continue the newest session of this folder",
        |arguments, _| {
            arguments.continue_session = true;
            Ok(())
        },
    ),
    flag(
        Session,
        "--session",
        None,
        Value("PATH|ID"),
        "Continue this session; a prefix of the id is enough",
        |arguments, value| set(&mut arguments.session, value),
    ),
    flag(
        Session,
        "--resume",
        None,
        Value("ID"),
        "The same as --session, for clients of opi",
        |arguments, value| set(&mut arguments.session, value),
    ),
    flag(
        Session,
        "--session-id",
        None,
        Value("ID"),
        "Continue the session with exactly this id, or create it",
        |arguments, value| set(&mut arguments.session_id, value),
    ),
    flag(
        Session,
        "--fork",
        None,
        Value("PATH|ID"),
        "Start a new session as a copy of this one",
        |arguments, value| set(&mut arguments.fork, value),
    ),
    flag(Session, "--session-dir", None, Value("FOLDER"), "Keep sessions here", |arguments, value| {
        set(&mut arguments.session_dir, value)
    }),
    flag(Session, "--name", Some("-n"), Value("TEXT"), "The session's name", |arguments, value| {
        set(&mut arguments.name, value)
    }),
    flag(Session, "--no-session", None, Nothing, "Keep the session in memory only", |arguments, _| {
        arguments.no_session = true;
        Ok(())
    }),
    flag(
        Session,
        "--export",
        None,
        Value("FILE"),
        "The same as bowline export FILE [--out PAGE]; the page may follow as an argument",
        |arguments, value| set(&mut arguments.export, value),
    ),
    flag(
        Session,
        "--out",
        Some("-o"),
        Value("FILE"),
        "Where `bowline export` writes the page, `bowline extension new` the extension, and `bowline man` the pages",
        |arguments, value| set(&mut arguments.out, value),
    ),
];
