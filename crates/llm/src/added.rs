//! Providers that are added while the program runs: those of extensions.
//!
//! Each handle to the [`Providers`](crate::Providers) of a session sees them. What a project adds is less trusted than what
//! the user has: it changes no provider that exists, and it gets no key but its own.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use crate::models_file::ProviderSettings;
use crate::provider_login::ProviderLogin;
use crate::providers::Providers;
use crate::registry::{Registry, check};
use crate::request::{AnswerStream, ModelRequest};
use crate::setting_value::SettingValue;
use crate::virtual_models::VIRTUAL_API;
use crate::{replay, scripted};

/// The API of models whose answers are written by whoever added them.
pub(crate) const FOREIGN_API: &str = "extension";

/// Answers requests in place of an API.
pub trait AnswerSource: fmt::Debug + Send + Sync {
    /// Answers a request. The index of a block is any number that no other open block has. Dropping the stream cancels the
    /// request. The limits on time and size are kept by the caller.
    fn answer(&self, request: ModelRequest) -> AnswerStream;
}

/// Who adds a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddedBy {
    User,
    Project,
}

/// A provider to add.
#[derive(Debug, Clone)]
pub struct NewProvider {
    /// Its settings, as in `models.json`. With `models`, it has these and no others; without, it is a change of a provider
    /// that exists.
    pub settings: Value,
    /// What answers in place of an API.
    pub source: Option<Arc<dyn AnswerSource>>,
    /// What logs the user in to it.
    pub login: Option<ProviderLogin>,
}

/// A provider that was added.
#[derive(Debug, Clone)]
pub(crate) struct Added {
    pub(crate) name: String,
    owner: u64,
    pub(crate) by: AddedBy,
    /// The settings of `models.json` for the provider, changed.
    pub(crate) settings: ProviderSettings,
    /// Whether it has the models of the settings and no others.
    pub(crate) replaces_models: bool,
    pub(crate) source: Option<Arc<dyn AnswerSource>>,
    pub(crate) login: Option<ProviderLogin>,
}

/// The providers that one extension has added. Dropping it removes them.
#[derive(Debug)]
pub struct Additions {
    providers: Providers,
    owner: u64,
    by: AddedBy,
}

impl Providers {
    /// Returns a way to add providers to this handle.
    pub fn additions(&self, by: AddedBy) -> Additions {
        static LAST_OWNER: AtomicU64 = AtomicU64::new(0);
        let owner = LAST_OWNER.fetch_add(1, Ordering::Relaxed);
        Additions { providers: self.clone(), owner, by }
    }

    /// Tells whether providers were added.
    pub fn has_additions(&self) -> bool {
        self.registry().has_added()
    }
}

impl Additions {
    /// Adds a provider, in place of one of this name that was added before. The error is a sentence for the user.
    pub fn add(&self, name: &str, provider: NewProvider) -> Result<(), String> {
        let mut problem = None;
        self.providers.change_registry(|registry| match self.prepare(registry, name, provider) {
            Ok(added) => Some(registry.with(added)),
            Err(text) => {
                problem = Some(text);
                None
            }
        });
        problem.map_or(Ok(()), |text| Err(format!("The provider \"{name}\" is not used: {text}.")))
    }

    /// Tells whether a provider was added by this.
    pub fn owns(&self, name: &str) -> bool {
        self.providers.registry().added(name).is_some_and(|added| added.owner == self.owner)
    }

    /// Tells whether a provider of this name was added by this, or can be.
    pub fn may_add(&self, name: &str) -> bool {
        self.providers.registry().added(name).is_none_or(|added| added.owner == self.owner)
    }

    /// Removes a provider that was added.
    pub fn remove(&self, name: &str) {
        self.remove_where(|added| added.name == name);
    }

    /// Removes all that were added but for those of these names.
    pub fn keep_only(&self, names: &BTreeSet<String>) {
        self.remove_where(|added| !names.contains(&added.name));
    }

    /// Removes all that were added, virtual models as well.
    pub fn clear(&self) {
        self.remove_where(|_| true);
        self.keep_only_virtual(|_| false);
    }

    pub(crate) fn owner(&self) -> u64 {
        self.owner
    }

    pub(crate) fn by(&self) -> AddedBy {
        self.by
    }

    /// Replaces the known models by what `change` returns, if anything.
    pub(crate) fn change(&self, change: impl FnOnce(&Registry) -> Option<Registry>) {
        self.providers.change_registry(change);
    }

    fn remove_where(&self, is_meant: impl Fn(&Added) -> bool) {
        let is_removed = |added: &Added| added.owner == self.owner && is_meant(added);
        self.providers.change_registry(|registry| registry.without(is_removed));
    }

