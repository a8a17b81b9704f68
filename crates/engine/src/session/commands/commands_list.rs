//! The commands that a prompt can name.

use bowline_core::command::Origin;
use bowline_core::reply::{Answer, Refusal, RefusalCode};

use crate::local_commands;
use crate::pending::JobOrder;
use crate::session::Session;

impl Session {
    /// Replies with the commands that a prompt can name: those of extensions, then templates and skills, for which files
    /// are read.
    pub(super) fn get_commands(&mut self, origin: Origin) {
        let mut commands = Vec::new();
        commands.extend(local_commands::listed(self.agent.policy().slash_commands));
        commands.extend(self.extensions.commands().iter().cloned());
        let resources = self.instructions.resources().clone();
        if resources.is_none() {
            return self.reply(origin, Ok(Answer::Commands(commands)));
        }
        let directory = self.transcript.working_directory().to_owned();
        self.reply_later(origin, JobOrder::Beside, async move {
            let found = tokio::task::spawn_blocking(move || resources.commands(&directory)).await;
            let failed = |_| Refusal::new(RefusalCode::Internal, "the commands could not be listed");
            commands.extend(found.map_err(failed)?);
            Ok(Answer::Commands(commands))
        });
    }
}
