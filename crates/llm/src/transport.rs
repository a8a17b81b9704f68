//! Moves the bytes: sends a request, feeds the answer to a decoder, and classifies network failures.

mod client;
mod incoming;
mod pool;
mod trouble;

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bowline_core::stream::{FailureKind, StreamError};
use bowline_core::{Model, StreamEvent};
use bytes::Bytes;
use client::{Trust, build, cannot_build};
use incoming::Incoming;
use pool::Pool;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout};

use crate::address::{self, Address};
use crate::api::{Decoder, Endpoint, HttpRequest};
use crate::failure::Refusal;
use crate::limits::{ERROR_TEXT, RECORDED_STREAM_BYTES, STREAM_BYTES, exceeded, mebibytes, shorten};
use crate::proxy::ProxySettings;
use crate::recording::{Outcome, Recorder};
use crate::redaction::Redactor;
use crate::replay::RecordedAnswer;
use crate::request::AnswerStream;
use crate::request_hooks::{RequestHooks, StreamTap};
use crate::secret::Secret;

/// The most that is read of an error body, and how long that may take.
const LARGEST_REFUSAL: usize = 64 * 1024;
const REFUSAL_LIMIT: Duration = Duration::from_secs(10);

/// The most events in a batch.
const LARGEST_BATCH: usize = 256;

/// The most that is read of an answer that is not a stream.
const LARGEST_DOCUMENT: usize = 4 * 1024 * 1024;

/// How long to wait for a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Until a connection is established.
    pub connect: Duration,
    /// Until the first byte of the answer: models may think for a long time first.
    pub first_byte: Duration,
    /// Between two bytes of the answer.
    pub idle: Duration,
    /// From the request to the end of the answer, whatever is sent meanwhile; `None` is for ever.
    pub total: Option<Duration>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(30),
            first_byte: Duration::from_secs(300),
            idle: Duration::from_secs(300),
            total: Some(Duration::from_hours(1)),
        }
    }
}

/// The HTTP clients. Each is built on first use: the one for TLS takes milliseconds, which a local server should not
/// cost.
#[derive(Debug, Clone)]
pub(crate) struct Transport {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    timeouts: Timeouts,
    proxy: ProxySettings,
    /// Records the exchanges, if the user asked for it.
    recorder: Option<Recorder>,
    plain: OnceLock<Pool>,
    secure: OnceCell<Pool>,
}

/// A request with its key.
pub(crate) enum Prepared {
    /// To be sent.
    Send(Outgoing),
    /// An answer from a recording.
    Recorded(RecordedAnswer),
}

/// A request to send, and its sources.
pub(crate) struct Outgoing {
    pub(crate) model: Arc<Model>,
    pub(crate) http: HttpRequest,
    pub(crate) endpoint: Endpoint,
    pub(crate) address: Address,
    /// Who is told that the answer has begun.
    pub(crate) hooks: Option<Arc<dyn RequestHooks>>,
}

impl Outgoing {
    /// Returns the origin of the provider's key.
    pub(crate) fn key_origin(&self) -> Option<String> {
        let credential = self.endpoint.credential.as_ref().map(|credential| credential.origin.clone());
        credential.or_else(|| (!self.address.secrets().is_empty()).then(|| "the base URL".to_owned()))
    }
}

type Preparation = Pin<Box<dyn Future<Output = Result<Prepared, StreamError>> + Send>>;

/// A request in progress.
struct Flow {
    shared: Arc<Shared>,
    decoder: Box<dyn Decoder>,
    /// Shows what the decoder gets to others.
    tap: Option<StreamTap>,
    stage: Stage,
    /// Masks the secrets of the request in what is passed on.
    redactor: Redactor,
    host: String,
    /// Whether a byte of the answer has arrived.
    has_begun: bool,
    /// How many have.
    received: usize,
    /// When the answer must have ended.
    deadline: Option<Instant>,
}

enum Stage {
    Asking(Preparation),
    Reading(Box<Incoming>),
    Failing(StreamError),
    Over,
}

impl Transport {
    /// Returns the client for a scheme. `address` is for the error.
    pub(crate) async fn client(&self, scheme: &str, address: &str) -> Result<reqwest::Client, StreamError> {
        self.shared.pool(scheme, address).await.map(|pool| pool.client)
    }

