//! `bowline demo`: starts bowline in RPC mode as any client would and shows the exchange both ways as it happens.

mod excerpt;
mod screen;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::failure::Failure;
use screen::{Screen, Style};

const INTRODUCTION: &str = "bowline is a coding agent for programs: one JSON object per line, on stdin and stdout. This \
    is a real exchange with it in a temporary folder. The model is a script (scripted/demo), so no key and no network \
    are needed; the tools are real and really change files. Times are on the left, … stands for fields that are left \
    out here, and the records of one block of an answer are shown as one.";

const PROMPT: &str = "Write a small shell script that greets me, and run it.";
const STEERING: &str = "Make it greet politely, please.";
const ABORTED_PROMPT: &str = "Now explain each line at length.";

/// The width of the time and the arrow before each record.
const MARGIN: usize = 12;

/// Shows the demo.
pub(crate) fn main() -> Result<(), Failure> {
    let folder = Folder::create()?;
    let mut screen = Screen::new();
    screen.paragraph(Style::Dim, INTRODUCTION)?;
    let mut client = Client::start(&folder.0, screen)?;

    client.comment("The client asks how things stand.")?;
    client.send(&json!({"id": 1, "type": "get_state"}))?;
    client.read_until(|record| record["id"] == 1)?;

    client.comment("It gives the agent something to do.")?;
    client.send(&json!({"id": 2, "type": "prompt", "message": PROMPT}))?;
    client.read_until(|record| {
        is_over(record) || record["type"] == "tool_execution_end" && record["toolName"] == "read"
    })?;
    client.comment(
        "While the agent works, the client steers it: the message is read before the next model call.",
    )?;
    client.send(&json!({"id": 3, "type": "steer", "message": STEERING}))?;
    client.read_until(is_over)?;

    client.comment("The next prompt is aborted in the middle of the answer.")?;
    client.send(&json!({"id": 4, "type": "prompt", "message": ABORTED_PROMPT}))?;
    client.read_until(|record| is_over(record) || is_delta(record))?;
    client.send(&json!({"id": 5, "type": "abort"}))?;
    client.read_until(|record| record["id"] == 5)?;

    client.comment("The client asks what all that cost.")?;
    client.send(&json!({"id": 6, "type": "get_session_stats"}))?;
    client.read_until(|record| record["id"] == 6)?;
    client.comment("It closes stdin, and bowline ends.")?;
    client.finish()?;

    let made = fs::read_dir(folder.0.join("work")).map_err(Failure::io("looking at the demo's folder"))?;
    let names: Vec<_> =
        made.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    close(&mut client.screen, &names)
}

/// Tells how to go on from here.
fn close(screen: &mut Screen, made: &[String]) -> Result<(), Failure> {
    screen.end_line()?;
    screen.paragraph(
        Style::Plain,
        &format!("The folder held {} at the end. Now with a real model:", made.join(", ")),
    )?;
    screen.end_line()?;
    screen.line(Style::Cyan, "  export ANTHROPIC_API_KEY=…")?;
    screen.line(Style::Cyan, "  bowline --mode rpc --model anthropic/claude-sonnet-5")?;
    screen.end_line()?;
    screen.paragraph(
        Style::Plain,
        "or with any server that speaks the OpenAI or the Anthropic API: describe it in ~/.bowline/models.json \
         (docs/models.md). Send {\"type\":\"prompt\",\"message\":\"…\"} and read lines until \"agent_settled\". \
         docs/protocol.md has the rest.",
    )
}

/// A temporary folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    #[expect(clippy::disallowed_methods, reason = "the demo runs before the environment is read")]
    fn create() -> Result<Self, Failure> {
        let folder = std::env::temp_dir().join(format!("bowline-demo-{}", std::process::id()));
        fs::create_dir_all(folder.join("work")).map_err(Failure::io("creating a temporary folder"))?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A client of bowline that shows the exchange.
struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    started: Instant,
    screen: Screen,
    /// The block of an answer that is shown on one line, and how many records that line holds.
    open_block: Option<(Value, usize)>,
}

