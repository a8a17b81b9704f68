//! `SYSTEM.md`, `APPEND_SYSTEM.md`, context files, and the list of skills in the system prompt.

use bowline_testkit::{Launch, ModelServer, Workspace};

use crate::with_resources;

/// Returns the system prompt of an agent that is started with some arguments.
#[track_caller]
fn system_prompt(workspace: &Workspace, server: &ModelServer, arguments: &[&str]) -> String {
    let mut agent = Launch::rpc(workspace).model("mock/m1").arguments(arguments).start();
    agent.run("hello");
    let request = server.requests().pop().unwrap();
    request.body["system"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn instructions_come_from_flags_then_the_trusted_project_then_the_user() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace
        .file(".pi/SYSTEM.md", "PROJECT SYSTEM\n")
        .file("AGENTS.md", "PROJECT CTX")
        .home_file(".bowline/SYSTEM.md", "USER SYSTEM")
        .home_file(".bowline/APPEND_SYSTEM.md", "APPENDED");
    let prompt = system_prompt(&workspace, &server, &["--approve"]);
    assert!(prompt.starts_with("PROJECT SYSTEM\n\nAPPENDED\n\n"), "{prompt}");
    let places = ["APPENDED", "PROJECT CTX", "Working folder: "].map(|text| prompt.find(text).unwrap());
    assert!(places.is_sorted(), "{prompt}");
    let prompt = system_prompt(&workspace, &server, &[]);
    assert!(prompt.starts_with("USER SYSTEM\n\nAPPENDED\n\n"), "{prompt}");
    assert!(prompt.contains("PROJECT CTX"), "context files need no trust: {prompt}");
    let flags = ["--approve", "--system-prompt", "FLAG", "--append-system-prompt", "FLAG TOO"];
    let prompt = system_prompt(&workspace, &server, &flags);
    assert!(prompt.starts_with("FLAG\n\nFLAG TOO\n\n") && !prompt.contains("APPENDED"), "{prompt}");
    let prompt = system_prompt(&workspace, &server, &["-ns", "-np", "-nc", "--approve"]);
    assert!(prompt.starts_with("PROJECT SYSTEM\n\nAPPENDED\n\nWorking folder: "), "{prompt}");
}

#[test]
fn own_folder_of_bowline_takes_precedence_over_that_of_pi() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.file(".pi/SYSTEM.md", "of pi").file(".bowline/SYSTEM.md", "of bowline");
    assert!(system_prompt(&workspace, &server, &["--approve"]).starts_with("of bowline\n"));
}

#[test]
fn skills_are_listed_for_a_model_that_can_read_them() {
    let (server, workspace) = Workspace::with_server();
    let workspace = with_resources(workspace).home_file(
        ".bowline/skills/secret/SKILL.md",
        "---\ndescription: only the user\ndisable-model-invocation: true\n---\nx",
    );
    let listed = format!(
        "<skill>\n<name>myskill</name>\n<description>A &lt;skill&gt; &amp; more</description>\n<location>{}</location>\n</skill>",
        workspace.home().join(".bowline/skills/myskill/SKILL.md").display()
    );
    let prompt = system_prompt(&workspace, &server, &[]);
    assert!(prompt.contains(&listed), "{prompt}");
    assert!(!prompt.contains("only the user") && !prompt.contains("project skill"), "{prompt}");
    assert!(prompt.find("<available_skills>") < prompt.find("Working folder: "), "{prompt}");
    assert!(system_prompt(&workspace, &server, &["--approve"]).contains("<name>ps</name>"));
    assert!(system_prompt(&workspace, &server, &["--tools", "bash"]).contains("<available_skills>"));
    for without in [&["--tools", "grep,ls"][..], &["--no-skills"], &["--no-tools"]] {
        let prompt = system_prompt(&workspace, &server, without);
        assert!(!prompt.contains("available_skills"), "{without:?}: {prompt}");
    }
}

#[test]
fn override_comes_before_other_context_files_and_a_worktree_hides_the_repository_around_it() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace
        .home_file("AGENTS.md", "of the repository")
        .home_file(".git/HEAD", "")
        .file("AGENTS.md", "not read")
        .file("AGENTS.override.md", "override");
    let prompt = system_prompt(&workspace, &server, &[]);
    assert!(
        prompt.contains("of the repository") && prompt.contains("override") && !prompt.contains("not read")
    );
    let workspace = workspace.file(".git", "gitdir: elsewhere");
    let prompt = system_prompt(&workspace, &server, &[]);
    assert!(!prompt.contains("of the repository") && prompt.contains("override"), "{prompt}");
}

#[test]
#[cfg(unix)]
fn instructions_that_are_no_regular_files_are_reported_and_left_out() {
    let (server, workspace) = Workspace::with_server();
    let fifo = workspace.configuration().join("SYSTEM.md");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut agent = workspace.start();
    agent.run("hello");
    let request = server.requests().pop().unwrap();
    assert!(request.body["system"][0]["text"].as_str().unwrap().starts_with("You are bowline"));
    agent.wait_for_stderr("SYSTEM.md is a FIFO, not a regular file");
}
