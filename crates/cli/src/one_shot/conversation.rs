//! The client of the connection in memory: sends messages one after the other and takes the records.

use std::io;
use std::time::Duration;

use bowline_server::Interruption;
use bowline_wire::memory::Client;
use bowline_wire::{DEFAULT_OUTBOX_BOUND, Line, Lines, Outbox, Output, Record};
use serde::Deserialize;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::{Instant, sleep_until};

use super::format::Format;
use super::summary::{Reported, Summary};
use super::{Opening, events};
use crate::serving::Interruptions;
use crate::terminal::{note, plain};

/// The id of every command that runs a message.
pub(super) const PROMPT: &str = "prompt";

/// The id and the command that asks what the session does.
const STATE: &str = r#"{"id":"state","type":"get_state"}"#;
const STATE_ID: &str = "state";

/// The id and the command that is answered when extensions have registered.
const COMMANDS: &str = r#"{"id":"commands","type":"get_commands"}"#;
const COMMANDS_ID: &str = "commands";

/// How the report of a flag begins that no extension knows, after which extension it names.
const UNKNOWN_FLAG: (&str, &str) = ("<runtime>", "unknown option --");

/// How long a run may take to end once it is aborted. A hook of an extension may never finish.
const LONGEST_ABORT: Duration = Duration::from_secs(2);

/// What a conversation is connected to.
pub(super) struct Ends {
    pub client: Client,
    pub signals: Interruptions,
    /// Where signals are passed on to.
    pub interruptions: UnboundedSender<Interruption>,
    pub output: Output,
}

/// Who reads what is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Audience {
    /// Whether errors are expected to look like pi's.
    pub is_pis: bool,
    /// Whether stdout is a terminal.
    pub has_terminal: bool,
}

/// The conversation with an agent.
pub(super) struct Conversation {
    format: &'static Format,
    audience: Audience,
    ends: Ends,
    /// What is not written yet.
    outbox: Outbox,
    received: Vec<u8>,
    lines: Lines,
    summary: Summary,
    header: String,
    /// Whether the run that was last waited for is over.
    has_settled: bool,
    /// Whether the agent works on a run.
    is_running: bool,
    /// The exit code that a signal asked for.
    interrupted: Option<u8>,
    /// When a run that was aborted is not waited for any longer.
    deadline: Option<Instant>,
    /// Whether the agent has ended.
    is_over: bool,
    /// Whether something kept a message from running.
    is_refused: bool,
    /// Whether nobody reads the output any more.
    is_unwritable: bool,
}

/// What every record has.
#[derive(Deserialize)]
struct Head<'line> {
    r#type: std::borrow::Cow<'line, str>,
}

/// The answer to a command.
#[derive(Deserialize)]
struct Response {
    id: String,
    success: bool,
    #[serde(default)]
    error: String,
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    data: Data,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Data {
    disposition: String,
    is_streaming: bool,
}

/// The failure of an extension.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExtensionError {
    extension_path: String,
    error: String,
}

impl Conversation {
    pub fn new(format: &'static Format, opening: Opening, audience: Audience, ends: Ends) -> Self {
        Self {
            format,
            audience,
            ends,
            outbox: Outbox::new(DEFAULT_OUTBOX_BOUND),
            received: Vec::new(),
            lines: Lines::new(usize::MAX),
            summary: Summary::new(opening.id, opening.file),
            header: opening.header,
            has_settled: false,
            is_running: false,
            interrupted: None,
            deadline: None,
            is_over: false,
            is_refused: false,
            is_unwritable: false,
        }
    }

    /// Has the messages run in order, ends the agent, and returns the exit code.
    pub async fn hold(mut self, prompts: Vec<String>) -> u8 {
        if self.format.streams {
            let header = std::mem::take(&mut self.header);
            self.write(header);
        }
        // No model is called before it is known whether somebody has the unknown flags.
        self.ask(COMMANDS, COMMANDS_ID).await;
        for prompt in prompts {
            if !self.may_go_on() || !self.run(&prompt).await {
                break;
            }
        }
        self.conclude();
        self.ends.client.close();
        while self.next_line().await.is_some() {}
        self.finish().await
    }

    /// Has a message run. Returns whether the next one may follow.
    async fn run(&mut self, prompt: &str) -> bool {
        self.has_settled = false;
        let Some(answer) = self.ask(prompt, PROMPT).await else { return false };
        if !answer.success {
            self.is_refused = true;
            self.summary.fail(answer.error, answer.code.as_deref());
            return false;
        }
        if answer.data.disposition != "handled" {
            self.settle().await;
        }
        // Extensions may have started another run.
        while self.may_go_on() && self.is_running().await {
            self.settle().await;
        }
        self.may_go_on()
    }

    fn may_go_on(&self) -> bool {
        !self.is_over && self.interrupted.is_none() && !self.is_refused
    }

    /// Waits until a run is over.
    async fn settle(&mut self) {
        while !self.has_settled && !self.is_refused {
            let Some(line) = self.next_line().await else { return };
            self.take(line);
        }
    }

    async fn is_running(&mut self) -> bool {
        self.has_settled = false;
        self.ask(STATE, STATE_ID).await.is_some_and(|answer| answer.data.is_streaming && !self.has_settled)
    }

    /// Sends a command and returns the answer to it; none if the agent has ended or must not go on.
    async fn ask(&mut self, command: &str, id: &str) -> Option<Response> {
        // The pipe has room for every command.
        self.ends.client.send(format!("{command}\n").as_bytes()).await.ok()?;
        while !self.is_refused {
            let line = self.next_line().await?;
            if let Some(response) = self.take(line)
                && response.id == id
            {
                return Some(response);
            }
        }
        None
    }

