//! The extensions of the parent, as its children have them: they decide about tool calls and requests to models in a child
//! as in its parent, and know nothing else of it. An extension that counts turns or reports the end of a run means those
//! of the client's session.

use std::sync::Arc;

use bowline_core::hook::{HookEvent, HookKind, HookResult, Subscription};
use bowline_tools::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::extension::{About, Attached, Extension, ExtensionInput, Host, SessionLink};

/// Brings extensions of another session. They ask and show through that one.
#[derive(Debug)]
pub(super) struct Inherited(pub Vec<Arc<dyn Extension>>);

/// Extensions of another session.
#[derive(Debug)]
struct Members(Vec<Arc<dyn Extension>>);

/// An extension that takes part in some hooks only.
#[derive(Debug)]
struct Member(Arc<dyn Extension>);

impl Host for Inherited {
    fn attach(&self, link: SessionLink, _about: About) -> Option<Box<dyn Attached>> {
        if self.0.is_empty() {
            return None;
        }
        let members =
            self.0.iter().map(|extension| -> Arc<dyn Extension> { Arc::new(Member(Arc::clone(extension))) });
        tokio::spawn(async move { link.send(ExtensionInput::Ready).await });
        Some(Box::new(Members(members.collect())))
    }
}

impl Attached for Members {
    fn extensions(&self) -> Vec<Arc<dyn Extension>> {
        self.0.clone()
    }
}

impl Extension for Member {
    fn name(&self) -> Arc<str> {
        self.0.name()
    }

    fn subscription(&self, hook: HookKind, tool: Option<&str>) -> Subscription {
        match hook {
            HookKind::ToolCall
            | HookKind::ToolResult
            | HookKind::BeforeProviderHeaders
            | HookKind::BeforeProviderRequest
            | HookKind::AfterProviderResponse
            | HookKind::ProviderStreamEvent => self.0.subscription(hook, tool),
            _ => Subscription::None,
        }
    }

    fn tell(&self, event: &HookEvent) {
        self.0.tell(event);
    }

    fn call(
        &self,
        event: Arc<HookEvent>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<HookResult, String>> {
        self.0.call(event, cancel)
    }
}
