//! All known models: the catalog, changed and extended by `models.json`.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bowline_core::Model;
use bowline_core::model::{InputKind, Price};
use serde_json::Value;

use crate::added::{Added, AddedBy, AnswerSource};
use crate::address;
use crate::catalog;
use crate::error::Error;
use crate::local_servers::{self, LocalServer};
use crate::models_file::{ModelSettings, ModelsFile, ProviderSettings};
use crate::secret::Secret;
use crate::setting_value::SettingValue;
use crate::virtual_models::AddedVirtual;

/// Defaults for a model that the file does not specify fully.
pub(crate) const DEFAULT_CONTEXT_WINDOW: u64 = 128_000;
pub(crate) const DEFAULT_MAX_TOKENS: u64 = 16_384;

/// A model with the parts that clients must not see.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    /// Its base URL is masked for clients.
    pub(crate) model: Arc<Model>,
    pub(crate) headers: Vec<(String, SettingValue)>,
    /// The original base URL.
    base_url: Secret,
}

/// The known models, by provider.
#[derive(Debug)]
pub(crate) struct Registry {
    file: Arc<ModelsFile>,
    /// The base URLs that the environment sets for providers.
    addresses: Arc<HashMap<&'static str, String>>,
    /// The providers that were added while the program runs.
    added: Vec<Added>,
    /// The virtual models that were added.
    virtual_models: Vec<AddedVirtual>,
    /// The models of the providers used so far.
    parsed: Mutex<HashMap<String, Arc<[Known]>>>,
}

impl Known {
    /// Returns an entry for a model with its original base URL.
    fn new(mut model: Model, headers: Vec<(String, SettingValue)>) -> Self {
        let base_url = Secret::new(&model.base_url);
        model.base_url = address::shown(base_url.expose());
        Self { model: Arc::new(model), headers, base_url }
    }
}

impl Registry {
    /// Reads and checks `models.json`; the catalog is loaded later.
    pub(crate) fn read(
        models_file: Option<&Path>,
        environment: &HashMap<String, String>,
    ) -> Result<Self, Error> {
        let new = |file: ModelsFile| Self {
            file: Arc::new(file),
            addresses: Arc::new(addresses(environment)),
            added: Vec::new(),
            virtual_models: Vec::new(),
            parsed: Mutex::default(),
        };
        let Some(path) = models_file else { return Ok(new(ModelsFile::default())) };
        let file = ModelsFile::read(path)?;
        for (provider, settings) in &file.providers.0 {
            check(provider, settings).map_err(|(place, reason)| Error::Misconfigured {
                path: path.to_owned(),
                place,
                reason: reason.to_owned(),
            })?;
        }
        Ok(new(file))
    }

    /// Returns a registry with a further provider, in place of the one of its name that was added before.
    pub(crate) fn with(&self, added: Added) -> Self {
        let mut all: Vec<Added> =
            self.added.iter().filter(|known| known.name != added.name).cloned().collect();
        all.push(added);
        self.with_only(all, self.virtual_models.clone())
    }

    /// Returns a registry without some of the added providers; `None` if that changes nothing.
    pub(crate) fn without(&self, is_removed: impl Fn(&Added) -> bool) -> Option<Self> {
        let all: Vec<Added> = self.added.iter().filter(|added| !is_removed(added)).cloned().collect();
        (all.len() < self.added.len()).then(|| self.with_only(all, self.virtual_models.clone()))
    }

    /// Returns a registry with a further virtual model, in place of the one of its name.
    pub(crate) fn with_virtual(&self, added: AddedVirtual) -> Self {
        let is_other = |known: &&AddedVirtual| {
            known.model.provider != added.model.provider || known.model.id != added.model.id
        };
        let mut all: Vec<_> = self.virtual_models.iter().filter(is_other).cloned().collect();
        all.push(added);
        self.with_only(self.added.clone(), all)
    }

