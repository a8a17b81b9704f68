//! Which session a process that is started again continues.

use std::sync::{Arc, Mutex, PoisonError};

use bowline_protocol::{Connection, Event};

/// The file of the current session, as far as it is known.
#[derive(Debug, Clone)]
pub(crate) struct SessionFile {
    file: Arc<Mutex<Option<String>>>,
}

impl SessionFile {
    pub fn new(file: Option<String>) -> Self {
        Self { file: Arc::new(Mutex::new(file)) }
    }

    pub fn set(&self, file: Option<String>) {
        *self.file.lock().unwrap_or_else(PoisonError::into_inner) = file;
    }

    pub fn get(&self) -> Option<String> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Asks for the session whenever it may have changed: after a command that changes it, and when a run starts, because
    /// extensions change it, too.
    pub async fn follow(self, connection: Connection) {
        let mut changes = connection.session_changes();
        let mut events = connection.events_of(|kind| kind == "agent_start");
        loop {
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return },
                event = events.next() => match event {
                    Ok(Some(Event::AgentStart(_))) => {}
                    Ok(None) => return,
                    // The process died. If nothing replaces it, the next item is the end.
                    _ => continue,
                },
            }
            if let Ok(state) = connection.get_state().await {
                self.set(state.session_file);
            }
        }
    }
}
