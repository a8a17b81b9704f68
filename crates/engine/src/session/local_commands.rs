//! Prompts that name a command which the agent carries out itself. Such a prompt becomes the command that it stands for;
//! when that is replied to, the user reads its result, and the prompt is replied to.

use std::sync::Arc;

use bowline_core::command::{Command, Origin, Request};
use bowline_core::event::{Event, LocalEvent};
use bowline_core::policy::{PromptAnswer, SlashCommands};
use bowline_core::reply::{Answer, Disposition, Refusal};

use super::Session;
use crate::local_commands::{self, LocalCommand, Meaning};

/// The prompts that are being carried out as commands.
#[derive(Debug, Default)]
pub(crate) struct LocalCommands {
    count: u64,
    in_progress: Vec<InProgress>,
}

#[derive(Debug)]
struct InProgress {
    command: LocalCommand,
    /// The prompt.
    origin: Origin,
    /// Marks the origin of the command, because clients may send prompts without an id.
    mark: Arc<str>,
    is_replied: bool,
}

impl LocalCommands {
    /// Forgets all of them, because their prompts were replied to in another way.
    pub fn clear(&mut self) {
        self.in_progress.clear();
    }

    fn start(&mut self, command: LocalCommand, origin: Origin, is_replied: bool) -> Origin {
        self.count += 1;
        let mark: Arc<str> = format!("local {}", self.count).into();
        let marked = Origin { echo: Some(Arc::clone(&mark)), ..origin.clone() };
        self.in_progress.push(InProgress { command, origin, mark, is_replied });
        marked
    }

    fn finish(&mut self, origin: &Origin) -> Option<InProgress> {
        if self.in_progress.is_empty() {
            return None;
        }
        let index = self.in_progress.iter().position(|local| origin.echo.as_ref() == Some(&local.mark))?;
        Some(self.in_progress.swap_remove(index))
    }
}

impl Session {
    /// Returns the request to carry out: the given one, or the command that its prompt stands for. `None` if the prompt
    /// was replied to.
    pub(super) fn local_command(&mut self, request: Request) -> Option<Request> {
        let Command::Prompt { message, .. } = &request.command else { return Some(request) };
        if self.agent.policy().slash_commands == SlashCommands::Sent || !message.images.is_empty() {
            return Some(request);
        }
        match local_commands::meaning(&message.text, self.agent.policy().slash_commands) {
            None => Some(request),
            Some(Meaning::Note(text)) => {
                self.emit(Event::Local(LocalEvent::Output(text)));
                self.reply(request.origin, Ok(handled()));
                None
            }
            Some(Meaning::Command(local, command)) => {
                let is_replied =
                    local.takes_long() && self.agent.policy().prompt_answer != PromptAnswer::OnSettled;
                if is_replied {
                    self.reply(request.origin.clone(), Ok(handled()));
                }
                let origin = self.local_commands.start(local, request.origin, is_replied);
                Some(Request { origin, command })
            }
        }
    }

    /// Ends a prompt whose command is done. Returns the reply if it is to another command.
    pub(super) fn local_command_done(
        &mut self,
        origin: Origin,
        result: Result<Answer, Refusal>,
    ) -> Option<(Origin, Result<Answer, Refusal>)> {
        let Some(local) = self.local_commands.finish(&origin) else { return Some((origin, result)) };
        let text = local.command.text(&result);
        if !text.is_empty() {
            self.emit(Event::Local(LocalEvent::Output(text)));
        }
        match (local.command, &result) {
            (LocalCommand::New, Ok(Answer::SessionSwitched)) | (LocalCommand::Rename, Ok(_)) => {
                self.emit(Event::Local(LocalEvent::SessionInfo {
                    id: self.id().to_owned(),
                    name: self.transcript.file().name().map(ToOwned::to_owned),
                }));
            }
            (LocalCommand::Model, Ok(Answer::Model(model))) => {
                self.emit(Event::Local(LocalEvent::Configuration {
                    model: Arc::clone(model),
                    thinking_level: self.models.level(),
                }));
            }
            _ => {}
        }
        if !local.is_replied {
            self.reply(local.origin, Ok(handled()));
        }
        None
    }
}

fn handled() -> Answer {
    Answer::Accepted(Disposition::Handled)
}
