//! The list of tasks: what keeps it, and the reminders that it leads to.

use std::fmt::Write as _;
use std::sync::Arc;

use bowline_core::event::Event;
use bowline_core::message::{Content, CustomMessage};
use bowline_core::reply::{Answer, Refusal, RefusalCode};
use bowline_core::todo::{TodoPhase, TodoTask};
use bowline_tools::{TODO, TodoList, check_todos};

use super::{Continuation, Session};
use crate::run::{AfterAttempt, TurnEnd};
use crate::session_notes::todos_entry;
use crate::todo_progress::asks_user;

/// The types of the messages that remind the model.
const REMINDER: &str = "todo-reminder";
const NUDGE: &str = "todo-nudge";

/// The list of a session, and what its file says of it.
#[derive(Debug, Default)]
pub(crate) struct Todos {
    pub list: TodoList,
    stored: Arc<[TodoPhase]>,
}

impl Todos {
    pub fn restored(phases: Arc<[TodoPhase]>) -> Self {
        Self { list: TodoList::new(Arc::clone(&phases)), stored: phases }
    }

    /// Replaces the tasks. Calls in progress change the same list.
    fn set(&mut self, phases: Arc<[TodoPhase]>) {
        self.list.set(Arc::clone(&phases));
        self.stored = phases;
    }
}

impl Session {
    /// Replaces the list.
    pub(super) fn set_todos(&mut self, phases: Vec<TodoPhase>) -> Result<Answer, Refusal> {
        check_todos(&phases).map_err(|reason| Refusal::new(RefusalCode::InvalidArgument, reason))?;
        self.transcript.append(todos_entry(&phases))?;
        self.todos.set(phases.into());
        Ok(Answer::Todos(self.todos.list.phases()))
    }

    /// Keeps the list if a call has changed it.
    pub(super) fn store_todos(&mut self) {
        let phases = self.todos.list.phases();
        if phases != self.todos.stored && self.append_note(todos_entry(&phases)) {
            self.todos.stored = phases;
        }
    }

    /// Notes what a call that has ended means for reminders.
    pub(super) fn note_call_for_todos(&mut self, tool: &str, is_error: bool) {
        let mutates = self.instructions.toolbox().traits_of(tool).is_some_and(|traits| traits.mutates);
        if let Some(run) = self.run_mut() {
            run.todos.call_ended(tool == TODO, mutates && !is_error);
        }
    }

    /// Reminds the model of the tasks that are left instead of ending the run, if it is time to. Returns whether the run
    /// goes on.
    pub(super) fn remind_of_todos(&mut self) -> bool {
        let settings = self.agent.settings().todos;
        let phases = self.todos.list.phases();
        let open = open_tasks(&phases);
        if !settings.reminders || open.is_empty() || self.shutting_down || self.last_answer_asks() {
            return false;
        }
        // Without the tool, the model could not mark anything.
        if self.instructions.toolbox().get(TODO).is_none() {
            return false;
        }
        let max_attempts = settings.max_reminders;
        let Some(attempt) = self.run_mut().and_then(|run| run.todos.remind(max_attempts)) else {
            return false;
        };
        self.end_attempt(AfterAttempt::Retry);
        self.emit(Event::TodoReminder { todos: open, attempt, max_attempts });
        let text = format!(
            "You stopped, but these tasks of your todo list are left:{}\n\nGo on with them, or mark in the list what is done, \
             dropped or blocked.\n(Reminder {attempt} of {max_attempts})",
            listed(&phases)
        );
        self.remind(REMINDER, &text);
        self.emit(Event::RunStart);
        self.compact_if_full(Continuation::NextTurn(TurnEnd::ToolResults));
        true
    }

    /// Reminds the model of the list in the middle of its work, if it has not looked at it for long.
    pub(super) fn nudge_about_todos(&mut self) {
        let phases = self.todos.list.phases();
        if open_tasks(&phases).is_empty() || !self.agent.settings().todos.reminders {
            return;
        }
        if self.run_mut().is_some_and(|run| run.todos.nudge()) {
            let text = format!(
                "You have made many changes since you last updated your todo list. Mark what is done. It says:{}",
                listed(&phases)
            );
            self.remind(NUDGE, &text);
        }
    }

    fn remind(&mut self, custom_type: &str, text: &str) {
        self.record_hidden(CustomMessage {
            custom_type: custom_type.to_owned(),
            content: vec![Content::text(format!("<system-reminder>\n{text}\n</system-reminder>"))].into(),
            display: false,
            details: None,
            timestamp: self.now(),
        });
    }

    /// Tells whether the model waits for the user.
    fn last_answer_asks(&self) -> bool {
        let last = self.transcript.messages().iter().rev().find_map(|message| message.as_assistant());
        last.is_some_and(|answer| asks_user(&answer.text()))
    }
}

fn open_tasks(phases: &[TodoPhase]) -> Vec<TodoTask> {
    let tasks = phases.iter().flat_map(|phase| &phase.tasks);
    tasks.filter(|task| task.status.is_open()).cloned().collect()
}

/// Returns the open tasks by phase.
fn listed(phases: &[TodoPhase]) -> String {
    let mut list = String::new();
    for phase in phases {
        let open: Vec<_> = phase.tasks.iter().filter(|task| task.status.is_open()).collect();
        if !open.is_empty() {
            let _ = write!(list, "\n- {}", phase.name);
            for task in open {
                let _ = write!(list, "\n  - {}", task.content);
            }
        }
    }
    list
}
