//! Paging through the messages of a conversation that stays the same meanwhile.

use std::io;
use std::sync::Arc;

use bowline_core::message::Message;
use bowline_core::reply::{Answer, MessagesPage, Refusal, RefusalCode};

use crate::session::Session;

/// The most that the messages of a page take as JSON, unless the first one alone takes more.
const PAGE_BYTES: usize = 768 * 1024;

impl Session {
    /// Returns the messages after a cursor, oldest first.
    pub(super) fn messages_page(&self, cursor: Option<&str>, limit: usize) -> Result<Answer, Refusal> {
        if !self.activity.is_idle() {
            let text = "Cannot page messages while the session is changing";
            return Err(Refusal::new(RefusalCode::SessionBusy, text));
        }
        let messages = self.transcript.messages();
        let snapshot = self.snapshot();
        let start = match cursor {
            Some(cursor) => position(cursor, &snapshot, messages.len())?,
            None => 0,
        };
        let page = first_page(&messages[start..], limit);
        let end = start + page.len();
        Ok(Answer::MessagesPage(MessagesPage {
            messages: page.to_vec(),
            next_cursor: (end < messages.len()).then(|| format!("{end}/{snapshot}")),
            total: messages.len(),
        }))
    }

    /// Names the conversation as it is: it changes with every entry of the session.
    fn snapshot(&self) -> String {
        let leaf = self.transcript.leaf();
        let count = self.transcript.messages().len();
        format!("{count}/{}/{}", leaf.as_deref().unwrap_or_default(), self.id())
    }
}

/// Returns the place in the conversation that a cursor names.
fn position(cursor: &str, snapshot: &str, count: usize) -> Result<usize, Refusal> {
    let invalid = || Refusal::new(RefusalCode::InvalidArgument, "Invalid RPC message cursor");
    let (start, rest) = cursor.split_once('/').ok_or_else(invalid)?;
    let start: usize = start.parse().map_err(|_| invalid())?;
    if rest != snapshot {
        return Err(Refusal::new(RefusalCode::StaleCursor, "RPC message cursor is stale"));
    }
    if start > count { Err(invalid()) } else { Ok(start) }
}

/// Returns as many messages from the front as fit a page, and at least one if there is any.
fn first_page(messages: &[Arc<Message>], limit: usize) -> &[Arc<Message>] {
    let (mut count, mut bytes) = (0, 0);
    while count < messages.len() && count < limit {
        bytes += json_length(&messages[count]);
        if count > 0 && bytes > PAGE_BYTES {
            break;
        }
        count += 1;
    }
    &messages[..count]
}

/// Returns the length of a message as JSON.
fn json_length(message: &Message) -> usize {
    let mut length = Length(0);
    // A message that cannot be encoded would fail the reply as well.
    let _ = serde_json::to_writer(&mut length, message);
    length.0
}

/// Counts what is written.
struct Length(usize);

impl io::Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_ends_at_its_limit_or_its_size_and_is_never_empty() {
        let message = |length: usize| Arc::new(Message::user("x".repeat(length), Vec::new(), 0));
        let small: Vec<_> = (0..5).map(|_| message(10)).collect();
        assert_eq!(first_page(&small, 2).len(), 2);
        assert_eq!(first_page(&small, 9).len(), 5);
        assert!(first_page(&[], 9).is_empty());
        let large: Vec<_> = (0..5).map(|_| message(300 * 1024)).collect();
        assert_eq!(first_page(&large, 9).len(), 2);
        assert_eq!(first_page(&[message(PAGE_BYTES), message(1)], 9).len(), 1);
    }

    #[test]
    fn cursor_of_another_conversation_is_stale_and_any_other_text_is_invalid() {
        let code = |cursor| position(cursor, "4/leaf/id", 4).unwrap_err().code;
        assert_eq!(position("2/4/leaf/id", "4/leaf/id", 4).unwrap(), 2);
        assert_eq!(code("2/5/leaf/id"), RefusalCode::StaleCursor);
        for cursor in ["", "x", "x/4/leaf/id", "5/4/leaf/id"] {
            assert_eq!(code(cursor), RefusalCode::InvalidArgument, "{cursor}");
        }
    }
}
