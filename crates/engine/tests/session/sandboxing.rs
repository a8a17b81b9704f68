//! What confines the tools: saying what holds, changing it, what the file keeps of it, and the paths that were restored.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use bowline_core::command::Command;
use bowline_core::hook::{HookKind, HookResult, ToolResultChange};
use bowline_core::message::{Arguments, Content};
use bowline_core::reply::{Answer, RefusalCode};
use bowline_core::sandbox::{
    AskMode, Grants, Promise, PromiseState, ProtectedChange, SandboxChange, SandboxLevel, SandboxMode,
    SandboxNetwork, SandboxReport, SandboxSummary,
};
use bowline_testkit::Reply;
use bowline_tools::{
    BoxFuture, CallContext, CommandOutcome, CommandRequest, Confinement, Error, Options, Outcome, OutputSink,
    Selection, Toolbox, WriteAccess,
};
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::driver::{Driver, course};
use crate::setup::Setup;
use crate::test_extension::TestExtension;
use crate::user_commands::shell;

/// A sandbox that only says what it is: its calls do nothing but change a protected path.
#[derive(Debug, Clone)]
struct Fake {
    state: Arc<Mutex<State>>,
    /// A permit for each time that it may be proved.
    proofs: Arc<Semaphore>,
    may_widen: bool,
}

#[derive(Debug, Clone, Copy)]
struct State {
    mode: SandboxMode,
    network: SandboxNetwork,
    is_proved: bool,
    revision: u64,
}

impl Fake {
    fn new(mode: SandboxMode) -> Self {
        let state = State { mode, network: SandboxNetwork::None, is_proved: false, revision: 0 };
        Self { state: Arc::new(Mutex::new(state)), proofs: Arc::new(Semaphore::new(1000)), may_widen: false }
    }

    fn setup(&self, replies: impl IntoIterator<Item = Reply>) -> Setup {
        let mut setup = Setup::new().replies(replies);
        let options = Options { confinement: Some(Arc::new(self.clone())), ..Options::default() };
        setup.toolbox = Toolbox::builtin(&options).select(&Selection::default()).unwrap();
        setup
    }

    fn start(&self, replies: impl IntoIterator<Item = Reply>) -> Driver {
        self.setup(replies).start()
    }

    fn prove_now(&self) -> SandboxReport {
        let mut state = self.state.lock().unwrap();
        state.is_proved = true;
        state.revision += 1;
        drop(state);
        self.report()
    }
}

impl Confinement for Fake {
    fn is_active(&self) -> bool {
        self.state.lock().unwrap().mode.is_confined()
    }

    fn kept_texts(&self) -> Option<PathBuf> {
        None
    }

    fn summary(&self) -> SandboxSummary {
        SandboxSummary::from(&self.report())
    }

    fn report(&self) -> SandboxReport {
        let State { mode, network, is_proved, .. } = *self.state.lock().unwrap();
        if !mode.is_confined() {
            return SandboxReport::unconfined(mode);
        }
        let state = if is_proved { PromiseState::Proved } else { PromiseState::Assumed };
        SandboxReport {
            mode,
            level: SandboxLevel::Full,
            network,
            writable: vec!["/project".to_owned()],
            promises: vec![Promise { id: "file.write".to_owned(), state, text: String::new(), at: None }],
            ..SandboxReport::default()
        }
    }

    fn revision(&self) -> u64 {
        self.state.lock().unwrap().revision
    }

    fn prove(&self, _session: Option<&str>) -> BoxFuture<'static, Result<SandboxReport, String>> {
        let fake = self.clone();
        Box::pin(async move {
            let permit =
                fake.proofs.acquire().await.map_err(|_| "there are no namespaces here".to_owned())?;
            permit.forget();
            Ok(fake.prove_now())
        })
    }

    fn change(&self, change: SandboxChange) -> Result<(), String> {
        let mut state = self.state.lock().unwrap();
        let mode = change.mode.unwrap_or(state.mode);
        if mode > state.mode && !self.may_widen {
            return Err("a client cannot widen the sandbox".to_owned());
        }
        let network = change.network.unwrap_or(state.network);
        *state = State { mode, network, is_proved: false, revision: state.revision + 1 };
        Ok(())
    }

    fn write_access(&self, _path: &Path) -> WriteAccess {
        WriteAccess::Allowed
    }

    fn ask_about_hosts(&self, _: std::sync::Arc<dyn bowline_tools::HostGate>) {}

    fn grant(&self, _grants: &Grants) {}

    fn call(
        &self,
        tool: &'static str,
        _context: CallContext,
        _arguments: Arguments,
    ) -> BoxFuture<'static, Outcome> {
        self.prove_now();
        let protected = vec![put_back("created", Some("/quarantine/1")), put_back("removed", None)];
        Box::pin(std::future::ready(Outcome { protected, ..Outcome::text(tool) }))
    }

    fn run_command<'sink>(
        &'sink self,
        request: CommandRequest,
        _output: OutputSink<'sink>,
    ) -> BoxFuture<'sink, Result<CommandOutcome, Error>> {
        self.prove_now();
        let outcome = CommandOutcome {
            output: request.command,
            exit_code: Some(0),
            cancelled: false,
            truncated: false,
            full_output_path: None,
            protected: vec![put_back("changed", None)],
        };
        Box::pin(std::future::ready(Ok(outcome)))
    }
}

