//! The list of tasks, and the reminders of it.

use std::sync::Arc;

use bowline_core::command::Command;
use bowline_core::reply::Answer;
use bowline_core::todo::{TodoPhase, TodoStatus, TodoTask};
use bowline_testkit::Reply;
use bowline_tools::{Options, Selection, Toolbox};
use serde_json::{Value, json};

use crate::driver::{Driver, course};
use crate::setup::Setup;

fn with_todos() -> Setup {
    let mut setup = Setup::new();
    let names = ["read", "bash", "todo"].map(str::to_owned).to_vec();
    let selection = Selection { allow: Some(names), ..Selection::default() };
    setup.toolbox = Toolbox::builtin(&Options::default()).select(&selection).unwrap();
    setup
}

fn init(items: &[&str]) -> Reply {
    Reply::new().tool("todo", json!({"op": "init", "items": items}))
}

fn done(task: &str) -> Reply {
    Reply::new().tool("todo", json!({"op": "done", "task": task}))
}

fn statuses(driver: &mut Driver) -> Vec<(String, TodoStatus)> {
    let todos: Arc<[TodoPhase]> = driver.state().todos;
    let tasks = todos.iter().flat_map(|phase| phase.tasks.clone());
    tasks.map(|task| (task.content, task.status)).collect()
}

#[tokio::test]
async fn model_that_stops_with_tasks_left_is_reminded_and_goes_on() {
    let mut driver = with_todos()
        .replies([
            init(&["one", "two"]),
            Reply::text("I stop."),
            done("one"),
            done("two"),
            Reply::text("All done."),
        ])
        .start();
    let records = driver.run("go").await;
    let reminders = driver.of_type("todo_reminder");
    let expected = json!({"type": "todo_reminder", "attempt": 1, "maxAttempts": 3, "todos": [
        {"content": "one", "status": "in_progress"}, {"content": "two", "status": "pending"}]});
    assert_eq!(reminders, [expected]);
    let course = course(&records);
    let place = course.iter().position(|name| *name == "todo_reminder").unwrap();
    assert_eq!(
        course[place - 2..place + 4],
        ["turn_end", "agent_end", "todo_reminder", "entry_appended", "agent_start", "turn_start"]
    );
    let conversation = driver.conversation();
    let reminder = conversation.iter().find(|message| message.starts_with("custom: ")).unwrap();
    assert!(
        reminder.starts_with("custom: <system-reminder>\n")
            && reminder.contains("\n- Tasks\n  - one\n  - two\n"),
        "{reminder}"
    );
    assert!(reminder.contains("(Reminder 1 of 3)"));
    assert_eq!(
        statuses(&mut driver).iter().map(|(_, status)| *status).collect::<Vec<_>>(),
        [TodoStatus::Completed; 2]
    );
    driver.finish();
}

#[tokio::test]
async fn reminders_end_when_the_model_only_talks_or_asks() {
    let mut driver = with_todos()
        .replies([
            init(&["one"]),
            Reply::text("I stop."),
            Reply::text("I still stop."),
            Reply::text("Which one do you mean?"),
        ])
        .start();
    driver.run("go").await;
    assert_eq!(driver.of_type("todo_reminder").len(), 1);
    driver.run("go on").await;
    assert_eq!(driver.of_type("todo_reminder").len(), 1, "a question to the user");
    driver.finish();
}

#[tokio::test]
async fn reminders_are_limited_and_counted_anew_for_each_prompt() {
    let mut setup = with_todos();
    setup.settings.todos.max_reminders = 2;
    let talk = || [Reply::new().tool("todo", json!({"op": "view"})), Reply::text("I stop.")];
    let replies = [init(&["one"]), Reply::text("I stop.")].into_iter().chain(talk()).chain(talk());
    let mut driver = setup.replies(replies).start();
    driver.run("go").await;
    let attempts: Vec<_> =
        driver.of_type("todo_reminder").iter().map(|record| record["attempt"].clone()).collect();
    assert_eq!(attempts, [1, 2]);
    driver.server.reply(Reply::text("I stop."));
    driver.server.reply(Reply::text("I stop."));
    driver.run("go on").await;
    assert_eq!(driver.of_type("todo_reminder").last().unwrap()["attempt"], 1);
    driver.finish();
}

