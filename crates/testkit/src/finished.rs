//! A process that was run to its end.

use serde_json::Value;

/// The exit code of a process and everything that it wrote.
#[derive(Debug)]
pub struct Finished {
    /// The exit code; for a process that was ended by a signal, the signal's negated number.
    pub code: i32,
    /// Everything on stdout.
    pub stdout: String,
    /// Everything on stderr.
    pub stderr: String,
}

impl Finished {
    /// Returns the JSON values on stdout, one per line.
    #[track_caller]
    pub fn records(&self) -> Vec<Value> {
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.stdout.lines().map(parse).collect()
    }

    /// Returns stdout; the exit code must be 0.
    #[track_caller]
    pub fn succeeded(self) -> String {
        assert_eq!(self.code, 0, "{}{}", self.stdout, self.stderr);
        self.stdout
    }
}
