//! The tool `todo`: the list of tasks that the model keeps for a session.
//!
//! A call carries one operation. It changes the list as a whole or, if anything about it is wrong, not at all.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use bowline_core::message::Arguments;
use bowline_core::todo::{TodoPhase, TodoStatus, TodoTask};
use bowline_core::tool::{ToolDisplay, ToolTraits};
use serde_json::{Value, json};

use crate::builtin::{Builtin, Call, described};
use crate::parameters::{Kind, Parameter, text};
use crate::tool::Outcome;

/// The name of the tool.
pub const TODO: &str = "todo";

const OPERATIONS: &[&str] = &["init", "start", "done", "drop", "block", "unblock", "rm", "append", "view"];

/// The phase of tasks that are given without one.
const ONLY_PHASE: &str = "Tasks";

/// The most phases and tasks, and the longest name of either in bytes.
const MAX_PHASES: usize = 50;
const MAX_TASKS: usize = 500;
const LONGEST: usize = 2000;

pub(crate) static TOOL: Builtin = Builtin {
    traits: ToolTraits { name: TODO, mutates: false, path_argument: None, display: ToolDisplay::Generic },
    description: "Keep the list of tasks for work of several steps. Texts identify tasks and phases. One task is in \
                  progress; mark it done as soon as it is, and the next one starts.",
    parameters: &[
        Parameter::required("op", Kind::OneOf(OPERATIONS), ""),
        Parameter::optional(
            "list",
            Kind::Objects(&[
                Parameter::required("phase", Kind::Text, ""),
                Parameter::required("items", Kind::Texts, ""),
            ]),
            "init: all phases and tasks",
        ),
        Parameter::optional("task", Kind::Text, "start, done, drop, block, unblock, rm: one task"),
        Parameter::optional("phase", Kind::Text, "The same: all tasks of a phase; append: where to"),
        Parameter::optional("items", Kind::Texts, "append, or init of one phase: tasks"),
        Parameter::optional("reason", Kind::Text, "block: why"),
    ],
    enabled_by_default: false,
    describe: described,
    prepare: complete,
    run: |call| {
        let outcome = run(&call);
        Box::pin(std::future::ready(outcome))
    },
};

/// The list of a session, shared with the calls that change it. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct TodoList(Arc<Mutex<Arc<[TodoPhase]>>>);

impl TodoList {
    pub fn new(phases: impl Into<Arc<[TodoPhase]>>) -> Self {
        Self(Arc::new(Mutex::new(phases.into())))
    }

    pub fn phases(&self) -> Arc<[TodoPhase]> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn set(&self, phases: impl Into<Arc<[TodoPhase]>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = phases.into();
    }

    /// Changes the list, unless the change fails.
    fn change(
        &self,
        change: impl FnOnce(&mut Vec<TodoPhase>) -> Result<(), String>,
    ) -> Result<Arc<[TodoPhase]>, String> {
        let mut phases = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changed = phases.to_vec();
        change(&mut changed)?;
        check_todos(&changed)?;
        keep_one_in_progress(&mut changed);
        *phases = changed.into();
        Ok(Arc::clone(&phases))
    }
}

/// Returns what is wrong with a list: names that are missing, that appear twice or are too long, or too many of them.
pub fn check_todos(phases: &[TodoPhase]) -> Result<(), String> {
    let count: usize = phases.iter().map(|phase| phase.tasks.len()).sum();
    if phases.len() > MAX_PHASES || count > MAX_TASKS {
        return Err(format!("A todo list has at most {MAX_PHASES} phases and {MAX_TASKS} tasks"));
    }
    let mut seen = Vec::with_capacity(count);
    for (index, phase) in phases.iter().enumerate() {
        check_name("phase", &phase.name)?;
        if phases[..index].iter().any(|other| other.name == phase.name) {
            return Err(format!("Duplicate phase \"{}\"", phase.name));
        }
        for task in &phase.tasks {
            check_name("task", &task.content)?;
            check_length(task.blocker.as_deref().unwrap_or_default())?;
            if seen.contains(&task.content.as_str()) {
                return Err(format!("Duplicate task \"{}\"", task.content));
            }
            seen.push(&task.content);
        }
    }
    Ok(())
}

fn check_name(what: &str, name: &str) -> Result<(), String> {
    if name.trim().is_empty() {
        return Err(format!("Missing {what} {}", if what == "task" { "content" } else { "name" }));
    }
    check_length(name)
}

fn check_length(text: &str) -> Result<(), String> {
    if text.len() > LONGEST { Err(format!("A text is longer than {LONGEST} bytes")) } else { Ok(()) }
}

