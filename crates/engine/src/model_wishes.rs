//! The models that the user names, and which models those are. Extensions bring models, too, so a name that nobody knows at
//! the start may be known once they have registered.

use std::collections::HashMap;
use std::sync::Arc;

use bowline_core::model::Model;
use bowline_core::thinking::ThinkingLevel;
use bowline_llm::{Error, Providers, Resolved};

use crate::agent::ModelDefaults;

/// What the user says of models and thinking levels, on the command line and in the settings.
#[derive(Debug, Clone, Default)]
pub struct ModelWishes {
    /// The model for this process, as a pattern.
    pub model: Option<String>,
    /// The provider for this process.
    pub provider: Option<String>,
    pub thinking_level: Option<ThinkingLevel>,
    /// The models to cycle through: patterns separated by commas.
    pub scope: Option<String>,
    /// The provider and the id of the saved default.
    pub preferred: Option<(String, String)>,
    pub default_thinking_level: Option<ThinkingLevel>,
    pub thinking_level_by_model: Arc<HashMap<String, ThinkingLevel>>,
}

impl ModelWishes {
    /// Returns the model that the user named for this process, if any.
    pub fn choose(&self, providers: &Providers) -> Result<Option<Resolved>, Error> {
        match (&self.model, &self.provider) {
            (Some(pattern), provider) => providers.resolve(pattern, provider.as_deref()).map(Some),
            (None, Some(provider)) => {
                let model = providers.default_of(provider)?;
                Ok(Some(Resolved { model, thinking: None, warning: None }))
            }
            (None, None) => Ok(None),
        }
    }

    /// Returns the models to cycle through.
    pub fn limit(&self, providers: &Providers) -> Result<Vec<Resolved>, Error> {
        self.scope.as_deref().map_or_else(|| Ok(Vec::new()), |patterns| providers.resolve_scope(patterns))
    }

    /// Returns what sessions start with.
    pub fn defaults(
        &self,
        chosen: Option<Resolved>,
        scope: Vec<Resolved>,
        providers: &Providers,
    ) -> ModelDefaults {
        let default_model = match &chosen {
            Some(choice) => Some(Arc::clone(&choice.model)),
            None => self.usual_model(&scope, providers),
        };
        let chosen_thinking_level = self
            .thinking_level
            .or_else(|| chosen.as_ref().and_then(|choice| choice.thinking))
            .or_else(|| scope.iter().find(|choice| Some(&choice.model) == default_model.as_ref())?.thinking);
        ModelDefaults {
            chosen_model: chosen.map(|choice| choice.model),
            chosen_thinking_level,
            default_model,
            default_thinking_level: self.default_thinking_level,
            thinking_level_by_model: Arc::clone(&self.thinking_level_by_model),
            scope: scope.into(),
            later: None,
        }
    }

    /// Returns what sessions start with if every name is known.
    fn fulfil(&self, providers: &Providers) -> Result<ModelDefaults, Error> {
        let (chosen, scope) = (self.choose(providers)?, self.limit(providers)?);
        Ok(self.defaults(chosen, scope, providers))
    }

    /// Returns the saved default if it is in scope, else the first model in scope, else any usable one.
    fn usual_model(&self, scope: &[Resolved], providers: &Providers) -> Option<Arc<Model>> {
        let preferred = self.preferred.as_ref().map(|(provider, id)| (&**provider, &**id));
        let is_preferred =
            |choice: &&Resolved| Some((&*choice.model.provider, &*choice.model.id)) == preferred;
        let scoped = scope.iter().find(is_preferred).or_else(|| scope.first());
        scoped.map(|choice| Arc::clone(&choice.model)).or_else(|| providers.default_model(preferred))
    }
}

/// Wishes that are looked up again once extensions have registered.
#[derive(Debug, Clone)]
pub struct LaterModels {
    pub wishes: Arc<ModelWishes>,
    /// Why the model that the user named is not there yet.
    pub missing: Option<String>,
}

impl LaterModels {
    /// Looks the names up again. Returns what sessions start with from now on, if that may have changed.
    pub(crate) fn look_up(&self, providers: &Providers) -> Option<ModelDefaults> {
        if self.missing.is_none() && !providers.has_additions() {
            return None;
        }
        let (mut defaults, missing) = match self.wishes.fulfil(providers) {
            Ok(defaults) => (defaults, None),
            // The user's word counts: no other model is used instead.
            Err(error) => (ModelDefaults::default(), Some(error.to_string())),
        };
        if missing.is_some() && self.missing.is_none() {
            return None;
        }
        defaults.later = Some(Self { wishes: Arc::clone(&self.wishes), missing });
        Some(defaults)
    }
}
