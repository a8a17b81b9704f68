//! Approvals with the real sandbox: what a user allows happens, once, and nothing else does.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;

use bowline_testkit::{Agent, Launch, ModelServer, Reply, Workspace, sandbox_is_missing};
use serde_json::{Value, json};

use crate::{confirm, dialog, prompt, results};

/// Starts an agent with a sandbox that asks; the model makes one call. `None` on a machine without namespaces.
fn confined(settings: &Value, tool: &str, arguments: Value) -> Option<(ModelServer, Workspace, Agent)> {
    let (server, workspace) = Workspace::with_server();
    let mut sandbox = json!({ "mode": "workspace-write" });
    sandbox.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    let workspace = workspace.settings(json!({ "sandbox": sandbox }));
    let probe = Launch::bowline(&workspace).arguments(&["sandbox", "run", "--", "true"]).run();
    if probe.code != 0 {
        assert!(probe.stderr.contains("tools cannot be confined here"), "{probe:?}");
        sandbox_is_missing(&probe.stderr);
        return None;
    }
    server.reply(Reply::new().tool(tool, arguments));
    server.reply(Reply::text("done"));
    let agent = Launch::rpc(&workspace).model("mock/m1").arguments(&["--ask", "on-request"]).start();
    Some((server, workspace, agent))
}

fn outside() -> tempfile::TempDir {
    // Not below /tmp, which is private in the sandbox.
    tempfile::tempdir_in("/var/tmp").unwrap()
}

#[test]
fn file_outside_is_written_only_if_the_user_allows_it() {
    for confirmed in [true, false] {
        for exists in [true, false] {
            let folder = outside();
            let path = folder.path().canonicalize().unwrap().join("file");
            let beside = folder.path().join("beside");
            if exists {
                std::fs::write(&path, "old").unwrap();
            }
            let arguments = json!({ "path": path, "content": "new" });
            let Some((_server, _workspace, mut agent)) = confined(&json!({}), "write", arguments) else {
                return;
            };
            prompt(&mut agent);
            let question = dialog(&mut agent);
            assert_eq!(question["title"], "Allow write?");
            assert!(
                question["message"].as_str().unwrap().contains(&path.display().to_string()),
                "{question}"
            );
            confirm(&mut agent, &question, confirmed);
            let records = agent.collect_until_settled();
            let expected = if confirmed { Some("new") } else { exists.then_some("old") };
            assert_eq!(std::fs::read_to_string(&path).ok().as_deref(), expected, "{:?}", results(&records));
            let verb = if exists { "Replaced" } else { "Wrote" };
            assert_eq!(results(&records)[0].starts_with(verb), confirmed, "{:?}", results(&records));
            assert!(!beside.exists());
        }
    }
}

#[test]
fn consent_to_one_file_does_not_open_the_next_call() {
    let folder = outside();
    let path = folder.path().canonicalize().unwrap().join("file");
    std::fs::write(&path, "old").unwrap();
    let arguments = json!({ "path": path, "content": "new" });
    let Some((server, _workspace, mut agent)) = confined(&json!({}), "write", arguments) else { return };
    prompt(&mut agent);
    let question = dialog(&mut agent);
    confirm(&mut agent, &question, true);
    agent.collect_until_settled();
    let command = format!("echo by bash > {}", path.display());
    server.reply(Reply::new().tool("bash", json!({ "command": command })));
    server.reply(Reply::text("done"));
    prompt(&mut agent);
    let records = agent.collect_until_settled();
    assert!(results(&records)[0].contains("Read-only file system"), "{:?}", results(&records));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
}

#[test]
fn command_leaves_the_sandbox_only_if_the_user_allows_it() {
    for confirmed in [true, false] {
        let folder = outside();
        let path = folder.path().join("made");
        let command = format!("touch {}", path.display());
        let arguments = json!({ "command": command, "unsandboxed": "It makes a file elsewhere." });
        let Some((_server, _workspace, mut agent)) = confined(&json!({}), "bash", arguments) else { return };
        prompt(&mut agent);
        let question = dialog(&mut agent);
        assert!(question["message"].as_str().unwrap().contains("It makes a file elsewhere."), "{question}");
        confirm(&mut agent, &question, confirmed);
        agent.collect_until_settled();
        assert_eq!(path.exists(), confirmed);
    }
}

/// Serves one request with a text, or nothing.
fn serve_once() -> (TcpListener, u16) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

#[test]
fn host_that_is_not_listed_is_reached_only_if_the_user_allows_it() {
    for confirmed in [true, false] {
        let (listener, port) = serve_once();
        let request = format!(
            "import urllib.request as r\no = r.build_opener(r.ProxyHandler({{'http': 'http://127.0.0.1:3128'}}))\n\
             print(o.open('http://127.0.0.1:{port}/', timeout=20).read())"
        );
        let command = format!("env -u NO_PROXY -u no_proxy python3 -c \"{request}\"");
        let settings = json!({ "network": "allow-list", "hosts": ["docs.example"] });
        let Some((_server, _workspace, mut agent)) =
            confined(&settings, "bash", json!({ "command": command }))
        else {
            return;
        };
        let serving = std::thread::spawn(move || {
            listener.set_nonblocking(false).unwrap();
            if !confirmed {
                return;
            }
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]).unwrap();
            stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\nreached")
                .unwrap();
        });
        prompt(&mut agent);
        let question = dialog(&mut agent);
        let message = question["message"].as_str().unwrap();
        assert!(message.contains(&format!("127.0.0.1:{port}")), "{message}");
        confirm(&mut agent, &question, confirmed);
        let records = agent.collect_until_settled();
        assert_eq!(results(&records)[0].contains("reached"), confirmed, "{:?}", results(&records));
        serving.join().unwrap();
    }
}

#[test]
fn path_that_a_rule_forbids_is_closed_to_commands_too() {
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(json!({
        "sandbox": { "mode": "workspace-write" },
        "approvals": { "rules": [{ "tool": "*", "path": "**/.env*", "access": "read", "then": "deny" }] },
    }));
    std::fs::write(workspace.work().join(".env"), "TOP=secret").unwrap();
    let probe = Launch::bowline(&workspace).arguments(&["sandbox", "run", "--", "true"]).run();
    if probe.code != 0 {
        sandbox_is_missing(&probe.stderr);
        return;
    }
    server.reply(
        Reply::new().tool("bash", json!({ "command": "cat .env; cat ./.env; cp .env copy; cat copy; true" })),
    );
    server.reply(Reply::text("done"));
    let mut agent = Launch::rpc(&workspace).model("mock/m1").start();
    prompt(&mut agent);
    let records = agent.collect_until_settled();
    assert!(!results(&records)[0].contains("secret"), "{:?}", results(&records));
    assert!(!has_secret(workspace.work().as_ref()));
}

/// Tells whether a file other than the original has the secret.
fn has_secret(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    let others = entries.filter(|entry| entry.file_name() != ".env");
    others
        .into_iter()
        .any(|entry| std::fs::read_to_string(entry.path()).is_ok_and(|text| text.contains("secret")))
}
