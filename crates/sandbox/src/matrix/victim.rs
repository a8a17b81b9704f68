//! A process outside: a program of one call that waits for ever, with a secret in its memory and one in its environment.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::caller::{self, Caller};

/// What is in its memory.
pub(super) const SECRET: &[u8] = b"secret of the victim";

/// The process.
#[derive(Debug)]
pub(super) struct Victim {
    program: PathBuf,
    folder: PathBuf,
    /// Where the secret is in its memory.
    pub secret_address: u64,
    process: Child,
}

impl Victim {
    /// Starts the process. `token` is in its command line.
    pub fn start(program: PathBuf, folder: PathBuf, token: &str) -> io::Result<Self> {
        let (bytes, secret_address) = Caller::new().then_wait().assemble_with(SECRET);
        caller::write_program(&program, &bytes)?;
        let process = spawn(&program, &folder, token)?;
        Ok(Self { program, folder, secret_address, process })
    }

    pub fn pid(&self) -> i32 {
        self.process.id().cast_signed()
    }

    pub fn is_alive(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// Starts another one in place of one that an attempt has killed.
    pub fn revive(&mut self, token: &str) -> io::Result<()> {
        if !self.is_alive() {
            self.process = spawn(&self.program, &self.folder, token)?;
        }
        Ok(())
    }
}

fn spawn(program: &Path, folder: &Path, token: &str) -> io::Result<Child> {
    // A descriptor worth taking: a file outside, for writing.
    let input = OpenOptions::new().append(true).open(folder.join("victim-input"))?;
    let mut command = Command::new(program);
    command.arg(token).current_dir(folder).env_clear().env("SECRET", "of the victim");
    command.stdin(input).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
