//! An extension in Python that does what a test says.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bowline_testkit::{Agent, Launch, Protocol, Workspace, of_type};
use serde_json::{Value, json};

/// The program of every such extension.
const PROGRAM: &str = include_str!("actor.py");

/// How long a test waits for something.
const PATIENCE: Duration = Duration::from_secs(20);

/// An extension that does what a test says: see `actor.py`.
pub(crate) struct Actor {
    path: PathBuf,
}

impl Actor {
    /// Puts an extension into the user's folder. `on` has what it does when a record arrives.
    #[track_caller]
    pub fn new(workspace: &Workspace, name: &str, registration: Value, on: Value) -> Self {
        Self::with_plan(workspace, name, json!({ "registration": registration, "on": on }))
    }

    /// Puts an extension with a whole plan into the user's folder.
    #[track_caller]
    pub fn with_plan(workspace: &Workspace, name: &str, plan: Value) -> Self {
        Self::in_folder(&workspace.configuration().join("extensions"), name, plan)
    }

    /// Puts an extension with a whole plan into a folder.
    #[track_caller]
    pub fn in_folder(folder: &Path, name: &str, plan: Value) -> Self {
        let path = folder.join(format!("{name}.py"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        // That of an earlier one of this name.
        let _ = std::fs::remove_file(path.with_extension("log"));
        std::fs::write(&path, PROGRAM).unwrap();
        std::fs::write(path.with_extension("json"), plan.to_string()).unwrap();
        Self { path }
    }

    /// Returns the path by which clients know it.
    pub fn path(&self) -> String {
        self.path.display().to_string()
    }

    /// Returns what it received so far. Every line is checked against the schema.
    #[track_caller]
    pub fn received(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path.with_extension("log")).unwrap_or_default();
        let protocol = Protocol::of_schema(bowline_extension_host::protocol::schema());
        let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        whole
            .map(|line| {
                let record: Value = serde_json::from_str(line).unwrap();
                let problem = protocol.check_line("ToExtension", &record);
                assert_eq!(problem, Ok(()), "{line}");
                record
            })
            .collect()
    }

    /// Returns the events of a hook that it was called for or told of.
    #[track_caller]
    pub fn events(&self, hook: &str) -> Vec<Value> {
        let received = self.received().into_iter();
        received.map(|record| record["event"].clone()).filter(|event| event["type"] == hook).collect()
    }

    /// Waits until it has received a record.
    #[track_caller]
    pub fn wait_for(&self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            if let Some(found) = self.received().into_iter().find(|record| is_wanted(record)) {
                return found;
            }
            assert!(start.elapsed() < PATIENCE, "it has not received it: {:#?}", self.received());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Returns the process that it has left running.
    #[track_caller]
    pub fn daemon(&self) -> u32 {
        std::fs::read_to_string(self.path.with_extension("daemon")).unwrap().parse().unwrap()
    }
}

/// Starts bowline with the extensions in the user's folder.
#[track_caller]
pub(crate) fn start(workspace: &Workspace) -> Agent {
    start_with(workspace, &[])
}

/// Starts bowline with further arguments.
#[track_caller]
pub(crate) fn start_with(workspace: &Workspace, arguments: &[&str]) -> Agent {
    let mut agent = Launch::rpc(workspace).model("mock/m1").arguments(arguments).start();
    agent.set_timeout(PATIENCE);
    agent
}

/// Sends a prompt and returns the records up to the end of its run.
#[track_caller]
pub(crate) fn run(agent: &mut Agent, text: &str) -> Vec<Value> {
    agent.send(json!({ "type": "prompt", "message": text }));
    agent.collect_until_settled()
}

/// Waits until an extension has failed in this way.
#[track_caller]
pub(crate) fn wait_for_error(agent: &mut Agent, problem: &str) {
    while !errors(agent.transcript()).iter().any(|error| error.contains(problem)) {
        agent.next();
    }
}

/// Returns the errors of extensions as `event: error`.
pub(crate) fn errors(records: &[Value]) -> Vec<String> {
    let errors = of_type(records, "extension_error").into_iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    errors.map(|record| format!("{}: {}", text(&record["event"]), text(&record["error"]))).collect()
}

/// Returns a registration with hooks.
pub(crate) fn hooks(names: &[&str]) -> Value {
    let hooks: Vec<_> = names.iter().map(|name| json!({ "event": name })).collect();
    json!({ "hooks": hooks })
}

/// Returns a registration with one tool that takes a text.
pub(crate) fn tool(name: &str) -> Value {
    json!({ "tools": [{
        "name": name,
        "description": "A tool of a test.",
        "parameters": {
            "type": "object",
            "properties": { "text": { "type": "string" } },
            "required": ["text"],
        },
        "promptSnippet": "does what a test says",
        "promptGuidelines": ["Use it in tests."],
    }] })
}
