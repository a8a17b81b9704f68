//! Arguments of omp's clients.

use bowline_testkit::{Launch, Workspace};
use serde_json::{Value, json};

use super::run;

/// Returns the names of the tools of an agent.
fn tools(state: &Value) -> Vec<&str> {
    state["dumpTools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn tools_that_only_omp_has_are_left_out_with_a_warning() {
    let (_server, workspace) = Workspace::with_server();
    let start = |names: &str| {
        let launch = Launch::rpc(&workspace).dialect("omp").model("mock/m1");
        launch.arguments(&["--tools", names]).start_greeted()
    };
    let mut agent = start("read,bash,ask,glob,web_search,find");
    assert_eq!(tools(&agent.get("get_state")), ["read", "bash", "find"]);
    agent.wait_for_stderr("there is no tool named ask; it is left out");
    agent.wait_for_stderr("there is no tool named glob; find is enabled instead");
    agent.wait_for_stderr("there is no tool named web_search; it is left out");
    assert_eq!(run(&mut agent, "go").last().unwrap()["isTerminal"], true);
    let mut agent = start("ask");
    assert!(tools(&agent.get("get_state")).is_empty());
    let mut agent = start("todo_write");
    assert_eq!(tools(&agent.get("get_state")), ["todo"]);
}

#[test]
fn mistyped_tool_is_refused_with_the_names_of_the_tools() {
    let workspace = Workspace::empty();
    for dialect in ["omp", "pi"] {
        let launch = Launch::rpc(&workspace).dialect(dialect).arguments(&["--tools", "raed"]);
        let error = launch.start().fatal_error();
        assert!(error.contains("There is no tool named `raed`. Did you mean `read`?"), "{dialect}: {error}");
    }
    let error = Launch::rpc(&workspace).arguments(&["--tools", "web_search"]).start().fatal_error();
    assert!(error.contains("There is no tool named `web_search`"), "pi has no such tool: {error}");
}

#[test]
fn mode_rpc_ui_is_accepted() {
    let workspace = Workspace::empty();
    let launch = Launch::bowline(&workspace).arguments(&["--mode", "rpc-ui", "--dialect", "omp"]);
    let mut agent = launch.start();
    assert_eq!(agent.next()["type"], "ready");
    assert_eq!(agent.ask(json!({ "type": "abort" }))["success"], true);
    agent.wait_for_stderr("--mode rpc-ui is the same as rpc here");
}
