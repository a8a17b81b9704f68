//! The entry point: models, credentials and the transport behind one handle.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bowline_core::stream::{FailureKind, StreamError};
use bowline_core::thinking::ThinkingBudgets;
use bowline_core::{Model, ThinkingLevel};

use crate::added::FOREIGN_API;
use crate::address::Address;
use crate::api::{self, Endpoint, Variables};
use crate::auth_file::{AuthFile, Login};
use crate::catalog;
use crate::credentials::{Credential, KeyForRequest, KeySources};
use crate::error::Error;
use crate::foreign_answer;
use crate::local_servers;
use crate::login;
use crate::models_file::ProviderSettings;
use crate::provider_login;
use crate::recording::Recorder;
use crate::registry::{Known, Registry};
use crate::replay::{self, Comparison, Replays};
use crate::request::{AnswerStream, ModelRequest};
use crate::request_hooks::{self, RequestHooks};
use crate::scripted;
use crate::secret::Secret;
use crate::setting_value::{CommandCache, SettingValue};
use crate::transport::{self, Outgoing, Prepared, Timeouts, Transport};
use crate::virtual_models::{self, VIRTUAL_API};

/// What the crate may know of its environment.
#[derive(Clone, Default)]
pub struct Sources {
    pub models_file: Option<PathBuf>,
    pub auth_file: Option<PathBuf>,
    /// The environment variables: keys, proxies, and those that `models.json` names.
    pub environment: HashMap<String, String>,
    /// The key of `--api-key`.
    pub api_key: Option<String>,
    /// The provider that `api_key` is for; all of them when absent.
    pub api_key_provider: Option<String>,
    pub timeouts: Timeouts,
    /// The file that every exchange with a provider is recorded to.
    pub record: Option<PathBuf>,
    /// Whether a recording is replayed without comparing the conversation.
    pub replay_loose: bool,
}

/// All known models and how to reach them. A clone is another handle to the same.
#[derive(Debug, Clone)]
pub struct Providers {
    inner: Arc<Inner>,
    /// The known models. It is replaced as a whole when a provider is added.
    registry: Arc<Mutex<Arc<Registry>>>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    auth_file: Option<PathBuf>,
    /// What decides which commands may run: see `credentials`.
    auth_at_start: AuthFile,
    environment: Hidden,
    api_key: Option<Secret>,
    api_key_provider: Option<String>,
    commands: CommandCache,
    transport: Transport,
    scripts: scripted::Scripts,
    replays: Replays,
    /// The keys and variables that providers of a project may use.
    nothing: (AuthFile, HashMap<String, String>),
}

/// The environment, which contains keys.
struct Hidden(HashMap<String, String>);

impl Providers {
    /// Reads and checks the files. Opens no socket, and defers the catalog and the HTTP client.
    pub fn new(sources: Sources) -> Result<Self, Error> {
        let registry = Registry::read(sources.models_file.as_deref(), &sources.environment)?;
        let auth_at_start = sources.auth_file.as_deref().map(AuthFile::read).transpose()?.unwrap_or_default();
        let recorder = sources.record.as_deref().map(Recorder::create).transpose()?;
        let transport = Transport::new(sources.timeouts, &sources.environment, recorder);
        let inner = Inner {
            auth_file: sources.auth_file,
            auth_at_start,
            environment: Hidden(sources.environment),
            api_key: sources.api_key.map(Secret::new),
            api_key_provider: sources.api_key_provider,
            commands: CommandCache::default(),
            transport,
            scripts: scripted::Scripts::new(sources.timeouts.idle),
            replays: Replays::new(if sources.replay_loose { Comparison::Loose } else { Comparison::Strict }),
            nothing: Default::default(),
        };
        Ok(Self { inner: Arc::new(inner), registry: Arc::new(Mutex::new(Arc::new(registry))) })
    }

    /// Returns the providers for one session: what its extensions add is not seen by others.
    pub fn for_session(&self) -> Self {
        let registry = Arc::new(Mutex::new(self.registry()));
        Self { inner: Arc::clone(&self.inner), registry }
    }

    /// Returns the providers without those that extensions have added.
    pub fn without_additions(&self) -> Self {
        let registry = self.registry();
        let registry = registry.without(|_| true).map_or(registry, Arc::new);
        let registry = registry.without_virtual(|_| true).map_or(registry, Arc::new);
        Self { inner: Arc::clone(&self.inner), registry: Arc::new(Mutex::new(registry)) }
    }

