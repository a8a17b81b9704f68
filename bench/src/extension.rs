//! A minimal extension: this program, started as the process of an extension that takes part in one hook.
//!
//! It is compiled and has no runtime, so that the figures are those of bowline and not of a language.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::ExitCode;

use crate::placement;

/// The argument that turns this program into an extension. The name of a hook follows, then a core to run on, if any.
const ARGUMENT: &str = "--extension";

/// Where an extension that subscribes to events leaves their number, in the folder that it was started in.
const RECEIVED: &str = "received";

/// Large enough for the events of many deltas.
const BUFFER: usize = 64 * 1024;

const HOOK: &[u8] = b"{\"type\":\"hook\",\"id\":\"";

const EVENT: &[u8] = b"{\"type\":\"event\"";

/// An extension that takes part in one hook and changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Extension {
    pub(crate) hook: String,
    /// The core that it keeps to.
    pub(crate) core: Option<usize>,
}

/// Returns the extension that the command line selects.
pub(crate) fn asked_for() -> Option<Extension> {
    let mut arguments = std::env::args().skip(1);
    if arguments.next()? != ARGUMENT {
        return None;
    }
    let hook = arguments.next()?;
    Some(Extension { hook, core: arguments.next().and_then(|core| core.parse().ok()) })
}

/// Returns how many events an extension was told of that was started in a folder and has ended.
pub(crate) fn received(folder: &Path) -> Option<usize> {
    fs::read_to_string(folder.join(RECEIVED)).ok()?.parse().ok()
}

impl Extension {
    pub(crate) fn new(hook: &str) -> Self {
        Self { hook: hook.to_owned(), core: None }
    }

    /// Returns the arguments that turn this program into the extension.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let core = self.core.map(|core| core.to_string());
        [ARGUMENT.to_owned(), self.hook.clone()].into_iter().chain(core).collect()
    }

    /// Runs as the extension.
    pub(crate) fn run(&self) -> ExitCode {
        if let Some(core) = self.core
            && placement::stay_on(core).is_err()
        {
            return ExitCode::FAILURE;
        }
        if self.serve().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    /// Registers, then answers every call of the hook until the end of the input.
    fn serve(&self) -> io::Result<()> {
        let (mut input, mut output) = (BufReader::with_capacity(BUFFER, io::stdin()), io::stdout());
        let mut line = Vec::new();
        input.read_until(b'\n', &mut line)?;
        writeln!(
            output,
            r#"{{"type":"registered","protocol":1,"extensions":[{{"hooks":[{{"event":"{}"}}]}}]}}"#,
            self.hook
        )?;
        let mut events = 0;
        let mut answer = Vec::new();
        loop {
            line.clear();
            if input.read_until(b'\n', &mut line)? == 0 {
                break;
            }
            if let Some(rest) = line.strip_prefix(HOOK) {
                let id = rest.split(|byte| *byte == b'"').next().unwrap_or_default();
                answer.clear();
                answer.extend_from_slice(b"{\"type\":\"result\",\"id\":\"");
                answer.extend_from_slice(id);
                answer.extend_from_slice(b"\"}\n");
                output.write_all(&answer)?;
            } else if line.starts_with(EVENT) {
                events += 1;
            }
        }
        if events > 0 { fs::write(RECEIVED, events.to_string()) } else { Ok(()) }
    }
}
