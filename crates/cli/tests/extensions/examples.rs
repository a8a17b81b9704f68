//! The examples in `examples/extensions` do what they say.

use std::path::{Path, PathBuf};
use std::process::Command;

use bowline_testkit::{Agent, Launch, Reply, Workspace, of_type};
use serde_json::{Value, json};

use crate::actor::{errors, run, start_with};

/// Returns the path of an example.
fn example(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/extensions");
    folder.join(name).to_str().unwrap().to_owned()
}

/// Starts bowline with an example.
#[track_caller]
fn start(workspace: &Workspace, name: &str) -> Agent {
    start_with(workspace, &["--extension", &example(name)])
}

/// Answers the next dialog with one of its options, and returns the dialog.
#[track_caller]
fn choose(agent: &mut Agent, value: &str) -> Value {
    let is_dialog = |record: &Value| record["type"] == "extension_ui_request" && record["method"] == "select";
    let dialog = agent.until(is_dialog).pop().unwrap();
    agent.send(json!({ "type": "extension_ui_response", "id": dialog["id"], "value": value }));
    dialog
}

/// Returns the texts that were shown to the user.
fn notices(records: &[Value]) -> Vec<&str> {
    let requests = of_type(records, "extension_ui_request").into_iter();
    requests
        .filter(|request| request["method"] == "notify")
        .filter_map(|request| request["message"].as_str())
        .collect()
}

/// Returns the text of the last tool result.
fn last_result(records: &[Value]) -> &Value {
    &of_type(records, "tool_execution_end").pop().unwrap()["result"]["content"][0]["text"]
}

/// Runs git in the folder of a workspace.
#[track_caller]
fn git(workspace: &Workspace, arguments: &[&str]) -> String {
    let author = ["-c", "user.name=t", "-c", "user.email=t@t"];
    let mut command = Command::new("git");
    let output = command.current_dir(workspace.work()).args(author).args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn permission_gate_asks_before_what_can_do_damage() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.file("build/x", "");
    let mut agent = start(&workspace, "permission_gate.py");
    for _ in 0..2 {
        server.reply(Reply::text("").tool("bash", json!({ "command": "rm -rf build" })));
        server.reply(Reply::text("done"));
    }

    agent.send(json!({ "type": "prompt", "message": "clean up" }));
    let dialog = choose(&mut agent, "Block");
    assert!(dialog["title"].as_str().unwrap().contains("rm -rf build"), "{dialog}");
    let records = agent.collect_until_settled();
    assert!(last_result(&records).as_str().unwrap().contains("the user did not allow it"), "{records:#?}");
    assert!(workspace.work().join("build/x").exists());

    agent.send(json!({ "type": "prompt", "message": "really" }));
    choose(&mut agent, "Allow for this session");
    agent.collect_until_settled();
    assert!(!workspace.work().join("build/x").exists());

    // It is not asked about again.
    server.reply(Reply::text("").tool("bash", json!({ "command": "rm -rf other" })));
    server.reply(Reply::text("done"));
    let records = run(&mut agent, "more");
    assert!(of_type(&records, "extension_ui_request").is_empty(), "{records:#?}");
    assert_eq!(errors(agent.transcript()), [""; 0]);
}

#[test]
fn permission_gate_blocks_without_a_user() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.file("build/x", "");
    let mut agent = start(&workspace, "permission_gate.py");
    server.reply(Reply::text("").tool("bash", json!({ "command": "rm -rf build" })));
    server.reply(Reply::text("done"));
    agent.send(json!({ "type": "prompt", "message": "clean up" }));
    let dialog = agent.until(|record| record["type"] == "extension_ui_request").pop().unwrap();
    agent.send(json!({ "type": "extension_ui_response", "id": dialog["id"], "cancelled": true }));
    agent.collect_until_settled();
    assert!(workspace.work().join("build/x").exists());
}

#[test]
fn protected_paths_stay_as_they_are_whatever_leads_to_them() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.file(".env", "KEY=1").file("secret/key", "k").file("notes.txt", "n");
    std::os::unix::fs::symlink(".env", workspace.work().join("link")).unwrap();
    let mut agent =
        start_with(&workspace, &["--extension", &example("protected_paths.py"), "--protect", ".env,secret"]);
    for (path, is_protected) in
        [(".env", true), ("sub/../.env", true), ("link", true), ("secret/key", true), ("notes.txt", false)]
    {
        server.reply(Reply::text("").tool("write", json!({ "path": path, "content": "changed" })));
        server.reply(Reply::text("done"));
        let records = run(&mut agent, "write");
        let result = last_result(&records).as_str().unwrap();
        assert_eq!(result.contains("is protected by the user"), is_protected, "{path}: {result}");
        assert_eq!(notices(&records).len(), usize::from(is_protected));
    }
    let content = |name: &str| std::fs::read_to_string(workspace.work().join(name)).unwrap();
    assert_eq!((content(".env").as_str(), content("secret/key").as_str()), ("KEY=1", "k"));
    assert_eq!(content("notes.txt"), "changed");
    assert_eq!(errors(agent.transcript()), [""; 0]);
}

