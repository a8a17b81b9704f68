//! The grammar of a run in the dialect `pi`: which record may follow which, and what must have an end.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

/// How many records before the wrong one a failing test shows, and how much of each.
const SHOWN_RECORDS: usize = 12;
const SHOWN_LENGTH: usize = 200;

/// Panics unless the records are a sequence of complete runs, with responses and other records anywhere between.
///
/// Each run is one or more attempts from `agent_start` to `agent_end`, joined by retries and compactions, and ends in
/// exactly one `agent_settled` that agrees with the last answer. In an attempt every `turn_start` has a `turn_end`, every
/// `message_start` a `message_end`, every tool call an end and a result in the order of the calls, and the deltas of a
/// block add up to the block. A compaction is never in a turn, the run pauses meanwhile, and its end has a result, is
/// aborted or has an error. Retries of a summary request end before the compaction does.
#[track_caller]
pub fn assert_well_formed(records: &[Value]) {
    let mut grammar = Grammar::default();
    for (position, record) in records.iter().enumerate() {
        if let Err(problem) = grammar.take(record) {
            panic!("{problem}\n{}", show(records, position));
        }
    }
    let last = records.len().saturating_sub(1);
    assert!(!grammar.is_running, "the last run is not settled\n{}", show(records, last));
    assert!(grammar.compaction.is_none(), "the last compaction has no end\n{}", show(records, last));
    assert!(grammar.summary.is_none(), "the last retries of a summary have no end\n{}", show(records, last));
}

type Checked = Result<(), String>;

#[derive(Default)]
struct Grammar {
    is_running: bool,
    is_in_attempt: bool,
    /// Whether the last attempt announced another one.
    will_retry: bool,
    /// The number of the scheduled or running retry.
    retry: Option<u64>,
    /// Whether a retry was announced and has not started.
    is_retry_due: bool,
    /// Whether the last answer was not the output that was asked for.
    is_output_wrong: bool,
    /// The running retries of a summary request.
    summary: Option<SummaryRetries>,
    /// The reason of the running compaction.
    compaction: Option<String>,
    /// Whether a compaction followed the last attempt, so that queued messages may start another one.
    may_continue: bool,
    turn: Option<Turn>,
    last_answer: Value,
}

struct SummaryRetries {
    attempt: u64,
    /// Whether the retry was announced and has not started.
    is_due: bool,
}

#[derive(Default)]
struct Turn {
    message: Option<Open>,
    calls: Vec<Call>,
    results: Vec<String>,
}

struct Call {
    id: String,
    has_ended: bool,
}

/// A message that has started and not ended.
struct Open {
    role: String,
    deltas: BTreeMap<usize, String>,
}

