//! A workspace that is an overlay: nothing is written until it is accepted, and nothing of the user's is overwritten.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use bowline_testkit::{Agent, Launch, ModelServer, Reply, Workspace, eventually, of_type};
use serde_json::{Value, json};

use super::levels;

/// A workspace with an agent whose tools change an overlay of it.
struct Scene {
    server: ModelServer,
    workspace: Workspace,
    agent: Agent,
}

/// Says that a machine cannot have what is tested.
fn has_overlays() -> bool {
    let has = levels::has_namespaces();
    if !has {
        println!("This machine has no namespaces: overlays were not tried.");
    }
    has
}

fn launch(workspace: &Workspace) -> Launch {
    Launch::rpc(workspace).model("mock/m1").arguments(&[
        "--sandbox",
        "workspace-write",
        "--workspace",
        "overlay",
    ])
}

impl Scene {
    fn new(files: &[(&str, &str)]) -> Self {
        let (server, workspace) = Workspace::with_server();
        for (name, text) in files {
            write(&workspace.work(), name, text);
        }
        let agent = launch(&workspace).start();
        Self { server, workspace, agent }
    }

    /// Has the model run a command, and returns the records of the run.
    fn bash(&mut self, command: &str) -> Vec<Value> {
        self.server.reply(Reply::new().tool("bash", json!({ "command": command })));
        self.agent.run("go")
    }

    /// Has the model run a command and returns what it reads.
    fn output(&mut self, command: &str) -> String {
        let records = self.bash(command);
        let end = of_type(&records, "tool_execution_end")[0];
        end["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    }

    fn ask(&mut self, mut command: Value) -> Value {
        command["id"] = json!("asked");
        self.agent.send(command);
        self.agent.response("asked")
    }

    #[track_caller]
    fn data(&mut self, command: Value) -> Value {
        let response = self.ask(command);
        assert_eq!(response["success"], true, "{response}");
        response["data"].clone()
    }

    #[track_caller]
    fn accept(&mut self) -> Value {
        self.data(json!({ "type": "accept_changes" }))
    }

    /// Returns each pending change as a word and its path.
    #[track_caller]
    fn pending(&mut self) -> Vec<String> {
        shown(&self.data(json!({ "type": "get_pending_changes" })))
    }

    fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.workspace.work().join(name)).ok()
    }

    fn write(&self, name: &str, text: &str) {
        write(&self.workspace.work(), name, text);
    }

