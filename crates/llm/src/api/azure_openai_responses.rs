//! Azure's Responses API: OpenAI's, at the user's own address and with a different header for the key.
//!
//! The address is the base URL of the model, else `AZURE_OPENAI_BASE_URL`, else derived from
//! `AZURE_OPENAI_RESOURCE_NAME`. A model is requested by the name of its deployment, which is the model's id unless
//! `AZURE_OPENAI_DEPLOYMENT_NAME_MAP` (`model=deployment,…`) maps it.

use bowline_core::stream::{FailureKind, StreamError};

use super::{Api, Endpoint, HttpRequest, Variables, bearer, no_budget, openai_responses};
use crate::credentials::Scheme;
use crate::request::ModelRequest;

pub(super) const API: Api = Api {
    name: "azure-openai-responses",
    request: build,
    budget: no_budget,
    decoder: openai_responses::decoder,
};

/// The version of Azure's API without a date.
const VERSION: &str = "v1";

/// Azure's hosts, whose address may be given without its path.
const HOSTS: [&str; 3] = [".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com"];

fn build(request: &ModelRequest, endpoint: &Endpoint) -> Result<HttpRequest, StreamError> {
    let variables = &endpoint.variables;
    let body = openai_responses::body(request, deployment(&request.model.id, variables))?;
    let mut headers = Vec::new();
    if let Some(credential) = &endpoint.credential {
        // A key has Azure's own header; an Entra ID token is a bearer token.
        headers.push(match credential.scheme {
            Scheme::Key => ("api-key", credential.secret.clone()),
            Scheme::Bearer | Scheme::Login => ("authorization", bearer(&credential.secret)),
        });
    }
    let version = variables.get("AZURE_OPENAI_API_VERSION").unwrap_or(VERSION);
    let base_url = base_url(&endpoint.base_url, variables, version)?;
    let mut http = endpoint.post("", headers, body);
    http.url = format!("{base_url}/responses?api-version={version}");
    Ok(http)
}

/// Returns the base address of the API.
fn base_url(own: &str, variables: &Variables, version: &str) -> Result<String, StreamError> {
    let given = Some(own).filter(|own| !own.trim().is_empty()).or(variables.get("AZURE_OPENAI_BASE_URL"));
    let base = match (given, variables.get("AZURE_OPENAI_RESOURCE_NAME")) {
        (Some(given), _) => given.trim_end_matches('/').to_owned(),
        (None, Some(resource)) => format!("https://{resource}.openai.azure.com"),
        (None, None) => {
            let message = "Azure needs an address. Set AZURE_OPENAI_BASE_URL or AZURE_OPENAI_RESOURCE_NAME, or a \"baseUrl\" in models.json.";
            return Err(StreamError::new(FailureKind::Rejected, message));
        }
    };
    // Versions with a date are served under a different path.
    let path = if matches!(version, "v1" | "preview" | "latest") { "/openai/v1" } else { "/openai" };
    let (host, rest) = split(&base);
    let known = HOSTS.iter().any(|known| host.ends_with(known));
    match rest {
        "" | "/openai" | "/openai/v1" if known => Ok(format!("{}{path}", &base[..base.len() - rest.len()])),
        _ => Ok(base),
    }
}

/// Returns the host of a URL, without its port, and its path.
fn split(url: &str) -> (&str, &str) {
    let start = url.find("://").map_or(0, |place| place + 3);
    let end = url[start..].find('/').map_or(url.len(), |place| start + place);
    (url[start..end].split(':').next().unwrap_or_default(), &url[end..])
}

/// Returns the name of a model's deployment.
fn deployment<'a>(model: &'a str, variables: &'a Variables) -> &'a str {
    let names = variables.get("AZURE_OPENAI_DEPLOYMENT_NAME_MAP").unwrap_or_default();
    let mut pairs = names.split(',').filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| name.trim() == model).map_or(model, |(_, deployment)| deployment.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credentials::Credential;
    use crate::output_limit::tests::request;
    use crate::secret::Secret;
    use serde_json::{Value, json};

    fn http(base_url: &str, pairs: &[(&str, &str)], scheme: Scheme) -> Result<HttpRequest, StreamError> {
        let environment = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let endpoint = Endpoint {
            base_url: base_url.into(),
            headers: Vec::new(),
            credential: Some(Credential { secret: Secret::new("key"), scheme, origin: String::new() }),
            auth_header: false,
            variables: Variables::of(&environment.collect()),
        };
        build(&request(json!({"id": "gpt-5.5"})), &endpoint)
    }

    #[track_caller]
    fn check(base_url: &str, pairs: &[(&str, &str)], expected: &str) {
        assert_eq!(http(base_url, pairs, Scheme::Key).unwrap().url, expected);
    }

    #[test]
    fn address_comes_from_the_model_or_the_environment() {
        let name = ("AZURE_OPENAI_RESOURCE_NAME", "mine");
        let base = ("AZURE_OPENAI_BASE_URL", "https://r.openai.azure.com/");
        let expected = "https://r.openai.azure.com/openai/v1/responses?api-version=v1";
        check("", &[name], "https://mine.openai.azure.com/openai/v1/responses?api-version=v1");
        check("", &[name, base], expected);
        check("https://r.openai.azure.com/openai/v1", &[name], expected);
        check("https://proxy:8/azure/", &[name], "https://proxy:8/azure/responses?api-version=v1");
        let dated = ("AZURE_OPENAI_API_VERSION", "2025-04-01-preview");
        let expected = "https://r.openai.azure.com/openai/responses?api-version=2025-04-01-preview";
        check("", &[base, dated], expected);
        let error = http("", &[], Scheme::Key).unwrap_err();
        assert!(error.message.contains("AZURE_OPENAI_RESOURCE_NAME"), "{error}");
    }

    #[test]
    fn output_schema_is_the_text_format_of_known_models() {
        let format_of = |id: &str| {
            let model =
                json!({"id": id, "provider": "azure-openai-responses", "baseUrl": "http://127.0.0.1:9"});
            let request = super::super::output_format::tests::asking(model, true);
            let endpoint = Endpoint {
                base_url: "http://127.0.0.1:9".into(),
                headers: Vec::new(),
                credential: None,
                auth_header: false,
                variables: Variables::default(),
            };
            let body = build(&request, &endpoint).unwrap().body;
            serde_json::from_slice::<Value>(&body).unwrap()["text"]["format"]["type"].clone()
        };
        assert_eq!(format_of("gpt-5.5"), "json_schema");
        assert_eq!(format_of("gpt-4-turbo"), Value::Null);
    }

    #[test]
    fn key_has_its_own_header_and_model_its_deployment() {
        let base = ("AZURE_OPENAI_BASE_URL", "http://127.0.0.1:9");
        let map = ("AZURE_OPENAI_DEPLOYMENT_NAME_MAP", "a=b, gpt-5.5 = mine");
        let key = http("", &[base, map], Scheme::Key).unwrap();
        assert!(key.headers.iter().any(|(name, value)| name == "api-key" && value.expose() == "key"));
        let body: Value = serde_json::from_slice(&key.body).unwrap();
        assert_eq!(body["model"], "mine");
        let token = http("", &[base], Scheme::Bearer).unwrap();
        assert!(token.headers.iter().any(|(name, _)| name == "authorization"));
    }
}