    /// Returns a registry without some of the virtual models; `None` if that changes nothing.
    pub(crate) fn without_virtual(&self, is_removed: impl Fn(&AddedVirtual) -> bool) -> Option<Self> {
        let all: Vec<_> = self.virtual_models.iter().filter(|known| !is_removed(known)).cloned().collect();
        (all.len() < self.virtual_models.len()).then(|| self.with_only(self.added.clone(), all))
    }

    fn with_only(&self, added: Vec<Added>, virtual_models: Vec<AddedVirtual>) -> Self {
        let (file, addresses) = (Arc::clone(&self.file), Arc::clone(&self.addresses));
        Self { file, addresses, added, virtual_models, parsed: Mutex::default() }
    }

    /// Returns the virtual model of this name.
    pub(crate) fn virtual_model(&self, provider: &str, id: &str) -> Option<&AddedVirtual> {
        self.virtual_models.iter().find(|known| known.model.provider == provider && known.model.id == id)
    }

    /// Tells whether a provider has virtual models and nothing else.
    pub(crate) fn is_virtual(&self, provider: &str) -> bool {
        self.virtual_models.iter().any(|known| known.model.provider == provider)
            && self.added(provider).is_none()
            && !self.is_permanent(provider)
    }

    /// Tells whether a provider lists a model of this name.
    pub(crate) fn lists(&self, provider: &str, id: &str) -> bool {
        self.models(provider).iter().any(|known| known.model.id == id)
    }

    /// Returns a provider that was added.
    pub(crate) fn added(&self, provider: &str) -> Option<&Added> {
        self.added.iter().find(|added| added.name == provider)
    }

    /// Tells whether a project has added a provider. It gets no key of the user's: its address is the project's choice.
    pub(crate) fn is_of_project(&self, provider: &str) -> bool {
        self.added(provider).is_some_and(|added| added.by == AddedBy::Project)
    }

    pub(crate) fn has_added(&self) -> bool {
        !self.added.is_empty() || !self.virtual_models.is_empty()
    }

    /// Returns what answers for a provider in place of an API.
    pub(crate) fn source(&self, provider: &str) -> Option<&Arc<dyn AnswerSource>> {
        self.added(provider)?.source.as_ref()
    }

    /// Returns the names of the providers: those of the file first, then the catalog's, then local servers, then those
    /// that were added.
    pub(crate) fn providers(&self) -> impl Iterator<Item = &str> {
        let own = self.file.providers.0.iter().map(|(name, _)| name.as_str());
        let built_in = catalog::PROVIDERS.iter().map(|provider| provider.id);
        let local = local_servers::SERVERS.iter().map(|server| server.id);
        let further = built_in.chain(local).filter(|name| self.permanent_settings(name).is_none());
        let added = self.added.iter().map(|added| added.name.as_str());
        let further_virtual = self.virtual_models.iter().enumerate().filter(|(at, known)| {
            let is_first = !self.virtual_models[..*at]
                .iter()
                .any(|before| before.model.provider == known.model.provider);
            is_first && self.added(&known.model.provider).is_none()
        });
        let added = added.chain(further_virtual.map(|(_, known)| known.model.provider.as_str()));
        own.chain(further).chain(added.filter(|name| !self.is_permanent(name)))
    }

    /// Tells whether a provider is known by itself: from the file, the catalog or as a local server.
    pub(crate) fn is_permanent(&self, provider: &str) -> bool {
        self.permanent_settings(provider).is_some() || is_built_in(provider)
    }

    /// Tells whether a provider is known, by itself or because it was added.
    pub(crate) fn has(&self, provider: &str) -> bool {
        self.added(provider).is_some() || self.is_permanent(provider) || self.is_virtual(provider)
    }

    /// Returns the file's settings for a provider.
    pub(crate) fn permanent_settings(&self, provider: &str) -> Option<&ProviderSettings> {
        self.file.provider(provider)
    }

    /// Returns the settings for a provider: those of whoever added it, or the file's.
    pub(crate) fn settings(&self, provider: &str) -> Option<&ProviderSettings> {
        let added = self.added(provider).map(|added| &added.settings);
        added.or_else(|| self.permanent_settings(provider))
    }

