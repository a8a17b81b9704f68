//! Model servers on the user's machine: providers without a key, whose models only they know.
//!
//! No server is asked before the user wants a list: a name such as `ollama/qwen3:8b` is accepted as it is.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bowline_core::Model;
use bowline_core::model::{InputKind, Price};
use bowline_core::stream::FailureKind;
use serde::Deserialize;
use serde_json::json;

use crate::address::{self, Address};
use crate::providers::Providers;
use crate::registry::{DEFAULT_CONTEXT_WINDOW, DEFAULT_MAX_TOKENS};
use crate::secret::Secret;

/// A kind of server.
#[derive(Debug)]
pub(crate) struct LocalServer {
    pub(crate) id: &'static str,
    port: u16,
    /// The variables that set its address, in order of precedence.
    variables: &'static [&'static str],
}

/// The known kinds of servers; each serves the API `openai-completions` under `/v1`.
pub(crate) const SERVERS: &[LocalServer] = &[
    LocalServer { id: "ollama", port: 11434, variables: &["OLLAMA_HOST", "OLLAMA_BASE_URL"] },
    LocalServer { id: "lmstudio", port: 1234, variables: &["LMSTUDIO_BASE_URL", "LM_STUDIO_API_BASE"] },
    LocalServer { id: "llamacpp", port: 8080, variables: &["LLAMACPP_BASE_URL", "LLAMACPP_HOST"] },
    LocalServer { id: "vllm", port: 8000, variables: &["VLLM_BASE_URL", "VLLM_API_BASE"] },
];

/// The response of a server that was asked.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalModels {
    pub provider: String,
    pub base_url: String,
    /// Its models, or why there are none.
    pub models: Result<Vec<Arc<Model>>, String>,
}

/// Which local servers to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalScope {
    /// Every server, wherever the user's settings locate it.
    Configured,
    /// Only servers on this machine.
    Loopback,
}

/// A server's list of models.
#[derive(Deserialize)]
struct List {
    data: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    id: String,
    /// The context window, from vLLM.
    max_model_len: Option<u64>,
    /// The model's properties, from llama.cpp.
    meta: Option<Meta>,
}

#[derive(Deserialize)]
struct Meta {
    n_ctx: Option<u64>,
    n_ctx_train: Option<u64>,
}

/// Returns the kind of server with this name.
pub(crate) fn server(id: &str) -> Option<&'static LocalServer> {
    SERVERS.iter().find(|server| server.id == id)
}

impl LocalServer {
    /// Returns the address of the server, from the environment or by default.
    pub(crate) fn base_url(&self, environment: &HashMap<String, String>) -> String {
        let named = self.variables.iter().find_map(|name| environment.get(*name));
        let named = named.map(|value| value.trim()).filter(|value| !value.is_empty());
        named.map_or_else(|| format!("http://localhost:{}/v1", self.port), |value| complete(value, self.port))
    }

    /// Returns a model that the server is assumed to have.
    pub(crate) fn model(&self, id: &str, base_url: &str) -> Model {
        Model {
            id: id.to_owned(),
            name: id.to_owned(),
            api: "openai-completions".to_owned(),
            provider: self.id.to_owned(),
            base_url: base_url.to_owned(),
            reasoning: false,
            input: vec![InputKind::Text],
            cost: Price::default(),
            context_window: DEFAULT_CONTEXT_WINDOW,
            max_tokens: DEFAULT_MAX_TOKENS,
            thinking_level_map: None,
            compat: Some(json!({
                "maxTokensField": "max_tokens", "supportsDeveloperRole": false, "supportsStore": false,
            })),
        }
    }
}

impl Providers {
    /// Asks the local servers in `scope` for their models, concurrently, each for at most `limit`.
    pub async fn ask_local_servers(&self, limit: Duration, scope: LocalScope) -> Vec<LocalModels> {
        let registry = self.registry();
        let known = SERVERS.iter().map(|server| (server, registry.address(server)));
        let wanted =
            known.filter(|(_, base_url)| scope == LocalScope::Configured || is_loopback(base_url.expose()));
        let asked = wanted.map(|(server, base_url)| self.ask(server, base_url, limit));
        futures_util::future::join_all(asked).await
    }

    async fn ask(&self, server: &LocalServer, base_url: Secret, limit: Duration) -> LocalModels {
        let (address, base_url) = (Address::new(base_url.expose()), address::shown(base_url.expose()));
        let url = format!("{}/models", address.base_url.trim_end_matches('/'));
        let models = match self.transport().get(&address.open(&url), limit).await {
            Err(error) if error.kind == FailureKind::Connection => {
                Err(format!("nothing answers at {base_url}"))
            }
            Err(error) => Err(error.message),
            Ok((200, body)) => self
                .listed(&body, server)
                .ok_or_else(|| format!("the service at {base_url} is not a model server")),
            Ok((status, _)) => Err(format!("the server returned status {status} for GET {url}")),
        };
        LocalModels { provider: server.id.to_owned(), base_url, models }
    }

