//! Completions of the arguments of slash commands. Only those of extensions have any.

use bowline_core::command::Origin;
use bowline_core::reply::Answer;
use tokio_util::sync::CancellationToken;

use crate::pending::JobOrder;
use crate::session::Session;

impl Session {
    /// Replies with what can follow the name of a command, instead of `prefix`. An extension has a moment to answer.
    pub(super) fn get_completions(&mut self, origin: Origin, command: &str, prefix: &str) {
        let Some((extension, name)) = self.extensions.command(command.trim_start_matches('/')) else {
            return self.reply(origin, Ok(Answer::Completions(Vec::new())));
        };
        let completions = extension.complete(&name, prefix, CancellationToken::new());
        self.reply_later(origin, JobOrder::Beside, async { Ok(Answer::Completions(completions.await)) });
    }
}
