//! A child process and the two pipes to it, used with blocking calls from one thread.
//!
//! No thread stands between the pipes and the measure: waking one would cost more than what is measured.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::failure::Failure;

const BUFFER: usize = 256 * 1024;

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

    /// Returns the next line, with its end.
    pub(crate) fn line(&mut self) -> Result<&[u8], Failure> {
        self.line.clear();
        let read = self.stdout.read_until(b'\n', &mut self.line);
        if read.map_err(Failure::while_doing("reading from a child"))? == 0 {
            return Err(Failure::new("a child has ended too early"));
        }
        Ok(&self.line)
    }

    /// Writes bytes and reads as many, at the same time, as they may be more than the pipes hold.
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

    fn skip(&mut self, mut count: usize) -> Result<(), Failure> {
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

    /// Ends the process's input and waits for its end, which must be a success.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.stdin = None;
        let status = self.child.wait().map_err(Failure::while_doing("waiting for a child"))?;
        if status.success() { Ok(()) } else { Err(Failure::new(format!("a child has ended with {status}"))) }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the time that the process's threads have had on a processor. Those that have ended are not in it.
    pub(crate) fn processor_time(&self) -> Result<Duration, Failure> {
        let folder = format!("/proc/{}/task", self.pid());
        let threads = fs::read_dir(&folder).map_err(Failure::while_doing(&folder))?;
        let nanoseconds = threads.flatten().map(|thread| {
            // The first figure; the clock ticks in `stat` are too coarse for this.
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
