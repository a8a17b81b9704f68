//! What the model is told before the conversation: the system prompt and the tools. Both can change between turns.
//!
//! The system prompt has the text of context files, and reading them can block. So it is built by the task that needs
//! it first, which reports it back to be kept.

use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use bowline_core::hook::{DiscoveredPaths, StartAdditions};
use bowline_core::prompt::{PromptChanges, PromptParts};
use bowline_core::tool::ToolDefinition;
use bowline_extension::{DiscoveredPath, ResourceKind, Resources};
use bowline_session::Clock;
use bowline_tools::{Tool, Toolbox};

use crate::extension::{KnownTool, OfferedTool, ToolSource};
use crate::input::Step;
use crate::pending::Reporter;
use crate::subagents::{self, TASK_TOOL};
use crate::system_prompt::{self, SystemPrompt};
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
    known: OnceLock<Arc<[KnownTool]>>,
    /// How the system prompt of the run differs from the usual one.
    run_changes: Option<Arc<PromptChanges>>,
    /// The places of skills and templates that extensions named.
    discovered: Vec<DiscoveredPath>,
    /// The tools that were enabled before the run, if it has its own.
    enabled_before: Option<Option<Vec<String>>>,
}

/// A system prompt for a working directory.
#[derive(Debug, Clone)]
pub(crate) struct BuiltPrompt {
    directory: PathBuf,
    version: u64,
    pub text: Arc<str>,
    /// What the text is made of.
    pub parts: Arc<PromptParts>,
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
    /// The names of the enabled tools.
    tools: Arc<[String]>,
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
        Self {
            tools,
            system_prompt,
            resources,
            version: 0,
            built: None,
            known: OnceLock::new(),
            run_changes: None,
            discovered: Vec::new(),
            enabled_before: None,
        }
    }

    pub fn resources(&self) -> &Resources {
        &self.resources
    }

    /// Returns the enabled tools.
    pub fn toolbox(&self) -> &Toolbox {
        self.tools.enabled()
    }

    /// Returns all tools, enabled or not.
    pub fn known_tools(&self) -> Arc<[KnownTool]> {
        Arc::clone(self.known.get_or_init(|| self.tools.known().into()))
    }

    /// Returns a tool, enabled or not.
    pub fn find_tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.tools.find(name)
    }

    /// Returns a built-in tool, enabled or not, also if another one has taken its place.
    pub fn built_in_tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        Toolbox::builtin(&self.tools.built_in().options()).get(name)
    }

    /// Returns the definitions of the built-in tools.
    pub fn built_in_definitions(&self) -> Arc<[ToolDefinition]> {
        self.tools.built_in().definitions()
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
            tools: self.toolbox().names(),
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

    /// Returns where the tool with this name comes from, but for built-in tools that are not enabled.
    pub fn tool_source(&self, name: &str) -> Option<&ToolSource> {
        self.tools.source(name)
    }

    /// Replaces what the model is told about the tools beside what they say themselves.
    pub fn set_tool_notes(&mut self, notes: Vec<String>) {
        self.tools.set_notes(notes);
        self.change();
    }

    /// Enables these tools and no others from the next call of the model on.
    pub fn enable_tools(&mut self, names: Vec<String>) {
        self.tools.enable(names);
        self.change();
    }

    /// Forgets the tools of extensions and the places that they named, because they are left.
    pub fn forget_extensions(&mut self) {
        self.tools.withdraw_extensions();
        self.forget_discovered();
        self.change();
    }

    /// Has the system prompt built anew, because what it is made from may have changed.
    pub fn forget_prompt(&mut self) {
        self.change();
    }

    /// Forgets the places of skills and templates that extensions named.
    pub fn forget_discovered(&mut self) {
        if !self.discovered.is_empty() {
            self.discovered.clear();
            self.resources = self.resources.with_discovered(Vec::new());
            self.change();
        }
    }

    /// Takes further places of skills and templates, which extensions named.
    pub fn add_resources(&mut self, paths: DiscoveredPaths) {
        let DiscoveredPaths { extension, skills, prompts } = paths;
        let base_folder = Path::new(&extension).parent().map(Path::to_owned);
        let found = |kind| {
            let (extension, base_folder) = (extension.clone(), base_folder.clone());
            move |path| DiscoveredPath {
                kind,
                path,
                extension: extension.clone(),
                base_folder: base_folder.clone(),
            }
        };
        self.discovered.extend(skills.into_iter().map(found(ResourceKind::Skill)));
        self.discovered.extend(prompts.into_iter().map(found(ResourceKind::PromptTemplate)));
        self.resources = self.resources.with_discovered(self.discovered.clone());
        self.change();
    }

    /// Takes what extensions change for the run that starts.
    pub fn set_run_additions(&mut self, additions: Vec<StartAdditions>) {
        let mut changes = PromptChanges::default();
        for addition in additions {
            changes.then(*addition.changes);
        }
        if let Some(names) = changes.selected_tools.take() {
            let before = self.tools.chosen().map(<[String]>::to_vec);
            self.enabled_before.get_or_insert(before);
            self.enable_tools(names);
        }
        self.run_changes = (changes != PromptChanges::default()).then(|| Arc::new(changes));
    }

    /// Returns how the system prompt of the run differs from the usual one, if it does.
    pub fn run_changes(&self) -> Option<Arc<PromptChanges>> {
        self.run_changes.clone()
    }

    /// Goes back to the usual system prompt and tools.
    pub fn end_run(&mut self) {
        self.run_changes = None;
        match self.enabled_before.take() {
            None => {}
            Some(Some(names)) => self.enable_tools(names),
            Some(None) => {
                self.tools.enable_usual();
                self.change();
            }
        }
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
        self.known = OnceLock::new();
    }
}

impl BuiltPrompt {
    /// Returns the text with what is changed of it for a run.
    pub fn with_changes(&self, changes: Option<&PromptChanges>) -> Arc<str> {
        match changes {
            Some(changes) => system_prompt::render(&self.parts, changes).into(),
            None => Arc::clone(&self.text),
        }
    }
}

impl Prompt {
    /// Returns the text. If it has to be built, that happens on a thread that may block, and the session is told.
    pub async fn text(self, reporter: &Reporter) -> Arc<str> {
        self.build(reporter).await.text
    }

    /// Returns the text with what it was built from.
    pub async fn build(self, reporter: &Reporter) -> BuiltPrompt {
        match self {
            Self::Built(built) => built,
            Self::Unbuilt(unbuilt) => {
                let built = unbuilt.build_in_background().await;
                reporter.send(Step::SystemPrompt(built.clone())).await;
                built
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

    fn build(self) -> BuiltPrompt {
        let Self { directory, version, system_prompt, resources, tools, advice, has_agents, clock } = self;
        let (replacement, addition) = system_prompt.instructions(resources.instruction_files(&directory));
        let agents = has_agents.then(|| subagents::listing(&resources.agents(&directory)));
        let ToolAdvice { snippets, guidelines, rules } = advice;
        let parts = PromptParts {
            replacement,
            addition,
            agents: agents.flatten().unwrap_or_default(),
            selected_tools: tools.to_vec(),
            snippets,
            guidelines,
            rules,
            context_files: system_prompt.context_files(&directory),
            skills: resources.skills(&directory),
            today: clock.today(),
            directory: directory.clone(),
        };
        let text = system_prompt::render(&parts, &PromptChanges::default()).into();
        let was_read = parts.context_files.iter().filter(|file| file.text.is_ok());
        let context_files = was_read.map(|file| file.path.clone()).collect();
        BuiltPrompt { directory, version, text, parts: Arc::new(parts), context_files }
    }
}
