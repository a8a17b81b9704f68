//! The floors: this program, started to do the minimum that any program would do.

use std::io::{self, BufRead as _, Read as _, Write as _};
use std::process::ExitCode;

/// What a floor does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Floor {
    /// Writes a line and ends.
    Hello,
    /// Writes a line and waits for the end of its input.
    Wait,
    /// Writes what it reads, with blocking calls and no runtime.
    Echo,
    /// Reads numbers and writes as many bytes.
    Pour,
}

/// Large enough that the standard library reads past its own buffer.
const BUFFER: usize = 64 * 1024;

/// Returns the floor that the command line selects.
pub(crate) fn asked_for() -> Option<Floor> {
    let argument = std::env::args_os().nth(1)?;
    Floor::ALL.into_iter().find(|floor| argument == floor.argument())
}

impl Floor {
    const ALL: [Self; 4] = [Self::Hello, Self::Wait, Self::Echo, Self::Pour];

    /// Returns the argument that turns this program into the floor.
    pub(crate) fn argument(self) -> &'static str {
        match self {
            Self::Hello => "--floor-hello",
            Self::Wait => "--floor-wait",
            Self::Echo => "--floor-echo",
            Self::Pour => "--floor-pour",
        }
    }

    /// Runs as the floor.
    pub(crate) fn run(self) -> ExitCode {
        let result = match self {
            Self::Hello => hello(),
            Self::Wait => hello().and_then(|()| wait()),
            Self::Echo => echo(),
            Self::Pour => pour(),
        };
        if result.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

fn hello() -> io::Result<()> {
    io::stdout().write_all(b"hello\n")
}

fn wait() -> io::Result<()> {
    let mut byte = [0];
    while io::stdin().read(&mut byte)? > 0 {}
    Ok(())
}

fn echo() -> io::Result<()> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut buffer = vec![0; BUFFER];
    loop {
        let count = input.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        output.write_all(&buffer[..count])?;
        output.flush()?;
    }
}

fn pour() -> io::Result<()> {
    let (input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let buffer = vec![b'x'; BUFFER];
    for number in input.lines() {
        let mut left: usize = number?.parse().map_err(io::Error::other)?;
        while left > 0 {
            let count = left.min(BUFFER);
            output.write_all(&buffer[..count])?;
            left -= count;
        }
        output.flush()?;
    }
    Ok(())
}
