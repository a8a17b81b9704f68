//! Drives a session: sends commands, handles the reports of its tasks one by one, and checks what it emits.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::Duration;

use bowline_core::ask::{Ask, AskAnswer, AskId, Decision};
use bowline_core::command::{Command, Draft, Origin, Queue, Request};
use bowline_core::event::Event;
use bowline_core::policy::{Policy, PromptAnswer};
use bowline_core::reply::{Answer, Refusal, Reply, State};
use bowline_core::{Message, SessionTag};
use bowline_dialect::Dialect;
use bowline_engine::{Input, Output, Report, Session, Tagged};
use bowline_testkit::{ModelServer, assert_well_formed};
use bowline_wire::memory::{self, Client};
use bowline_wire::{Outbox, Record};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// How long the session may take to emit what a test waits for.
const LIMIT: Duration = Duration::from_secs(10);

/// How many records a failing test shows, and how much of each.
const SHOWN_RECORDS: usize = 30;
const SHOWN_LENGTH: usize = 200;

/// A session, its tasks' reports and everything it has emitted. A test ends with [`Driver::finish`].
pub struct Driver {
    pub session: Session,
    pub server: ModelServer,
    pub home: TempDir,
    inputs: mpsc::Receiver<Tagged>,
    policy: Policy,
    dialect: Box<dyn Dialect>,
    wire: (Outbox, bowline_wire::Output, Client),
    outputs: Vec<Output>,
    /// What the outputs are in the dialect `pi`; most outputs are one record, some none.
    records: Vec<(usize, Value)>,
    /// How many outputs the test has waited for.
    waited_for: usize,
    sent: Vec<String>,
    is_finished: bool,
    checks_file: bool,
}

impl Driver {
    pub fn new(
        session: Session,
        inputs: mpsc::Receiver<Tagged>,
        policy: Policy,
        server: ModelServer,
        home: TempDir,
    ) -> Self {
        let (_, output, client) = memory::pair(1 << 22);
        Self {
            session,
            server,
            home,
            inputs,
            policy,
            dialect: bowline_dialect::find("pi").unwrap().make(),
            wire: (Outbox::new(1 << 22).without_joining(), output, client),
            outputs: Vec::new(),
            records: Vec::new(),
            waited_for: 0,
            sent: Vec::new(),
            is_finished: false,
            checks_file: true,
        }
    }

    /// Sends a command; its reply is known by `id`.
    pub fn send(&mut self, id: &str, command: Command) {
        self.sent.push(id.to_owned());
        let origin = Origin { id: Some(format!("\"{id}\"").into()), name: "test", echo: None };
        self.handle(Input::Request(Request { origin, command }));
    }

    pub fn prompt(&mut self, id: &str, text: &str) {
        self.send(id, Command::Prompt { message: draft(text), when_busy: None });
    }

    pub fn enqueue(&mut self, id: &str, queue: Queue, text: &str) {
        self.send(id, Command::Enqueue { message: draft(text), queue });
    }

    pub fn answer(&mut self, id: AskId, decision: Decision) {
        self.handle(Input::Answer(AskAnswer { id, decision }));
    }

    /// Returns what asks the session about hosts.
    pub fn host_questions(&self) -> bowline_engine::HostQuestions {
        self.session.host_questions()
    }

    pub fn shut_down(&mut self) {
        self.handle(Input::Shutdown);
    }

    /// Handles an input as a connection does: a panic ends what is in progress, and nothing else.
    pub fn handle(&mut self, input: Input) {
        let handling = catch_unwind(AssertUnwindSafe(|| self.session.handle(input)));
        if let Err(panic) = handling {
            self.session.recover_from_panic(&*panic);
        }
        self.collect();
    }

    /// Handles a report of a task.
    fn take(&mut self, tagged: Tagged) {
        match tagged.report {
            Report::Step(step) => self.handle(Input::Step(step)),
            Report::Extension { host, input } => self.handle(Input::Extension { host, input }),
            Report::HostCall(request) => self.handle(Input::HostCall(request)),
            Report::HostQuestion(question) => self.handle(Input::HostQuestion(question)),
            Report::Opened(_) => {}
        }
    }

    /// Has the session recover as if the handling of an input had panicked.
    pub fn panic(&mut self) {
        self.session.recover_from_panic(&"boom");
        self.collect();
    }

    fn collect(&mut self) {
        while let Some(output) = self.session.next_output() {
            let mut records = Vec::new();
            match &output {
                Output::Event(event) => self.dialect.event(SessionTag::FIRST, event, &mut records),
                Output::Reply(reply) => self.dialect.reply(SessionTag::FIRST, reply, &mut records),
                Output::Quit { .. } => {}
            }
            for record in records {
                let value = self.written(record);
                self.records.push((self.outputs.len(), value));
            }
            self.outputs.push(output);
        }
    }

