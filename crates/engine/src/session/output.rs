//! The output of a run: its last answer is checked against the schema of the prompt, and asked for again if it is wrong.

use bowline_core::ErrorKind;
use bowline_core::command::Draft;
use bowline_core::event::{Event, Failure, RunOutcome};
use bowline_core::message::{Content, CustomMessage, Message};
use bowline_core::reply::{Refusal, RefusalCode};
use bowline_json_schema::SchemaError;

use super::{Continuation, Session};
use crate::expected_output::{ExpectedOutput, correction, listed};
use crate::run::{AfterAttempt, Run, TurnEnd};

/// The type of the messages that tell the model what is wrong with its output.
const CORRECTION: &str = "output-correction";

/// How much of the problems the error of a run repeats.
const SHOWN_PROBLEMS: usize = 1000;

impl Session {
    /// Refuses a message with a schema that answers cannot be checked against.
    pub(super) fn check_output_request(message: &Draft) -> Result<(), Refusal> {
        let Some(request) = &message.output else { return Ok(()) };
        ExpectedOutput::new(request).map(|_| ()).map_err(|error| unusable_schema(&error))
    }

    /// Has the run end with what its latest prompt asks for.
    pub(super) fn expect_output_of(&mut self, message: &Draft) {
        // The schema was checked when the message arrived.
        let expected = message.output.as_ref().and_then(|request| ExpectedOutput::new(request).ok());
        if let Some(run) = self.run_mut() {
            run.expect_output(expected);
        }
    }

    pub(super) fn expects_output(&self) -> bool {
        self.run().is_some_and(|run| run.output().is_some())
    }

    /// Checks an answer that would end the work on its prompt, and goes on as follows from that.
    pub(super) fn check_output(&mut self, message: &Message) {
        let expected = self.run_mut().and_then(Run::output_mut);
        let (Some(expected), Some(answer)) = (expected, message.as_assistant()) else {
            return self.go_on_after_answer();
        };
        let checked = expected.check(answer);
        let (attempt, max_attempts) = (checked.attempt, checked.max_attempts);
        self.emit(Event::OutputChecked { attempt, max_attempts, result: checked.result.clone() });
        let Err(problems) = &checked.result else { return self.go_on_after_answer() };
        if checked.is_last() || self.shutting_down {
            return self.fail_turn(&wrong_output(&listed(problems), attempt));
        }
        self.end_attempt(AfterAttempt::Retry);
        let text = correction(&checked, problems);
        self.record_hidden(CustomMessage {
            custom_type: CORRECTION.to_owned(),
            content: vec![Content::text(format!("<system-reminder>\n{text}\n</system-reminder>"))].into(),
            display: false,
            details: None,
            timestamp: self.now(),
        });
        self.emit(Event::RunStart);
        self.compact_if_full(Continuation::NextTurn(TurnEnd::ToolResults));
    }

    /// Takes up the queued messages that wait for the end of the work on a prompt, or ends the run.
    fn go_on_after_answer(&mut self) {
        if self.next_queue(TurnEnd::Answer).is_some() {
            self.compact_if_full(Continuation::NextTurn(TurnEnd::Answer));
        } else {
            self.end_run(RunOutcome::Done);
        }
    }

    /// Returns the failure of a run that would end well without the output that it was to have: an extension has stopped it,
    /// or its answer was truncated.
    pub(super) fn missing_output(&self, outcome: &RunOutcome) -> Option<Failure> {
        let is_missing = self.run().and_then(Run::output).is_some_and(|expected| expected.value().is_none());
        let text = "the run ended before there was an output that satisfies the schema";
        (*outcome == RunOutcome::Done && is_missing).then(|| Failure::new(ErrorKind::InvalidOutput, text))
    }
}

/// Returns the refusal of a schema that answers cannot be checked against.
pub(super) fn unusable_schema(error: &SchemaError) -> Refusal {
    let text = format!("\"outputSchema\" cannot be used: {error}");
    Refusal::new(RefusalCode::InvalidArgument, text)
}

/// Returns the failure of a run whose output is wrong.
fn wrong_output(problems: &str, attempts: u32) -> Failure {
    let (answers, are) = if attempts == 1 { ("answer", "is") } else { ("answers", "are") };
    let shown: String = problems.chars().take(SHOWN_PROBLEMS).collect();
    let text = format!(
        "{attempts} {answers} of the model {are} not the output that was asked for. In the last one:\n{shown}"
    );
    Failure::new(ErrorKind::InvalidOutput, text)
}
