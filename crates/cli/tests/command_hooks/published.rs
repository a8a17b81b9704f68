//! Hooks as they are published for Claude Code, in the forms that people use: one-liners with jq, scripts in Python that read
//! stdin, scripts in bash, formatters, loggers, guards, gates.

use bowline_testkit::{Reply, Workspace, of_type};
use serde_json::{Value, json};

use super::{errors, hook, last_request, results, text, written};

/// Runs one tool call under some settings and files of hooks.
#[track_caller]
fn run(settings: Value, files: &[(&str, &str)], tool: &str, arguments: Value) -> (Workspace, Value, String) {
    let (server, mut workspace) = Workspace::with_server();
    for (path, content) in files {
        workspace = workspace.file(path, content);
    }
    let workspace = workspace.settings(settings);
    let mut agent = workspace.start();
    server.reply(Reply::new().tool(tool, arguments));
    server.reply(Reply::text("done"));
    let records = agent.run("go");
    assert_eq!(errors(&agent), [] as [Value; 0]);
    assert_eq!(of_type(&records, "agent_settled").len(), 1);
    let result = results(&records).remove(0);
    let sent = last_request(&server);
    (workspace, result, sent)
}

fn matched(event: &str, matcher: &str, command: &str) -> Value {
    let mut settings = hook(event, command);
    settings["hooks"][event][0]["matcher"] = matcher.into();
    settings
}

#[test]
fn log_of_commands_in_jq() {
    let command =
        r#"jq -r '"\(.tool_input.command) - \(.tool_input.description // "No description")"' >> log.txt"#;
    let (workspace, _, _) =
        run(matched("PreToolUse", "Bash", command), &[], "bash", json!({ "command": "ls -l" }));
    assert_eq!(written(&workspace, "log.txt"), "ls -l - No description\n");
}

#[test]
fn formatter_by_either_path() {
    for field in [".tool_input.file_path", ".tool_response.filePath // .tool_input.file_path"] {
        let command =
            format!("jq -r '{field}' | {{ read -r f; tr a-z A-Z < \"$f\" > out.txt; }} 2>/dev/null || true");
        let (workspace, _, _) = run(
            matched("PostToolUse", "Write|Edit", &command),
            &[],
            "write",
            json!({ "path": "a.txt", "content": "hello" }),
        );
        assert_eq!(written(&workspace, "out.txt"), "HELLO", "{field}");
    }
}

#[test]
fn formatter_that_picks_files_by_their_ending() {
    let command = "jq -r '.tool_input.file_path' | { read file_path; if echo \"$file_path\" | grep -q '\\.ts$'; \
        then sed -i 's/;;/;/' \"$file_path\"; fi; }";
    let settings = matched("PostToolUse", "Edit|MultiEdit|Write", command);
    let files = [("a.ts", "let a = 1;\n")];
    let edit = json!({ "path": "a.ts", "edits": [{ "oldText": "1;", "newText": "2;;" }] });
    let (workspace, _, _) = run(settings, &files, "edit", edit);
    assert_eq!(written(&workspace, "a.ts"), "let a = 2;\n");
}

#[test]
fn protected_files_in_one_line_of_python() {
    let command = "python3 -c \"import json, sys; data=json.load(sys.stdin); \
        path=data.get('tool_input',{}).get('file_path',''); \
        sys.exit(2 if any(p in path for p in ['.env', 'package-lock.json', '.git/']) else 0)\"";
    let settings = matched("PreToolUse", "Edit|Write", command);
    let (workspace, result, _) =
        run(settings.clone(), &[], "write", json!({ "path": "package-lock.json", "content": "x" }));
    assert_eq!(result["isError"], true);
    assert!(!workspace.work().join("package-lock.json").exists());
    let (_, result, _) = run(settings, &[], "write", json!({ "path": "package.json", "content": "x" }));
    assert_eq!(result["isError"], false);
}

#[test]
fn validator_of_commands_in_python() {
    const SCRIPT: &str = r#"#!/usr/bin/env python3
import json
import re
import sys

RULES = [(r"\bgrep\b(?!.*\|)", "Use 'rg' instead of 'grep'"), (r"\bfind\s+\S+\s+-name\b", "Use 'rg --files'")]

try:
    input_data = json.load(sys.stdin)
except json.JSONDecodeError as e:
    print(f"Error: Invalid JSON input: {e}", file=sys.stderr)
    sys.exit(1)

tool_name = input_data.get("tool_name", "")
command = input_data.get("tool_input", {}).get("command", "")
if tool_name != "Bash" or not command:
    sys.exit(1)
issues = [message for pattern, message in RULES if re.search(pattern, command)]
if issues:
    for message in issues:
        print(f"• {message}", file=sys.stderr)
    sys.exit(2)
"#;
    let settings = matched("PreToolUse", "Bash", "python3 \"$CLAUDE_PROJECT_DIR\"/.claude/hooks/validate.py");
    let files = [(".claude/hooks/validate.py", SCRIPT)];
    let (_, result, sent) = run(settings.clone(), &files, "bash", json!({ "command": "grep x y" }));
    assert_eq!(
        (text(&result["result"]).as_str(), &result["isError"]),
        ("• Use 'rg' instead of 'grep'", &json!(true))
    );
    assert!(sent.contains("instead of 'grep'"));
    let (_, result, _) = run(settings, &files, "bash", json!({ "command": "echo fine" }));
    assert_eq!(text(&result["result"]).trim(), "fine");
}

