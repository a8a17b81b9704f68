//! The commands about files that runs changed.

use bowline_core::command::Command;
use bowline_core::file_changes::{ChangesQuery, ChangesReport, RestoreReport, UndoTarget};
use serde_json::{Map, Value, json};

use crate::command_table::Action::Engine;
use crate::command_table::Row;
use crate::fields::Field;
use crate::fields::Kind::{Boolean, Count, Text, UndoPoint};
use crate::schema::schema_of;

pub(crate) const ONLY_RUN: Field = Field::optional("run", Count, "Only this run.");
pub(crate) const AFTER_ENTRY: Field =
    Field::optional("entryId", Text, "Only runs that changed files after this entry.");
pub(crate) const WITH_DIFF: Field = Field::optional("diff", Boolean, "Adds a unified diff of each run.");
pub(crate) const UNDONE_RUN: Field = Field::optional("run", Count, "Only this run, whatever followed it.");
pub(crate) const UNDO_TO: Field = Field::optional(
    "to",
    UndoPoint,
    "How far back: everything from this run or turn on, or everything after this entry.",
)
.not_with("run");
pub(crate) const DRY_RUN: Field = Field::optional("dryRun", Boolean, "Only returns what would be done.");

pub(crate) const GET_CHANGES: Row = Row {
    name: "get_changes",
    about: "Returns what runs changed in files: those of the file tools `write` and `edit`, and those of commands.",
    fields: &[ONLY_RUN, AFTER_ENTRY, WITH_DIFF],
    result: Some(schema_of::<ChangesReport>()),
    action: Engine(|mut fields| Command::GetChanges {
        query: ChangesQuery {
            run: fields.count("run").map(|run| run as u64),
            entry: fields.optional_text("entryId"),
            with_diff: fields.flag("diff"),
        },
    }),
};

pub(crate) const UNDO: Row = Row {
    name: "undo",
    about: "Restores files that runs changed; without `run` and `to`, those of the last run that is not undone. A file that has \
            changed since is a conflict and left alone; new files are moved away. The conversation stays. Refused during a run.",
    fields: &[UNDONE_RUN, UNDO_TO, DRY_RUN],
    result: Some(schema_of::<RestoreReport>()),
    action: Engine(|mut fields| Command::Undo {
        target: target(fields.count("run"), &fields.object("to")),
        dry_run: fields.flag("dryRun"),
    }),
};

pub(crate) const REDO: Row = Row {
    name: "redo",
    about: "Changes files again that the last `undo` restored, with the same checks. Refused during a run.",
    fields: &[DRY_RUN],
    result: Some(schema_of::<RestoreReport>()),
    action: Engine(|fields| Command::Redo { dry_run: fields.flag("dryRun") }),
};

fn target(run: Option<usize>, to: &Map<String, Value>) -> UndoTarget {
    let number = |name: &str| to.get(name).and_then(Value::as_u64);
    match (run, to.get("entryId").and_then(Value::as_str), number("run")) {
        (Some(run), ..) => UndoTarget::Run(run as u64),
        (None, Some(entry), _) => UndoTarget::AfterEntry(entry.to_owned()),
        (None, None, Some(run)) => {
            let turn = number("turn").and_then(|turn| u32::try_from(turn).ok());
            UndoTarget::Before { run, turn }
        }
        (None, None, None) => UndoTarget::LastRun,
    }
}

/// Describes a point to go back to.
pub(crate) fn point_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "run": { "type": "integer", "minimum": 1, "description": "Everything from this run on." },
            "turn": { "type": "integer", "minimum": 0, "description": "With `run`: everything from this turn of it on." },
            "entryId": { "type": "string", "description": "Everything after this entry of the session." },
        },
    })
}

/// Returns what is wrong with a point, if anything.
pub(crate) fn check_point(point: &Map<String, Value>) -> Result<(), String> {
    let number = |name: &str| point.get(name).map(|value| value.as_u64());
    match (number("run"), number("turn"), point.get("entryId")) {
        (Some(None | Some(0)), ..) => Err(".run must be an integer of at least 1".to_owned()),
        (_, Some(None), _) => Err(".turn must be an integer of at least 0".to_owned()),
        (_, _, Some(entry)) if !entry.is_string() => Err(".entryId must be a string".to_owned()),
        (Some(_), _, Some(_)) => Err("must have either run or entryId, not both".to_owned()),
        (None, Some(_), _) => Err(".turn needs .run beside it".to_owned()),
        (None, None, None) => Err("must have run or entryId".to_owned()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(point: &Value, expected: &Result<UndoTarget, &str>) {
        let point = point.as_object().unwrap();
        let found = check_point(point).map(|()| target(None, point));
        assert_eq!(found.as_ref().map_err(String::as_str), expected.as_ref().map_err(|text| *text));
    }

    #[test]
    fn point_is_a_run_a_turn_or_an_entry() {
        check(&json!({"run": 2}), &Ok(UndoTarget::Before { run: 2, turn: None }));
        check(&json!({"run": 2, "turn": 0}), &Ok(UndoTarget::Before { run: 2, turn: Some(0) }));
        check(&json!({"entryId": "a"}), &Ok(UndoTarget::AfterEntry("a".to_owned())));
        check(&json!({}), &Err("must have run or entryId"));
        check(&json!({"turn": 1}), &Err(".turn needs .run beside it"));
        check(&json!({"run": 0}), &Err(".run must be an integer of at least 1"));
        check(&json!({"run": 1, "entryId": "a"}), &Err("must have either run or entryId, not both"));
        check(&json!({"entryId": 1}), &Err(".entryId must be a string"));
        assert_eq!(target(Some(3), &Map::new()), UndoTarget::Run(3));
    }
}
