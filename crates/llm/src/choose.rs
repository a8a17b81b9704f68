//! Resolves the model that a user means: `--model`, `--provider`, `--models`, and the default.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use bowline_core::{Model, ThinkingLevel};
use globset::GlobBuilder;

use crate::catalog;
use crate::error::Error;
use crate::near::near;
use crate::providers::Providers;
use crate::{local_servers, replay, scripted};

/// The names of the thinking levels, for errors.
pub(crate) const LEVELS: &str = "off, minimal, low, medium, high, xhigh, max";

/// A model that a user named.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    pub model: Arc<Model>,
    /// The level of a `:level` suffix.
    pub thinking: Option<ThinkingLevel>,
    /// A warning about the choice, for the user.
    pub warning: Option<String>,
}

impl Resolved {
    fn plain(model: Arc<Model>, thinking: Option<ThinkingLevel>) -> Self {
        Self { model, thinking, warning: None }
    }
}

/// How a suffix that is not a thinking level is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BadSuffix {
    Fails,
    Warns,
}

impl Providers {
    /// Returns the model that `--model` and `--provider` name, among all known models, with or without a key.
    pub fn resolve(&self, pattern: &str, provider: Option<&str>) -> Result<Resolved, Error> {
        self.choose(pattern.trim(), provider, BadSuffix::Fails)
    }

    /// Returns the models that `--models` names: patterns separated by commas. A pattern with wildcards stands for
    /// every matching model with a key.
    pub fn resolve_scope(&self, patterns: &str) -> Result<Vec<Resolved>, Error> {
        let mut scope: Vec<Resolved> = Vec::new();
        for pattern in patterns.split(',').map(str::trim).filter(|pattern| !pattern.is_empty()) {
            let found = if pattern.contains(['*', '?', '[']) {
                self.match_glob(pattern)?
            } else {
                vec![self.choose(pattern, None, BadSuffix::Warns)?]
            };
            for resolved in found {
                if !scope.iter().any(|known| same(&known.model, &resolved.model)) {
                    scope.push(resolved);
                }
            }
        }
        Ok(scope)
    }

    /// Returns the model to start with: the preferred one if it is usable, else the default of the first provider with
    /// a key.
    pub fn default_model(&self, preferred: Option<(&str, &str)>) -> Option<Arc<Model>> {
        let preferred = preferred.and_then(|(provider, id)| self.find(provider, id));
        if let Some(model) = preferred.filter(|model| self.check_credentials(model).is_ok()) {
            return Some(model);
        }
        let auth = self.auth().unwrap_or_default();
        let models = self.available_with(&auth).find(|models| !models.is_empty())?;
        default_among(&models.first()?.provider, &models)
    }

    /// Returns the model to use when only the provider was named.
    pub fn default_of(&self, provider: &str) -> Result<Arc<Model>, Error> {
        let provider = self.known_provider(provider)?;
        default_among(&provider, &self.registry_models(Some(&provider)))
            .ok_or(Error::NoDefaultModel { provider })
    }

    fn choose(&self, pattern: &str, provider: Option<&str>, bad: BadSuffix) -> Result<Resolved, Error> {
        let unknown = || self.unknown(pattern);
        // A name that ends with its provider names no model.
        if pattern.is_empty() || pattern.ends_with(['/', ':']) {
            return Err(unknown());
        }
        if let Some(script) = id_of(scripted::PROVIDER, pattern, provider) {
            return scripted::check(script).map(|()| Resolved::plain(scripted::model(script), None));
        }
        if let Some(recording) = id_of(replay::PROVIDER, pattern, provider) {
            return replay::model(recording).map(|model| Resolved::plain(model, None));
        }
        let Some((provider, id)) = self.split_provider(pattern, provider)? else {
            let models = self.registry_models(None);
            return self.match_with_suffix(&models, pattern, pattern, bad)?.ok_or_else(unknown);
        };
        let models = self.registry_models(Some(&provider));
        if let Some(resolved) = self.match_with_suffix(&models, id, pattern, bad)? {
            return Ok(resolved);
        }
        // An id may itself start with the name of a provider, as those of routers do.
        if id.len() < pattern.len() {
            let all = self.registry_models(None);
            if let Some(model) = self.match_exact(&all, pattern)? {
                return Ok(Resolved::plain(model, None));
            }
        }
        self.custom(&provider, id, &models).ok_or_else(unknown)
    }