#[test]
fn reminder_that_reads_every_kind_of_edit() {
    const SCRIPT: &str = r#"
import json, sys
data = json.load(sys.stdin)
tool_name, tool_input = data["tool_name"], data["tool_input"]
if tool_name == "Write":
    content = tool_input.get("content", "")
elif tool_name == "Edit":
    content = tool_input.get("new_string", "")
elif tool_name == "MultiEdit":
    content = " ".join(edit.get("new_string", "") for edit in tool_input.get("edits", []))
else:
    sys.exit(0)
if "eval(" in content:
    print(f"{data['session_id'][:0]}eval is dangerous", file=sys.stderr)
    sys.exit(2)
"#;
    let settings = matched("PreToolUse", "Edit|Write|MultiEdit", "python3 remind.py");
    let edit = |new: &str| json!({ "oldText": "x", "newText": new });
    for (tool, arguments) in [
        ("write", json!({ "path": "a", "content": "eval(1)" })),
        ("edit", json!({ "path": "a", "edits": [edit("eval(1)")] })),
        ("edit", json!({ "path": "a", "edits": [edit("1"), { "oldText": "y", "newText": "eval(2)" }] })),
    ] {
        let (_, result, _) = run(settings.clone(), &[("remind.py", SCRIPT)], tool, arguments);
        assert_eq!(text(&result["result"]), "eval is dangerous", "{tool}");
    }
}

#[test]
fn automatic_approval_in_the_new_form_and_the_old() {
    const SCRIPT: &str = r#"
import json, sys
data = json.load(sys.stdin)
if data.get("tool_name") == "Read" and data["tool_input"].get("file_path", "").endswith((".md", ".txt")):
    print(json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow",
        "permissionDecisionReason": "Documentation file auto-approved"}, "suppressOutput": True}))
else:
    print(json.dumps({"decision": "approve", "reason": "fine"}))
"#;
    let settings = matched("PreToolUse", "Read", "python3 approve.py");
    for path in ["a.md", "b.rs"] {
        let files = [("approve.py", SCRIPT), ("a.md", "text"), ("b.rs", "text")];
        let (_, result, _) = run(settings.clone(), &files, "read", json!({ "path": path }));
        assert_eq!(text(&result["result"]).trim(), "text");
    }
}

#[test]
fn linter_that_blocks_after_the_fact() {
    const SCRIPT: &str = r#"#!/bin/bash
INPUT=$(cat)
FILE=$(echo "$INPUT" | jq -r '.tool_input.file_path // empty')
[[ "$FILE" == *.py ]] || exit 0
if ! OUT=$(python3 -m py_compile "$FILE" 2>&1); then
  jq -n --arg reason "$OUT" '{decision: "block", reason: $reason}'
fi
"#;
    let settings = matched("PostToolUse", "Write|Edit", "bash \"$CLAUDE_PROJECT_DIR/lint.sh\"");
    let (_, result, sent) =
        run(settings, &[("lint.sh", SCRIPT)], "write", json!({ "path": "a.py", "content": "def f(:\n" }));
    assert!(text(&result["result"]).contains("SyntaxError"), "{result}");
    assert!(sent.contains("SyntaxError"));
}

#[test]
fn gate_before_the_end_that_looks_at_stop_hook_active() {
    const SCRIPT: &str = r#"
import json, sys
data = json.load(sys.stdin)
if data.get("stop_hook_active"):
    sys.exit(0)
print(json.dumps({"decision": "block", "reason": "Update the changelog before you stop."}))
"#;
    let (server, workspace) = Workspace::with_server();
    let workspace = workspace.settings(hook("Stop", "python3 gate.py")).file("gate.py", SCRIPT);
    let mut agent = workspace.start();
    server.reply(Reply::text("done"));
    server.reply(Reply::text("really done"));
    agent.run("go");
    assert_eq!(server.requests().len(), 2);
    assert!(last_request(&server).contains("Update the changelog"));
}

#[test]
fn context_of_a_prompt_in_either_form() {
    const SCRIPT: &str = r#"
import json, re, sys
prompt = json.load(sys.stdin).get("prompt", "")
if re.search(r"(?i)\b(password|secret)\s*[:=]", prompt):
    print(json.dumps({"decision": "block", "reason": "Security policy violation"}))
elif "json" in prompt:
    print(json.dumps({"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "as json"}}))
else:
    print("as text")
"#;
    for (prompt, context) in [("the json form", "as json"), ("the other", "as text")] {
        let (server, workspace) = Workspace::with_server();
        let workspace =
            workspace.settings(hook("UserPromptSubmit", "python3 prompt.py")).file("prompt.py", SCRIPT);
        let mut agent = workspace.start();
        let blocked = agent.carry_out(json!({ "type": "prompt", "message": "secret: x" }));
        assert_eq!(blocked["disposition"], "handled");
        server.reply(Reply::text("done"));
        agent.run(prompt);
        assert!(last_request(&server).contains(context), "{prompt}");
    }
}
