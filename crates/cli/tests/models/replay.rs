//! Recordings: an exchange can be replayed byte for byte, without a key or network.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bowline_testkit::{Agent, Api, Launch, ModelServer, Reply, SECRET, Workspace, announced, bowline};
use serde_json::{Value, json};

const APIS: [Api; 2] = [Api::AnthropicMessages, Api::OpenaiCompletions];

/// The prompts of these tests.
const COMMANDS: [&str; 2] = ["list the folder", "and again"];

fn script(server: &ModelServer) {
    server.reply(Reply::new().thinking("hm").tool("bash", json!({ "command": "echo found it" })));
    server.reply(Reply::text("there ").then_text("is ö ").then_text("something"));
    server.reply(Reply::status(529).header("retry-after-ms", "1").body(&format!("the key {SECRET} is fine")));
    server.reply(Reply::text("still there"));
}

/// Records an exchange and returns the path of the recording.
fn record(api: Api) -> (ModelServer, Workspace, PathBuf) {
    let server = ModelServer::start();
    script(&server);
    let workspace = Workspace::new(&server, api).settings(json!({ "retry": { "baseDelayMs": 1 } }));
    let file = workspace.home().join("exchange.jsonl");
    let mut agent =
        Launch::rpc(&workspace).model("mock/m2").arguments(&["--record", file.to_str().unwrap()]).start();
    for command in COMMANDS {
        agent.run(command);
    }
    agent.finish();
    assert_eq!(server.requests().len(), 4);
    (server, workspace, file)
}

/// Starts the replay of a recording in a home without a key.
fn play(workspace: &Workspace, file: &Path, arguments: &[&str]) -> Agent {
    let model = format!("replay/{}", file.display());
    Launch::rpc(workspace)
        .arguments(&["--clock", "fixed", "--no-session", "--model", &model])
        .arguments(arguments)
        .start()
}

#[track_caller]
fn texts(records: &[Value]) -> Vec<String> {
    let answers = announced(records).into_iter().filter(|message| message["role"] == "assistant");
    answers
        .filter_map(|answer| Some(answer["content"].as_array()?.last()?["text"].as_str()?.to_owned()))
        .collect()
}

/// Replays a recording to its end and returns the exact bytes of stdout.
fn stdout_of_replay(workspace: &Workspace, recording: &Path) -> Vec<u8> {
    let mut child = Command::new(bowline())
        .args(["--mode", "rpc", "--clock", "fixed", "--no-session", "--model"])
        .arg(format!("replay/{}", recording.display()))
        .current_dir(workspace.work())
        .env_clear()
        .env("HOME", workspace.home())
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let mut bytes = Vec::new();
    let mut exchange = |command: Value, last: &str| {
        stdin.write_all(format!("{command}\n").as_bytes()).unwrap();
        loop {
            let start = bytes.len();
            assert!(stdout.read_until(b'\n', &mut bytes).unwrap() > 0, "stdout ended before {last}");
            if String::from_utf8_lossy(&bytes[start..]).contains(last) {
                break;
            }
        }
    };
    for (number, command) in COMMANDS.iter().enumerate() {
        exchange(json!({ "id": number, "type": "prompt", "message": command }), "\"agent_settled\"");
    }
    exchange(json!({ "id": "s", "type": "get_state" }), "\"get_state\"");
    exchange(json!({ "id": "m", "type": "get_messages" }), "\"get_messages\"");
    drop(stdin);
    stdout.read_to_end(&mut bytes).unwrap();
    assert!(child.wait().unwrap().success());
    bytes
}

