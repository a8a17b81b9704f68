//! Refusing a prompt because there is nobody to ask, and saying what would help.

use std::collections::HashMap;
use std::time::Duration;

use bowline_core::command::Origin;
use bowline_core::reply::Refusal;
use bowline_llm::LocalModels;

use crate::engine::{Engine, Input};
use crate::task::Task;

/// How long a model server on this machine may take to show itself.
const LOOK_LIMIT: Duration = Duration::from_millis(200);

/// How many models of a server are named.
const NAMED: usize = 3;

/// The refusals whose texts are not complete yet.
#[derive(Debug, Default)]
pub(crate) struct Refusals(HashMap<u64, Task>);

impl Refusals {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Engine {
    /// Refuses a prompt for want of a key or a model, after a short look for a model server on this machine that could
    /// stand in. This is the only time that anybody looks.
    pub(crate) fn refuse_with_advice(&mut self, origin: Origin, refusal: Refusal) {
        let number = self.next_number();
        let (providers, inputs) = (self.providers.clone(), self.inputs.clone());
        let task = Task::spawn(async move {
            let servers = providers.ask_local_servers(LOOK_LIMIT, bowline_llm::LocalScope::Loopback).await;
            let advice: Vec<String> = servers.iter().filter_map(advice).collect();
            let message = [vec![refusal.message], advice].concat().join(" ");
            let refusal = Refusal { message, ..refusal };
            let _ = inputs.send(Input::Refused { number, origin, refusal }).await;
        });
        self.refusals.0.insert(number, task);
    }

    /// Answers a prompt that was refused.
    pub(crate) fn refused(&mut self, number: u64, origin: Origin, refusal: Refusal) {
        if self.refusals.0.remove(&number).is_some() {
            self.reply(origin, Err(refusal));
        }
    }
}

/// Says how to use a server that is running.
fn advice(server: &LocalModels) -> Option<String> {
    let models = server.models.as_ref().ok()?;
    let LocalModels { provider, base_url, .. } = server;
    let names: Vec<String> = models.iter().take(NAMED).map(|model| model.full_name()).collect();
    let running = format!("A local model server is running ({provider} at {base_url})");
    Some(match names.first() {
        None => format!("{running}, but it has no model yet."),
        Some(first) => {
            let more = if models.len() > names.len() { ", …" } else { "" };
            format!("{running} with {}{more}: use it with --model {first} or set_model.", names.join(", "))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_named_only_if_it_answered() {
        let server =
            |models| LocalModels { provider: "ollama".into(), base_url: "http://l/v1".into(), models };
        assert_eq!(advice(&server(Err("refused".into()))), None);
        let text = advice(&server(Ok(Vec::new()))).unwrap();
        assert_eq!(text, "A local model server is running (ollama at http://l/v1), but it has no model yet.");
    }
}
