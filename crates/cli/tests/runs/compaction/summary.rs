//! What is summarised, what is kept, and what the model is asked.

use bowline_testkit::{Launch, Reply, Usage, assert_well_formed, of_type};
use serde_json::json;

use super::{
    NEARLY_FULL, assert_calls_have_results, compact, long, only, outline, prepare, prepare_with,
    start_with_history, summary_requests,
};

#[test]
fn summary_request_has_history_and_instructions_but_no_tools() {
    let (server, workspace) = prepare();
    let mut agent = start_with_history(&server, &workspace);
    server.reply(Reply::text("short"));
    agent.carry_out(json!({ "type": "compact", "customInstructions": "Only the BLUE parts." }));
    let body = &summary_requests(&server)[0].body;
    let sent = body["messages"].to_string();
    assert_eq!(body["messages"].as_array().unwrap().len(), 1);
    assert!(sent.contains("[User]: ONE") && sent.contains("[Assistant]: answer one"), "{sent}");
    assert!(sent.contains("Only the BLUE parts.") && sent.contains("## Next Steps"), "{sent}");
    assert!(!sent.contains("TWO"), "{sent}");
    assert_eq!(body.get("tools"), None);
    // Four fifths of the reserve.
    assert_eq!(body["max_tokens"], 13_107);
}

#[test]
fn tool_call_is_kept_with_its_results_of_any_length() {
    let (server, workspace) = prepare();
    let mut agent = workspace.start();
    let print = json!({ "command": "printf 'y%.0s' $(seq 1000)" });
    server.reply(Reply::new().tool("bash", print.clone()).tool("bash", print.clone()).usage(NEARLY_FULL));
    server.reply(Reply::text("WHAT WAS"));
    server.reply(Reply::new().tool("bash", print).usage(NEARLY_FULL));
    server.reply(Reply::text("WHAT WAS THEN"));
    let records = agent.run(&long("ONE"));
    assert_eq!(of_type(&records, "compaction_end").len(), 2);
    for request in server.requests() {
        assert_calls_have_results(&request.body);
    }
    assert!(summary_requests(&server)[1].body.to_string().contains("[Tool result]: yyy"));
    assert_eq!(
        outline(&agent.get("get_messages")),
        [
            "compactionSummary: WHAT WAS\n\n---\n\n**Turn Context (split turn):**\n\nWHAT WAS THEN",
            "assistant: bash",
            &format!("toolResult: {}", "y".repeat(1000)),
            "assistant: ok"
        ]
    );
    assert_well_formed(agent.transcript());
}

#[test]
fn split_turn_gets_its_own_summary() {
    let (server, workspace) = prepare();
    let mut agent = workspace.start();
    agent.run(&long("ONE"));
    server.reply(Reply::text("I look.").tool("bash", json!({ "command": "echo FOUND" })));
    server.reply(Reply::text(&long("REPORT")));
    agent.run(&long("TWO"));
    server.reply(Reply::text("the past"));
    server.reply(Reply::text("the turn so far"));
    let result = agent.carry_out(json!({ "type": "compact", "customInstructions": "be BLUE" }));
    assert_eq!(result["summary"], "the past\n\n---\n\n**Turn Context (split turn):**\n\nthe turn so far");
    assert_eq!((&result["usage"]["input"], &result["usage"]["output"]), (&json!(200), &json!(20)));
    let requests = summary_requests(&server);
    let sent: Vec<_> = requests.iter().map(|request| request.body["messages"].to_string()).collect();
    assert_eq!(sent.len(), 2);
    assert!(sent[0].contains("ONE") && !sent[0].contains("TWO"), "{}", sent[0]);
    assert!(
        sent[1].contains("TWO") && sent[1].contains("FOUND") && !sent[1].contains("REPORT"),
        "{}",
        sent[1]
    );
    assert!(sent.iter().all(|text| text.contains("be BLUE")));
    assert_eq!(
        outline(&agent.get("get_messages"))[1..],
        ["assistant: REPORT"],
        "the end of the turn is unchanged"
    );
}

