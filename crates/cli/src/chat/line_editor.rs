//! Reading the user's lines, on a thread of its own: the line editor waits for keys.

use std::borrow::Cow;
use std::io::BufRead as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use rustyline::completion::{Completer, Pair};
use rustyline::config::BellStyle;
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::{History as _, MemHistory};
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{ColorMode, CompletionType, Config, Context, Editor, ExternalPrinter as _, Helper};
use tokio::sync::mpsc::UnboundedSender;
use unicode_width::UnicodeWidthStr as _;

use super::completion::Known;
use super::history::{HistoryFile, MOST_LINES};
use super::screen::{Screen, Status, print_plainly, width};
use super::style::{Palette, Style};
use crate::failure::Failure;
use crate::terminal::plain;

/// What a prompt looks like: the row above it, and what the line begins with.
const PROMPT: &str = "\n› ";
const PLAIN_PROMPT: &str = "> ";

/// What the user has done.
#[derive(Debug)]
pub(super) enum Typed {
    Line(String),
    /// Ctrl-C. `was_empty` says whether there was nothing on the line.
    Interrupted {
        was_empty: bool,
    },
    /// Ctrl-D on an empty line, or the end of the terminal.
    End,
}

/// Asks for the next line, which begins with what is sent.
pub(super) type Next = mpsc::Sender<String>;

/// What completes lines.
pub(super) type SharedKnown = Arc<Mutex<Known>>;

type LineReader = Editor<Assistance, MemHistory>;

/// Starts the editor, and returns what it prints above the line. `is_simple` says that the terminal knows no escape sequences.
pub(super) fn start(
    palette: Palette,
    is_simple: bool,
    known: SharedKnown,
    history: HistoryFile,
    typed: UnboundedSender<Typed>,
) -> Result<(Screen, Next), Failure> {
    let (next, awaited) = mpsc::channel();
    if is_simple {
        let screen = Screen::simple(palette);
        std::thread::spawn(move || read_simply(&awaited, &typed));
        return Ok((screen, next));
    }
    let failed = |error: ReadlineError| Failure::Usage(format!("the terminal cannot be used: {error}"));
    let config = Config::builder()
        // The looks of the prompt are up to the palette, and the row above it is drawn as one.
        .color_mode(ColorMode::Forced)
        .completion_type(CompletionType::List)
        .bell_style(BellStyle::None)
        .history_ignore_space(true)
        .max_history_size(MOST_LINES)
        .map_err(failed)?
        .build();
    let lines = MemHistory::with_config(&config);
    let mut editor: LineReader = Editor::with_history(config, lines).map_err(failed)?;
    let mut printer = editor.create_external_printer().map_err(failed)?;
    let screen = Screen::new(palette, move |message| {
        // The terminal is gone if this fails, and then the editor says so.
        let _ = printer.print(message);
    });
    for line in history.read() {
        let _ = editor.history_mut().add(&line);
    }
    let status = screen.status();
    editor.set_helper(Some(Assistance {
        palette,
        known,
        status,
        line: Mutex::default(),
        listed: AtomicUsize::default(),
    }));
    std::thread::spawn(move || read_lines(editor, &history, &awaited, &typed));
    Ok((screen, next))
}

fn read_lines(
    mut editor: LineReader,
    history: &HistoryFile,
    awaited: &mpsc::Receiver<String>,
    typed: &UnboundedSender<Typed>,
) {
    while let Ok(initial) = awaited.recv() {
        if let Some(assistance) = editor.helper() {
            assistance.status.hide(false);
            assistance.set_line(&initial);
        }
        let read = editor.readline_with_initial(PROMPT, (&plain(&initial), ""));
        if let Some(assistance) = editor.helper() {
            assistance.status.gate.close();
        }
        let event = match read {
            Ok(line) => {
                // A backslash at the end of a line continues it.
                let line = line.replace("\\\n", "\n");
                if !line.trim().is_empty() && editor.add_history_entry(line.as_str()).unwrap_or(false) {
                    history.add(&line);
                }
                Typed::Line(line)
            }
            Err(ReadlineError::Interrupted) => {
                let line = editor.helper().map(Assistance::line).unwrap_or_default();
                print_plainly(&without_status(&line, width()));
                Typed::Interrupted { was_empty: line.is_empty() }
            }
            Err(_) => Typed::End,
        };
        if typed.send(event).is_err() {
            return;
        }
    }
}

