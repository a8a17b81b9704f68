//! The tools as the model uses them, which of them are enabled, and the system prompt.

use std::fs;
use std::path::Path;

use bowline_testkit::{Agent, Launch, ModelServer, Reply, Workspace, announced};
use serde_json::{Value, json};

/// The first bytes of every PNG, by which images are recognised.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
const PNG_BASE64: &str = "iVBORw0KGgoAAAANSUhEUg==";

/// Has the model call one tool and returns the message with the result.
#[track_caller]
fn call(server: &ModelServer, agent: &mut Agent, tool: &str, arguments: Value) -> Value {
    server.reply(Reply::new().tool(tool, arguments));
    let records = agent.run("go");
    let end = records.iter().find(|record| record["type"] == "tool_execution_end").unwrap();
    let mut results = announced(&records);
    results.retain(|message| message["role"] == "toolResult");
    let [result] = &results[..] else { panic!("{results:?}") };
    assert_eq!((&end["toolCallId"], &end["toolName"]), (&result["toolCallId"], &json!(tool)));
    assert_eq!(end["isError"], result["isError"]);
    assert_eq!(end["result"]["content"], result["content"]);
    assert_eq!(end["result"]["details"], result["details"]);
    result.clone()
}

/// Returns the text of a result that must be a success.
#[track_caller]
fn succeed(server: &ModelServer, agent: &mut Agent, tool: &str, arguments: Value) -> String {
    let result = call(server, agent, tool, arguments);
    assert_eq!(result["isError"], false, "{result}");
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

/// Returns the text of a result that must be an error.
#[track_caller]
fn fail(server: &ModelServer, agent: &mut Agent, tool: &str, arguments: Value) -> String {
    let result = call(server, agent, tool, arguments);
    assert_eq!((&result["isError"], &result["details"]), (&json!(true), &json!({})), "{result}");
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn all_seven_tools_work() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = Launch::rpc(&workspace)
        .model("mock/m1")
        .arguments(&["--tools", "read,bash,edit,write,grep,find,ls"])
        .start();
    let mut succeed = |tool: &str, arguments: Value| succeed(&server, &mut agent, tool, arguments);

    succeed("write", json!({ "path": "src/poem.txt", "content": "roses are red\nviolets are blue\n" }));
    let poem = workspace.work().join("src/poem.txt");
    assert_eq!(fs::read_to_string(&poem).unwrap(), "roses are red\nviolets are blue\n");

    succeed("edit", json!({ "path": "src/poem.txt", "edits": [{ "oldText": "red", "newText": "white" }] }));
    assert_eq!(fs::read_to_string(&poem).unwrap(), "roses are white\nviolets are blue\n");

    assert_eq!(succeed("read", json!({ "path": "src/poem.txt" })), "roses are white\nviolets are blue\n");
    let second = succeed("read", json!({ "path": poem, "offset": 2, "limit": 1 }));
    assert!(second.starts_with("violets are blue"), "{second}");

    let printed = succeed("bash", json!({ "command": "wc -l < src/poem.txt; echo $((6 * 7)) >&2" }));
    assert_eq!(printed, "2\n42\n");

    let found = succeed("grep", json!({ "pattern": "VIOLETS", "ignoreCase": true }));
    assert_eq!(found, "src/poem.txt:2: violets are blue");
    assert_eq!(succeed("find", json!({ "pattern": "*.txt" })).trim_end(), "src/poem.txt");
    assert_eq!(succeed("ls", json!({})).trim_end(), "src/");
}

#[test]
fn edit_result_has_the_diff() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.file("a.txt", "one\ntwo\nthree\n");
    let mut agent = workspace.start();
    let edits = json!([{ "oldText": "two", "newText": "zwei" }]);
    let result = call(&server, &mut agent, "edit", json!({ "path": "a.txt", "edits": edits }));
    let details = &result["details"];
    assert_eq!(details["firstChangedLine"], 2);
    let diff = details["diff"].as_str().unwrap();
    assert!(diff.contains("-2 two") && diff.contains("+2 zwei"), "{diff}");
    let patch = details["patch"].as_str().unwrap();
    assert!(patch.starts_with("--- a.txt\n+++ a.txt\n") && patch.contains("\n-two\n+zwei\n"), "{patch}");
}

