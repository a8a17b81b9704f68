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
    /// The text that was built, and the directory it is for. Providers cache by the text, so it stays the same until
    /// something changes.
    built: Option<(PathBuf, Arc<str>)>,
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
        if let Some((built_for, text)) = &self.built
            && built_for == directory
        {
            return Arc::clone(text);
        }
        let text: Arc<str> = self.system_prompt.build(directory, &self.definitions(), clock).into();
        self.built = Some((directory.to_owned(), Arc::clone(&text)));
        text
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
