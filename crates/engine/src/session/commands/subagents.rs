//! Commands about subagents.

use std::path::PathBuf;

use bowline_core::command::{Origin, SubagentName};
use bowline_core::reply::{Answer, Refusal, RefusalCode, SubagentMessages};
use bowline_core::subagent::Subscription;
use bowline_session::{Part, read_part};

use crate::agent::session_unavailable;
use crate::pending::JobOrder;
use crate::session::Session;

/// About how much of a file one reply returns, in bytes.
const PART: u64 = 768 * 1024;

impl Session {
    pub(super) fn subscribe_to_subagents(&mut self, level: Subscription) -> Answer {
        self.subagents.place.watch.set(level);
        Answer::SubagentSubscription(level)
    }

    /// Replies with a part of a subagent's file, which is read in the background.
    pub(super) fn subagent_messages(&mut self, origin: Origin, subagent: SubagentName, from_byte: u64) {
        let file = match self.subagent_file(subagent) {
            Ok(file) => file,
            Err(text) => {
                return self.reply(origin, Err(Refusal::new(RefusalCode::InvalidArgument, text)));
            }
        };
        self.reply_later(origin, JobOrder::Beside, async move {
            let reading = tokio::task::spawn_blocking(move || (read_part(&file, from_byte, PART), file));
            let (part, session_file) = reading
                .await
                .map_err(|error| Refusal::new(RefusalCode::Internal, format!("Internal error: {error}")))?;
            let Part { from, next, is_reset, entries, messages } = part.map_err(session_unavailable)?;
            Ok(Answer::SubagentMessages(SubagentMessages {
                session_file,
                from_byte: from,
                next_byte: next,
                is_reset,
                entries,
                messages,
            }))
        });
    }

    /// Returns the file of a subagent of this session. No other file can be read this way.
    fn subagent_file(&self, subagent: SubagentName) -> Result<PathBuf, String> {
        match subagent {
            SubagentName { id: Some(id), .. } => {
                let file = self.subagents.file_of(&id);
                file.ok_or_else(|| format!("Unknown subagent or session file unavailable: {id}"))
            }
            SubagentName { session_file: Some(file), .. } if self.subagents.has_file(&file) => Ok(file),
            SubagentName { session_file: Some(_), .. } => Err("Unknown subagent session file".to_owned()),
            SubagentName { .. } => Err("get_subagent_messages requires subagentId or sessionFile".to_owned()),
        }
    }
}
