//! Error texts that clients of pi and of operator-use match on.

use bowline_testkit::{Launch, Workspace};
use serde_json::json;

/// Checks the error that each command is answered with, in an empty session in memory.
#[track_caller]
fn check(dialect: &str, cases: &[(serde_json::Value, &str)]) {
    let workspace = Workspace::empty();
    let launch = Launch::rpc(&workspace).model("scripted/demo").arguments(&["--no-session"]);
    let mut agent = launch.dialect(dialect).start_greeted();
    for (command, error) in cases {
        assert_eq!(agent.refuse(command.clone()), *error, "{dialect}: {command}");
    }
}

#[test]
fn errors_of_pi_have_the_texts_of_pi() {
    check(
        "pi",
        &[
            (json!({ "type": "set_session_name", "name": " \r\n " }), "Session name cannot be empty"),
            (json!({ "type": "fork", "entryId": "x" }), "Invalid entry ID for forking"),
            (json!({ "type": "export_html" }), "Cannot export in-memory session to HTML"),
            (json!({ "type": "get_entries", "since": "zz" }), "Entry not found: zz"),
            (json!({ "type": "set_model", "provider": "a", "modelId": "b" }), "Model not found: a/b"),
            (json!({ "type": "compact" }), "Nothing to compact (session too small)"),
            (json!({ "type": "reset" }), "Unknown command: reset"),
            (
                json!({ "type": "navigate_tree", "entryId": "x", "customInstructions": "be brief" }),
                "Instructions are for a summary; set summarize to true",
            ),
        ],
    );
}

#[test]
fn errors_of_operator_have_the_texts_of_its_code() {
    for dialect in ["operator", "operator-flat"] {
        let is_flat = dialect == "operator-flat";
        let (text, file) = if is_flat { ("message", "session_path") } else { ("text", "session_file") };
        check(
            dialect,
            &[
                (json!({ "type": "prompt" }), &format!("'{text}' is required")),
                (json!({ "type": "prompt", "text": "" }), &format!("'{text}' is required")),
                (json!({ "type": "steer" }), "'message' required and session must be active"),
                (json!({ "type": "switch_session" }), &format!("'{file}' is required")),
                (json!({ "type": "fork" }), "'entry_id' is required"),
                (json!({ "type": "fork", "entry_id": "x" }), "\"Entry 'x' not found in session.\""),
                (json!({ "type": "set_session_name" }), "'name' is required"),
                (json!({ "type": "set_session_name", "name": "  " }), "'name' is required"),
                (json!({ "type": "set_model" }), "'model_id' is required"),
                (json!({ "type": "set_thinking_level", "level": "x" }), "Unknown thinking level: 'x'"),
                (json!({ "type": "set_auto_compaction" }), "'enabled' required"),
                (json!({ "type": "foo" }), "Unknown command: 'foo'"),
            ],
        );
    }
}

#[test]
fn name_of_a_session_is_one_trimmed_line() {
    for (dialect, member) in [("pi", "sessionName"), ("operator", "session_name"), ("omp", "sessionName")] {
        let workspace = Workspace::empty();
        let mut agent = Launch::rpc(&workspace).dialect(dialect).start_greeted();
        agent.carry_out(json!({ "type": "set_session_name", "name": "  one\r\ntwo\n" }));
        assert_eq!(agent.get("get_state")[member], "one two", "{dialect}");
    }
}
