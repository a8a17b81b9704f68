//! Questions to the user about hosts that are not on the list. A program opens many connections to one host: equal
//! questions are asked once, and a no stands for a while.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::host::Endpoint;
use super::{HostAnswer, HostGate};

/// How many questions may be open at once. What would be asked beyond that is refused.
const MAX_OPEN: usize = 16;
const MAX_REFUSALS: usize = 256;
/// How long a no stands without asking again: programs try again at once.
const REFUSAL_STANDS: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct Questions {
    gate: Arc<dyn HostGate>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    open: HashMap<Endpoint, watch::Receiver<Option<HostAnswer>>>,
    refused: HashMap<Endpoint, Instant>,
}

impl Questions {
    pub fn new(gate: Arc<dyn HostGate>) -> Arc<Self> {
        Arc::new(Self { gate, state: Mutex::default() })
    }

    /// Asks whether a host may be reached, and waits for the answer.
    pub async fn ask(self: &Arc<Self>, endpoint: &Endpoint) -> HostAnswer {
        let mut answer = match self.question(endpoint) {
            Ok(answer) => answer,
            Err(known) => return known,
        };
        // A question that ends without an answer is a no.
        let answered = answer.wait_for(Option::is_some).await;
        answered.ok().and_then(|answer| *answer).unwrap_or(HostAnswer::NotAsked)
    }

    /// Returns where the answer to a question arrives, or the answer itself if it is not asked.
    fn question(
        self: &Arc<Self>,
        endpoint: &Endpoint,
    ) -> Result<watch::Receiver<Option<HostAnswer>>, HostAnswer> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.refused.retain(|_, since| since.elapsed() < REFUSAL_STANDS);
        if state.refused.contains_key(endpoint) {
            return Err(HostAnswer::Declined);
        }
        if let Some(open) = state.open.get(endpoint) {
            return Ok(open.clone());
        }
        if state.open.len() >= MAX_OPEN {
            return Err(HostAnswer::NotAsked);
        }
        let (sender, receiver) = watch::channel(None);
        state.open.insert(endpoint.clone(), receiver.clone());
        drop(state);
        let (questions, endpoint) = (Arc::clone(self), endpoint.clone());
        // The question stays open if the program that caused it goes away: the user may be reading it.
        tokio::spawn(async move {
            let closing = Closing { questions: Arc::clone(&questions), endpoint: endpoint.clone() };
            let answer = questions.gate.ask(&endpoint.host.to_string(), endpoint.port).await;
            if answer == HostAnswer::Declined {
                questions.remember_refusal(endpoint);
            }
            drop(closing);
            sender.send_replace(Some(answer));
        });
        Ok(receiver)
    }

    fn remember_refusal(&self, endpoint: Endpoint) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.refused.len() < MAX_REFUSALS {
            state.refused.insert(endpoint, Instant::now());
        }
    }
}

/// Closes a question, also if the gate panics.
struct Closing {
    questions: Arc<Questions>,
    endpoint: Endpoint,
}

impl Drop for Closing {
    fn drop(&mut self) {
        let mut state = self.questions.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.open.remove(&self.endpoint);
    }
}
