//! What is shown above the line that the user types. One thread prints, so that nobody else waits for the terminal.

use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

use super::style::Palette;
use crate::terminal::columns;

/// A message that has the prompt drawn again and shows nothing: up a row, and down again.
const REPAINT: &str = "\u{1b}[A\n";

/// The columns of a terminal that does not say how many it has.
const USUAL_COLUMNS: usize = 80;

/// The way to the terminal. A clone is another handle to the same.
#[derive(Debug, Clone)]
pub(super) struct Screen {
    pub palette: Palette,
    messages: mpsc::Sender<String>,
    /// How many messages are not printed yet.
    waiting: Arc<AtomicUsize>,
    status: Arc<Status>,
}

/// The row above the line that the user types.
#[derive(Debug, Default)]
pub(super) struct Status {
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
    /// Returns a screen whose messages are printed by `print`, on a thread of its own.
    pub fn new(palette: Palette, mut print: impl FnMut(String) + Send + 'static) -> Self {
        let (messages, received) = mpsc::channel::<String>();
        let waiting = Arc::new(AtomicUsize::new(0));
        let left = Arc::clone(&waiting);
        let status = Arc::new(Status::default());
        let drawn = Arc::clone(&status);
        std::thread::spawn(move || {
            for message in received {
                if message == REPAINT {
                    // What changes from here on needs another one.
                    drawn.is_repaint_due.store(false, Ordering::SeqCst);
                }
                print(message);
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
        columns().unwrap_or(USUAL_COLUMNS)
    }

    /// Waits a little until everything is printed.
    pub fn flush(&self) {
        for _ in 0..50 {
            if self.waiting.load(Ordering::Relaxed) == 0 {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    fn send(&self, text: String) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        // The thread lives as long as the process.
        let _ = self.messages.send(text);
    }
}

/// Prints a message where a terminal can do no more.
pub(super) fn print_plainly(message: &str) {
    if message != REPAINT {
        let mut stdout = io::stdout().lock();
        let _ = stdout.write_all(message.as_bytes()).and_then(|()| stdout.flush());
    }
}