    /// Returns a provider's models.
    pub(crate) fn models(&self, provider: &str) -> Arc<[Known]> {
        let mut parsed = self.parsed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(models) = parsed.get(provider) {
            return Arc::clone(models);
        }
        let models: Arc<[Known]> = self.with_virtual_models(provider, self.merge(provider)).into();
        if models.is_empty() {
            // Lookups of unknown providers must not fill the memory.
            return models;
        }
        parsed.insert(provider.to_owned(), Arc::clone(&models));
        models
    }

    /// Returns the model with this provider and id. A local server accepts any id.
    pub(crate) fn find(&self, provider: &str, id: &str) -> Option<Known> {
        let known = self.models(provider).iter().find(|known| known.model.id == id).cloned();
        known.or_else(|| {
            let server = local_servers::server(provider).filter(|_| !id.is_empty())?;
            Some(self.local(server, id, None))
        })
    }

    /// Returns the original base URL of a model, as its provider has it now. An unlisted model has that of its provider. A
    /// model does not bring its own: whoever described it may be gone, and the key of the name would follow it.
    pub(crate) fn base_url(&self, model: &Model) -> Option<Secret> {
        let listed = || {
            let models = self.models(&model.provider);
            let there = models.iter().find(|known| known.model.base_url == model.base_url);
            there.or_else(|| models.first()).cloned()
        };
        let known = self.find(&model.provider, &model.id).or_else(listed);
        known.map(|known| known.base_url)
    }

    /// Returns a model of a local server, which need not be listed anywhere. `window` is what the server reports; the
    /// file takes precedence.
    pub(crate) fn local(&self, server: &LocalServer, id: &str, window: Option<u64>) -> Known {
        let mut model = self.local_model(server, id);
        if let Some(window) = window {
            model.context_window = window;
            model.max_tokens = model.max_tokens.min(window);
        }
        let mut headers = Vec::new();
        if let Some(settings) = self.settings(server.id) {
            let own = settings.models.iter().filter(|own| own.id.as_deref() == Some(id));
            for changes in own.chain(settings.changes(id)) {
                apply(&mut model, changes);
                headers.extend(changes.headers.0.iter().cloned());
            }
        }
        Known::new(model, headers)
    }

    /// Returns the file's defaults for the models of a local server.
    fn local_model(&self, server: &LocalServer, id: &str) -> Model {
        let mut model = server.model(id, self.address(server).expose());
        if let Some(settings) = self.settings(server.id) {
            set(&mut model.api, settings.api.as_ref());
            model.compat = join(model.compat, settings.compat.as_ref());
        }
        model
    }

    /// Returns the address of a local server: from the file, else the environment, else the default.
    pub(crate) fn address(&self, server: &LocalServer) -> Secret {
        let configured = self.settings(server.id).and_then(|settings| settings.base_url.as_ref());
        Secret::new(configured.or_else(|| self.addresses.get(server.id)).cloned().unwrap_or_default())
    }

    /// Returns a provider's models: those of the catalog with the file's changes, then those of the file.
    fn merge(&self, provider: &str) -> Vec<Known> {
        let mut built_in = catalog::provider(provider).map(catalog::Provider::models).unwrap_or_default();
        let replaces_models = self.added(provider).is_some_and(|added| added.replaces_models);
        if let Some(address) = self.addresses.get(provider) {
            built_in.iter_mut().for_each(|model| model.base_url.clone_from(address));
        }
        let local = || local_servers::server(provider).map(|server| self.local_model(server, "any"));
        let pattern = built_in.first().cloned().or_else(local);
        if replaces_models {
            built_in.clear();
        }
        merge(provider, self.settings(provider), built_in, pattern.as_ref())
    }
}

impl Registry {
    /// Returns the models of a provider with its virtual ones, which hide others of their names.
    fn with_virtual_models(&self, provider: &str, mut models: Vec<Known>) -> Vec<Known> {
        for added in self.virtual_models.iter().filter(|added| added.model.provider == provider) {
            models.retain(|known| known.model.id != added.model.id);
            models.push(Known::new(Model::clone(&added.model), Vec::new()));
        }
        models
    }
}

