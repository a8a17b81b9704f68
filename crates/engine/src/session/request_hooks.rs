//! What extensions change about a request to the model: the conversation that is sent, and the request itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use bowline_core::hook::{HookEvent, HookKind};
use bowline_core::model::Model;
use bowline_llm::{HookFuture, ModelRequest};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::Session;
use crate::extension::Extension;
use crate::hook_chain::call_all;
use crate::pending::Reporter;

/// The extensions that see a request before it is sent.
#[derive(Debug)]
pub(crate) struct RequestHooks {
    context: Vec<Arc<dyn Extension>>,
    context_with_system: Vec<Arc<dyn Extension>>,
    provider: Option<ProviderHooks>,
    cancel: CancellationToken,
}

/// The extensions that see a request as it is sent to the provider.
#[derive(Debug, Clone)]
struct ProviderHooks {
    headers: Vec<Arc<dyn Extension>>,
    payload: Vec<Arc<dyn Extension>>,
    response: Vec<Arc<dyn Extension>>,
    /// Those that are told of the events of the answer.
    stream: Vec<Arc<dyn Extension>>,
    cancel: CancellationToken,
    reporter: Option<Reporter>,
}

impl Session {
    /// Returns the extensions that see the next request, if there are any.
    pub(super) fn request_hooks(&mut self) -> Option<RequestHooks> {
        if self.extensions.is_empty() {
            return None;
        }
        self.mirror();
        let cancel = self.run()?.cancel_token().clone();
        let awaiting = |hook| self.extensions.awaiting(hook, None);
        let provider = ProviderHooks {
            headers: awaiting(HookKind::BeforeProviderHeaders),
            payload: awaiting(HookKind::BeforeProviderRequest),
            response: awaiting(HookKind::AfterProviderResponse),
            stream: self.extensions.telling(HookKind::ProviderStreamEvent),
            cancel: cancel.clone(),
            reporter: None,
        };
        let sees_requests = [&provider.headers, &provider.payload, &provider.response, &provider.stream];
        let is_wanted = sees_requests.iter().any(|extensions| !extensions.is_empty());
        Some(RequestHooks {
            context: awaiting(HookKind::Context),
            context_with_system: awaiting(HookKind::ContextWithSystem),
            provider: is_wanted.then_some(provider),
            cancel,
        })
    }
}

impl RequestHooks {
    /// Lets the extensions change a request. Returns those that see it again as it is sent.
    pub async fn apply(
        self,
        request: &mut ModelRequest,
        reporter: &Reporter,
    ) -> Option<Arc<dyn bowline_llm::RequestHooks>> {
        if !self.context.is_empty() {
            let event = HookEvent::Context(std::mem::take(&mut request.messages));
            let outcome = call_all(self.context, Arc::new(event), self.cancel.clone(), reporter).await;
            if let HookEvent::Context(messages) = outcome.into_hook_outcome().event {
                request.messages = messages;
            }
        }
        if !self.context_with_system.is_empty() {
            let event = HookEvent::ContextWithSystem {
                system_prompt: Arc::clone(&request.system),
                messages: std::mem::take(&mut request.messages),
            };
            let outcome =
                call_all(self.context_with_system, Arc::new(event), self.cancel.clone(), reporter).await;
            if let HookEvent::ContextWithSystem { messages, system_prompt } =
                outcome.into_hook_outcome().event
            {
                request.messages = messages;
                request.system = system_prompt;
            }
        }
        let provider = ProviderHooks { reporter: Some(reporter.clone()), ..self.provider? };
        Some(Arc::new(provider))
    }
}

impl ProviderHooks {
    /// Calls some of the extensions, and returns the event as they leave it.
    fn call(&self, extensions: &[Arc<dyn Extension>], event: HookEvent) -> HookFuture<HookEvent> {
        let (extensions, cancel) = (extensions.to_vec(), self.cancel.clone());
        let Some(reporter) = self.reporter.clone().filter(|_| !extensions.is_empty()) else {
            return Box::pin(std::future::ready(event));
        };
        let event = Arc::new(event);
        Box::pin(
            async move { call_all(extensions, event, cancel, &reporter).await.into_hook_outcome().event },
        )
    }
}

impl bowline_llm::RequestHooks for ProviderHooks {
    fn headers(&self, headers: BTreeMap<String, String>) -> HookFuture<BTreeMap<String, String>> {
        let called = self.call(&self.headers, HookEvent::BeforeProviderHeaders(headers));
        Box::pin(async move {
            if let HookEvent::BeforeProviderHeaders(headers) = called.await {
                headers
            } else {
                BTreeMap::new()
            }
        })
    }

    fn payload(&self, payload: Value) -> HookFuture<Value> {
        let called = self.call(&self.payload, HookEvent::BeforeProviderRequest(payload));
        Box::pin(async move {
            if let HookEvent::BeforeProviderRequest(payload) = called.await { payload } else { Value::Null }
        })
    }

    fn response(&self, status: u16, headers: BTreeMap<String, String>) -> HookFuture<()> {
        let called = self.call(&self.response, HookEvent::AfterProviderResponse { status, headers });
        Box::pin(async move { drop(called.await) })
    }

    fn wants_stream_events(&self) -> bool {
        !self.stream.is_empty()
    }

    fn stream_event(&self, model: &Arc<Model>, data: Value) {
        let event = HookEvent::ProviderStreamEvent { model: Arc::clone(model), data };
        self.stream.iter().for_each(|extension| extension.tell(&event));
    }
}
