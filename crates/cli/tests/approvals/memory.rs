//! What is remembered: for the session, for the project, and what a client may change.

use bowline_testkit::{Launch, Workspace, of_type};
use serde_json::{Value, json};

use crate::{asking, calling, dialog, prompt, start};

fn full() -> Value {
    json!({ "approvals": { "dialogChoices": "full" } })
}

fn choose(agent: &mut bowline_testkit::Agent, question: &Value, word: &str) {
    agent.send(json!({ "type": "extension_ui_response", "id": question["id"], "value": word }));
}

#[test]
fn session_answers_equal_calls_that_wait_and_later_ones() {
    let (server, workspace, mut agent) =
        asking("untrusted", full(), &["mkdir one", "echo x > y", "mkdir one", "mkdir two"]);
    prompt(&mut agent);
    let question = dialog(&mut agent);
    assert_eq!(question["method"], "select");
    assert_eq!(question["options"], json!(["Approve", "Session", "Project", "Deny"]));
    assert!(question["title"].as_str().unwrap().starts_with("Allow bash?\nCommand: mkdir one\n"));
    // By then the others wait.
    while of_type(agent.transcript(), "tool_execution_start").len() < 4 {
        agent.until_type("tool_execution_start");
    }
    choose(&mut agent, &question, "Session");
    let question = dialog(&mut agent);
    assert_eq!(question["options"], json!(["Approve", "Session", "Deny"]), "no rule can stand for it");
    choose(&mut agent, &question, "Deny");
    let question = dialog(&mut agent);
    assert!(question["title"].as_str().unwrap().contains("mkdir two"), "{question}");
    choose(&mut agent, &question, "whatever");
    agent.collect_until_settled();
    assert!(workspace.work().join("one").exists() && !workspace.work().join("two").exists());
    calling(&server, &["mkdir one"]);
    prompt(&mut agent);
    let records = agent.collect_until_settled();
    assert!(of_type(&records, "extension_ui_request").is_empty());
    let bys: Vec<_> = crate::entries(&workspace).iter().map(|entry| entry["by"].clone()).collect();
    assert_eq!(bys, ["client", "equal-call", "client", "client"]);
    assert!(!workspace.configuration().join("approvals.json").exists());

    drop(agent);
    calling(&server, &["mkdir one"]);
    let mut agent = start(&workspace, "untrusted");
    prompt(&mut agent);
    dialog(&mut agent);
}

#[test]
fn project_is_remembered_after_a_restart_and_only_for_this_folder() {
    let (server, workspace, mut agent) = asking("untrusted", full(), &["cargo --version"]);
    drop(agent);
    let workspace_rule = |workspace: &Workspace| {
        let file = workspace.configuration().join("approvals.json");
        serde_json::from_str::<Value>(&std::fs::read_to_string(file).unwrap()).unwrap()
    };
    agent = start(&workspace, "untrusted");
    prompt(&mut agent);
    let question = dialog(&mut agent);
    // `cargo --version` names no subcommand, so nothing can be remembered for good.
    assert_eq!(question["options"], json!(["Approve", "Session", "Deny"]));
    choose(&mut agent, &question, "Project");
    agent.collect_until_settled();
    assert!(!workspace.configuration().join("approvals.json").exists(), "what was not offered is a no");

    calling(&server, &["mkdir one"]);
    prompt(&mut agent);
    let question = dialog(&mut agent);
    choose(&mut agent, &question, "Project");
    agent.collect_until_settled();
    agent.close_stdin();
    agent.rest();
    let rule = json!({ "tool": "bash", "prefix": ["mkdir", "one"], "then": "allow" });
    let folder = workspace.work().canonicalize().unwrap().display().to_string();
    assert_eq!(workspace_rule(&workspace)["projects"], json!({ folder: { "rules": [rule] } }));

    calling(&server, &["mkdir one -p"]);
    let mut agent = start(&workspace, "untrusted");
    prompt(&mut agent);
    let records = agent.collect_until_settled();
    assert!(of_type(&records, "extension_ui_request").is_empty());
    drop(agent);

    calling(&server, &["mkdir one"]);
    let other = workspace.home().join("other");
    std::fs::create_dir_all(&other).unwrap();
    let launch =
        Launch::rpc(&workspace).model("mock/m1").arguments(&["--ask", "untrusted"]).directory(&other);
    let mut agent = launch.start();
    prompt(&mut agent);
    dialog(&mut agent);
}

#[test]
fn client_can_only_make_it_stricter() {
    let (_server, workspace, mut agent) = asking("on-request", json!({}), &["touch ran"]);
    let refused = agent.ask(json!({ "type": "set_approvals", "ask": "never" }));
    assert_eq!((&refused["success"], &refused["code"]), (&json!(false), &json!("forbidden")));
    assert!(refused["error"].as_str().unwrap().contains("less strict"), "{refused}");
    let accepted = agent.ask(json!({ "type": "set_approvals", "ask": "untrusted" }));
    assert_eq!(accepted["success"], true);
    let state = agent.carry_out(json!({ "type": "get_state" }));
    assert_eq!(state["approvals"]["ask"], "untrusted");
    prompt(&mut agent);
    let question = dialog(&mut agent);
    crate::confirm(&mut agent, &question, true);
    agent.collect_until_settled();
    assert!(workspace.work().join("ran").exists());
}

#[test]
fn full_dialog_says_what_is_remembered_and_it_holds_for_calls_that_wait() {
    let commands = ["git push a", "git push b", "git push c"];
    let (_server, workspace, mut agent) = asking("untrusted", full(), &commands);
    prompt(&mut agent);
    let question = dialog(&mut agent);
    let title = question["title"].as_str().unwrap();
    assert!(title.ends_with("\nSession and Project allow: git push …"), "{title}");
    while of_type(agent.transcript(), "tool_execution_start").len() < 3 {
        agent.until_type("tool_execution_start");
    }
    choose(&mut agent, &question, "Session");
    let records = agent.collect_until_settled();
    assert!(of_type(&records, "extension_ui_request").is_empty());
    let bys: Vec<_> = crate::entries(&workspace).iter().map(|entry| entry["by"].clone()).collect();
    // A call that was taken up after the answer was not asked about at all.
    assert!(bys[0] == "client" && bys[1..].iter().all(|by| by == "remembered"), "{bys:?}");
}

#[test]
fn rule_about_git_grep_runs_no_pager() {
    let pager = "git grep '--open-files-in-pager=touch ran;' x";
    let (server, workspace, mut agent) = asking("untrusted", full(), &["git grep x"]);
    prompt(&mut agent);
    let question = dialog(&mut agent);
    choose(&mut agent, &question, "Session");
    agent.collect_until_settled();
    calling(&server, &[pager]);
    prompt(&mut agent);
    let question = dialog(&mut agent);
    assert_eq!(question["options"], json!(["Approve", "Session", "Deny"]));
    choose(&mut agent, &question, "Deny");
    agent.collect_until_settled();
    assert!(!workspace.work().join("ran").exists());
}
