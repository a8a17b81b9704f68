//! The real binary, driven over its stdin and stdout as any client would.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::eventually::eventually;
use crate::launch::Launch;
use crate::process_linux::{self as process, Memory};
use crate::protocol::Protocol;
use crate::records::{self, Arrival, Valve};
use crate::workspace::Workspace;

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// How much of each record a failing test shows.
const SHOWN_LENGTH: usize = 400;

/// How many of the last records a failing test shows.
const SHOWN_RECORDS: usize = 200;

/// A running agent. Killed with everything it has started when dropped.
#[derive(Debug)]
pub struct Agent {
    child: Child,
    /// The environment entry that marks its processes.
    mark: String,
    stdin: Option<File>,
    arrivals: Receiver<Arrival>,
    valve: Arc<Valve>,
    stderr: Arc<Mutex<Vec<u8>>>,
    /// Records that have arrived and were not taken yet.
    pending: VecDeque<Value>,
    /// Every record that has arrived.
    transcript: Vec<Value>,
    /// The schema of its records.
    protocol: Option<Protocol>,
    /// Whether its stdout has ended.
    has_ended: bool,
    /// Whether it was killed, so that its last record may be incomplete.
    is_killed: bool,
    timeout: Duration,
}

impl Agent {
    /// Starts any program with pipes. [`Workspace::start`] and [`Launch`] start bowline.
    #[track_caller]
    pub fn start(binary: impl AsRef<Path>, workspace: &Workspace, arguments: &[&str]) -> Self {
        Launch::new(binary, workspace).arguments(arguments).start()
    }

    pub(crate) fn new(
        mut child: Child,
        stdin: File,
        stdout: File,
        mark: String,
        protocol: Option<Protocol>,
    ) -> Self {
        let stderr = Arc::new(Mutex::new(Vec::new()));
        if let Some(mut source) = child.stderr.take() {
            let kept = Arc::clone(&stderr);
            thread::spawn(move || {
                let mut piece = vec![0; 4096];
                while let Ok(count @ 1..) = source.read(&mut piece) {
                    kept.lock().expect("the lock of stderr").extend_from_slice(&piece[..count]);
                }
            });
        }
        let valve = Arc::new(Valve::default());
        let arrivals = records::read(stdout, Arc::clone(&valve));
        Self {
            child,
            mark,
            stdin: Some(stdin),
            arrivals,
            valve,
            stderr,
            pending: VecDeque::new(),
            transcript: Vec::new(),
            protocol,
            has_ended: false,
            is_killed: false,
            timeout: DEFAULT_TIMEOUT,
        }
    }

    /// Sets how long each wait may take, instead of 10 seconds.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    /// Sends a record and a newline.
    #[track_caller]
    pub fn send(&mut self, record: Value) {
        self.send_raw(format!("{record}\n").as_bytes());
    }

    /// Sends bytes unchanged, in one write if the pipe has room.
    #[track_caller]
    pub fn send_raw(&mut self, bytes: &[u8]) {
        if let Err(error) = self.try_send_raw(bytes) {
            self.fail(&format!("the agent's stdin cannot be written: {error}"));
        }
    }