    /// Tells whether whoever added a provider answers its requests.
    pub fn is_foreign(&self, provider: &str) -> bool {
        self.registry().source(provider).is_some()
    }

    /// Sends a request to a model. Dropping the stream cancels it.
    pub fn stream(&self, request: ModelRequest) -> AnswerStream {
        self.stream_with(request, None)
    }

    /// Sends a request to a model; `hooks` may change it before. Signed requests stay as they are: a change would make
    /// the signature wrong.
    pub fn stream_with(&self, request: ModelRequest, hooks: Option<Arc<dyn RequestHooks>>) -> AnswerStream {
        if request.model.provider == scripted::PROVIDER {
            return scripted::stream(&self.inner.scripts, &request);
        }
        let registry = self.registry();
        if registry.virtual_model(&request.model.provider, &request.model.id).is_some() {
            return failed(unsupported(&request.model));
        }
        if let Some(source) = registry.source(&request.model.provider) {
            let provider = request.model.provider.clone();
            let inner = Arc::clone(&self.inner);
            let secrets = {
                let (registry, provider) = (Arc::clone(&registry), provider.clone());
                Box::pin(async move { inner.keys_of(&registry, &provider).await })
            };
            let timeouts = self.inner.transport.timeouts();
            return foreign_answer::check(source.answer(request), &provider, timeouts, secrets);
        }
        let transport = self.inner.transport.clone();
        if request.model.provider == replay::PROVIDER {
            return match self.inner.replays.next(&request) {
                Ok((api, answer)) => {
                    transport.stream((api.decoder)(), async { Ok(Prepared::Recorded(answer)) })
                }
                Err(error) => failed(error),
            };
        }
        if !registry.has(&request.model.provider) {
            return failed(not_there(&request.model));
        }
        let Some(api) = api::find(&request.model.api) else { return failed(unsupported(&request.model)) };
        let inner = Arc::clone(&self.inner);
        transport.stream((api.decoder)(), async move {
            let address = inner.address(&registry, &request.model)?;
            let endpoint = inner.endpoint(&registry, &request.model, &address).await?;
            let mut http = (api.request)(&request, &endpoint)?;
            let hooks = hooks.filter(|_| request.model.api != "bedrock-converse-stream");
            if let Some(hooks) = &hooks {
                request_hooks::change(&**hooks, &mut http, &transport::secrets(&endpoint)).await?;
            }
            Ok(Prepared::Send(Outgoing { model: request.model, http, endpoint, address, hooks }))
        })
    }

    /// Returns the model with this provider and id, if known.
    pub fn find(&self, provider: &str, id: &str) -> Option<Arc<Model>> {
        if provider == scripted::PROVIDER {
            return Some(scripted::model(id));
        }
        if provider == replay::PROVIDER {
            return replay::model(id).ok();
        }
        self.registry().find(provider, id).map(|known| known.model)
    }

    /// Returns the model that a session names, if known. A session may come from anywhere, so a script or a recording
    /// is never taken from one: the tool calls in such a file would be carried out.
    pub fn find_stored(&self, provider: &str, id: &str) -> Option<Arc<Model>> {
        let is_file = provider == scripted::PROVIDER || provider == replay::PROVIDER;
        if is_file { None } else { self.find(provider, id) }
    }

    /// Returns the usable models, those of `models.json` first. A provider without a key is omitted, and so is the
    /// scripted one, which must be asked for.
    pub fn available(&self) -> Vec<Arc<Model>> {
        let auth = self.inner.auth();
        self.available_with(&auth).flatten().collect()
    }