    /// Returns the error for an unknown name, with similar names.
    fn unknown(&self, pattern: &str) -> Error {
        let (before, after) = pattern.rsplit_once(':').unwrap_or((pattern, ""));
        let wanted = if ThinkingLevel::parse(after).is_some() { before } else { pattern };
        let names: Vec<String> = self.known_models().iter().map(|model| model.full_name()).collect();
        let found = near(wanted, names.iter().map(String::as_str));
        Error::UnknownModel {
            pattern: pattern.to_owned(),
            near: found.into_iter().map(ToOwned::to_owned).collect(),
        }
    }

    /// Returns a model with an unknown id of a known provider. That is normal for local servers, and worth a warning
    /// for others.
    fn custom(&self, provider: &str, id: &str, models: &[Arc<Model>]) -> Option<Resolved> {
        let (id, thinking) = match id.rsplit_once(':') {
            Some((before, suffix)) if ThinkingLevel::parse(suffix).is_some() => {
                (before, ThinkingLevel::parse(suffix))
            }
            _ => (id, None),
        };
        let known = self.registry().find(provider, id).map(|known| known.model);
        let mut model = Model::clone(&*known.or_else(|| default_among(provider, models))?);
        model.id = id.to_owned();
        model.name = id.to_owned();
        model.reasoning |= thinking.is_some_and(|level| level > ThinkingLevel::Off);
        let warning = local_servers::server(provider).is_none().then(|| {
            let known = models.iter().filter(|model| model.provider == provider);
            let meant = near(id, known.map(|model| model.id.as_str())).into_iter().next();
            let hint = meant.map(|meant| format!(" Did you mean {meant}?")).unwrap_or_default();
            format!("Model \"{id}\" not found for provider \"{provider}\". Using custom model id.{hint}")
        });
        Some(Resolved { model: Arc::new(model), thinking, warning })
    }

