//! Tools and gates whose behaviour a test decides.

use std::future::pending;
use std::sync::Arc;

use bowline_core::message::Arguments;
use bowline_core::tool::ToolDefinition;
use bowline_engine::{Asking, CallGate, Check, GatedCall, Verdict};
use bowline_tools::{BoxFuture, CallContext, Outcome, Tool};
use serde_json::json;
use tokio::sync::Semaphore;

type Work = dyn Fn(CallContext, Arguments) -> BoxFuture<'static, Outcome> + Send + Sync;

/// A tool that does what a closure says.
pub struct TestTool {
    definition: ToolDefinition,
    work: Box<Work>,
}

impl TestTool {
    pub fn new<F>(name: &str, work: impl Fn(CallContext, Arguments) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Outcome> + Send + 'static,
    {
        let definition = ToolDefinition {
            name: name.to_owned(),
            description: format!("The tool {name}."),
            parameters: json!({ "type": "object", "properties": {} }),
            strict: None,
        };
        Self { definition, work: Box::new(move |context, arguments| Box::pin(work(context, arguments))) }
    }

    /// Returns a tool that ends at once with its name.
    pub fn quick(name: &'static str) -> Self {
        Self::new(name, move |_, _| async move { Outcome::text(name) })
    }

    /// Returns a tool that ends once the semaphore has a permit for it, or when it is cancelled.
    pub fn gated(name: &'static str, permits: &Arc<Semaphore>) -> Self {
        let permits = Arc::clone(permits);
        Self::new(name, move |context, _| {
            let permits = Arc::clone(&permits);
            async move {
                tokio::select! {
                    permit = permits.acquire() => {
                        permit.unwrap().forget();
                        Outcome::text(name)
                    }
                    () = context.cancel.cancelled() => Outcome::error("stopped"),
                }
            }
        })
    }

    /// Returns a tool that never ends, not even when it is cancelled.
    pub fn stuck(name: &str) -> Self {
        Self::new(name, |_, _| pending())
    }

    pub fn panicking(name: &str) -> Self {
        Self::new(name, |_, _| async { panic!("the tool is broken") })
    }
}

impl Tool for TestTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call(&self, context: CallContext, arguments: Arguments) -> BoxFuture<'static, Outcome> {
        (self.work)(context, arguments)
    }
}

/// A gate that asks about the calls of one tool and refuses those of another.
#[derive(Debug)]
pub struct AskingGate {
    pub asks_about: &'static str,
    pub refuses: &'static str,
}

impl AskingGate {
    pub fn about(tool: &'static str) -> Self {
        Self { asks_about: tool, refuses: "" }
    }
}

impl CallGate for AskingGate {
    fn check(&self, call: &GatedCall<'_>) -> Check {
        if call.tool == self.asks_about {
            let reason = "it is dangerous".to_owned();
            Verdict::Ask(Box::new(Asking { reason, ..Asking::default() })).into()
        } else if call.tool == self.refuses {
            Verdict::refused("it is forbidden").into()
        } else {
            Verdict::run().into()
        }
    }
}
