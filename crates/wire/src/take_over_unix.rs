//! Takes over stdin and stdout on Unix, by moving their descriptors.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags, fcntl_getfl, fstat, open};
use tokio::io::Interest;

use crate::polled::Polled;
use crate::stand_in;
use crate::stdio::{Input, Output, Sink, Source};

/// Takes stdin and stdout away from the rest of the process.
///
/// Afterwards file descriptor 0 is `/dev/null` and file descriptor 1 is stderr, so neither a stray `println!` nor a
/// child process can reach the protocol. Call it once, before anything else uses them, inside a tokio runtime.
///
/// Rust's runtime opens `/dev/null` in place of a stdin or stdout that is closed at start, so a closed stdin reads as
/// ended. If that has not happened, stdin still reads as ended, and a closed stdout is an error.
pub fn take_over() -> io::Result<(Input, Output)> {
    let output = take_private(rustix::stdio::stdout()).map_err(|error| {
        io::Error::new(error.kind(), format!("stdout cannot be used for the protocol: {error}"))
    })?;
    let input = match take_private(rustix::stdio::stdin()) {
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::BADF.raw_os_error()) => None,
        input => Some(input?),
    };
    // Both flags are read before either is changed: stdin and stdout may be one socket.
    let output_flags = fcntl_getfl(&output)?;
    let input_flags = input.as_ref().map(fcntl_getfl).transpose()?;

    rustix::stdio::dup2_stdin(open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;

    let source = match (input, input_flags) {
        (Some(input), Some(flags)) if is_pollable(&input)? => {
            Source::Polled(Polled::new(input, flags, Interest::READABLE)?)
        }
        (Some(input), _) => Source::Memory(stand_in::reader(std::fs::File::from(input))?),
        (None, _) => Source::Ended,
    };
    let sink = if is_pollable(&output)? {
        Sink::Polled(Polled::new(output, output_flags, Interest::WRITABLE)?)
    } else {
        Sink::StandIn(stand_in::writer(std::fs::File::from(output))?)
    };
    Ok((Input::new(source), Output::new(sink)))
}

/// Duplicates a descriptor above the three standard ones, closed in child processes.
fn take_private(descriptor: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(descriptor, 3)?)
}

/// Returns whether the runtime can poll the descriptor.
fn is_pollable(descriptor: &OwnedFd) -> io::Result<bool> {
    let kind = FileType::from_raw_mode(fstat(descriptor)?.st_mode);
    Ok(matches!(kind, FileType::Fifo | FileType::Socket))
}
