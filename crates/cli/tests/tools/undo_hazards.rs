//! Undo when something goes wrong: the record cannot be written, the workspace goes away, the process is killed.

use std::fs;

use bowline_testkit::{Launch, Reply, eventually, of_type};
use serde_json::{Value, json};

use crate::undo::Scene;

/// Returns the warnings that the user sees.
fn warnings(records: &[Value]) -> Vec<String> {
    let shown = of_type(records, "extension_ui_request");
    let shown = shown.iter().filter(|record| record["method"] == "notify");
    shown.map(|record| record["message"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn client_is_warned_once_if_changes_cannot_be_recorded() {
    let mut scene = Scene::new();
    scene.write("a", "old");
    fs::write(scene.workspace.configuration().join("undo"), "in the way").unwrap();
    scene.server.reply(Reply::new().tool("bash", json!({ "command": "rm a" })));
    scene.server.reply(Reply::new().tool("write", json!({ "path": "b", "content": "x" })));
    scene.server.reply(Reply::text("done"));
    let records = scene.agent.run("go");
    let [warning] = &warnings(&records)[..] else { panic!("one warning: {records:?}") };
    assert!(warning.starts_with("What this run changes cannot be undone completely: "), "{warning}");
    // The tools work all the same.
    assert_eq!((scene.read("a"), scene.read("b").as_deref()), (None, Some("x")));
    let changes = scene.data(json!({ "type": "get_changes" }));
    assert!(changes["reason"].as_str().unwrap().contains("cannot be undone completely"), "{changes}");
}

#[test]
fn working_directory_that_a_command_removes_comes_back() {
    let mut scene = Scene::new();
    scene.write("a", "old");
    scene.write("folder/b", "old");
    scene.bash("rm -rf \"$PWD\"");
    assert!(!scene.workspace.work().exists());
    let report = scene.data(json!({ "type": "undo" }));
    assert_eq!(report["restored"], json!(["a", "folder", "folder/b"]), "{report}");
    assert_eq!((scene.read("a").as_deref(), scene.read("folder/b").as_deref()), (Some("old"), Some("old")));
}

#[test]
fn ignored_file_that_a_command_moves_gets_its_name_back() {
    let mut scene = Scene::new();
    scene.write(".gitignore", ".env\n");
    scene.write(".env", "SECRET=1");
    scene.bash("mv .env env.bak");
    let report = scene.data(json!({ "type": "undo" }));
    assert_eq!(report["quarantined"], json!([]), "{report}");
    assert_eq!((scene.read(".env").as_deref(), scene.read("env.bak")), (Some("SECRET=1"), None));
}

#[test]
fn kill_during_undo_loses_nothing_and_redo_is_its_inverse() {
    let mut scene = Scene::new();
    let name = |kind: &str, number: usize| format!("{kind}{number}");
    for number in 0..1500 {
        scene.write(&name("f", number), "old");
    }
    scene.bash("for i in $(seq 0 1499); do echo new > f$i; echo made > g$i; done");
    scene.agent.send(json!({ "type": "undo", "id": "undo" }));
    eventually("undo has begun", || scene.read("g1499").is_none());
    scene.agent.kill();
    let session = scene.workspace.session_files().remove(0);
    scene.agent = Launch::rpc(&scene.workspace)
        .model("mock/m1")
        .arguments(&["--session", session.to_str().unwrap()])
        .start();
    scene.data(json!({ "type": "get_changes" }));
    let count = |scene: &Scene| fs::read_dir(scene.workspace.work()).unwrap().count();
    let all_are = |scene: &Scene, text: &str| {
        (0..1500).all(|number| scene.read(&name("f", number)).as_deref() == Some(text))
    };
    assert!(all_are(&scene, "old") && count(&scene) == 1500, "{}", count(&scene));
    let report = scene.data(json!({ "type": "redo" }));
    assert_eq!(report["conflicts"], json!([]));
    assert!(all_are(&scene, "new\n") && count(&scene) == 3000, "{}", count(&scene));
}

#[test]
fn undo_to_a_turn_keeps_what_file_tools_did_before_it() {
    let mut scene = Scene::new();
    scene.write("a", "0");
    scene.server.reply(Reply::new().tool("write", json!({ "path": "a", "content": "1" })));
    scene.server.reply(Reply::new().tool("bash", json!({ "command": "echo x > other" })));
    scene.server.reply(Reply::text("done"));
    scene.agent.run("go");
    let changes = scene.data(json!({ "type": "get_changes" }));
    let files: Vec<_> =
        changes["runs"][0]["turns"].as_array().unwrap().iter().map(|turn| &turn["files"]).collect();
    assert_eq!(files, [&json!(1), &json!(1)], "{changes}");
    let report = scene.data(json!({ "type": "undo", "to": { "run": 1, "turn": 1 } }));
    assert_eq!(report["restored"], json!(["other"]));
    assert_eq!(scene.read("a").as_deref(), Some("1"));
    let both = scene.ask(json!({ "type": "undo", "run": 1, "to": { "run": 1 } }));
    assert!(both["error"].as_str().unwrap().contains("cannot be given beside"), "{both}");
}

#[test]
fn dry_run_writes_nothing_for_a_session_that_is_in_use() {
    let mut scene = Scene::new();
    scene.write("a", "old");
    scene.server.reply(Reply::new().tool("bash", json!({ "command": "echo 1 > a; touch ready; sleep 60" })));
    scene.agent.send(json!({ "type": "prompt", "message": "go" }));
    let ready = scene.workspace.work().join("ready");
    eventually("the command has begun", || ready.exists());
    let session = scene.workspace.session_files().remove(0);
    let [folder] =
        &fs::read_dir(scene.workspace.configuration().join("undo")).unwrap().collect::<Vec<_>>()[..]
    else {
        panic!("one session")
    };
    let journal = folder.as_ref().unwrap().path().join("journal.jsonl");
    let before = fs::read_to_string(&journal).unwrap();
    let arguments = ["sessions", "undo", session.to_str().unwrap(), "--dry-run"];
    let dry = Launch::bowline(&scene.workspace).arguments(&arguments).run();
    assert!(dry.stderr.contains("no changes"), "{}", dry.stderr);
    assert_eq!(fs::read_to_string(&journal).unwrap(), before);
    scene.agent.send(json!({ "type": "abort" }));
    scene.agent.until_type("agent_settled");
}
