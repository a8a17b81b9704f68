//! Hosts that end and are attached again: when the session is reloaded, and when it goes on in another folder.

use std::future::{pending, ready};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bowline_core::command::{Command, Queue};
use bowline_core::hook::*;
use bowline_core::reply::{Answer, Disposition, Refusal};
use bowline_engine::{Configuration, Configured, ExtensionInput, OfferedTool, Settings, SystemPrompt};
use bowline_extension::Resources;
use bowline_testkit::{Gate, Reply};
use bowline_tools::{Options, Toolbox};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::driver::{Driver, course};
use crate::extensions::{command, failures, setup};
use crate::setup::work_of;
use crate::test_extension::TestExtension;
use crate::test_tools::TestTool;

const LIFE: [HookKind; 3] = [HookKind::SessionStart, HookKind::ResourcesDiscover, HookKind::SessionShutdown];

/// Returns an extension with the command `/reload` that notes the reasons of what it sees.
fn reloading() -> (TestExtension, Arc<Mutex<Vec<String>>>) {
    let reasons = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&reasons);
    let extension = TestExtension::new("ext", &LIFE, move |event, _| {
        let reason = match &event {
            HookEvent::SessionStart { reason, .. } | HookEvent::SessionShutdown { reason, .. } => {
                reason.as_str()
            }
            HookEvent::ResourcesDiscover { reason: DiscoverReason::Reload, .. } => "reload",
            _ => "startup",
        };
        noted.lock().unwrap().push(format!("{} {reason}", event.kind().as_str()));
        ready(Ok(HookResult::None))
    });
    (extension.offering(vec![command("reload")]), reasons)
}

/// Writes a session of another folder and returns its file.
pub(crate) fn session_elsewhere(home: &Path) -> PathBuf {
    let folder = elsewhere(home);
    std::fs::create_dir_all(&folder).unwrap();
    let file = home.join("elsewhere.jsonl");
    let header = serde_json::json!({ "type": "session", "version": 3, "id": "s", "cwd": folder,
        "timestamp": "2026-01-01T00:00:00.000Z" });
    std::fs::write(&file, format!("{header}\n")).unwrap();
    file
}

fn elsewhere(home: &Path) -> PathBuf {
    home.join("elsewhere")
}

/// Handles reports until the extension was attached this often and the session has started.
async fn until_started(driver: &mut Driver, extension: &TestExtension, count: usize) {
    while extension.attachments().len() < count {
        driver.step().await;
    }
    driver.carry_out(Command::GetCommands).await;
}

async fn ask_for_reload(driver: &mut Driver, extension: &TestExtension) -> Result<(), Refusal> {
    let (reply, mut accepted) = oneshot::channel();
    extension.link().send(ExtensionInput::Reload { extension: "ext".into(), reply }).await;
    loop {
        driver.step().await;
        if let Ok(accepted) = accepted.try_recv() {
            return accepted;
        }
    }
}

#[tokio::test]
async fn reload_ends_extensions_and_starts_them_once_without_an_event() {
    let (extension, reasons) = reloading();
    let mut driver = setup(&extension, [Reply::text("one"), Reply::text("two")]).start();
    driver.run("one?").await;
    driver.enqueue("q", Queue::FollowUp, "later");
    driver.until_idle().await;
    let before = driver.records().len();
    driver.prompt("r", "/reload");
    driver.prompt("p", "two?");
    assert!(!driver.is_replied("r"));
    assert!(matches!(driver.until_reply("r").await, Ok(Answer::Accepted(Disposition::Handled))));
    let reloaded = extension.attachments().len();
    driver.until_settled().await;
    driver.until_idle().await;
    assert_eq!(reloaded, 2, "the reply comes when the reload is over");
    let expected = [
        "session_start startup",
        "resources_discover startup",
        "session_shutdown reload",
        "session_start reload",
        "resources_discover reload",
    ];
    assert_eq!(*reasons.lock().unwrap(), expected);
    let calls = ["/reload ", "session_shutdown", "stop", "session_start", "resources_discover"];
    assert_eq!(extension.seen()[2..], calls);
    assert_eq!(extension.attachments()[1].0, "reload");
    let records = driver.records();
    assert_eq!(course(&records[before..])[0], "agent_start", "a reload is no event");
    let conversation = driver.conversation();
    assert_eq!(conversation[0..2], ["user: one?", "assistant: one"]);
    assert!(conversation.contains(&"user: later".to_owned()), "queues stay: {conversation:?}");
    driver.finish();
}

