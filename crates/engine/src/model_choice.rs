//! Which model a session uses and how hard it thinks, and where those choices come from.

use std::sync::Arc;

use bowline_core::model::Model;
use bowline_core::thinking::ThinkingLevel;
use bowline_llm::{Providers, Resolved};
use bowline_session::Context;

use crate::agent::ModelDefaults;

/// The model and thinking level of a session, and what the next session of this client starts with.
#[derive(Debug)]
pub(crate) struct ModelChoice {
    defaults: ModelDefaults,
    current: Option<Arc<Model>>,
    level: ThinkingLevel,
}

impl ModelChoice {
    /// Returns the choice for a session. The user's choice for this process takes precedence over what the session
    /// had, which takes precedence over the default.
    pub fn for_session(defaults: ModelDefaults, context: &Context, providers: &Providers) -> Self {
        let stored = context.model.as_ref().and_then(|(provider, id)| providers.find_stored(provider, id));
        let usable = stored.filter(|model| providers.check_credentials(model).is_ok());
        let current = defaults.chosen_model.clone().or(usable).or_else(|| defaults.default_model.clone());
        let wanted = defaults.chosen_thinking_level.or(context.thinking_level);
        let level =
            wanted.unwrap_or(defaults.default_thinking_level).clamp_to(&levels_of(current.as_deref()));
        Self { defaults, current, level }
    }

    /// Returns the choice for another session of the same client.
    pub fn for_next_session(&self, context: &Context, providers: &Providers) -> Self {
        Self::for_session(self.defaults.clone(), context, providers)
    }

    pub fn current(&self) -> Option<&Arc<Model>> {
        self.current.as_ref()
    }

    pub fn level(&self) -> ThinkingLevel {
        self.level
    }

    /// Returns the models to cycle through, if the user limited them.
    pub fn scope(&self) -> &[Resolved] {
        &self.defaults.scope
    }

    /// Returns the thinking levels that the current model has.
    pub fn levels(&self) -> Vec<ThinkingLevel> {
        levels_of(self.current.as_deref())
    }

    /// Uses another model, here and in new sessions, whatever the command line said.
    pub fn set_model(&mut self, model: Arc<Model>) {
        self.defaults.chosen_model = None;
        self.defaults.default_model = Some(Arc::clone(&model));
        self.current = Some(model);
    }

    /// Sets the effective level.
    pub fn set_level(&mut self, level: ThinkingLevel) {
        self.level = level;
    }

    /// Makes a level the one that new sessions start with.
    pub fn set_default_level(&mut self, level: ThinkingLevel) {
        self.defaults.chosen_thinking_level = None;
        self.defaults.default_thinking_level = level;
    }
}

fn levels_of(model: Option<&Model>) -> Vec<ThinkingLevel> {
    model.map_or_else(|| vec![ThinkingLevel::Off], Model::thinking_levels)
}