#[test]
fn earlier_summary_is_part_of_the_next() {
    let (server, workspace) = prepare();
    let mut agent = start_with_history(&server, &workspace);
    server.reply(Reply::text("FIRST SUMMARY"));
    agent.get("compact");
    agent.run(&long("THREE"));
    server.reply(Reply::text("SECOND SUMMARY"));
    agent.get("compact");
    let sent = summary_requests(&server)[1].body["messages"][0]["content"][0]["text"].clone();
    let sent = sent.as_str().unwrap();
    assert!(sent.contains("<previous-summary>\nFIRST SUMMARY\n</previous-summary>"), "{sent}");
    assert!(sent.contains("TWO") && !sent.contains("ONE") && !sent.contains("THREE"), "{sent}");
    assert_eq!(
        outline(&agent.get("get_messages")),
        ["compactionSummary: SECOND SUMMARY", "user: THREE", "assistant: ok"]
    );
}

#[test]
fn read_and_changed_files_are_listed_in_the_summary() {
    let (server, workspace) = prepare();
    let workspace = workspace.file("a.txt", "a").file("b.txt", "b").file("c.txt", "c");
    let mut agent = workspace.start();
    server.reply(
        Reply::new()
            .tool("read", json!({ "path": "a.txt" }))
            .tool("read", json!({ "path": "b.txt" }))
            .tool("write", json!({ "path": "new.txt", "content": "x" })),
    );
    agent.run(&long("ONE"));
    agent.run(&long("TWO"));
    server.reply(Reply::text("first"));
    let result = agent.get("compact");
    assert_eq!(result["details"], json!({ "readFiles": ["a.txt", "b.txt"], "modifiedFiles": ["new.txt"] }));
    let lists = "<read-files>\na.txt\nb.txt\n</read-files>\n\n<modified-files>\nnew.txt\n</modified-files>";
    assert_eq!(result["summary"], format!("first\n\n{lists}"));
    agent.finish();

    // Also after reopening the session, and if a file that was read is changed later.
    let mut agent = Launch::rpc(&workspace).model("mock/m1").arguments(&["--continue"]).start();
    server.reply(
        Reply::new()
            .tool("edit", json!({ "path": "b.txt", "oldText": "b", "newText": "B" }))
            .tool("read", json!({ "path": "c.txt" })),
    );
    agent.run(&long("THREE"));
    agent.run(&long("FOUR"));
    server.reply(Reply::text("second"));
    let result = agent.get("compact");
    assert_eq!(
        result["details"],
        json!({ "readFiles": ["a.txt", "c.txt"], "modifiedFiles": ["new.txt", "b.txt"] })
    );
    let sent = summary_requests(&server)[1].body["messages"].to_string();
    assert!(sent.contains("<previous-summary>") && !sent.contains("<read-files>"), "{sent}");
}

#[test]
fn limits_can_be_set_for_all_models_and_for_one() {
    let (server, workspace) = prepare_with(json!({
        "keepRecentTokens": 40, "reserveTokens": 150_000,
        "modelOverrides": { "mock/m2": { "keepRecentTokens": 100_000 } },
    }));
    let mut agent = start_with_history(&server, &workspace);
    agent.carry_out(json!({ "type": "set_model", "provider": "mock", "modelId": "m2" }));
    assert_eq!(compact(&mut agent)[2]["code"], "nothing_to_do");
    agent.carry_out(json!({ "type": "set_model", "provider": "mock", "modelId": "m1" }));
    let filled = Usage { input: 50_000, output: 1, cache_read: 0, cache_write: 0 };
    server.reply(Reply::text("answer three").usage(filled));
    server.reply(Reply::text("WHAT WAS"));
    let records = agent.run(&long("THREE"));
    assert_eq!(only(&records, "compaction_end")["result"]["tokensBefore"], 50_001);
    // Limited by the model's maximum output.
    assert_eq!(summary_requests(&server)[0].body["max_tokens"], 32_000);
}
