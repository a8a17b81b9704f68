//! Choosing the model and how hard it thinks.

use std::sync::Arc;

use bowline_core::event::Event;
use bowline_core::model::Model;
use bowline_core::reply::{Answer, CycledModel, Refusal, RefusalCode};
use bowline_core::thinking::ThinkingLevel;
use bowline_session::EntryBody;

use crate::engine::Engine;

impl Engine {
    pub(crate) fn set_model(&mut self, provider: &str, id: &str) -> Result<Answer, Refusal> {
        let Some(model) = self.providers.find(provider, id) else {
            let text = format!("Model not found: {provider}/{id}");
            return Err(Refusal::new(RefusalCode::ModelNotFound, text));
        };
        if let Err(error) = self.providers.check_credentials(&model) {
            return Err(Refusal::new(RefusalCode::NoCredentials, error.message));
        }
        self.change_model(Arc::clone(&model), None)?;
        Ok(Answer::Model(model))
    }

    /// Moves on to the next model: of those the user limited the choice to, or of all that can be used.
    pub(crate) fn cycle_model(&mut self) -> Result<Answer, Refusal> {
        let is_scoped = !self.scope.is_empty();
        let candidates: Vec<_> = if is_scoped {
            let usable =
                self.scope.iter().filter(|choice| self.providers.check_credentials(&choice.model).is_ok());
            usable.map(|choice| (Arc::clone(&choice.model), choice.thinking)).collect()
        } else {
            self.providers.available().into_iter().map(|model| (model, None)).collect()
        };
        if candidates.len() <= 1 {
            return Ok(Answer::CycledModel(None));
        }
        let current = self.model.as_ref().and_then(|current| {
            candidates
                .iter()
                .position(|(model, _)| model.provider == current.provider && model.id == current.id)
        });
        let next = current.map_or(0, |index| (index + 1) % candidates.len());
        let (model, level) = candidates[next].clone();
        self.change_model(Arc::clone(&model), level)?;
        let thinking_level = self.thinking_level;
        Ok(Answer::CycledModel(Some(CycledModel { model, thinking_level, is_scoped })))
    }

    pub(crate) fn available_models(&self) -> Answer {
        let mut models = self.providers.available();
        if let Some(current) = &self.model
            && !models.iter().any(|model| model.provider == current.provider && model.id == current.id)
        {
            models.push(Arc::clone(current));
        }
        Answer::Models(models)
    }

    /// Sets the level, or the nearest one that the model has.
    fn set_thinking_level(&mut self, level: ThinkingLevel) -> Result<(), Refusal> {
        let level = level.clamp_to(&self.thinking_levels());
        if level != self.thinking_level {
            let entry = self.append(EntryBody::ThinkingLevelChange { level })?;
            self.thinking_level = level;
            self.emit(Event::ThinkingLevelChanged { level, entry: Some(entry) });
        }
        Ok(())
    }

    /// Sets the level because the user said so: new sessions start with it too.
    pub(crate) fn choose_thinking_level(&mut self, level: ThinkingLevel) -> Result<Answer, Refusal> {
        self.set_thinking_level(level)?;
        self.chosen_thinking_level = None;
        self.default_thinking_level = level;
        Ok(Answer::Done)
    }

    pub(crate) fn cycle_thinking_level(&mut self) -> Result<Answer, Refusal> {
        let levels = self.thinking_levels();
        if levels.len() <= 1 {
            return Ok(Answer::CycledThinkingLevel(None));
        }
        let current = levels.iter().position(|level| *level == self.thinking_level);
        let next = levels[current.map_or(0, |index| (index + 1) % levels.len())];
        self.choose_thinking_level(next)?;
        Ok(Answer::CycledThinkingLevel(Some(next)))
    }

    pub(crate) fn thinking_levels(&self) -> Vec<ThinkingLevel> {
        self.model.as_ref().map_or_else(|| vec![ThinkingLevel::Off], |model| model.thinking_levels())
    }

    /// Uses another model from the next call on, and fits the thinking level to it.
    fn change_model(&mut self, model: Arc<Model>, level: Option<ThinkingLevel>) -> Result<(), Refusal> {
        self.append(EntryBody::ModelChange { provider: model.provider.clone(), model_id: model.id.clone() })?;
        // From now on this is what new sessions start with, whatever the command line said.
        self.chosen_model = None;
        self.default_model = Some(Arc::clone(&model));
        self.model = Some(model);
        self.futile_compaction = None;
        self.set_thinking_level(level.unwrap_or(self.thinking_level))
    }
}