#[test]
fn tool_mistakes_return_results_with_instructions() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.file("a.txt", "x\nx\n");
    let mut agent =
        Launch::rpc(&workspace).model("mock/m1").arguments(&["--tools", "read,bash,edit,write"]).start();
    let edits = |old: &str| json!({ "path": "a.txt", "edits": [{ "oldText": old, "newText": "y" }] });
    for (tool, arguments, expected) in [
        ("read", json!({ "path": "missing.txt" }), "does not exist"),
        ("read", json!({ "file": "a.txt" }), "path"),
        ("edit", edits("x"), "2 times"),
        ("edit", edits("z"), "not in a.txt"),
        ("bash", json!({ "command": "echo out; exit 7" }), "code 7"),
        ("bash", json!({ "command": "sleep 60", "timeout": 0.05 }), "0.05"),
        ("grep", json!({ "pattern": "x" }), "no tool named grep"),
        ("teleport", json!({}), "read, bash, edit, write"),
    ] {
        let text = fail(&server, &mut agent, tool, arguments);
        assert!(text.contains(expected), "{tool}: {text}");
    }
    assert_eq!(fs::read_to_string(workspace.work().join("a.txt")).unwrap(), "x\nx\n");
}

#[test]
fn flags_and_settings_select_the_tools() {
    let all = "read,bash,edit,write,grep,find,ls";
    let cases: [(&[&str], Value, &[&str]); 9] = [
        (&[], json!({}), &["read", "bash", "edit", "write"]),
        (&["--tools", all], json!({}), &["read", "bash", "edit", "write", "grep", "find", "ls"]),
        (&["-t", "ls, read"], json!({}), &["read", "ls"]),
        (&["--exclude-tools", "bash,write"], json!({}), &["read", "edit"]),
        (&["--tools", all, "-xt", "bash"], json!({}), &["read", "edit", "write", "grep", "find", "ls"]),
        (&["--no-tools"], json!({}), &[]),
        (&["--no-builtin-tools"], json!({}), &[]),
        (&[], json!({ "defaultTools": ["read", "grep"] }), &["read", "grep"]),
        (&["--tools", "bash"], json!({ "defaultTools": ["read"] }), &["bash"]),
    ];
    for (arguments, settings, expected) in cases {
        let (server, workspace) = Workspace::with_server();
        let workspace = workspace.settings(settings);
        let mut agent = Launch::rpc(&workspace).model("mock/m1").arguments(arguments).start();
        assert_eq!(agent.get("get_state")["tools"], json!(expected), "{arguments:?}");
        agent.run("hello");
        let tools = server.requests()[0].body["tools"].as_array().cloned().unwrap_or_default();
        let sent: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(sent, expected, "{arguments:?}");
    }
}

#[test]
fn unknown_tool_cannot_be_selected() {
    let workspace = Workspace::empty();
    let error = Launch::rpc(&workspace).arguments(&["--tools", "read,reed"]).start().fatal_error();
    assert!(error.contains("reed") && error.contains("read, bash, edit, write, grep, find, ls"), "{error}");
}

#[test]
fn long_output_is_truncated_and_saved_to_a_file() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    let result = call(&server, &mut agent, "bash", json!({ "command": "seq 3000" }));
    let truncation = &result["details"]["truncation"];
    for (field, expected) in [
        ("truncated", json!(true)),
        ("truncatedBy", json!("lines")),
        ("totalLines", json!(3000)),
        ("totalBytes", json!(13_893)),
        ("outputLines", json!(2000)),
        ("lastLinePartial", json!(false)),
        ("firstLineExceedsLimit", json!(false)),
        ("maxLines", json!(2000)),
        ("maxBytes", json!(51_200)),
    ] {
        assert_eq!(truncation[field], expected, "{field}");
    }
    let text = result["content"][0]["text"].as_str().unwrap();
    let path = result["details"]["fullOutputPath"].as_str().unwrap();
    assert!(text.starts_with("1001\n") && text.contains("3000") && text.contains(path), "{text}");
    let whole: String = (1..=3000).map(|line| format!("{line}\n")).collect();
    assert_eq!(fs::read_to_string(path).unwrap(), whole);
    fs::remove_file(path).unwrap();
}