#[test]
fn replay_is_byte_for_byte_identical() {
    for api in APIS {
        let (server, _workspace, file) = record(api);
        let empty = Workspace::empty().settings(json!({ "retry": { "baseDelayMs": 1 } }));
        let (first, second) = (stdout_of_replay(&empty, &file), stdout_of_replay(&empty, &file));
        let (one, other) = (String::from_utf8_lossy(&first), String::from_utf8_lossy(&second));
        assert_eq!(one, other, "{}", api.name());
        assert_eq!(first, second);
        assert!(one.contains("is ö ") && one.contains("found it") && one.contains("still there"), "{one}");
        assert!(one.contains(r#""duration":0,"ttft":0,"completedAt":1735689600000}"#), "{one}");
        assert!(!one.contains("\"duration\":1"), "a fixed clock stands still: {one}");
        assert!(one.contains("\"auto_retry_start\""), "the failure is replayed too: {one}");
        assert_eq!(server.requests().len(), 4, "the server got no further request");
    }
}

#[test]
fn recording_contains_everything_but_the_key() {
    for api in APIS {
        let (_server, _workspace, file) = record(api);
        let content = fs::read_to_string(&file).unwrap();
        assert!(!content.contains(SECRET), "{content}");
        let lines: Vec<Value> = content.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines[0]["type"], "recording");
        let of = |kind: &str| lines.iter().filter(|line| line["type"] == kind).count();
        assert_eq!((of("request"), of("response"), of("end")), (4, 4, 4));
        assert!(of("chunk") > 4);
        let request = &lines[1];
        assert_eq!(request["body"]["model"], "m2");
        assert!(request["url"].as_str().unwrap().starts_with("http://127.0.0.1"), "{request}");
        let header = if api == Api::AnthropicMessages { "x-api-key" } else { "authorization" };
        assert_eq!(request["headers"][header], "[redacted]");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}

#[test]
fn different_request_is_refused_with_the_first_difference_unless_loose() {
    let (_server, workspace, file) = record(Api::AnthropicMessages);
    let mut agent = play(&workspace, &file, &[]);
    let records = agent.run("something else");
    let error = records[records.len() - 1]["error"].as_str().unwrap().to_owned();
    for text in [
        "Request 1 is not the one",
        "messages[0].content[0].text",
        "list the folder",
        "something else",
        "--replay-loose",
    ] {
        assert!(error.contains(text), "{text}: {error}");
    }
    agent.finish();
    let mut agent = play(&workspace, &file, &["--replay-loose"]);
    assert_eq!(texts(&agent.run("something else")), ["there is ö something"]);
}

#[test]
fn exhausted_recording_is_reported() {
    let (_server, workspace, file) = record(Api::OpenaiCompletions);
    let mut agent = play(&workspace, &file, &[]);
    for command in COMMANDS {
        agent.run(command);
    }
    let records = agent.run("more");
    let error = records[records.len() - 1]["error"].as_str().unwrap();
    assert!(error.contains("is over: it has 4 exchanges, and this is request 5"), "{error}");
}

#[test]
fn unreadable_recording_is_a_fatal_error() {
    let workspace = Workspace::empty().file("odd.jsonl", "{}\n");
    for (model, expected) in [("replay/gone.jsonl", "gone.jsonl"), ("replay/odd.jsonl", "line 1")] {
        let mut agent = Launch::rpc(&workspace).model(model).start();
        let error = agent.fatal_error();
        assert!(error.contains("recording") && error.contains(expected), "{error}");
    }
}

#[test]
fn unwritable_recording_is_a_fatal_error() {
    let (_server, workspace) = Workspace::with_server();
    let file = workspace.home().join("missing/file");
    let launch = Launch::rpc(&workspace).model("mock/m1").arguments(&["--record", file.to_str().unwrap()]);
    let error = launch.start().fatal_error();
    assert!(error.contains(&format!("Cannot write {}", file.display())), "{error}");
}

#[test]
fn aborted_answer_is_recorded_up_to_the_abort() {
    let server = ModelServer::start();
    server.default_reply(Reply::text("half").hang_after(1));
    let workspace = Workspace::new(&server, Api::AnthropicMessages);
    let file = workspace.home().join("aborted.jsonl");
    let mut agent =
        Launch::rpc(&workspace).model("mock/m1").arguments(&["--record", file.to_str().unwrap()]).start();
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    agent.until_type("message_update");
    agent.carry_out(json!({ "type": "abort" }));
    agent.finish();
    let content = fs::read_to_string(&file).unwrap();
    assert!(content.contains("half") && content.contains("\"outcome\":\"left\""), "{content}");
    let mut agent = play(&workspace, &file, &[]);
    agent.carry_out(json!({ "type": "prompt", "message": "go" }));
    agent.until_type("message_update");
    agent.carry_out(json!({ "type": "abort" }));
    let records = agent.collect_until_settled();
    assert_eq!(records[records.len() - 1]["aborted"], true);
}

#[test]
fn fixed_clock_applies_to_the_session_file() {
    let file_of = || {
        let workspace = Workspace::empty();
        let mut agent =
            Launch::rpc(&workspace).arguments(&["--clock", "fixed", "--model", "scripted/demo"]).start();
        agent.carry_out(json!({ "type": "set_session_name", "name": "still" }));
        agent.finish();
        let [file] = &workspace.session_files()[..] else { panic!("not one file") };
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        (name, fs::read_to_string(file).unwrap().replace(workspace.home().to_str().unwrap(), "~"))
    };
    let (name, content) = file_of();
    assert_eq!(name, "2025-01-01T00-00-00-000Z_00000000-0000-7000-8000-000000000001.jsonl");
    assert_eq!((name, content), file_of());
}

#[test]
fn documented_recording_can_be_replayed() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/replay.md");
    let page = fs::read_to_string(page).unwrap();
    let lines: Vec<&str> = page.lines().filter(|line| line.starts_with("{\"type\":")).collect();
    let workspace = Workspace::empty().file("example.jsonl", &lines.join("\n"));
    let mut agent = play(&workspace, Path::new("example.jsonl"), &[]);
    assert_eq!(texts(&agent.run("hi")), ["hello"]);
}

#[test]
fn recording_on_a_full_disk_fails_the_run_and_keeps_whole_exchanges() {
    for api in APIS {
        let server = ModelServer::start();
        let workspace = Workspace::new(&server, api);
        let file = workspace.home().join("exchange.jsonl");
        // A file from before may be readable for everyone.
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        server.reply(Reply::text("small"));
        server.reply(Reply::new().deltas(64, 1024));
        server.reply(Reply::text("fits"));
        let mut agent = Launch::rpc_on_full_disk(&workspace, 48)
            .model("mock/m1")
            .arguments(&["--no-session", "--record", file.to_str().unwrap()])
            .start();
        let small = agent.run("small");
        assert!(small.last().unwrap().get("error").is_none(), "{small:?}");
        let before = fs::read(&file).unwrap();
        let large = agent.run("large");
        assert_eq!(large.last().unwrap()["errorKind"], "storage");
        let error = large.last().unwrap()["error"].as_str().unwrap();
        assert!(
            error.starts_with(&format!("The recording {} cannot be written: ", file.display())),
            "{error}"
        );
        assert!(error.ends_with("Free some space, or run without --record."), "{error}");
        assert_eq!(server.requests().len(), 2, "it is not retried");
        assert_eq!(fs::read(&file).unwrap(), before, "no part of an exchange is kept");
        let fits = agent.run("small again");
        assert!(fits.last().unwrap().get("error").is_none(), "{fits:?}");
        agent.finish();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let lines = fs::read_to_string(&file).unwrap();
        let types: Vec<_> = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect();
        assert_eq!(types.iter().filter(|line| line["type"] == "end").count(), 2);
    }
}

#[test]
fn recording_to_what_is_no_file_prevents_the_start() {
    let workspace = Workspace::empty();
    let fifo = workspace.home().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for (place, reason) in [
        (fifo.to_str().unwrap(), "is a FIFO, not a regular file"),
        ("/dev/full", "is a device, not a regular file"),
        ("missing/folder/x.jsonl", "No such file or directory"),
    ] {
        let finished = Launch::rpc(&workspace).arguments(&["--record", place]).run();
        assert_eq!(finished.code, 1, "{place}");
        assert!(finished.stderr.contains(reason), "{place}: {}", finished.stderr);
    }
}