    /// Takes a record: passes an event on, and returns the answer to a command.
    fn take(&mut self, line: String) -> Option<Response> {
        let head: Head<'_> = serde_json::from_str(&line).ok()?;
        match &*head.r#type {
            "response" => return serde_json::from_str(&line).ok(),
            "extension_error" => self.extension_failed(&line),
            "message_end" => {
                if let Some(message) = serde_json::from_str::<Reported>(&line).ok().and_then(|it| it.message)
                {
                    self.summary.message_ended(message);
                }
            }
            "agent_start" => self.is_running = true,
            "agent_settled" => {
                self.has_settled = true;
                self.is_running = false;
                if let Ok(reported) = serde_json::from_str(&line) {
                    self.summary.run_ended(reported);
                }
            }
            _ => {}
        }
        let is_event = events::is_event(&head.r#type);
        if self.format.streams && is_event {
            self.write(line);
        }
        None
    }

    fn extension_failed(&mut self, line: &str) {
        let Ok(ExtensionError { extension_path, error }) = serde_json::from_str(line) else { return };
        match error.strip_prefix(UNKNOWN_FLAG.1).and_then(|rest| rest.split(':').next()) {
            Some(name) if extension_path == UNKNOWN_FLAG.0 => {
                self.is_refused = true;
                let is_pi = self.audience.is_pis;
                let prefix = if is_pi { "Error: " } else { "" };
                self.summary.fail(format!("{prefix}{}", super::unknown_option(name, is_pi)), None);
            }
            _ => note(format_args!("Extension error ({extension_path}): {error}")),
        }
    }

    /// Writes what follows the events, and the error if there is one.
    fn conclude(&mut self) {
        if self.interrupted.is_some() {
            self.summary.fail("interrupted", Some("aborted"));
        }
        let ending = (self.format.ending)(&self.summary);
        let ending = if self.audience.has_terminal { plain(&ending).into_owned() } else { ending };
        if let Some(ending) = ending.strip_suffix('\n') {
            self.write(ending);
        }
        let is_silent = self.format.tolerates_failures && !self.is_refused && self.interrupted.is_none();
        if let Some(failure) = self.summary.failure().filter(|_| !is_silent && !self.is_unwritable) {
            let prefix = if self.audience.is_pis { "" } else { "bowline: " };
            note(format_args!("{prefix}{failure}"));
        }
    }

    /// Writes what is due and returns the exit code.
    async fn finish(mut self) -> u8 {
        while !self.outbox.is_empty() && !self.is_unwritable {
            if let Err(error) = self.outbox.drain(&mut self.ends.output).await {
                self.give_up(&error);
            }
        }
        if !self.is_unwritable
            && let Err(error) = self.ends.output.finish().await
        {
            self.give_up(&error);
        }
        let has_failed =
            self.is_refused || (self.summary.failure().is_some() && !self.format.tolerates_failures);
        self.interrupted.unwrap_or(u8::from(has_failed))
    }

    fn write(&mut self, line: impl Into<Vec<u8>>) {
        if !self.is_unwritable {
            self.outbox.push(Record::Plain(line.into()));
        }
    }

    /// Returns the next record of the agent; none when it has ended. Meanwhile signals are passed on and what is due is
    /// written.
    async fn next_line(&mut self) -> Option<String> {
        loop {
            if let Some(Line::Text(line)) = self.lines.next_line() {
                return Some(line);
            }
            if self.is_over {
                return None;
            }
            let Ends { client, signals, interruptions, output } = &mut self.ends;
            tokio::select! {
                received = client.receive(&mut self.received), if !self.outbox.is_over_bound() => {
                    self.is_over = matches!(received, Ok(0) | Err(_));
                    self.lines.push(&self.received);
                    self.received.clear();
                }
                Some(interruption) = signals.recv() => self.interrupt(interruption),
                () = sleep_until(self.deadline.unwrap_or_else(Instant::now)), if self.deadline.is_some() => {
                    self.deadline = None;
                    let _ = interruptions.send(Interruption::Stop(self.interrupted.unwrap_or(1)));
                }
                written = write(&mut self.outbox, output), if !self.is_unwritable => {
                    if let Err(error) = written {
                        self.give_up(&error);
                    }
                }
            }
        }
    }

    /// Passes a signal on. Only a run is aborted and waited for: an extension may never finish its command.
    fn interrupt(&mut self, interruption: Interruption) {
        let (Interruption::Stop(code) | Interruption::Abort { exit_code: code }) = interruption;
        let is_first = self.interrupted.replace(code).is_none();
        let passed_on = if is_first && self.is_running {
            self.deadline = Some(Instant::now() + LONGEST_ABORT);
            interruption
        } else {
            Interruption::Stop(code)
        };
        let _ = self.ends.interruptions.send(passed_on);
    }

    /// Ends everything because nobody reads the output any more.
    fn give_up(&mut self, error: &io::Error) {
        note(format_args!("bowline: writing to stdout: {error}"));
        self.is_unwritable = true;
        self.outbox = Outbox::new(DEFAULT_OUTBOX_BOUND);
        self.interrupted = self.interrupted.or(Some(1));
        self.ends.client.close();
    }
}

/// Writes more of what is due as soon as there is room. When nothing is due, waits for the reader's end.
async fn write(outbox: &mut Outbox, output: &mut Output) -> io::Result<()> {
    if outbox.is_empty() { output.reader_gone().await } else { outbox.drain(output).await }
}
