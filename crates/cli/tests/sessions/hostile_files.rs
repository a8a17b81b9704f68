//! Session files that someone else placed: no name may hang the program, and no content may break it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use bowline_testkit::{Finished, Launch, Workspace};
use serde_json::json;

fn make_fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn sessions(workspace: &Workspace, arguments: &[&str]) -> Finished {
    Launch::bowline(workspace).arguments(&["sessions"]).arguments(arguments).run()
}

/// Creates a session and returns its id and the folder of its file.
fn session(workspace: &Workspace) -> (String, PathBuf) {
    let mut agent = workspace.start();
    agent.run("hello");
    let state = agent.get("get_state");
    agent.finish();
    let file = PathBuf::from(state["sessionFile"].as_str().unwrap());
    (state["sessionId"].as_str().unwrap().to_owned(), file.parent().unwrap().to_owned())
}

#[test]
fn only_regular_files_are_opened_and_nothing_waits_for_others() {
    let (_server, workspace) = Workspace::with_server();
    let (id, folder) = session(&workspace);
    make_fifo(&folder.join("0000_fifo.jsonl"));
    make_fifo(&folder.join("9999_fifo.jsonl"));
    symlink("/dev/zero", folder.join("5555_zero.jsonl")).unwrap();
    symlink("/proc/self/environ", folder.join("6666_environment.jsonl")).unwrap();
    fs::create_dir(folder.join("7777_folder.jsonl")).unwrap();

    let listed = sessions(&workspace, &["list", "--json"]).succeeded();
    assert_eq!(listed.lines().count(), 1, "{listed}");
    assert_eq!(sessions(&workspace, &["show", &id[..30]]).code, 0);
    let checked = sessions(&workspace, &["fsck"]);
    assert_eq!(checked.code, 1);
    for kind in ["a FIFO", "a device", "a file of the system", "a folder"] {
        assert!(checked.stderr.contains(kind), "{kind}: {}", checked.stderr);
    }
    let mut agent = Launch::rpc(&workspace).arguments(&["--continue"]).start();
    assert_eq!(agent.get("get_state")["sessionId"], json!(id));
    assert_eq!(agent.get("list_sessions")["sessions"].as_array().unwrap().len(), 1);
    for (name, kind) in [
        ("0000_fifo", "a FIFO"),
        ("5555_zero", "a device"),
        ("6666_environment", "a file of the system"),
        ("7777_folder", "a folder"),
    ] {
        let path = folder.join(format!("{name}.jsonl"));
        let error = agent.refuse(json!({ "type": "switch_session", "sessionPath": path }));
        assert!(error.contains(kind), "{error}");
        let error =
            Launch::rpc(&workspace).arguments(&["--session", path.to_str().unwrap()]).start().fatal_error();
        assert!(error.contains(kind), "{error}");
        let exported = Launch::bowline(&workspace).arguments(&["export", path.to_str().unwrap()]).run();
        assert!(exported.code != 0 && exported.stderr.contains(kind), "{}", exported.stderr);
    }
    agent.finish();
}

#[test]
fn files_of_all_times_are_listed_page_by_page() {
    let (_server, workspace) = Workspace::with_server();
    let (_, folder) = session(&workspace);
    let year = Duration::from_secs(365 * 24 * 60 * 60);
    let epoch = SystemTime::UNIX_EPOCH;
    for (name, time) in
        [("old", epoch - 60 * year), ("new", epoch + 400 * year), ("far", epoch + 9_000 * year)]
    {
        let path = folder.join(format!("{name}.jsonl"));
        let header = json!({ "type": "session", "version": 3, "id": name, "cwd": workspace.work(),
            "timestamp": "+275760-09-13T00:00:00.000Z" });
        fs::write(&path, format!("{header}\n")).unwrap();
        // Where the file system cannot store the time, it stores the nearest one that it can.
        fs::File::options().append(true).open(&path).unwrap().set_modified(time).unwrap();
    }
    let mut agent = Launch::rpc(&workspace).start();
    let mut found = Vec::new();
    let mut cursor = json!(null);
    loop {
        let mut command = json!({ "type": "list_sessions", "limit": 1 });
        if cursor.is_string() {
            command["cursor"] = cursor;
        }
        let page = agent.carry_out(command);
        found.extend(page["sessions"].as_array().unwrap().iter().map(|session| session["id"].clone()));
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(found.len(), 4, "{found:?}");
    assert_eq!(found[3], "old");
    assert_eq!(sessions(&workspace, &["list"]).succeeded().lines().count(), 5);
    assert!(sessions(&workspace, &["show", "far"]).succeeded().contains("+275760"));
}
