//! What the model is told before the conversation: the system prompt and the tools. Both can change between turns.
//!
//! The system prompt has the text of context files, and reading them can block. So it is built by the task that needs
//! it first, which reports it back to be kept.

use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bowline_core::tool::ToolDefinition;
use bowline_extension::Resources;
use bowline_session::Clock;
use bowline_tools::Toolbox;

use crate::extension::{KnownTool, OfferedTool, ToolSource};
use crate::input::Step;
use crate::pending::Reporter;
use crate::subagents::{self, TASK_TOOL};
use crate::system_prompt::{Added, SystemPrompt};
use crate::tool_set::{ToolAdvice, ToolSet};

/// The tools and the system prompt of a session.
#[derive(Debug)]
pub(crate) struct Instructions {
    tools: ToolSet,
    system_prompt: SystemPrompt,
    resources: Resources,
    /// Counts the changes to them, so that a text that was built before the last one is not kept.
    version: u64,
    /// Providers cache by the text, so it stays the same until something changes.
    built: Option<BuiltPrompt>,
}

/// A system prompt for a working directory.
#[derive(Debug, Clone)]
pub(crate) struct BuiltPrompt {
    directory: PathBuf,
    version: u64,
    pub text: Arc<str>,
    /// The files that the text contains.
    pub context_files: Arc<[PathBuf]>,
}

/// What a system prompt is built from.
#[derive(Debug)]
pub(crate) struct UnbuiltPrompt {
    directory: PathBuf,
    version: u64,
    system_prompt: SystemPrompt,
    resources: Resources,
    tools: Arc<[ToolDefinition]>,
    advice: ToolAdvice,
    /// Whether tasks can be given to agents.
    has_agents: bool,
    clock: Clock,
}

/// A system prompt that is needed, built or not.
#[derive(Debug)]
pub(crate) enum Prompt {
    Built(BuiltPrompt),
    Unbuilt(Box<UnbuiltPrompt>),
}

impl Instructions {
    pub fn new(tools: ToolSet, system_prompt: SystemPrompt, resources: Resources) -> Self {
        Self { tools, system_prompt, resources, version: 0, built: None }
    }

    pub fn resources(&self) -> &Resources {
        &self.resources
    }

    /// Returns the enabled tools.
    pub fn toolbox(&self) -> &Toolbox {
        self.tools.enabled()
    }

    /// Returns all tools, enabled or not.
    pub fn known_tools(&self) -> Vec<KnownTool> {
        self.tools.known()
    }

    pub fn definitions(&self) -> Arc<[ToolDefinition]> {
        self.toolbox().definitions()
    }

    /// Returns the system prompt for a working directory. It is built here only if no file is read for it.
    pub fn prompt(&mut self, directory: &Path, clock: &Clock) -> Prompt {
        if let Some(built) = &self.built
            && built.directory == directory
        {
            return Prompt::Built(built.clone());
        }
        let unbuilt = UnbuiltPrompt {
            directory: directory.to_owned(),
            version: self.version,
            system_prompt: self.system_prompt.clone(),
            resources: self.resources.clone(),
            tools: self.definitions(),
            advice: self.tools.advice(),
            has_agents: subagents::is_task_tool(self.toolbox().traits_of(TASK_TOOL)),
            clock: clock.clone(),
        };
        if self.system_prompt.use_context_files || !self.resources.is_none() {
            return Prompt::Unbuilt(Box::new(unbuilt));
        }
        Prompt::Built(self.built.insert(unbuilt.build()).clone())
    }

    /// Keeps a system prompt that a task has built, unless something has changed meanwhile.
    pub fn keep(&mut self, built: BuiltPrompt) {
        if built.version == self.version {
            self.built = Some(built);
        }
    }

    /// Uses other tools from the next call of the model on.
    pub fn set_tools(&mut self, toolbox: Toolbox) {
        self.tools.set_built_in(toolbox);
        self.change();
    }

    /// Replaces the tools of a source from the next call of the model on. Returns the names that are taken.
    pub fn offer_tools(&mut self, source: &ToolSource, tools: Vec<OfferedTool>) -> Vec<String> {
        let taken = self.tools.offer(source, tools);
        self.change();
        taken
    }

    /// Enables these tools and no others from the next call of the model on.
    pub fn enable_tools(&mut self, names: Vec<String>) {
        self.tools.enable(names);
        self.change();
    }

    /// Uses another system prompt from the next call of the model on.
    pub fn set_system_prompt(&mut self, system_prompt: SystemPrompt) {
        self.system_prompt = system_prompt;
        self.change();
    }

    /// Uses other skills and templates from the next message on.
    pub fn set_resources(&mut self, resources: Resources) {
        self.resources = resources;
        self.change();
    }

    fn change(&mut self) {
        self.version += 1;
        self.built = None;
    }
}

impl Prompt {
    /// Returns the text. If it has to be built, that happens on a thread that may block, and the session is told.
    pub async fn text(self, reporter: &Reporter) -> Arc<str> {
        match self {
            Self::Built(built) => built.text,
            Self::Unbuilt(unbuilt) => {
                let built = unbuilt.build_in_background().await;
                let text = Arc::clone(&built.text);
                reporter.send(Step::SystemPrompt(built)).await;
                text
            }
        }
    }
}

impl UnbuiltPrompt {
    /// Builds the text on a thread that may block.
    pub async fn build_in_background(self) -> BuiltPrompt {
        match tokio::task::spawn_blocking(move || self.build()).await {
            Ok(built) => built,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                // The process is ending.
                Err(_) => std::future::pending().await,
            },
        }
    }

    fn build(mut self) -> BuiltPrompt {
        if self.has_agents {
            let listing = subagents::listing(&self.resources.agents(&self.directory));
            self.system_prompt.additions.extend(listing);
        }
        let added = Added {
            context_files: self.system_prompt.context_files(&self.directory),
            files: self.resources.instruction_files(&self.directory),
            skills: self.skills(),
            advice: self.advice.clone(),
        };
        let text = self.system_prompt.build(&self.directory, &added, &self.tools, &self.clock).into();
        let was_read = added.context_files.into_iter().filter(|file| file.text.is_ok());
        let context_files = was_read.map(|file| file.path).collect();
        BuiltPrompt { directory: self.directory, version: self.version, text, context_files }
    }

    /// Returns the list of skills, if the model has a tool to read them with.
    fn skills(&self) -> String {
        let can_read = self.tools.iter().any(|tool| tool.name == "read" || tool.name == "bash");
        if can_read { self.resources.skills_section(&self.directory) } else { String::new() }
    }
}
