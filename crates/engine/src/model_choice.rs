//! Which model a session uses and how hard it thinks, and where those choices come from.
//!
//! The level that the user chose outlives models that do not have it: only the level in effect is fitted to the model.
//! As in pi, a model that has a single level leaves nothing to choose while it is in use.

use std::sync::Arc;

use bowline_core::model::Model;
use bowline_core::thinking::ThinkingLevel;
use bowline_llm::{Providers, Resolved};
use bowline_session::Context;

use crate::agent::ModelDefaults;

/// The level of models that think, if nobody named one.
const USUAL_LEVEL: ThinkingLevel = ThinkingLevel::Medium;

/// The model and thinking level of a session, and what the next session of this client starts with.
#[derive(Debug)]
pub(crate) struct ModelChoice {
    defaults: ModelDefaults,
    current: Option<Arc<Model>>,
    /// The level that the user or the session chose.
    chosen: ThinkingLevel,
    /// The level of the current model alone, which takes precedence.
    own: Option<ThinkingLevel>,
    /// The level in effect.
    level: ThinkingLevel,
    /// The level that the session's file ends with, if known.
    recorded: Option<ThinkingLevel>,
    /// What the session's file said when it was opened.
    stored: Stored,
    /// Whether the client has chosen a level.
    has_chosen_level: bool,
}

/// What a session's file says of models and levels.
#[derive(Debug, Clone, Default)]
struct Stored {
    /// The model of the last answer, or one that was chosen after it.
    model: Option<(String, String)>,
    /// The model that was last chosen. It counts if it is virtual: answers name the models that it passes requests on to.
    chosen_model: Option<(String, String)>,
    thinking_level: Option<ThinkingLevel>,
    /// The model that the level was chosen for.
    thinking_level_model: Option<(String, String)>,
}

impl ModelChoice {
    /// Returns the choice for a session. The user's choice for this process takes precedence over what the session
    /// had, which takes precedence over the default.
    pub fn for_session(defaults: ModelDefaults, context: &Context, providers: &Providers) -> Self {
        let stored = Stored {
            model: context.model.clone(),
            chosen_model: context.chosen_model.clone(),
            thinking_level: context.thinking_level,
            thinking_level_model: context.thinking_level_model.clone(),
        };
        Self::from_stored(defaults, stored, providers)
    }

    /// Looks up again, once extensions have registered, what the user and the session named. Returns the choice if it may be
    /// another.
    pub fn look_up_again(&self, providers: &Providers) -> Option<Self> {
        let mut defaults = self.defaults.later.as_ref()?.look_up(providers)?;
        if self.has_chosen_level {
            defaults.chosen_thinking_level = self.defaults.chosen_thinking_level;
            defaults.default_thinking_level = self.defaults.default_thinking_level;
        }
        let mut choice = Self::from_stored(defaults, self.stored.clone(), providers);
        choice.recorded = self.recorded;
        choice.has_chosen_level = self.has_chosen_level;
        Some(choice)
    }

    /// Returns why the model that the user named is not there.
    pub fn missing(&self) -> Option<&str> {
        self.defaults.later.as_ref()?.missing.as_deref()
    }

    fn from_stored(defaults: ModelDefaults, context: Stored, providers: &Providers) -> Self {
        let find = |(provider, id): &(String, String)| providers.find_stored(provider, id);
        let chosen = context.chosen_model.as_ref().and_then(find).filter(|model| providers.is_virtual(model));
        let stored = chosen.or_else(|| context.model.as_ref().and_then(find));
        let usable = stored.filter(|model| providers.check_credentials(model).is_ok());
        let current = defaults.chosen_model.clone().or(usable).or_else(|| defaults.default_model.clone());
        // Nobody chose a level that was the only one of its model.
        let is_choice = |level: &ThinkingLevel| {
            *level != ThinkingLevel::Off
                || context.thinking_level_model.as_ref().and_then(find).is_none_or(|model| model.reasoning)
        };
        let wanted = defaults.chosen_thinking_level.or_else(|| context.thinking_level.filter(is_choice));
        let usual = || USUAL_LEVEL.clamp_to(&levels_of(current.as_deref()));
        let mut choice = Self {
            chosen: wanted.or(defaults.default_thinking_level).unwrap_or_else(usual),
            own: None,
            level: ThinkingLevel::Off,
            recorded: context.thinking_level,
            defaults,
            current,
            stored: context,
            has_chosen_level: false,
        };
        if wanted.is_none() {
            choice.own = choice.level_of_model();
        }
        choice.fit_level();
        choice
    }

    /// Returns the choice for another session of the same client.
    pub fn for_next_session(&self, context: &Context, providers: &Providers) -> Self {
        Self::for_session(self.defaults.clone(), context, providers)
    }

    pub fn current(&self) -> Option<&Arc<Model>> {
        self.current.as_ref()
    }

    /// Returns the level in effect.
    pub fn level(&self) -> ThinkingLevel {
        self.level
    }

    /// Returns the models to cycle through, if the user limited them.
    pub fn scope(&self) -> &Arc<[Resolved]> {
        &self.defaults.scope
    }

    /// Returns the thinking levels that the current model has.
    pub fn levels(&self) -> Vec<ThinkingLevel> {
        levels_of(self.current.as_deref())
    }

    /// Uses another model, here and in new sessions, whatever the command line said. `own` is the level that the user
    /// gave this model.
    pub fn set_model(&mut self, model: Arc<Model>, own: Option<ThinkingLevel>) {
        self.defaults.chosen_model = None;
        self.defaults.later = None;
        self.defaults.default_model = Some(Arc::clone(&model));
        self.current = Some(model);
        self.own = own.or_else(|| self.level_of_model());
        self.fit_level();
    }

    /// Takes the current model for one that reasons, as long as it is in use.
    pub fn declare_reasoning(&mut self) {
        if let Some(model) = &mut self.current {
            Arc::make_mut(model).reasoning = true;
        }
    }

    /// Chooses a level, here and in new sessions.
    pub fn choose_level(&mut self, level: ThinkingLevel) {
        self.has_chosen_level = true;
        self.defaults.chosen_thinking_level = None;
        self.defaults.default_thinking_level = Some(level);
        if self.levels().len() > 1 {
            self.chosen = level;
            self.own = None;
            self.fit_level();
        }
    }

    /// Returns whether whoever opens the session's file would find this level, or one that the model replaces by it.
    pub fn is_recorded(&self, level: ThinkingLevel) -> bool {
        self.recorded.is_some_and(|recorded| recorded.clamp_to(&self.levels()) == level)
    }

    /// Notes that the session's file ends with this level.
    pub fn set_recorded(&mut self, level: ThinkingLevel) {
        self.recorded = Some(level);
    }

    /// Notes that the conversation goes on from another entry of the file.
    pub fn forget_recorded(&mut self) {
        self.recorded = None;
    }

    /// Returns the level that the settings have for the current model.
    fn level_of_model(&self) -> Option<ThinkingLevel> {
        let levels = &self.defaults.thinking_level_by_model;
        if levels.is_empty() {
            return None;
        }
        levels.get(&self.current.as_ref()?.full_name()).copied()
    }

    fn fit_level(&mut self) {
        self.level = self.own.unwrap_or(self.chosen).clamp_to(&self.levels());
    }
}

fn levels_of(model: Option<&Model>) -> Vec<ThinkingLevel> {
    model.map_or_else(|| vec![ThinkingLevel::Off], Model::thinking_levels)
}