    /// Checks a provider and returns it with the settings that it has from now on.
    fn prepare(&self, registry: &Registry, name: &str, provider: NewProvider) -> Result<Added, String> {
        let NewProvider { mut settings, source, login } = provider;
        if [scripted::PROVIDER, replay::PROVIDER].contains(&name) {
            return Err("the name is bowline's own".to_owned());
        }
        if registry.added(name).is_some_and(|added| added.owner != self.owner) {
            return Err("another extension has a provider of this name already".to_owned());
        }
        let replaces_models = settings.get("models").is_some();
        // Whoever answers itself may name its API as it likes.
        let api = source.as_ref().map(|_| take_apis(&mut settings));
        let mut settings = ProviderSettings::parse(settings).map_err(|problem| {
            let place = if problem.place.is_empty() { String::new() } else { format!("{}: ", problem.place) };
            format!("{place}{}", problem.reason)
        })?;
        if let Some(api) = api {
            settings.api = Some(api);
            settings.base_url.get_or_insert_default();
        }
        let is_known = registry.is_permanent(name);
        if self.by == AddedBy::Project {
            if is_known {
                return Err("an extension of a project cannot change a provider that you have".to_owned());
            }
            let mut addresses =
                settings.base_url.iter().chain(settings.models.iter().flat_map(|model| &model.base_url));
            if !settings.values().all(SettingValue::is_literal)
                || addresses.any(|address| address.contains('{'))
            {
                let what = "an extension of a project cannot use variables and commands in keys, headers and addresses";
                return Err(what.to_owned());
            }
        }
        if !is_known && !replaces_models {
            return Err("it has no models, and there is no provider of this name to change".to_owned());
        }
        let settings = settings.over(registry.permanent_settings(name));
        check(name, &settings).map_err(|(place, reason)| format!("{place}: {reason}"))?;
        let name = name.to_owned();
        Ok(Added { name, owner: self.owner, by: self.by, settings, replaces_models, source, login })
    }
}

/// Removes the names of APIs from the settings of a provider, and returns the one that its models have from now on.
fn take_apis(settings: &mut Value) -> String {
    let take =
        |value: &mut Value| value.as_object_mut()?.shift_remove("api")?.as_str().map(ToOwned::to_owned);
    let named = take(settings);
    let models = settings.get_mut("models").and_then(Value::as_array_mut).into_iter().flatten();
    let first = models.map(take).fold(None, |first, next| first.or(next));
    let api = named.or(first).filter(|api| api != VIRTUAL_API);
    api.unwrap_or_else(|| FOREIGN_API.to_owned())
}

impl Drop for Additions {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde_json::json;

    use super::*;
    use crate::Sources;

    #[derive(Debug)]
    struct Silent;

    impl AnswerSource for Silent {
        fn answer(&self, _: ModelRequest) -> AnswerStream {
            Box::pin(futures_util::stream::pending())
        }
    }

    fn providers() -> Providers {
        let variables =
            ["ANTHROPIC_API_KEY", "NEW_API_KEY"].map(|name| (name.to_owned(), "secret".to_owned()));
        Providers::new(Sources { environment: HashMap::from(variables), ..Sources::default() }).unwrap()
    }

    fn plain(settings: Value) -> NewProvider {
        NewProvider { settings, source: None, login: None }
    }

    fn answering(settings: Value) -> NewProvider {
        NewProvider { settings, source: Some(Arc::new(Silent)), login: None }
    }

    fn served(models: &[&str]) -> Value {
        let models: Vec<_> = models.iter().map(|id| json!({ "id": id })).collect();
        json!({"baseUrl": "http://new", "api": "openai-completions", "models": models})
    }

    fn names(providers: &Providers, provider: &str) -> Vec<String> {
        let all = providers.known_models().into_iter().filter(|model| model.provider == provider);
        all.map(|model| model.id.clone()).collect()
    }

    #[test]
    fn provider_is_there_until_it_is_removed_and_only_in_its_session() {
        let all = providers();
        let session = all.for_session();
        let additions = session.additions(AddedBy::User);
        additions
            .add("new", answering(json!({"api": "mine", "models": [{"id": "a"}, {"id": "b"}]})))
            .unwrap();
        let model = session.find("new", "a").unwrap();
        assert_eq!((model.api.as_str(), model.base_url.as_str()), ("mine", ""));
        assert!(session.check_credentials(&model).is_ok() && session.is_supported(&model));
        assert_eq!(session.resolve("new/b:high", None).unwrap().model.id, "b");
        assert!(session.available().contains(&model) && session.has_additions());
        assert!(all.find("new", "a").is_none() && !all.has_additions());
        additions.add("new", answering(json!({"models": [{"id": "c"}]}))).unwrap();
        assert_eq!(names(&session, "new"), ["c"]);
        assert_eq!(session.find("new", "c").unwrap().api, FOREIGN_API);
        drop(additions);
        assert!(names(&session, "new").is_empty() && session.resolve("new/b", None).is_err());
    }

