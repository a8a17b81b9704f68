//! The tools of a session: the built-in ones and those that clients and extensions offer, and which of them are enabled.

use std::collections::BTreeMap;
use std::sync::Arc;

use bowline_tools::{Selection, Tool, Toolbox};

use crate::extension::{KnownTool, OfferedTool, ToolSource};
use crate::system_prompt;

/// All tools that a session knows.
#[derive(Debug)]
pub(crate) struct ToolSet {
    /// The built-in tools that are enabled at the start.
    built_in: Toolbox,
    /// Which offered tools the user allows.
    allowed: Selection,
    offered: Vec<Offered>,
    /// The names that somebody enabled instead of the usual ones.
    chosen: Option<Vec<String>>,
    /// The enabled tools.
    enabled: Toolbox,
    /// What is to be said about the tools beside what they say themselves.
    notes: Vec<String>,
}

/// What is said in the system prompt about offered tools, enabled or not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ToolAdvice {
    /// A line about each tool that has one.
    pub snippets: BTreeMap<String, String>,
    /// Rules about the use of each tool that has some.
    pub guidelines: BTreeMap<String, Vec<String>>,
    /// Rules that belong to no single tool.
    pub rules: Vec<String>,
}

#[derive(Debug)]
struct Offered {
    source: ToolSource,
    tool: OfferedTool,
}

impl Offered {
    fn name(&self) -> &str {
        self.tool.tool.name()
    }
}

impl ToolSet {
    /// Returns a set with built-in tools; `allowed` limits what others may offer.
    pub fn new(built_in: Toolbox, allowed: Selection) -> Self {
        Self {
            enabled: built_in.clone(),
            built_in,
            allowed,
            offered: Vec::new(),
            chosen: None,
            notes: Vec::new(),
        }
    }

    /// Returns the enabled tools.
    pub fn enabled(&self) -> &Toolbox {
        &self.enabled
    }

    /// Returns the built-in tools that are enabled at the start.
    pub fn built_in(&self) -> &Toolbox {
        &self.built_in
    }

    /// Uses other built-in tools.
    pub fn set_built_in(&mut self, built_in: Toolbox) {
        self.built_in = built_in;
        self.rebuild();
    }

    /// Replaces the tools of a source. Returns the names that another source has already, whose tools are not used.
    pub fn offer(&mut self, source: &ToolSource, tools: Vec<OfferedTool>) -> Vec<String> {
        let before: Vec<_> = self.of_source(source).map(|offered| offered.name().to_owned()).collect();
        self.offered.retain(|offered| offered.source != *source);
        let mut taken = Vec::new();
        for tool in tools {
            let offered = Offered { source: source.clone(), tool };
            let name = offered.name();
            if self.offered.iter().any(|other| other.name() == name) {
                taken.push(name.to_owned());
                continue;
            }
            if let Some(chosen) = &mut self.chosen
                && offered.tool.is_active
                && !before.iter().any(|known| known == name)
                && !chosen.iter().any(|known| known == name)
            {
                chosen.push(name.to_owned());
            }
            self.offered.push(offered);
        }
        // Hooks call extensions in order, and so are their tools listed.
        self.offered.sort_by(|one, other| one.source.cmp(&other.source));
        self.rebuild();
        taken
    }

    /// Removes the tools of all extensions. Those that were enabled by name are enabled when they are offered again.
    pub fn withdraw_extensions(&mut self) {
        self.offered.retain(|offered| !matches!(offered.source, ToolSource::Extension { .. }));
        self.rebuild();
    }

    /// Returns where the tool with this name comes from, but for built-in tools that are not enabled.
    pub fn source(&self, name: &str) -> Option<&ToolSource> {
        let offered = self.offered.iter().find(|offered| offered.name() == name);
        let built_in = || self.built_in.get(name).map(|_| &ToolSource::BuiltIn);
        offered.map(|offered| &offered.source).or_else(built_in)
    }

    /// Replaces what is to be said about the tools beside what they say themselves.
    pub fn set_notes(&mut self, notes: Vec<String>) {
        self.notes = notes;
    }

    /// Enables these tools and no others. Unknown names are ignored.
    pub fn enable(&mut self, names: Vec<String>) {
        self.chosen = Some(names);
        self.rebuild();
    }

