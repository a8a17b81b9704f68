//! What is piped to stdin, which becomes part of the first message.

use std::time::Duration;

use bowline_server::Interruption;
use bowline_wire::{DEFAULT_LINE_LIMIT, Input};

use crate::failure::Failure;
use crate::serving::Interruptions;
use crate::terminal::note;

/// After this time the user is told what is waited for.
const PATIENCE: Duration = Duration::from_secs(3);

/// How reading has ended.
pub(super) enum Ended {
    Text(String),
    /// By a signal that asks for this exit code.
    Interrupted(u8),
}

/// Reads stdin up to its end, however long that takes. White space around the text is dropped.
pub(super) async fn read(mut input: Input, signals: &mut Interruptions) -> Result<Ended, Failure> {
    let mut bytes = Vec::new();
    let mut patience = Some(Box::pin(tokio::time::sleep(PATIENCE)));
    loop {
        tokio::select! {
            read = input.read(&mut bytes) => {
                if read.map_err(Failure::io("reading stdin"))? == 0 {
                    break;
                }
                if bytes.len() > DEFAULT_LINE_LIMIT {
                    return Err(Failure::Usage(format!("stdin has more than {DEFAULT_LINE_LIMIT} bytes")));
                }
            }
            Some(interruption) = signals.recv() => {
                let (Interruption::Stop(code) | Interruption::Abort { exit_code: code }) = interruption;
                return Ok(Ended::Interrupted(code));
            }
            () = wait(&mut patience) => {
                patience = None;
                if bytes.is_empty() {
                    note("bowline: waiting for the end of stdin, which is part of the message; </dev/null is none");
                }
            }
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    Ok(Ended::Text(text.trim_start_matches('\u{feff}').trim().to_owned()))
}

async fn wait(patience: &mut Option<std::pin::Pin<Box<tokio::time::Sleep>>>) {
    match patience {
        Some(sleep) => sleep.await,
        None => std::future::pending().await,
    }
}