    /// Returns the usable models, provider by provider; each provider is loaded only when reached.
    pub(crate) fn available_with<'a>(
        &'a self,
        auth: &'a AuthFile,
    ) -> impl Iterator<Item = Vec<Arc<Model>>> + 'a {
        let registry = self.registry();
        let names: Vec<String> = registry.providers().map(ToOwned::to_owned).collect();
        names.into_iter().filter_map(move |provider| {
            let answers_itself = registry.source(&provider).is_some();
            if !answers_without_key(&registry, &provider)
                && self.inner.key_sources(&registry, &provider, auth).check().is_err()
            {
                return None;
            }
            let models = registry.models(&provider);
            let known = models.iter().map(|known| Arc::clone(&known.model));
            let can_be_called = |model: &Arc<Model>| {
                answers_itself || api::find(&model.api).is_some() || model.api == VIRTUAL_API
            };
            Some(known.filter(can_be_called).collect())
        })
    }

    /// Returns all known models, with or without a key, in the order of their providers.
    pub fn known_models(&self) -> Vec<Arc<Model>> {
        let registry = self.registry();
        let all = registry.providers().flat_map(|provider| registry.models(provider).to_vec());
        all.map(|known| known.model).collect()
    }

    /// Tells whether the model's provider is in `models.json`, so that what is known of the model may be incomplete.
    pub fn is_described_by_user(&self, model: &Model) -> bool {
        self.registry().settings(&model.provider).is_some()
    }

    /// Returns whether bowline supports the API of a model.
    pub fn is_supported(&self, model: &Model) -> bool {
        self.registry().source(&model.provider).is_some()
            || api::find(&model.api).is_some()
            || self.is_virtual(model)
    }

    /// Returns the tokens that requests to a model allow for thinking at a level, if they state them. A conversation
    /// that leaves less room in the window for the answer lowers them.
    pub fn thinking_budget(
        &self,
        model: &Model,
        level: ThinkingLevel,
        budgets: ThinkingBudgets,
    ) -> Option<u64> {
        (api::find(&model.api)?.budget)(model, level, budgets)
    }

    /// Returns whether a model can be used, as far as that is known without a network.
    pub fn check_credentials(&self, model: &Model) -> Result<(), StreamError> {
        let registry = self.registry();
        let is_virtual = registry.virtual_model(&model.provider, &model.id).is_some();
        if model.api == VIRTUAL_API && !is_virtual {
            return Err(virtual_models::missing(model));
        }
        let needs_none = model.provider == scripted::PROVIDER || model.provider == replay::PROVIDER;
        if needs_none || answers_without_key(&registry, &model.provider) {
            return Ok(());
        }
        if registry.source(&model.provider).is_some() {
            return self.inner.key_sources(&registry, &model.provider, &self.inner.auth()).check();
        }
        if !registry.has(&model.provider) {
            return Err(not_there(model));
        }
        if !is_virtual && api::find(&model.api).is_none() {
            return Err(unsupported(model));
        }
        self.inner.key_sources(&registry, &model.provider, &self.inner.auth()).check()
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.inner
    }

    /// Returns the key of a provider, if it needs one. Whoever gets it can use it.
    pub async fn key(&self, provider: &str) -> Result<Option<Secret>, StreamError> {
        let registry = self.registry();
        Ok(self.inner.credential(&registry, provider).await?.map(|credential| credential.secret))
    }

    /// Returns the known models as they are now.
    pub(crate) fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.registry.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the known models by what `change` returns, if anything.
    pub(crate) fn change_registry(&self, change: impl FnOnce(&Registry) -> Option<Registry>) {
        let mut registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(changed) = change(&registry) {
            *registry = Arc::new(changed);
        }
    }

    pub(crate) fn environment(&self) -> &HashMap<String, String> {
        &self.inner.environment.0
    }

    pub(crate) fn commands(&self) -> &CommandCache {
        &self.inner.commands
    }

    pub(crate) fn transport(&self) -> &Transport {
        &self.inner.transport
    }

    pub(crate) fn auth_path(&self) -> Option<&Path> {
        self.inner.auth_file.as_deref()
    }

    /// Reads `auth.json`.
    pub(crate) fn auth(&self) -> Result<AuthFile, Error> {
        self.auth_path().map_or_else(|| Ok(AuthFile::default()), AuthFile::read)
    }

    pub(crate) fn key_sources<'a>(
        &'a self,
        registry: &'a Registry,
        provider: &'a str,
        auth: &'a AuthFile,
    ) -> KeySources<'a> {
        self.inner.key_sources(registry, provider, auth)
    }
}

impl Inner {
    /// Reads `auth.json` again, so that a new login takes effect at once. A file that became invalid counts as empty;
    /// the error about a missing key then names it.
    fn auth(&self) -> AuthFile {
        self.auth_file.as_deref().and_then(|path| AuthFile::read(path).ok()).unwrap_or_default()
    }

