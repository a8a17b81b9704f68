//! Which test shows which sentence of omp's document.

/// A sentence, or a row of a table, and the test that fails when it is not kept.
const TABLE: &[(&str, &str)] = &[
    ("omp --mode rpc [regular CLI options]", "every_command_of_the_document_is_answered_with_its_id"),
    ("@file CLI arguments are rejected in RPC mode", "at_file_arguments_are_rejected"),
    ("The process reads stdin as JSONL", "every_command_of_the_document_is_answered_with_its_id"),
    ("When stdin closes, the process exits with code 0", "the_end_of_stdin_is_the_end_of_the_process"),
    (
        "Responses/events are written as one JSON object per line",
        "every_command_of_the_document_is_answered_with_its_id",
    ),
    ("All commands accept optional id", "every_command_of_the_document_is_answered_with_its_id"),
    (
        "If provided, normal command responses echo the same id",
        "every_command_of_the_document_is_answered_with_its_id",
    ),
    (
        "Unknown command responses are emitted with id: undefined",
        "unknown_commands_are_answered_without_their_id",
    ),
    (
        "Parse exceptions in the input loop emit command: \"parse\" with id: undefined",
        "a_line_that_is_no_json_costs_one_line",
    ),
    (
        "prompt returns immediate success, then may emit a later error response with the same id",
        "a_prompt_that_fails_was_acknowledged_first",
    ),
    (
        "abort_and_prompt returns immediate success, then may emit a later error response",
        "abort_and_prompt_is_acknowledged_and_may_fail_later",
    ),
    ("RpcCommand: every command", "every_command_of_the_document_is_answered_with_its_id"),
    ("prompt: images", "images_go_to_the_model"),
    ("new_session: parentSession", "sessions_are_begun_branched_and_switched"),
    ("set_model, cycle_model, get_available_models", "every_command_of_the_document_is_answered_with_its_id"),
    ("compact: customInstructions", "a_compaction_that_is_asked_for_is_told_by_its_response_alone"),
    ("set_auto_retry, abort_retry", "a_retry_that_is_given_up_is_the_end"),
    ("bash, abort_bash", "a_bash_is_overtaken_by_its_abort"),
    ("switch_session, branch, get_branch_messages", "sessions_are_begun_branched_and_switched"),
    ("get_last_assistant_text, get_messages", "sessions_are_begun_branched_and_switched"),
    (
        "Success: { id?, type, command, success: true, data? }",
        "every_command_of_the_document_is_answered_with_its_id",
    ),
    ("Failure: { id?, type, command, success: false, error }", "failures_leave_the_process_alive"),
    ("RpcSessionState", "the_state_has_the_fields_of_the_document"),
    ("Common event types: agent, turn, message, tool_execution", "a_run_with_a_tool_has_its_events_in_order"),
    ("auto_compaction_start, auto_compaction_end", "an_automatic_compaction_comes_before_the_one_end"),
    ("auto_retry_start, auto_retry_end", "a_retry_has_one_end_with_the_messages_of_the_last_try"),
    (
        "message_update includes streaming deltas in assistantMessageEvent",
        "every_update_repeats_the_message_so_far",
    ),
    (
        "command acceptance != run completion; final completion is observed via agent_end",
        "a_prompt_may_follow_agent_end_at_once",
    ),
    ("\"steer\" => queued steering message (interrupt path)", "a_prompt_during_a_run_says_which_queue"),
    ("\"followUp\" => queued follow-up message (post-turn path)", "a_prompt_during_a_run_says_which_queue"),
    ("If omitted during streaming, prompt fails", "a_prompt_that_fails_was_acknowledged_first"),
    (
        "steeringMode, followUpMode: \"one-at-a-time\", interruptMode: \"immediate\"",
        "the_state_has_the_fields_of_the_document",
    ),
    ("\"one-at-a-time\": dequeue one queued message per turn", "queues_give_one_message_or_all"),
    ("\"all\": dequeue entire queue at once", "queues_give_one_message_or_all"),
    (
        "\"immediate\": pending steering can abort remaining tool calls in the turn",
        "immediate_steering_skips_the_calls_that_are_left",
    ),
    ("\"wait\": defer steering until turn completion", "steering_that_waits_lets_every_call_run"),
    ("Model not found: provider/model", "failures_leave_the_process_alive"),
    ("Most command failures are recoverable; process remains alive", "failures_leave_the_process_alive"),
    (
        "Malformed JSONL emits a parse error response and reading goes on",
        "a_line_that_is_no_json_costs_one_line",
    ),
    ("Empty set_session_name is rejected (Session name cannot be empty)", "failures_leave_the_process_alive"),
    ("Extension UI responses with unknown id are ignored", "answers_of_the_user_interface_are_ignored"),
    (
        "Example: prompt, get_state, set_steering_mode, set_interrupt_mode",
        "the_examples_of_the_document_work_as_they_stand",
    ),
];

#[test]
fn every_test_of_the_table_exists() {
    let files = [
        include_str!("commands.rs"),
        include_str!("runs.rs"),
        include_str!("prompting.rs"),
        include_str!("snapshots.rs"),
        include_str!("steering.rs"),
    ];
    for (sentence, test) in TABLE {
        let function = format!("fn {test}(");
        assert!(files.iter().any(|file| file.contains(&function)), "{sentence}: there is no {test}");
    }
}