    /// Splits a pattern into a provider and the rest, if it names one or one is given.
    fn split_provider<'a>(
        &self,
        pattern: &'a str,
        provider: Option<&str>,
    ) -> Result<Option<(String, &'a str)>, Error> {
        let known = |(prefix, rest): (&str, &'a str)| Some((self.known_provider(prefix).ok()?, rest));
        // opi uses a colon instead of a slash; a colon may also precede a thinking level.
        let by_colon = || {
            let split = pattern.split_once(':').filter(|(_, rest)| ThinkingLevel::parse(rest).is_none())?;
            known(split)
        };
        let split = pattern.split_once('/').and_then(known).or_else(by_colon);
        let Some(wanted) = provider else { return Ok(split) };
        let provider = self.known_provider(wanted)?;
        match split {
            Some((named, rest)) if named == provider => Ok(Some((provider, rest))),
            _ => Ok(Some((provider, pattern))),
        }
    }

    /// Returns the provider with this name, ignoring case.
    pub(crate) fn known_provider(&self, wanted: &str) -> Result<String, Error> {
        let registry = self.registry();
        let found = registry.providers().find(|name| name.eq_ignore_ascii_case(wanted));
        found.map(ToOwned::to_owned).ok_or_else(|| {
            let known: Vec<&str> = registry.providers().collect();
            let near =
                near(wanted, known.iter().copied()).into_iter().take(1).map(ToOwned::to_owned).collect();
            Error::UnknownProvider { provider: wanted.to_owned(), near, known: known.join(", ") }
        })
    }

    /// Finds a model by the whole pattern, then by the part before a `:level`.
    fn match_with_suffix(
        &self,
        models: &[Arc<Model>],
        id: &str,
        pattern: &str,
        bad: BadSuffix,
    ) -> Result<Option<Resolved>, Error> {
        if let Some(model) = self.match_one(models, id)? {
            return Ok(Some(Resolved::plain(model, None)));
        }
        let Some((before, suffix)) = id.rsplit_once(':') else { return Ok(None) };
        let Some(model) = self.match_one(models, before)? else { return Ok(None) };
        if let Some(level) = ThinkingLevel::parse(suffix) {
            return Ok(Some(Resolved::plain(model, Some(level))));
        }
        let error = Error::UnknownThinkingLevel { pattern: pattern.to_owned(), suffix: suffix.to_owned() };
        match bad {
            BadSuffix::Fails => Err(error),
            BadSuffix::Warns => {
                Ok(Some(Resolved { model, thinking: None, warning: Some(error.to_string()) }))
            }
        }
    }

    fn match_one(&self, models: &[Arc<Model>], pattern: &str) -> Result<Option<Arc<Model>>, Error> {
        Ok(self.match_exact(models, pattern)?.or_else(|| self.match_part(models, pattern)))
    }

    /// Returns the model whose id equals the pattern. Of several, the only one with a key is meant.
    fn match_exact(&self, models: &[Arc<Model>], pattern: &str) -> Result<Option<Arc<Model>>, Error> {
        let found: Vec<&Arc<Model>> =
            models.iter().filter(|model| model.id.eq_ignore_ascii_case(pattern)).collect();
        if let [] | [_] = found[..] {
            return Ok(found.first().map(|model| Arc::clone(model)));
        }
        let usable: Vec<&Arc<Model>> =
            found.iter().copied().filter(|model| self.check_credentials(model).is_ok()).collect();
        if let [model] = usable[..] {
            return Ok(Some(Arc::clone(model)));
        }
        let names: Vec<String> = found.iter().map(|model| model.full_name()).collect();
        Err(Error::AmbiguousModel { pattern: pattern.to_owned(), candidates: names.join(", ") })
    }

    /// Returns the best of the models whose id or name contains the pattern. Models with a key take precedence, then
    /// those of earlier providers, then aliases over dated versions, and then the alphabetically last, which tends to
    /// be the newest.
    fn match_part(&self, models: &[Arc<Model>], pattern: &str) -> Option<Arc<Model>> {
        let pattern = pattern.to_lowercase();
        if pattern.is_empty() {
            return None;
        }
        let has = |text: &str| text.to_lowercase().contains(&pattern);
        let found = models.iter().filter(|model| has(&model.id) || has(&model.name));
        // Models are ordered by provider.
        let mut ranks: HashMap<&str, (bool, Reverse<usize>)> = HashMap::new();
        let best = found.max_by_key(|model| {
            let place = Reverse(ranks.len());
            let rank = ranks.entry(&model.provider);
            let rank = *rank.or_insert_with(|| (self.check_credentials(model).is_ok(), place));
            (rank, !is_dated(&model.id), model.id.to_lowercase())
        });
        best.map(Arc::clone)
    }

    fn match_glob(&self, pattern: &str) -> Result<Vec<Resolved>, Error> {
        let (glob, thinking) = match pattern.rsplit_once(':') {
            Some((glob, suffix)) if ThinkingLevel::parse(suffix).is_some() => {
                (glob, ThinkingLevel::parse(suffix))
            }
            _ => (pattern, None),
        };
        let matcher = GlobBuilder::new(glob).case_insensitive(true).build();
        let matcher = matcher.map_err(|error| Error::BadPattern {
            pattern: pattern.to_owned(),
            reason: error.kind().to_string(),
        })?;
        let matcher = matcher.compile_matcher();
        let available = self.available();
        let found = available
            .into_iter()
            .filter(|model| matcher.is_match(&model.id) || matcher.is_match(model.full_name()));
        let found: Vec<Resolved> = found.map(|model| Resolved::plain(model, thinking)).collect();
        if found.is_empty() {
            return Err(Error::UnknownModel { pattern: pattern.to_owned(), near: Vec::new() });
        }
        Ok(found)
    }

    fn registry_models(&self, provider: Option<&str>) -> Vec<Arc<Model>> {
        let registry = self.registry();
        let all = registry.providers().filter(|name| provider.is_none_or(|wanted| wanted == *name));
        all.flat_map(|name| registry.models(name).to_vec()).map(|known| known.model).collect()
    }
}

/// Returns the id of a model of `special`, a provider whose ids are file paths, if the user means one.
fn id_of<'a>(special: &str, pattern: &'a str, provider: Option<&str>) -> Option<&'a str> {
    let prefixed = pattern.split_once(['/', ':']).filter(|(prefix, _)| prefix.eq_ignore_ascii_case(special));
    match provider {
        None => prefixed.map(|(_, id)| id),
        Some(provider) if provider.eq_ignore_ascii_case(special) => {
            Some(prefixed.map_or(pattern, |(_, id)| id))
        }
        Some(_) => None,
    }
}