impl Grammar {
    fn take(&mut self, record: &Value) -> Checked {
        let kind = record["type"].as_str().unwrap_or_default();
        let prefixes = ["agent_", "turn_", "message_", "tool_", "auto_"];
        let is_mixed_in = prefixes.iter().any(|start| kind.starts_with(start));
        check(!(is_mixed_in && self.compaction.is_some()), "the run continues during a compaction")?;
        match kind {
            "agent_start" => self.start_attempt(),
            "agent_end" => self.end_attempt(record),
            "auto_retry_start" => self.announce_retry(record),
            "auto_retry_end" => self.end_retries(record),
            "agent_settled" => self.settle(record),
            "output_checked" => self.check_output(record),
            "todo_reminder" => self.announce_reminder(record),
            "entry_appended" => self.append_entry(record),
            "summarization_retry_scheduled" => self.announce_summary_retry(record),
            "summarization_retry_attempt_start" => self.start_summary_retry(record),
            "summarization_retry_finished" => {
                self.summary.take().map(|_| ()).ok_or_else(|| "retries end that did not start".to_owned())
            }
            "compaction_start" => self.start_compaction(record),
            "compaction_end" => self.end_compaction(record),
            "turn_start" => self.start_turn(),
            "turn_end" => self.end_turn(record),
            "message_start" => self.start_message(record),
            "message_update" => self.update_message(&record["assistantMessageEvent"]),
            "message_end" => self.end_message(&record["message"]),
            "tool_execution_start" => self.start_call(record),
            "tool_execution_update" => self.open_call(record).map(|_| ()),
            "tool_execution_end" => {
                self.open_call(record)?.has_ended = true;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn start_attempt(&mut self) -> Checked {
        check(!self.is_in_attempt, "agent_start before the agent_end of the previous attempt")?;
        let is_due = self.is_retry_due || self.may_continue;
        check(self.is_running == is_due, "agent_start in a run without a scheduled retry")?;
        self.is_running = true;
        self.is_in_attempt = true;
        self.is_output_wrong = false;
        self.is_retry_due = false;
        self.may_continue = false;
        Ok(())
    }

    fn end_attempt(&mut self, record: &Value) -> Checked {
        check(self.is_in_attempt, "agent_end without agent_start")?;
        check(self.turn.is_none(), "agent_end in an open turn")?;
        self.is_in_attempt = false;
        self.will_retry = record["willRetry"].as_bool().ok_or("agent_end without willRetry")?;
        let is_interrupted = text(&self.last_answer["errorMessage"]).starts_with("TTSR matched rule");
        if self.will_retry && (is_interrupted || self.is_output_wrong) {
            (self.will_retry, self.is_retry_due) = (false, true);
        }
        Ok(())
    }

    fn check_output(&mut self, record: &Value) -> Checked {
        check(self.is_in_attempt && self.turn.is_none(), "an output is checked after its turn")?;
        check(record["attempt"].as_u64() <= record["maxAttempts"].as_u64(), "more answers than allowed")?;
        let is_valid = record["valid"] == true;
        let has_problems = record["problems"].as_array().is_some_and(|problems| !problems.is_empty());
        check(is_valid != has_problems, "an output is valid or has problems")?;
        self.is_output_wrong = !is_valid;
        Ok(())
    }

    fn announce_reminder(&mut self, record: &Value) -> Checked {
        check(self.will_retry, "todo_reminder that no agent_end announced")?;
        check(record["attempt"].as_u64() <= record["maxAttempts"].as_u64(), "more reminders than allowed")?;
        (self.will_retry, self.is_retry_due) = (false, true);
        Ok(())
    }

    fn announce_retry(&mut self, record: &Value) -> Checked {
        check(self.will_retry, "auto_retry_start that no agent_end announced")?;
        let expected = self.retry.unwrap_or(0) + 1;
        check(record["attempt"] == expected, "the attempts do not count up from 1")?;
        self.will_retry = false;
        self.is_retry_due = true;
        self.retry = Some(expected);
        Ok(())
    }

    fn end_retries(&mut self, record: &Value) -> Checked {
        let attempt = self.retry.take().ok_or("auto_retry_end without auto_retry_start")?;
        check(record["attempt"] == attempt, "auto_retry_end of another attempt")?;
        let has_succeeded = record["success"] == true;
        check(has_succeeded == record["finalError"].is_null(), "finalError must go with a failure")?;
        check(!has_succeeded || self.is_in_attempt, "a retry succeeds without an answer")?;
        self.is_retry_due = false;
        Ok(())
    }

    fn append_entry(&mut self, record: &Value) -> Checked {
        if matches!(text(&record["entry"]["type"]), "custom" | "custom_message") {
            // An extension that adds an entry after an attempt may go on with the run.
            self.may_continue |= self.is_running && !self.is_in_attempt;
            return Ok(());
        }
        check(
            record["entry"]["type"] == "context_edit",
            "entry_appended of an entry that another record reports",
        )?;
        check(self.is_running && !self.is_in_attempt, "an answer leaves the context within an attempt")?;
        check(self.compaction.is_none(), "the context changes during a compaction")
    }

    fn announce_summary_retry(&mut self, record: &Value) -> Checked {
        check(self.turn.is_none(), "a summary in an open turn")?;
        let last = self.summary.take().unwrap_or(SummaryRetries { attempt: 0, is_due: false });
        check(!last.is_due, "an announced retry did not start")?;
        check(record["attempt"] == last.attempt + 1, "the attempts do not count up from 1")?;
        self.summary = Some(SummaryRetries { attempt: last.attempt + 1, is_due: true });
        Ok(())
    }

    fn start_summary_retry(&mut self, record: &Value) -> Checked {
        let retries = self.summary.as_mut().filter(|retries| retries.is_due);
        retries.ok_or("a retry starts that was not announced")?.is_due = false;
        let source = if self.compaction.is_some() { "compaction" } else { "branchSummary" };
        check(record["source"] == source, "the summary is for something else")?;
        check(record["reason"].as_str() == self.compaction.as_deref(), "the compaction has another reason")
    }

    fn start_compaction(&mut self, record: &Value) -> Checked {
        check(self.compaction.is_none(), "compaction_start in a compaction")?;
        check(self.turn.is_none(), "compaction_start in an open turn")?;
        let reason = text(&record["reason"]);
        let is_in_place = match reason {
            "manual" => !self.is_running,
            "threshold" => !self.will_retry,
            "overflow" => {
                let reason = &self.last_answer["stopReason"];
                self.is_running && !self.is_in_attempt && (reason == "error" || reason == "length")
            }
            _ => false,
        };
        check(is_in_place, "a compaction for this reason is not allowed here")?;
        self.compaction = Some(reason.to_owned());
        Ok(())
    }

    fn end_compaction(&mut self, record: &Value) -> Checked {
        let reason = self.compaction.take().ok_or("compaction_end without compaction_start")?;
        check(self.summary.is_none(), "compaction_end before summarization_retry_finished")?;
        check(record["reason"] == *reason, "compaction_end for another reason")?;
        let has_result = record["result"].is_object();
        let is_aborted = record["aborted"].as_bool().ok_or("compaction_end without aborted")?;
        let outcomes = [has_result, is_aborted, record["errorMessage"].is_string()];
        let count = outcomes.iter().filter(|is_so| **is_so).count();
        check(count == 1, "compaction_end must have a result, or be aborted, or have failed")?;
        let will_retry = record["willRetry"].as_bool().ok_or("compaction_end without willRetry")?;
        check(
            will_retry == (has_result && reason == "overflow"),
            "only a compaction after an overflow is followed by a retry",
        )?;
        self.will_retry = false;
        self.is_retry_due = will_retry;
        // Both follow an answer that is kept.
        let follows_a_kept_answer = reason == "threshold" || self.last_answer["stopReason"] == "length";
        let is_after_attempt = self.is_running && !self.is_in_attempt;
        self.may_continue = is_after_attempt && follows_a_kept_answer && !is_aborted && !will_retry;
        Ok(())
    }

    fn settle(&mut self, record: &Value) -> Checked {
        check(self.is_running, "agent_settled without a run")?;
        check(!self.is_in_attempt, "agent_settled before agent_end")?;
        check(!self.will_retry, "agent_settled after an agent_end that announced a retry")?;
        check(self.retry.is_none(), "agent_settled before auto_retry_end")?;
        let reason = &self.last_answer["stopReason"];
        match (record["aborted"].as_bool(), &record["error"]) {
            (Some(true), Value::Null) => {
                check(record["errorKind"] == "aborted", "an aborted run without its kind of error")?;
            }
            (Some(false), Value::Null) => {
                check(reason == "stop" || reason == "length", "no answer ended without an error")?;
                check(record["errorKind"].is_null(), "a kind of error without an error")?;
            }
            (Some(false), Value::String(error)) => {
                check(reason == "error", "an error without a failed answer")?;
                check(self.last_answer["errorMessage"] == **error, "another error than the answer's")?;
                check(record["errorKind"].is_string(), "an error without its kind")?;
                let is_same = self.last_answer["errorKind"] == record["errorKind"];
                check(is_same, "another kind of error than the answer's")?;
            }
            _ => return Err("agent_settled without the outcome of the run".to_owned()),
        }
        *self = Self::default();
        Ok(())
    }

    fn start_turn(&mut self) -> Checked {
        check(self.is_in_attempt, "turn_start outside of a run")?;
        check(self.turn.is_none(), "turn_start in an open turn")?;
        self.turn = Some(Turn::default());
        Ok(())
    }

    fn end_turn(&mut self, record: &Value) -> Checked {
        let turn = self.turn.take().ok_or("turn_end without turn_start")?;
        check(turn.message.is_none(), "turn_end in an open message")?;
        check(turn.calls.iter().all(|call| call.has_ended), "turn_end while a tool is running")?;
        let called: Vec<&str> = turn.calls.iter().map(|call| call.id.as_str()).collect();
        check(turn.results == called, "the results are not those of the calls in their order")?;
        let told: Vec<&str> =
            list(&record["toolResults"]).iter().map(|result| text(&result["toolCallId"])).collect();
        check(told == called, "turn_end does not list the results in the order of the calls")?;
        check(record["message"]["role"] == "assistant", "turn_end without an answer")
    }

    fn start_message(&mut self, record: &Value) -> Checked {
        // Extensions add messages at any time.
        if record["message"]["role"] == "custom" {
            return Ok(());
        }
        let turn = self.turn.as_mut().ok_or("message_start outside of a turn")?;
        check(turn.message.is_none(), "message_start in an open message")?;
        let role = text(&record["message"]["role"]).to_owned();
        turn.message = Some(Open { role, deltas: BTreeMap::new() });
        Ok(())
    }

    fn update_message(&mut self, step: &Value) -> Checked {
        let open = self.turn.as_mut().and_then(|turn| turn.message.as_mut());
        let open = open.ok_or("message_update outside of a message")?;
        check(open.role == "assistant", "message_update of a message that is not an answer")?;
        let index = step["contentIndex"].as_u64().and_then(|index| usize::try_from(index).ok());
        let index = index.ok_or("message_update without contentIndex")?;
        let kind = text(&step["type"]);
        if kind.ends_with("_start") {
            check(open.deltas.insert(index, String::new()).is_none(), "a block starts twice")?;
        }
        let block = open.deltas.get_mut(&index).ok_or("a delta of a block that has not started")?;
        if kind.ends_with("_delta") {
            block.push_str(text(&step["delta"]));
        }
        if kind == "text_end" || kind == "thinking_end" {
            check(step["content"] == **block, "the end of a block differs from its deltas")?;
        }
        Ok(())
    }

    fn end_message(&mut self, message: &Value) -> Checked {
        if message["role"] == "custom" {
            return Ok(());
        }
        let turn = self.turn.as_mut().ok_or("message_end outside of a turn")?;
        let open = turn.message.take().ok_or("message_end without message_start")?;
        check(message["role"] == *open.role, "message_end of another role")?;
        if open.role == "toolResult" {
            turn.results.push(text(&message["toolCallId"]).to_owned());
        }
        if open.role == "assistant" {
            for (index, deltas) in &open.deltas {
                let block = &message["content"][index];
                let whole = if block["type"] == "thinking" { &block["thinking"] } else { &block["text"] };
                check(
                    block["type"] == "toolCall" || whole == deltas,
                    "a block of the answer differs from its deltas",
                )?;
            }
            self.last_answer = message.clone();
        }
        Ok(())
    }

    fn start_call(&mut self, record: &Value) -> Checked {
        let turn = self.turn.as_mut().ok_or("tool_execution_start outside of a turn")?;
        check(turn.message.is_none(), "tool_execution_start in an open message")?;
        let id = text(&record["toolCallId"]).to_owned();
        check(turn.calls.iter().all(|call| call.id != id), "a call starts twice")?;
        turn.calls.push(Call { id, has_ended: false });
        Ok(())
    }

    fn open_call(&mut self, record: &Value) -> Result<&mut Call, String> {
        let calls = self.turn.as_mut().map(|turn| &mut turn.calls).ok_or("a tool outside of a turn")?;
        let call = calls.iter_mut().find(|call| record["toolCallId"] == *call.id && !call.has_ended);
        call.ok_or_else(|| "a tool that has not started or has ended".to_owned())
    }
}

fn check(is_so: bool, problem: &str) -> Checked {
    if is_so { Ok(()) } else { Err(problem.to_owned()) }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Formats the records up to the wrong one.
fn show(records: &[Value], wrong: usize) -> String {
    let mut shown = String::new();
    let first = (wrong + 1).saturating_sub(SHOWN_RECORDS);
    for (position, record) in records.iter().enumerate().take(wrong + 1).skip(first) {
        let line: String = record.to_string().chars().take(SHOWN_LENGTH).collect();
        writeln!(shown, "  {position}: {line}").expect("writing to a string");
    }
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answered(stop: Value) -> Vec<Value> {
        let message = json!({ "role": "assistant", "content": [], "stopReason": stop });
        vec![
            json!({ "type": "agent_start" }),
            json!({ "type": "turn_start" }),
            json!({ "type": "message_start", "message": message }),
            json!({ "type": "message_end", "message": message }),
            json!({ "type": "turn_end", "message": message, "toolResults": [] }),
            json!({ "type": "agent_end", "messages": [], "willRetry": false }),
            json!({ "type": "agent_settled", "aborted": false }),
        ]
    }

    #[test]
    fn complete_run_passes_and_a_missing_record_fails() {
        let records = answered(json!("stop"));
        assert_well_formed(&records);
        for missing in 0..records.len() {
            let mut less = records.clone();
            less.remove(missing);
            let result = std::panic::catch_unwind(|| assert_well_formed(&less));
            assert!(result.is_err(), "a missing record {missing} is not noticed");
        }
    }

    fn compaction(reason: &str) -> [Value; 2] {
        [
            json!({ "type": "compaction_start", "reason": reason }),
            json!({ "type": "compaction_end", "reason": reason, "result": {}, "aborted": false, "willRetry": false }),
        ]
    }

    #[test]
    fn compaction_is_allowed_between_turns_attempts_and_runs() {
        for (reason, place) in [("manual", 0), ("threshold", 0), ("threshold", 6), ("manual", 7)] {
            let mut records = answered(json!("stop"));
            records.splice(place..place, compaction(reason));
            assert_well_formed(&records);
            records.remove(place + 1);
            assert!(
                std::panic::catch_unwind(|| assert_well_formed(&records)).is_err(),
                "{reason} at {place}"
            );
        }
    }

    #[test]
    #[should_panic(expected = "compaction_start in an open turn")]
    fn compaction_within_a_turn_fails() {
        let mut records = answered(json!("stop"));
        records.splice(4..4, compaction("threshold"));
        assert_well_formed(&records);
    }

    #[test]
    #[should_panic(expected = "agent_settled without a run")]
    fn second_end_fails() {
        let mut records = answered(json!("stop"));
        records.push(json!({ "type": "agent_settled", "aborted": false }));
        assert_well_formed(&records);
    }

    #[test]
    #[should_panic(expected = "no answer ended without an error")]
    fn end_that_hides_an_error_fails() {
        assert_well_formed(&answered(json!("error")));
    }
}
