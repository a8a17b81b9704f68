//! A running `bowline inspect`, and requests to its page.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use bowline_testkit::bowline;
use serde_json::Value;
use tempfile::TempDir;

/// How long anything may take.
const LIMIT: Duration = Duration::from_secs(60);

pub(crate) struct Inspected {
    pub child: Child,
    pub stdin: Option<ChildStdin>,
    pub stdout: Option<ChildStdout>,
    stderr: Receiver<String>,
    pub port: u16,
    pub token: String,
    pub home: TempDir,
}

/// The answer to a request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

/// Returns the command, without the user's configuration and environment.
pub(crate) fn command(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(bowline());
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", home).current_dir(home);
    command.arg("inspect").args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs to the end, with nothing on stdin.
pub(crate) fn run(home: &Path, arguments: &[&str]) -> Output {
    command(home, arguments).stdin(Stdio::null()).output().unwrap()
}

impl Inspected {
    #[track_caller]
    pub fn start(arguments: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let command = command(home.path(), arguments);
        Self::start_as(command, home)
    }

    #[track_caller]
    pub fn start_as(mut command: Command, home: TempDir) -> Self {
        let mut child = command.spawn().unwrap();
        let (sender, stderr) = channel();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let mut inspected = Self { child, stdin, stdout, stderr, port: 0, token: String::new(), home };
        let address = inspected.stderr_line(|line| line.contains("http://127.0.0.1:"));
        let (_, rest) = address.split_once("http://127.0.0.1:").unwrap();
        let mut parts = rest.split('/');
        inspected.port = parts.next().unwrap().parse().unwrap();
        inspected.token = parts.next().unwrap().to_owned();
        inspected
    }

    /// Waits for a line on stderr.
    #[track_caller]
    pub fn stderr_line(&self, matches: impl Fn(&str) -> bool) -> String {
        loop {
            let line = self.stderr.recv_timeout(LIMIT).expect("a line on stderr");
            if matches(&line) {
                return line;
            }
        }
    }

    pub fn send(&mut self, text: &[u8]) {
        self.stdin.as_mut().unwrap().write_all(text).unwrap();
    }

    /// Closes stdin, and returns the rest of stdout and the exit code.
    pub fn finish(mut self) -> (Vec<u8>, Option<i32>, TempDir) {
        self.stdin = None;
        let mut rest = Vec::new();
        if let Some(stdout) = &mut self.stdout {
            stdout.read_to_end(&mut rest).unwrap();
        }
        let code = self.child.wait().unwrap().code();
        let home = std::mem::replace(&mut self.home, tempfile::tempdir().unwrap());
        (rest, code, home)
    }

    /// Makes a request below the token, as the page does.
    #[track_caller]
    pub fn get(&self, path: &str) -> Answer {
        let host = format!("Host: 127.0.0.1:{}", self.port);
        self.request(&format!("GET /{}/{path}", self.token), &[&host], "")
    }

    /// Sends a line to the agent, as the page does.
    #[track_caller]
    pub fn post(&self, line: &str) -> Answer {
        let headers = [format!("Host: 127.0.0.1:{}", self.port), format!("Bowline-Token: {}", self.token)];
        self.request(&format!("POST /{}/send", self.token), &[&headers[0], &headers[1]], line)
    }

    #[track_caller]
    pub fn request(&self, line: &str, headers: &[&str], body: &str) -> Answer {
        let mut stream = self.connect();
        let length = body.len();
        let mut text = format!("{line} HTTP/1.1\r\nConnection: close\r\nContent-Length: {length}\r\n");
        headers.iter().for_each(|header| text.push_str(&format!("{header}\r\n")));
        stream.write_all(format!("{text}\r\n{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    #[track_caller]
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream
    }

    /// Returns the rows from the first one on, as soon as one of them matches.
    #[track_caller]
    pub fn rows_until(&self, matches: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut rows: Vec<Value> = Vec::new();
        loop {
            let answer = self.get(&format!("records?from={}", rows.len()));
            assert_eq!(answer.status, 200, "{answer:?}");
            let mut lines = answer.body.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            let about = lines.next().unwrap();
            rows.extend(lines);
            if rows.iter().any(&matches) {
                return rows;
            }
            assert_eq!(about["isOver"], false, "{rows:?}");
        }
    }
}

impl Drop for Inspected {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