/// Adds the operation where the other arguments leave no doubt about it.
fn complete(arguments: &mut Arguments) {
    let has = |name: &str| arguments.get(name).and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    let op = match () {
        () if arguments.contains_key("op") => return,
        () if has("list") => "init",
        () if has("items") && arguments.contains_key("phase") => "append",
        () => return,
    };
    arguments.insert("op".to_owned(), op.into());
}

fn run(call: &Call) -> Outcome {
    let (list, arguments) = (&call.context.todos, &call.arguments);
    let op = text(arguments, "op").unwrap_or_default();
    let phases =
        if op == "view" { Ok(list.phases()) } else { list.change(|phases| apply(phases, op, arguments)) };
    match phases {
        Ok(phases) => {
            let details = json!({ "op": op, "phases": &*phases });
            Outcome::text(summary(&phases, op)).with_details(details)
        }
        Err(reason) => Outcome::error(format!("Errors: {reason}. The list was not changed.")),
    }
}

/// Applies an operation.
fn apply(phases: &mut Vec<TodoPhase>, op: &str, arguments: &Arguments) -> Result<(), String> {
    match op {
        "init" => {
            *phases = initial(arguments)?;
            Ok(())
        }
        "append" => append(phases, arguments),
        "start" => {
            let task = text(arguments, "task").ok_or("start requires a task")?;
            find(phases, task)?;
            for other in phases.iter_mut().flat_map(|phase| &mut phase.tasks) {
                if other.content == task {
                    (other.status, other.blocker) = (TodoStatus::InProgress, None);
                } else if other.status == TodoStatus::InProgress {
                    other.status = TodoStatus::Pending;
                }
            }
            Ok(())
        }
        "rm" => remove(phases, arguments),
        _ => {
            let is_bounded = text(arguments, "task").or_else(|| text(arguments, "phase")).is_some();
            if !is_bounded && matches!(op, "block" | "unblock") {
                return Err(format!("{op} requires a task or phase target"));
            }
            let reason = text(arguments, "reason").map(one_line).filter(|reason| !reason.is_empty());
            for task in targets(phases, arguments)? {
                mark(task, op, reason.as_ref());
            }
            Ok(())
        }
    }
}

fn mark(task: &mut TodoTask, op: &str, reason: Option<&String>) {
    let is_closed = matches!(task.status, TodoStatus::Completed | TodoStatus::Abandoned);
    let status = match op {
        "done" => TodoStatus::Completed,
        "drop" => TodoStatus::Abandoned,
        "block" if !is_closed => TodoStatus::Blocked,
        "unblock" if task.status == TodoStatus::Blocked => TodoStatus::Pending,
        _ => return,
    };
    task.status = status;
    task.blocker = if status == TodoStatus::Blocked { reason.cloned() } else { None };
}

/// Returns the tasks that an operation is about: one, those of a phase, or all.
fn targets<'a>(phases: &'a mut [TodoPhase], arguments: &Arguments) -> Result<Vec<&'a mut TodoTask>, String> {
    if let Some(task) = text(arguments, "task") {
        let (phase, task) = find(phases, task)?;
        return Ok(vec![&mut phases[phase].tasks[task]]);
    }
    let chosen = match text(arguments, "phase") {
        Some(name) => {
            let phase = find_phase(phases, name)?;
            &mut phases[phase..=phase]
        }
        None => phases,
    };
    Ok(chosen.iter_mut().flat_map(|phase| &mut phase.tasks).collect())
}

fn remove(phases: &mut [TodoPhase], arguments: &Arguments) -> Result<(), String> {
    match (text(arguments, "task"), text(arguments, "phase")) {
        (Some(task), _) => {
            let (phase, task) = find(phases, task)?;
            phases[phase].tasks.remove(task);
        }
        (None, Some(name)) => {
            let phase = find_phase(phases, name)?;
            phases[phase].tasks.clear();
        }
        (None, None) => phases.iter_mut().for_each(|phase| phase.tasks.clear()),
    }
    Ok(())
}

fn append(phases: &mut Vec<TodoPhase>, arguments: &Arguments) -> Result<(), String> {
    let name = text(arguments, "phase").ok_or("Missing phase name for append operation")?;
    let items = texts(arguments.get("items"));
    if items.is_empty() {
        return Err("Missing items for append operation".to_owned());
    }
    for item in &items {
        if find(phases, item).is_ok() {
            return Err(format!("Task \"{item}\" already exists"));
        }
    }
    let tasks = items.into_iter().map(pending);
    match find_phase(phases, name) {
        Ok(phase) => phases[phase].tasks.extend(tasks),
        Err(_) => phases.push(TodoPhase { name: name.to_owned(), tasks: tasks.collect() }),
    }
    Ok(())
}

