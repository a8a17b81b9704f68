//! What is done with the replies to commands.

use bowline_core::SessionTag;
use bowline_core::command::Command;
use bowline_core::reply::{Answer, Refusal};
use bowline_core::slash_command::SlashCommand;
use bowline_wire::Record;

use super::errors::{Failure, NO_LOGIN};
use super::expected::{AfterClose, Expected};
use super::results::{Empty, SteeringResult};
use super::{Acp, extension_methods, records, session_list};

impl Acp {
    pub(super) fn replied(
        &mut self,
        tag: SessionTag,
        expected: Expected,
        result: &Result<Answer, Refusal>,
        records: &mut Vec<Record>,
    ) {
        let refused = |client: &bowline_core::command::Origin| {
            result.as_ref().err().and_then(|refusal| Failure::from(refusal).answer(client))
        };
        match (expected, result) {
            (Expected::Opened, _) => self.opened(tag, result, records),
            (Expected::Opening(step), _) => self.opening_step(tag, step, result, records),
            (Expected::Turn, _) => self.turn_over(tag, result, records),
            (Expected::Commands, Ok(Answer::Commands(commands))) => {
                self.commands_found(tag, commands, records);
            }
            (Expected::OptionSet { client, method }, Ok(_)) => {
                self.carry_out(tag, Command::GetState, Expected::StateAfter { client, method });
            }
            (Expected::StateAfter { client, method }, Ok(Answer::State(state))) => {
                if let Some(seat) = self.seats.get_mut(tag) {
                    seat.take_state(state);
                }
                self.option_is_set(tag, &client, method, records);
            }
            (Expected::Listed { client }, Ok(Answer::Sessions(page))) => {
                records.extend(records::result(&client, &session_list::listed(page)));
            }
            (Expected::FileToOpen { wanted }, result) => {
                let found = match result {
                    Ok(Answer::Sessions(page)) => Ok(page.sessions.as_slice()),
                    Ok(_) => Ok(&[][..]),
                    Err(refusal) => Err(Failure::from(refusal)),
                };
                self.file_found(*wanted, found, records);
            }
            (Expected::FileToDelete { client, id }, Ok(Answer::Sessions(page))) => {
                self.file_to_delete(client, &id, &page.sessions, records);
            }
            (Expected::Deleted { client }, Ok(_)) => records.extend(records::result(&client, &Empty {})),
            (Expected::Closed { tag, then }, _) => self.closed(tag, then, records),
            (Expected::Extension { client }, result) => {
                records.extend(extension_methods::answer(&client, result));
            }
            (Expected::Steered { client, was_running }, Ok(_)) => {
                let outcome = if was_running { "injected" } else { "startedNewTurn" };
                records.extend(records::result(&client, &SteeringResult { outcome, reason: None }));
            }
            (Expected::Authenticated { client }, Ok(Answer::Models(models))) => {
                records.extend(if models.is_empty() {
                    let text =
                        "no key was found: set a variable such as ANTHROPIC_API_KEY, or run bowline auth set";
                    Failure::new(NO_LOGIN, text).answer(&client)
                } else {
                    self.is_logged_out = false;
                    records::result(&client, &Empty {})
                });
            }
            (
                Expected::OptionSet { client, .. }
                | Expected::StateAfter { client, .. }
                | Expected::Listed { client, .. }
                | Expected::FileToDelete { client, .. }
                | Expected::Deleted { client }
                | Expected::Steered { client, .. }
                | Expected::Authenticated { client },
                _,
            ) => records.extend(refused(&client)),
            (Expected::Nothing | Expected::Commands, _) => {}
        }
    }

    /// A session is closed: it is gone for the client.
    fn closed(&mut self, tag: SessionTag, then: AfterClose, records: &mut Vec<Record>) {
        let later = self.seats.remove(tag).map(|seat| seat.later).unwrap_or_default();
        match then {
            AfterClose::Nothing => {}
            AfterClose::Answer(client) => records.extend(records::result(&client, &Empty {})),
            AfterClose::Delete { client, id } => self.find_to_delete(client, id),
        }
        self.carry_out_later(later, records);
    }

    /// Tells the client which commands there are, if these are others than it knows.
    fn commands_found(&mut self, tag: SessionTag, commands: &[SlashCommand], records: &mut Vec<Record>) {
        if let Some(seat) = self.seats.get_mut(tag).filter(|seat| seat.commands != commands) {
            seat.commands = commands.to_vec();
            seat.show_commands(records);
        }
    }
}
