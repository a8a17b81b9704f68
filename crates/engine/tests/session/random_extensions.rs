//! Extensions that answer, fail, hang, ask and send at random, while a client sends commands at random: every command is
//! replied to once, every run ends once, and nothing is left in progress.

use std::future::pending;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bowline_core::command::{Command, Queue};
use bowline_core::hook::{CustomMessageDraft, EntryDraft, HookEvent, HookKind, HookResult, HookRole};
use bowline_core::message::Content;
use bowline_core::policy::Questions;
use bowline_core::ui::{Dialog, DialogKind, Display};
use bowline_engine::{Delivery, ExtensionInput, SessionLink};
use bowline_testkit::Reply;
use serde_json::json;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::driver::draft;
use crate::extensions::command as slash_command;
use crate::reattaching::session_elsewhere;
use crate::setup::Setup;
use crate::test_extension::TestExtension;
use crate::test_tools::TestTool;

/// How many different courses are taken.
const SEEDS: u64 = 60;

/// A small generator of random numbers, so that a seed repeats a course.
#[derive(Clone)]
struct Dice(Arc<AtomicU64>);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(Arc::new(AtomicU64::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)))
    }

    fn roll(&self, sides: u64) -> u64 {
        let mut value = self.0.load(Ordering::Relaxed);
        value ^= value << 13;
        value ^= value >> 7;
        value ^= value << 17;
        self.0.store(value, Ordering::Relaxed);
        (value >> 11) % sides
    }
}

fn note(text: &str) -> CustomMessageDraft {
    let content = vec![Content::text(text)];
    CustomMessageDraft {
        custom_type: "note".to_owned(),
        content: content.into(),
        display: true,
        details: None,
    }
}

/// Does something at a hook.
async fn act(dice: Dice, event: HookEvent, link: SessionLink) -> Result<HookResult, String> {
    for _ in 0..dice.roll(4) {
        tokio::task::yield_now().await;
    }
    match dice.roll(16) {
        0 => return Err("it failed".to_owned()),
        1 => return pending().await,
        2 => {
            let kind = DialogKind::Confirm { message: "?".to_owned() };
            let timeout = (dice.roll(2) == 0).then_some(Duration::from_millis(3));
            let dialog = Dialog { kind, title: "Sure?".to_owned(), timeout };
            link.ask(dialog, CancellationToken::new()).await;
        }
        3 => {
            let display = Display::Notify { message: "note".to_owned(), level: None };
            link.send(ExtensionInput::Display(display)).await;
        }
        4 => {
            let delivery = [Delivery::Steer, Delivery::FollowUp, Delivery::NextTurn][dice.roll(3) as usize];
            let message = note("sent");
            link.send(ExtensionInput::SendMessage { message, delivery, triggers_turn: None }).await;
        }
        5 => {
            let custom_type = "state".to_owned();
            link.send(ExtensionInput::AppendEntry { custom_type, data: Some(json!(1)) }).await;
        }
        6 => {
            let (reply, accepted) = oneshot::channel();
            link.send(ExtensionInput::Reload { extension: "ext".into(), reply }).await;
            let _ = accepted.await;
        }
        _ => {}
    }
    Ok(match (&event, dice.roll(4)) {
        (HookEvent::ToolCall { .. }, 0) => HookResult::Block { reason: None, terminate: dice.roll(2) == 0 },
        (HookEvent::ToolCall { .. }, 1) => HookResult::Ask { reason: "why not".to_owned() },
        (HookEvent::Input { .. }, 0) => HookResult::Handled,
        (HookEvent::Input { .. }, 1) => HookResult::Transform { text: "other".to_owned(), images: None },
        (HookEvent::MessageEnd(message), 0) => HookResult::Message(Arc::clone(message)),
        (HookEvent::SessionBeforeSwitch { .. } | HookEvent::SessionBeforeCompact(_), 0) => HookResult::Cancel,
        (HookEvent::TurnEnd { .. } | HookEvent::AgentBeforeSettle { .. }, 0) => {
            let entries = vec![EntryDraft::Message(note("boundary"))];
            HookResult::Boundary { entries, continues: Some(dice.roll(3) == 0) }
        }
        (_, 1) if dice.roll(8) == 0 => HookResult::Handled,
        _ => HookResult::None,
    })
}

fn command(dice: &Dice, elsewhere: &Path) -> Command {
    match dice.roll(14) {
        0..=3 => Command::Prompt { message: draft("go"), when_busy: Some(Queue::FollowUp) },
        4 => Command::Prompt { message: draft("again"), when_busy: None },
        5 => Command::Enqueue { message: draft("steer"), queue: Queue::Steering },
        6 => Command::Enqueue { message: draft("follow"), queue: Queue::FollowUp },
        7 => Command::Abort,
        8 => Command::NewSession { parent: None },
        9 => Command::Compact { instructions: None },
        10 => Command::Prompt { message: draft("/reload"), when_busy: None },
        11 => Command::SwitchSession { path: elsewhere.to_owned() },
        12 => Command::Shell { command: "true".to_owned(), exclude_from_context: false },
        _ => Command::GetState,
    }
}

async fn course(seed: u64) {
    let dice = Dice::new(seed);
    let hooks: Vec<_> = HookKind::ALL
        .iter()
        .copied()
        .filter(|hook| hook.role() != HookRole::Streams && dice.roll(2) == 0)
        .collect();
    let acting = dice.clone();
    let extension = TestExtension::new("ext", &hooks, move |event, link| act(acting.clone(), event, link))
        .offering(vec![slash_command("reload")]);
    let mut setup = Setup::new().policy(|policy| policy.questions = Questions::Asked);
    setup.hosts.push(Arc::new(extension));
    for _ in 0..dice.roll(12) {
        let reply = match dice.roll(3) {
            0 => Reply::new().tool("quick", json!({ "a": 1 })).tool("quick", json!({ "a": 2 })),
            _ => Reply::text("answer"),
        };
        setup.server.reply(reply);
    }
    setup.server.default_reply(Reply::text("done"));
    let elsewhere = session_elsewhere(setup.home.path());
    let mut driver = setup.tool(TestTool::quick("quick")).start();
    for number in 0..8 {
        let command = command(&dice, &elsewhere);
        driver.send(&format!("c{number}"), command);
        for _ in 0..dice.roll(6) {
            let _ = tokio::time::timeout(Duration::from_millis(1), driver.step()).await;
        }
    }
    // A hook that hangs, and a dialog or an approval that nobody answers, end with an abort; what follows may hang again.
    for number in 0.. {
        assert!(
            number < 60,
            "seed {seed} does not come to an end
{}",
            driver.transcript()
        );
        let id = format!("last{number}");
        driver.send(&id, Command::Abort);
        driver.send(&format!("shell{number}"), Command::AbortShell);
        for _ in 0..20 {
            let stepped = tokio::time::timeout(Duration::from_millis(2), driver.step()).await;
            if driver.session.is_idle() || stepped.is_err() {
                break;
            }
        }
        if driver.session.is_idle() {
            break;
        }
    }
    driver.until_idle().await;
    let (starts, ends) = (driver.of_type("agent_start").len(), driver.of_type("agent_settled").len());
    assert!(starts >= ends, "seed {seed}: {starts} attempts, {ends} runs\n{}", driver.transcript());
    driver.finish_without_grammar();
}

#[tokio::test]
async fn random_extensions_cost_no_reply_and_leave_nothing_in_progress() {
    for seed in 1..=SEEDS {
        course(seed).await;
    }
}