#[test]
fn long_file_is_read_in_parts() {
    let (server, workspace) = Workspace::with_server();
    let lines: String = (1..=2500).map(|line| format!("{line}\n")).collect();
    let workspace = workspace.file("long.txt", &lines);
    let mut agent = workspace.start();
    let result = call(&server, &mut agent, "read", json!({ "path": "long.txt" }));
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("1\n2\n") && text.contains("offset=2001"), "{text}");
    assert_eq!(result["details"]["truncation"]["totalLines"], 2500);
    let rest = succeed(&server, &mut agent, "read", json!({ "path": "long.txt", "offset": 2001 }));
    assert!(rest.starts_with("2001\n") && rest.contains("\n2500"), "{rest}");
}

#[test]
fn running_command_streams_its_output() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = workspace.start();
    server.reply(
        Reply::new().tool(
            "bash",
            json!({ "command": "echo begun; until [ -e go ]; do sleep 0.01; done; echo done" }),
        ),
    );
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    let is_begun = |record: &Value| {
        record["type"] == "tool_execution_update"
            && record["partialResult"]["content"][0]["text"] == "begun\n"
    };
    let records = agent.until(is_begun);
    let update = records.last().unwrap();
    assert_eq!(update["args"]["command"].as_str().unwrap().split(';').next(), Some("echo begun"));
    fs::write(workspace.work().join("go"), "").unwrap();
    let records = agent.collect_until_settled();
    let end = records.iter().find(|record| record["type"] == "tool_execution_end").unwrap();
    assert_eq!(end["result"]["content"][0]["text"], "begun\ndone\n");
    assert!(end["durationMs"].as_u64().is_some());
}

#[test]
fn image_files_are_sent_only_to_models_that_accept_images() {
    for takes_images in [true, false] {
        let server = ModelServer::start();
        let input = if takes_images { json!(["text", "image"]) } else { json!(["text"]) };
        let workspace = Workspace::empty().models(json!({ "providers": { "mock": { "baseUrl": server.base_url(),
            "api": "anthropic-messages", "apiKey": "key-key-key", "models": [{ "id": "m1", "input": input }] } } }));
        fs::write(workspace.work().join("picture"), PNG).unwrap();
        let mut agent = workspace.start();
        let result = call(&server, &mut agent, "read", json!({ "path": "picture" }));
        assert_eq!(result["isError"], false, "{result}");
        let sent = server.requests()[1].body["messages"].to_string();
        assert_eq!(sent.contains(PNG_BASE64), takes_images, "{sent}");
        let image = json!({ "type": "image", "data": PNG_BASE64, "mimeType": "image/png" });
        assert_eq!(result["content"].as_array().unwrap().contains(&image), takes_images, "{result}");
    }
}

#[test]
fn session_and_model_are_in_the_environment_of_commands() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = Launch::rpc(&workspace).model("mock/m2:low").start();
    let state = agent.get("get_state");
    let text = succeed(&server, &mut agent, "bash", json!({ "command": "env; pwd" }));
    for expected in [
        format!("PI_SESSION_ID={}", state["sessionId"].as_str().unwrap()),
        format!("PI_SESSION_FILE={}", state["sessionFile"].as_str().unwrap()),
        "PI_PROVIDER=mock".to_owned(),
        "PI_MODEL=m2".to_owned(),
        "PI_REASONING_LEVEL=low".to_owned(),
        "PI_CODING_AGENT=true".to_owned(),
        "AI_AGENT=bowline".to_owned(),
        workspace.work().display().to_string(),
    ] {
        assert!(text.lines().any(|line| line == expected), "{expected}: {text}");
    }
    let user_bash = agent.carry_out(json!({ "type": "bash", "command": "env" }));
    assert!(!user_bash["output"].as_str().unwrap().contains("PI_MODEL"), "{user_bash}");
}

