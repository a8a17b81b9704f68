//! The transport over the pipes of a process: one JSON message per line.
//!
//! A task of its own reads, so that receiving can be abandoned without losing anything. It bounds what the server writes:
//! the length of a line, the number of values in it, and how much may be written that is no message at all.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{Mutex as AsyncMutex, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::limits::{LARGE_MESSAGE, LONGEST_MESSAGE, MOST_GARBAGE, MOST_VALUES, beginning};

/// How many messages wait to be handled; then the server has to wait.
const WAITING: usize = 16;

/// The transport.
pub(crate) struct Stdio {
    messages: mpsc::Receiver<ServerJsonRpcMessage>,
    writer: Arc<AsyncMutex<Option<ChildStdin>>>,
    reader: tokio::task::JoinHandle<()>,
}

/// Tells when the server's output has ended, and why.
#[derive(Clone, Default)]
pub(crate) struct OutputEnd {
    token: CancellationToken,
    reason: Arc<Mutex<Option<String>>>,
}

impl OutputEnd {
    /// Waits for the end.
    pub async fn reached(&self) {
        self.token.cancelled().await;
    }

    /// Returns what the server did wrong, if that was why.
    pub fn reason(&self) -> Option<String> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn reach(&self, reason: Option<String>) {
        *self.reason.lock().unwrap_or_else(PoisonError::into_inner) = reason;
        self.token.cancel();
    }
}

impl Stdio {
    /// Takes over the pipes of a process.
    pub fn new(stdin: ChildStdin, stdout: ChildStdout) -> (Self, OutputEnd) {
        let (sender, messages) = mpsc::channel(WAITING);
        let end = OutputEnd::default();
        let told = end.clone();
        let reader = tokio::spawn(async move {
            let reason = read(stdout, &sender).await.err();
            told.reach(reason);
        });
        (Self { messages, writer: Arc::new(AsyncMutex::new(Some(stdin))), reader }, end)
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Transport<RoleClient> for Stdio {
    type Error = std::io::Error;

    fn name() -> Cow<'static, str> {
        "stdio".into()
    }

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let writer = Arc::clone(&self.writer);
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let mut writer = writer.lock().await;
            // A message that is only partly written makes everything after it unreadable, so dropping this future while
            // it writes closes the pipe.
            let mut pipe = writer.take().ok_or(std::io::ErrorKind::BrokenPipe)?;
            pipe.write_all(&line).await?;
            pipe.flush().await?;
            *writer = Some(pipe);
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.messages.recv().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.writer.lock().await.take();
        Ok(())
    }
}

/// Reads messages until the output ends. The error is what the server did wrong.
async fn read(stdout: ChildStdout, messages: &mpsc::Sender<ServerJsonRpcMessage>) -> Result<(), String> {
    let mut stdout = BufReader::with_capacity(64 * 1024, stdout);
    let mut garbage = 0;
    let mut line = Vec::new();
    let mut window = Window::new();
    loop {
        line.clear();
        if !read_line(&mut stdout, &mut line).await? {
            return Ok(());
        }
        let length = line.len();
        let message = if length < LARGE_MESSAGE {
            parse(&line)
        } else {
            let line = std::mem::take(&mut line);
            tokio::task::spawn_blocking(move || parse(&line)).await.unwrap_or_default()
        };
        match message {
            Some(message) => {
                window.wait().await;
                if messages.send(message).await.is_err() {
                    return Ok(());
                }
            }
            None => {
                garbage += length;
                // The others get their turn.
                tokio::task::yield_now().await;
            }
        }
        if garbage > MOST_GARBAGE {
            return Err(format!(
                "it wrote more than {} MB to stdout that are no messages of the protocol",
                MOST_GARBAGE / 1024 / 1024
            ));
        }
    }
}

/// Slows down a server that writes more messages than anyone needs: it has to wait, and the rest of the process does not.
struct Window {
    start: Instant,
    messages: u32,
}

