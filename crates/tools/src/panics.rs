//! Panics as errors: a bug in one tool costs that call, never the process, which may hold other sessions.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use bowline_core::message::Arguments;
use bowline_core::tool::{ToolDefinition, ToolTraits};

use crate::error::Error;
use crate::tool::{BoxFuture, CallContext, Outcome, Tool};

/// A tool whose panics become error outcomes.
pub(crate) struct Guarded(Arc<dyn Tool>);

impl Guarded {
    pub(crate) fn new(tool: Arc<dyn Tool>) -> Self {
        Self(tool)
    }
}

impl Tool for Guarded {
    fn definition(&self) -> &ToolDefinition {
        self.0.definition()
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn traits(&self) -> Option<&'static ToolTraits> {
        self.0.traits()
    }

    fn runs_alone(&self) -> bool {
        self.0.runs_alone()
    }

    fn refuse_arguments(&self, arguments: &Arguments) -> Option<String> {
        self.0.refuse_arguments(arguments)
    }

    fn call(&self, context: CallContext, arguments: Arguments) -> BoxFuture<'static, Outcome> {
        let tool = Arc::clone(&self.0);
        // The tool is called inside the future, so that a panic before its first wait is caught too.
        let call = catch(async move { tool.call(context, arguments).await });
        Box::pin(async move { call.await.unwrap_or_else(Outcome::from) })
    }
}

/// Awaits `future`; a panic while it is polled is [`Error::Internal`]. The panic hook has then reported it on stderr.
pub(crate) async fn catch<T>(future: impl Future<Output = T>) -> Result<T, Error> {
    let mut future = pin!(future);
    std::future::poll_fn(|context| {
        // Nothing of a future that panicked is used again: it is dropped with this one.
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(poll) => poll.map(Ok),
            Err(_) => Poll::Ready(Err(Error::Internal)),
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::builtin::{interruptible, uninterrupted};
    use crate::testing::{StubTool, Workshop, text};
    use crate::toolbox::Toolbox;

    async fn call(behaviour: fn(CallContext) -> BoxFuture<'static, Outcome>) -> Outcome {
        let toolbox = Toolbox::default().with_tool(Arc::new(StubTool::new("stub", behaviour)));
        Workshop::new().call_in(&toolbox, "stub", json!({})).await
    }

    #[track_caller]
    fn assert_internal_error(outcome: &Outcome) {
        assert!(outcome.is_error && text(outcome).starts_with("Internal error"), "{outcome:?}");
        assert_eq!(outcome.details, Some(json!({})));
    }

    #[tokio::test]
    async fn panic_before_the_first_wait_is_an_error_outcome() {
        assert_internal_error(&call(|_| panic!("a bug")).await);
    }

    #[tokio::test]
    async fn panic_after_a_wait_is_an_error_outcome() {
        let outcome = call(|_| {
            Box::pin(async {
                tokio::task::yield_now().await;
                panic!("a bug")
            })
        });
        assert_internal_error(&outcome.await);
    }

    #[tokio::test]
    async fn panic_on_the_blocking_pool_is_an_error_outcome() {
        let workshop = Workshop::new();
        let outcome = interruptible(workshop.built_in_call(json!({})), |_, _| panic!("a bug")).await;
        assert_internal_error(&outcome);
        let result: Result<(), _> = uninterrupted(|| panic!("a bug")).await;
        assert!(matches!(result, Err(Error::Internal)));
    }
}
