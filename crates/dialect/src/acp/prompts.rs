//! Turns: prompts wait in line, each has its own answer.

use bowline_core::SessionTag;
use bowline_core::command::{Command, Draft, Origin};
use bowline_core::event::RunOutcome;
use bowline_core::reply::{Answer, Refusal, RefusalCode};
use bowline_wire::Record;
use serde_json::Value;

use super::errors::Failure;
use super::expected::Expected;
use super::results::{PromptResult, Update};
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
            records.push(records::update(&seat.id, &Update::SessionInfo { title: Some(&title) }));
        }
        if seat.running.is_some() {
            seat.waiting.push_back((client, message));
            return;
        }
        seat.running = Some(client);
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
        let is_cut_off = std::mem::take(&mut seat.is_cut_off);
        let stop = |stop_reason| records::result(&client, &PromptResult { stop_reason });
        records.extend(match result {
            Ok(Answer::RunOver(RunOutcome::Aborted)) => stop("cancelled"),
            Err(Refusal { code: RefusalCode::Cancelled | RefusalCode::ShuttingDown, .. }) => {
                stop("cancelled")
            }
            Ok(Answer::RunOver(outcome)) => match Failure::of_run(outcome) {
                Some(failure) => failure.answer(&client),
                None => stop(if is_cut_off { "max_tokens" } else { "end_turn" }),
            },
            Ok(_) => stop("end_turn"),
            Err(refusal) => Failure::from(refusal).answer(&client),
        });
        if let Some((client, message)) = seat.waiting.pop_front() {
            self.prompt(tag, client, message, records);
        }
    }

    /// Cancels the turn and the prompts that wait.
    pub(super) fn cancel(&mut self, tag: SessionTag, records: &mut Vec<Record>) {
        let Some(seat) = self.seats.get_mut(tag) else { return };
        for (client, _) in seat.waiting.drain(..) {
            records.extend(records::result(&client, &PromptResult { stop_reason: "cancelled" }));
        }
        if seat.running.is_some() {
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
                records.extend(records::result(&client, &PromptResult { stop_reason: "cancelled" }));
            }
        }
        if let Some(tag) = running {
            self.set(tag, Command::Abort);
        }
    }
}
