//! Virtual models: entries of the list of models that pass each request on to another one, which whoever added them chooses.
//!
//! A virtual model never reaches a provider. Whoever makes a request asks for the route first, and sends the request to the
//! model that comes back; an answer names that one.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use bowline_core::message::StopReason;
use bowline_core::model::{InputKind, Price};
use bowline_core::stream::{FailureKind, StreamError};
use bowline_core::{Message, Model, ThinkingLevel};
use futures_util::future::BoxFuture;

use crate::added::{AddedBy, Additions};
use crate::providers::Providers;
use crate::registry::Registry;
use crate::request::ModelRequest;
use crate::{replay, scripted};

/// The API of virtual models, as in pi.
pub const VIRTUAL_API: &str = "pi-virtual";

/// Chooses the model for each request to a virtual one.
pub trait Router: fmt::Debug + Send + Sync {
    /// Chooses. Dropping the future withdraws the question.
    fn route(&self, request: RouteRequest) -> BoxFuture<'static, Result<Route, StreamError>>;
}

/// Why a request is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteReason {
    /// A message of the user is to be answered.
    User,
    /// The work on it goes on.
    Continuation,
    /// The request before failed.
    Retry,
    /// It is no part of a run.
    Direct,
}

impl RouteReason {
    /// Returns its name in pi.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Continuation => "continuation",
            Self::Retry => "retry",
            Self::Direct => "direct",
        }
    }
}

/// A request that needs a model.
#[derive(Debug, Clone)]
pub struct RouteRequest {
    /// The virtual model.
    pub model: Arc<Model>,
    pub thinking: ThinkingLevel,
    pub reason: RouteReason,
    /// What gave the latest answer of the conversation that succeeded.
    pub previous: Option<Answered>,
    /// The answer that failed, for a retry.
    pub failed: Option<Arc<Message>>,
    /// The system prompt and the messages; `None` if they are those of the session that the router takes part in.
    pub conversation: Option<(Arc<str>, Vec<Arc<Message>>)>,
}

/// What gave an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    pub provider: String,
    pub model: String,
    /// The level of the request, if a router chose it.
    pub thinking: Option<ThinkingLevel>,
}

/// What a router has chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    pub provider: String,
    pub model: String,
    pub thinking: ThinkingLevel,
}

/// A choice that can be used.
#[derive(Debug, Clone)]
pub struct Routed {
    pub model: Arc<Model>,
    /// A level that the model has.
    pub thinking: ThinkingLevel,
}

/// A virtual model to add.
#[derive(Debug, Clone)]
pub struct NewVirtualModel {
    pub provider: String,
    pub id: String,
    pub name: String,
    pub thinking_levels: Vec<ThinkingLevel>,
    /// 0 if it is not known before an answer.
    pub context_window: u64,
    pub max_tokens: u64,
    pub input: Vec<InputKind>,
    pub router: Arc<dyn Router>,
}

/// A virtual model that was added.
#[derive(Debug, Clone)]
pub(crate) struct AddedVirtual {
    pub(crate) owner: u64,
    pub(crate) model: Arc<Model>,
    router: Arc<dyn Router>,
}

impl Providers {
    /// Tells whether a model is virtual.
    pub fn is_virtual(&self, model: &Model) -> bool {
        model.api == VIRTUAL_API && self.registry().virtual_model(&model.provider, &model.id).is_some()
    }

    /// Tells whether a provider has virtual models and no others, so that it needs no key.
    pub fn is_virtual_only(&self, provider: &str) -> bool {
        self.registry().is_virtual(provider)
    }

    /// Asks for the model that a request to a virtual model goes to.
    pub async fn route(&self, request: RouteRequest) -> Result<Routed, StreamError> {
        let name = request.model.full_name();
        let router = self
            .registry()
            .virtual_model(&request.model.provider, &request.model.id)
            .map(|known| Arc::clone(&known.router))
            .ok_or_else(|| missing(&request.model))?;
        let Route { provider, model, thinking } = router.route(request).await?;
        let refused = |kind, what: &str| {
            let text = format!("The virtual model {name} chose {provider}/{model}, {what}.");
            StreamError::new(kind, text)
        };
        let found = self
            .find(&provider, &model)
            .filter(|found| !self.is_virtual(found))
            .ok_or_else(|| refused(FailureKind::NotFound, "which is no model that bowline can call"))?;
        self.check_credentials(&found).map_err(|error| {
            let text = format!("which cannot be used. {}", error.message);
            refused(error.kind, text.trim_end_matches('.'))
        })?;
        let thinking = thinking.clamp_to(&found.thinking_levels());
        Ok(Routed { model: found, thinking })
    }