#[tokio::test]
async fn nobody_is_reminded_of_blocked_tasks_or_if_the_settings_say_so() {
    let block = Reply::new().tool("todo", json!({"op": "block", "task": "one", "reason": "no key"}));
    let mut driver = with_todos().replies([init(&["one"]), block, Reply::text("I stop.")]).start();
    driver.run("go").await;
    assert_eq!(driver.of_type("todo_reminder"), [Value::Null; 0]);
    driver.finish();
    let mut setup = with_todos();
    setup.settings.todos.reminders = false;
    let mut driver = setup.replies([init(&["one"]), Reply::text("I stop.")]).start();
    driver.run("go").await;
    assert_eq!(driver.of_type("todo_reminder"), [Value::Null; 0]);
    driver.finish();
}

#[tokio::test]
async fn long_work_without_a_look_at_the_list_is_nudged() {
    let work = (0..12).map(|_| Reply::new().tool("bash", json!({"command": "true"})));
    let replies = std::iter::once(init(&["one"])).chain(work).chain([done("one"), Reply::text("Done.")]);
    let mut driver = with_todos().replies(replies).start();
    driver.run("go").await;
    let nudges: Vec<_> =
        driver.conversation().into_iter().filter(|message| message.starts_with("custom: ")).collect();
    assert_eq!(nudges.len(), 1);
    assert!(nudges[0].contains("- Tasks\n  - one"), "{nudges:?}");
    assert_eq!(driver.of_type("todo_reminder"), [Value::Null; 0]);
    driver.finish();
}

#[tokio::test]
async fn list_is_part_of_the_session_and_of_its_branches() {
    let mut driver = with_todos()
        .replies([init(&["one"]), Reply::text("Shall I?"), done("one"), Reply::text("Done.")])
        .start();
    driver.run("first").await;
    driver.run("second").await;
    assert_eq!(statuses(&mut driver), [("one".to_owned(), TodoStatus::Completed)]);
    let file = driver.file();
    driver.carry_out(Command::NewSession { parent: None }).await;
    assert_eq!(statuses(&mut driver), []);
    driver.carry_out(Command::SwitchSession { path: file }).await;
    assert_eq!(statuses(&mut driver), [("one".to_owned(), TodoStatus::Completed)]);
    let Answer::ForkMessages(messages) = driver.carry_out(Command::GetForkMessages).await else { panic!() };
    let entry = messages[1].entry.to_string();
    driver
        .carry_out(Command::NavigateTree { entry: entry.clone(), summarize: false, instructions: None })
        .await;
    assert_eq!(
        statuses(&mut driver),
        [("one".to_owned(), TodoStatus::InProgress)],
        "before the second prompt"
    );
    // Where a conversation was moved to is not in the file before it goes on.
    driver.without_file_check();
    driver.finish();
}

#[tokio::test]
async fn client_replaces_the_list() {
    let mut driver = with_todos()
        .replies([Reply::new().tool("todo", json!({"op": "view"})), Reply::text("Which?")])
        .start();
    let task = |content: &str, status| TodoTask { content: content.to_owned(), status, blocker: None };
    let phases = vec![TodoPhase {
        name: "P".to_owned(),
        tasks: vec![task("a", TodoStatus::Completed), task("b", TodoStatus::Pending)],
    }];
    let Answer::Todos(answered) = driver.carry_out(Command::SetTodos { phases: phases.clone() }).await else {
        panic!()
    };
    assert_eq!(*answered, *phases);
    driver.run("go").await;
    let seen = driver.of_type("tool_execution_end")[0]["result"]["content"][0]["text"].clone();
    assert_eq!(seen, "1 of 2 tasks left.\nP\n- [x] a\n- [ ] b");
    let twice = vec![phases[0].clone(), phases[0].clone()];
    driver.send("twice", Command::SetTodos { phases: twice });
    assert_eq!(driver.refusal("twice"), "Duplicate phase \"P\"");
    assert_eq!(driver.state().todos.len(), 1);
    let file = driver.file();
    driver.carry_out(Command::NewSession { parent: None }).await;
    driver.carry_out(Command::SwitchSession { path: file }).await;
    assert_eq!(*driver.state().todos, *phases);
    driver.finish();
}

#[tokio::test]
async fn calls_of_one_answer_change_the_list_in_their_order() {
    let both = init(&["one", "two"])
        .tool("todo", json!({"op": "done", "task": "one"}))
        .tool("todo", json!({"op": "append", "phase": "Tasks", "items": ["three"]}));
    let mut driver = with_todos().replies([both, Reply::text("Go on?")]).start();
    driver.run("go").await;
    let names: Vec<_> = statuses(&mut driver).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["one", "two", "three"]);
    driver.finish();
}