    /// Waits for a report of a task and handles it.
    pub async fn step(&mut self) {
        let received = timeout(LIMIT, self.inputs.recv()).await;
        let Ok(Some(tagged)) = received else { panic!("no task reports\n{}", self.transcript()) };
        self.take(tagged);
    }

    /// Handles reports until an output is as wanted, and returns it. Outputs that were waited for before do not count.
    pub async fn until(&mut self, is_wanted: impl Fn(&Output) -> bool) -> Output {
        loop {
            let fresh = self.outputs.iter().skip(self.waited_for);
            if let Some(offset) = fresh.clone().position(&is_wanted) {
                self.waited_for += offset + 1;
                return self.outputs[self.waited_for - 1].clone();
            }
            self.step().await;
        }
    }

    /// Handles reports until there is a record of this type, and returns it.
    pub async fn until_type(&mut self, name: &str) -> Value {
        loop {
            let fresh = self
                .records
                .iter()
                .find(|(output, record)| *output >= self.waited_for && record["type"] == name);
            if let Some((output, record)) = fresh {
                self.waited_for = output + 1;
                return record.clone();
            }
            self.step().await;
        }
    }

    pub async fn until_settled(&mut self) -> Value {
        self.until_type("agent_settled").await
    }

    /// Handles reports until a delta has this text.
    pub async fn until_delta(&mut self, text: &str) {
        let is_it = |record: &Value| record["assistantMessageEvent"]["delta"] == text;
        while !self.records.iter().any(|(_, record)| is_it(record)) {
            self.step().await;
        }
    }

    /// Handles reports until the user is asked something.
    pub async fn until_asked(&mut self) -> Ask {
        let output = self.until(|output| matches!(output, Output::Event(Event::Ask(_)))).await;
        let Output::Event(Event::Ask(ask)) = output else { unreachable!() };
        ask
    }

    /// Handles reports until the model was called this often.
    pub async fn until_requests(&mut self, count: usize) {
        while self.server.requests().len() < count {
            if let Ok(Some(tagged)) = timeout(Duration::from_millis(1), self.inputs.recv()).await {
                self.take(tagged);
            }
        }
    }