/// Returns the list that an `init` gives.
fn initial(arguments: &Arguments) -> Result<Vec<TodoPhase>, String> {
    let list = arguments.get("list").and_then(Value::as_array).filter(|list| !list.is_empty());
    let phase = |name: &str, items: Option<&Value>| TodoPhase {
        name: name.to_owned(),
        tasks: texts(items).into_iter().map(pending).collect(),
    };
    let phases: Vec<_> = match list {
        Some(list) => list
            .iter()
            .map(|item| {
                phase(item.get("phase").and_then(Value::as_str).unwrap_or_default(), item.get("items"))
            })
            .collect(),
        None => vec![phase(text(arguments, "phase").unwrap_or(ONLY_PHASE), arguments.get("items"))],
    };
    if phases.iter().any(|phase| phase.tasks.is_empty()) {
        return Err("Missing list for init operation".to_owned());
    }
    Ok(phases)
}

fn pending(content: String) -> TodoTask {
    TodoTask { content, status: TodoStatus::Pending, blocker: None }
}

fn texts(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(Value::as_str).map(|item| item.trim().to_owned()).collect()
}

/// Returns where a task is.
fn find(phases: &[TodoPhase], content: &str) -> Result<(usize, usize), String> {
    let content = content.trim();
    let place = phases.iter().enumerate().find_map(|(index, phase)| {
        phase.tasks.iter().position(|task| task.content == content).map(|task| (index, task))
    });
    place.ok_or_else(|| {
        let hint = if phases.iter().all(|phase| phase.tasks.is_empty()) {
            " (the todo list is empty)"
        } else {
            " (a task is named by its exact text)"
        };
        format!("Task \"{content}\" not found{hint}")
    })
}