fn put_back(change: &str, quarantine: Option<&str>) -> ProtectedChange {
    ProtectedChange {
        path: "/project/.git/hooks/pre-commit".into(),
        quarantine: quarantine.map(Into::into),
        change: change.to_owned(),
    }
}

fn set(mode: Option<SandboxMode>, network: Option<SandboxNetwork>) -> Command {
    Command::SetSandbox { change: SandboxChange { mode, network } }
}

fn bash() -> Reply {
    Reply::new().tool("bash", json!({ "command": "true" }))
}

async fn report_of(driver: &mut Driver) -> SandboxReport {
    let Answer::Sandbox(report) = driver.carry_out(Command::GetSandbox { connections: false }).await else {
        panic!()
    };
    *report
}

/// Returns what the file says of the sandbox.
fn noted(driver: &Driver) -> Vec<Value> {
    let text = std::fs::read_to_string(driver.file()).unwrap();
    let entries = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let entries = entries.filter(|entry| entry["customType"] == "bowline.sandbox");
    entries
        .map(|entry| {
            assert_eq!(entry["type"], "custom");
            entry["data"].clone()
        })
        .collect()
}

fn digest_of(report: &SandboxReport) -> String {
    let hash = digest(&SHA256, serde_json::to_string(report).unwrap().as_bytes());
    let hash: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hash}")
}

#[tokio::test]
async fn tools_that_nothing_confines_are_said_to_be_unconfined() {
    let mut driver = Setup::new().replies([bash(), Reply::text("done")]).start();
    let report = report_of(&mut driver).await;
    assert_eq!(
        (report.mode, report.level, &*report.tools),
        (SandboxMode::FullAccess, SandboxLevel::None, "unconfined")
    );
    assert_eq!(report.not_enforced[0].id, "everything");
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    assert_eq!(report.kernel, kernel.trim());
    let summary = SandboxSummary {
        mode: SandboxMode::FullAccess,
        level: SandboxLevel::None,
        ask: AskMode::Never,
        network: SandboxNetwork::Full,
        workspace: None,
    };
    assert_eq!(driver.state().sandbox, summary);
    driver.run("go").await;
    assert_eq!(noted(&driver), [Value::Null; 0]);
    driver.send("s", set(Some(SandboxMode::ReadOnly), None));
    let refusal = driver.until_reply("s").await.unwrap_err();
    assert_eq!(refusal.code, RefusalCode::Forbidden);
    driver.finish();
}

#[tokio::test]
async fn state_is_told_while_the_sandbox_is_being_proved() {
    let fake = Fake { proofs: Arc::new(Semaphore::new(0)), ..Fake::new(SandboxMode::WorkspaceWrite) };
    let mut driver = fake.start([]);
    driver.send("g", Command::GetSandbox { connections: false });
    assert_eq!(driver.state().sandbox.mode, SandboxMode::WorkspaceWrite);
    assert!(!driver.is_replied("g"));
    fake.proofs.add_permits(1);
    let Ok(Answer::Sandbox(report)) = driver.until_reply("g").await else { panic!() };
    assert_eq!(report.promises[0].state, PromiseState::Proved);
    driver.finish();
}

#[tokio::test]
async fn sandbox_that_cannot_be_had_is_refused_with_the_reason() {
    let fake = Fake::new(SandboxMode::WorkspaceWrite);
    fake.proofs.close();
    let mut driver = fake.start([]);
    driver.send("g", Command::GetSandbox { connections: false });
    let refusal = driver.until_reply("g").await.unwrap_err();
    assert_eq!(refusal.code, RefusalCode::SandboxUnavailable);
    assert_eq!(refusal.message, "there are no namespaces here");
    driver.finish();
}

#[tokio::test]
async fn file_says_what_confined_the_tools_once_until_it_changes() {
    let fake = Fake::new(SandboxMode::WorkspaceWrite);
    let mut driver = fake.start([bash(), bash(), Reply::text("done"), bash(), Reply::text("done")]);
    driver.run("go").await;
    let report = report_of(&mut driver).await;
    let first = json!({ "level": "full", "mode": "workspace-write", "network": "none", "writable": ["/project"],
        "digest": digest_of(&report) });
    assert_eq!(noted(&driver), [first]);
    let summary = driver.carry_out(set(Some(SandboxMode::ReadOnly), None)).await;
    assert!(matches!(summary, Answer::SandboxChanged(SandboxSummary { mode: SandboxMode::ReadOnly, .. })));
    driver.run("go on").await;
    let modes: Vec<_> = noted(&driver).iter().map(|data| data["mode"].clone()).collect();
    // It is noted when it is asked for, and when it was tried.
    assert_eq!(modes, ["workspace-write", "read-only", "read-only"]);
    assert_ne!(noted(&driver)[1]["digest"], noted(&driver)[2]["digest"]);
    driver.finish();
}

