//! The session that is asked about hosts. A proxy lives longer than a session that uses it.

use std::sync::{Arc, Mutex, PoisonError};

use bowline_tools::{BoxFuture, HostAnswer, HostGate};

/// Asks the session whose tools ran last.
#[derive(Debug, Default)]
pub(super) struct SessionGate(Mutex<Option<Arc<dyn HostGate>>>);

impl SessionGate {
    pub fn set(&self, gate: Arc<dyn HostGate>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).replace(gate);
    }
}

impl HostGate for SessionGate {
    fn ask(&self, host: &str, port: u16) -> BoxFuture<'static, HostAnswer> {
        let gate = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match gate {
            Some(gate) => gate.ask(host, port),
            None => Box::pin(std::future::ready(HostAnswer::NotAsked)),
        }
    }
}