    fn key_sources<'a>(
        &'a self,
        registry: &'a Registry,
        provider: &'a str,
        auth: &'a AuthFile,
    ) -> KeySources<'a> {
        let settings = registry.settings(provider);
        let is_of_project = registry.is_of_project(provider);
        let for_this = |wanted: &String| wanted.eq_ignore_ascii_case(provider);
        let argument = self.api_key.as_ref().filter(|_| self.api_key_provider.as_ref().is_none_or(for_this));
        KeySources {
            provider,
            argument: argument.filter(|_| !is_of_project),
            auth: if is_of_project { &self.nothing.0 } else { auth },
            auth_at_start: if is_of_project { &self.nothing.0 } else { &self.auth_at_start },
            has_login: registry.added(provider).is_some_and(|added| added.login.is_some()),
            token_server: settings.and_then(|settings| settings.oauth.as_ref()),
            setting: settings.and_then(|settings| settings.api_key.as_ref()),
            environment: self.environment_for(registry, provider),
            optional: local_servers::server(provider).is_some()
                || settings.is_some()
                    && catalog::provider(provider).is_none()
                    && !needs_login(registry, provider),
        }
    }

    /// Returns the environment variables that the requests of a provider may use: those of a project's provider go to an
    /// address that the project chose.
    fn environment_for(&self, registry: &Registry, provider: &str) -> &HashMap<String, String> {
        if registry.is_of_project(provider) { &self.nothing.1 } else { &self.environment.0 }
    }

    /// Returns the endpoint of a model.
    fn address(&self, registry: &Registry, model: &Model) -> Result<Address, StreamError> {
        let base_url = registry.base_url(model).ok_or_else(|| not_there(model))?;
        self.fill_in(base_url.expose()).map(|whole| Address::new(&whole))
    }

    /// Returns the credential for a model.
    async fn endpoint(
        &self,
        registry: &Registry,
        model: &Model,
        address: &Address,
    ) -> Result<Endpoint, StreamError> {
        let mut credential = self.credential(registry, &model.provider).await?;
        let settings = registry.settings(&model.provider);
        let mut headers = self.headers(registry, &model.provider, Some(&model.id)).await?;
        let auth_header = settings.is_some_and(|settings| settings.auth_header);
        // The gateway has a separate header, because the usual ones are for the provider behind it.
        if model.provider == "cloudflare-ai-gateway"
            && let Some(key) = credential.take()
        {
            let value = Secret::new(format!("Bearer {}", key.secret.expose()));
            headers.push(("cf-aig-authorization".to_owned(), value));
        }
        let variables = Variables::of(self.environment_for(registry, &model.provider));
        Ok(Endpoint { base_url: address.base_url.clone(), headers, credential, auth_header, variables })
    }

    /// Returns the configured headers of a provider, and those of a model of it.
    pub(crate) async fn headers(
        &self,
        registry: &Registry,
        provider: &str,
        model: Option<&str>,
    ) -> Result<Vec<(String, Secret)>, StreamError> {
        let own = model.and_then(|id| registry.find(provider, id)).map(|known: Known| known.headers);
        let shared = registry.settings(provider).map(|settings| settings.headers.0.clone());
        let mut headers: Vec<(String, Secret)> = Vec::new();
        for (name, value) in shared.into_iter().flatten().chain(own.into_iter().flatten()) {
            let value = self.header(provider, &name, &value).await?;
            headers.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
            headers.push((name, value));
        }
        Ok(headers)
    }

    /// Returns the credential of a provider, renewing an expired login.
    pub(crate) async fn credential(
        &self,
        registry: &Registry,
        provider: &str,
    ) -> Result<Option<Credential>, StreamError> {
        let auth = self.auth();
        let sources = self.key_sources(registry, provider, &auth);
        let found = sources.credential(&self.commands).await?;
        let own_login = registry.added(provider).and_then(|added| added.login.as_ref());
        match (found, own_login, sources.token_server, &self.auth_file) {
            (KeyForRequest::Here(credential), ..) => Ok(credential),
            (KeyForRequest::OfLogin, Some(login), _, Some(path)) => {
                provider_login::key(provider, login, path).await.map(Some)
            }
            (KeyForRequest::OfLogin, None, Some(server), Some(path)) => {
                login::renew(provider, server, path, &self.transport).await.map(Some)
            }
            (KeyForRequest::OfLogin, ..) => Ok(None),
        }
    }

    /// Returns the keys that a provider has been given.
    async fn keys_of(&self, registry: &Registry, provider: &str) -> Vec<Secret> {
        let auth = self.auth();
        match self.key_sources(registry, provider, &auth).credential(&self.commands).await {
            Ok(KeyForRequest::Here(Some(credential))) => vec![credential.secret],
            Ok(KeyForRequest::OfLogin) => {
                let own_login = registry.added(provider).and_then(|added| added.login.as_ref());
                match (own_login, auth.login(provider)) {
                    (Some(login), Some(Login::Oauth(tokens))) => provider_login::secrets(login, tokens).await,
                    _ => Vec::new(),
                }
            }
            _ => Vec::new(),
        }
    }

    async fn header(&self, provider: &str, name: &str, value: &SettingValue) -> Result<Secret, StreamError> {
        value.evaluate(&self.environment.0, &self.commands).await.map_err(|reason| {
            let message =
                format!("The header \"{name}\" of the provider \"{provider}\" in models.json cannot be used: {reason}.");
            StreamError::new(FailureKind::Authentication, message)
        })
    }

    /// Replaces the `{VARIABLE}`s that some base URLs have for the user's account.
    fn fill_in(&self, base_url: &str) -> Result<String, StreamError> {
        if base_url.is_empty() {
            let message = "The address of this provider is your own. Set AZURE_OPENAI_BASE_URL or AZURE_OPENAI_RESOURCE_NAME, or \"baseUrl\" in models.json.";
            return Err(StreamError::new(FailureKind::Rejected, message));
        }
        let mut filled = base_url.to_owned();
        while let Some((start, length)) = filled.find('{').and_then(|at| Some((at, filled[at..].find('}')?)))
        {
            let name = &filled[start + 1..start + length];
            let Some(value) = self.environment.0.get(name).filter(|value| !value.contains(['{', '}'])) else {
                let message =
                    format!("The address of this provider needs the variable {name}, which is not set.");
                return Err(StreamError::new(FailureKind::Authentication, message));
            };
            filled = format!("{}{value}{}", &filled[..start], &filled[start + length + 1..]);
        }
        Ok(filled)
    }
}

