//! A child process and the two pipes to it, used with blocking calls from one thread.
//!
//! There is no thread between the pipes and the measure: waking one would cost more than what is measured.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::ops::ControlFlow;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use memchr::memchr;

use crate::failure::Failure;

const BUFFER: usize = 256 * 1024;

/// The expected length of a long record.
const LONG: usize = 1024 * 1024;

/// A process that reads lines and writes lines. Killed when dropped.
pub(crate) struct Pipe {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    line: Vec<u8>,
}

impl Pipe {
    /// Starts a program.
    pub(crate) fn start(command: &mut Command) -> Result<Self, Failure> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(Failure::while_doing(format!("starting {}", command.get_program().display())))?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().ok_or_else(|| Failure::new("a child has no stdout"))?;
        Ok(Self { child, stdin, stdout: BufReader::with_capacity(BUFFER, stdout), line: Vec::new() })
    }

    /// Writes bytes.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let stdin = self.stdin.as_mut().ok_or_else(|| Failure::new("the input of a child is closed"))?;
        stdin.write_all(bytes).map_err(Failure::while_doing("writing to a child"))
    }

    /// Returns the next line, with its newline.
    pub(crate) fn line(&mut self) -> Result<&[u8], Failure> {
        self.line.clear();
        let read = self.stdout.read_until(b'\n', &mut self.line);
        if read.map_err(Failure::while_doing("reading from a child"))? == 0 {
            return Err(Failure::new("a child has ended too early"));
        }
        Ok(&self.line)
    }

    /// Reads records and passes each to `take`, without its newline, until `take` breaks.
    ///
    /// For long records: each is assembled in place and never copied, so that the reader costs little beside the
    /// kernel.
    pub(crate) fn records(&mut self, mut take: impl FnMut(&[u8]) -> ControlFlow<()>) -> Result<(), Failure> {
        let (mut record, mut next) = (vec![0; LONG], vec![0; LONG]);
        let mut filled = 0;
        loop {
            if filled + BUFFER > record.len() {
                record.resize(2 * record.len(), 0);
            }
            let read = self.stdout.read(&mut record[filled..]);
            let count = read.map_err(Failure::while_doing("reading from a child"))?;
            if count == 0 {
                return Err(Failure::new("a child has ended too early"));
            }
            let mut start = 0;
            let mut searched = filled;
            filled += count;
            while let Some(end) = memchr(b'\n', &record[searched..filled]).map(|at| searched + at) {
                if take(&record[start..end]).is_break() {
                    return Ok(());
                }
                start = end + 1;
                searched = start;
            }
            if start > 0 {
                let rest = filled - start;
                next.resize(next.len().max(rest), 0);
                next[..rest].copy_from_slice(&record[start..filled]);
                std::mem::swap(&mut record, &mut next);
                filled = rest;
            }
        }
    }

    /// Writes bytes and reads as many at the same time, because they may exceed the capacity of the pipes.
    pub(crate) fn pass(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let mut stdin = self.stdin.take().ok_or_else(|| Failure::new("the input of a child is closed"))?;
        let written = thread::scope(|scope| {
            let writer = scope.spawn(|| stdin.write_all(bytes));
            let read = self.skip(bytes.len());
            let written = writer.join().map_err(|_| Failure::new("the writing thread has panicked"))?;
            written.map_err(Failure::while_doing("writing to a child")).and(read)
        });
        self.stdin = Some(stdin);
        written
    }

    /// Reads bytes and discards them.
    pub(crate) fn skip(&mut self, mut count: usize) -> Result<(), Failure> {
        while count > 0 {
            let read = self.stdout.fill_buf().map_err(Failure::while_doing("reading from a child"))?.len();
            if read == 0 {
                return Err(Failure::new("a child has ended too early"));
            }
            self.stdout.consume(read);
            count = count.saturating_sub(read);
        }
        Ok(())
    }

    /// Closes the process's stdin and waits for its exit, which must be a success.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.stdin = None;
        let status = self.child.wait().map_err(Failure::while_doing("waiting for a child"))?;
        if status.success() { Ok(()) } else { Err(Failure::new(format!("a child has ended with {status}"))) }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the CPU time of the process's running threads.
    pub(crate) fn processor_time(&self) -> Result<Duration, Failure> {
        let folder = format!("/proc/{}/task", self.pid());
        let threads = fs::read_dir(&folder).map_err(Failure::while_doing(&folder))?;
        let nanoseconds = threads.flatten().map(|thread| {
            // The first figure; the clock ticks in `stat` are too coarse.
            let text = fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
            text.split(' ').next().and_then(|figure| figure.parse::<u64>().ok()).unwrap_or(0)
        });
        Ok(Duration::from_nanos(nanoseconds.sum()))
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_any_length_arrive_complete() {
        let lengths = [0, 1, 70_000, 3, 5_000_000, 2 * LONG, 0];
        let script = lengths.map(|length| format!("head -c {length} /dev/zero; echo;")).concat();
        let mut process = Pipe::start(Command::new("sh").args(["-c", &script])).expect("sh");
        let mut found = Vec::new();
        let read = process.records(|record| {
            found.push(record.len());
            if found.len() == lengths.len() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        read.expect("as many records");
        assert_eq!(found, lengths);
    }
}
