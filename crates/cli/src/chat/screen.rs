//! What is shown above the line that the user types. One thread prints, so that nobody else waits for the terminal.

use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use super::style::Palette;
use crate::terminal::columns;

/// A message that has the prompt drawn again and shows nothing: up a row, and down again.
const REPAINT: &str = "\u{1b}[A\n";

/// The columns of a terminal that does not say how many it has.
const USUAL_COLUMNS: usize = 80;

/// Returns how many columns the terminal has.
pub(super) fn width() -> usize {
    columns().unwrap_or(USUAL_COLUMNS)
}

/// The way to the terminal. A clone is another handle to the same.
#[derive(Debug, Clone)]
pub(super) struct Screen {
    pub palette: Palette,
    messages: mpsc::Sender<String>,
    /// How many messages are not printed yet.
    waiting: Arc<AtomicUsize>,
    status: Arc<Status>,
}

/// Whether the line editor takes messages. Between two lines they wait: what it has not printed yet comes first.
#[derive(Debug)]
pub(super) struct Gate {
    state: AtomicU8,
    has_changed: (Mutex<()>, Condvar),
}

impl Gate {
    const CLOSED: u8 = 0;
    const OPEN: u8 = 1;
    /// There is no line any more.
    const PAST: u8 = 2;

    fn new(state: u8) -> Self {
        Self { state: AtomicU8::new(state), has_changed: <_>::default() }
    }

    /// Lets messages through; a line is being read. Called often, and from the thread that prints what was let through.
    pub fn open(&self) {
        if self.state.load(Ordering::SeqCst) == Self::CLOSED {
            self.change(Self::OPEN);
        }
    }

    /// Keeps messages back.
    pub fn close(&self) {
        let _ = self.state.compare_exchange(Self::OPEN, Self::CLOSED, Ordering::SeqCst, Ordering::SeqCst);
    }

    fn change(&self, state: u8) {
        self.state.store(state, Ordering::SeqCst);
        drop(self.has_changed.0.lock());
        self.has_changed.1.notify_all();
    }

    /// Waits until messages are let through. Returns whether there is no line any more.
    fn wait(&self) -> bool {
        let mut waiting = self.has_changed.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match self.state.load(Ordering::SeqCst) {
                Self::CLOSED => {
                    waiting = self.has_changed.1.wait(waiting).unwrap_or_else(PoisonError::into_inner);
                }
                state => return state == Self::PAST,
            }
        }
    }
}

/// The row above the line that the user types.
#[derive(Debug)]
pub(super) struct Status {
    pub gate: Gate,
    text: Mutex<String>,
    /// Whether it is left out, because the line under it is about to become a part of what was said.
    is_hidden: AtomicBool,
    /// Whether a message is on its way that has it drawn again.
    is_repaint_due: AtomicBool,
}

impl Status {
    /// Returns the row.
    pub fn row(&self) -> String {
        if self.is_hidden.load(Ordering::Relaxed) { String::new() } else { self.lock().clone() }
    }

    pub fn hide(&self, is_hidden: bool) {
        self.is_hidden.store(is_hidden, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, String> {
        self.text.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Screen {
    /// Returns a screen whose messages are printed by `print`, on a thread of its own, while a line is being read.
    pub fn new(palette: Palette, print: impl FnMut(String) + Send + 'static) -> Self {
        Self::start(palette, Gate::CLOSED, print)
    }

    /// Returns a screen for a terminal that can only print.
    pub fn simple(palette: Palette) -> Self {
        Self::start(palette, Gate::PAST, |_| {})
    }

    fn start(palette: Palette, gate: u8, mut print: impl FnMut(String) + Send + 'static) -> Self {
        let (messages, received) = mpsc::channel::<String>();
        let waiting = Arc::new(AtomicUsize::new(0));
        let left = Arc::clone(&waiting);
        let status = Arc::new(Status {
            gate: Gate::new(gate),
            text: Mutex::default(),
            is_hidden: AtomicBool::default(),
            is_repaint_due: AtomicBool::default(),
        });
        let drawn = Arc::clone(&status);
        std::thread::spawn(move || {
            for message in received {
                let is_past = drawn.gate.wait();
                if message == REPAINT {
                    // What changes from here on needs another one.
                    drawn.is_repaint_due.store(false, Ordering::SeqCst);
                }
                if is_past {
                    print_plainly(&message);
                } else {
                    print(message);
                }
                left.fetch_sub(1, Ordering::Relaxed);
            }
        });
        Self { palette, messages, waiting, status }
    }

    /// Returns the row above the line that the user types.
    pub fn status(&self) -> Arc<Status> {
        Arc::clone(&self.status)
    }

    /// Shows rows, which must have no control characters but those of their looks.
    pub fn show(&self, rows: &[String]) {
        if !rows.is_empty() {
            let mut text = rows.join("\n");
            text.push('\n');
            self.send(text);
        }
    }

    pub fn show_row(&self, row: impl Into<String>) {
        self.show(&[row.into()]);
    }

    /// Replaces the row above the line that the user types.
    pub fn set_status(&self, row: String) {
        let has_changed = {
            let mut text = self.status.lock();
            let has_changed = *text != row;
            *text = row;
            has_changed
        };
        if has_changed && !self.status.is_repaint_due.swap(true, Ordering::SeqCst) {
            self.send(REPAINT.to_owned());
        }
    }

    /// Returns how many columns there are.
    pub fn width(&self) -> usize {
        width()
    }

    /// Waits a little until everything is printed. No line is read after this.
    pub fn end(&self, is_line_read: bool) {
        if !is_line_read {
            self.status.gate.change(Gate::PAST);
        }
        for _ in 0..100 {
            if self.waiting.load(Ordering::Relaxed) == 0 {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        if is_line_read {
            // The line editor has the messages, and does not say when they are printed.
            std::thread::sleep(Duration::from_millis(50));
            self.status.gate.change(Gate::PAST);
        }
    }

    fn send(&self, text: String) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        // The thread lives as long as the process.
        let _ = self.messages.send(text);
    }
}

/// Prints a message without a line below it.
pub(super) fn print_plainly(message: &str) {
    if message != REPAINT {
        let mut stdout = io::stdout().lock();
        let _ = stdout.write_all(message.as_bytes()).and_then(|()| stdout.flush());
    }
}