#[tokio::test]
async fn abort_never_waits_for_a_reload() {
    for hanging in LIFE {
        let extension = TestExtension::new("ext", &LIFE, move |event, _| async move {
            let hangs = event.kind() == hanging
                && !matches!(
                    event,
                    HookEvent::SessionStart { reason: SessionReason::Startup, .. }
                        | HookEvent::ResourcesDiscover { reason: DiscoverReason::Startup, .. }
                );
            if hangs { pending().await } else { Ok(HookResult::None) }
        });
        let extension = extension.offering(vec![command("reload")]);
        let mut driver = setup(&extension, [Reply::text("ok")]).start();
        until_started(&mut driver, &extension, 1).await;
        driver.prompt("r", "/reload");
        while extension.seen().iter().filter(|seen| *seen == hanging.as_str()).count()
            < 1 + usize::from(hanging != HookKind::SessionShutdown)
        {
            // Nothing is reported once it hangs.
            let _ = timeout(Duration::from_millis(1), driver.step()).await;
        }
        driver.state();
        driver.send("c", Command::GetCommands);
        driver.prompt("p", "go");
        driver.send("a", Command::Abort);
        // Once nothing is waited for, the prompt may start its run, which is aborted then.
        assert!(["a", "r", "p"].iter().all(|id| driver.is_replied(id)), "{hanging:?}");
        driver.until_reply("c").await.unwrap();
        driver.until_idle().await;
        driver.run("again").await;
        driver.until_idle().await;
        assert_eq!(extension.attachments().len(), 2);
        assert_eq!(failures(&driver), []);
        driver.finish();
    }
}

#[tokio::test]
async fn reload_waits_for_the_run_and_its_answer_does_not() {
    let (extension, reasons) = reloading();
    let gate = Gate::new();
    let mut driver = setup(&extension, [Reply::text("one").gate(&gate)]).start();
    until_started(&mut driver, &extension, 1).await;
    driver.prompt("p", "go");
    driver.until_delta("one").await;
    assert_eq!(ask_for_reload(&mut driver, &extension).await, Ok(()));
    assert_eq!(ask_for_reload(&mut driver, &extension).await, Ok(()));
    assert_eq!(reasons.lock().unwrap().len(), 2);
    gate.open();
    driver.until_settled().await;
    until_started(&mut driver, &extension, 2).await;
    driver.until_idle().await;
    assert_eq!(extension.attachments().len(), 2, "two requests are one reload");
    driver.finish();
}

#[tokio::test]
async fn extension_that_reloads_at_its_start_is_refused() {
    let refusals = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&refusals);
    let extension = TestExtension::new("ext", &[HookKind::SessionStart], move |_, link| {
        let noted = Arc::clone(&noted);
        async move {
            let (reply, accepted) = oneshot::channel();
            link.send(ExtensionInput::Reload { extension: "ext".into(), reply }).await;
            let refusal = accepted.await.unwrap().unwrap_err();
            noted.lock().unwrap().push(refusal.message);
            Ok(HookResult::None)
        }
    });
    let mut driver = setup(&extension, [Reply::text("ok")]).start();
    driver.run("go").await;
    driver.until_idle().await;
    assert_eq!(*refusals.lock().unwrap(), ["extensions are just being started"]);
    assert_eq!(extension.attachments().len(), 1);
    driver.finish();
}

#[tokio::test]
async fn host_that_was_detached_reaches_nobody() {
    let (extension, _) = reloading();
    let mut driver = setup(&extension, []).start();
    until_started(&mut driver, &extension, 1).await;
    let old = extension.link();
    let tool = || OfferedTool {
        tool: Arc::new(TestTool::quick("deploy")),
        snippet: None,
        guidelines: Vec::new(),
        is_active: true,
        source_info: None,
    };
    let offer = || ExtensionInput::Tools { extension: "ext".into(), tools: vec![tool()] };
    old.send(offer()).await;
    driver.step().await;
    assert!(driver.state().tools.iter().any(|name| name == "deploy"));
    assert_eq!(ask_for_reload(&mut driver, &extension).await, Ok(()));
    // It is on its way when its host is detached.
    old.send(offer()).await;
    until_started(&mut driver, &extension, 2).await;
    assert!(!old.is_open());
    assert!(!driver.state().tools.iter().any(|name| name == "deploy"));
    extension.link().send(offer()).await;
    driver.step().await;
    assert!(driver.state().tools.iter().any(|name| name == "deploy"));
    driver.until_idle().await;
    driver.finish();
}

/// Returns what a test has configured last.
#[derive(Debug)]
struct TestConfiguration {
    reads: Mutex<Vec<Result<Configured, String>>>,
}

impl Configuration for TestConfiguration {
    fn read(&self, _directory: &Path) -> Result<Configured, String> {
        self.reads.lock().unwrap().remove(0)
    }

    fn for_session(&self, directory: &Path) -> Result<(Configured, Arc<dyn Configuration>), String> {
        let configured = self.read(directory)?;
        Ok((configured, Arc::new(Self { reads: Mutex::default() })))
    }
}

