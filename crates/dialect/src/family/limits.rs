//! Commands about what runs and the session may spend, which bowline adds to `pi` and `omp`.

use bowline_core::command::Command;
use bowline_core::limits::{LimitChange, LimitScope, Limited, LimitsReport};
use serde_json::{Map, Value, json};

use crate::command_table::Action::Engine;
use crate::command_table::Row;
use crate::fields::Kind::Limits;
use crate::fields::{Field, Fields};
use crate::schema::schema_of;

/// More than anybody means. Amounts up to it are exact.
const MOST: f64 = 1e12;

const SCOPES: [LimitScope; 2] = [LimitScope::Run, LimitScope::Session];

pub(crate) const SET_LIMITS: Row = Row {
    name: "set_limits",
    about: "Sets what runs and the session may spend, from now on, also for the run in progress. Limits that the user has set \
            can only be made stricter unless bowline was started with `--client-may-widen`; else it fails with `forbidden`. All of the limits are set, or \
            none if one is refused.",
    fields: &[
        Field::optional("run", Limits, "The limits of each run. What is absent stays; 0 means unlimited."),
        Field::optional(
            "session",
            Limits,
            "The limits of the session. What is absent stays; 0 means unlimited.",
        ),
    ],
    result: Some(schema_of::<LimitsReport>()),
    action: Engine(|fields| Command::SetLimits { changes: changes(fields) }),
};

pub(crate) const GET_LIMITS: Row = Row {
    name: "get_limits",
    about: "Returns what runs and the session may spend, and what they have spent.",
    fields: &[],
    result: Some(schema_of::<LimitsReport>()),
    action: Engine(|_| Command::GetLimits),
};

fn changes(mut fields: Fields) -> Vec<LimitChange> {
    let mut changes = Vec::new();
    for scope in SCOPES {
        let limits = fields.object(scope.as_str());
        let change = |(name, limit): (String, Value)| {
            Some(LimitChange { scope, limited: Limited::parse(&name)?, limit: limit.as_f64()? })
        };
        changes.extend(limits.into_iter().filter_map(change));
    }
    changes
}

/// Describes limits.
pub(crate) fn schema() -> Value {
    let mut schema = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    for limited in Limited::ALL {
        let kind = if limited.is_counted() { "integer" } else { "number" };
        schema["properties"][limited.as_str()] = json!({ "type": kind, "minimum": 0, "maximum": MOST });
    }
    schema["properties"]["cost"]["description"] = "US dollars.".into();
    schema["properties"]["turns"]["description"] =
        "How often the model answers; in a run, for one message of the user.".into();
    schema["properties"]["seconds"]["description"] =
        "The time that runs take, without that in which the user is asked something.".into();
    schema
}

/// Returns what is wrong with limits, if anything.
pub(crate) fn check(limits: &Map<String, Value>) -> Result<(), String> {
    for (name, limit) in limits {
        let Some(limited) = Limited::parse(name) else {
            let names: Vec<_> = Limited::ALL.iter().map(|limited| limited.as_str()).collect();
            return Err(format!("has no \"{name}\"; there are {}", names.join(", ")));
        };
        let is_number = if limited.is_counted() { limit.is_u64() } else { limit.is_number() };
        let is_sane = limit.as_f64().is_some_and(|limit| (0.0..=MOST).contains(&limit));
        if !is_number || !is_sane {
            let kind = if limited.is_counted() { "an integer" } else { "a number" };
            return Err(format!(".{name} must be {kind} from 0 to {MOST}; 0 means unlimited"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(limits: &Value, words: &str) {
        let error = check(limits.as_object().unwrap()).unwrap_err();
        assert!(error.contains(words), "{error}");
    }

    #[test]
    fn only_known_limits_with_sane_amounts_are_taken() {
        check(json!({ "cost": 0.25, "tokens": 0, "seconds": 1.5 }).as_object().unwrap()).unwrap();
        refused(&json!({ "price": 1 }), "there are cost, tokens, turns, toolCalls, seconds");
        refused(&json!({ "tokens": 1.5 }), ".tokens must be an integer");
        refused(&json!({ "cost": -1 }), ".cost must be a number from 0");
        refused(&json!({ "cost": "1" }), ".cost must be a number");
        refused(&json!({ "turns": null }), ".turns must be an integer");
        refused(&json!({ "tokens": u64::MAX }), ".tokens must be an integer from 0 to");
    }
}
