//! What the model is told before the conversation: the system prompt and the tools. Both can change between turns.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bowline_core::tool::ToolDefinition;
use bowline_session::Clock;
use bowline_tools::Toolbox;

use crate::system_prompt::SystemPrompt;

/// The tools and the system prompt of a session.
#[derive(Debug)]
pub(crate) struct Instructions {
    toolbox: Toolbox,
    system_prompt: SystemPrompt,
    /// Providers cache by the text, so it stays the same until something changes.
    built: Option<Built>,
}

/// A system prompt that was built.
#[derive(Debug)]
struct Built {
    /// The directory that it is for.
    directory: PathBuf,
    text: Arc<str>,
    context_files: Arc<[PathBuf]>,
}

impl Instructions {
    pub fn new(toolbox: Toolbox, system_prompt: SystemPrompt) -> Self {
        Self { toolbox, system_prompt, built: None }
    }

    pub fn toolbox(&self) -> &Toolbox {
        &self.toolbox
    }

    pub fn definitions(&self) -> Arc<[ToolDefinition]> {
        self.toolbox.definitions()
    }

    /// Returns the system prompt for a working directory.
    pub fn system_prompt(&mut self, directory: &Path, clock: &Clock) -> Arc<str> {
        Arc::clone(&self.built(directory, clock).text)
    }

    /// Returns the files that the system prompt for a working directory contains.
    pub fn context_files(&mut self, directory: &Path, clock: &Clock) -> Arc<[PathBuf]> {
        Arc::clone(&self.built(directory, clock).context_files)
    }

    fn built(&mut self, directory: &Path, clock: &Clock) -> &Built {
        let current = self.built.take().filter(|built| built.directory == directory);
        let built = current.unwrap_or_else(|| {
            let files = self.system_prompt.context_files(directory);
            let text = self.system_prompt.build(directory, &files, &self.definitions(), clock);
            let context_files = files.into_iter().map(|file| file.path).collect();
            Built { directory: directory.to_owned(), text: text.into(), context_files }
        });
        self.built.insert(built)
    }

    /// Uses other tools from the next call of the model on.
    pub fn set_tools(&mut self, toolbox: Toolbox) {
        self.toolbox = toolbox;
        self.built = None;
    }

    /// Uses another system prompt from the next call of the model on.
    pub fn set_system_prompt(&mut self, system_prompt: SystemPrompt) {
        self.system_prompt = system_prompt;
        self.built = None;
    }
}
