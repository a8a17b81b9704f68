//! `bowline mcp`.

use bowline_testkit::{Finished, Launch, Workspace};
use serde_json::{Value, json};

use crate::{add, server, with};

fn run(workspace: &Workspace, words: &[&str]) -> Finished {
    Launch::bowline(workspace).arguments(&["mcp"]).arguments(words).run()
}

fn workspace() -> Workspace {
    let off = with(server(&[]), "enabled", json!(false));
    add(
        Workspace::empty(),
        &json!({ "s": server(&[]), "off": off, "broken": { "command": "no-such-program" } }),
    )
}

#[test]
fn list_shows_the_servers_and_starts_none() {
    let workspace = workspace();
    let text = run(&workspace, &["list"]).succeeded();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("server  kind   start"), "{text}");
    assert!(lines[1].starts_with("s       stdio  first use  python3 "), "{text}");
    assert!(lines[2].starts_with("off     stdio  disabled"), "{text}");
    let text = run(&workspace, &["list", "--json"]).succeeded();
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!((&first["name"], &first["timeout"]), (&json!("s"), &json!(60000)));
    let none = run(&Workspace::empty(), &["list"]);
    assert_eq!((none.code, none.stdout.as_str()), (0, ""));
    assert!(none.stderr.contains("no MCP server is configured"), "{}", none.stderr);
}

#[test]
fn test_shows_what_servers_offer_and_what_is_wrong() {
    let workspace = workspace();
    let text = run(&workspace, &["test", "s"]).succeeded();
    assert!(
        text.starts_with("s: ready in ") && text.contains("(test-server 1.2.3, protocol 2025-06-18)"),
        "{text}"
    );
    assert!(text.contains("  mcp__s__echo         Returns its text.\n"), "{text}");
    assert!(text.contains("  /mcp__s__weather <city> [units]\n"), "{text}");
    let all = run(&workspace, &["test"]);
    assert_eq!(all.code, 1);
    assert!(all.stdout.contains("broken: failed\n  could not start no-such-program"), "{}", all.stdout);
    let text = run(&workspace, &["test", "s", "--json"]).succeeded();
    let result: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&result["state"], &result["tools"][0]["fullName"]),
        (&json!("ready"), &json!("mcp__s__echo"))
    );
}

#[test]
fn call_prints_the_result_and_fails_with_it() {
    let workspace = workspace();
    assert_eq!(run(&workspace, &["call", "s", "echo", r#"{"text": "hi"}"#]).succeeded(), "hi\n");
    let slow = run(&workspace, &["call", "s", "slow"]);
    assert_eq!((slow.code, slow.stdout.as_str()), (0, "done\n"));
    assert!(slow.stderr.contains("3 of 3: step 3"), "{}", slow.stderr);
    let failed = run(&workspace, &["call", "s", "fail"]);
    assert_eq!((failed.code, failed.stdout.as_str()), (1, ""));
    assert!(failed.stderr.contains("It did not work."), "{}", failed.stderr);
    let text = run(&workspace, &["call", "s", "structured", "--json"]).succeeded();
    let result: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(result["details"]["structuredContent"], json!({ "answer": 42 }));
}

#[test]
fn mistakes_are_explained() {
    let workspace = workspace();
    for (words, expected) in [
        (&["call"][..], "bowline mcp call SERVER TOOL"),
        (&["call", "x", "echo"], "there is no MCP server named \"x\""),
        (&["call", "off", "echo"], "the MCP server off is disabled"),
        (&["call", "s", "ecko"], "has no tool named ecko. Known: echo,"),
        (&["call", "s", "echo", "[]"], "must be a JSON object"),
        (&["call", "s", "echo", "{"], "are not JSON"),
    ] {
        let finished = run(&workspace, words);
        assert_eq!(finished.code, 1, "{words:?}");
        assert!(finished.stderr.contains(expected), "{words:?}: {}", finished.stderr);
    }
}
