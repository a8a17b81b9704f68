//! What bowline and a keeper tell each other: a length in four bytes, then that much JSON.

use std::io::{self, Read, Write};
use std::path::PathBuf;

use bowline_core::message::{Arguments, Content};
use bowline_core::usage::Usage;
use bowline_tools::{CommandOutcome, Outcome, Progress};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The longest frame. The largest results are images, which are far smaller.
pub(crate) const LONGEST: usize = 64 << 20;

/// What bowline tells a keeper.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToKeeper {
    Call(Call),
    Command(UserCommand),
    /// Ends a call or command the way a user does.
    Cancel(u64),
    /// Nobody waits for the result any more.
    Forget(u64),
    /// The output that was sent last has been taken.
    Taken(u64),
}

/// A call of a tool.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Call {
    pub id: u64,
    pub tool: String,
    pub arguments: Arguments,
    pub working_directory: PathBuf,
    pub environment: Vec<(String, String)>,
    pub takes_images: bool,
    pub session_id: Option<String>,
    pub call_id: Option<String>,
}

/// A user-initiated command.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct UserCommand {
    pub id: u64,
    pub command: String,
    pub working_directory: PathBuf,
    pub environment: Vec<(String, String)>,
    pub session_id: Option<String>,
}

/// What a keeper tells bowline.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum FromKeeper {
    /// It is set up and has tried its promises. The first frame of a keeper that works.
    Ready(Ready),
    /// It could not be set up.
    Failed {
        step: String,
        problem: String,
    },
    Progress {
        id: u64,
        content: Vec<Content>,
        details: Option<Value>,
    },
    Done {
        id: u64,
        outcome: WireOutcome,
    },
    /// A piece of a command's output. The next follows when it has been taken.
    Output {
        id: u64,
        text: String,
    },
    CommandDone {
        id: u64,
        result: Result<WireCommandOutcome, String>,
    },
}

/// What a keeper says of itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Ready {
    pub landlock_abi: u32,
    pub mechanisms: Vec<String>,
    pub probes: Vec<ProbeResult>,
}

/// The result of a probe.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ProbeResult {
    /// The promise that it tried.
    pub promise: String,
    /// Whether what was tried was refused.
    pub refused: bool,
}

/// An outcome as it is sent.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireOutcome {
    content: Vec<Content>,
    details: Option<Value>,
    structured_content: Option<Box<Value>>,
    usage: Option<Box<Usage>>,
    is_error: bool,
    ends_run: bool,
}

/// The outcome of a command as it is sent.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireCommandOutcome {
    output: String,
    exit_code: Option<i32>,
    cancelled: bool,
    truncated: bool,
    full_output_path: Option<PathBuf>,
}

impl From<Outcome> for WireOutcome {
    fn from(outcome: Outcome) -> Self {
        let Outcome { content, details, structured_content, usage, is_error, ends_run, protected: _ } =
            outcome;
        Self { content, details, structured_content, usage, is_error, ends_run }
    }
}

impl From<WireOutcome> for Outcome {
    fn from(outcome: WireOutcome) -> Self {
        let WireOutcome { content, details, structured_content, usage, is_error, ends_run } = outcome;
        Self { content, details, structured_content, usage, is_error, ends_run, protected: Vec::new() }
    }
}

impl From<CommandOutcome> for WireCommandOutcome {
    fn from(outcome: CommandOutcome) -> Self {
        let CommandOutcome { output, exit_code, cancelled, truncated, full_output_path, protected: _ } =
            outcome;
        Self { output, exit_code, cancelled, truncated, full_output_path }
    }
}

impl From<WireCommandOutcome> for CommandOutcome {
    fn from(outcome: WireCommandOutcome) -> Self {
        let WireCommandOutcome { output, exit_code, cancelled, truncated, full_output_path } = outcome;
        Self { output, exit_code, cancelled, truncated, full_output_path, protected: Vec::new() }
    }
}

impl FromKeeper {
    /// Returns a report of a call as a frame.
    pub fn progress(id: u64, progress: Progress) -> Self {
        let Progress { content, details } = progress;
        Self::Progress { id, content, details }
    }
}

/// Returns a frame as bytes.
pub(crate) fn encode(frame: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, frame)?;
    let length = u32::try_from(bytes.len() - 4).map_err(|_| too_long())?;
    self::length(length.to_le_bytes())?;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    Ok(bytes)
}

/// Returns the length of the frame that begins with these bytes, unless it is too long.
pub(crate) fn length(head: [u8; 4]) -> io::Result<usize> {
    let length = usize::try_from(u32::from_le_bytes(head)).unwrap_or(usize::MAX);
    if length > LONGEST {
        return Err(too_long());
    }
    Ok(length)
}

fn too_long() -> io::Error {
    let text = format!("it is longer than the {} MiB that can be handed to the sandbox", LONGEST >> 20);
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// Reads a frame and nothing after it.
pub(crate) fn read<T: DeserializeOwned>(mut reader: impl Read) -> io::Result<T> {
    let mut head = [0; 4];
    reader.read_exact(&mut head)?;
    let mut bytes = vec![0; length(head)?];
    reader.read_exact(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// Writes a frame.
pub(crate) fn write(mut writer: impl Write, frame: &impl Serialize) -> io::Result<()> {
    writer.write_all(&encode(frame)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_as_written_and_one_at_a_time() {
        let mut bytes = encode(&ToKeeper::Cancel(7)).unwrap();
        bytes.extend(encode(&ToKeeper::Taken(8)).unwrap());
        let mut reader = &bytes[..];
        assert!(matches!(read::<ToKeeper>(&mut reader).unwrap(), ToKeeper::Cancel(7)));
        assert!(matches!(read::<ToKeeper>(&mut reader).unwrap(), ToKeeper::Taken(8)));
        assert!(read::<ToKeeper>(reader).is_err());
    }

    #[test]
    fn frame_that_claims_to_be_huge_is_refused() {
        assert!(length(u32::MAX.to_le_bytes()).is_err());
        assert_eq!(length(5_u32.to_le_bytes()).unwrap(), 5);
    }
}
