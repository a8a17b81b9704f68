//! Which agent, tools and model a task gets.

use std::sync::Arc;

use bowline_core::model::Model;
use bowline_core::thinking::ThinkingLevel;
use bowline_extension::agents::{AgentDefinition, Agents};
use bowline_llm::Providers;
use bowline_tools::{Selection, Toolbox};
use serde_json::Value;

use super::orders::Order;
use super::settings::SubagentSettings;
use super::tool::TASK_TOOL;

/// What a subagent starts with.
#[derive(Debug)]
pub(super) struct Plan {
    pub task: String,
    pub name: Option<String>,
    pub agent: AgentDefinition,
    pub toolbox: Toolbox,
    pub model: Arc<Model>,
    pub thinking: ThinkingLevel,
    pub output_schema: Option<Value>,
}

/// What plans are made from.
#[derive(Debug)]
pub(super) struct Means<'call> {
    pub agents: &'call Agents,
    pub settings: &'call SubagentSettings,
    pub providers: &'call Providers,
    /// The tools, the model and the thinking level of the parent.
    pub toolbox: &'call Toolbox,
    pub model: &'call Arc<Model>,
    pub thinking: ThinkingLevel,
    /// Whether the subagents may have subagents.
    pub may_delegate: bool,
}

impl Means<'_> {
    /// Returns the plan for a task, or why there is none.
    pub fn plan(&self, order: Order) -> Result<Plan, String> {
        let Order { task, agent, name, tools, model, output_schema } = order;
        let agent = self.agents.get(&agent).ok_or_else(|| self.unknown_agent(&agent))?.clone();
        let toolbox = self.toolbox_for(&agent, tools)?;
        let (model, of_model) = match model {
            Some(pattern) => self.known_model(pattern)?,
            None => self
                .model(&agent.models)
                .map_err(|problem| format!("The agent {} cannot be used: {problem}", agent.name))?,
        };
        let thinking = agent.thinking.or(of_model).unwrap_or(self.thinking);
        Ok(Plan { task, name, agent, toolbox, model, thinking, output_schema })
    }

    fn unknown_agent(&self, name: &str) -> String {
        if let Some(problem) = self.agents.problems.iter().find(|problem| problem.name == name) {
            return format!("The agent {name} cannot be used: {}.", problem.text);
        }
        let known: Vec<_> = self.agents.definitions.iter().map(|agent| agent.name.as_str()).collect();
        format!("There is no agent named {name}. The agents are: {}.", known.join(", "))
    }

    /// Returns the tools of a subagent: those of its parent, or those that its agent names, limited to what the task names.
    fn toolbox_for(&self, agent: &AgentDefinition, wanted: Option<Vec<String>>) -> Result<Toolbox, String> {
        let parents = match self.may_delegate {
            true => self.toolbox.clone(),
            false => self.toolbox.without(TASK_TOOL),
        };
        let toolbox = match &agent.tools {
            None => parents,
            Some(names) => select(&self.with_further(parents), names, is_lenient(agent)).map_err(|name| {
                format!("The agent {} cannot be used: there is no tool named {name}.", agent.name)
            })?,
        };
        let Some(names) = wanted else { return Ok(toolbox) };
        select(&toolbox, &names, false).map_err(|name| {
            let known = toolbox.names().join(", ");
            format!("The agent {} has no tool named {name}. Its tools are: {known}.", agent.name)
        })
    }

    /// Returns a toolbox with the tools that agents may name although their parent does not have them.
    fn with_further(&self, toolbox: Toolbox) -> Toolbox {
        let further = &self.settings.further_tools;
        let missing =
            further.names().iter().filter(|name| toolbox.get(name).is_none()).cloned().collect::<Vec<_>>();
        missing
            .iter()
            .filter_map(|name| further.get(name))
            .fold(toolbox, |toolbox, tool| toolbox.with_tool(tool))
    }

    /// Returns the model that a task names. Models invent names, so one that nobody knows is refused, although a provider may
    /// have it.
    fn known_model(&self, pattern: String) -> Result<(Arc<Model>, Option<ThinkingLevel>), String> {
        if let Ok(resolved) = self.providers.resolve(&pattern, None)
            && resolved.warning.is_some()
            && self.providers.find(&resolved.model.provider, &resolved.model.id).is_none()
        {
            return Err(format!("There is no model named {pattern}."));
        }
        self.model(&[pattern])
    }

    /// Returns the first model that one of the patterns names, with its thinking level; the parent's if there are none.
    fn model(&self, patterns: &[String]) -> Result<(Arc<Model>, Option<ThinkingLevel>), String> {
        let mut problem = None;
        for pattern in patterns {
            let resolved = self.providers.resolve(pattern, None).map_err(|error| error.to_string());
            let usable = resolved.and_then(|resolved| {
                let checked = self.providers.check_credentials(&resolved.model);
                checked.map(|()| (resolved.model, resolved.thinking)).map_err(|error| error.message)
            });
            match usable {
                Ok(found) => return Ok(found),
                Err(error) => problem = problem.or(Some(error)),
            }
        }
        problem.map_or_else(|| Ok((Arc::clone(self.model), None)), Err)
    }
}

/// Tells whether an agent makes do with those of its tools that there are. A definition that somebody wrote is wrong if it
/// names others.
fn is_lenient(agent: &AgentDefinition) -> bool {
    agent.source == bowline_core::subagent::AgentSource::Bundled
}

/// Returns the named tools, or the name of one that there is not.
fn select(toolbox: &Toolbox, names: &[String], is_lenient: bool) -> Result<Toolbox, String> {
    let is_known = |name: &&String| toolbox.get(name).is_some();
    if !is_lenient && let Some(unknown) = names.iter().find(|name| !is_known(name)) {
        return Err(unknown.clone());
    }
    let allow = Some(names.iter().filter(is_known).cloned().collect());
    toolbox.select(&Selection { allow, ..Selection::default() }).map_err(|error| error.to_string())
}