/// Returns the base URLs that the environment sets for providers.
fn addresses(environment: &HashMap<String, String>) -> HashMap<&'static str, String> {
    let mut addresses: HashMap<_, _> =
        local_servers::SERVERS.iter().map(|server| (server.id, server.base_url(environment))).collect();
    let variable = |name: &str| environment.get(name).filter(|value| !value.is_empty());
    let azure = variable("AZURE_OPENAI_BASE_URL").cloned().or_else(|| {
        let resource = variable("AZURE_OPENAI_RESOURCE_NAME")?;
        Some(format!("https://{resource}.openai.azure.com/openai/v1"))
    });
    addresses.extend(azure.map(|address| ("azure-openai-responses", address)));
    addresses
}

fn is_built_in(provider: &str) -> bool {
    catalog::provider(provider).is_some() || local_servers::server(provider).is_some()
}

/// Checks that a provider is complete. The error is a place and a reason.
pub(crate) fn check(provider: &str, settings: &ProviderSettings) -> Result<(), (String, &'static str)> {
    let built_in = is_built_in(provider);
    for (index, model) in settings.models.iter().enumerate() {
        let place = || format!("providers.{provider}.models[{index}]");
        if model.id.as_ref().is_none_or(String::is_empty) {
            return Err((place(), "a model needs an \"id\""));
        }
        if !built_in && settings.base_url.is_none() && model.base_url.is_none() {
            return Err((place(), "a model needs a \"baseUrl\", its own or its provider's"));
        }
        if !built_in && settings.api.is_none() && model.api.is_none() {
            return Err((place(), "a model needs an \"api\", its own or its provider's"));
        }
    }
    Ok(())
}

fn merge(
    provider: &str,
    settings: Option<&ProviderSettings>,
    built_in: Vec<Model>,
    pattern: Option<&Model>,
) -> Vec<Known> {
    let Some(settings) = settings else {
        return built_in.into_iter().map(|model| Known::new(model, Vec::new())).collect();
    };
    let mut merged: Vec<(Model, Vec<(String, SettingValue)>)> = Vec::new();
    for mut model in built_in {
        if let Some(base_url) = &settings.base_url {
            model.base_url.clone_from(base_url);
        }
        model.compat = join(model.compat, settings.compat.as_ref());
        merged.push((model, Vec::new()));
    }
    for own in &settings.models {
        let model = new_model(provider, settings, own, pattern);
        match merged.iter_mut().find(|(known, _)| known.id == model.id) {
            Some(known) => *known = (model, own.headers.0.clone()),
            None => merged.push((model, own.headers.0.clone())),
        }
    }
    for (model, headers) in &mut merged {
        if let Some(changes) = settings.changes(&model.id) {
            apply(model, changes);
            headers.extend(changes.headers.0.iter().cloned());
        }
    }
    merged.into_iter().map(|(model, headers)| Known::new(model, headers)).collect()
}

/// Returns a model of the file. Missing fields come from its provider or, for a built-in provider, from `pattern`, one
/// of its models.
fn new_model(
    provider: &str,
    settings: &ProviderSettings,
    own: &ModelSettings,
    pattern: Option<&Model>,
) -> Model {
    let id = own.id.clone().unwrap_or_default();
    let mut model = Model {
        name: id.clone(),
        id,
        api: settings.api.clone().or_else(|| Some(pattern?.api.clone())).unwrap_or_default(),
        provider: provider.to_owned(),
        base_url: settings.base_url.clone().or_else(|| Some(pattern?.base_url.clone())).unwrap_or_default(),
        reasoning: false,
        input: vec![InputKind::Text],
        cost: Price::default(),
        context_window: DEFAULT_CONTEXT_WINDOW,
        max_tokens: DEFAULT_MAX_TOKENS,
        thinking_level_map: None,
        compat: match (local_servers::server(provider), pattern) {
            // The flags of its kind of server; the catalog's flags belong to one model.
            (Some(_), Some(pattern)) => pattern.compat.clone(),
            _ => settings.compat.clone(),
        },
    };
    apply(&mut model, own);
    model
}