/// Returns the default model of a provider, or its first one.
fn default_among(provider: &str, models: &[Arc<Model>]) -> Option<Arc<Model>> {
    let default = catalog::provider(provider).map(|provider| provider.default_model);
    models.iter().find(|model| Some(model.id.as_str()) == default).or(models.first()).cloned()
}

/// Returns whether an id ends in a date, as in `claude-haiku-4-5-20251001`.
fn is_dated(id: &str) -> bool {
    id.rsplit_once('-')
        .is_some_and(|(_, end)| end.len() == 8 && end.bytes().all(|byte| byte.is_ascii_digit()))
}

fn same(one: &Model, other: &Model) -> bool {
    one.provider == other.provider && one.id == other.id
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::Sources;

    const FILE: &str = r#"{"providers": {
        "home": {"baseUrl": "http://h", "api": "openai-completions", "apiKey": "$HOME_KEY",
                 "models": [{"id": "big"}, {"id": "qwen:8b"}, {"id": "twin"}, {"id": "small-20250101"}, {"id": "small"}]},
        "away": {"baseUrl": "http://a", "api": "openai-completions", "apiKey": "$AWAY_KEY",
                 "models": [{"id": "twin"}, {"id": "home/odd"}]}}}"#;

    fn providers(variables: &[&str]) -> Providers {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("models.json");
        std::fs::write(&path, FILE).unwrap();
        let environment = variables.iter().map(|name| ((*name).to_owned(), "k".to_owned())).collect();
        Providers::new(Sources { models_file: Some(path), environment, ..Sources::default() }).unwrap()
    }

    #[track_caller]
    fn check(pattern: &str, provider: Option<&str>, expected: &str, thinking: Option<ThinkingLevel>) {
        let resolved = providers(&["HOME_KEY"]).resolve(pattern, provider).unwrap();
        assert_eq!((resolved.model.full_name().as_str(), resolved.thinking), (expected, thinking));
    }

    #[test]
    fn pattern_resolves_to_a_model() {
        check("home/big", None, "home/big", None);
        check("HOME/BIG:high", None, "home/big", Some(ThinkingLevel::High));
        check("big", Some("Home"), "home/big", None);
        check("home/big", Some("home"), "home/big", None);
        check("qwen:8b", None, "home/qwen:8b", None);
        check("qwen:8b:low", None, "home/qwen:8b", Some(ThinkingLevel::Low));
        check("smal", None, "home/small", None);
        check("twin", None, "home/twin", None);
        check("sonnet-5", None, "anthropic/claude-sonnet-5", None);
        check("home/odd", None, "away/home/odd", None);
        check("claude-haiku-4-5", Some("anthropic"), "anthropic/claude-haiku-4-5", None);
        check("scripted/demo", None, "scripted/demo", None);
        check("demo", Some("scripted"), "scripted/demo", None);
    }

    #[test]
    fn invalid_patterns_are_explained() {
        let fail = |pattern: &str, provider| providers(&[]).resolve(pattern, provider).unwrap_err();
        assert!(matches!(fail("zzz", None), Error::UnknownModel { .. }));
        for nameless in ["home/", "anthropic:", "scripted/", "replay/", ""] {
            assert!(matches!(fail(nameless, None), Error::UnknownModel { .. }), "{nameless}");
        }
        assert!(matches!(fail("twin", None), Error::AmbiguousModel { .. }));
        assert!(matches!(fail("big:huge", None), Error::UnknownThinkingLevel { .. }));
        assert!(matches!(fail("big", Some("nowhere")), Error::UnknownProvider { .. }));
        assert!(matches!(fail("scripted//nonexistent.json", None), Error::Script { .. }));
    }

    #[test]
    fn mistyped_name_suggests_similar_ones() {
        let error = providers(&[]).resolve("claude-sonet-5:high", None).unwrap_err();
        let Error::UnknownModel { near, .. } = &error else { panic!("{error}") };
        assert!(near.contains(&"anthropic/claude-sonnet-5".to_owned()), "{near:?}");
        let text = error.to_string();
        assert!(text.starts_with("Model \"claude-sonet-5:high\" not found. Use --list-models"), "{text}");
        assert!(text.contains("Did you mean "), "{text}");
        let far = providers(&[]).resolve("qqqqqqqqqqqq", None).unwrap_err().to_string();
        assert_eq!(far, "Model \"qqqqqqqqqqqq\" not found. Use --list-models to see available models.");
    }

    #[test]
    fn ambiguous_name_lists_candidates_until_a_key_decides() {
        let error = providers(&["HOME_KEY", "AWAY_KEY"]).resolve("twin", None).unwrap_err().to_string();
        assert_eq!(
            error,
            "Model \"twin\" is ambiguous across providers: home/twin, away/twin. Use --provider or provider/model."
        );
        let decided = providers(&["AWAY_KEY"]).resolve("twin", None).unwrap();
        assert_eq!(decided.model.full_name(), "away/twin");
    }

    #[test]
    fn alias_takes_precedence_over_dated_versions_and_newer_over_older() {
        check("haiku-4-5", Some("anthropic"), "anthropic/claude-haiku-4-5", None);
        check("opus", Some("anthropic"), "anthropic/claude-opus-5-5", None);
        check("small-2025", Some("home"), "home/small-20250101", None);
    }

    #[test]
    fn any_model_of_a_local_server_is_accepted() {
        let resolved = providers(&[]).resolve("OLLAMA/qwen3:8b:high", None).unwrap();
        assert_eq!((resolved.model.full_name().as_str(), resolved.warning), ("ollama/qwen3:8b", None));
        assert_eq!((resolved.thinking, resolved.model.reasoning), (Some(ThinkingLevel::High), true));
        let resolved = providers(&[]).resolve("some/path/model.gguf", Some("llamacpp")).unwrap();
        assert_eq!(resolved.model.full_name(), "llamacpp/some/path/model.gguf");
        let error = providers(&[]).default_of("ollama").unwrap_err().to_string();
        assert!(error.contains("--model ollama/NAME"), "{error}");
    }

    #[test]
    fn default_comes_from_the_first_provider_with_a_key_and_an_api() {
        let name = |variables: &[&str]| {
            let environment = variables.iter().map(|name| ((*name).to_owned(), "k".to_owned())).collect();
            let providers = Providers::new(Sources { environment, ..Sources::default() }).unwrap();
            providers.default_model(None).map(|model| model.full_name())
        };
        let both = name(&["GROQ_API_KEY", "ANTHROPIC_API_KEY"]);
        assert_eq!(both.as_deref(), Some("anthropic/claude-sonnet-5"));
        assert_eq!(name(&["XIAOMI_API_KEY", "ZAI_API_KEY"]).as_deref(), Some("zai/glm-5.3"));
        assert_eq!(name(&["OLLAMA_API_KEY"]), None, "nobody knows what a local server has");
    }

    #[test]
    fn unknown_id_of_a_known_provider_is_accepted_with_a_warning() {
        let resolved = providers(&[]).resolve("home/new:high", None).unwrap();
        assert_eq!((resolved.model.full_name().as_str(), resolved.model.reasoning), ("home/new", true));
        assert_eq!(
            resolved.warning.as_deref(),
            Some("Model \"new\" not found for provider \"home\". Using custom model id.")
        );
    }

    #[test]
    fn scope_expands_wildcards_to_models_with_a_key() {
        let names = |patterns: &str| -> Vec<String> {
            let scope = providers(&["HOME_KEY"]).resolve_scope(patterns).unwrap();
            scope.iter().map(|resolved| resolved.model.full_name()).collect()
        };
        assert_eq!(
            names("home/SMALL*, big ,*in:low"),
            ["home/small-20250101", "home/small", "home/big", "home/twin"]
        );
        let warned = providers(&["HOME_KEY"]).resolve_scope("big:huge").unwrap();
        assert!(warned[0].warning.is_some());
        assert!(providers(&["HOME_KEY"]).resolve_scope("away/*").is_err());
    }

    #[test]
    fn default_is_the_preferred_model_or_the_first_with_a_key() {
        let name = |variables: &[&str], preferred| {
            providers(variables).default_model(preferred).map(|model| model.full_name())
        };
        assert_eq!(name(&["HOME_KEY"], Some(("home", "twin"))).as_deref(), Some("home/twin"));
        assert_eq!(name(&["HOME_KEY"], Some(("away", "twin"))).as_deref(), Some("home/big"));
        assert_eq!(name(&["GROQ_API_KEY"], None).as_deref(), Some("groq/openai/gpt-oss-120b"));
        assert_eq!(name(&[], None), None);
    }
}
