//! The todo list that a client sends.

use bowline_core::todo::TodoStatus;
use serde_json::{Value, json};

/// Describes a phase.
pub(crate) fn schema() -> Value {
    json!({ "type": "array", "items": {
        "type": "object",
        "properties": {
            "name": { "type": "string", "minLength": 1 },
            "tasks": { "type": "array", "items": {
                "type": "object",
                "properties": {
                    "content": { "type": "string", "minLength": 1, "description": "What is to be done." },
                    "status": { "enum": TodoStatus::NAMES },
                    "blocker": { "type": ["string", "null"], "description": "Why the task is blocked." },
                },
                "required": ["content", "status"],
            } },
        },
        "required": ["name", "tasks"],
    } })
}

/// Returns what is wrong with the phases, if anything.
pub(crate) fn check(phases: &[Value]) -> Result<(), String> {
    for (index, phase) in phases.iter().enumerate() {
        let is_text =
            |value: &Value, name: &str| value[name].as_str().is_some_and(|text| !text.trim().is_empty());
        if !is_text(phase, "name") {
            return Err(format!("[{index}].name must be a string that is not empty"));
        }
        let Some(tasks) = phase["tasks"].as_array() else {
            return Err(format!("[{index}].tasks must be a list of tasks"));
        };
        for (number, task) in tasks.iter().enumerate() {
            let place = format!("[{index}].tasks[{number}]");
            if !is_text(task, "content") {
                return Err(format!("{place}.content must be a string that is not empty"));
            }
            if !task["status"].as_str().is_some_and(|status| TodoStatus::NAMES.contains(&status)) {
                return Err(format!("{place}.status must be one of {}", TodoStatus::NAMES.join(", ")));
            }
            if !matches!(task["blocker"], Value::Null | Value::String(_)) {
                return Err(format!("{place}.blocker must be a string"));
            }
        }
    }
    Ok(())
}
