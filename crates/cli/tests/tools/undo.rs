//! Files that runs changed, and how they are restored: by command, after a kill, and from the command line.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use bowline_testkit::{Agent, Launch, ModelServer, Reply, Workspace, of_type};
use serde_json::{Value, json};

/// A workspace with an agent whose model does what it is told.
pub struct Scene {
    pub server: ModelServer,
    pub workspace: Workspace,
    pub agent: Agent,
}

impl Scene {
    pub fn new() -> Self {
        Self::with(|workspace| workspace)
    }

    pub fn with(prepare: impl FnOnce(Workspace) -> Workspace) -> Self {
        let (server, workspace) = Workspace::with_server();
        let workspace = prepare(workspace);
        let agent = Launch::rpc(&workspace).model("mock/m1").start();
        Self { server, workspace, agent }
    }

    /// Has a run call a tool.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Vec<Value> {
        self.server.reply(Reply::new().tool(tool, arguments));
        self.agent.run("go")
    }

    pub fn bash(&mut self, command: &str) -> Vec<Value> {
        self.call("bash", json!({ "command": command }))
    }

    pub fn ask(&mut self, command: Value) -> Value {
        let mut command = command;
        command["id"] = json!("asked");
        self.agent.send(command);
        self.agent.response("asked")
    }

    /// Asks for something that must succeed, and returns the data.
    #[track_caller]
    pub fn data(&mut self, command: Value) -> Value {
        let response = self.ask(command);
        assert_eq!(response["success"], true, "{response}");
        response["data"].clone()
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.workspace.work().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.workspace.work().join(name)).ok()
    }
}