impl Window {
    const LENGTH: Duration = Duration::from_millis(100);
    const MOST: u32 = 500;

    fn new() -> Self {
        Self { start: Instant::now(), messages: 0 }
    }

    async fn wait(&mut self) {
        self.messages += 1;
        if self.messages > Self::MOST {
            tokio::time::sleep_until(self.start + Self::LENGTH).await;
            *self = Self::new();
        }
    }
}

/// Reads a line without its end. Returns whether there was one.
async fn read_line(stdout: &mut BufReader<ChildStdout>, line: &mut Vec<u8>) -> Result<bool, String> {
    loop {
        let Ok(bytes) = stdout.fill_buf().await else { return Ok(false) };
        if bytes.is_empty() {
            return Ok(!line.is_empty());
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let part = &bytes[..end.unwrap_or(bytes.len())];
        if line.len() + part.len() > LONGEST_MESSAGE {
            return Err(format!("it sent a message of more than {} MB", LONGEST_MESSAGE / 1024 / 1024));
        }
        line.extend_from_slice(part);
        let used = end.map_or(bytes.len(), |end| end + 1);
        stdout.consume(used);
        if end.is_some() {
            return Ok(true);
        }
    }
}

/// Returns the message in a line; none if it is none. An answer that cannot be understood is an error for the request that
/// it belongs to, so that nobody waits for it.
pub(crate) fn parse(line: &[u8]) -> Option<ServerJsonRpcMessage> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return None;
    }
    if has_too_many_values(line) {
        let id = answered(line)?;
        let text = format!("it has more than {MOST_VALUES} values");
        return Some(ServerJsonRpcMessage::error(ErrorData::internal_error(text, None), Some(id)));
    }
    let error = match serde_json::from_slice(line) {
        Ok(message) => return Some(message),
        Err(error) => error,
    };
    let value: Value = serde_json::from_slice(line).ok()?;
    if value.get("method").is_some() {
        return None;
    }
    let id = serde_json::from_value(value.get("id")?.clone()).ok()?;
    let text = format!("its answer is not what the protocol says: {}", beginning(&error.to_string(), 300));
    Some(ServerJsonRpcMessage::error(ErrorData::internal_error(text, None), Some(id)))
}

/// Tells whether a text may stand for more values than a message may have.
fn has_too_many_values(line: &[u8]) -> bool {
    line.len() > MOST_VALUES
        && line.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{' | b':')).count() > MOST_VALUES
}

/// Returns the id at the beginning or end of an answer, without parsing the rest.
fn answered(line: &[u8]) -> Option<RequestId> {
    const NEAR: usize = 200;
    let number = |part: &[u8]| {
        let text = String::from_utf8_lossy(part).into_owned();
        let after = text.split("\"id\":").nth(1)?.trim_start();
        let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok().map(RequestId::Number)
    };
    number(&line[..NEAR.min(line.len())]).or_else(|| number(&line[line.len().saturating_sub(NEAR)..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_that_is_not_understood_is_an_error_of_its_request() {
        let line = br#"{"jsonrpc":"2.0","id":7,"error":"this must be an object"}"#;
        let Some(ServerJsonRpcMessage::Error(error)) = parse(line) else { panic!() };
        assert_eq!(error.id, Some(RequestId::Number(7)));
    }

    #[test]
    fn what_is_no_message_is_none() {
        for line in ["", "  ", "Server running on stdio", "{", "null", "[]", r#"{"method": 5}"#] {
            assert!(parse(line.as_bytes()).is_none(), "{line}");
        }
    }

    #[test]
    fn tree_of_too_many_values_is_not_built() {
        let line = format!(r#"{{"jsonrpc":"2.0","id":3,"result":[{}0]}}"#, "[],".repeat(600_000));
        let Some(ServerJsonRpcMessage::Error(error)) = parse(line.as_bytes()) else { panic!() };
        assert_eq!(error.id, Some(RequestId::Number(3)));
    }
}
