//! Which session a process opens: the one that the caller names, and after a crash the one that was open.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bowline_protocol::{Connection, Event, State};

/// The flags that choose a session. They are given once; after a crash, the session is named by its file.
const FLAGS: [&str; 7] =
    ["--session", "--resume", "--session-id", "--fork", "--continue", "-c", "--no-session"];

/// The session of the next process.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionChoice {
    choice: Arc<Mutex<Choice>>,
}

#[derive(Debug, Clone, Default)]
enum Choice {
    #[default]
    New,
    Continue,
    Memory,
    Named(String),
    Id(String),
}

impl SessionChoice {
    pub fn named(session: String) -> Self {
        Self::of(Choice::Named(session))
    }

    pub fn id(id: String) -> Self {
        Self::of(Choice::Id(id))
    }

    pub fn newest() -> Self {
        Self::of(Choice::Continue)
    }

    pub fn memory() -> Self {
        Self::of(Choice::Memory)
    }

    fn of(choice: Choice) -> Self {
        Self { choice: Arc::new(Mutex::new(choice)) }
    }

    /// Returns the flags that open the session.
    pub fn arguments(&self) -> Vec<String> {
        match &*self.lock() {
            Choice::New => Vec::new(),
            Choice::Continue => vec!["--continue".to_owned()],
            Choice::Memory => vec!["--no-session".to_owned()],
            Choice::Named(session) => vec!["--session".to_owned(), session.clone()],
            Choice::Id(id) => vec!["--session-id".to_owned(), id.clone()],
        }
    }

    /// Takes note of the session that is open.
    pub fn remember(&self, state: &State) {
        *self.lock() = match &state.session_file {
            None => Choice::Memory,
            // A session without a message has no file yet.
            Some(file) if !Path::new(file).exists() => Choice::Id(state.session_id.clone()),
            Some(file) => Choice::Named(file.clone()),
        };
    }

    /// Looks at the state whenever the session may have changed: after a command that changes it, and at the start and the end
    /// of a run, because extensions change it, too, and because the first run makes the file.
    pub async fn follow(self, connection: Connection) {
        let mut changes = connection.session_changes();
        let mut events = connection.events_of(|kind| matches!(kind, "agent_start" | "agent_settled"));
        loop {
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return },
                event = events.next() => match event {
                    Ok(Some(Event::AgentStart(_) | Event::AgentSettled(_))) => {}
                    Ok(None) => return,
                    // The process died. If nothing replaces it, the next item is the end.
                    _ => continue,
                },
            }
            if let Ok(state) = connection.get_state().await {
                self.remember(&state);
                connection.remember_state(&state);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Choice> {
        self.choice.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the flag that an argument is, if it chooses a session.
pub(crate) fn session_flag(argument: &str) -> Option<&'static str> {
    let name = argument.split_once('=').map_or(argument, |(name, _)| name);
    FLAGS.into_iter().find(|flag| *flag == name)
}