    /// Returns the models in a server's list, with the settings of the user's file.
    fn listed(&self, body: &[u8], server: &LocalServer) -> Option<Vec<Arc<Model>>> {
        let list: List = serde_json::from_slice(body).ok()?;
        let models = list.data.into_iter().map(|listed| {
            let reported =
                listed.meta.and_then(|meta| meta.n_ctx.or(meta.n_ctx_train)).or(listed.max_model_len);
            self.registry().local(server, &listed.id, reported.filter(|window| *window > 0)).model
        });
        Some(models.collect())
    }
}

/// Converts what users write into such variables to a base URL: a host, a host with a port, or a URL with or without a
/// path. `0.0.0.0`, on which a server listens, is not an address to connect to.
fn complete(value: &str, port: u16) -> String {
    let (value, query) = value.split_at(value.find('?').unwrap_or(value.len()));
    let (scheme, rest) = value.split_once("://").unwrap_or(("http", value));
    let rest = rest.trim_end_matches('/');
    let (place, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (user, place) = place.split_at(place.rfind('@').map_or(0, |at| at + 1));
    let has_port = place.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let (host, own_port) = match place.rsplit_once(':') {
        Some((host, own)) if has_port => (host, own.to_owned()),
        _ if value.contains("://") => (place, String::new()),
        _ => (place, port.to_string()),
    };
    let host = if matches!(host, "" | "0.0.0.0" | "[::]") { "localhost" } else { host };
    let colon = if own_port.is_empty() { "" } else { ":" };
    let path = if path.is_empty() { "/v1" } else { path };
    format!("{scheme}://{user}{host}{colon}{own_port}{path}{query}")
}

/// Returns whether a URL is on this machine.
fn is_loopback(url: &str) -> bool {
    let url = reqwest::Url::parse(url).ok();
    let host = url.as_ref().and_then(reqwest::Url::host_str).unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sources;

    #[test]
    fn user_spellings_become_a_base_url() {
        for (value, expected) in [
            ("myhost", "http://myhost:11434/v1"),
            ("myhost:9", "http://myhost:9/v1"),
            ("0.0.0.0", "http://localhost:11434/v1"),
            (":9", "http://localhost:9/v1"),
            ("127.0.0.1:9/", "http://127.0.0.1:9/v1"),
            ("[::1]:9", "http://[::1]:9/v1"),
            ("https://models.example", "https://models.example/v1"),
            ("http://h:9/api/v3", "http://h:9/api/v3"),
            ("me:word@0.0.0.0", "http://me:word@localhost:11434/v1"),
            ("http://me:word@h:9?key=k", "http://me:word@h:9/v1?key=k"),
        ] {
            assert_eq!(complete(value, 11434), expected, "{value}");
        }
    }

    #[test]
    fn environment_sets_the_address_of_a_server() {
        let ollama = server("ollama").unwrap();
        assert_eq!(ollama.base_url(&HashMap::new()), "http://localhost:11434/v1");
        let named = HashMap::from([("OLLAMA_HOST".to_owned(), "h:7".to_owned())]);
        assert_eq!(ollama.base_url(&named), "http://h:7/v1");
    }

    #[test]
    fn lists_of_all_servers_are_parsed() {
        let body = br#"{"object": "list", "data": [{"id": "plain", "object": "model"},
            {"id": "vllm", "max_model_len": 8192}, {"id": "llama", "meta": {"n_ctx_train": 4096}}]}"#;
        let providers = Providers::new(Sources::default()).unwrap();
        let models = providers.listed(body, server("vllm").unwrap()).unwrap();
        let windows: Vec<_> =
            models.iter().map(|model| (model.id.as_str(), model.context_window, model.max_tokens)).collect();
        assert_eq!(windows, [("plain", 128_000, 16_384), ("vllm", 8192, 8192), ("llama", 4096, 4096)]);
        assert_eq!(providers.listed(b"<html>", server("vllm").unwrap()), None);
    }

    #[test]
    fn only_this_machine_is_loopback() {
        for url in ["http://localhost:1/v1", "http://127.0.0.1/v1", "http://[::1]:2"] {
            assert!(is_loopback(url), "{url}");
        }
        for url in ["http://myhost:1/v1", "https://10.0.0.1", "nonsense"] {
            assert!(!is_loopback(url), "{url}");
        }
    }
}
