//! Choosing the model and the thinking level.

use std::sync::Arc;

use bowline_core::event::Event;
use bowline_core::hook::{HookEvent, ModelSource};
use bowline_core::model::Model;
use bowline_core::policy::UndeclaredLevels;
use bowline_core::reply::{Answer, CycledModel, Refusal, RefusalCode, ThinkingState};
use bowline_core::thinking::ThinkingLevel;
use bowline_session::EntryBody;

use crate::session::Session;
use crate::session::extension_inputs::RUNTIME;

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
        self.change_model(Arc::clone(&model), level, ModelSource::Set)?;
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
        self.change_model(Arc::clone(&model), level, ModelSource::Cycle)?;
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

    /// Looks up again which models the user and the session named: extensions may have brought them.
    pub(in crate::session) fn look_up_models_again(&mut self) {
        let Some(models) = self.models.look_up_again(self.agent.providers()) else { return };
        let (previous, level) = (self.models.current().cloned(), self.models.level());
        self.models = models;
        let Some(model) = self.models.current().cloned() else { return };
        if previous.is_some_and(|previous| previous.full_name() == model.full_name()) {
            return;
        }
        let recorded = self.record_first_model(&model);
        let changed = recorded.and_then(|()| self.change_level(self.models.level(), level));
        if let Err(refusal) = changed {
            self.extension_failed(RUNTIME, "model", refusal.message);
        }
    }

    /// Writes the model to the file of a session that has not begun. Every answer says which model it is of.
    fn record_first_model(&mut self, model: &Model) -> Result<(), Refusal> {
        if self.transcript.messages().is_empty() {
            let (provider, model_id) = (model.provider.clone(), model.id.clone());
            self.transcript.append(EntryBody::ModelChange { provider, model_id })?;
            let level = self.models.level();
            self.transcript.append(EntryBody::ThinkingLevelChange { level })?;
            self.models.set_recorded(level);
        }
        Ok(())
    }

    /// Sets the level at the user's request, or the nearest one that the model has. New sessions start with it too.
    pub(super) fn choose_thinking_level(&mut self, level: ThinkingLevel) -> Result<Answer, Refusal> {
        if level != ThinkingLevel::Off
            && self.agent.policy().undeclared_levels == UndeclaredLevels::Declare
            && let Some(model) = self.models.current()
            && !model.reasoning
            && self.agent.providers().is_described_by_user(model)
        {
            self.models.declare_reasoning();
        }
        self.change_level(level.clamp_to(&self.models.levels()), self.models.level())?;
        self.models.choose_level(level);
        Ok(Answer::ThinkingLevelSet(self.thinking_state()))
    }

    fn thinking_state(&self) -> ThinkingState {
        let (level, budgets) = (self.models.level(), self.agent.settings().request_options.budgets);
        let budget = |model: &Arc<Model>| self.agent.providers().thinking_budget(model, level, budgets);
        let is_on = level != ThinkingLevel::Off;
        ThinkingState { level, budget_tokens: self.models.current().filter(|_| is_on).and_then(budget) }
    }

    /// Records and announces a level in effect if it is another than before. One that a reader of the file knows anyway,
    /// because the model replaces the recorded one by it, is not recorded: the recorded one is the user's choice.
    fn change_level(&mut self, level: ThinkingLevel, before: ThinkingLevel) -> Result<(), Refusal> {
        if level == before {
            return Ok(());
        }
        let mut entry = None;
        if !self.models.is_recorded(level) {
            entry = Some(self.transcript.append(EntryBody::ThinkingLevelChange { level })?);
            self.models.set_recorded(level);
        }
        if !self.extensions.is_empty() {
            self.show_to_extensions(HookEvent::ThinkingLevelSelect { level, previous: before });
        }
        self.emit(Event::ThinkingLevelChanged { level, entry });
        Ok(())
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

    /// Uses another model from the next call on, and fits the thinking level to it. `own` is the level that the user gave
    /// this model.
    fn change_model(
        &mut self,
        model: Arc<Model>,
        own: Option<ThinkingLevel>,
        source: ModelSource,
    ) -> Result<(), Refusal> {
        self.transcript.append(EntryBody::ModelChange {
            provider: model.provider.clone(),
            model_id: model.id.clone(),
        })?;
        let before = self.models.level();
        let previous = self.models.current().cloned();
        self.models.set_model(Arc::clone(&model), own);
        let is_same = |previous: &Arc<Model>| previous.provider == model.provider && previous.id == model.id;
        if !self.extensions.is_empty() && !previous.as_ref().is_some_and(is_same) {
            self.show_to_extensions(HookEvent::ModelSelect { model, previous, source });
        }
        self.futile_compaction = None;
        self.change_level(self.models.level(), before)
    }
}
