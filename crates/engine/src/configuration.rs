//! What users configure, read again while a session goes on.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use bowline_extension::Resources;
use bowline_tools::Toolbox;

use crate::extension::Host;
use crate::settings::Settings;
use crate::system_prompt::SystemPrompt;

/// Reads what the user has configured.
pub trait Configuration: fmt::Debug + Send + Sync {
    /// Reads it for a session that works in this folder. Blocks. An error is what the client reads; then everything stays
    /// as it is.
    fn read(&self, directory: &Path) -> Result<Configured, String>;

    /// Reads it for another session of the process, with what confines the tools of that session only. Blocks.
    fn for_session(&self, directory: &Path) -> Result<(Configured, Arc<dyn Configuration>), String>;
}

/// What a session takes over when it is reloaded. Models, keys and where sessions are stored stay as they are.
#[derive(Debug, Clone)]
pub struct Configured {
    pub settings: Settings,
    pub toolbox: Toolbox,
    pub system_prompt: SystemPrompt,
    pub resources: Resources,
    pub hosts: Vec<Arc<dyn Host>>,
}
