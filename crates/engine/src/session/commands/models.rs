//! Choosing the model and the thinking level.

use std::sync::Arc;

use bowline_core::event::Event;
use bowline_core::model::Model;
use bowline_core::reply::{Answer, CycledModel, Refusal, RefusalCode};
use bowline_core::thinking::ThinkingLevel;
use bowline_session::EntryBody;

use crate::session::Session;

impl Session {
    pub(super) fn set_model(&mut self, provider: &str, id: &str) -> Result<Answer, Refusal> {
        let Some(model) = self.agent.providers().find(provider, id) else {
            let text = format!("Model not found: {provider}/{id}");
            return Err(Refusal::new(RefusalCode::ModelNotFound, text));
        };
        self.use_model(model, None)
    }

    /// Finds a model by a name or a part of one and uses it from the next call on.
    pub(super) fn choose_model(&mut self, provider: Option<&str>, pattern: &str) -> Result<Answer, Refusal> {
        let resolved = self
            .agent
            .providers()
            .resolve(pattern, provider)
            .map_err(|error| Refusal::new(RefusalCode::ModelNotFound, error.to_string()))?;
        self.use_model(resolved.model, resolved.thinking)
    }

    fn use_model(&mut self, model: Arc<Model>, level: Option<ThinkingLevel>) -> Result<Answer, Refusal> {
        if let Err(error) = self.agent.providers().check_credentials(&model) {
            return Err(Refusal::new(RefusalCode::NoCredentials, error.message));
        }
        self.change_model(Arc::clone(&model), level)?;
        Ok(Answer::Model(model))
    }

    /// Moves on to the next model: of those the user limited the choice to, or of all that can be used.
    pub(super) fn cycle_model(&mut self) -> Result<Answer, Refusal> {
        let is_scoped = !self.models.scope().is_empty();
        let candidates: Vec<_> = if is_scoped {
            let usable = self
                .models
                .scope()
                .iter()
                .filter(|choice| self.agent.providers().check_credentials(&choice.model).is_ok());
            usable.map(|choice| (Arc::clone(&choice.model), choice.thinking)).collect()
        } else {
            self.agent.providers().available().into_iter().map(|model| (model, None)).collect()
        };
        if candidates.len() <= 1 {
            return Ok(Answer::CycledModel(None));
        }
        let current = self.models.current().and_then(|current| {
            candidates
                .iter()
                .position(|(model, _)| model.provider == current.provider && model.id == current.id)
        });
        let next = current.map_or(0, |index| (index + 1) % candidates.len());
        let (model, level) = candidates[next].clone();
        self.change_model(Arc::clone(&model), level)?;
        let thinking_level = self.models.level();
        Ok(Answer::CycledModel(Some(CycledModel { model, thinking_level, is_scoped })))
    }

    pub(super) fn available_models(&self) -> Answer {
        let mut models = self.agent.providers().available();
        if let Some(current) = self.models.current()
            && !models.iter().any(|model| model.provider == current.provider && model.id == current.id)
        {
            models.push(Arc::clone(current));
        }
        Answer::Models(models)
    }

    /// Sets the level, or the nearest one that the model has.
    fn set_thinking_level(&mut self, level: ThinkingLevel) -> Result<(), Refusal> {
        let level = level.clamp_to(&self.models.levels());
        if level != self.models.level() {
            let entry = self.transcript.append(EntryBody::ThinkingLevelChange { level })?;
            self.models.set_level(level);
            self.emit(Event::ThinkingLevelChanged { level, entry: Some(entry) });
        }
        Ok(())
    }

    /// Sets the level at the user's request: new sessions start with it too.
    pub(super) fn choose_thinking_level(&mut self, level: ThinkingLevel) -> Result<Answer, Refusal> {
        self.set_thinking_level(level)?;
        self.models.set_default_level(level);
        Ok(Answer::Done)
    }

    pub(super) fn cycle_thinking_level(&mut self) -> Result<Answer, Refusal> {
        let levels = self.models.levels();
        if levels.len() <= 1 {
            return Ok(Answer::CycledThinkingLevel(None));
        }
        let current = levels.iter().position(|level| *level == self.models.level());
        let next = levels[current.map_or(0, |index| (index + 1) % levels.len())];
        self.choose_thinking_level(next)?;
        Ok(Answer::CycledThinkingLevel(Some(next)))
    }

    /// Uses another model from the next call on, and fits the thinking level to it.
    fn change_model(&mut self, model: Arc<Model>, level: Option<ThinkingLevel>) -> Result<(), Refusal> {
        self.transcript.append(EntryBody::ModelChange {
            provider: model.provider.clone(),
            model_id: model.id.clone(),
        })?;
        self.models.set_model(model);
        self.futile_compaction = None;
        self.set_thinking_level(level.unwrap_or(self.models.level()))
    }
}