fn set<T: Clone>(field: &mut T, change: Option<&T>) {
    if let Some(change) = change {
        field.clone_from(change);
    }
}

/// Applies `changes`.
fn apply(model: &mut Model, changes: &ModelSettings) {
    set(&mut model.name, changes.name.as_ref());
    set(&mut model.api, changes.api.as_ref());
    set(&mut model.base_url, changes.base_url.as_ref());
    set(&mut model.reasoning, changes.reasoning.as_ref());
    set(&mut model.input, changes.input.as_ref());
    set(&mut model.context_window, changes.context_window.as_ref());
    set(&mut model.max_tokens, changes.max_tokens.as_ref());
    if let Some(levels) = &changes.thinking_level_map {
        model.thinking_level_map.get_or_insert_default().extend(levels.clone());
    }
    model.cost = changes.cost.over(model.cost);
    model.compat = join(model.compat.take(), changes.compat.as_ref());
}

/// Returns the flags of `base`, overridden by those of `changes`.
fn join(base: Option<Value>, changes: Option<&Value>) -> Option<Value> {
    match (base, changes) {
        (Some(Value::Object(mut flags)), Some(Value::Object(more))) => {
            flags.extend(more.clone());
            Some(Value::Object(flags))
        }
        (base, None) => base,
        (_, Some(changes)) => Some(changes.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_core::ThinkingLevel;

    fn registry(json: &str) -> Result<Registry, Error> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("models.json");
        std::fs::write(&path, json).unwrap();
        Registry::read(Some(&path), &HashMap::new())
    }

    #[test]
    fn new_model_has_the_defaults() {
        let json = r#"{"providers": {"home": {"baseUrl": "http://h", "api": "openai-completions",
            "compat": {"a": 1, "b": 1},
            "models": [{"id": "m", "compat": {"b": 2}}, {"id": "n", "baseUrl": "http://n", "cost": {"output": 3}}]}}}"#;
        let registry = registry(json).unwrap();
        let model = registry.find("home", "m").unwrap().model;
        let seen = serde_json::to_value(&*model).unwrap();
        let expected = serde_json::json!({
            "id": "m", "name": "m", "api": "openai-completions", "provider": "home", "baseUrl": "http://h",
            "reasoning": false, "input": ["text"],
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
            "contextWindow": 128_000, "maxTokens": 16384, "compat": {"a": 1, "b": 2},
        });
        assert_eq!(seen, expected);
        let other = registry.find("home", "n").unwrap().model;
        assert_eq!((other.base_url.as_str(), other.cost.output), ("http://n", 3.0));
    }

    #[test]
    fn file_changes_built_in_providers() {
        let json = r#"{"providers": {"anthropic": {"baseUrl": "http://proxy",
            "models": [{"id": "claude-next"}],
            "modelOverrides": {"claude-haiku-4-5": {"name": "H", "thinkingLevelMap": {"max": "max"}, "cost": {"input": 9}}}}}}"#;
        let registry = registry(json).unwrap();
        let haiku = registry.find("anthropic", "claude-haiku-4-5").unwrap().model;
        assert_eq!((haiku.name.as_str(), haiku.base_url.as_str()), ("H", "http://proxy"));
        assert_eq!((haiku.cost.input, haiku.cost.output), (9.0, 5.0));
        assert!(haiku.thinking_levels().contains(&ThinkingLevel::Max));
        let next = registry.find("anthropic", "claude-next").unwrap().model;
        assert_eq!((next.api.as_str(), next.base_url.as_str()), ("anthropic-messages", "http://proxy"));
        assert_eq!(registry.providers().filter(|name| *name == "anthropic").count(), 1);
        assert_eq!(registry.providers().next(), Some("anthropic"));
    }

    #[test]
    fn file_with_only_an_address_keeps_the_models() {
        let registry = registry(r#"{"providers": {"groq": {"baseUrl": "http://proxy"}}}"#).unwrap();
        let models = registry.models("groq");
        assert_eq!(models.len(), catalog::provider("groq").unwrap().models().len());
        assert!(models.iter().all(|known| known.model.base_url == "http://proxy"));
    }

    #[test]
    fn model_of_the_file_replaces_the_catalogs() {
        let json =
            r#"{"providers": {"groq": {"models": [{"id": "openai/gpt-oss-120b", "contextWindow": 7}]}}}"#;
        let registry = registry(json).unwrap();
        let model = registry.find("groq", "openai/gpt-oss-120b").unwrap().model;
        assert_eq!((model.context_window, model.cost), (7, Price::default()));
        assert_eq!(registry.models("groq").len(), catalog::provider("groq").unwrap().models().len());
    }

    #[test]
    fn local_server_has_any_model_at_its_address() {
        let json =
            r#"{"providers": {"vllm": {"baseUrl": "http://v/v1"}, "ollama": {"models": [{"id": "m"}]}}}"#;
        let registry = registry(json).unwrap();
        assert_eq!(registry.find("vllm", "any").unwrap().model.base_url, "http://v/v1");
        for id in ["m", "other:7b"] {
            let model = registry.find("ollama", id).unwrap().model;
            assert_eq!((model.api.as_str(), model.id.as_str()), ("openai-completions", id));
            assert_eq!(model.base_url, "http://localhost:11434/v1");
        }
        assert!(registry.models("lmstudio").is_empty());
    }

    #[test]
    fn file_takes_precedence_over_a_local_server_and_the_server_over_defaults() {
        let json = r#"{"providers": {"vllm": {"models": [{"id": "own", "maxTokens": 64}, {"id": "big", "contextWindow": 9000}],
            "modelOverrides": {"changed": {"name": "C", "maxTokens": 32, "headers": {"x": "y"}}}}}}"#;
        let registry = registry(json).unwrap();
        let server = local_servers::server("vllm").unwrap();
        let limits = |id: &str| {
            let model = registry.local(server, id, Some(8192)).model;
            (model.context_window, model.max_tokens)
        };
        assert_eq!(limits("own"), (8192, 64));
        assert_eq!(limits("changed"), (8192, 32));
        assert_eq!(limits("big"), (9000, 8192));
        assert_eq!(limits("any"), (8192, 8192));
        let changed = registry.find("vllm", "changed").unwrap();
        assert_eq!((changed.model.name.as_str(), changed.model.max_tokens), ("C", 32));
        assert_eq!(changed.headers.len(), 1);
    }

    #[test]
    fn address_is_shown_masked_and_used_with_its_secrets() {
        let json = r#"{"providers": {"home": {"baseUrl": "http://a:one@h", "api": "openai-completions",
            "models": [{"id": "m"}, {"id": "n", "baseUrl": "http://b:two@h"}]}}}"#;
        let registry = registry(json).unwrap();
        for (id, whole) in [("m", "http://a:one@h"), ("n", "http://b:two@h")] {
            let model = registry.find("home", id).unwrap().model;
            assert_eq!(model.base_url, "http://***@h");
            assert_eq!(registry.base_url(&model).unwrap().expose(), whole);
        }
        let unlisted = Model { id: "o".into(), ..Model::clone(&registry.find("home", "m").unwrap().model) };
        assert_eq!(registry.base_url(&unlisted).unwrap().expose(), "http://a:one@h");
    }

    #[test]
    fn environment_locates_the_users_azure() {
        let named = HashMap::from([("AZURE_OPENAI_RESOURCE_NAME".to_owned(), "mine".to_owned())]);
        let registry = Registry::read(None, &named).unwrap();
        let model = &registry.models("azure-openai-responses")[0].model;
        assert_eq!(model.base_url, "https://mine.openai.azure.com/openai/v1");
    }

    #[test]
    fn missing_fields_of_a_model_are_named() {
        let error = registry(r#"{"providers": {"home": {"models": [{"id": "m"}]}}}"#).unwrap_err();
        let Error::Misconfigured { place, .. } = &error else { panic!("{error}") };
        assert_eq!(place, "providers.home.models[0]");
        assert!(registry(r#"{"providers": {"home": {"models": [{}]}}}"#).is_err());
    }
}