    /// Opens the session again in another process.
    fn reopen(&mut self) {
        let [file] = &self.workspace.session_files()[..] else { panic!("not one session") };
        self.agent = launch(&self.workspace).arguments(&["--session", file.to_str().unwrap()]).start();
    }
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn shown(report: &Value) -> Vec<String> {
    let changes = report["changes"].as_array().unwrap().iter();
    changes
        .map(|change| format!("{} {}", change["change"].as_str().unwrap(), change["path"].as_str().unwrap()))
        .collect()
}

fn reasons(list: &Value) -> Vec<String> {
    let paths = list.as_array().unwrap().iter();
    paths.map(|left| left["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn nothing_is_written_until_it_is_accepted() {
    if !has_overlays() {
        return;
    }
    let mut scene = Scene::new(&[("a.txt", "one\n"), ("gone.txt", "gone\n"), ("folder/b.txt", "b\n")]);
    scene.server.reply(Reply::new().tool("write", json!({ "path": "new.txt", "content": "new\n" })));
    scene.server.reply(
        Reply::new()
            .tool("edit", json!({ "path": "a.txt", "edits": [{ "oldText": "one", "newText": "two" }] })),
    );
    let command = "rm gone.txt; mv folder moved; chmod 700 a.txt; cat a.txt new.txt";
    let records = scene.bash(command);
    let read = of_type(&records, "tool_execution_end")[2]["result"]["content"][0]["text"].clone();
    assert_eq!(read, "two\nnew\n");

    let found = ["a.txt", "gone.txt", "folder/b.txt"].map(|name| scene.read(name).unwrap_or_default());
    assert_eq!(found, ["one\n", "gone\n", "b\n"]);
    assert_eq!((scene.read("new.txt"), scene.read("moved/b.txt")), (None, None));
    let expected = [
        "modified a.txt",
        "deleted folder",
        "deleted folder/b.txt",
        "deleted gone.txt",
        "created moved",
        "created moved/b.txt",
        "created new.txt",
    ];
    // The run ends with the list.
    let told = of_type(&records, "pending_changes");
    assert_eq!(shown(told[0]), expected);
    let place = |kind: &str| records.iter().position(|record| record["type"] == kind).unwrap();
    assert!(place("pending_changes") < place("agent_settled"));
    let report = scene.data(json!({ "type": "get_pending_changes", "diff": true }));
    assert_eq!(shown(&report), expected);
    let change = &report["changes"][0];
    assert_eq!(
        (&change["sizeBefore"], &change["size"], &change["mode"]),
        (&json!(4), &json!(4), &json!("700"))
    );
    assert!(report["diff"].as_str().unwrap().contains("-one\n+two\n"), "{report}");
    let undo = scene.data(json!({ "type": "get_changes" }));
    assert_eq!(undo["enabled"], false);
    assert!(undo["reason"].as_str().unwrap().contains("discard_changes"), "{undo}");

    let report = scene.accept();
    assert_eq!(
        (&report["conflicts"], &report["notApplied"], &report["pending"]),
        (&json!([]), &json!([]), &json!(0))
    );
    assert_eq!(report["accepted"].as_array().unwrap().len(), expected.len());
    assert_eq!(scene.read("a.txt").as_deref(), Some("two\n"));
    assert_eq!((scene.read("gone.txt"), scene.read("folder/b.txt")), (None, None));
    assert!(!scene.workspace.work().join("folder").exists());
    assert_eq!(
        (scene.read("moved/b.txt").as_deref(), scene.read("new.txt").as_deref()),
        (Some("b\n"), Some("new\n"))
    );
    let mode = fs::metadata(scene.workspace.work().join("a.txt")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert_eq!(scene.pending(), Vec::<String>::new());
    // The next view is the real workspace.
    scene.write("later.txt", "later\n");
    assert_eq!(scene.output("cat moved/b.txt later.txt"), "b\nlater\n");
}

#[test]
fn links_modes_and_exchanged_kinds_are_applied() {
    if !has_overlays() {
        return;
    }
    let mut scene = Scene::new(&[
        ("file", "f\n"),
        ("folder/a", "a\n"),
        ("folder/b", "b\n"),
        ("again/x", "x\n"),
        ("run", "r\n"),
    ]);
    symlink("file", scene.workspace.work().join("link")).unwrap();
    scene.bash(
        "rm file; mkdir file; echo in > file/in; rm -r folder; echo now > folder; ln -sfn /etc/hostname link; ln -s folder l2; \
         rm -r again; mkdir again; echo y > again/y; chmod +x run; mkfifo pipe; echo h > h1; ln h1 h2",
    );
    let report = scene.accept();
    assert_eq!(report["conflicts"], json!([]), "{report}");
    assert_eq!(reasons(&report["notApplied"]), ["h1", "h2", "pipe"]);
    let work = scene.workspace.work();
    assert_eq!(scene.read("file/in").as_deref(), Some("in\n"));
    assert_eq!(scene.read("folder").as_deref(), Some("now\n"));
    assert_eq!(fs::read_link(work.join("link")).unwrap(), Path::new("/etc/hostname"));
    assert_eq!(fs::read_link(work.join("l2")).unwrap(), Path::new("folder"));
    assert_eq!((scene.read("again/x"), scene.read("again/y").as_deref()), (None, Some("y\n")));
    assert_eq!(fs::metadata(work.join("run")).unwrap().permissions().mode() & 0o111, 0o111);
    assert!(!work.join("pipe").exists());
    assert!(!work.join("h1").exists());
    // They stay pending, and the rest is settled.
    assert_eq!(scene.pending(), ["created h1", "created h2", "created pipe"]);
    assert_eq!(scene.output("ls again; cat file/in; test -p pipe && echo pipe"), "y\nin\npipe\n");
}

#[test]
fn what_the_user_changed_is_a_conflict_and_stays() {
    if !has_overlays() {
        return;
    }
    let names = ["edited", "deleted", "kept", "d/inner", "d/other", "made"];
    let mut scene = Scene::new(&names.map(|name| (name, "base\n"))[..5]);
    scene.bash(
        "for f in edited deleted kept made; do echo agent > $f; done; sed -i s/base/agent/ deleted; rm -r d",
    );
    scene.write("edited", "user\n");
    fs::remove_file(scene.workspace.work().join("deleted")).unwrap();
    scene.write("d/inner", "user\n");
    scene.write("made", "user\n");
    let report = scene.accept();
    assert_eq!(report["accepted"], json!(["d/other", "kept"]), "{report}");
    assert_eq!(reasons(&report["conflicts"]), ["d", "d/inner", "deleted", "edited", "made"]);
    let found = names.map(|name| scene.read(name));
    let expected = [Some("user\n"), None, Some("agent\n"), Some("user\n"), None, Some("user\n")];
    assert_eq!(found, expected.map(|text| text.map(str::to_owned)));
    let report = scene.data(json!({ "type": "get_pending_changes" }));
    let expected = ["deleted d", "deleted d/inner", "created deleted", "modified edited", "modified made"];
    assert_eq!(shown(&report), expected);
    let obstacles: Vec<_> =
        report["changes"].as_array().unwrap().iter().map(|change| &change["obstacle"]).collect();
    assert_eq!(obstacles[1..], [&json!("conflict"); 4]);
    // A file that the user changed before the agent began to is no conflict.
    scene.data(json!({ "type": "discard_changes" }));
    assert_eq!(scene.output("cat edited; echo again > edited"), "user\n");
    assert_eq!(scene.accept()["accepted"], json!(["edited"]));
    assert_eq!(scene.read("edited").as_deref(), Some("again\n"));
}

#[test]
fn protected_paths_are_never_applied() {
    if !has_overlays() {
        return;
    }
    let mut scene = Scene::new(&[("a", "a\n")]);
    scene.bash(
        "mkdir -p .vscode sub && echo x > .vscode/tasks.json && echo x > .envrc && echo 'gitdir: ../elsewhere' > sub/.git && \
         git init -q nested && echo evil > nested/.git/hooks/pre-commit && git -C nested config core.fsmonitor ./evil && echo b > a",
    );
    let named =
        json!([".vscode/tasks.json", ".envrc", "sub/.git", "nested/.git/hooks", "nested/.git/config", "a"]);
    let report = scene.data(json!({ "type": "accept_changes", "paths": named }));
    assert!(report["accepted"].as_array().unwrap().contains(&json!("a")), "{report}");
    let report = scene.accept();
    let refused = reasons(&report["notApplied"]);
    for path in
        [".envrc", ".vscode/tasks.json", "nested/.git/config", "nested/.git/hooks/pre-commit", "sub/.git"]
    {
        assert!(refused.contains(&path.to_owned()), "{path}: {report}");
        assert!(!scene.workspace.work().join(path).exists(), "{path}");
    }
    assert_eq!(scene.read("a").as_deref(), Some("b\n"));
    assert!(scene.read("nested/.git/HEAD").is_some());
    let report = scene.data(json!({ "type": "get_pending_changes", "paths": [".envrc"] }));
    assert_eq!(report["changes"][0]["obstacle"], "protected");
}

#[test]
fn some_changes_are_accepted_and_others_discarded() {
    if !has_overlays() {
        return;
    }
    let mut scene = Scene::new(&[("a", "a\n"), ("d/x", "x\n"), ("d/y", "y\n"), ("g/z", "z\n")]);
    scene.bash("echo 2 > a; rm -r d g; mkdir d; echo new > d/n; echo 2 > d/x; mkdir -p new/deep; echo 1 > new/deep/1; echo 2 > new/2");
    let report = scene.data(json!({ "type": "accept_changes", "paths": ["new/deep/1", "d/n"] }));
    assert_eq!(report["accepted"], json!(["d/n", "new", "new/deep", "new/deep/1"]), "{report}");
    assert_eq!(scene.read("new/deep/1").as_deref(), Some("1\n"));
    let found = ["a", "d/x", "d/y", "d/n"].map(|name| scene.read(name).unwrap_or_default());
    assert_eq!(found, ["a\n", "x\n", "y\n", "new\n"]);
    let left = ["modified a", "modified d/x", "deleted d/y", "deleted g", "deleted g/z", "created new/2"];
    assert_eq!(scene.pending(), left);
    let report = scene.data(json!({ "type": "discard_changes", "paths": ["d", "g/z"] }));
    assert_eq!(report["discarded"], json!(["d/x", "d/y"]), "{report}");
    assert_eq!(reasons(&report["notDiscarded"]), ["g/z"]);
    assert_eq!(
        scene.output("cat a d/x d/y d/n new/deep/1 new/2; ls d; test ! -e g"),
        "2\nx\ny\nnew\n1\n2\nn\nx\ny\n"
    );
    let absolute = scene.workspace.work().canonicalize().unwrap().join("a");
    let report = scene.data(json!({ "type": "get_pending_changes", "paths": [absolute] }));
    assert_eq!(shown(&report), ["modified a"]);
    let report = scene.data(json!({ "type": "accept_changes", "paths": ["nothing"] }));
    assert_eq!((reasons(&report["notApplied"]), &report["pending"]), (vec!["nothing".to_owned()], &json!(4)));
    let report = scene.data(json!({ "type": "discard_changes" }));
    assert_eq!(report["discarded"], json!(["a", "g", "g/z", "new/2"]));
    assert_eq!((scene.pending(), scene.read("a").as_deref()), (Vec::new(), Some("a\n")));
    // The model learns what is gone.
    scene.server.reply(Reply::text("Yes."));
    scene.agent.run("still there?");
    let request = scene.server.requests().last().unwrap().body.to_string();
    assert!(request.contains("threw away changes"), "{request}");
}

#[test]
fn pending_changes_survive_a_kill_and_are_removed_with_the_session() {
    if !has_overlays() {
        return;
    }
    let mut scene = Scene::new(&[("a", "a\n"), ("b", "b\n")]);
    scene.bash("echo agent > a; rm b");
    scene.agent.kill();
    scene.write("a", "user\n");
    scene.write("c", "c\n");
    scene.reopen();
    assert_eq!(scene.pending(), ["modified a", "deleted b"]);
    assert_eq!(scene.output("cat a c; ls; echo d > d"), "agent\nc\na\nc\n");
    let report = scene.accept();
    assert_eq!(report["accepted"], json!(["b", "d"]), "{report}");
    assert_eq!(reasons(&report["conflicts"]), ["a"]);
    assert_eq!(scene.read("a").as_deref(), Some("user\n"));

    let stores = scene.workspace.configuration().join("workspaces");
    assert_eq!(fs::read_dir(&stores).unwrap().count(), 1);
    let [file] = &scene.workspace.session_files()[..] else { panic!("not one session") };
    scene.agent.close_stdin();
    scene.agent.wait();
    let removed =
        Launch::bowline(&scene.workspace).arguments(&["sessions", "rm", file.to_str().unwrap()]).run();
    assert_eq!(removed.code, 0, "{removed:?}");
    assert_eq!(fs::read_dir(&stores).unwrap().count(), 0);
}

#[test]
fn processes_in_the_background_keep_changes_from_being_accepted() {
    if !has_overlays() {
        return;
    }
    let mut scene = Scene::new(&[("a", "a\n")]);
    scene.bash("echo b > a; (setsid sleep 1000 </dev/null >/dev/null 2>&1 &)");
    for kind in ["accept_changes", "discard_changes"] {
        let refused = scene.ask(json!({ "type": kind }));
        assert_eq!((&refused["success"], &refused["code"]), (&json!(false), &json!("busy")), "{refused}");
        assert!(refused["error"].as_str().unwrap().contains("sleep"), "{refused}");
    }
    assert_eq!((scene.read("a").as_deref(), scene.pending()), (Some("a\n"), vec!["modified a".to_owned()]));
    let report = scene.data(json!({ "type": "accept_changes", "force": true }));
    assert_eq!(report["accepted"], json!(["a"]));
    assert_eq!(scene.read("a").as_deref(), Some("b\n"));
    assert_eq!(scene.output("pgrep sleep | wc -l"), "0\n");
}

#[test]
fn commit_in_the_overlay_is_accepted() {
    if !has_overlays() {
        return;
    }
    let mut scene = Scene::new(&[("a", "a\n")]);
    let work = scene.workspace.work();
    let git = |arguments: &[&str]| {
        let mut command = std::process::Command::new("git");
        command
            .args(["-c", "user.name=u", "-c", "user.email=u@example.org"])
            .args(arguments)
            .current_dir(&work);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "first"]);
    let config = fs::read(work.join(".git/config")).unwrap();
    scene.bash(
        "echo b > a && git add a && git -c user.name=m -c user.email=m@example.org commit -q -m second && git branch hooks; \
         git config core.fsmonitor ./evil; echo evil > .git/hooks/pre-commit",
    );
    assert_eq!(git(&["log", "--format=%s"]), "first\n");
    let report = scene.accept();
    assert_eq!((&report["conflicts"], &report["notApplied"]), (&json!([]), &json!([])), "{report}");
    assert_eq!(git(&["log", "--format=%s"]), "second\nfirst\n");
    assert_eq!(git(&["status", "--porcelain"]), "");
    assert_eq!(git(&["branch", "--list", "hooks"]).trim(), "hooks");
    git(&["fsck", "--strict"]);
    assert_eq!(fs::read(work.join(".git/config")).unwrap(), config);
    assert!(!work.join(".git/hooks/pre-commit").exists());
}

#[test]
fn overlay_is_reported_and_cannot_be_left() {
    if !has_overlays() {
        return;
    }
    let (_server, workspace) = Workspace::with_server();
    let mut agent = launch(&workspace).arguments(&["--client-may-widen"]).start();
    assert_eq!(agent.get("get_sandbox")["workspace"], "overlay");
    assert_eq!(agent.get("get_state")["sandbox"]["workspace"], "overlay");
    agent.send(json!({ "id": "1", "type": "set_sandbox", "mode": "full-access" }));
    let refused = agent.response("1");
    assert!(refused["error"].as_str().unwrap().contains("--workspace direct"), "{refused}");
    let arguments = ["sandbox", "explain", "--sandbox", "workspace-write", "--workspace", "overlay"];
    let explained = Launch::bowline(&workspace).arguments(&arguments).run();
    assert!(explained.stdout.contains("folder   overlay: it stays as it is"), "{explained:?}");

    let mut direct = Launch::rpc(&workspace).arguments(&["--sandbox", "workspace-write"]).start();
    assert!(direct.get("get_sandbox").get("workspace").is_none());
    let report = direct.get("get_pending_changes");
    assert_eq!(report["enabled"], false);
    direct.send(json!({ "id": "1", "type": "accept_changes" }));
    assert_eq!(direct.response("1")["code"], "invalid_argument");
}

#[test]
fn subagent_and_user_work_on_the_changes_of_the_session() {
    if !has_overlays() {
        return;
    }
    const TASK: &str = "Note it.";
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(json!({ "task": { "enabled": true } }));
    let mut agent = launch(&workspace).start();
    let tasks = json!([{ "name": "noter", "agent": "task", "task": TASK }]);
    server.reply(Reply::new().tool("write", json!({ "path": "parent", "content": "parent\n" })));
    server.reply(Reply::new().tool("task", json!({ "tasks": tasks })));
    server.reply_in(TASK, Reply::new().tool("bash", json!({ "command": "cat parent > child" })));
    server.reply_in(TASK, Reply::text("It is noted."));
    server.reply(Reply::text("Done."));
    let records = agent.run("go");
    let told = of_type(&records, "pending_changes");
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(shown(told[0]), ["created child", "created parent"]);
    agent.send(json!({ "id": "1", "type": "bash", "command": "cat child; rm parent" }));
    assert_eq!(agent.response("1")["data"]["output"], "parent\n");
    assert_eq!(shown(&agent.get("get_pending_changes")), ["created child"]);
    agent.get("accept_changes");
    assert_eq!(fs::read_to_string(workspace.work().join("child")).unwrap(), "parent\n");
    // A run that changes nothing repeats no list.
    server.reply(Reply::new().tool("bash", json!({ "command": "cat child" })));
    assert_eq!(of_type(&agent.run("go"), "pending_changes"), Vec::<&Value>::new());
}

#[test]
fn other_sessions_do_not_see_the_changes() {
    if !has_overlays() {
        return;
    }
    let mut scene = Scene::new(&[("a", "a\n")]);
    scene.bash("echo first > a");
    let first = scene.agent.get("get_state")["sessionFile"].clone();
    scene.agent.get("new_session");
    assert_eq!(scene.output("cat a; echo second > b"), "a\n");
    assert_eq!(scene.pending(), ["created b"]);
    let stores = scene.workspace.configuration().join("workspaces");
    assert_eq!(fs::read_dir(&stores).unwrap().count(), 2);
    scene.data(json!({ "type": "delete_session", "sessionPath": first }));
    assert_eq!(fs::read_dir(&stores).unwrap().count(), 1);
    assert_eq!((scene.pending(), scene.read("a").as_deref()), (vec!["created b".to_owned()], Some("a\n")));
}

#[test]
fn changes_are_settled_in_omp_as_well() {
    if !has_overlays() {
        return;
    }
    let (server, workspace) = Workspace::with_server();
    let mut agent = launch(&workspace).dialect("omp").start();
    server.reply(Reply::new().tool("write", json!({ "path": "a", "content": "a\n" })));
    server.reply(Reply::text("Done."));
    agent.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
    let record = agent.until_type("pending_changes").pop().unwrap();
    assert_eq!(shown(&record), ["created a"]);
    agent.until_type("agent_end");
    assert_eq!(shown(&agent.get("get_pending_changes")), ["created a"]);
    assert_eq!(agent.get("accept_changes")["accepted"], json!(["a"]));
    assert!(workspace.work().join("a").exists());
}

#[test]
fn folder_with_an_odd_name_in_a_home_that_is_an_overlay_works_as_well() {
    if !has_overlays() {
        return;
    }
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(json!({ "sandbox": { "home": "overlay" } }));
    let folder = workspace.home().join("a:b,c d\\e");
    write(&folder, "a", "a\n");
    // Changes of the home folder are kept in bowline's own only if that is not in the home folder.
    let elsewhere = Workspace::empty();
    let own = elsewhere.home().join("own");
    fs::rename(workspace.configuration(), &own).unwrap();
    let launch = launch(&workspace).environment("BOWLINE_HOME", own.to_str().unwrap());
    let mut agent = launch.arguments(&["--cwd", folder.to_str().unwrap()]).start();
    let command = "cat a; echo b > a; echo x > ../in-home; cat ../in-home";
    server.reply(Reply::new().tool("bash", json!({ "command": command })));
    let records = agent.run("go");
    let end = of_type(&records, "tool_execution_end")[0];
    assert_eq!(end["result"]["content"][0]["text"], "a\nx\n");
    assert_eq!(fs::read_to_string(folder.join("a")).unwrap(), "a\n");
    assert!(!workspace.home().join("in-home").exists());
    assert_eq!(agent.get("accept_changes")["accepted"], json!(["a"]));
    assert_eq!(fs::read_to_string(folder.join("a")).unwrap(), "b\n");
}

#[test]
fn command_without_a_session_is_a_rehearsal() {
    if !has_overlays() {
        return;
    }
    let workspace = Workspace::empty();
    let arguments =
        ["sandbox", "run", "--workspace", "overlay", "--", "sh", "-c", "echo new > file; cat file"];
    let ran = Launch::bowline(&workspace).arguments(&arguments).run();
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "new\n"), "{ran:?}");
    assert!(!workspace.work().join("file").exists());
    assert_eq!(fs::read_dir(workspace.configuration().join("workspaces")).unwrap().count(), 0);
}

#[test]
fn session_in_memory_leaves_no_changes_behind() {
    if !has_overlays() {
        return;
    }
    let (server, workspace) = Workspace::with_server();
    let mut agent = launch(&workspace).arguments(&["--no-session"]).start();
    server.reply(Reply::new().tool("bash", json!({ "command": "echo b > b" })));
    agent.run("go");
    assert_eq!(shown(&agent.get("get_pending_changes")), ["created b"]);
    agent.close_stdin();
    agent.wait();
    let stores = workspace.configuration().join("workspaces");
    eventually("the folder is gone", || fs::read_dir(&stores).unwrap().count() == 0);
    assert!(!workspace.work().join("b").exists());
}

#[test]
fn overlay_needs_a_mode_and_a_level_that_can_keep_it() {
    let workspace = Workspace::empty().settings(json!({ "sandbox": { "minimum": "landlock" } }));
    let arguments = ["--mode", "rpc", "--model", "scripted/demo", "--workspace", "overlay"];
    let refused = Launch::bowline(&workspace).arguments(&arguments).run();
    assert_ne!(refused.code, 0, "{refused:?}");
    assert!(
        refused.stderr.contains("--workspace overlay needs --sandbox workspace-write"),
        "{}",
        refused.stderr
    );
    let refused = levels::launch_without_namespaces(&workspace)
        .arguments(&arguments)
        .arguments(&["--sandbox", "workspace-write"])
        .run();
    assert_ne!(refused.code, 0, "{refused:?}");
    assert!(refused.stderr.contains("the level \"landlock\" does not have"), "{}", refused.stderr);
    assert!(refused.stderr.contains("--workspace direct"), "{}", refused.stderr);
}
