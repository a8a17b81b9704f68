//! The arguments of a call of `task`.

use bowline_core::message::Arguments;
use serde_json::Value;

/// The most tasks of one call.
pub(super) const MOST_TASKS: usize = 32;

/// The agent that does a task if the model names none.
const USUAL_AGENT: &str = "task";

/// What a call asks for.
#[derive(Debug, PartialEq)]
pub(super) struct Orders {
    /// What every subagent is told.
    pub context: Option<String>,
    pub tasks: Vec<Order>,
}

/// One task.
#[derive(Debug, PartialEq)]
pub(super) struct Order {
    pub task: String,
    pub agent: String,
    pub name: Option<String>,
    pub tools: Option<Vec<String>>,
    pub model: Option<String>,
    /// The form of the answer.
    pub output_schema: Option<Value>,
}

impl Orders {
    /// Reads the arguments of a call, or returns what is wrong with them.
    pub fn read(mut arguments: Arguments) -> Result<Self, String> {
        let context = text(&mut arguments, "context", "context")?.filter(|context| !context.is_empty());
        let tasks = match arguments.remove("tasks") {
            Some(Value::Array(tasks)) => tasks,
            // Some models give a single task without a list.
            None | Some(Value::Null) if arguments.contains_key("task") => vec![Value::Object(arguments)],
            None | Some(Value::Null) => {
                return Err("\"tasks\" is missing; it must be a list of tasks.".to_owned());
            }
            Some(_) => return Err("\"tasks\" must be a list of tasks.".to_owned()),
        };
        if tasks.is_empty() || tasks.len() > MOST_TASKS {
            return Err(format!("\"tasks\" must have 1 to {MOST_TASKS} tasks, not {}.", tasks.len()));
        }
        let tasks = tasks.into_iter().enumerate().map(|(index, task)| Order::read(index, task));
        Ok(Self { context, tasks: tasks.collect::<Result<_, _>>()? })
    }
}

impl Order {
    fn read(index: usize, value: Value) -> Result<Self, String> {
        let place = format!("tasks[{index}]");
        let Value::Object(mut members) = value else {
            return Err(format!("{place} must be an object with a \"task\"."));
        };
        let mut field = |name: &str| text(&mut members, name, &format!("{place}.{name}"));
        let task = field("task")?.filter(|task| !task.is_empty());
        let (agent, name, model) = (field("agent")?, field("name")?, field("model")?);
        let task = task.ok_or_else(|| format!("{place}.task is missing; it must say what to do."))?;
        let tools = match members.remove("tools") {
            None | Some(Value::Null) => None,
            Some(Value::Array(names)) => {
                let names = names.into_iter().map(|name| match name {
                    Value::String(name) => Ok(name),
                    _ => Err(format!("{place}.tools must be a list of names.")),
                });
                Some(names.collect::<Result<Vec<_>, _>>()?)
            }
            Some(_) => return Err(format!("{place}.tools must be a list of names.")),
        };
        let output_schema = match members.remove("outputSchema") {
            None | Some(Value::Null) => None,
            Some(schema @ Value::Object(_)) => Some(schema),
            Some(_) => {
                return Err(format!("{place}.outputSchema must be a JSON Schema, which is an object."));
            }
        };
        let given = |text: &String| !text.is_empty();
        Ok(Self {
            task,
            agent: agent.filter(given).unwrap_or_else(|| USUAL_AGENT.to_owned()),
            name: name.filter(given),
            tools,
            model: model.filter(given),
            output_schema,
        })
    }
}

/// Takes a text out of an object, trimmed.
fn text(members: &mut Arguments, name: &str, place: &str) -> Result<Option<String>, String> {
    match members.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.trim().to_owned())),
        Some(_) => Err(format!("{place} must be a text.")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(arguments: Value) -> Result<Orders, String> {
        let Value::Object(arguments) = arguments else { panic!() };
        Orders::read(arguments)
    }

    #[test]
    fn tasks_are_read_with_their_defaults() {
        let orders = read(json!({
            "context": " The parser. ",
            "tasks": [
                { "task": "Find it.", "agent": "explore", "name": "search", "tools": ["read"], "model": "m2",
                  "outputSchema": { "type": "object" } },
                { "task": "Mend it.", "agent": "", "tools": null },
            ],
        }));
        let Orders { context, tasks } = orders.unwrap();
        assert_eq!(context.as_deref(), Some("The parser."));
        let first = Order {
            task: "Find it.".to_owned(),
            agent: "explore".to_owned(),
            name: Some("search".to_owned()),
            tools: Some(vec!["read".to_owned()]),
            model: Some("m2".to_owned()),
            output_schema: Some(json!({ "type": "object" })),
        };
        assert_eq!(tasks[0], first);
        assert_eq!((&*tasks[1].agent, &tasks[1].tools, &tasks[1].name), ("task", &None, &None));
    }

    #[test]
    fn a_single_task_needs_no_list() {
        let orders = read(json!({ "task": "Find it.", "agent": "explore" })).unwrap();
        assert_eq!((orders.tasks.len(), &*orders.tasks[0].agent), (1, "explore"));
    }

    #[test]
    fn errors_name_the_place() {
        let many: Vec<_> = (0..=MOST_TASKS).map(|_| json!({ "task": "x" })).collect();
        for (arguments, reason) in [
            (json!({}), "\"tasks\" is missing"),
            (json!({ "tasks": "x" }), "must be a list"),
            (json!({ "tasks": [] }), "1 to 32 tasks, not 0"),
            (json!({ "tasks": many }), "not 33"),
            (json!({ "tasks": ["x"] }), "tasks[0] must be an object"),
            (json!({ "tasks": [{ "task": "x" }, {}] }), "tasks[1].task is missing"),
            (json!({ "tasks": [{ "task": 1 }] }), "tasks[0].task must be a text"),
            (json!({ "tasks": [{ "task": "x", "tools": "read" }] }), "tasks[0].tools must be a list"),
            (json!({ "tasks": [{ "task": "x", "tools": [1] }] }), "tasks[0].tools must be a list"),
            (json!({ "tasks": [{ "task": "x", "outputSchema": true }] }), "outputSchema must be"),
            (json!({ "context": 1, "tasks": [{ "task": "x" }] }), "context must be a text"),
        ] {
            let error = read(arguments).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }
}