    /// Returns a transport that builds its clients on first use.
    pub(crate) fn new(
        timeouts: Timeouts,
        environment: &HashMap<String, String>,
        recorder: Option<Recorder>,
    ) -> Self {
        let shared = Shared {
            timeouts,
            proxy: ProxySettings::new(environment),
            recorder,
            plain: OnceLock::new(),
            secure: OnceCell::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    pub(crate) fn timeouts(&self) -> Timeouts {
        self.shared.timeouts
    }

    /// Sends the request that `prepare` returns and decodes the answer.
    pub(crate) fn stream(
        &self,
        decoder: Box<dyn Decoder>,
        prepare: impl Future<Output = Result<Prepared, StreamError>> + Send + 'static,
    ) -> AnswerStream {
        let flow = Flow {
            shared: Arc::clone(&self.shared),
            decoder,
            tap: None,
            stage: Stage::Asking(Box::pin(prepare)),
            redactor: Redactor::default(),
            host: String::new(),
            has_begun: false,
            received: 0,
            deadline: None,
        };
        Box::pin(futures_util::stream::unfold(flow, Flow::next))
    }

    /// Fetches a document within a time limit. Such exchanges are not recorded.
    pub(crate) async fn get(&self, url: &str, limit: Duration) -> Result<(u16, Vec<u8>), StreamError> {
        self.document(url, None, limit).await
    }

    /// Posts a form and returns the status and body. Such exchanges are not recorded.
    pub(crate) async fn post_form(
        &self,
        url: &str,
        body: Vec<u8>,
        limit: Duration,
    ) -> Result<(u16, Vec<u8>), StreamError> {
        self.document(url, Some(body), limit).await
    }

    async fn document(
        &self,
        address: &str,
        body: Option<Vec<u8>>,
        limit: Duration,
    ) -> Result<(u16, Vec<u8>), StreamError> {
        let url = reqwest::Url::parse(address).map_err(|_| bad_url(address))?;
        let host = place(&url);
        let pool = self.shared.pool(url.scheme(), address).await?;
        let request = match body {
            None => pool.client.get(url),
            Some(body) => {
                pool.client.post(url).header("content-type", "application/x-www-form-urlencoded").body(body)
            }
        };
        let whole = async {
            // Bypasses the pool: a request that renews a login works only once and must not be sent twice.
            let response = request.header("accept", "application/json").send().await;
            let failed = |error: &reqwest::Error| trouble::before_answer(error, &host, limit);
            let mut incoming = Incoming::new(response.map_err(|error| failed(&error))?, None);
            let status = incoming.status();
            Ok((status, incoming.read_up_to(LARGEST_DOCUMENT).await))
        };
        timeout(limit, whole).await.unwrap_or_else(|_| {
            let seconds = limit.as_secs_f32();
            let message = format!("{host} did not answer within {seconds} s (timeout).");
            Err(StreamError::new(FailureKind::TimedOut, message))
        })
    }
}

impl Flow {
    /// Returns the next batch of events.
    async fn next(mut self) -> Option<(Result<Vec<StreamEvent>, StreamError>, Self)> {
        loop {
            match std::mem::replace(&mut self.stage, Stage::Over) {
                Stage::Over => return None,
                Stage::Failing(error) => {
                    let mut error = self.redactor.redact_error(error);
                    error.message = shorten(&error.message, ERROR_TEXT);
                    return Some((Err(error), self));
                }
                Stage::Asking(prepare) => {
                    self.stage = match self.ask(prepare).await {
                        Ok(incoming) => Stage::Reading(Box::new(incoming)),
                        Err(error) => Stage::Failing(error),
                    };
                }
                Stage::Reading(incoming) => {
                    let mut events = self.read(incoming).await;
                    self.redactor.redact_events(&mut events);
                    if !events.is_empty() {
                        return Some((Ok(events), self));
                    }
                }
            }
        }
    }

    async fn ask(&mut self, prepare: Preparation) -> Result<Incoming, StreamError> {
        let (mut incoming, key_origin) = match prepare.await? {
            Prepared::Recorded(answer) => {
                "the recorded server".clone_into(&mut self.host);
                let origin = answer.key_origin.clone();
                (Incoming::recorded(answer)?, origin)
            }
            Prepared::Send(outgoing) => {
                self.deadline =
                    self.shared.timeouts.total.and_then(|total| Instant::now().checked_add(total));
                let origin = outgoing.key_origin();
                (self.send(outgoing).await?, origin)
            }
        };
        if incoming.is_stream() {
            return Ok(incoming);
        }
        let limit = self.within_deadline(REFUSAL_LIMIT);
        let error = refusal(&mut incoming, key_origin.as_deref(), &self.redactor, limit).await;
        incoming.finish(Outcome::Complete)?;
        Err(error)
    }

    async fn send(&mut self, outgoing: Outgoing) -> Result<Incoming, StreamError> {
        let Outgoing { http, endpoint, address, .. } = &outgoing;
        let mut secrets = secrets(endpoint);
        secrets.extend(address.secrets());
        self.redactor = Redactor::new(&secrets);
        let url = reqwest::Url::parse(&address.open(&http.url)).map_err(|_| bad_url(&endpoint.base_url))?;
        self.host = place(&url);
        let pool = self.shared.pool(url.scheme(), &endpoint.base_url).await?;
        let exchange =
            self.shared.recorder.as_ref().map(|recorder| recorder.begin(&outgoing, &self.redactor));
        let request = pool.client.post(url).headers(headers(&http.headers)?).body(outgoing.http.body);
        let limit = self.within_deadline(self.shared.timeouts.first_byte);
        let failure = match timeout(limit, pool.send(request)).await {
            Ok(Ok(response)) => {
                let incoming = Incoming::new(response, exchange);
                if let Some(hooks) = outgoing.hooks {
                    hooks.response(incoming.status(), incoming.headers()).await;
                    self.tap = StreamTap::new(&outgoing.model, &hooks);
                }
                return Ok(incoming);
            }
            Err(_) => self.overdue(),
            Ok(Err(error)) => trouble::before_answer(&error, &self.host, self.shared.timeouts.connect),
        };
        if let Some(exchange) = exchange {
            exchange.finish(Outcome::Failed(&failure))?;
        }
        Err(failure)
    }

    /// Reads the available bytes and returns their events; sets the next stage.
    async fn read(&mut self, mut incoming: Box<Incoming>) -> Vec<StreamEvent> {
        let mut events = Vec::new();
        let limit = if self.has_begun { self.shared.timeouts.idle } else { self.shared.timeouts.first_byte };
        let limit = self.within_deadline(limit);
        let outcome = match timeout(limit, incoming.chunk(&self.host)).await {
            // A server that never pauses is stopped, too.
            _ if limit.is_zero() => Err(self.overdue()),
            Err(_) => Err(self.overdue()),
            Ok(Err(error)) => Err(error),
            Ok(Ok(Some(bytes))) => {
                self.has_begun = true;
                return self.feed(bytes, incoming, events);
            }
            Ok(Ok(None)) => self.finish(&mut events),
        };
        self.end(incoming, outcome);
        events
    }

    /// Decodes a chunk and those already available after it: a server sends a chunk for every few letters, and each
    /// batch costs its consumer a turn. Continues reading unless the answer has ended.
    fn feed(
        &mut self,
        mut bytes: Bytes,
        mut incoming: Box<Incoming>,
        mut events: Vec<StreamEvent>,
    ) -> Vec<StreamEvent> {
        let outcome = loop {
            if let Err(error) = self.decode(&bytes, &mut events) {
                break Err(error);
            }
            if let Some(StreamEvent::Done { .. }) = events.last() {
                if let Err(error) = incoming.drain() {
                    // Nothing after the end of an answer would be heard.
                    events.pop();
                    self.stage = Stage::Failing(error);
                }
                return events;
            }
            let next = if events.len() < LARGEST_BATCH { incoming.chunk_now(&self.host) } else { None };
            match next {
                Some(Ok(Some(more))) => bytes = more,
                Some(Ok(None)) => break self.finish(&mut events),
                Some(Err(error)) => break Err(error),
                None => {
                    self.stage = Stage::Reading(incoming);
                    return events;
                }
            }
        };
        self.end(incoming, outcome);
        events
    }

    /// Decodes a chunk, within the limits of an answer.
    fn decode(&mut self, bytes: &[u8], events: &mut Vec<StreamEvent>) -> Result<(), StreamError> {
        let limit = if self.shared.recorder.is_some() { RECORDED_STREAM_BYTES } else { STREAM_BYTES };
        self.received = self.received.saturating_add(bytes.len());
        if self.received > limit {
            return Err(exceeded(&format!("more than {} for one answer", mebibytes(limit))));
        }
        self.tap.take_if(|tap| !tap.feed(bytes));
        self.decoder.feed(bytes, events)?;
        self.check(events)
    }

    fn finish(&mut self, events: &mut Vec<StreamEvent>) -> Result<(), StreamError> {
        self.decoder.finish(events)?;
        self.check(events)
    }

    /// Returns the failure of an answer that has become too large, even if it ended just then.
    fn check(&self, events: &mut Vec<StreamEvent>) -> Result<(), StreamError> {
        let checked = self.decoder.check();
        if checked.is_err() {
            events.pop_if(|last| matches!(last, StreamEvent::Done { .. }));
        }
        checked
    }

    /// Returns how long to wait at most, so that the answer ends in time.
    fn within_deadline(&self, limit: Duration) -> Duration {
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        left.map_or(limit, |left| limit.min(left))
    }

    /// Returns the failure of an answer that did not come in time.
    fn overdue(&self) -> StreamError {
        match (self.deadline, self.shared.timeouts.total) {
            (Some(deadline), Some(total)) if deadline <= Instant::now() => {
                let message = format!(
                    "The answer of {} took more than {} s in all and was stopped; what had arrived is kept. Send the prompt again; if the model needs longer, raise httpTotalTimeoutMs in settings.json.",
                    self.host,
                    total.as_secs_f32()
                );
                StreamError::new(FailureKind::TooSlow, message)
            }
            _ => self.silent(),
        }
    }

    /// Closes a finished or failed answer.
    fn end(&mut self, incoming: Box<Incoming>, outcome: Result<(), StreamError>) {
        let kept = match &outcome {
            Ok(()) => incoming.finish(Outcome::Complete),
            Err(error) => incoming.finish(Outcome::Failed(error)),
        };
        if let Err(error) = outcome.and(kept) {
            self.stage = Stage::Failing(error);
        }
    }

    fn silent(&self) -> StreamError {
        let (limit, what, setting) = if self.has_begun {
            (self.shared.timeouts.idle, "has sent nothing more", "httpIdleTimeoutMs")
        } else {
            (self.shared.timeouts.first_byte, "has sent nothing", "httpFirstByteTimeoutMs")
        };
        let message = format!(
            "{} {what} for {} s (timeout). Try again; if the model needs longer, raise {setting} in settings.json.",
            self.host,
            limit.as_secs_f32()
        );
        StreamError::new(FailureKind::TimedOut, message)
    }
}

impl Shared {
    async fn pool(&self, scheme: &str, base_url: &str) -> Result<Pool, StreamError> {
        match scheme {
            "https" => {
                // Loading the system's certificates takes milliseconds of file access.
                let (timeouts, proxy) = (self.timeouts, self.proxy.clone());
                let build = || async move {
                    let built =
                        tokio::task::spawn_blocking(move || build(timeouts, &proxy, Trust::System)).await;
                    built.unwrap_or_else(|error| Err(cannot_build(error)))
                };
                self.secure.get_or_try_init(build).await.cloned()
            }
            "http" => {
                if let Some(pool) = self.plain.get() {
                    return Ok(pool.clone());
                }
                let pool = build(self.timeouts, &self.proxy, Trust::Nobody)?;
                Ok(self.plain.get_or_init(|| pool).clone())
            }
            _ => Err(bad_url(base_url)),
        }
    }
}

fn bad_url(base_url: &str) -> StreamError {
    let shown = address::shown(base_url);
    let message = format!("\"{shown}\" is not a valid base URL. It must begin with https:// or http://.");
    StreamError::new(FailureKind::Rejected, message)
}

fn headers(pairs: &[(String, Secret)]) -> Result<HeaderMap, StreamError> {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        let pair =
            HeaderName::from_bytes(name.as_bytes()).ok().zip(HeaderValue::from_str(value.expose()).ok());
        let Some((name, mut value)) = pair else {
            let message = format!(
                "The header \"{name}\" cannot be sent: it contains a line break or another forbidden character. Check the key or header in your configuration."
            );
            return Err(StreamError::new(FailureKind::Authentication, message));
        };
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// Returns the failure for an answer without a stream.
async fn refusal(
    incoming: &mut Incoming,
    key_origin: Option<&str>,
    redactor: &Redactor,
    limit: Duration,
) -> StreamError {
    // A body that has not arrived by then is ignored.
    let body = timeout(limit, incoming.read_up_to(LARGEST_REFUSAL)).await.unwrap_or_default();
    let status = incoming.status();
    if (300..400).contains(&status) {
        let shown = |target: &str| redactor.redact(address::shown(target));
        let target = incoming.header("location").map_or_else(|| "another address".to_owned(), shown);
        let message = format!(
            "{status}: the server redirects to {target}. Set that as the base URL if you trust it; the key is not passed on."
        );
        return StreamError { status: Some(status), ..StreamError::new(FailureKind::Rejected, message) };
    }
    // Before it is shortened.
    let body = redactor.redact(String::from_utf8_lossy(&body).into_owned());
    let refusal = Refusal {
        status,
        retry_after_ms: incoming.header("retry-after-ms"),
        retry_after: incoming.header("retry-after"),
        should_retry: incoming.header("x-should-retry"),
        body: body.as_bytes(),
        key_origin,
    };
    refusal.into_failure()
}

/// Returns the secrets of an endpoint.
pub(crate) fn secrets(endpoint: &Endpoint) -> Vec<Secret> {
    let mut secrets: Vec<Secret> = endpoint.headers.iter().map(|(_, value)| value.clone()).collect();
    let tokens = endpoint.headers.iter().filter_map(|(_, value)| value.expose().strip_prefix("Bearer "));
    secrets.extend(tokens.map(Secret::new));
    secrets.extend(endpoint.credential.iter().map(|credential| credential.secret.clone()));
    secrets.extend(endpoint.variables.secrets());
    secrets
}

/// Returns the host of a URL, with its port unless it is the default.
fn place(url: &reqwest::Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests;
