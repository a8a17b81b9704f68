//! Turns: prompts wait in line, each has its own answer.

use bowline_core::command::{Command, Draft, Origin};
use bowline_core::event::RunOutcome;
use bowline_core::reply::{Answer, Refusal, RefusalCode};
use bowline_core::usage::Usage;
use bowline_core::{ErrorKind, SessionTag};
use bowline_wire::Record;
use serde_json::Value;

use super::errors::Failure;
use super::expected::Expected;
use super::results::{PromptResult, TurnUsage, Update};
use super::{Acp, records};

/// The longest title that a first message gives to a session.
const LONGEST_TITLE: usize = 80;

impl Acp {
    /// Starts a turn, or has the prompt wait for the turns before it.
    pub(super) fn prompt(
        &mut self,
        tag: SessionTag,
        client: Origin,
        message: Draft,
        records: &mut Vec<Record>,
    ) {
        let Some(seat) = self.seats.get_mut(tag) else { return };
        if !std::mem::replace(&mut seat.has_title, true) {
            let line = message.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            let title: String = line.trim().chars().take(LONGEST_TITLE).collect();
            records.push(records::update(
                &seat.id,
                &Update::SessionInfo { title: Some(&title), updated_at: None },
            ));
        }
        if seat.is_busy() {
            seat.waiting.push_back((client, message));
            return;
        }
        seat.running = Some(client);
        seat.sent = Some(message.clone());
        seat.turn_usage = Usage::default();
        self.carry_out(tag, Command::Prompt { message, when_busy: None }, Expected::Turn);
    }

    /// The turn of a prompt is over, or never began.
    pub(super) fn turn_over(
        &mut self,
        tag: SessionTag,
        result: &Result<Answer, Refusal>,
        records: &mut Vec<Record>,
    ) {
        let Some(seat) = self.seats.get_mut(tag) else { return };
        seat.end_calls(records);
        let Some(client) = seat.running.take() else { return };
        let sent = seat.sent.take();
        // A run that something else has just begun: the prompt goes on waiting, like all that come during a run.
        if let (Err(Refusal { code: RefusalCode::Busy, .. }), Some(message)) = (result, sent) {
            return seat.waiting.push_front((client, message));
        }
        let is_cut_off = std::mem::take(&mut seat.is_cut_off);
        seat.show_time(records);
        let usage = TurnUsage::of(&seat.turn_usage);
        let stop = |stop_reason, usage| records::result(&client, &PromptResult { stop_reason, usage });
        records.extend(match result {
            Ok(Answer::RunOver(RunOutcome::Aborted)) => stop("cancelled", None),
            Err(Refusal { code: RefusalCode::Cancelled | RefusalCode::ShuttingDown, .. }) => {
                stop("cancelled", None)
            }
            Ok(Answer::RunOver(RunOutcome::Failed(failure))) if failure.kind == ErrorKind::TooManyTurns => {
                stop("max_turn_requests", usage)
            }
            Ok(Answer::RunOver(outcome)) => match Failure::of_run(outcome) {
                Some(failure) => failure.answer(&client),
                None => stop(if is_cut_off { "max_tokens" } else { "end_turn" }, usage),
            },
            Ok(_) => stop("end_turn", None),
            Err(refusal) => Failure::from(refusal).answer(&client),
        });
        seat.turns += 1;
        // Servers and extensions are ready by now, and may have brought commands.
        if seat.turns == 1 {
            self.carry_out(tag, Command::GetCommands, Expected::Commands);
        }
        self.next_prompt(tag, records);
    }

    /// Starts the turn of the prompt that waits longest, if nothing is in progress.
    pub(super) fn next_prompt(&mut self, tag: SessionTag, records: &mut Vec<Record>) {
        let Some(seat) = self.seats.get_mut(tag).filter(|seat| !seat.is_busy()) else { return };
        if let Some((client, message)) = seat.waiting.pop_front() {
            self.prompt(tag, client, message, records);
        }
    }

    /// Cancels the turn and the prompts that wait.
    pub(super) fn cancel(&mut self, tag: SessionTag, records: &mut Vec<Record>) {
        let Some(seat) = self.seats.get_mut(tag) else { return };
        for (client, _) in seat.waiting.drain(..) {
            records.extend(cancelled(&client));
        }
        // Also a run that no prompt has started.
        if seat.is_busy() {
            self.set(tag, Command::Abort);
        }
    }

    /// Cancels a request by its id. What is no prompt is answered soon in any case.
    pub(super) fn cancel_request(&mut self, id: &Value, records: &mut Vec<Record>) {
        let is_meant = |origin: &Origin| {
            origin
                .id
                .as_deref()
                .and_then(|text| serde_json::from_str::<Value>(text).ok())
                .is_some_and(|value| value == *id)
        };
        let mut running = None;
        for (tag, seat) in self.seats.iter_mut() {
            if seat.running.as_ref().is_some_and(is_meant) {
                running = Some(tag);
            }
            if let Some(place) = seat.waiting.iter().position(|(origin, _)| is_meant(origin))
                && let Some((client, _)) = seat.waiting.remove(place)
            {
                records.extend(cancelled(&client));
            }
        }
        if let Some(tag) = running {
            self.set(tag, Command::Abort);
        }
    }
}

/// Encodes the answer to a prompt that was cancelled.
fn cancelled(client: &Origin) -> Option<Record> {
    records::result(client, &PromptResult { stop_reason: "cancelled", usage: None })
}