#[test]
fn undo_takes_back_what_tools_and_commands_did_and_redo_does_it_again() {
    let mut scene = Scene::new();
    scene.write("a.txt", "one\n");
    scene.write("folder/b.txt", "two\n");
    scene.write("gone.txt", "gone\n");
    scene.write("run.sh", "echo\n");
    let before = [Some("one\n"), Some("two\n"), Some("gone\n"), None, None];
    let names = ["a.txt", "folder/b.txt", "gone.txt", "new.txt", "moved/b.txt"];
    let found = |scene: &Scene| names.map(|name| scene.read(name));
    let records = scene.bash(
        "sed -i s/one/1/ a.txt && rm -rf gone.txt && mv folder moved && echo new > new.txt && chmod +x run.sh",
    );
    assert_eq!(of_type(&records, "run_changes"), Vec::<&Value>::new());
    let after = found(&scene);
    assert_eq!(
        after,
        [Some("1\n"), None, None, Some("new\n"), Some("two\n")].map(|text| text.map(str::to_owned))
    );

    let changes = scene.data(json!({ "type": "get_changes", "diff": true }));
    let run = &changes["runs"][0];
    let kinds: Vec<_> = run["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| format!("{} {}", file["change"].as_str().unwrap(), file["path"].as_str().unwrap()))
        .collect();
    assert_eq!(
        kinds,
        [
            "modified a.txt",
            "deleted folder",
            "deleted folder/b.txt",
            "deleted gone.txt",
            "created moved",
            "created moved/b.txt",
            "created new.txt",
            "mode run.sh"
        ]
    );
    assert!(run["diff"].as_str().unwrap().contains("-one\n+1\n"), "{run}");
    assert_eq!((&changes["enabled"], &changes["commands"]), (&json!(true), &json!(true)));

    let report = scene.data(json!({ "type": "undo" }));
    assert_eq!((&report["conflicts"], &report["notCovered"]), (&json!([]), &json!([])), "{report}");
    assert_eq!(report["quarantined"].as_array().unwrap().len(), 2);
    assert_eq!(found(&scene), before.map(|text| text.map(str::to_owned)));
    let mode = |scene: &Scene| {
        fs::metadata(scene.workspace.work().join("run.sh")).unwrap().permissions().mode() & 0o111
    };
    assert_eq!(mode(&scene), 0);

    let nothing = scene.ask(json!({ "type": "undo" }));
    assert_eq!(
        (&nothing["success"], &nothing["code"]),
        (&json!(false), &json!("nothing_to_do")),
        "{nothing}"
    );
    scene.data(json!({ "type": "redo" }));
    assert_eq!(found(&scene), after);
    assert_ne!(mode(&scene), 0);
}

#[test]
fn model_is_told_with_the_next_prompt_and_clients_at_once() {
    let mut scene = Scene::new();
    scene.call("write", json!({ "path": "made.txt", "content": "x" }));
    scene.agent.send(json!({ "type": "undo", "id": "undo" }));
    let records = scene.agent.until(|record| record["id"] == "undo");
    let restored = of_type(&records, "files_restored");
    assert_eq!((&restored[0]["restored"], &restored[0]["redo"]), (&json!(["made.txt"]), &json!(false)));
    assert_eq!(scene.read("made.txt"), None);
    scene.server.reply(Reply::text("ok"));
    scene.agent.run("next");
    let request = scene.server.requests().pop().unwrap().body.to_string();
    assert!(request.contains("took back changes") && request.contains("- made.txt"), "{request}");
}

#[test]
fn edit_of_the_user_is_a_conflict_that_is_never_overwritten() {
    let mut scene = Scene::new();
    scene.write("a", "old");
    scene.write("b", "old");
    scene.bash("echo run > a; echo run > b");
    scene.write("a", "mine");
    let report = scene.data(json!({ "type": "undo" }));
    assert_eq!(report["conflicts"], json!([{ "path": "a", "reason": "it has changed since" }]));
    assert_eq!(report["restored"], json!(["b"]));
    assert_eq!((scene.read("a").unwrap().as_str(), scene.read("b").unwrap().as_str()), ("mine", "old"));
}

#[test]
fn older_run_turn_and_entry_can_be_chosen() {
    let mut scene = Scene::new();
    scene.write("a", "0");
    let records = scene.bash("printf 1 > a");
    let entry = of_type(&records, "message_end")[0]["entryId"].clone();
    scene.bash("printf 2 > a; printf 2 > b");
    scene.call("write", json!({ "path": "c", "content": "3" }));
    let files = |scene: &Scene| ["a", "b", "c"].map(|name| scene.read(name).unwrap_or_default()).join(",");
    let older = scene.data(json!({ "type": "undo", "run": 1 }));
    assert_eq!((&older["conflicts"][0]["path"], files(&scene)), (&json!("a"), "2,2,3".to_owned()));
    let dry = scene.data(json!({ "type": "undo", "to": { "run": 2 }, "dryRun": true }));
    assert_eq!(
        (&dry["restored"], &dry["dryRun"], files(&scene)),
        (&json!(["a", "b", "c"]), &json!(true), "2,2,3".to_owned())
    );
    scene.data(json!({ "type": "undo", "to": { "run": 2, "turn": 0 } }));
    assert_eq!(files(&scene), "1,,");
    scene.data(json!({ "type": "redo" }));
    assert_eq!(files(&scene), "2,2,3");
    scene.data(json!({ "type": "undo", "to": { "entryId": entry } }));
    assert_eq!(files(&scene), "0,,");
    for (command, expected) in [
        (json!({ "type": "undo", "run": 9 }), "no run 9"),
        (json!({ "type": "undo", "to": { "entryId": "none" } }), "no entry none"),
        (json!({ "type": "undo", "to": {} }), "must have run or entryId"),
        (json!({ "type": "get_changes", "run": 9 }), "no run 9"),
    ] {
        let response = scene.ask(command);
        assert!(response["error"].as_str().unwrap().contains(expected), "{response}");
    }
}

#[test]
fn killed_agent_leaves_what_undo_needs() {
    let mut scene = Scene::new();
    scene.write("a", "old");
    scene.write("b/c", "old");
    scene.server.reply(
        Reply::new().tool("bash", json!({ "command": "echo new > a; rm -rf b; touch ready; sleep 60" })),
    );
    scene.agent.send(json!({ "type": "prompt", "message": "go" }));
    scene.agent.until_type("tool_execution_start");
    let ready = scene.workspace.work().join("ready");
    bowline_testkit::eventually("the command has begun", || ready.exists());
    scene.agent.kill();
    let [session] = &scene.workspace.session_files()[..] else { panic!("one session") };
    scene.agent = Launch::rpc(&scene.workspace)
        .model("mock/m1")
        .arguments(&["--session", session.to_str().unwrap()])
        .start();
    let changes = scene.data(json!({ "type": "get_changes" }));
    assert_eq!(changes["runs"][0]["recovered"], true, "{changes}");
    scene.data(json!({ "type": "undo" }));
    assert_eq!((scene.read("a").unwrap().as_str(), scene.read("b/c").unwrap().as_str()), ("old", "old"));
    assert!(!ready.exists());
}

#[test]
fn checkout_of_another_branch_is_taken_back_from_git() {
    let git = |scene: &Scene, arguments: &[&str]| {
        let output = Command::new("git")
            .current_dir(scene.workspace.work())
            .args(["-c", "user.name=a", "-c", "user.email=a@b"])
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    let mut scene = Scene::new();
    scene.write("a", "main\n");
    git(&scene, &["init", "-q", "-b", "main"]);
    git(&scene, &["add", "."]);
    git(&scene, &["commit", "-qm", "one"]);
    git(&scene, &["checkout", "-qb", "other"]);
    scene.write("a", "other\n");
    scene.write("b", "other\n");
    git(&scene, &["add", "."]);
    git(&scene, &["commit", "-qm", "two"]);
    git(&scene, &["checkout", "-q", "main"]);
    scene.bash("git checkout -q other");
    assert_eq!(scene.read("b").as_deref(), Some("other\n"));
    scene.data(json!({ "type": "undo" }));
    assert_eq!((scene.read("a").as_deref(), scene.read("b")), (Some("main\n"), None));
}

#[test]
fn run_changes_come_before_the_end_for_clients_that_want_them() {
    let mut scene = Scene::new();
    scene.data(json!({ "type": "set_client_capabilities", "changes": true }));
    scene.server.reply(Reply::text("nothing to do"));
    assert!(of_type(&scene.agent.run("go"), "run_changes").is_empty());
    let records = scene.bash("printf 'a\\nb\\n' > new");
    let place = |name: &str| records.iter().position(|record| record["type"] == name).unwrap();
    assert!(place("run_changes") < place("agent_settled"));
    let changes = &records[place("run_changes")];
    assert_eq!((&changes["files"][0]["path"], &changes["added"]), (&json!("new"), &json!(2)), "{changes}");
    assert!(changes["diff"].as_str().unwrap().contains("+a\n+b\n"));
}

#[test]
fn undo_is_refused_while_a_run_is_in_progress() {
    let mut scene = Scene::new();
    scene.write("a", "old");
    scene.bash("echo new > a");
    scene.server.reply(Reply::new().tool("bash", json!({ "command": "sleep 60" })));
    scene.agent.send(json!({ "type": "prompt", "message": "go" }));
    scene.agent.until_type("tool_execution_start");
    let refused = scene.ask(json!({ "type": "undo" }));
    assert_eq!((&refused["success"], &refused["code"]), (&json!(false), &json!("busy")), "{refused}");
    assert_eq!(scene.data(json!({ "type": "get_changes" }))["runs"].as_array().unwrap().len(), 1);
    scene.agent.send(json!({ "type": "abort" }));
    scene.agent.until_type("agent_settled");
    assert_eq!(scene.data(json!({ "type": "undo" }))["restored"], json!(["a"]));
}

#[test]
fn switched_off_nothing_is_kept() {
    let mut scene = Scene::with(|workspace| workspace.settings(json!({ "undo": { "enabled": false } })));
    scene.write("a", "old");
    scene.bash("echo new > a");
    let changes = scene.data(json!({ "type": "get_changes" }));
    assert_eq!(changes["enabled"], false);
    assert!(changes["reason"].as_str().unwrap().contains("undo.enabled"));
    assert!(scene.ask(json!({ "type": "undo" }))["error"].as_str().unwrap().contains("not recorded"));
    assert!(!scene.workspace.configuration().join("undo").exists());
}

#[test]
fn changes_of_each_command_are_told_apart() {
    let mut scene = Scene::with(|workspace| workspace.settings(json!({ "undo": { "eachCommand": true } })));
    scene.server.reply(
        Reply::new()
            .tool("bash", json!({ "command": "echo 1 > one" }))
            .tool("bash", json!({ "command": "sleep 0.5; echo 2 > two" })),
    );
    scene.agent.run("go");
    let changes = scene.data(json!({ "type": "get_changes" }));
    let turns = changes["runs"][0]["turns"].as_array().unwrap();
    assert!(
        turns.len() == 2 && turns.iter().all(|turn| turn["toolCallId"].is_string() && turn["files"] == 1),
        "{changes}"
    );
}

#[test]
fn session_lists_its_changes_and_takes_the_data_with_it() {
    let mut scene = Scene::new();
    scene.bash("echo new > a");
    let entries = scene.data(json!({ "type": "get_entries" }));
    let entry = entries["entries"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&entry["type"], &entry["customType"]), (&json!("custom"), &json!("bowline.file_changes")));
    assert_eq!(entry["data"]["files"], json!([{ "path": "a", "change": "created" }]));
    let undo = scene.workspace.configuration().join("undo");
    assert_eq!(fs::read_dir(&undo).unwrap().count(), 1);
    let session = scene.workspace.session_files().remove(0);
    scene.data(json!({ "type": "new_session" }));
    scene.data(json!({ "type": "delete_session", "sessionPath": session }));
    assert_eq!(fs::read_dir(&undo).unwrap().count(), 0);
}

#[test]
fn stored_session_is_undone_from_the_command_line() {
    let mut scene = Scene::new();
    scene.write("a", "old\n");
    scene.bash("echo new > a; echo made > b");
    let session = scene.workspace.session_files().remove(0);
    let session = session.to_str().unwrap();
    let run =
        |scene: &Scene, arguments: &[&str]| Launch::bowline(&scene.workspace).arguments(arguments).run();
    let in_use = run(&scene, &["sessions", "undo", session]);
    assert_ne!(in_use.code, 0, "{}", in_use.stdout);
    scene.agent.close_stdin();
    scene.agent.wait();

    let shown = run(&scene, &["sessions", "show", session]).stdout;
    assert!(shown.contains("changes   run 1 changed 2 files (+2 -1)"), "{shown}");
    let dry = run(&scene, &["sessions", "undo", session, "--dry-run"]).stdout;
    assert_eq!(dry, "would restore  a\nwould restore  b\nrun 1: would restore 2\n");
    assert!(scene.read("b").is_some());
    scene.write("a", "mine\n");
    let dry = run(&scene, &["sessions", "undo", session, "--dry-run"]).stdout;
    assert_eq!(
        dry,
        "would restore  b\nconflict       a: it has changed since\nrun 1: would restore 1, 1 conflict\n"
    );
    let done = run(&scene, &["sessions", "undo", session, "--run", "1", "--json"]);
    let report: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!((&report["restored"], &report["conflicts"][0]["path"]), (&json!(["b"]), &json!("a")));
    assert_eq!((scene.read("a").as_deref(), scene.read("b")), (Some("mine\n"), None));
    let unknown = run(&scene, &["sessions", "undo", session, "--run", "7"]);
    assert!(unknown.code != 0 && unknown.stderr.contains("no run 7"), "{}", unknown.stderr);
    assert!(unknown.stderr.contains("bowline sessions show "), "{}", unknown.stderr);
    let file = fs::read_to_string(session).unwrap();
    assert!(file.contains("bowline.files_restored"));
    run(&scene, &["sessions", "rm", session]);
    assert_eq!(fs::read_dir(scene.workspace.configuration().join("undo")).unwrap().count(), 0);
}