    /// Sends bytes unchanged; returns an error if the agent has exited.
    pub fn try_send_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stdin.as_mut().ok_or(io::ErrorKind::NotConnected)?.write_all(bytes)
    }

    /// Closes the agent's stdin.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Returns the next record.
    #[track_caller]
    #[expect(clippy::should_implement_trait, reason = "an agent's silence is a failure, not an end")]
    pub fn next(&mut self) -> Value {
        let deadline = Instant::now() + self.timeout;
        self.next_before(deadline, "a record")
    }

    /// Returns the next record, or `None` if none arrives in time or stdout has ended.
    #[track_caller]
    pub fn next_within(&mut self, timeout: Duration) -> Option<Value> {
        self.pending.pop_front().or_else(|| self.arrive(Instant::now() + timeout).ok())
    }

    /// Returns the records up to and including the first for which `is_wanted` holds.
    #[track_caller]
    pub fn until(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
        self.until_described("the wanted record", is_wanted)
    }

    /// Returns the records up to and including the first of a type.
    #[track_caller]
    pub fn until_type(&mut self, name: &str) -> Vec<Value> {
        self.until_described(&format!("a record of type {name}"), |record| record["type"] == name)
    }

    /// Returns the records up to and including `agent_settled`.
    #[track_caller]
    pub fn collect_until_settled(&mut self) -> Vec<Value> {
        self.until_type("agent_settled")
    }

    /// Returns the response with an id. The records before it can still be taken.
    #[track_caller]
    pub fn response(&mut self, id: &str) -> Value {
        let is_it = |record: &Value| record["type"] == "response" && record["id"] == id;
        if let Some(position) = self.pending.iter().position(is_it) {
            return self.pending.remove(position).expect("a record at its position");
        }
        let deadline = Instant::now() + self.timeout;
        loop {
            match self.arrive(deadline) {
                Ok(record) if is_it(&record) => return record,
                Ok(record) => self.pending.push_back(record),
                Err(why) => self.fail(&format!("no response with the id {id}: {why}")),
            }
        }
    }

    /// Returns the records up to the end of stdout.
    #[track_caller]
    pub fn rest(&mut self) -> Vec<Value> {
        let deadline = Instant::now() + self.timeout;
        while let Ok(record) = self.arrive(deadline) {
            self.pending.push_back(record);
        }
        if !self.has_ended {
            self.fail("stdout does not end");
        }
        std::mem::take(&mut self.pending).into()
    }

    /// Stops reading stdout, as a slow client does; nothing more is read after this returns.
    pub fn pause_reading(&mut self) {
        self.valve.shut();
    }

    /// Continues to read stdout.
    pub fn resume_reading(&mut self) {
        self.valve.open();
    }

    /// Closes the reading end of stdout, as a client that exits does.
    pub fn close_stdout(&mut self) {
        self.valve.close();
        while let Ok(arrival) = self.arrivals.recv() {
            if let Arrival::Record(record) = arrival {
                self.transcript.push(record.clone());
                self.pending.push_back(record);
            }
        }
        self.has_ended = true;
    }

    /// Sends a signal by its number.
    pub fn signal(&mut self, number: i32) {
        self.is_killed |= number == 9;
        process::signal(self.pid(), number);
    }

    /// Kills the agent, but not the processes that it has started.
    pub fn kill(&mut self) {
        self.signal(9);
    }

    /// Waits for the exit and returns the exit code, or the negated number of the signal that ended it.
    #[track_caller]
    pub fn wait(&mut self) -> i32 {
        let deadline = Instant::now() + self.timeout;
        while Instant::now() < deadline {
            match self.child.try_wait() {
                Ok(Some(status)) => return code(status),
                Ok(None) => thread::sleep(Duration::from_millis(2)),
                Err(error) => self.fail(&format!("the agent cannot be waited for: {error}")),
            }
        }
        self.fail("the agent does not end");
    }

    /// Returns whether the agent still runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Returns the agent's memory.
    #[track_caller]
    pub fn memory_kib(&self) -> Memory {
        process::memory_of(self.pid()).unwrap_or_else(|| self.fail("the agent has ended"))
    }

    /// Returns every record received so far, also those not taken yet.
    pub fn transcript(&self) -> &[Value] {
        &self.transcript
    }

    /// Returns everything that the agent has written to stderr.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.stderr.lock().expect("the lock of stderr")).into_owned()
    }

    /// Returns the agent's process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the descendants of the agent, without the process that watches it.
    pub fn children(&self) -> Vec<u32> {
        let mut found = process::descendants(self.pid());
        found.retain(|pid| !process::is_watcher(*pid));
        found
    }

    /// Returns every running process that the agent has started, directly or not, also after the agent itself has
    /// ended.
    /// A process that was given an empty environment is found only while its parents live.
    pub fn survivors(&self) -> Vec<u32> {
        let mut found = process::with_environment(&self.mark);
        found.extend(self.children());
        found.sort_unstable();
        found.dedup();
        found.retain(|pid| *pid != self.pid());
        found
    }

    /// Checks that no process that the agent has started survives. A killed process may take a moment to end.
    #[track_caller]
    pub fn assert_no_survivors(&self) {
        eventually("everything that the agent has started is dead", || self.survivors().is_empty());
    }

    #[track_caller]
    fn until_described(&mut self, what: &str, is_wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
        let deadline = Instant::now() + self.timeout;
        let mut taken = Vec::new();
        loop {
            let record = self.next_before(deadline, what);
            let is_last = is_wanted(&record);
            taken.push(record);
            if is_last {
                return taken;
            }
        }
    }

    #[track_caller]
    fn next_before(&mut self, deadline: Instant, what: &str) -> Value {
        if let Some(record) = self.pending.pop_front() {
            return record;
        }
        self.arrive(deadline).unwrap_or_else(|why| self.fail(&format!("waiting for {what}: {why}")))
    }

    /// Waits for a record and adds it to the transcript; returns why there is none.
    #[track_caller]
    fn arrive(&mut self, deadline: Instant) -> Result<Value, &'static str> {
        if self.has_ended {
            return Err("stdout has ended");
        }
        match self.arrivals.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Arrival::Record(record)) => {
                self.transcript.push(record.clone());
                if let Some(Err(problem)) =
                    self.protocol.as_ref().map(|protocol| protocol.check_record(&record))
                {
                    self.fail(&format!("a record does not satisfy the schema: {problem}\n{record}"));
                }
                Ok(record)
            }
            Ok(Arrival::Stray(line)) => {
                self.fail(&format!("stdout has a line that is not a JSON object: {line:?}"))
            }
            Ok(Arrival::End(rest)) => {
                self.has_ended = true;
                if !rest.is_empty() && !self.is_killed {
                    self.fail(&format!("the last line of stdout has no newline: {rest:?}"));
                }
                Err("stdout has ended")
            }
            Err(RecvTimeoutError::Timeout) => Err("timed out"),
            Err(RecvTimeoutError::Disconnected) => Err("the reading thread has ended"),
        }
    }

    #[track_caller]
    fn fail(&self, what: &str) -> ! {
        let mut shown = String::new();
        let skipped = self.transcript.len().saturating_sub(SHOWN_RECORDS);
        for record in &self.transcript[skipped..] {
            let line: String = record.to_string().chars().take(SHOWN_LENGTH).collect();
            writeln!(shown, "  {line}").expect("writing to a string");
        }
        panic!(
            "{what}\nThe transcript, {} records, {skipped} not shown:\n{shown}stderr:\n{}",
            self.transcript.len(),
            self.stderr()
        );
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.valve.open();
        // Processes that start during the first search are found by the second.
        let mut found = self.survivors();
        let _ = self.child.kill();
        let _ = self.child.wait();
        found.extend(self.survivors());
        for pid in found {
            process::signal(pid, 9);
        }
    }
}

/// Returns the types of records, for comparing their order.
pub fn types(records: &[Value]) -> Vec<&str> {
    records.iter().map(|record| record["type"].as_str().unwrap_or_default()).collect()
}

/// Returns the records of a type.
pub fn of_type<'a>(records: &'a [Value], name: &str) -> Vec<&'a Value> {
    records.iter().filter(|record| record["type"] == name).collect()
}

pub(crate) fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| -signal)).unwrap_or(i32::MIN)
}
