//! The records that opi's clients receive later than the engine emits their events.
//!
//! opi's runs are simpler than the engine's: a retry is part of its turn, and a run ends once. So the records of a model
//! response that failed before its first delta wait until it is known whether the request is retried, and then either
//! follow or are dropped; and the end of a series of retries waits for the end of its turn.

use bowline_wire::Record;

/// Decides which records are written now, later or never. It holds no more than the records of one failed response and
/// one end of retries.
#[derive(Debug, Default)]
pub(super) struct HeldBack {
    /// Whether the start of a run was written, but not its end.
    is_running: bool,
    /// Whether the start of a turn was written, but not its end.
    is_in_turn: bool,
    /// The records of a model response that failed before its first delta.
    failed_response: Vec<Record>,
    retry_end: Option<Record>,
}

impl HeldBack {
    /// Writes the start of a run, unless this is another attempt. Then the failed response is dropped: it was retried.
    pub fn start_run(&mut self, record: Record, records: &mut Vec<Record>) {
        if self.is_running {
            self.failed_response.clear();
        } else {
            self.is_running = true;
            records.push(record);
        }
    }

    /// Writes the start of a turn, unless the turn of a failed response continues.
    pub fn start_turn(&mut self, record: Record, records: &mut Vec<Record>) {
        if !self.is_in_turn {
            self.is_in_turn = true;
            records.push(record);
        }
    }

    /// Holds back the start of a response that failed before its first delta, and with it what follows.
    pub fn hold(&mut self, record: Record) {
        self.failed_response.push(record);
    }

    /// Writes a record, or holds it back behind others.
    pub fn write_in_order(&mut self, record: Record, records: &mut Vec<Record>) {
        if self.failed_response.is_empty() {
            records.push(record);
        } else {
            self.failed_response.push(record);
        }
    }

    /// Ends a turn, and then the retries in it.
    pub fn end_turn(&mut self, record: Record, records: &mut Vec<Record>) {
        if self.failed_response.is_empty() {
            self.is_in_turn = false;
        }
        self.write_in_order(record, records);
        records.extend(self.retry_end.take());
    }

    /// Keeps the end of successful retries until the end of their turn.
    pub fn end_successful_retries(&mut self, record: Record, records: &mut Vec<Record>) {
        if self.is_in_turn {
            self.retry_end = Some(record);
        } else {
            records.push(record);
        }
    }

    /// Writes the records of the failed response: it is not retried.
    pub fn release(&mut self, records: &mut Vec<Record>) {
        if !self.failed_response.is_empty() {
            self.is_in_turn = false;
            records.append(&mut self.failed_response);
        }
    }

    /// Ends the run; its own record comes last.
    pub fn end_run(&mut self, record: Record, records: &mut Vec<Record>) {
        self.release(records);
        self.is_running = false;
        records.push(record);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str) -> Record {
        Record::Plain(name.as_bytes().to_vec())
    }

    #[track_caller]
    fn check(records: &[Record], expected: &[&str]) {
        assert_eq!(records, expected.iter().map(|name| record(name)).collect::<Vec<_>>());
    }

    /// Starts a run whose first response fails before its first delta.
    fn failed(records: &mut Vec<Record>) -> HeldBack {
        let mut held_back = HeldBack::default();
        held_back.start_run(record("run"), records);
        held_back.start_turn(record("turn"), records);
        held_back.hold(record("failed start"));
        held_back.write_in_order(record("failed end"), records);
        held_back.end_turn(record("turn end"), records);
        held_back
    }

    #[test]
    fn retried_response_is_dropped_and_its_turn_continues() {
        let mut records = Vec::new();
        let mut held_back = failed(&mut records);
        held_back.start_run(record("run"), &mut records);
        held_back.start_turn(record("turn"), &mut records);
        held_back.write_in_order(record("start"), &mut records);
        held_back.end_successful_retries(record("retry end"), &mut records);
        held_back.end_turn(record("turn end"), &mut records);
        held_back.end_run(record("run end"), &mut records);
        check(&records, &["run", "turn", "start", "turn end", "retry end", "run end"]);
    }

    #[test]
    fn response_that_is_not_retried_precedes_the_end_of_the_run() {
        let mut records = Vec::new();
        let mut held_back = failed(&mut records);
        held_back.end_run(record("run end"), &mut records);
        check(&records, &["run", "turn", "failed start", "failed end", "turn end", "run end"]);
        held_back.start_run(record("next run"), &mut records);
        held_back.start_turn(record("next turn"), &mut records);
        check(&records[6..], &["next run", "next turn"]);
    }
}
