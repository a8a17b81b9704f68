//! `bowline chat`: a small line interface. It is a client like any other, of this same program as a child.
//!
//! Three threads take part: this one talks with the agent, one reads the user's lines, one prints. So neither a slow
//! terminal nor a user who thinks keeps the agent waiting.

mod activity;
mod commands;
mod completion;
mod emphasis;
mod flow;
mod history;
mod line_editor;
mod markdown;
mod questions;
mod screen;
mod style;
mod table;
mod talk;
#[cfg_attr(unix, path = "terminal_mode_unix.rs")]
#[cfg_attr(windows, path = "terminal_mode_windows.rs")]
mod terminal_mode;
mod tool_rows;

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use bowline_client::{Client, Decision, DialogAnswer};
use tokio::sync::{mpsc, oneshot};

use crate::arguments::Arguments;
use crate::environment::{self, Environment};
use crate::failure::Failure;
use crate::terminal::plain_line;
use completion::Known;
use history::HistoryFile;
use questions::Question;
use screen::Screen;
use style::{Palette, Style};
use talk::{End, Parts};

/// What `bowline help chat` says.
pub(crate) const USAGE: &str = "\
bowline chat [MESSAGE]

Talks with the agent on this terminal, line by line; MESSAGE is the first line.

  Enter    sends the line; while the agent works, the line steers it
  Ctrl-C   stops the run; twice on an empty line, it ends the conversation
  Ctrl-D   ends the conversation
  Tab      completes commands, models and files (@FILE adds a file)
  /help    lists the commands: /model, /compact, /fork, /tree, /undo, …

It starts bowline as a child, with these of the flags of --mode rpc.
";

/// Why there is no conversation without a terminal.
const NO_TERMINAL: &str = "bowline chat needs a terminal for stdin and stdout; for one answer: bowline -p \"message\"; to serve a client: bowline --mode rpc";

/// Talks with the user until they end it.
pub(crate) fn main(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(Failure::Usage(NO_TERMINAL.to_owned()));
    }
    let environment = Arc::new(Environment::read(arguments.working_directory.as_deref())?);
    let is_simple = environment.variable("TERM").is_none_or(|kind| kind == "dumb") && cfg!(unix);
    let palette = Palette { is_styled: !is_simple && environment.variable("NO_COLOR").is_none() };
    let _ = bowline_files::create_private_folder(&environment.home);
    let known = Known {
        directory: environment.working_directory.clone(),
        user_home: environment.user_home.clone(),
        ..Known::default()
    };
    let known = Arc::new(Mutex::new(known));
    // A simple terminal edits the lines itself, so it stays as it is.
    let _prepared = match is_simple {
        true => None,
        false => Some(terminal_mode::Prepared::start().map_err(Failure::io("preparing the terminal"))?),
    };
    let (typed, received) = mpsc::unbounded_channel();
    let history = HistoryFile::new(&environment.home);
    let (screen, next) = line_editor::start(palette, is_simple, Arc::clone(&known), history, typed)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::io("starting the runtime"))?;
    let first = Some(arguments.words.join(" ")).filter(|words| !words.is_empty());
    let talked = runtime.block_on(async {
        let (questions, asked) = mpsc::unbounded_channel();
        let client = start_agent(arguments, &screen, questions).await.inspect_err(|_| screen.end(false))?;
        let parts = Parts { client, screen, next, typed: received, asked, known, environment };
        Ok(talk::talk(parts, first).await)
    });
    runtime.shutdown_background();
    talked.map(|end| if end == End::OfAgent { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Starts this program as the agent, with the flags of the user.
async fn start_agent(
    arguments: &Arguments,
    screen: &Screen,
    questions: mpsc::UnboundedSender<Question>,
) -> Result<Client, Failure> {
    let program = environment::program().map_err(Failure::io("finding bowline itself"))?;
    let mut builder = Client::builder().program(program).argument("--dialect=pi");
    // Warnings and the logs of extensions.
    let shown_on = screen.clone();
    builder = builder.on_stderr(move |line| {
        let row = shown_on.palette.paint(Style::Faint, &plain_line(line));
        shown_on.show_row(row);
    });
    for argument in &arguments.passed_on {
        builder = builder.argument(argument);
    }
    let dialogs = questions.clone();
    let builder = builder
        .on_dialog(move |request| {
            let (reply, answer) = oneshot::channel();
            let is_asked = dialogs.send(Question::Dialog { request: Box::new(request), reply }).is_ok();
            async move {
                // Without a user, the answer is no.
                if is_asked {
                    answer.await.unwrap_or(DialogAnswer::Cancelled)
                } else {
                    DialogAnswer::Cancelled
                }
            }
        })
        .on_approval(move |request| {
            let (reply, decision) = oneshot::channel();
            let is_asked = questions.send(Question::Approval { request: Box::new(request), reply }).is_ok();
            async move {
                if is_asked { decision.await.unwrap_or(Decision::Deny(None)) } else { Decision::Deny(None) }
            }
        });
    builder.start().await.map_err(|error| Failure::Usage(error.to_string()))
}