fn find_phase(phases: &[TodoPhase], name: &str) -> Result<usize, String> {
    let name = name.trim();
    phases.iter().position(|phase| phase.name == name).ok_or_else(|| format!("Phase \"{name}\" not found"))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Leaves one task in progress: the first that is, or else the first that can be.
fn keep_one_in_progress(phases: &mut [TodoPhase]) {
    let mut active = false;
    for task in phases.iter_mut().flat_map(|phase| &mut phase.tasks) {
        if task.status == TodoStatus::InProgress {
            if active {
                task.status = TodoStatus::Pending;
            }
            active = true;
        }
    }
    let mut tasks = phases.iter_mut().flat_map(|phase| &mut phase.tasks);
    if !active && let Some(next) = tasks.find(|task| task.status == TodoStatus::Pending) {
        next.status = TodoStatus::InProgress;
    }
}

/// Returns the list for the model.
fn summary(phases: &[TodoPhase], op: &str) -> String {
    let tasks: Vec<_> = phases.iter().flat_map(|phase| &phase.tasks).collect();
    if tasks.is_empty() {
        return if op == "view" { "Todo list is empty." } else { "Todo list cleared." }.to_owned();
    }
    let open = tasks.iter().filter(|task| task.status.is_open()).count();
    let mut summary = match open {
        0 => "No task is left to work on.".to_owned(),
        open => format!("{open} of {} tasks left.", tasks.len()),
    };
    for phase in phases {
        let _ = write!(summary, "\n{}", phase.name);
        for TodoTask { content, status, blocker } in &phase.tasks {
            let mark = match status {
                TodoStatus::Pending => ' ',
                TodoStatus::InProgress => '>',
                TodoStatus::Completed => 'x',
                TodoStatus::Abandoned => '-',
                TodoStatus::Blocked => '!',
            };
            let _ = write!(summary, "\n- [{mark}] {content}");
            if let Some(blocker) = blocker {
                let _ = write!(summary, " (blocked: {blocker})");
            }
        }
    }
    summary
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Workshop;

    /// Carries out operations and returns the last text, or error.
    async fn after(operations: &[Value]) -> String {
        let workshop = Workshop::new();
        let mut last = String::new();
        for operation in operations {
            last = crate::testing::text(&workshop.call(TODO, operation.clone()).await);
        }
        last
    }

    fn init() -> Value {
        json!({"op": "init", "list": [{"phase": "A", "items": ["one", "two"]}, {"phase": "B", "items": ["three"]}]})
    }

    #[tokio::test]
    async fn first_task_starts_and_the_next_follows_when_it_is_done() {
        assert_eq!(after(&[init()]).await, "3 of 3 tasks left.\nA\n- [>] one\n- [ ] two\nB\n- [ ] three");
        let done = json!({"op": "done", "task": "one"});
        assert_eq!(
            after(&[init(), done]).await,
            "2 of 3 tasks left.\nA\n- [x] one\n- [>] two\nB\n- [ ] three"
        );
    }

    #[tokio::test]
    async fn operations_change_one_task_a_phase_or_all() {
        for (operation, expected) in [
            (
                json!({"op": "start", "task": "three"}),
                "3 of 3 tasks left.\nA\n- [ ] one\n- [ ] two\nB\n- [>] three",
            ),
            (
                json!({"op": "done", "phase": "A"}),
                "1 of 3 tasks left.\nA\n- [x] one\n- [x] two\nB\n- [>] three",
            ),
            (json!({"op": "drop"}), "No task is left to work on.\nA\n- [-] one\n- [-] two\nB\n- [-] three"),
            (
                json!({"op": "block", "task": "one", "reason": " no\n key "}),
                "2 of 3 tasks left.\nA\n- [!] one (blocked: no key)\n- [>] two\nB\n- [ ] three",
            ),
            (json!({"op": "rm", "phase": "A"}), "1 of 1 tasks left.\nA\nB\n- [>] three"),
            (json!({"op": "rm"}), "Todo list cleared."),
            (
                json!({"op": "append", "phase": "C", "items": ["four"]}),
                "4 of 4 tasks left.\nA\n- [>] one\n- [ ] two\nB\n- [ ] three\nC\n- [ ] four",
            ),
            (
                json!({"phase": "B", "items": ["x"]}),
                "4 of 4 tasks left.\nA\n- [>] one\n- [ ] two\nB\n- [ ] three\n- [ ] x",
            ),
            (json!({"op": "init", "items": ["x"]}), "1 of 1 tasks left.\nTasks\n- [>] x"),
        ] {
            assert_eq!(after(&[init(), operation.clone()]).await, expected, "{operation}");
        }
        let block = json!({"op": "block", "phase": "A"});
        let unblock = json!({"op": "unblock", "phase": "A"});
        let expected = "3 of 3 tasks left.\nA\n- [ ] one\n- [ ] two\nB\n- [>] three";
        assert_eq!(after(&[init(), block, unblock]).await, expected);
    }

    #[tokio::test]
    async fn operation_that_fails_changes_nothing() {
        for (operation, reason) in [
            (json!({"op": "init"}), "Missing list for init operation"),
            (json!({"op": "init", "list": [{"phase": "A", "items": []}]}), "Missing list"),
            (json!({"op": "init", "items": ["a", "a"]}), "Duplicate task \"a\""),
            (json!({"op": "init", "items": [" "]}), "Missing task content"),
            (json!({"op": "start"}), "start requires a task"),
            (json!({"op": "start", "task": "task-1"}), "Task \"task-1\" not found (a task is named"),
            (json!({"op": "done", "phase": "Z"}), "Phase \"Z\" not found"),
            (json!({"op": "block"}), "block requires a task or phase target"),
            (json!({"op": "append", "phase": "A"}), "Missing items for append operation"),
            (json!({"op": "append", "items": ["x"]}), "Missing phase name for append operation"),
            (
                json!({"op": "append", "phase": "A", "items": ["new", "three"]}),
                "Task \"three\" already exists",
            ),
            (json!({"op": "append", "phase": "A", "items": ["x".repeat(3000)]}), "longer than"),
            (json!({"op": "fly"}), "op: must be one of"),
        ] {
            let workshop = Workshop::new();
            workshop.call(TODO, init()).await;
            let said = workshop.fail(TODO, operation.clone()).await;
            assert!(said.contains(reason), "{operation}: {said}");
            let view = workshop.succeed(TODO, json!({"op": "view"})).await;
            assert!(view.starts_with("3 of 3"), "{operation}: {view}");
        }
        let workshop = Workshop::new();
        assert!(
            workshop.fail(TODO, json!({"op": "done", "task": "x"})).await.contains("the todo list is empty")
        );
        assert_eq!(workshop.succeed(TODO, json!({"op": "view"})).await, "Todo list is empty.");
        let many: Vec<_> = (0..501).map(|number| number.to_string()).collect();
        assert!(workshop.fail(TODO, json!({"op": "init", "items": many})).await.contains("at most"));
    }

    #[tokio::test]
    async fn details_hold_the_list_in_the_form_of_the_file() {
        let workshop = Workshop::new();
        let outcome = workshop.call(TODO, json!({"op": "init", "items": ["x"]})).await;
        let phases = json!([{"name": "Tasks", "tasks": [{"content": "x", "status": "in_progress"}]}]);
        assert_eq!(outcome.details, Some(json!({"op": "init", "phases": phases})));
    }
}
