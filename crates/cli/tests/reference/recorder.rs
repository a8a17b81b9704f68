//! Drives the real binary and records its lines as the examples of a page.

use std::fmt::Write as _;

use bowline_testkit::{Agent, Api, Launch, ModelServer, Protocol, Reply, Workspace};
use serde_json::{Value, json};

/// An extension that uses everything that extensions can show.
/// An extension that shows a component.
const COMPONENT: &str = include_str!("component.py");

const EXTENSION: &str = include_str!("../../../../tests/conformance/extensions/ui_all.py");

const BINARY: &str = env!("CARGO_BIN_EXE_bowline");

/// The number of characters of a text that an example shows.
const LONGEST_TEXT: usize = 160;

/// The number of objects of a list that an example shows.
const LONGEST_LIST: usize = 3;

/// A running agent, and every line that was sent and received.
pub(crate) struct Recorder {
    pub server: ModelServer,
    pub protocol: Protocol,
    pub agent: Agent,
    dialect: &'static str,
    workspace: Workspace,
    commands: Vec<Value>,
    /// Records of further processes: one that failed to start, and some with a real clock.
    others: Vec<Value>,
}

impl Recorder {
    /// Starts an agent with fixed times and ids.
    pub fn new(dialect: &'static str, model: &str) -> Self {
        let server = ModelServer::start();
        let workspace = Workspace::new(&server, Api::AnthropicMessages).settings(json!({
            "compaction": { "keepRecentTokens": 5 },
            "retry": { "baseDelayMs": 1 },
            "task": { "enabled": matches!(dialect, "pi" | "omp") },
        }));
        let workspace = workspace
            .home_file(
                ".bowline/prompts/review.md",
                "---\ndescription: Review a file\nargument-hint: <file>\n---\nReview $1.\n",
            )
            .home_file(
                ".bowline/skills/release/SKILL.md",
                "---\ndescription: How to publish a release\ndisable-model-invocation: true\n---\nRun the tests.\n",
            );
        let workspace = workspace.file(
            ".omp/rules/no-unwrap.md",
            "---\ndescription: Errors are returned\ncondition: '\\.unwrap\\(\\)'\n---\nReturn errors with `?`.\n",
        );
        let arguments =
            ["--mode", "rpc", "--dialect", dialect, "--clock", "fixed", "--model", model, "--allow-mutating"];
        let agent = Agent::start(BINARY, &workspace, &arguments);
        let protocol = Protocol::of(dialect);
        Self { server, protocol, agent, dialect, workspace, commands: Vec::new(), others: Vec::new() }
    }

    /// Sends a command with the next id and returns the id.
    pub fn send(&mut self, command: Value) -> String {
        let id = (self.commands.len() + 1).to_string();
        let mut line = json!({ "id": id });
        line.as_object_mut().unwrap().extend(command.as_object().unwrap().clone());
        self.send_verbatim(line);
        id
    }

    /// Sends a line without adding an id.
    pub fn send_verbatim(&mut self, line: Value) {
        self.protocol.check_command(&line).unwrap_or_else(|problem| panic!("{line}: {problem}"));
        self.agent.send(line.clone());
        self.commands.push(line);
    }

    /// Sends a command that must succeed and returns the `data` of its response.
    pub fn request(&mut self, command: Value) -> Value {
        let id = self.send(command);
        let response = self.agent.response(&id);
        assert_eq!(response["success"], true, "{response}");
        response["data"].clone()
    }

    /// Sends commands without fields, which must succeed.
    pub fn request_all(&mut self, names: &[&str]) {
        for name in names {
            self.request(json!({ "type": name }));
        }
    }

    /// Waits for a record that is not a response.
    pub fn wait_for(&mut self, name: &str) {
        self.agent.until(|record| event(record)["type"] == name);
    }

    /// Waits for a record that the client answers, and returns its id.
    pub fn wait_for_id(&mut self, name: &str) -> Value {
        let mut records = self.agent.until(|record| record["type"] == name);
        records.pop().unwrap()["id"].take()
    }

