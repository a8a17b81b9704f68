//! Questions that are open when a run is aborted, when stdin ends, and when the process is killed.

use std::time::{Duration, Instant};

use bowline_testkit::{Launch, Reply, session_messages};
use serde_json::json;

use crate::{asking, calling, dialog, entries, prompt, start};

#[test]
fn abort_withdraws_the_question_and_those_that_wait() {
    let (_server, workspace, mut agent) = asking("untrusted", json!({}), &["touch one", "touch two"]);
    prompt(&mut agent);
    let question = dialog(&mut agent);
    let began = Instant::now();
    agent.send(json!({ "id": "a", "type": "abort" }));
    agent.response("a");
    assert!(began.elapsed() < Duration::from_secs(1));
    agent.collect_until_settled();
    agent.send(json!({ "type": "extension_ui_response", "id": question["id"], "confirmed": true }));
    agent.carry_out(json!({ "type": "get_state" }));
    assert!(!workspace.work().join("one").exists() && !workspace.work().join("two").exists());
    let entries = entries(&workspace);
    assert_eq!(entries.len(), 1, "only one was asked: {entries:?}");
    assert_eq!((&entries[0]["decision"], &entries[0]["by"]), (&json!("deny"), &json!("abort")));
}

#[test]
fn end_of_input_is_a_no() {
    let (_server, workspace, mut agent) = asking("untrusted", json!({}), &["touch ran"]);
    prompt(&mut agent);
    dialog(&mut agent);
    agent.close_stdin();
    agent.rest();
    assert_eq!(agent.wait(), 0);
    assert!(!workspace.work().join("ran").exists());
    assert_eq!(entries(&workspace)[0]["decision"], "deny");
}

#[test]
fn kill_with_a_question_open_runs_nothing_and_the_session_goes_on() {
    let (server, workspace, mut agent) = asking("untrusted", json!({}), &["touch ran"]);
    prompt(&mut agent);
    dialog(&mut agent);
    agent.kill();
    let file = workspace.session_files().pop().unwrap();
    let messages = session_messages(&file);
    assert_eq!(messages.last().unwrap()["role"], "assistant", "the call is on disk, without a result");
    assert!(entries(&workspace).is_empty());

    server.reply(Reply::text("I see"));
    let file = file.display().to_string();
    let arguments = ["--ask", "untrusted", "--session", &file];
    let mut agent = Launch::rpc(&workspace).model("mock/m1").arguments(&arguments).start();
    agent.run("and now?");
    assert!(!workspace.work().join("ran").exists());
    // Providers want a result for every call.
    let requests = server.requests();
    let body = requests.last().unwrap().body["messages"].to_string();
    assert!(body.contains("and now?"), "{body}");
    let (calls, results) = (body.matches("\"tool_use\"").count(), body.matches("\"tool_result\"").count());
    let (calls, results) =
        (calls + body.matches("\"tool_calls\"").count(), results + body.matches("\"role\":\"tool\"").count());
    assert_eq!((calls, results), (1, 1), "{body}");
}

#[test]
fn question_does_not_count_against_the_time_limit_of_the_command() {
    let settings = json!({ "commandTimeoutMs": 300 });
    let (_server, workspace, mut agent) = asking("untrusted", settings, &["touch ran"]);
    prompt(&mut agent);
    let question = dialog(&mut agent);
    std::thread::sleep(Duration::from_millis(500));
    crate::confirm(&mut agent, &question, true);
    agent.collect_until_settled();
    assert!(workspace.work().join("ran").exists());
}

#[test]
fn client_that_disappears_leaves_nothing_running() {
    let (server, workspace, agent) = asking("untrusted", json!({}), &["touch ran"]);
    drop(agent);
    calling(&server, &["touch other"]);
    let mut agent = start(&workspace, "untrusted");
    prompt(&mut agent);
    dialog(&mut agent);
    agent.close_stdout();
    agent.close_stdin();
    agent.wait();
    assert!(!workspace.work().join("ran").exists() && !workspace.work().join("other").exists());
    agent.assert_no_survivors();
}

#[test]
fn end_of_input_is_a_no_where_the_run_is_finished_first() {
    let (server, workspace) = bowline_testkit::Workspace::with_server();
    calling(&server, &["touch one", "touch two"]);
    server.reply(Reply::new().tool("bash", json!({ "command": "touch three" })));
    let arguments = ["--ask", "untrusted"];
    let launch = Launch::rpc(&workspace).model("mock/m1").dialect("operator-flat").arguments(&arguments);
    let mut agent = launch.start_greeted();
    prompt(&mut agent);
    dialog(&mut agent);
    let began = Instant::now();
    agent.close_stdin();
    agent.rest();
    assert_eq!(agent.wait(), 0);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let told = server.requests()[1].body.to_string();
    assert_eq!(told.matches("the client is gone").count(), 2, "{told}");
    assert!(!workspace.work().join("one").exists() && !workspace.work().join("two").exists());
}
