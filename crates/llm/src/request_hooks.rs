//! What somebody outside may change about a request just before it is sent.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;

use bowline_core::Model;
use bowline_core::stream::{FailureKind, StreamError};
use serde_json::Value;

use crate::api::HttpRequest;
use crate::secret::Secret;
use crate::sse;

/// A future on the heap.
pub type HookFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The headers that hold keys. They are neither shown nor removed, but can be set.
const KEY_HEADERS: [&str; 6] =
    ["authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie"];

/// Sees requests to a provider before they are sent, and the heads of the answers.
pub trait RequestHooks: Debug + Send + Sync {
    /// Returns the headers to send; those with keys are not among them.
    fn headers(&self, headers: BTreeMap<String, String>) -> HookFuture<BTreeMap<String, String>>;

    /// Returns the body to send.
    fn payload(&self, payload: Value) -> HookFuture<Value>;

    /// Is told that an answer has begun.
    fn response(&self, status: u16, headers: BTreeMap<String, String>) -> HookFuture<()>;

    /// Tells whether the events of the answer are wanted.
    fn wants_stream_events(&self) -> bool;

    /// Takes an event of the answer as the provider sent it, if it is JSON.
    fn stream_event(&self, model: &Arc<Model>, data: Value);
}

/// Shows the events of an answer to hooks, beside the decoder.
pub(crate) struct StreamTap {
    model: Arc<Model>,
    hooks: Arc<dyn RequestHooks>,
    parser: sse::Parser,
}

impl StreamTap {
    /// Returns one if the hooks want the events.
    pub(crate) fn new(model: &Arc<Model>, hooks: &Arc<dyn RequestHooks>) -> Option<Self> {
        let is_wanted = hooks.wants_stream_events();
        let (model, hooks) = (Arc::clone(model), Arc::clone(hooks));
        is_wanted.then(|| Self { model, hooks, parser: sse::Parser::default() })
    }

    /// Takes further bytes. Returns whether more of them make sense: the decoder says what is wrong with them.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> bool {
        let Self { model, hooks, parser } = self;
        let fed = parser.feed(bytes, |data| {
            if let Ok(data) = serde_json::from_slice(data) {
                hooks.stream_event(model, data);
            }
            Ok(())
        });
        fed.is_ok()
    }
}

/// Lets hooks change a request.
pub(crate) async fn change(
    hooks: &dyn RequestHooks,
    http: &mut HttpRequest,
    secrets: &[Secret],
) -> Result<(), StreamError> {
    let is_secret = |name: &str, value: &Secret| {
        let holds = |secret: &Secret| secret.is_worth_masking() && value.expose().contains(secret.expose());
        KEY_HEADERS.iter().any(|known| name.eq_ignore_ascii_case(known)) || secrets.iter().any(holds)
    };
    let (kept, shown): (Vec<_>, Vec<_>) =
        std::mem::take(&mut http.headers).into_iter().partition(|(name, value)| is_secret(name, value));
    let shown = shown.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value.expose().to_owned()));
    let changed = hooks.headers(shown.collect()).await;
    let is_replaced = |name: &str| changed.keys().any(|known| known.eq_ignore_ascii_case(name));
    http.headers = kept.into_iter().filter(|(name, _)| !is_replaced(name)).collect();
    http.headers.extend(changed.into_iter().map(|(name, value)| (name, Secret::new(value))));
    if let Ok(payload) = serde_json::from_slice(&http.body) {
        let payload = hooks.payload(payload).await;
        http.body = serde_json::to_vec(&payload).map_err(|error| {
            StreamError::new(FailureKind::Internal, format!("a changed request cannot be sent: {error}"))
        })?;
    }
    Ok(())
}
