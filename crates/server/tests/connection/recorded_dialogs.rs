//! The recordings of pi and omp in which an extension uses every method of its user interface, replayed line by line.
//! The extension is one of this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bowline_core::ui::{Dialog, DialogAnswer, DialogKind, Display, NotifyLevel, WidgetPlacement};
use bowline_engine::{About, Attached, Extension, ExtensionInput, Host, SessionLink};
use bowline_server::Limits;
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::agent::World;
use crate::client::serve;

/// How long the agent may take to send what a test waits for.
const LIMIT: Duration = Duration::from_secs(10);

const PI: (&str, &str) = (
    include_str!("../../../../tests/conformance/extensions/ui-all.jsonl"),
    include_str!("../../../../tests/conformance/extensions/ui-all.ext.log"),
);
const OMP: (&str, &str) = (
    include_str!("../../../../tests/conformance/extensions/omp-ui-all.jsonl"),
    include_str!("../../../../tests/conformance/extensions/omp-ui-all.ext.log"),
);

/// What the extension received, under the names of its log.
type Log = Arc<Mutex<Vec<(String, Value)>>>;

/// Brings an extension that does what the recorded one did.
#[derive(Debug, Default)]
struct RecordedExtension {
    log: Log,
}

#[derive(Debug)]
struct Started;

impl Attached for Started {
    fn extensions(&self) -> Vec<Arc<dyn Extension>> {
        Vec::new()
    }
}

impl Host for RecordedExtension {
    fn attach(&self, link: SessionLink, _: About) -> Option<Box<dyn Attached>> {
        tokio::spawn(use_everything(link, Arc::clone(&self.log)));
        Some(Box::new(Started))
    }
}

/// Uses every method in the order of the recordings.
async fn use_everything(link: SessionLink, log: Log) {
    let note = |name: &str, value: Value| log.lock().unwrap().push((name.to_owned(), value));
    let ask = async |kind: DialogKind, title: &str, timeout: Option<u64>, cancel: CancellationToken| {
        let is_confirm = matches!(kind, DialogKind::Confirm { .. });
        let timeout = timeout.map(Duration::from_millis);
        match link.ask(Dialog { kind, title: title.to_owned(), timeout }, cancel).await {
            DialogAnswer::Value(text) => json!(text),
            DialogAnswer::Confirmed(confirmed) => json!(confirmed),
            DialogAnswer::Cancelled if is_confirm => json!(false),
            DialogAnswer::Cancelled => json!("<undefined>"),
        }
    };
    let never = CancellationToken::new;
    let select = |options: &[&str]| DialogKind::Select {
        options: options.iter().map(|option| (*option).to_owned()).collect(),
        descriptions: Vec::new(),
    };
    let confirm = |message: &str| DialogKind::Confirm { message: message.to_owned() };
    let input = |placeholder: Option<&str>| DialogKind::Input { placeholder: placeholder.map(Into::into) };
    let editor =
        |prefill: Option<&str>| DialogKind::Editor { prefill: prefill.map(Into::into), is_prompt: false };

    note("select", ask(select(&["a", "b"]), "Pick", None, never()).await);
    note("select2", ask(select(&["a", "b"]), "Pick2", Some(60_000), never()).await);
    note("select-notinlist", ask(select(&["a", "b"]), "Pick3", None, never()).await);
    note("confirm", ask(confirm("really"), "Sure?", None, never()).await);
    note("confirm-cancel", ask(confirm("really"), "Sure2?", None, never()).await);
    note("confirm-wrongkind", ask(confirm("really"), "Sure3?", None, never()).await);
    note("input", ask(input(Some("placeholder text")), "Name", None, never()).await);
    note("input-noplaceholder", ask(input(None), "Name2", None, never()).await);
    note("input-empty", ask(input(None), "Name3", None, never()).await);
    note("editor", ask(editor(Some("line1\nline2")), "Edit", None, never()).await);
    note("editor-noprefill", ask(editor(None), "Edit2", None, never()).await);
    note("timeout-select", ask(select(&["x"]), "T", Some(300), never()).await);
    note("timeout-confirm", ask(confirm("t"), "T", Some(300), never()).await);
    let withdrawn = never();
    let later = withdrawn.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(300)).await;
        later.cancel();
    });
    note("signal-input", ask(input(None), "S", None, withdrawn.clone()).await);
    note("preaborted-select", ask(select(&["x"]), "never shown", None, withdrawn).await);
    let (first, second) =
        tokio::join!(ask(select(&["1"]), "first", None, never()), ask(confirm("m"), "second", None, never()));
    note("two-at-once", json!([first, second]));

    let notify =
        |message: &str, level: Option<NotifyLevel>| Display::Notify { message: message.to_owned(), level };
    let status =
        |text: Option<&str>| Display::Status { key: "k".to_owned(), text: text.map(ToOwned::to_owned) };
    let widget = |lines: Option<&[&str]>, placement: Option<WidgetPlacement>| Display::Widget {
        key: "w".to_owned(),
        lines: lines.map(|lines| lines.iter().map(|line| (*line).to_owned()).collect()),
        placement,
        takes_keys: false,
    };
    for display in [
        notify("plain", None),
        notify("warn", Some(NotifyLevel::Warning)),
        notify("err", Some(NotifyLevel::Error)),
        status(Some("text")),
        status(None),
        widget(Some(&["l1", "l2"]), None),
        widget(Some(&["l"]), Some(WidgetPlacement::BelowEditor)),
        widget(None, None),
        Display::Title { title: "title".to_owned() },
        Display::EditorText { text: "editor text".to_owned() },
        Display::EditorText { text: "pasted".to_owned() },
    ] {
        assert!(link.send(ExtensionInput::Display(display)).await);
    }
}