    /// Waits until this many reports of tasks have arrived, without handling any.
    pub async fn until_reports(&self, count: usize) {
        while self.inputs.len() < count {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Handles reports until a command is replied to.
    pub async fn until_reply(&mut self, id: &str) -> Result<Answer, Refusal> {
        while self.replies(id).is_empty() {
            self.step().await;
        }
        self.replies(id).remove(0)
    }

    /// Sends a command and handles reports until it succeeds.
    pub async fn carry_out(&mut self, command: Command) -> Answer {
        let id = format!("automatic-{}", self.sent.len());
        self.send(&id, command);
        self.until_reply(&id).await.unwrap()
    }

    /// Handles reports until nothing is in progress.
    pub async fn until_idle(&mut self) {
        while !self.session.is_idle() {
            self.step().await;
        }
    }

    /// Runs a prompt to its end and returns the records from it on.
    pub async fn run(&mut self, text: &str) -> Vec<Value> {
        let from = self.records.len();
        let id = format!("automatic-{}", self.sent.len());
        self.waited_for = self.outputs.len();
        self.prompt(&id, text);
        self.until_settled().await;
        self.records[from..].iter().map(|(_, record)| record.clone()).collect()
    }

    /// Returns the replies to a command so far.
    pub fn replies(&self, id: &str) -> Vec<Result<Answer, Refusal>> {
        let id = format!("\"{id}\"");
        let replies = self.outputs.iter().filter_map(|output| match output {
            Output::Reply(Reply { origin, result }) if origin.id.as_deref() == Some(&*id) => {
                Some(result.clone())
            }
            _ => None,
        });
        replies.collect()
    }

    /// Returns the text of the refusal of a command that was replied to.
    pub fn refusal(&self, id: &str) -> String {
        match self.replies(id).pop() {
            Some(Err(refusal)) => refusal.message,
            other => panic!("{id} was replied to with {other:?}\n{}", self.transcript()),
        }
    }

    pub fn is_replied(&self, id: &str) -> bool {
        !self.replies(id).is_empty()
    }

    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    pub fn records(&self) -> Vec<Value> {
        self.records.iter().map(|(_, record)| record.clone()).collect()
    }

    /// Returns the records of a type.
    pub fn of_type(&self, name: &str) -> Vec<Value> {
        self.records().into_iter().filter(|record| record["type"] == name).collect()
    }

    /// Returns the bodies of the requests to the model.
    pub fn requests(&self) -> Vec<Value> {
        self.server.requests().into_iter().map(|request| request.body).collect()
    }

    pub fn state(&mut self) -> State {
        let id = format!("automatic-{}", self.sent.len());
        self.send(&id, Command::GetState);
        match self.replies(&id).pop() {
            Some(Ok(Answer::State(state))) => *state,
            other => panic!("get_state was replied to with {other:?}"),
        }
    }

    /// Returns the roles and texts of the conversation.
    pub fn conversation(&mut self) -> Vec<String> {
        self.messages().iter().map(outline).collect()
    }

    pub fn messages(&mut self) -> Vec<Value> {
        let id = format!("automatic-{}", self.sent.len());
        self.send(&id, Command::GetMessages);
        match self.replies(&id).pop() {
            Some(Ok(Answer::Messages(messages))) => {
                messages.iter().map(|message| serde_json::to_value(&**message).unwrap()).collect()
            }
            other => panic!("get_messages was replied to with {other:?}"),
        }
    }

    pub fn file(&self) -> PathBuf {
        self.session.file().unwrap().to_owned()
    }

    /// Skips the comparison of the conversation with the file, for tests that break the file.
    pub fn without_file_check(&mut self) {
        self.checks_file = false;
    }

    /// Checks what holds at the end of every test: nothing is left in progress, every command was replied to once, the
    /// events form whole runs, and the file holds the conversation.
    #[track_caller]
    pub fn finish(self) {
        assert_well_formed(&self.records());
        self.finish_without_grammar();
    }

    /// Checks the same, for policies under which the events are not those of the dialect `pi`.
    #[track_caller]
    pub fn finish_without_grammar(mut self) {
        self.is_finished = true;
        assert!(self.session.is_idle(), "something is left in progress: {:#?}", self.session);
        for id in &self.sent {
            let replies = self.replies(id);
            let is_refused_later =
                self.policy.prompt_answer == PromptAnswer::OnReceipt && matches!(&*replies, [Ok(_), Err(_)]);
            assert!(
                replies.len() == 1 || is_refused_later,
                "{id} was replied to with {replies:?}\n{}",
                self.transcript()
            );
        }
        if self.checks_file && self.session.file().is_some_and(std::path::Path::exists) {
            self.check_file();
        }
    }

    /// Checks that whoever opens the file finds the conversation that is in memory.
    #[track_caller]
    fn check_file(&mut self) {
        let id = "the last messages";
        self.send(id, Command::GetMessages);
        // A session that was shut down answers nothing.
        let Some(Ok(Answer::Messages(messages))) = self.replies(id).pop() else { return };
        let copy = self.home.path().join("copy.jsonl");
        std::fs::copy(self.file(), &copy).unwrap();
        let reopened = bowline_session::Session::open(&copy, self.home.path()).unwrap();
        let value = |message: &Message| serde_json::to_value(message).unwrap();
        let stored: Vec<_> =
            reopened.context().unwrap().messages.iter().map(|message| value(message)).collect();
        let in_memory: Vec<_> = messages.iter().map(|message| value(message)).collect();
        assert_eq!(stored, in_memory, "the file does not hold the conversation");
    }

    /// Returns the last records, a line each.
    pub fn transcript(&self) -> String {
        let last = self.records.len().saturating_sub(SHOWN_RECORDS);
        let short = |record: &Value| record.to_string().chars().take(SHOWN_LENGTH).collect::<String>();
        let lines = self.records[last..].iter().map(|(_, record)| short(record));
        lines.collect::<Vec<_>>().join("\n")
    }

    fn written(&mut self, record: Record) -> Value {
        let (outbox, output, client) = &mut self.wire;
        outbox.push(record);
        outbox.flush_now(output).unwrap();
        serde_json::from_slice(&client.receive_now(usize::MAX)).unwrap()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        assert!(self.is_finished || std::thread::panicking(), "a test must end with finish()");
    }
}

pub fn draft(text: &str) -> Draft {
    Draft { text: text.to_owned(), ..Draft::default() }
}

/// Returns the role and the text of a message, without the padding of [`crate::setup::long`].
pub fn outline(message: &Value) -> String {
    let text = match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().map(|block| match block["type"].as_str() {
                Some("toolCall") => format!("[{}]", block["name"].as_str().unwrap_or_default()),
                _ => block["text"].as_str().unwrap_or_default().to_owned(),
            });
            texts.collect()
        }
        _ => ["summary", "output"].iter().filter_map(|field| message[field].as_str()).collect::<String>(),
    };
    format!("{}: {}", message["role"].as_str().unwrap_or_default(), text.replace("pad ", "").trim())
}

/// Returns the types of the records, without deltas, the starts of messages, queue updates and responses.
pub fn course(records: &[Value]) -> Vec<&str> {
    let types = records.iter().filter_map(|record| record["type"].as_str());
    let left_out = ["message_start", "message_update", "queue_update", "response", "tool_execution_update"];
    types.filter(|name| !left_out.contains(name)).collect()
}