#[tokio::test]
async fn another_session_says_it_again() {
    let mut driver =
        Fake::new(SandboxMode::ReadOnly).start([bash(), Reply::text("a"), bash(), Reply::text("b")]);
    driver.run("go").await;
    driver.carry_out(Command::NewSession { parent: None }).await;
    driver.run("go").await;
    assert_eq!(noted(&driver).len(), 1);
    driver.finish();
}

#[tokio::test]
async fn sandbox_that_is_given_up_is_noted_as_such() {
    let fake = Fake { may_widen: true, ..Fake::new(SandboxMode::ReadOnly) };
    let mut driver = fake.start([bash(), Reply::text("done")]);
    driver.run("go").await;
    driver.carry_out(set(Some(SandboxMode::FullAccess), None)).await;
    assert_eq!(noted(&driver).last().unwrap()["mode"], "full-access");
    driver.finish();
}

#[tokio::test]
async fn changes_that_are_not_allowed_or_none_are_refused() {
    let mut driver = Fake::new(SandboxMode::ReadOnly).start([]);
    driver.send("a", set(Some(SandboxMode::WorkspaceWrite), None));
    let refusal = driver.until_reply("a").await.unwrap_err();
    assert_eq!(
        (refusal.code, &*refusal.message),
        (RefusalCode::Forbidden, "a client cannot widen the sandbox")
    );
    driver.send("b", set(None, None));
    assert_eq!(driver.until_reply("b").await.unwrap_err().code, RefusalCode::InvalidArgument);
    assert_eq!(driver.state().sandbox.mode, SandboxMode::ReadOnly);
    driver.finish();
}

#[tokio::test]
async fn stricter_sandbox_holds_from_the_next_call_on() {
    let fake = Fake::new(SandboxMode::FullAccess);
    let mut driver = fake.start([bash(), Reply::text("done"), bash(), Reply::text("done")]);
    driver.run("go").await;
    assert!(driver.of_type("protected_path_changed").is_empty(), "the call was not confined");
    driver.carry_out(set(Some(SandboxMode::ReadOnly), None)).await;
    driver.run("go").await;
    assert_eq!(driver.of_type("protected_path_changed").len(), 2, "the call was confined");
    driver.finish();
}

#[tokio::test]
async fn paths_that_were_put_back_are_reported_before_the_call_ends() {
    let mut driver = Fake::new(SandboxMode::WorkspaceWrite).start([bash(), Reply::text("done")]);
    let records = driver.run("go").await;
    let call = &driver.of_type("tool_execution_start")[0]["toolCallId"];
    let record = |change: &str| {
        json!({ "type": "protected_path_changed", "toolCallId": call, "path": "/project/.git/hooks/pre-commit",
            "change": change })
    };
    let mut first = record("created");
    first["quarantine"] = json!("/quarantine/1");
    assert_eq!(driver.of_type("protected_path_changed"), [first, record("removed")]);
    let course = course(&records);
    let place = course.iter().position(|name| *name == "protected_path_changed").unwrap();
    assert_eq!(course[place - 1], "tool_execution_start");
    assert_eq!(course[place + 2], "tool_execution_end");
    driver.finish();
}

#[tokio::test]
async fn extensions_that_change_results_do_not_hide_them() {
    let change = ToolResultChange {
        content: Some(vec![Content::text("nothing happened")]),
        ..ToolResultChange::default()
    };
    let extension = TestExtension::returning("ext", HookKind::ToolResult, Ok(HookResult::ToolResult(change)));
    let mut setup = Fake::new(SandboxMode::WorkspaceWrite).setup([bash(), Reply::text("done")]);
    setup.hosts.push(Arc::new(extension));
    let mut driver = setup.start();
    driver.run("go").await;
    driver.until_idle().await;
    assert_eq!(driver.of_type("protected_path_changed").len(), 2);
    assert_eq!(driver.conversation()[2], "toolResult: nothing happened");
    driver.finish();
}

#[tokio::test]
async fn commands_of_the_user_report_them_without_a_call() {
    let mut driver = Fake::new(SandboxMode::WorkspaceWrite).start([]);
    driver.carry_out(shell("git init")).await;
    let expected = json!({ "type": "protected_path_changed", "path": "/project/.git/hooks/pre-commit",
        "change": "changed" });
    assert_eq!(driver.of_type("protected_path_changed"), [expected]);
    driver.finish();
}
