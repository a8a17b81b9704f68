//! The clients in the documentation run as they are printed there.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use bowline_testkit::{Workspace, bowline};

/// Returns the blocks of a language on a page, one after the other.
fn program(page: &str, language: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let text = fs::read_to_string(&path).unwrap();
    let fence = format!("\n```{language}\n");
    let mut blocks = text.split(&fence).skip(1);
    let first = blocks.next().unwrap_or_else(|| panic!("{page} has no block of {language}"));
    let all = std::iter::once(first).chain(blocks);
    all.filter_map(|block| block.split("\n```").next()).collect::<Vec<_>>().join("\n\n")
}

/// Runs a program with a `bowline` in `PATH` that is the one under test.
fn run(interpreter: &str, workspace: &Workspace, file: &str, arguments: &[&str]) -> Output {
    let programs = workspace.home().join("bin");
    fs::create_dir_all(&programs).unwrap();
    let link = programs.join("bowline");
    if !link.exists() {
        std::os::unix::fs::symlink(bowline(), link).unwrap();
    }
    Command::new("sh")
        .args(["-c", "PATH=\"$PROGRAMS:$PATH\" exec \"$@\"", "sh", interpreter, file])
        .args(arguments)
        .env("PROGRAMS", programs)
        .current_dir(workspace.work())
        .env("HOME", workspace.home())
        .env_remove("BOWLINE_HOME")
        .env_remove("PI_CODING_AGENT_DIR")
        .output()
        .unwrap()
}

#[track_caller]
fn check(interpreter: &str, page: &str, language: &str, expected: &[&str], arguments: &[&str]) {
    let file = if language == "js" { "client.mjs" } else { "client.py" };
    let script = r#"{"steps":[{"text":"Hello. I look around.","toolCalls":[{"name":"bash","arguments":{"command":"ls"}}]},{"text":"There is one file."}]}"#;
    let workspace = Workspace::empty().file(file, &program(page, language)).file("hello.json", script);
    let output = run(interpreter, &workspace, file, arguments);
    let text = String::from_utf8_lossy(&output.stdout);
    for piece in expected {
        assert!(
            text.contains(piece),
            "{page}: no {piece:?}\n{text}\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    assert!(output.status.success(), "{page}: {output:?}");
}

#[test]
fn short_python_client_runs() {
    let expected = ["Hello. I look around.", "[bash {\"command\": \"ls\"}]", "There is one file.", "done"];
    check("python3", "protocol.md", "python", &expected, &["--model", "scripted/hello.json"]);
}

#[test]
fn short_node_client_runs() {
    let expected = ["Hello. I look around.", "There is one file.", "done"];
    check("node", "protocol.md", "js", &expected, &["--model", "scripted/hello.json"]);
}

#[test]
fn robust_python_client_runs_the_demo() {
    check("python3", "robust-client.md", "python", &["[write]", "[bash]", "messages: "], &[]);
}

/// What the robust client promises beyond the example on the page.
const TRIALS: &str = r#"
import os, signal

busy = Agent(["--model", "scripted/hang.json", "--session-id", "trial"])
def stop_it(record):
    if record["type"] == "message_update":
        threading.Thread(target=busy.abort).start()
assert busy.run("wait", stop_it)["aborted"] is True
try:
    busy.command("set_model", provider="nobody", modelId="none")
    raise SystemExit("not refused")
except Refused as refusal:
    assert refusal.code == "model_not_found", refusal.code
before = busy.command("get_state")["messageCount"]
os.kill(busy.process.pid, signal.SIGKILL)
try:
    busy.command("bash", command="sleep 100", timeout=None)
    raise SystemExit("not dead")
except AgentDied as death:
    assert "-9" in str(death), death
again = Agent(["--model", "scripted/hang.json", "--session-id", "trial"])
assert again.command("get_state")["messageCount"] == before
assert again.stop() == 0
wrong = Agent(["--model", "nobody/none"])
try:
    wrong.command("get_state")
    raise SystemExit("it started")
except AgentDied as death:
    assert "nobody" in str(death), death
print("trials passed")
"#;

#[test]
fn robust_python_client_survives_refusals_aborts_and_kills() {
    let client = program("robust-client.md", "python");
    let class = client.split("\nagent = Agent(").next().unwrap();
    let workspace = Workspace::empty()
        .file("trial.py", &format!("{class}\n{TRIALS}"))
        .file("hang.json", r#"{"steps":[{"text":"I stop here","hang":true}],"cycle":true}"#);
    let output = run("python3", &workspace, "trial.py", &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "trials passed\n");
}
