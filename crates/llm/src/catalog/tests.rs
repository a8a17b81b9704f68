//! Sanity checks of the catalog: nobody reviews this data line by line.

use std::collections::HashSet;

use super::*;

/// APIs of the catalog that a build may lack: their models are found, listed and refused with a clear message.
const MAYBE_ABSENT: &[&str] = &[
    "openai-responses",
    "azure-openai-responses",
    "google-generative-ai",
    "google-vertex",
    "mistral-conversations",
    "bedrock-converse-stream",
];

fn all() -> impl Iterator<Item = Model> {
    PROVIDERS.iter().flat_map(Provider::models)
}

#[test]
fn every_file_can_be_parsed_and_has_its_default() {
    for provider in PROVIDERS {
        let models = provider.models();
        let default = models.iter().find(|model| model.id == provider.default_model);
        assert!(default.is_some(), "{} has no {}", provider.id, provider.default_model);
    }
    assert!(all().count() > 1300, "the generator has lost some");
}

#[test]
fn every_file_names_its_source() {
    for provider in PROVIDERS {
        assert!(provider.json.contains("\"source\":\"facts from"), "{}", provider.id);
    }
}

#[test]
fn every_file_is_used() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/catalog");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    for file in files.filter(|file| file.extension().is_some_and(|extension| extension == "json")) {
        let name = file.file_stem().unwrap().to_str().unwrap();
        assert!(provider(name).is_some(), "{name} is in no row of PROVIDERS");
    }
}

#[test]
fn ids_are_unique_within_a_provider() {
    for provider in PROVIDERS {
        let mut seen = HashSet::new();
        for model in provider.models() {
            assert!(!model.id.trim().is_empty() && !model.name.trim().is_empty(), "{}", model.full_name());
            assert!(seen.insert(model.id.clone()), "{} is there twice", model.full_name());
        }
    }
}

#[test]
fn prices_and_sizes_are_plausible() {
    for model in all() {
        let cost = model.cost;
        for price in [cost.input, cost.output, cost.cache_read, cost.cache_write] {
            assert!((0.0..1000.0).contains(&price), "{}: {cost:?}", model.full_name());
        }
        assert!(model.context_window > 0 && model.max_tokens > 0, "{}", model.full_name());
        assert!(model.context_window >= model.max_tokens, "{}", model.full_name());
        assert!(model.input.contains(&InputKind::Text), "{}", model.full_name());
    }
}

#[test]
fn every_api_is_known() {
    for model in all() {
        let known = crate::api::find(&model.api).is_some() || MAYBE_ABSENT.contains(&model.api.as_str());
        assert!(known, "{} is on {}", model.full_name(), model.api);
    }
}

#[test]
fn addresses_are_secure() {
    for model in all() {
        // Azure's address belongs to the user and comes from a variable.
        let is_own = model.provider == "azure-openai-responses" && model.base_url.is_empty();
        assert!(is_own || model.base_url.starts_with("https://"), "{}", model.full_name());
    }
}

#[test]
fn thinking_maps_leave_a_level_and_only_reasoning_models_have_one() {
    for model in all() {
        assert!(!model.thinking_levels().is_empty(), "{}", model.full_name());
        for value in model.thinking_level_map.iter().flat_map(BTreeMap::values).flatten() {
            assert!(!value.is_empty(), "{}", model.full_name());
        }
    }
}

#[test]
fn missing_fields_come_from_the_provider() {
    let provider = Provider {
        id: "p",
        default_model: "a",
        json: r#"{"baseUrl": "https://u", "api": "x", "compat": {"f": 1}, "models": [
            {"id": "a", "contextWindow": 2, "maxTokens": 1},
            {"id": "b", "name": "B", "api": "y", "compat": null, "cost": [1, 2], "contextWindow": 2, "maxTokens": 1}]}"#,
    };
    let models = provider.models();
    assert_eq!((models[0].name.as_str(), models[0].api.as_str()), ("a", "x"));
    assert_eq!((models[0].compat.is_some(), models[0].cost), (true, Price::default()));
    assert_eq!((models[1].name.as_str(), models[1].api.as_str()), ("B", "y"));
    let price = Price { input: 1.0, output: 2.0, ..Price::default() };
    assert_eq!((models[1].compat.is_some(), models[1].cost), (false, price));
}
