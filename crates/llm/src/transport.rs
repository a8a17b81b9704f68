//! Moves the bytes: sends a request, feeds the answer to a decoder, and tells what went wrong on the way.

mod trouble;

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bowline_core::StreamEvent;
use bowline_core::stream::{FailureKind, StreamError};
use bytes::Bytes;
use futures_util::FutureExt;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response};
use rustls::client::danger::ServerCertVerifier;
use tokio::sync::OnceCell;
use tokio::time::timeout;

use crate::api::{Decoder, Endpoint, HttpRequest};
use crate::failure::Refusal;
use crate::proxy::ProxySettings;
use crate::request::AnswerStream;
use crate::secret::Secret;

/// The most that is read of the body of a refusal, and how long that may take.
const LARGEST_REFUSAL: usize = 64 * 1024;
const REFUSAL_LIMIT: Duration = Duration::from_secs(10);

/// The most events that are gathered in a batch.
const LARGEST_BATCH: usize = 256;

/// How long the end of a finished answer is waited for, so that the connection can be used again.
const DRAIN_LIMIT: Duration = Duration::from_secs(1);

/// How long to wait for a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Until there is a connection.
    pub connect: Duration,
    /// Until the first byte of the answer, and from each to the next.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect: Duration::from_secs(30), idle: Duration::from_secs(300) }
    }
}

/// The HTTP clients. Each is built at its first use: the one for TLS takes milliseconds, which a server on this
/// machine should not cost.
#[derive(Debug, Clone)]
pub(crate) struct Transport {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    timeouts: Timeouts,
    proxy: ProxySettings,
    plain: OnceLock<Client>,
    secure: OnceCell<Client>,
}

/// What becomes of a request: its bytes and what it is made of, once the key is known.
type Prepared = Pin<Box<dyn Future<Output = Result<(HttpRequest, Endpoint), StreamError>> + Send>>;

/// A request on its way.
struct Flow {
    shared: Arc<Shared>,
    decoder: Box<dyn Decoder>,
    stage: Stage,
    /// What must not be seen in an error.
    secrets: Vec<Secret>,
    host: String,
}

enum Stage {
    Asking(Prepared),
    Reading(Response),
    Failing(StreamError),
    Over,
}