/// Returns a stream that only fails.
fn failed(error: StreamError) -> AnswerStream {
    Box::pin(futures_util::stream::once(async { Err(error) }))
}

/// Returns the error for a model on an unsupported API.
fn unsupported(model: &Model) -> StreamError {
    if model.api == FOREIGN_API {
        return not_there(model);
    }
    let names: Vec<&str> = api::APIS.iter().map(|api| api.name).collect();
    let message = format!(
        "The model {} is on the API \"{}\", which is not supported. Supported are {}.",
        model.full_name(),
        model.api,
        names.join(" and ")
    );
    StreamError::new(FailureKind::Rejected, message)
}

/// Returns the error for a model whose provider was taken back.
fn not_there(model: &Model) -> StreamError {
    let message = format!("The provider \"{}\" is not there: its extension is not loaded.", model.provider);
    StreamError::new(FailureKind::NotFound, message)
}

impl std::fmt::Debug for Hidden {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "[{} variables]", self.0.len())
    }
}

impl std::fmt::Debug for Sources {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Sources")
            .field("models_file", &self.models_file)
            .field("auth_file", &self.auth_file)
            .field("api_key_provider", &self.api_key_provider)
            .field("timeouts", &self.timeouts)
            .finish_non_exhaustive()
    }
}
/// Tells whether whoever added a provider answers its requests, and says nothing about a key or a login for them, or
/// whether the provider has virtual models only.
fn answers_without_key(registry: &Registry, provider: &str) -> bool {
    let has_key = |settings: &ProviderSettings| settings.api_key.is_some();
    let is_answered = registry.source(provider).is_some()
        && !registry.settings(provider).is_some_and(has_key)
        && !needs_login(registry, provider);
    is_answered || registry.is_virtual(provider)
}

/// Tells whether a provider cannot be used without a login or a key.
fn needs_login(registry: &Registry, provider: &str) -> bool {
    let login = registry.added(provider).and_then(|added| added.login.as_ref());
    login.is_some_and(|login| login.is_required)
}