    #[test]
    fn settings_change_a_known_provider_and_models_replace_its_list() {
        let providers = providers();
        let additions = providers.additions(AddedBy::User);
        let before = names(&providers, "anthropic");
        additions.add("anthropic", plain(json!({"baseUrl": "http://proxy"}))).unwrap();
        assert_eq!(names(&providers, "anthropic"), before);
        assert_eq!(providers.find("anthropic", &before[0]).unwrap().base_url, "http://proxy");
        additions.add("anthropic", plain(json!({"models": [{"id": "own"}]}))).unwrap();
        assert_eq!(names(&providers, "anthropic"), ["own"]);
        assert_eq!(providers.find("anthropic", "own").unwrap().api, "anthropic-messages");
        additions.remove("anthropic");
        assert_eq!(names(&providers, "anthropic"), before);
    }

    #[tokio::test]
    async fn project_gets_no_key_and_changes_nothing() {
        let providers = providers();
        let additions = providers.additions(AddedBy::Project);
        for (name, settings, expected) in [
            ("anthropic", json!({"baseUrl": "http://evil"}), "cannot change a provider that you have"),
            (
                "new",
                json!({"baseUrl": "http://evil", "api": "openai-completions", "apiKey": "$ANTHROPIC_API_KEY", "models": [{"id": "m"}]}),
                "cannot use variables",
            ),
            (
                "new",
                json!({"baseUrl": "http://evil/{ANTHROPIC_API_KEY}", "api": "openai-completions", "models": [{"id": "m"}]}),
                "cannot use variables",
            ),
            (
                "new",
                json!({"api": "openai-completions", "models": [{"id": "m", "baseUrl": "http://evil/{X}", "headers": {"x": "!id"}}]}),
                "cannot use variables",
            ),
        ] {
            let problem = additions.add(name, plain(settings)).unwrap_err();
            assert!(problem.contains(expected), "{problem}");
        }
        additions.add("new", plain(served(&["m"]))).unwrap();
        assert_eq!(providers.key("new").await.unwrap(), None);
    }

    #[test]
    fn model_whose_provider_is_gone_has_no_address_and_no_key() {
        let providers = providers();
        let of_project = providers.additions(AddedBy::Project);
        of_project.add("new", plain(served(&["m"]))).unwrap();
        let model = providers.find("new", "m").unwrap();
        assert!(providers.check_credentials(&model).is_ok());
        of_project.remove("new");
        let refused = providers.check_credentials(&model).unwrap_err();
        assert!(refused.message.contains("is not there"), "{refused:?}");
        assert!(providers.registry().base_url(&model).is_none());
        // Whoever comes next with this name has its own address.
        let of_user = providers.additions(AddedBy::User);
        let mut settings = served(&["other"]);
        settings["baseUrl"] = json!("http://mine");
        of_user.add("new", plain(settings)).unwrap();
        assert_eq!(providers.registry().base_url(&model).unwrap().expose(), "http://mine");
    }

    #[tokio::test]
    async fn user_s_extension_has_the_keys_of_its_provider() {
        let providers = providers();
        let additions = providers.additions(AddedBy::User);
        additions.add("new", plain(served(&["m"]))).unwrap();
        assert_eq!(providers.key("new").await.unwrap().unwrap().expose(), "secret");
    }

    #[test]
    fn mistakes_are_named() {
        let providers = providers();
        let (one, other) = (providers.additions(AddedBy::User), providers.additions(AddedBy::User));
        one.add("taken", plain(served(&["m"]))).unwrap();
        for (name, provider, expected) in [
            ("taken", plain(served(&["m"])), "another extension has a provider of this name"),
            ("scripted", plain(served(&["m"])), "the name is bowline's own"),
            ("new", plain(json!({"baseUrl": "http://n"})), "it has no models"),
            ("new", plain(json!({"models": [{"id": "m"}]})), "a model needs a \"baseUrl\""),
            (
                "new",
                plain(json!({"models": [{"id": "m", "contextWindow": "big"}]})),
                "models[0].contextWindow: ",
            ),
            (
                "new",
                plain(json!({"api": "none", "models": [{"id": "m"}]})),
                "api: this must be the name of an API",
            ),
            ("new", answering(json!({"models": [{}]})), "a model needs an \"id\""),
        ] {
            let problem = other.add(name, provider).unwrap_err();
            assert!(problem.contains(expected), "{problem}");
        }
    }
}