#[tokio::test]
async fn reload_takes_over_what_is_configured_now_and_keeps_it_if_it_cannot_be_read() {
    let (old, _) = reloading();
    let (new, _) = reloading();
    let configured = Configured {
        settings: Settings::default(),
        toolbox: Toolbox::builtin(&Options::default()).with_tool(Arc::new(TestTool::quick("added"))),
        system_prompt: SystemPrompt { replacement: Some("Be new.".to_owned()), ..SystemPrompt::default() },
        resources: Resources::default(),
        hosts: vec![Arc::new(new.clone())],
    };
    let reads = Mutex::new(vec![Ok(configured), Err("settings.json is not JSON".to_owned())]);
    let mut setup = setup(&old, [Reply::text("ok")]);
    setup.configuration = Some(Arc::new(TestConfiguration { reads }));
    let mut driver = setup.start();
    until_started(&mut driver, &old, 1).await;
    assert_eq!(ask_for_reload(&mut driver, &old).await, Ok(()));
    until_started(&mut driver, &new, 1).await;
    assert_eq!(ask_for_reload(&mut driver, &new).await, Ok(()));
    until_started(&mut driver, &new, 2).await;
    driver.run("go").await;
    driver.until_idle().await;
    assert_eq!(old.attachments().len(), 1);
    let expected = ("<runtime>".to_owned(), "reload".to_owned(), "settings.json is not JSON".to_owned());
    assert_eq!(failures(&driver), [expected]);
    let request = &driver.requests()[0];
    assert!(request["system"].to_string().contains("Be new."), "{request}");
    assert!(request["tools"].to_string().contains("added"), "{request}");
    driver.finish();
}

#[tokio::test]
async fn hosts_follow_the_session_into_another_folder_and_back() {
    let (extension, reasons) = reloading();
    let setup = setup(&extension, [Reply::text("ok")]);
    let home = setup.home.path().to_owned();
    let file = session_elsewhere(&home);
    let mut driver = setup.start();
    until_started(&mut driver, &extension, 1).await;
    driver.carry_out(Command::NewSession { parent: None }).await;
    assert_eq!(extension.attachments().len(), 1, "in the same folder they stay");
    driver.carry_out(Command::SwitchSession { path: file.clone() }).await;
    driver.run("go").await;
    driver.until_idle().await;
    driver.carry_out(Command::NewSession { parent: None }).await;
    until_started(&mut driver, &extension, 3).await;
    let (work, elsewhere) = (work_of(&home), elsewhere(&home));
    assert_eq!(extension.attachments(), [("startup", work.clone()), ("resume", elsewhere), ("new", work)]);
    let reasons = reasons.lock().unwrap().clone();
    let of = |hook: &str| {
        let those = reasons.iter().filter_map(|reason| reason.strip_prefix(hook));
        those.map(str::trim).collect::<Vec<_>>()
    };
    assert_eq!(of("session_start"), ["startup", "new", "resume", "new"]);
    assert_eq!(of("session_shutdown"), ["new", "resume", "new"]);
    assert_eq!(of("resources_discover"), ["startup"; 4]);
    assert_eq!(extension.seen().iter().filter(|seen| *seen == "stop").count(), 2);
    driver.finish();
}

#[tokio::test]
async fn prompts_wait_for_the_hosts_of_the_other_folder() {
    let (extension, _) = reloading();
    let setup = setup(&extension, [Reply::text("ok")]);
    let file = session_elsewhere(setup.home.path());
    let mut driver = setup.start();
    until_started(&mut driver, &extension, 1).await;
    driver.send("w", Command::SwitchSession { path: file });
    driver.prompt("p", "go");
    driver.until_reply("p").await.unwrap();
    assert_eq!(extension.attachments().len(), 2);
    driver.until_settled().await;
    driver.until_idle().await;
    driver.finish();
}

#[tokio::test]
async fn end_of_the_process_waits_for_hosts_that_are_stopping_and_attaches_none() {
    let (extension, _) = reloading();
    let mut driver = setup(&extension, []).start();
    until_started(&mut driver, &extension, 1).await;
    driver.prompt("r", "/reload");
    let link = extension.link();
    while link.is_open() {
        driver.step().await;
    }
    driver.shut_down();
    driver.until_idle().await;
    assert!(driver.is_replied("r"));
    assert_eq!(extension.attachments().len(), 1);
    driver.finish();
}

#[tokio::test]
async fn panic_during_a_reload_leaves_a_session_that_can_be_used() {
    for steps in 0..6 {
        let (extension, _) = reloading();
        let mut driver = setup(&extension, [Reply::text("ok")]).start();
        until_started(&mut driver, &extension, 1).await;
        driver.prompt("r", "/reload");
        for _ in 0..steps {
            driver.step().await;
        }
        driver.panic();
        driver.run("go").await;
        driver.until_idle().await;
        driver.finish();
    }
}