#[test]
fn git_checkpoint_keeps_each_turn_and_brings_it_back() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.file("a.txt", "one");
    git(&workspace, &["init", "--quiet"]);
    git(&workspace, &["add", "."]);
    git(&workspace, &["commit", "--quiet", "-m", "first"]);
    // Not tracked, and part of a checkpoint all the same.
    std::fs::write(workspace.work().join("new.txt"), "new").unwrap();
    let mut agent = start(&workspace, "git_checkpoint.py");
    server.reply(Reply::text("").tool("write", json!({ "path": "a.txt", "content": "two" })));
    server.reply(Reply::text("").tool("bash", json!({ "command": "rm new.txt" })));
    server.reply(Reply::text("done"));
    let records = run(&mut agent, "change it");
    let entries = of_type(&records, "entry_appended");
    assert_eq!(entries.len(), 3, "{records:#?}");
    assert_eq!(entries[0]["entry"]["customType"], "git-checkpoint");
    assert!(!workspace.work().join("new.txt").exists());

    agent.send(json!({ "id": "list", "type": "prompt", "message": "/checkpoints" }));
    agent.response("list");
    assert_eq!(notices(agent.transcript()).last().unwrap().lines().count(), 3);
    agent.send(json!({ "id": "back", "type": "prompt", "message": "/restore 1" }));
    agent.response("back");
    assert_eq!(std::fs::read_to_string(workspace.work().join("a.txt")).unwrap(), "one");
    assert_eq!(std::fs::read_to_string(workspace.work().join("new.txt")).unwrap(), "new");
    assert_eq!(git(&workspace, &["status", "--short"]), "?? new.txt\n", "the index is the user's");
    assert_eq!(git(&workspace, &["stash", "list"]), "");
    agent.send(json!({ "id": "no", "type": "prompt", "message": "/restore 9" }));
    agent.response("no");
    assert!(notices(agent.transcript()).last().unwrap().contains("from 1 to 3"));
    assert_eq!(errors(agent.transcript()), [""; 0]);
}

#[test]
fn chart_shows_progress_and_returns_an_image_that_the_model_sees() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = start(&workspace, "chart.py");
    server.reply(Reply::text("").tool("chart", json!({ "values": [1, 2.5, 4] })));
    server.reply(Reply::text("done"));
    let records = run(&mut agent, "draw");
    let updates = of_type(&records, "tool_execution_update");
    assert_eq!(updates.last().unwrap()["partialResult"]["details"], json!({ "percent": 100 }));
    let end = of_type(&records, "tool_execution_end").pop().unwrap();
    assert_eq!(end["result"]["details"], json!({ "width": 104, "height": 120 }));
    let data = end["result"]["content"][1]["data"].as_str().unwrap();
    let bytes = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, data).unwrap();
    let image = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    assert_eq!((image.info().width, image.info().height), (104, 120));
    assert!(server.requests()[1].body["messages"].to_string().contains(data), "the model gets the image");
    assert!(server.requests()[0].body["system"].to_string().contains("chart: draws numbers as bars"));

    server.reply(Reply::text("").tool("chart", json!({ "values": [-1] })));
    server.reply(Reply::text("done"));
    let records = run(&mut agent, "draw");
    assert!(last_result(&records).as_str().unwrap().contains("none of them negative"));
}

#[test]
fn shorthand_changes_and_answers_what_the_user_types() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = start(&workspace, "shorthand.mjs");
    server.reply(Reply::text("blue"));
    run(&mut agent, "? which colour");
    let sent = server.requests()[0].body["messages"].to_string();
    assert!(sent.contains("Answer in one or two sentences: which colour"), "{sent}");

    agent.send(json!({ "id": "clock", "type": "prompt", "message": "!clock" }));
    agent.response("clock");
    assert!(notices(agent.transcript())[0].ends_with('Z'));
    server.reply(Reply::text("loud"));
    agent.send(json!({ "type": "prompt", "message": "/shout hello there" }));
    agent.collect_until_settled();
    let requests = server.requests();
    assert_eq!(requests.len(), 2, "no model was asked for the time");
    assert!(requests[1].body["messages"].to_string().contains("HELLO THERE"));
    assert_eq!(errors(agent.transcript()), [""; 0]);
}

#[test]
fn notifier_tells_when_a_run_has_ended() {
    let (server, workspace) = Workspace::with_server();
    // The desktop of whoever runs the tests is left alone.
    let path = "/usr/bin:/bin";
    let mut agent = Launch::rpc(&workspace)
        .model("mock/m1")
        .arguments(&["--extension", &example("notifier.sh")])
        .environment("PATH", path)
        .start();
    server.reply(Reply::text("hello"));
    run(&mut agent, "hi");
    let is_notice = |record: &Value| record["type"] == "extension_ui_request";
    assert_eq!(agent.until(is_notice).pop().unwrap()["message"], "Done.");
}

#[test]
fn every_example_passes_its_check() {
    let folder = PathBuf::from(example(""));
    let mut checked = 0;
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.starts_with("bowline_extension") || name.starts_with(['.', '_']) || name == "README.md" {
            continue;
        }
        let workspace = Workspace::empty();
        let finished =
            Launch::bowline(&workspace).arguments(&["extension", "check", path.to_str().unwrap()]).run();
        assert_eq!(finished.code, 0, "{name}: {}{}", finished.stdout, finished.stderr);
        checked += 1;
    }
    assert_eq!(checked, 7);
}

#[test]
fn command_model_answers_with_what_a_program_prints() {
    let workspace = Workspace::empty();
    let model = example("command_model.py");
    let start = |program: &str| {
        let arguments = ["--extension", &model, "--answer-with", program, "--model", "command/default"];
        Launch::rpc(&workspace).arguments(&arguments).start()
    };
    let mut agent = start("tr a-z A-Z");
    let records = run(&mut agent, "hello");
    assert_eq!(errors(&records), [""; 0]);
    let answer = of_type(&records, "turn_end").pop().unwrap()["message"].clone();
    assert_eq!((&answer["content"][0]["text"], &answer["stopReason"]), (&json!("HELLO"), &json!("stop")));
    let mut agent = start("exit 3");
    let records = run(&mut agent, "hello");
    let answer = of_type(&records, "turn_end").pop().unwrap()["message"].clone();
    assert_eq!(answer["errorMessage"], "'exit 3' exited with code 3");
}