#[test]
fn shell_and_prefix_come_from_the_settings() {
    let (server, workspace) = Workspace::with_server();
    let workspace =
        workspace.settings(json!({ "shellPath": "/bin/sh", "shellCommandPrefix": "greeting=hello" }));
    let mut agent = workspace.start();
    let text = succeed(&server, &mut agent, "bash", json!({ "command": "echo $greeting from $0" }));
    assert_eq!(text, "hello from /bin/sh\n");
    let user_bash = agent.carry_out(json!({ "type": "bash", "command": "echo $greeting" }));
    assert_eq!(user_bash["output"], "hello\n");
}

/// Returns the system prompt of an agent that is started with some arguments.
#[track_caller]
fn system_prompt(workspace: &Workspace, server: &ModelServer, arguments: &[&str]) -> String {
    let mut agent = Launch::rpc(workspace).model("mock/m1").arguments(arguments).start();
    agent.run("hello");
    let request = server.requests().pop().unwrap();
    request.body["system"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn context_files_are_in_the_prompt_nearest_last() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace
        .home_file(".bowline/AGENTS.md", "of the user")
        .home_file("CLAUDE.md", "of the outer folder")
        .file("AGENTS.md", "of the project")
        .file("CLAUDE.md", "not read beside AGENTS.md");
    let prompt = system_prompt(&workspace, &server, &[]);
    let places =
        ["of the user", "of the outer folder", "of the project"].map(|text| prompt.find(text).unwrap());
    assert!(places.is_sorted(), "{prompt}");
    assert!(
        prompt.contains(&format!("from=\"{}\"", workspace.work().join("AGENTS.md").display())),
        "{prompt}"
    );
    assert!(!prompt.contains("not read"), "{prompt}");
    for flag in ["--no-context-files", "-nc"] {
        let prompt = system_prompt(&workspace, &server, &[flag]);
        assert!(!prompt.contains("of the user") && !prompt.contains("of the project"), "{prompt}");
    }
}

#[test]
fn system_prompt_can_be_replaced_and_extended_by_text_or_file() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.file("prompt.md", "From a file.\n").file("AGENTS.md", "Be careful.");
    let folder = |prompt: &str| prompt.contains(&*workspace.work().to_string_lossy());
    let prompt = system_prompt(
        &workspace,
        &server,
        &[
            "--system-prompt",
            "Be terse.",
            "--append-system-prompt",
            "One.",
            "--append-system-prompt",
            "prompt.md",
        ],
    );
    assert!(prompt.starts_with("Be terse.\n\nOne.\n\nFrom a file."), "{prompt}");
    assert!(
        prompt.contains("Be careful.") && folder(&prompt) && !prompt.contains("bowline, a coding"),
        "{prompt}"
    );
    let file = workspace.work().join("prompt.md");
    let prompt = system_prompt(&workspace, &server, &["--system-prompt", file.to_str().unwrap()]);
    assert!(prompt.starts_with("From a file."), "{prompt}");
    let prompt = system_prompt(&workspace, &server, &["--append-system-prompt", "Two."]);
    assert!(prompt.starts_with("You are bowline") && prompt.contains("\n\nTwo.\n\n"), "{prompt}");
}

#[test]
fn tools_of_one_answer_run_concurrently_with_results_in_call_order() {
    let (server, workspace) = Workspace::with_server();
    let wait_for = |name: &str| format!("until [ -e {name} ]; do sleep 0.01; done");
    // Each waits for the other, so neither could end if they ran in sequence.
    server.reply(
        Reply::new()
            .tool("bash", json!({ "command": format!("touch one; {}; echo first", wait_for("two")) }))
            .tool("bash", json!({ "command": format!("{}; touch two; echo second", wait_for("one")) })),
    );
    let mut agent = workspace.start();
    let records = agent.run("go");
    let results: Vec<_> = announced(&records)
        .iter()
        .filter(|message| message["role"] == "toolResult")
        .map(|message| message["content"][0]["text"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(results, ["first\n", "second\n"]);
    assert!(Path::new(&workspace.work().join("two")).exists());
}