/// Returns the requests and responses of a recording with their direction, but for those of other extensions.
fn exchange(recording: &str) -> Vec<(bool, Value)> {
    let lines = recording.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let lines = lines.filter(|line| line["dir"] != "exit").map(|line| {
        let text: Value = serde_json::from_str(line["line"].as_str().unwrap()).unwrap();
        (line["dir"] == "out", text)
    });
    let is_wanted = |line: &Value| {
        let name = line["type"].as_str().unwrap_or_default();
        name.starts_with("extension_ui_") && line["widgetKey"] != "autoresearch"
    };
    lines.filter(|(_, line)| is_wanted(line)).collect()
}

/// Replays a recording in a dialect. `is_id` checks the form of the ids.
async fn replay(dialect: &str, (recording, log): (&str, &str), is_id: fn(&str) -> bool) {
    let mut world = World::new();
    let extension = RecordedExtension::default();
    let received = Arc::clone(&extension.log);
    world.hosts.push(Arc::new(extension));
    let dialect = bowline_dialect::find(dialect).unwrap().make();
    let policy = dialect.policy();
    serve(world.connect_with(dialect, policy, Limits::default()), async |client| {
        let mut pipe = client.into_pipe();
        let mut buffer = Vec::new();
        // The ids of the recording with those of this run.
        let mut ids: HashMap<String, String> = HashMap::new();
        for (is_output, mut line) in exchange(recording) {
            if is_output {
                let text = loop {
                    if let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
                        let line: Vec<u8> = buffer.drain(..=end).collect();
                        let text = String::from_utf8(line).unwrap();
                        if text.contains("extension_ui_request") {
                            break text;
                        }
                        continue;
                    }
                    let read = timeout(LIMIT, pipe.receive(&mut buffer)).await;
                    assert!(read.expect("the request comes").unwrap() > 0, "{line}");
                };
                let written: Value = serde_json::from_str(&text).unwrap();
                let id = written["id"].as_str().unwrap();
                assert!(is_id(id), "{id}");
                let before = ids.insert(line["id"].as_str().unwrap().to_owned(), id.to_owned());
                assert_eq!(before, None);
                line["id"] = id.into();
                if let Some(target) = line["targetId"].as_str().map(|target| ids[target].clone()) {
                    line["targetId"] = target.into();
                }
                // Compared as texts, because the order of the members is the same too.
                assert_eq!(text.trim_end(), line.to_string());
            } else {
                if let Some(id) = ids.get(line["id"].as_str().unwrap()) {
                    line["id"] = id.as_str().into();
                }
                pipe.send(format!("{line}\n").as_bytes()).await.unwrap();
            }
        }
        pipe.close();
        while pipe.receive(&mut buffer).await.unwrap() > 0 {}
        assert!(
            !String::from_utf8_lossy(&buffer).contains("extension_ui_"),
            "nothing but the recorded lines"
        );
    })
    .await;

    let received = received.lock().unwrap();
    let recorded: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(received.len(), 16);
    for (name, value) in &*received {
        let line = recorded.iter().find(|line| line["k"] == **name).unwrap();
        assert_eq!(line["v"], *value, "{name}");
    }
}

#[tokio::test]
async fn recorded_dialogs_of_pi_are_replayed_line_by_line() {
    replay("pi", PI, |id| {
        let lengths: Vec<_> = id.split('-').map(str::len).collect();
        lengths == [8, 4, 4, 4, 12] && id.as_bytes()[14] == b'4'
    })
    .await;
}

#[tokio::test]
async fn recorded_dialogs_of_omp_are_replayed_line_by_line() {
    replay("omp", OMP, |id| id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit())).await;
}
