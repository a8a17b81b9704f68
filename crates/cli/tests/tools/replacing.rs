//! `write` and `edit` replace a file completely or not at all, and keep what belongs to it.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use bowline_testkit::{Launch, Reply, Workspace, of_type};
use serde_json::json;

#[test]
fn full_disk_costs_neither_a_file_nor_its_second_name() {
    let (server, workspace) = Workspace::with_server();
    let old = "precious\n".repeat(1000);
    let workspace = workspace.file("alone", &old).file("linked", &old);
    let path = |name: &str| workspace.work().join(name);
    fs::hard_link(path("linked"), path("second")).unwrap();
    let content = "new\n".repeat(30_000);
    for name in ["alone", "linked"] {
        server.reply(Reply::new().tool("write", json!({ "path": name, "content": content })));
    }
    server.reply(Reply::text("done"));
    // Room for the old content, but not for the new one.
    let launch = Launch::rpc_on_full_disk(&workspace, 50).model("mock/m1").arguments(&["--no-session"]);
    let records = launch.start().run("go");
    let ends = of_type(&records, "tool_execution_end");
    assert_eq!(ends.len(), 2);
    for end in ends {
        let text = end["result"]["content"][0]["text"].as_str().unwrap();
        assert!(end["isError"] == true && text.contains("File too large"), "{text}");
    }
    assert_eq!(fs::read_to_string(path("alone")).unwrap(), old);
    assert_eq!(fs::read_to_string(path("linked")).unwrap(), old);
    let inode = |name: &str| fs::metadata(path(name)).unwrap().ino();
    assert_eq!(inode("linked"), inode("second"));
    let mut names: Vec<_> =
        workspace.work().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["alone", "linked", "second"]);
}

#[test]
fn file_too_large_to_edit_is_refused_before_it_is_read() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.file("large", "a");
    let file = fs::File::options().write(true).open(workspace.work().join("large")).unwrap();
    file.set_len(600 << 20).unwrap();
    let edits = json!([{ "oldText": "a", "newText": "b" }]);
    server.reply(Reply::new().tool("edit", json!({ "path": "large", "edits": edits })));
    server.reply(Reply::text("done"));
    let records = workspace.start().run("go");
    let text = of_type(&records, "tool_execution_end")[0]["result"]["content"][0]["text"].to_string();
    assert!(text.contains("it has 600.0MB, and the limit is 10.0MB"), "{text}");
}

#[test]
fn change_in_a_line_of_megabytes_makes_a_small_record() {
    let (server, workspace) = Workspace::with_server();
    let line = "y".repeat(5_000_000);
    let workspace = workspace.file("line", &format!("word {line}\n"));
    let arguments = json!({ "file_path": "line", "old_string": "word", "new_string": "other" });
    server.reply(Reply::new().tool("edit", arguments));
    server.reply(Reply::text("done"));
    let records = workspace.start().run("go");
    let end = of_type(&records, "tool_execution_end")[0].clone();
    let details = &end["result"]["details"];
    assert!(end["isError"] == false && details["diffTruncated"] == true, "{}", end["result"]["content"]);
    assert!(details["diff"].as_str().unwrap().starts_with("-1 word yyy"));
    let largest = records.iter().map(|record| record.to_string().len()).max().unwrap();
    assert!(largest < 100_000, "{largest}");
    assert_eq!(fs::read_to_string(workspace.work().join("line")).unwrap(), format!("other {line}\n"));
}