impl Client {
    #[expect(clippy::disallowed_methods, reason = "the demo starts this very program")]
    fn start(folder: &Path, mut screen: Screen) -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(Failure::io("finding bowline itself"))?;
        let mut child = Command::new(program)
            .args(["--mode", "rpc", "--model", "scripted/demo", "--no-context-files"])
            .current_dir(folder.join("work"))
            .env("BOWLINE_HOME", folder.join("home"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(Failure::io("starting bowline"))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::Usage("the pipes to bowline could not be opened".to_owned()));
        };
        screen.end_line()?;
        screen.line(Style::Dim, "$ bowline --mode rpc --model scripted/demo")?;
        Ok(Self {
            child,
            stdin: Some(stdin),
            stdout: BufReader::new(stdout),
            started: Instant::now(),
            screen,
            open_block: None,
        })
    }

    fn comment(&mut self, text: &str) -> Result<(), Failure> {
        self.close_block()?;
        self.screen.end_line()?;
        self.screen.paragraph(Style::Bold, &format!("# {text}"))
    }

    fn send(&mut self, command: &Value) -> Result<(), Failure> {
        let line = command.to_string();
        self.close_block()?;
        self.show('→', &line, Style::Cyan)?;
        if let Some(stdin) = &mut self.stdin {
            stdin.write_all(format!("{line}\n").as_bytes()).map_err(Failure::io("writing to bowline"))?;
        }
        Ok(())
    }

    /// Shows records up to the first one that matches.
    fn read_until(&mut self, is_last: impl Fn(&Value) -> bool) -> Result<(), Failure> {
        loop {
            let mut line = String::new();
            let length = self.stdout.read_line(&mut line).map_err(Failure::io("reading from bowline"))?;
            if length == 0 {
                return Err(Failure::Usage("bowline ended before the demo was over".to_owned()));
            }
            let record: Value = serde_json::from_str(&line)
                .map_err(|error| Failure::Usage(format!("bowline wrote a line that is not JSON: {error}")))?;
            if record["type"] == "message_update" {
                self.show_step(&record)?;
            } else {
                self.close_block()?;
                self.show('←', &excerpt::of(&record), style_of(&record))?;
            }
            if is_last(&record) {
                return Ok(());
            }
        }
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.stdin = None;
        let status = self.child.wait().map_err(Failure::io("waiting for bowline"))?;
        let code = status.code().map_or_else(|| "a signal".to_owned(), |code| format!("exit code {code}"));
        self.show('■', &code, Style::Dim)
    }

    fn show(&mut self, arrow: char, text: &str, style: Style) -> Result<(), Failure> {
        self.begin_line(arrow)?;
        self.screen.write(style, text, MARGIN)?;
        self.screen.end_line()
    }

    fn begin_line(&mut self, arrow: char) -> Result<(), Failure> {
        let elapsed = self.started.elapsed().as_millis();
        self.screen.write(Style::Dim, &format!("{elapsed:>6} ms {arrow} "), 0)
    }

    /// Shows a step of an answer. The deltas of a block are joined, so that the answer can be read as it arrives; where
    /// the block starts and ends needs no lines of their own.
    fn show_step(&mut self, record: &Value) -> Result<(), Failure> {
        let step = &record["assistantMessageEvent"];
        let block = &step["contentIndex"];
        match &mut self.open_block {
            Some((open, count)) if open == block => *count += 1,
            _ => {
                self.close_block()?;
                self.begin_line('←')?;
                let kind = step["type"].as_str().unwrap_or_default();
                let kind = kind.split('_').next().unwrap_or_default();
                let opening =
                    format!("{{\"type\":\"message_update\",…{{\"type\":\"{kind}_delta\",\"delta\":\"");
                self.screen.write(Style::Dim, &opening, MARGIN)?;
                self.open_block = Some((block.clone(), 1));
            }
        }
        let text = step["delta"].as_str().map(|delta| Value::from(delta).to_string()).unwrap_or_default();
        let text = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
        self.screen.write(Style::Plain, text, MARGIN)
    }

    fn close_block(&mut self) -> Result<(), Failure> {
        let Some((_, count)) = self.open_block.take() else { return Ok(()) };
        let records = if count == 1 { "1 record".to_owned() } else { format!("{count} records") };
        self.screen.write(Style::Dim, &format!("\"}}}} ({records})"), MARGIN)?;
        self.screen.end_line()
    }
}

impl Drop for Client {
    /// Ends bowline if the demo was left early. Nothing is to be done about a failure.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Tells whether a run is over, or did not start.
fn is_over(record: &Value) -> bool {
    record["type"] == "agent_settled" || record["success"] == false
}

fn is_delta(record: &Value) -> bool {
    record["assistantMessageEvent"]["type"].as_str().is_some_and(|kind| kind.ends_with("_delta"))
}

/// Returns the style of a record: answers and tools stand out.
fn style_of(record: &Value) -> Style {
    match record["type"].as_str().unwrap_or_default() {
        "response" => Style::Green,
        kind if kind.starts_with("tool_execution") => Style::Yellow,
        "agent_start" | "agent_end" | "agent_settled" | "queue_update" => Style::Bold,
        _ => Style::Plain,
    }
}