    /// Returns the names that were enabled instead of the usual ones.
    pub fn chosen(&self) -> Option<&[String]> {
        self.chosen.as_deref()
    }

    /// Enables the usual tools again.
    pub fn enable_usual(&mut self) {
        if self.chosen.take().is_some() {
            self.rebuild();
        }
    }

    /// Returns a tool, enabled or not.
    pub fn find(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let offered = self.offered.iter().find(|offered| offered.name() == name);
        match offered {
            Some(offered) => Some(Arc::clone(&offered.tool.tool)),
            None => Toolbox::builtin(&self.built_in.options()).get(name),
        }
    }

    /// Returns all tools, enabled or not.
    pub fn known(&self) -> Vec<KnownTool> {
        let all = Toolbox::builtin(&self.built_in.options());
        let (built_in, own) = (all.definitions(), self.built_in.definitions());
        // Those that the engine carries out are not in the toolbox of all.
        let further = own.iter().filter(|definition| all.get(&definition.name).is_none());
        let replaced = |name: &str| self.offered.iter().any(|offered| offered.name() == name);
        let built_in = built_in.iter().chain(further).filter(|definition| !replaced(&definition.name));
        let names: Vec<_> = all.names().iter().cloned().collect();
        let mut guidelines = system_prompt::own_guidelines(&names);
        let built_in = built_in.map(|definition| KnownTool {
            definition: definition.clone(),
            source: ToolSource::BuiltIn,
            source_info: None,
            guidelines: guidelines.remove(&definition.name).unwrap_or_default(),
        });
        let offered = self.offered.iter().map(|offered| KnownTool {
            definition: offered.tool.tool.definition().clone(),
            source: offered.source.clone(),
            source_info: offered.tool.source_info.clone(),
            guidelines: offered.tool.guidelines.clone(),
        });
        built_in.chain(offered).collect()
    }

    /// Returns the lines and the rules that offered tools add to the system prompt when they are enabled.
    pub fn advice(&self) -> ToolAdvice {
        let mut advice = ToolAdvice { rules: self.notes.clone(), ..ToolAdvice::default() };
        for offered in &self.offered {
            let name = || offered.name().to_owned();
            let OfferedTool { snippet, guidelines, .. } = &offered.tool;
            advice.snippets.extend(snippet.clone().map(|snippet| (name(), snippet)));
            if !guidelines.is_empty() {
                advice.guidelines.insert(name(), guidelines.clone());
            }
        }
        advice
    }

    fn of_source(&self, source: &ToolSource) -> impl Iterator<Item = &Offered> {
        self.offered.iter().filter(move |offered| offered.source == *source)
    }

    fn allows(&self, name: &str) -> bool {
        let Selection { allow, exclude, none } = &self.allowed;
        let is_named = |names: &[String]| names.iter().any(|known| known == name);
        !none && !is_named(exclude) && allow.as_ref().is_none_or(|names| is_named(names))
    }

    fn rebuild(&mut self) {
        // The client has named its tools itself.
        let is_allowed =
            |offered: &&Offered| offered.source == ToolSource::Client || self.allows(offered.name());
        let offered = self.offered.iter().filter(is_allowed);
        let offered: Vec<(String, bool, Arc<dyn Tool>)> = offered
            .map(|offered| {
                (offered.name().to_owned(), offered.tool.is_active, Arc::clone(&offered.tool.tool))
            })
            .collect();
        let mut enabled = match &self.chosen {
            None => self.built_in.clone(),
            Some(chosen) => {
                let all = Toolbox::builtin(&self.built_in.options());
                let known: Vec<_> = chosen.iter().filter(|name| all.get(name).is_some()).cloned().collect();
                let selection = Selection { allow: Some(known), exclude: Vec::new(), none: false };
                let mut chosen_tools = all.select(&selection).unwrap_or_else(|_| self.built_in.clone());
                for name in chosen.iter().filter(|name| all.get(name).is_none()) {
                    if let Some(tool) = self.built_in.get(name) {
                        chosen_tools = chosen_tools.with_tool(tool);
                    }
                }
                chosen_tools
            }
        };
        for (name, is_active, tool) in offered {
            let is_enabled = match &self.chosen {
                None => is_active,
                Some(chosen) => chosen.contains(&name),
            };
            if is_enabled {
                enabled = enabled.with_tool(tool);
            }
        }
        self.enabled = enabled;
    }
}
