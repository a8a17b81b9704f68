//! `bowline demo`: starts bowline in RPC mode as any client would and shows the exchange both ways as it happens.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::failure::Failure;
use crate::terminal::say_exactly;

/// The width of lines when the terminal's is unknown.
const WIDTH: usize = 120;

const INTRODUCTION: &str = "\
bowline is a coding agent for programs: one JSON object per line, on stdin and stdout.
This is a real exchange with it in a temporary folder. The model is a script (scripted/demo), so no key and no
network are needed; the tools are real and really change files.
";

const PROMPT: &str = "Write a small shell script that greets me, run it, then make it greet politely.";

const CLOSING: &str = "
Now with a real model:

  ANTHROPIC_API_KEY=… bowline --mode rpc --model anthropic/claude-sonnet-5

or with any server that speaks the OpenAI or the Anthropic API: describe it in ~/.bowline/models.json (docs/models.md).
Send {\"type\":\"prompt\",\"message\":\"…\"} and read lines until \"agent_settled\". docs/protocol.md has the rest.
";

/// Shows the demo.
pub(crate) fn main() -> Result<(), Failure> {
    let folder = Folder::create()?;
    let paint = Paint::new();
    say_exactly(&paint.dim(INTRODUCTION))?;
    let mut client = Client::start(&folder.0, paint)?;

    client.comment("The client asks how things stand.")?;
    client.send(&json!({"id": 1, "type": "get_state"}))?;
    client.read_until(|record| record["id"] == 1)?;
    client.comment("It gives the agent something to do, and watches until the run is over.")?;
    client.send(&json!({"id": 2, "type": "prompt", "message": PROMPT}))?;
    client.read_until(|record| record["type"] == "agent_settled" || record["success"] == false)?;
    client.comment("It asks what that cost.")?;
    client.send(&json!({"id": 3, "type": "get_session_stats"}))?;
    client.read_until(|record| record["id"] == 3)?;
    client.comment("It closes stdin, and bowline ends.")?;
    client.finish()?;

    let made = fs::read_dir(folder.0.join("work")).map_err(Failure::io("looking at the demo's folder"))?;
    let names: Vec<_> =
        made.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    say_exactly(&format!("\nThe folder now holds: {}\n{CLOSING}", names.join(", ")))
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
    paint: Paint,
    /// The block whose deltas are shown on one line, and how many records that line holds.
    open_block: Option<(Value, usize)>,
}

impl Client {
    #[expect(clippy::disallowed_methods, reason = "the demo starts this very program")]
    fn start(folder: &Path, paint: Paint) -> Result<Self, Failure> {
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
        say_exactly(&format!("{}\n", paint.dim("$ bowline --mode rpc --model scripted/demo")))?;
        Ok(Self {
            child,
            stdin: Some(stdin),
            stdout: BufReader::new(stdout),
            started: Instant::now(),
            paint,
            open_block: None,
        })
    }

    fn comment(&self, text: &str) -> Result<(), Failure> {
        say_exactly(&format!("\n{}\n", self.paint.bold(&format!("# {text}"))))
    }

    fn send(&mut self, command: &Value) -> Result<(), Failure> {
        let line = command.to_string();
        self.show("→", &line, |paint, text| paint.cyan(text))?;
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
            if is_delta(&record) {
                self.show_delta(&record)?;
            } else {
                self.close_block()?;
                self.show("←", &brief(&record), colour_of(&record))?;
            }
            if is_last(&record) {
                return Ok(());
            }
        }
    }

    fn finish(mut self) -> Result<(), Failure> {
        self.stdin = None;
        let status = self.child.wait().map_err(Failure::io("waiting for bowline"))?;
        let code = status.code().map_or_else(|| "a signal".to_owned(), |code| format!("exit code {code}"));
        say_exactly(&format!("{}\n", self.paint.dim(&format!("{:>6} ms  ■ {code}", self.elapsed()))))
    }

    fn show(&self, arrow: &str, line: &str, colour: fn(&Paint, &str) -> String) -> Result<(), Failure> {
        let head = format!("{:>6} ms  {arrow} ", self.elapsed());
        let room = self.paint.width.saturating_sub(head.chars().count()).max(40);
        // The arguments and results of tools are worth reading whole.
        let is_whole = line.starts_with(r#"{"type":"tool_execution_start""#)
            || line.starts_with(r#"{"type":"tool_execution_end""#);
        let text = if line.chars().count() > room && !is_whole {
            line.chars().take(room - 1).chain(['…']).collect()
        } else {
            line.to_owned()
        };
        say_exactly(&format!("{}{}\n", self.paint.dim(&head), colour(&self.paint, &text)))
    }

    /// Appends a delta to the previous one, so that the answer can be read as it arrives.
    fn show_delta(&mut self, record: &Value) -> Result<(), Failure> {
        let step = &record["assistantMessageEvent"];
        let block = json!([step["type"], step["contentIndex"]]);
        match &mut self.open_block {
            Some((open, count)) if *open == block => *count += 1,
            _ => {
                self.close_block()?;
                let kind = step["type"].as_str().unwrap_or_default();
                let head = format!("{:>6} ms  ← ", self.elapsed());
                let opening =
                    format!("{head}{{\"type\":\"message_update\",…\"type\":\"{kind}\",\"delta\":\"");
                say_exactly(&self.paint.dim(&opening))?;
                self.open_block = Some((block, 1));
            }
        }
        let text = step["delta"].to_string();
        say_exactly(text.get(1..text.len().saturating_sub(1)).unwrap_or_default())
    }

    fn close_block(&mut self) -> Result<(), Failure> {
        let Some((_, count)) = self.open_block.take() else { return Ok(()) };
        let records = if count == 1 { "1 record".to_owned() } else { format!("{count} records") };
        say_exactly(&format!("{}\n", self.paint.dim(&format!("\"}}}}  ({records})"))))
    }

    fn elapsed(&self) -> u128 {
        self.started.elapsed().as_millis()
    }
}

fn is_delta(record: &Value) -> bool {
    record["assistantMessageEvent"]["type"].as_str().is_some_and(|kind| kind.ends_with("_delta"))
}

/// Returns a record without the figures that most of them repeat.
fn brief(record: &Value) -> String {
    fn fold(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    if name == "usage" || name == "cost" || name == "tokens" {
                        *value = json!("…");
                    } else {
                        fold(value);
                    }
                }
            }
            Value::Array(values) => values.iter_mut().for_each(fold),
            _ => {}
        }
    }
    let mut record = record.clone();
    // The last command of the demo asks for the figures.
    if record["command"] != "get_session_stats" {
        fold(&mut record);
    }
    record.to_string().replace(":\"…\"", ":{…}")
}