    /// Has a request that is no part of a run go to the model that its virtual model chooses. Others stay as they are.
    pub async fn route_directly(&self, request: &mut ModelRequest) -> Result<(), StreamError> {
        if !self.is_virtual(&request.model) {
            return Ok(());
        }
        let route = RouteRequest {
            model: Arc::clone(&request.model),
            thinking: request.thinking,
            reason: RouteReason::Direct,
            previous: latest_answer(&request.messages),
            failed: None,
            conversation: Some((Arc::clone(&request.system), request.messages.clone())),
        };
        let Routed { model, thinking } = self.route(route).await?;
        // Whoever makes the request knows the limits of the virtual model only.
        request.max_tokens = request.max_tokens.map(|most| most.min(model.max_tokens));
        (request.model, request.thinking) = (model, thinking);
        Ok(())
    }
}

/// Returns what gave the latest answer that succeeded.
pub fn latest_answer(messages: &[Arc<Message>]) -> Option<Answered> {
    let mut answers = messages.iter().rev().filter_map(|message| message.as_assistant());
    let found =
        answers.find(|answer| !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted))?;
    Some(Answered {
        provider: found.provider.clone(),
        model: found.model.clone(),
        thinking: found.thinking_level,
    })
}

impl Additions {
    /// Adds a virtual model, in place of one of this name that was added before. The error is a sentence for the user.
    pub fn add_virtual(&self, new: NewVirtualModel) -> Result<(), String> {
        let name = format!("{}/{}", new.provider, new.id);
        let mut problem = None;
        self.change(|registry| match self.prepare_virtual(registry, new) {
            Ok(added) => Some(registry.with_virtual(added)),
            Err(text) => {
                problem = Some(text);
                None
            }
        });
        problem.map_or(Ok(()), |text| Err(format!("The virtual model {name} is not used: {text}.")))
    }

    /// Removes a virtual model that was added.
    pub fn remove_virtual(&self, provider: &str, id: &str) {
        self.remove_virtual_where(|model| model.provider == provider && model.id == id);
    }

    /// Removes the virtual models that are not meant.
    pub fn keep_only_virtual(&self, is_kept: impl Fn(&Model) -> bool) {
        self.remove_virtual_where(|model| !is_kept(model));
    }

    fn remove_virtual_where(&self, is_meant: impl Fn(&Model) -> bool) {
        let is_removed = |known: &AddedVirtual| known.owner == self.owner() && is_meant(&known.model);
        self.change(|registry| registry.without_virtual(is_removed));
    }

    fn prepare_virtual(&self, registry: &Registry, new: NewVirtualModel) -> Result<AddedVirtual, String> {
        let NewVirtualModel { provider, id, .. } = &new;
        if [scripted::PROVIDER, replay::PROVIDER].contains(&&**provider) {
            return Err("the name of its provider is bowline's own".to_owned());
        }
        if self.by() == AddedBy::Project && registry.is_permanent(provider) {
            return Err("an extension of a project cannot add models to a provider that you have".to_owned());
        }
        match registry.virtual_model(provider, id) {
            Some(known) if known.owner != self.owner() => {
                return Err("another extension has a virtual model of this name already".to_owned());
            }
            Some(_) => {}
            None if registry.lists(provider, id) => {
                return Err("the provider has a model of this name".to_owned());
            }
            None => {}
        }
        Ok(AddedVirtual { owner: self.owner(), model: Arc::new(entry(&new)), router: new.router })
    }
}

/// Returns the entry of the list of models.
fn entry(new: &NewVirtualModel) -> Model {
    let offers =
        |level: ThinkingLevel| new.thinking_levels.contains(&level).then(|| level.as_str().to_owned());
    let levels: BTreeMap<_, _> = ThinkingLevel::ALL.into_iter().map(|level| (level, offers(level))).collect();
    Model {
        id: new.id.clone(),
        name: new.name.clone(),
        api: VIRTUAL_API.to_owned(),
        provider: new.provider.clone(),
        base_url: String::new(),
        reasoning: new.thinking_levels.iter().any(|level| *level != ThinkingLevel::Off),
        input: new.input.clone(),
        cost: Price::default(),
        context_window: new.context_window,
        max_tokens: new.max_tokens,
        thinking_level_map: Some(levels),
        compat: None,
    }
}

