//! MCP servers as one extension of a session, as the engine sees it.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bowline_core::command::Draft;
use bowline_core::hook::{HookEvent, HookKind, HookResult, Subscription};
use bowline_engine::{Attached, CommandResult, Extension};
use bowline_mcp::Servers;
use bowline_tools::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::lock;
use super::shared::{Seat, Shared};

/// What the names of all commands begin with.
const PREFIX: &str = "/mcp__";

/// How long servers outlive the last session that used them: a client may be about to open another one.
const LINGER: Duration = Duration::from_secs(5);

/// What a session keeps.
pub(super) struct McpAttached {
    pub(super) all: Arc<Mutex<HashMap<PathBuf, Arc<Shared>>>>,
    pub(super) extension: Arc<McpExtension>,
}

impl fmt::Debug for McpAttached {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("McpAttached")
    }
}

impl Attached for McpAttached {
    fn extensions(&self) -> Vec<Arc<dyn Extension>> {
        vec![Arc::clone(&self.extension) as Arc<dyn Extension>]
    }

    fn stop(&self) -> BoxFuture<'static, ()> {
        let (shared, number) = (Arc::clone(&self.extension.shared), self.extension.seat.number);
        let all = Arc::clone(&self.all);
        Box::pin(async move {
            let is_last = {
                let mut all = lock(&all);
                let is_last = lock(&shared.seats).iter().all(|seat| seat.number == number);
                if is_last {
                    // Servers that were stopped are of no use to a session that comes back to this folder.
                    all.retain(|_, known| !Arc::ptr_eq(known, &shared));
                }
                is_last
            };
            if is_last {
                shared.stop().await;
            }
        })
    }
}

impl Drop for McpAttached {
    fn drop(&mut self) {
        let McpExtension { shared, seat } = &*self.extension;
        seat.end.cancel();
        lock(&shared.seats).retain(|other| other.number != seat.number);
        let (all, shared) = (Arc::clone(&self.all), Arc::clone(shared));
        // Without a runtime the process ends, and the servers with it.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            tokio::time::sleep(LINGER).await;
            let is_unused = {
                let mut all = lock(&all);
                let is_unused = lock(&shared.seats).is_empty()
                    && all.get(&shared.directory).is_some_and(|known| Arc::ptr_eq(known, &shared));
                if is_unused {
                    all.remove(&shared.directory);
                }
                is_unused
            };
            if is_unused {
                shared.stop().await;
            }
        });
    }
}

/// What is called at hooks.
pub(super) struct McpExtension {
    pub(super) shared: Arc<Shared>,
    pub(super) seat: Arc<Seat>,
}

impl fmt::Debug for McpExtension {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("McpExtension")
    }
}

impl Extension for McpExtension {
    fn name(&self) -> Arc<str> {
        self.shared.name()
    }

    fn subscription(&self, hook: HookKind, _tool: Option<&str>) -> Subscription {
        // A run can also start without a message of the user.
        let is_first = matches!(hook, HookKind::Input | HookKind::BeforeAgentStart);
        if is_first && !self.seat.is_started.load(Ordering::Relaxed) {
            Subscription::Awaited
        } else {
            Subscription::None
        }
    }

    fn tell(&self, _event: &HookEvent) {}

    fn call(
        &self,
        event: Arc<HookEvent>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<HookResult, String>> {
        let (shared, seat) = (Arc::clone(&self.shared), Arc::clone(&self.seat));
        Box::pin(async move {
            let started = async {
                seat.start(&shared).await;
                // The command was not known yet when the message arrived.
                match &*event {
                    HookEvent::Input { text, .. } if text.starts_with(PREFIX) => {
                        expand_message(shared.servers().await, text).await
                    }
                    _ => Ok(HookResult::None),
                }
            };
            tokio::select! {
                result = started => result,
                () = cancel.cancelled() => Ok(HookResult::None),
            }
        })
    }

    fn run_command(
        &self,
        name: &str,
        arguments: &str,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<CommandResult, String>> {
        let (shared, name, arguments) = (Arc::clone(&self.shared), name.to_owned(), arguments.to_owned());
        Box::pin(async move {
            let expand = async {
                let expanded = shared.servers().await.expand(&name, &arguments).await;
                let expanded = expanded.map_err(|error| error.to_string())?;
                let draft = Draft { text: expanded.text, images: expanded.images, ..Draft::default() };
                Ok(CommandResult::Prompt(draft))
            };
            tokio::select! {
                result = expand => result,
                () = cancel.cancelled() => Ok(CommandResult::Done),
            }
        })
    }
}

/// Returns what a message that names a prompt of a server stands for.
async fn expand_message(servers: &Servers, text: &str) -> Result<HookResult, String> {
    let line = text.trim_start_matches('/');
    let (name, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    if !servers.has_command(name) {
        return Ok(HookResult::None);
    }
    let expanded = servers.expand(name, arguments).await.map_err(|error| error.to_string())?;
    let images = (!expanded.images.is_empty()).then_some(expanded.images);
    Ok(HookResult::Transform { text: expanded.text, images })
}
