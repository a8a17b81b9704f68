//! Lines in, records out: the framing of bowline's stdin and stdout.
//!
//! This crate moves bytes and knows no message. [`Lines`] splits the input into lines, [`Outbox`] queues and writes
//! records, [`take_over`] makes the process's stdin and stdout reachable only through [`Input`] and [`Output`], and
//! [`memory::pair`] gives tests the same two types without a process.
//!
//! The main loop reads into one reused buffer and writes between its other work:
//!
//! ```no_run
//! # fn answer(_: bowline_wire::Line, _: &mut bowline_wire::Outbox) {}
//! # async fn main_loop() -> std::io::Result<()> {
//! use bowline_wire::{DEFAULT_LINE_LIMIT, DEFAULT_OUTBOX_BOUND, Lines, Outbox, take_over};
//!
//! let (mut input, mut output) = take_over()?;
//! let (mut lines, mut outbox) = (Lines::new(DEFAULT_LINE_LIMIT), Outbox::new(DEFAULT_OUTBOX_BOUND));
//! let mut buffer = Vec::new();
//! let mut is_open = true;
//! while is_open || !outbox.is_empty() {
//!     tokio::select! {
//!         result = outbox.drain(&mut output), if !outbox.is_empty() => result?,
//!         count = input.read(&mut buffer), if is_open && !outbox.is_far_over_bound() => {
//!             is_open = count? > 0;
//!             lines.push(&buffer);
//!             buffer.clear();
//!             while let Some(line) = lines.next_line() {
//!                 answer(line, &mut outbox);
//!             }
//!             if !is_open && let Some(line) = lines.finish() {
//!                 answer(line, &mut outbox);
//!             }
//!         }
//!     }
//!     outbox.flush_now(&mut output)?;
//! }
//! output.finish().await
//! # }
//! ```

mod lines;
pub mod memory;
mod outbox;
mod pieces;
#[cfg_attr(unix, path = "polled_unix.rs")]
#[cfg_attr(not(unix), path = "polled_windows.rs")]
mod polled;
mod stand_in;
mod stdio;
#[cfg_attr(unix, path = "take_over_unix.rs")]
#[cfg_attr(not(unix), path = "take_over_windows.rs")]
mod take_over;

pub use lines::{DEFAULT_LINE_LIMIT, Line, Lines};
pub use outbox::{DEFAULT_OUTBOX_BOUND, Delta, Outbox, Record};
pub use pieces::{Pieces, Shared};
pub use stdio::{Input, Output};
pub use take_over::take_over;

/// A buffer larger than this is released once it is empty: one long line or one slow reader must not cost memory for the
/// rest of the session.
const KEPT_CAPACITY: usize = 1024 * 1024;
