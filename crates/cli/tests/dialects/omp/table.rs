//! Maps each sentence of omp's documentation to a test.

/// A sentence or table row of the documentation, and the test that checks it.
const TABLE: &[(&str, &str)] = &[
    ("omp --mode rpc [regular CLI options]", "every_documented_command_is_answered_with_its_id"),
    ("@file CLI arguments are rejected in RPC mode", "at_file_arguments_are_rejected"),
    ("The process reads stdin as JSONL", "every_documented_command_is_answered_with_its_id"),
    ("When stdin closes, the process exits with code 0", "process_exits_at_end_of_stdin"),
    (
        "Responses/events are written as one JSON object per line",
        "every_documented_command_is_answered_with_its_id",
    ),
    ("All commands accept optional id", "every_documented_command_is_answered_with_its_id"),
    (
        "If provided, normal command responses echo the same id",
        "every_documented_command_is_answered_with_its_id",
    ),
    // Not followed: its clients wait for a response with the id until they give up.
    ("Unknown command responses are emitted with id: undefined", "unknown_command_is_answered_with_its_id"),
    (
        "Parse exceptions in the input loop emit command: \"parse\" with id: undefined",
        "invalid_json_costs_one_line",
    ),
    // Later versions of omp answer with the command and its id, as bowline does.
    (
        "Handler exceptions in the input loop emit command: \"parse\" with id: undefined",
        "process_survives_failed_commands",
    ),
    (
        "prompt returns immediate success, then may emit a later error response with the same id",
        "failing_prompt_is_acknowledged_first",
    ),
    (
        "abort_and_prompt returns immediate success, then may emit a later error response",
        "abort_and_prompt_is_acknowledged_and_may_fail_later",
    ),
    ("RpcCommand: every command", "every_documented_command_is_answered_with_its_id"),
    ("prompt: images", "images_reach_the_model"),
    ("new_session: parentSession", "sessions_are_created_branched_and_switched"),
    ("set_model, cycle_model, get_available_models", "every_documented_command_is_answered_with_its_id"),
    ("compact: customInstructions", "requested_compaction_is_reported_by_its_response_only"),
    ("set_auto_retry, abort_retry", "aborted_retry_ends_the_run"),
    ("bash, abort_bash", "abort_bash_overtakes_bash"),
    ("switch_session, branch, get_branch_messages", "sessions_are_created_branched_and_switched"),
    ("get_last_assistant_text, get_messages", "sessions_are_created_branched_and_switched"),
    (
        "Success: { id?, type, command, success: true, data? }",
        "every_documented_command_is_answered_with_its_id",
    ),
    ("Failure: { id?, type, command, success: false, error }", "process_survives_failed_commands"),
    ("RpcSessionState", "state_has_the_documented_fields"),
    ("Common event types: agent, turn, message, tool_execution", "events_of_a_run_with_a_tool_are_in_order"),
    ("auto_compaction_start, auto_compaction_end", "automatic_compaction_precedes_the_one_agent_end"),
    ("auto_retry_start, auto_retry_end", "retried_run_has_one_end_with_the_last_attempt"),
    ("ttsr_triggered", "broken_stream_rule_is_reported_and_the_turn_is_retried_with_it"),
    ("todo_reminder", "model_that_stops_with_tasks_left_is_reminded"),
    (
        "message_update includes streaming deltas in assistantMessageEvent",
        "every_update_repeats_the_message_so_far",
    ),
    (
        "command acceptance != run completion; final completion is observed via agent_end",
        "prompt_may_follow_agent_end_immediately",
    ),
    ("\"steer\" => queued steering message (interrupt path)", "prompt_during_a_run_names_its_queue"),
    ("\"followUp\" => queued follow-up message (post-turn path)", "prompt_during_a_run_names_its_queue"),
    ("If omitted during streaming, prompt fails", "failing_prompt_is_acknowledged_first"),
    (
        "steeringMode, followUpMode: \"one-at-a-time\", interruptMode: \"immediate\"",
        "state_has_the_documented_fields",
    ),
    ("\"one-at-a-time\": dequeue one queued message per turn", "queues_deliver_one_message_or_all"),
    ("\"all\": dequeue entire queue at once", "queues_deliver_one_message_or_all"),
    (
        "\"immediate\": pending steering can abort remaining tool calls in the turn",
        "immediate_steering_skips_the_remaining_calls",
    ),
    ("\"wait\": defer steering until turn completion", "waiting_steering_lets_every_call_run"),
    ("Model not found: provider/model", "process_survives_failed_commands"),
    ("Most command failures are recoverable; process remains alive", "process_survives_failed_commands"),
    ("Malformed JSONL emits a parse error response and reading goes on", "invalid_json_costs_one_line"),
    ("Empty set_session_name is rejected (Session name cannot be empty)", "process_survives_failed_commands"),
    (
        "extension_error: { type, extensionPath, event, error }",
        "failures_of_extensions_are_records_of_three_fields",
    ),
    ("extension_ui_request: select", "select_is_answered_with_a_value"),
    ("extension_ui_request: confirm, with an example", "confirm_is_answered_with_yes_or_no"),
    ("extension_ui_request: input, with an example", "input_is_answered_with_a_value"),
    ("extension_ui_request: editor", "editor_is_answered_with_a_value"),
    ("extension_ui_request: notify", "displays_are_requests_that_nobody_answers"),
    ("extension_ui_request: setStatus", "displays_are_requests_that_nobody_answers"),
    ("extension_ui_request: setWidget", "displays_are_requests_that_nobody_answers"),
    // Later versions of omp send it only if a variable says so, as bowline does.
    ("extension_ui_request: setTitle", "titles_are_sent_only_to_clients_that_want_them"),
    ("extension_ui_request: set_editor_text", "displays_are_requests_that_nobody_answers"),
    ("extension_ui_response: { id, value }", "select_is_answered_with_a_value"),
    ("extension_ui_response: { id, confirmed }", "confirm_is_answered_with_yes_or_no"),
    ("extension_ui_response: { id, cancelled: true }", "editor_is_answered_with_a_value"),
    (
        "If a dialog has a timeout, RPC mode resolves to a default value when timeout/abort fires",
        "dialog_that_times_out_or_is_aborted_has_its_default",
    ),
    (
        "Process termination conditions are stdin close or explicit extension-triggered shutdown",
        "extension_can_end_the_process",
    ),
    ("RpcClient correlates responses by generated req_<n> ids", "documented_examples_work_unchanged"),
    ("Extension UI responses with unknown id are ignored", "unknown_ui_responses_are_ignored"),
    (
        "Example: prompt, get_state, set_steering_mode, set_interrupt_mode",
        "documented_examples_work_unchanged",
    ),
];

#[test]
fn every_test_in_the_table_exists() {
    let files = [
        include_str!("commands.rs"),
        include_str!("extensions.rs"),
        include_str!("runs.rs"),
        include_str!("prompting.rs"),
        include_str!("rules_and_todos.rs"),
        include_str!("later_commands.rs"),
        include_str!("snapshots.rs"),
        include_str!("steering.rs"),
    ];
    for (sentence, test) in TABLE {
        let function = format!("fn {test}(");
        assert!(files.iter().any(|file| file.contains(&function)), "{sentence}: there is no {test}");
    }
}