    /// Makes the model fail once and then answer.
    pub fn fail_once(&self, answer: &str) {
        self.server.reply(Reply::status(503).body(r#"{"error":{"message":"Overloaded"}}"#));
        self.server.reply(Reply::text(answer));
    }

    /// Deletes the session's file while the agent uses it.
    pub fn delete_session_file(&self) {
        self.workspace.session_files().into_iter().for_each(|file| std::fs::remove_file(file).unwrap());
    }

    /// Records the error of an agent that fails to start.
    pub fn record_failed_start(&mut self) {
        let arguments = ["--mode", "rpc", "--dialect", self.dialect, "--tools", "reed"];
        self.others.extend(Agent::start(BINARY, &self.workspace, &arguments).rest());
    }

    /// Records the first progress of a command in an agent with a real clock, without waiting for its end.
    pub fn record_progress(&mut self, answer: Option<Reply>, command: Value) {
        answer.into_iter().for_each(|answer| self.server.reply(answer));
        let arguments = ["--dialect", self.dialect, "--mode", "rpc", "--model", "mock/m2", "--no-session"];
        let mut agent =
            Agent::start(BINARY, &self.workspace, &[&arguments[..], &["--allow-mutating"]].concat());
        agent.send(command);
        let is_progress = |record: &Value| {
            let name = event(record)["type"].as_str().unwrap_or_default();
            let is_update = name.ends_with("execution_update") || name == "ToolExecutionUpdate";
            is_update && has_output(event(record))
        };
        self.others.extend(agent.until(is_progress).pop());
    }

    /// Records a broken stream rule and a reminder of tasks, in an agent that has both switched on.
    pub fn record_rules_and_todos(&mut self, end: &str) {
        let settings = json!({ "ttsr": { "enabled": true }, "todo": { "enabled": true } });
        std::fs::write(self.workspace.configuration().join("settings.json"), settings.to_string()).unwrap();
        let tasks = json!({ "op": "init", "items": ["Write the parser", "Test it"] });
        self.server.reply(Reply::text("I call parse().unwrap(), then"));
        self.server.reply(Reply::text("I return the error.").tool("todo", tasks));
        self.server.reply(Reply::text("The parser is next."));
        self.server.reply(Reply::text("Which grammar do you want?"));
        let arguments = ["--dialect", self.dialect, "--mode", "rpc", "--model", "mock/m2", "--no-session"];
        let mut agent = Agent::start(BINARY, &self.workspace, &arguments);
        agent.send(json!({ "type": "prompt", "message": "Write a parser." }));
        let records = agent.until_type(end);
        let is_shown =
            |record: &Value| record["type"] == "ttsr_triggered" || record["type"] == "todo_reminder";
        self.others.extend(records.into_iter().filter(is_shown));
    }

    /// Records questions about calls and their answers, in agents whose users want to be asked.
    pub fn record_dialogs_about_calls(&mut self, end: &str) {
        for (choices, answer) in
            [("simple", json!({ "confirmed": true })), ("full", json!({ "value": "Session" }))]
        {
            let settings = json!({ "approvals": { "ask": "untrusted", "dialogChoices": choices } });
            std::fs::write(self.workspace.configuration().join("settings.json"), settings.to_string())
                .unwrap();
            self.server.reply(Reply::new().tool("bash", json!({ "command": "mkdir -p parser" })));
            self.server.reply(Reply::text("There is a folder for it."));
            let launch = Launch::rpc(&self.workspace).dialect(self.dialect).model("mock/m2");
            let mut agent = launch.arguments(&["--clock", "fixed", "--no-session"]).start();
            agent.send(json!({ "type": "prompt", "message": "Begin with the parser." }));
            let request = agent.until_type("extension_ui_request").pop().unwrap();
            let mut line = json!({ "type": "extension_ui_response", "id": request["id"] });
            line.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
            agent.send(line.clone());
            self.commands.push(line);
            agent.until_type(end);
            self.others.push(request);
        }
    }

    /// Records the progress of a subagent in an agent with a real clock.
    pub fn record_subagent_progress(&mut self, prompt: Value) {
        let arguments = ["--dialect", self.dialect, "--mode", "rpc", "--model", "mock/m2", "--no-session"];
        let mut agent = Agent::start(BINARY, &self.workspace, &arguments);
        agent.send(json!({ "type": "set_subagent_subscription", "level": "progress" }));
        agent.send(prompt);
        let is_progress = |record: &Value| {
            record["type"] == "subagent_progress" && record["payload"]["progress"]["toolCount"] == 1
        };
        self.others.extend(agent.until(is_progress).pop());
    }

    /// Records what an extension asks and shows, how the client answers, and a failure of the extension.
    pub fn record_extension(&mut self) {
        let program = self.workspace.work().join("ui_all.py");
        std::fs::write(&program, EXTENSION).unwrap();
        let launch = Launch::rpc(&self.workspace).dialect(self.dialect).model("mock/m2");
        let arguments = ["--clock", "fixed", "--no-session", "--extension", "ui_all.py"];
        let mut agent = launch.arguments(&arguments).environment("PI_RPC_EMIT_TITLE", "1").start();
        agent.send(json!({ "type": "prompt", "message": "/fail" }));
        agent.until(|record| record.to_string().contains("it exploded"));
        if matches!(self.dialect, "pi" | "omp") {
            let line =
                json!({ "id": "completions", "type": "get_completions", "command": "ask", "prefix": "N" });
            agent.send(line.clone());
            agent.response("completions");
            self.commands.push(line);
        }
        agent.send(json!({ "type": "prompt", "message": "/uiall" }));
        let is_last = |record: &Value| {
            record["text"] == "pasted" || (self.dialect == "operator-flat" && record["message"] == "err")
        };
        loop {
            let request = agent.until(|record| record["type"] == "extension_ui_request").pop().unwrap();
            if is_last(&request) {
                break;
            }
            let answer = match (self.dialect, request["title"].as_str().unwrap_or_default()) {
                (_, "" | "S" | "T" | "title") => continue,
                (_, "Pick2") => json!({ "cancelled": true }),
                ("operator-flat", "Sure?" | "Sure2?" | "Sure3?" | "second") => json!({ "value": true }),
                (_, "Sure?" | "Sure2?" | "Sure3?" | "second") => json!({ "confirmed": true }),
                _ => json!({ "value": request["options"][0].as_str().unwrap_or("Ann") }),
            };
            let mut line = json!({ "type": "extension_ui_response", "id": request["id"] });
            line.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
            self.protocol.check_command(&line).unwrap_or_else(|problem| panic!("{line}: {problem}"));
            agent.send(line.clone());
            self.commands.push(line);
        }
        self.others.extend(agent.transcript().iter().cloned());
    }

    /// Has an extension show a component, presses a key and closes it.
    pub fn record_component(&mut self) {
        std::fs::write(self.workspace.work().join("component.py"), COMPONENT).unwrap();
        let launch = Launch::rpc(&self.workspace).dialect(self.dialect).model("mock/m2");
        let arguments = ["--clock", "fixed", "--no-session", "--extension", "component.py"];
        let mut agent = launch.arguments(&arguments).start();
        agent.carry_out(
            json!({ "type": "set_client_capabilities", "render": true, "columns": 100, "rows": 30 }),
        );
        agent.send(json!({ "type": "prompt", "message": "/pick" }));
        let shown = agent.until(|record| record["takesKeys"] == true);
        let key = &shown.last().unwrap()["widgetKey"];
        let inputs = [json!({ "data": "\u{1b}[B" }), json!({ "close": true })];
        for (number, input) in inputs.into_iter().enumerate() {
            let id = format!("keys-{number}");
            let mut line = json!({ "id": id, "type": "widget_input", "widgetKey": key });
            line.as_object_mut().unwrap().extend(input.as_object().unwrap().clone());
            self.protocol.check_command(&line).unwrap_or_else(|problem| panic!("{line}: {problem}"));
            agent.send(line.clone());
            assert_eq!(agent.response(&id)["success"], true);
            self.commands.push(line);
        }
        self.others.extend(agent.transcript().iter().cloned());
    }

    /// Returns the first successful command of a type with its response, if it has one, as a page shows them.
    pub fn exchange(&self, name: &str) -> Option<Vec<String>> {
        let of_name = self.commands.iter().filter(|command| command["type"] == name);
        let response_to = |command: &Value| {
            let is_it =
                |record: &&Value| record["type"] == "response" && record.get("id") == command.get("id");
            self.agent.transcript().iter().chain(&self.others).find(is_it).cloned()
        };
        let exchanges = of_name.map(|command| (command, response_to(command)));
        let carried_out = |(_, answer): &(&Value, Option<Value>)| {
            answer.as_ref().is_none_or(|answer| answer["success"] == true)
        };
        let (command, answer) = exchanges.into_iter().find(carried_out)?;
        Some(std::iter::once(command.clone()).chain(answer).map(|line| self.shown(line)).collect())
    }

    /// Returns the first failure response, as a page shows it.
    pub fn failure(&self) -> Option<String> {
        let record = self.agent.transcript().iter().find(|record| record["success"] == false)?;
        Some(self.shown(record.clone()))
    }

    /// Returns the first record of a type, as a page shows it. Of the updates of a message, it is a delta of text.
    pub fn record(&self, name: &str) -> Option<String> {
        let mut all = self.agent.transcript().iter().chain(&self.others);
        let is_it = |record: &&Value| {
            let event = event(record);
            let step = event.get("assistantMessageEvent").or_else(|| event.get("assistant_event"));
            event["type"] == name && step.is_none_or(|step| step["type"] == "text_delta")
        };
        all.find(is_it).map(|record| self.shown(record.clone()))
    }

    /// Returns the first record of a type and a method, as a page shows it.
    pub fn form(&self, name: &str, method: &str) -> Option<String> {
        let mut all = self.agent.transcript().iter().chain(&self.others);
        let is_it = |record: &&Value| record["type"] == name && record["method"] == method;
        all.find(is_it).map(|record| self.shown(record.clone()))
    }

    /// Returns some answers of a type, as a page shows them: one for each set of members.
    pub fn answers(&self, name: &str) -> Vec<String> {
        let mut shown: Vec<&Value> = Vec::new();
        let members = |line: &Value| line.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        for line in self.commands.iter().filter(|line| line["type"] == name) {
            if !shown.iter().any(|other| members(other) == members(line)) {
                shown.push(line);
            }
        }
        shown.into_iter().map(|line| self.shown(line.clone())).collect()
    }

    /// Returns a line as a page shows it: without values that differ from run to run, and truncated.
    fn shown(&self, mut line: Value) -> String {
        self.tidy("", &mut line);
        line.to_string()
    }

    fn tidy(&self, name: &str, value: &mut Value) {
        match value {
            Value::Object(members) => members.iter_mut().for_each(|(name, value)| self.tidy(name, value)),
            // A tree is as deep as its conversation is long.
            Value::Array(nodes) if name == "children" => {
                nodes.iter_mut().for_each(|node| node["children"] = json!([]));
                nodes.iter_mut().for_each(|node| self.tidy("node", node));
            }
            Value::Array(names) if name == "dropped" => *names = vec![json!("ANTHROPIC_API_KEY")],
            Value::Array(items) => {
                if items.first().is_some_and(Value::is_object) {
                    items.truncate(LONGEST_LIST);
                }
                items.iter_mut().for_each(|value| self.tidy(name, value));
            }
            Value::String(text) if name == "kernel" => "6.18.44".clone_into(text),
            // It covers a path.
            Value::String(text) if name == "digest" => "sha256:6d0c…".clone_into(text),
            Value::String(text) if name == "nextCursor" => "MTc2NzIyNTYwMDAwMA".clone_into(text),
            Value::String(text) => *text = self.tidy_text(text),
            Value::Number(_) if matches!(name, "delayMs" | "delay_ms") => *value = json!(2000),
            Value::Number(_) if matches!(name, "durationMs" | "duration" | "ttft") => *value = json!(12),
            Value::Number(_) if matches!(name, "modified" | "endMs" | "currentToolStartMs") => {
                *value = json!(1_767_225_600_000_u64);
            }
            // The files contain paths.
            Value::Number(_) if name == "nextByte" => *value = json!(1234),
            _ => {}
        }
    }

    fn tidy_text(&self, text: &str) -> String {
        let home = self.workspace.home();
        // The session folder is named after the working directory.
        let named = |path: &std::path::Path| path.to_string_lossy().trim_start_matches('/').replace('/', "-");
        let mut text = text
            .replace(&*self.workspace.work().to_string_lossy(), "/home/me/project")
            .replace(&named(&self.workspace.work()), "home-me-project")
            .replace(&*home.to_string_lossy(), "/home/me")
            .replace(self.server.base_url().trim_end_matches('/'), "http://127.0.0.1:8080");
        if text.chars().count() > LONGEST_TEXT {
            text = text.chars().take(LONGEST_TEXT).collect();
            let _ = write!(text, "…");
        }
        text
    }
}

/// Returns whether a record of progress has output; the first may have none.
fn has_output(progress: &Value) -> bool {
    let shown =
        ["delta", "partialResult", "partial_result", "partial_tool_result"].map(|name| &progress[name]);
    shown.iter().any(|shown| shown.to_string().contains("\\n"))
}

/// Returns the event of a record: itself, or the wrapped one.
fn event(record: &Value) -> &Value {
    if record["type"] == "event" { &record["event"] } else { record }
}
