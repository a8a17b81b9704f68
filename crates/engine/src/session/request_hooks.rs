//! What extensions change about a request to the model: the conversation that is sent, and the request itself.

use std::sync::Arc;

use bowline_core::hook::{HookEvent, HookKind};
use bowline_llm::ModelRequest;
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
    cancel: CancellationToken,
}

impl Session {
    /// Returns the extensions that see the next request, if there are any.
    pub(super) fn request_hooks(&mut self) -> Option<RequestHooks> {
        if self.extensions.is_empty() {
            return None;
        }
        self.mirror();
        Some(RequestHooks {
            context: self.extensions.awaiting(HookKind::Context, None),
            context_with_system: self.extensions.awaiting(HookKind::ContextWithSystem, None),
            cancel: self.run()?.cancel_token().clone(),
        })
    }
}

impl RequestHooks {
    /// Lets the extensions change a request.
    pub async fn apply(self, request: &mut ModelRequest, reporter: &Reporter) {
        if !self.context.is_empty() {
            let event = HookEvent::Context(std::mem::take(&mut request.messages));
            let outcome = call_all(self.context, event, self.cancel.clone(), reporter).await;
            if let HookEvent::Context(messages) = outcome.event {
                request.messages = messages;
            }
        }
        if !self.context_with_system.is_empty() {
            let event = HookEvent::ContextWithSystem {
                system_prompt: Arc::clone(&request.system),
                messages: std::mem::take(&mut request.messages),
            };
            let outcome = call_all(self.context_with_system, event, self.cancel, reporter).await;
            if let HookEvent::ContextWithSystem { messages, .. } = outcome.event {
                request.messages = messages;
            }
        }
    }
}