/// Returns what removes the row above a line that was given up, and the line too if there is nothing on it. The cursor is on
/// the row below them.
fn without_status(line: &str, columns: usize) -> String {
    if line.is_empty() {
        return "\u{1b}[2A\r\u{1b}[J".to_owned();
    }
    let rows: usize = format!("› {line}").split('\n').map(|row| row.width() / columns.max(1) + 1).sum();
    format!("\u{1b}[{0}A\r\u{1b}[K\u{1b}[{0}B", rows + 1)
}

/// Reads lines from a terminal that can do nothing else.
fn read_simply(awaited: &mpsc::Receiver<String>, typed: &UnboundedSender<Typed>) {
    while let Ok(initial) = awaited.recv() {
        if !initial.is_empty() {
            print_plainly(&format!("(to edit: {})\n", plain(&initial)));
        }
        print_plainly(PLAIN_PROMPT);
        let mut line = String::new();
        let event = match std::io::stdin().lock().read_line(&mut line) {
            Ok(1..) => Typed::Line(line.trim_end_matches(['\n', '\r']).to_owned()),
            _ => Typed::End,
        };
        if typed.send(event).is_err() {
            return;
        }
    }
}

/// What helps with typing.
struct Assistance {
    palette: Palette,
    known: SharedKnown,
    status: Arc<Status>,
    /// The line as it was last seen.
    line: Mutex<String>,
    /// How many candidates are listed next.
    listed: AtomicUsize,
}

impl Assistance {
    fn line(&self) -> String {
        self.line.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_line(&self, line: &str) {
        line.clone_into(&mut self.line.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Helper for Assistance {}

impl Completer for Assistance {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (start, found) = known.complete(line, position);
        self.listed.store(found.len(), Ordering::Relaxed);
        let pair = |text: String| Pair {
            display: plain(&text).into_owned(),
            replacement: plain(&text).into_owned(),
        };
        Ok((start, found.into_iter().map(pair).collect()))
    }
}

impl Hinter for Assistance {
    type Hint = String;

    /// Gives no hint, but sees every change of the line.
    fn hint(&self, line: &str, _: usize, _: &Context<'_>) -> Option<String> {
        self.set_line(line);
        None
    }
}

impl Highlighter for Assistance {
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        self.status.gate.open();
        match prompt.split_once('\n') {
            Some((_, mark)) => {
                let mark = self.palette.paint(Style::Bold, mark);
                Cow::Owned(format!("{}\n{mark}", self.status.row()))
            }
            None => Cow::Borrowed(prompt),
        }
    }

    /// Ends a list with an empty row: the line editor removes its last one, where the row above the line would be.
    fn highlight_candidate<'c>(&self, candidate: &'c str, _: CompletionType) -> Cow<'c, str> {
        match self.listed.fetch_sub(1, Ordering::Relaxed) {
            1 => Cow::Owned(format!("{candidate}\n")),
            _ => Cow::Borrowed(candidate),
        }
    }

    /// Has the line drawn once more when it is accepted, without the row above it: it is a part of what was said then.
    fn highlight_char(&self, _: &str, _: usize, kind: CmdKind) -> bool {
        if kind == CmdKind::ForcedRefresh {
            self.status.hide(true);
            self.status.gate.close();
        }
        true
    }
}

impl Validator for Assistance {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let goes_on = context.input().ends_with('\\') && !context.input().ends_with("\\\\");
        Ok(if goes_on { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}