/// Returns the error for a virtual model that was taken back.
pub(crate) fn missing(model: &Model) -> StreamError {
    let text = format!("The virtual model {} is not there: its extension is not loaded.", model.full_name());
    StreamError::new(FailureKind::NotFound, text)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::Sources;

    /// Chooses always the same.
    #[derive(Debug)]
    struct Fixed(&'static str, &'static str);

    impl Router for Fixed {
        fn route(&self, _: RouteRequest) -> BoxFuture<'static, Result<Route, StreamError>> {
            let (provider, model) = (self.0.to_owned(), self.1.to_owned());
            Box::pin(async move { Ok(Route { provider, model, thinking: ThinkingLevel::Max }) })
        }
    }

    fn providers() -> Providers {
        let environment = HashMap::from([("ANTHROPIC_API_KEY".to_owned(), "k".to_owned())]);
        Providers::new(Sources { environment, ..Sources::default() }).unwrap()
    }

    fn new(provider: &str, id: &str, router: Fixed) -> NewVirtualModel {
        NewVirtualModel {
            provider: provider.to_owned(),
            id: id.to_owned(),
            name: "Auto".to_owned(),
            thinking_levels: vec![ThinkingLevel::Low, ThinkingLevel::High],
            context_window: 0,
            max_tokens: 0,
            input: vec![InputKind::Text],
            router: Arc::new(router),
        }
    }

    async fn routed(providers: &Providers, name: &str) -> Result<Routed, String> {
        let (provider, id) = name.split_once('/').unwrap();
        let model = providers.find(provider, id).unwrap();
        let request = RouteRequest {
            model,
            thinking: ThinkingLevel::Low,
            reason: RouteReason::User,
            previous: None,
            failed: None,
            conversation: None,
        };
        providers.route(request).await.map_err(|error| error.message)
    }

    #[tokio::test]
    async fn virtual_model_is_listed_and_can_be_used_without_a_key_of_its_own() {
        let providers = providers();
        let additions = providers.additions(AddedBy::User);
        additions.add_virtual(new("router", "auto", Fixed("anthropic", "claude-haiku-4-5"))).unwrap();
        let model = providers.find("router", "auto").unwrap();
        assert!(providers.is_virtual(&model) && providers.is_virtual_only("router"));
        assert!(providers.available().contains(&model) && providers.check_credentials(&model).is_ok());
        assert_eq!(model.thinking_levels(), [ThinkingLevel::Low, ThinkingLevel::High]);
        assert_eq!(providers.resolve("router/auto:high", None).unwrap().thinking, Some(ThinkingLevel::High));
        let Routed { model: chosen, thinking } = routed(&providers, "router/auto").await.unwrap();
        assert_eq!(
            (chosen.full_name().as_str(), thinking),
            ("anthropic/claude-haiku-4-5", ThinkingLevel::High)
        );
        drop(additions);
        assert!(providers.find("router", "auto").is_none());
        let gone = providers.check_credentials(&model).unwrap_err().message;
        assert!(gone.contains("its extension is not loaded"), "{gone}");
    }

    #[tokio::test]
    async fn choice_that_cannot_be_used_is_an_error_with_its_reason() {
        let providers = providers();
        let additions = providers.additions(AddedBy::User);
        for (id, router) in [
            ("unknown", Fixed("anthropic", "nothing")),
            ("keyless", Fixed("openai", "gpt-5.1")),
            ("again", Fixed("router", "unknown")),
        ] {
            additions.add_virtual(new("router", id, router)).unwrap();
        }
        for (name, expected) in [
            ("router/unknown", "chose anthropic/nothing, which is no model that bowline can call"),
            ("router/keyless", "chose openai/gpt-5.1, which cannot be used. There is no API key"),
            ("router/again", "chose router/unknown, which is no model"),
        ] {
            let error = routed(&providers, name).await.unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn virtual_model_beside_others_needs_the_key_of_its_provider_and_a_name_of_its_own() {
        let providers = providers();
        let additions = providers.additions(AddedBy::User);
        let fixed = || Fixed("anthropic", "claude-haiku-4-5");
        additions.add_virtual(new("anthropic", "auto", fixed())).unwrap();
        additions.add_virtual(new("openai", "auto", fixed())).unwrap();
        let usable =
            |provider: &str| providers.check_credentials(&providers.find(provider, "auto").unwrap()).is_ok();
        assert!(usable("anthropic") && !usable("openai"));
        let problem = additions.add_virtual(new("anthropic", "claude-haiku-4-5", fixed())).unwrap_err();
        assert!(problem.contains("has a model of this name"), "{problem}");
        let others = providers.additions(AddedBy::User);
        let problem = others.add_virtual(new("openai", "auto", fixed())).unwrap_err();
        assert!(problem.contains("another extension"), "{problem}");
        // It is put in place of itself.
        additions
            .add_virtual(NewVirtualModel { name: "Other".into(), ..new("openai", "auto", fixed()) })
            .unwrap();
        assert_eq!(providers.find("openai", "auto").unwrap().name, "Other");
        let known = providers.known_models();
        let ours = |provider: &str| {
            known.iter().filter(|model| model.provider == provider && model.id == "auto").count()
        };
        assert_eq!((ours("anthropic"), ours("openai")), (1, 1));
    }

    #[test]
    fn project_adds_nothing_to_a_provider_of_the_user() {
        let providers = providers();
        let additions = providers.additions(AddedBy::Project);
        let problem = additions.add_virtual(new("anthropic", "auto", Fixed("a", "b"))).unwrap_err();
        assert!(problem.contains("an extension of a project"), "{problem}");
        additions.add_virtual(new("theirs", "auto", Fixed("a", "b"))).unwrap();
    }
}