impl Transport {
    /// Returns a transport that has not built anything yet.
    pub(crate) fn new(timeouts: Timeouts, environment: &HashMap<String, String>) -> Self {
        let shared = Shared {
            timeouts,
            proxy: ProxySettings::new(environment),
            plain: OnceLock::new(),
            secure: OnceCell::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Sends what `prepare` gives and decodes the answer.
    pub(crate) fn stream(
        &self,
        decoder: Box<dyn Decoder>,
        prepare: impl Future<Output = Result<(HttpRequest, Endpoint), StreamError>> + Send + 'static,
    ) -> AnswerStream {
        let flow = Flow {
            shared: Arc::clone(&self.shared),
            decoder,
            stage: Stage::Asking(Box::pin(prepare)),
            secrets: Vec::new(),
            host: String::new(),
        };
        Box::pin(futures_util::stream::unfold(flow, Flow::next))
    }
}

impl Flow {
    /// Returns the next batch of events.
    async fn next(mut self) -> Option<(Result<Vec<StreamEvent>, StreamError>, Self)> {
        loop {
            match std::mem::replace(&mut self.stage, Stage::Over) {
                Stage::Over => return None,
                Stage::Failing(error) => return Some((Err(self.redact(error)), self)),
                Stage::Asking(prepare) => {
                    self.stage = match self.ask(prepare).await {
                        Ok(response) => Stage::Reading(response),
                        Err(error) => Stage::Failing(error),
                    };
                }
                Stage::Reading(response) => {
                    let events = self.read(response).await;
                    if !events.is_empty() {
                        return Some((Ok(events), self));
                    }
                }
            }
        }
    }

    async fn ask(&mut self, prepare: Prepared) -> Result<Response, StreamError> {
        let (http, endpoint) = prepare.await?;
        self.secrets = endpoint.headers.iter().map(|(_, value)| value.clone()).collect();
        self.secrets.extend(endpoint.credential.iter().map(|credential| credential.secret.clone()));
        self.secrets.extend(endpoint.variables.secrets());
        let url = reqwest::Url::parse(&http.url).map_err(|_| bad_url(&endpoint.base_url))?;
        self.host = url.host_str().unwrap_or_default().to_owned();
        let client = self.shared.client(url.scheme(), &endpoint.base_url).await?;
        let request = client.post(url).headers(headers(&http.headers)?).body(http.body);
        let response = match timeout(self.shared.timeouts.idle, request.send()).await {
            Err(_) => return Err(self.silent()),
            Ok(Err(error)) => {
                return Err(trouble::before_answer(&error, &self.host, self.shared.timeouts.connect));
            }
            Ok(Ok(response)) => response,
        };
        if response.status().is_success() && is_stream(&response) {
            return Ok(response);
        }
        Err(refusal(response, &endpoint).await)
    }

    /// Reads what has come and returns its events; sets the stage that follows.
    async fn read(&mut self, mut response: Response) -> Vec<StreamEvent> {
        let mut events = Vec::new();
        let outcome = match timeout(self.shared.timeouts.idle, response.chunk()).await {
            Err(_) => Err(self.silent()),
            Ok(Err(error)) => Err(trouble::within_answer(&error, &self.host)),
            Ok(Ok(Some(bytes))) => self.feed(bytes, response, &mut events),
            Ok(Ok(None)) => self.decoder.finish(&mut events),
        };
        if let Err(error) = outcome {
            self.stage = Stage::Failing(error);
        }
        events
    }

    /// Decodes a chunk, and those behind it that are there already: a server sends a chunk for every few letters, and
    /// each batch costs its readers a turn. Goes back to reading unless the answer has ended.
    fn feed(
        &mut self,
        mut bytes: Bytes,
        mut response: Response,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), StreamError> {
        loop {
            self.decoder.feed(&bytes, events)?;
            if let Some(StreamEvent::Done { .. }) = events.last() {
                drain(response);
                return Ok(());
            }
            let next = if events.len() < LARGEST_BATCH { response.chunk().now_or_never() } else { None };
            match next {
                Some(Ok(Some(more))) => bytes = more,
                Some(Ok(None)) => return self.decoder.finish(events),
                Some(Err(error)) => return Err(trouble::within_answer(&error, &self.host)),
                None => {
                    self.stage = Stage::Reading(response);
                    return Ok(());
                }
            }
        }
    }

    fn silent(&self) -> StreamError {
        let seconds = self.shared.timeouts.idle.as_secs_f32();
        let message = format!(
            "{} sent nothing for {seconds} s (timeout). Try again; if the model needs longer, raise the idle time-out.",
            self.host
        );
        StreamError::new(FailureKind::TimedOut, message)
    }

    fn redact(&self, mut error: StreamError) -> StreamError {
        error.message = self.secrets.iter().fold(error.message, |text, secret| secret.redact(text));
        error
    }
}

impl Shared {
    async fn client(&self, scheme: &str, base_url: &str) -> Result<Client, StreamError> {
        match scheme {
            "https" => {
                // Reading the system's certificates takes milliseconds of file access.
                let (timeouts, proxy) = (self.timeouts, self.proxy.clone());
                let build = || async move {
                    let built =
                        tokio::task::spawn_blocking(move || build(timeouts, &proxy, Trust::System)).await;
                    built.unwrap_or_else(|error| Err(cannot_build(error)))
                };
                self.secure.get_or_try_init(build).await.cloned()
            }
            "http" => {
                if let Some(client) = self.plain.get() {
                    return Ok(client.clone());
                }
                let client = build(self.timeouts, &self.proxy, Trust::Nobody)?;
                Ok(self.plain.get_or_init(|| client).clone())
            }
            _ => Err(bad_url(base_url)),
        }
    }
}

/// Whose certificates a client believes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    System,
    /// For clients that never speak TLS; costs nothing to set up.
    Nobody,
}

fn build(timeouts: Timeouts, proxy: &ProxySettings, trust: Trust) -> Result<Client, StreamError> {
    let mut builder = Client::builder()
        .tls_backend_preconfigured(tls(trust).map_err(cannot_build)?)
        .user_agent(concat!("bowline/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(timeouts.connect)
        // A redirect would carry the key to another place.
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy();
    let proxies = proxy.proxies().map_err(|name| {
        let message = format!("The variable {name} is not the URL of a proxy. Correct it or unset it.");
        StreamError::new(FailureKind::Rejected, message)
    })?;
    for proxy in proxies {
        builder = builder.proxy(proxy);
    }
    builder.build().map_err(cannot_build)
}

fn tls(trust: Trust) -> Result<rustls::ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider));
    let config = config.with_safe_default_protocol_versions()?;
    let mut config = match trust {
        Trust::Nobody => config.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth(),
        Trust::System => {
            let verifier: Arc<dyn ServerCertVerifier> =
                Arc::new(rustls_platform_verifier::Verifier::new(provider)?);
            config.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn cannot_build(error: impl std::fmt::Display) -> StreamError {
    StreamError::new(FailureKind::Rejected, format!("The HTTP client could not be set up: {error}."))
}

fn bad_url(base_url: &str) -> StreamError {
    let message = format!("\"{base_url}\" is not a valid base URL. It must begin with https:// or http://.");
    StreamError::new(FailureKind::Rejected, message)
}

fn headers(pairs: &[(String, Secret)]) -> Result<HeaderMap, StreamError> {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        let pair =
            HeaderName::from_bytes(name.as_bytes()).ok().zip(HeaderValue::from_str(value.expose()).ok());
        let Some((name, mut value)) = pair else {
            let message = format!(
                "The header \"{name}\" cannot be sent: it holds a line break or another forbidden character. Check the key or header in your configuration."
            );
            return Err(StreamError::new(FailureKind::Authentication, message));
        };
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// Tells whether an answer may be a stream of events. Some servers send an error with the status of success.
fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(reqwest::header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    !kind.is_some_and(|kind| kind.starts_with("application/json") || kind.starts_with("text/html"))
}

/// Returns the failure that an answer without a stream stands for.
async fn refusal(mut response: Response, endpoint: &Endpoint) -> StreamError {
    let status = response.status();
    let headers = response.headers().clone();
    let mut body = Vec::new();
    let _ = timeout(REFUSAL_LIMIT, async {
        while let Ok(Some(bytes)) = response.chunk().await {
            let room = LARGEST_REFUSAL - body.len();
            body.extend_from_slice(&bytes[..bytes.len().min(room)]);
            if body.len() == LARGEST_REFUSAL {
                break;
            }
        }
    })
    .await;
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if status.is_redirection() {
        let target = header("location").unwrap_or("another address");
        let message = format!(
            "{status}: the server sends us to {target}. Set that as the base URL if you trust it; the key is not passed on."
        );
        return StreamError {
            status: Some(status.as_u16()),
            ..StreamError::new(FailureKind::Rejected, message)
        };
    }
    let refusal = Refusal {
        status: status.as_u16(),
        retry_after_ms: header("retry-after-ms"),
        retry_after: header("retry-after"),
        body: &body,
        key_origin: endpoint.credential.as_ref().map(|credential| credential.origin.as_str()),
    };
    refusal.into_failure()
}

/// Reads the end of a finished answer. It is usually there already; a connection whose answer was not read to the end
/// could not be used again.
fn drain(mut response: Response) {
    if let Some(Ok(None) | Err(_)) = response.chunk().now_or_never() {
        return;
    }
    tokio::spawn(timeout(DRAIN_LIMIT, async move { while let Ok(Some(_)) = response.chunk().await {} }));
}

#[cfg(test)]
mod tests;