/// Returns the style of a record: deltas are dimmed, answers and tools stand out.
fn colour_of(record: &Value) -> fn(&Paint, &str) -> String {
    match record["type"].as_str().unwrap_or_default() {
        "response" => |paint, text| paint.green(text),
        "message_update" => |paint, text| paint.dim(text),
        kind if kind.starts_with("tool_execution") => |paint, text| paint.yellow(text),
        "agent_start" | "agent_end" | "agent_settled" => |paint, text| paint.bold(text),
        _ => |_, text| text.to_owned(),
    }
}

/// Colours, if stdout is a terminal and they are not disabled.
struct Paint {
    in_colour: bool,
    width: usize,
}

impl Paint {
    #[expect(clippy::disallowed_methods, reason = "the demo runs before the environment is read")]
    fn new() -> Self {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let width = variable("COLUMNS").and_then(|columns| columns.parse().ok()).unwrap_or(WIDTH);
        Self { in_colour: std::io::stdout().is_terminal() && variable("NO_COLOR").is_none(), width }
    }

    fn style(&self, code: &str, text: &str) -> String {
        if !self.in_colour {
            return text.to_owned();
        }
        // Line by line, so that pagers show it correctly.
        text.split_inclusive('\n').fold(String::new(), |mut painted, line| {
            let bare = line.trim_end_matches('\n');
            let _ = write!(painted, "\x1b[{code}m{bare}\x1b[0m{}", &line[bare.len()..]);
            painted
        })
    }

    fn bold(&self, text: &str) -> String {
        self.style("1", text)
    }

    fn dim(&self, text: &str) -> String {
        self.style("2", text)
    }

    fn green(&self, text: &str) -> String {
        self.style("32", text)
    }

    fn yellow(&self, text: &str) -> String {
        self.style("33", text)
    }

    fn cyan(&self, text: &str) -> String {
        self.style("36", text)
    }
}
