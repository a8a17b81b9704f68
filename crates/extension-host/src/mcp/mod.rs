//! MCP servers as part of a session: their tools, their prompts as slash commands, their questions as dialogs.
//!
//! Servers are shared by the sessions of this process that work in the same folder. They are started with the first
//! message of the user, unless the configuration says otherwise, and the message waits for them no longer than a limit.

mod exposure;
mod extension;
mod registered;
mod shared;

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bowline_engine::{About, Attached, Host, SessionLink, SessionServers};
use bowline_extension::Resources;
use bowline_extension::trust::{PROJECT_FOLDERS, project_folders};
use bowline_mcp::{Configuration, Source};
use bowline_tools::BoxFuture;
use serde_json::{Map, Value};

use extension::{McpAttached, McpExtension};
pub(crate) use registered::{Owner, RegisteredServers, Surroundings};
use shared::{Shared, follow};

/// The name that clients know all of this by.
const NAME: &str = "mcp";

/// The name of the file with servers, in the user's folder and in those of a project.
const FILE_NAME: &str = "mcp.json";

/// What is known of MCP servers at the start. Nothing is read or started yet.
#[derive(Clone)]
pub struct McpOptions {
    /// The servers in the user's settings, and the file that they come from.
    pub settings: Map<String, Value>,
    pub settings_file: PathBuf,
    /// The user's folder, which may have a file with more servers.
    pub own_folder: PathBuf,
    /// Decides whether a project is trusted.
    pub resources: Resources,
    /// The options of the toolbox.
    pub tools: Arc<bowline_tools::Options>,
    pub host: Arc<dyn bowline_mcp::Host>,
    /// Whether the client can be asked.
    pub can_ask: bool,
    /// How long the first message waits for servers.
    pub start_limit: Duration,
    /// Whether the files of the user and of projects may describe more.
    pub has_files: bool,
    /// Tells the user something beside the protocol.
    pub note: Arc<dyn Fn(&str) + Send + Sync>,
}

impl McpOptions {
    /// Returns whether the user has described servers.
    fn has_own(&self) -> bool {
        let has_file = || self.own_folder.join(FILE_NAME).symlink_metadata().is_ok();
        !self.settings.is_empty() || (self.has_files && has_file())
    }

    /// Returns the files of a project that describe servers, in order of precedence.
    fn project_files(&self, directory: &Path) -> Vec<PathBuf> {
        if !self.has_files {
            return Vec::new();
        }
        let files = PROJECT_FOLDERS.iter().map(|folder| directory.join(folder).join(FILE_NAME));
        let mut files: Vec<_> = files.filter(|file| file.symlink_metadata().is_ok()).collect();
        // Most projects have none, and then nothing more is looked at.
        if !files.is_empty() {
            let folders = project_folders(directory, &self.own_folder);
            files.retain(|file| {
                file.parent().is_some_and(|folder| folders.iter().any(|known| known == folder))
            });
        }
        files
    }

    /// Reads all descriptions that apply to a folder. Blocks.
    pub fn configuration(&self, directory: &Path) -> Configuration {
        let mut sources =
            vec![Source::Servers { origin: self.settings_file.clone(), servers: self.settings.clone() }];
        if self.has_files {
            sources.push(Source::File(self.own_folder.join(FILE_NAME)));
        }
        let files = self.project_files(directory);
        if !files.is_empty() && self.resources.is_trusted(directory) {
            // The first folder takes precedence, and a later source does.
            let project = files.into_iter().rev();
            let folder = directory.to_owned();
            sources.extend(project.map(|path| Source::ProjectFile { path, folder: folder.clone() }));
        }
        Configuration::read(&sources)
    }
}

/// Makes hosts of the servers that a client wants only one session to use. The files of the user and of projects have no
/// part in them, and their values are taken as they are.
pub struct McpSessionServers(McpOptions);

impl McpSessionServers {
    pub fn new(options: McpOptions) -> Self {
        Self(McpOptions { host: Arc::new(LiteralValues(Arc::clone(&options.host))), ..options })
    }
}

impl fmt::Debug for McpSessionServers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("McpSessionServers").finish_non_exhaustive()
    }
}

impl SessionServers for McpSessionServers {
    fn host(&self, servers: &Map<String, Value>) -> Arc<dyn Host> {
        let options = McpOptions { settings: servers.clone(), has_files: false, ..self.0.clone() };
        Arc::new(McpHost::new(options))
    }
}

/// Takes values as they are, so that nothing of a client's is run as a command.
struct LiteralValues(Arc<dyn bowline_mcp::Host>);

impl bowline_mcp::Host for LiteralValues {
    fn evaluate(&self, value: String) -> BoxFuture<'static, Result<String, String>> {
        Box::pin(std::future::ready(Ok(value)))
    }

    fn http_client(&self, address: String) -> BoxFuture<'static, Result<bowline_mcp::HttpClient, String>> {
        self.0.http_client(address)
    }
}

/// Brings MCP servers to sessions.
pub struct McpHost {
    options: Arc<McpOptions>,
    shared: Arc<Mutex<HashMap<PathBuf, Arc<Shared>>>>,
}

impl McpHost {
    pub fn new(options: McpOptions) -> Self {
        Self { options: Arc::new(options), shared: Arc::default() }
    }
}

impl fmt::Debug for McpHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("McpHost").finish_non_exhaustive()
    }
}

impl Host for McpHost {
    fn attach(&self, link: SessionLink, about: About) -> Option<Box<dyn Attached>> {
        if !self.options.has_own() && self.options.project_files(&about.directory).is_empty() {
            return None;
        }
        let mut all = lock(&self.shared);
        let shared = all
            .entry(about.directory.clone())
            .or_insert_with(|| Shared::new(Arc::clone(&self.options), about.directory));
        let seat = shared.take_seat(link, about.session_id);
        let extension = Arc::new(McpExtension { shared: Arc::clone(shared), seat: Arc::clone(&seat) });
        tokio::spawn(follow(Arc::clone(shared), Arc::clone(&seat)));
        Some(Box::new(McpAttached { all: Arc::clone(&self.shared), extension }))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
