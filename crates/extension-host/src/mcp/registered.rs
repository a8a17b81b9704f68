//! MCP servers that the extensions of a session register. They are of that session alone and end with it.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use bowline_engine::{Extension, ExtensionInput, SessionLink};
use bowline_mcp::{Configuration, Source, Start};
use futures_util::future::join_all;
use serde_json::{Map, Value};

use super::exposure::Exposure;
use super::extension::McpExtension;
use super::shared::{Given, Shared, follow};
use super::{McpOptions, lock};

/// The most servers that the extensions of a session register.
const MOST_SERVERS: usize = 64;

/// Who registers a server.
#[derive(Debug, Clone)]
pub(crate) struct Owner {
    /// The path of the extension.
    pub path: Arc<str>,
    pub is_of_project: bool,
}

/// The servers that the extensions of a session have registered.
#[derive(Default)]
pub(crate) struct RegisteredServers(Mutex<Vec<RegisteredServer>>);

struct RegisteredServer {
    owner: Arc<str>,
    name: String,
    description: Value,
    extension: Arc<McpExtension>,
    link: SessionLink,
}

/// What a server is started in.
pub(crate) struct Surroundings<'session> {
    pub options: &'session Arc<McpOptions>,
    pub directory: PathBuf,
    pub session_id: String,
    pub link: SessionLink,
}

impl RegisteredServers {
    /// Returns what is called at hooks for the servers.
    pub fn extensions(&self) -> Vec<Arc<dyn Extension>> {
        lock(&self.0).iter().map(|server| Arc::clone(&server.extension) as Arc<dyn Extension>).collect()
    }

    /// Starts a server, in place of the one of this name that the extension has registered before. The error is a sentence
    /// for the user.
    pub async fn put(
        &self,
        surroundings: Surroundings<'_>,
        owner: &Owner,
        name: &str,
        description: Value,
    ) -> Result<(), String> {
        {
            let servers = lock(&self.0);
            if let Some(known) = servers.iter().find(|known| known.name == name) {
                if known.owner != owner.path {
                    return Err(format!("Another extension has registered an MCP server named {name}."));
                }
                if known.description == description {
                    return Ok(());
                }
            } else if servers.len() >= MOST_SERVERS {
                return Err(format!(
                    "Extensions register at most {MOST_SERVERS} MCP servers; {name} is not used."
                ));
            }
        }
        let (configuration, exposure) = configuration(owner, name, &description)?;
        self.remove(owner, &[name.to_owned()]).await;
        let Surroundings { options, directory, session_id, link } = surroundings;
        if is_configured(options, &directory, name).await {
            (options.note)(&format!(
                "The MCP server {name} of {} is not started: you have described one of this name.",
                owner.path
            ));
            return Ok(());
        }
        let given = Given { name: format!("mcp:{name}").into(), configuration, exposure };
        let shared = Shared::of_given(Arc::clone(options), directory, given);
        let seat = shared.take_seat(link.clone(), session_id);
        let extension = Arc::new(McpExtension { shared: Arc::clone(&shared), seat: Arc::clone(&seat) });
        let (owner, name) = (Arc::clone(&owner.path), name.to_owned());
        lock(&self.0).push(RegisteredServer { owner, name, description, extension, link: link.clone() });
        // The session looks for the extension anew.
        link.send(ExtensionInput::Changed).await;
        tokio::spawn(follow(shared, seat));
        Ok(())
    }

    /// Ends servers of an extension.
    pub async fn remove(&self, owner: &Owner, names: &[String]) {
        self.remove_where(|server| server.owner == owner.path && names.contains(&server.name)).await;
    }

    /// Ends the servers of an extension but for those of these names.
    pub async fn keep_only(&self, owner: &Owner, names: &BTreeSet<String>) {
        self.remove_where(|server| server.owner == owner.path && !names.contains(&server.name)).await;
    }

    async fn remove_where(&self, is_meant: impl Fn(&RegisteredServer) -> bool) {
        let removed: Vec<_> = lock(&self.0).extract_if(.., |server| is_meant(server)).collect();
        for server in removed {
            let (name, link) = (server.extension.name(), server.link.clone());
            link.send(ExtensionInput::Tools { extension: Arc::clone(&name), tools: Vec::new() }).await;
            link.send(ExtensionInput::Commands { extension: name, commands: Vec::new() }).await;
            link.send(ExtensionInput::Changed).await;
            // It may take a moment to exit.
            let shared = Arc::clone(&server.extension.shared);
            drop(server);
            tokio::spawn(async move { shared.stop().await });
        }
    }

    /// Ends all servers, because the session does.
    pub async fn stop(&self) {
        let all = std::mem::take(&mut *lock(&self.0));
        join_all(all.iter().map(|server| server.extension.shared.stop())).await;
    }
}

impl Drop for RegisteredServer {
    fn drop(&mut self) {
        self.extension.seat.end.cancel();
    }
}

impl fmt::Debug for RegisteredServers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(lock(&self.0).iter().map(|server| &server.name)).finish()
    }
}

/// Returns the description of a server as that of a file is read.
fn configuration(
    owner: &Owner,
    name: &str,
    description: &Value,
) -> Result<(Configuration, Exposure), String> {
    let refused = |problem: &str| format!("The MCP server {name} is not used: {problem}.");
    let Value::Object(members) = description else { return Err(refused("its description is no object")) };
    let mut members = members.clone();
    let exposure = Exposure::take(&mut members).map_err(|problem| refused(&problem))?;
    let servers = Map::from_iter([(name.to_owned(), Value::Object(members))]);
    let mut configuration =
        Configuration::read(&[Source::Servers { origin: PathBuf::from(&*owner.path), servers }]);
    if configuration.servers.is_empty() {
        let problems: Vec<_> = configuration.problems.iter().map(|problem| problem.text.clone()).collect();
        return Err(refused(&problems.join("; ")));
    }
    for server in &mut configuration.servers {
        server.start = Start::AtStart;
        server.is_of_project = owner.is_of_project;
    }
    Ok((configuration, exposure))
}

/// Tells whether the user or a project describes a server of this name, which takes precedence.
async fn is_configured(options: &Arc<McpOptions>, directory: &std::path::Path, name: &str) -> bool {
    let (options, directory) = (Arc::clone(options), directory.to_owned());
    let read = tokio::task::spawn_blocking(move || options.configuration(&directory)).await;
    // pi takes names that differ in '-' and '_' alone for the same.
    let plain = |name: &str| name.replace('-', "_");
    read.is_ok_and(|configured| configured.servers.iter().any(|server| plain(&server.name) == plain(name)))
}
