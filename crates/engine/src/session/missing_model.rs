//! Refusing a prompt for want of a usable model, with advice.

use std::time::Duration;

use bowline_core::command::Origin;
use bowline_core::reply::Refusal;
use bowline_llm::{LocalModels, LocalScope};

use super::Session;
use super::prompting::or_set_model;
use crate::pending::JobOrder;

/// How long a model server on this machine may take to answer.
const LOOK_LIMIT: Duration = Duration::from_millis(200);

/// How many models of a server are named.
const NAMED: usize = 3;

impl Session {
    /// Refuses a prompt for want of a key or a model, after a short look for a model server on this machine that could
    /// be used instead. This is the only time that bowline looks for one by itself.
    pub(super) fn refuse_with_advice(&mut self, origin: Origin, refusal: Refusal) {
        let providers = self.agent.providers().clone();
        let or_command = or_set_model(self.agent.policy().advice);
        self.reply_later(origin, JobOrder::Beside, async move {
            let servers = providers.ask_local_servers(LOOK_LIMIT, LocalScope::Loopback).await;
            let advice: Vec<String> =
                servers.iter().filter_map(|server| advice(server, or_command)).collect();
            let message = [vec![refusal.message], advice].concat().join(" ");
            Err(Refusal { message, ..refusal })
        });
    }
}

/// Returns how to use a server that is running.
fn advice(server: &LocalModels, or_command: &str) -> Option<String> {
    let models = server.models.as_ref().ok()?;
    let LocalModels { provider, base_url, .. } = server;
    let names: Vec<String> = models.iter().take(NAMED).map(|model| model.full_name()).collect();
    let running = format!("A local model server is running ({provider} at {base_url})");
    Some(match names.first() {
        None => format!("{running}, but it has no model yet."),
        Some(first) => {
            let more = if models.len() > names.len() { ", …" } else { "" };
            format!("{running} with {}{more}: use it with --model {first}{or_command}.", names.join(", "))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_servers_that_answered_are_named() {
        let server =
            |models| LocalModels { provider: "ollama".into(), base_url: "http://l/v1".into(), models };
        assert_eq!(advice(&server(Err("refused".into())), ""), None);
        let text = advice(&server(Ok(Vec::new())), "").unwrap();
        assert_eq!(text, "A local model server is running (ollama at http://l/v1), but it has no model yet.");
    }
}
