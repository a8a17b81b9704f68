//! `--cwd`: the folder that bowline works in.

use std::fs;
use std::time::Duration;

use bowline_testkit::{Launch, Reply, Workspace, eventually};
use serde_json::json;

#[test]
fn tools_of_every_dialect_run_in_the_folder_of_cwd() {
    for dialect in ["pi", "pi-classic", "omp", "opi", "operator", "operator-flat"] {
        let (server, workspace) = Workspace::with_server();
        let folder = workspace.home().join("else where");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("AGENTS.md"), "the folder's own rule").unwrap();
        server.reply(Reply::new().tool("bash", json!({ "command": "pwd -P > place" })));
        let mut agent = Launch::bowline(&workspace)
            .model("mock/m1")
            .arguments(&["--mode", "rpc", "--dialect", dialect, "--allow-mutating"])
            .arguments(&["--cwd", "../else where"])
            .directory(workspace.work())
            .start();
        agent.send(json!({ "type": "prompt", "message": "where are you?" }));
        let requests = server.wait_for_requests(2, Duration::from_secs(20));
        let place = fs::read_to_string(folder.join("place")).unwrap();
        let expected = folder.canonicalize().unwrap();
        assert_eq!(place.trim_end(), expected.to_str().unwrap(), "{dialect}");
        assert!(requests[0].body.to_string().contains("the folder's own rule"), "{dialect}");
        agent.close_stdin();
        agent.wait();
    }
}

#[test]
fn cwd_that_is_not_a_folder_prevents_the_start() {
    let workspace = Workspace::empty().file("file.txt", "");
    let missing = "does not exist; name a folder that does";
    for (folder, problem) in [("missing", missing), ("file.txt", "is not a folder"), ("", missing)] {
        let finished = Launch::rpc(&workspace).arguments(&["--cwd", folder]).run();
        assert_eq!(finished.code, 1, "{folder:?}: {}", finished.stderr);
        assert_eq!(finished.stderr, format!("bowline: --cwd: \"{folder}\" {problem}\n"));
    }
}

#[test]
fn sessions_and_exports_are_those_of_the_folder_of_cwd() {
    let (server, workspace) = Workspace::with_server();
    server.default_reply(Reply::text("done"));
    let folder = workspace.home().join("project");
    fs::create_dir(&folder).unwrap();
    let mut agent = Launch::rpc(&workspace).model("mock/m1").directory(&folder).start();
    agent.run("hello");
    agent.finish();
    eventually("the session is on disk", || workspace.session_files().len() == 1);
    let list = |folder: &str| {
        Launch::bowline(&workspace)
            .arguments(&["sessions", "list", "--json", "--cwd", folder])
            .run()
            .succeeded()
    };
    assert_eq!(list(".").lines().count(), 0);
    let listed: serde_json::Value = serde_json::from_str(list("../project").trim()).unwrap();
    let id = listed["id"].as_str().unwrap();
    Launch::bowline(&workspace)
        .arguments(&["export", id, "--out", "page.html", "--cwd", "~/project"])
        .run()
        .succeeded();
    assert!(folder.join("page.html").is_file());
    let continued =
        Launch::rpc(&workspace).arguments(&["--cwd", "../project", "--continue"]).start().get("get_state");
    assert_eq!(continued["sessionId"], id);
}
