//! Calling extensions at a hook one after the other, each with what the ones before it changed.

use std::ops::ControlFlow;
use std::sync::Arc;

use bowline_core::hook::{DiscoveredPaths, HookEvent, HookKind, HookResult};
use bowline_core::prompt::PromptChanges;
use tokio_util::sync::CancellationToken;

use crate::extension::Extension;
use crate::input::Step;
use crate::pending::Reporter;
use crate::system_prompt;

/// What calling extensions came to. The event is shared, because it is large and seldom changed.
#[derive(Debug)]
pub(crate) struct ChainOutcome {
    pub event: Arc<HookEvent>,
    pub results: Vec<HookResult>,
}

impl ChainOutcome {
    /// Returns the outcome of extensions that leave an event as it is.
    pub fn unchanged(event: Arc<HookEvent>) -> Self {
        Self { event, results: Vec::new() }
    }

    /// Returns the same for whoever called the hook.
    pub fn into_hook_outcome(self) -> HookOutcome {
        HookOutcome { event: Arc::unwrap_or_clone(self.event), results: self.results }
    }
}

/// What a hook came to.
#[derive(Debug)]
pub(crate) struct HookOutcome {
    /// The event with what extensions changed about it.
    pub event: HookEvent,
    /// The results that do more than change the event, in order.
    pub results: Vec<HookResult>,
}

/// An extension that failed at a hook.
#[derive(Debug)]
pub(crate) struct HookFailure {
    pub extension: Arc<str>,
    pub hook: HookKind,
    pub error: String,
}

impl HookOutcome {
    /// Returns the outcome of a hook that nobody was called for.
    pub fn unchanged(event: HookEvent) -> Self {
        Self { event, results: Vec::new() }
    }

    /// Tells whether an extension cancelled what was about to happen.
    pub fn is_cancelled(&self) -> bool {
        self.results.contains(&HookResult::Cancel)
    }

    /// Tells whether an extension wants the run to end.
    pub fn stops_run(&self) -> bool {
        self.results.iter().any(|result| matches!(result, HookResult::Stop { .. }))
    }
}

/// Calls extensions in order. Failures are reported as they happen; one at `tool_call` blocks the call instead, because a
/// guard that fails must not let anything pass.
pub(crate) async fn call_all(
    extensions: Vec<Arc<dyn Extension>>,
    event: Arc<HookEvent>,
    cancel: CancellationToken,
    reporter: &Reporter,
) -> ChainOutcome {
    let hook = event.kind();
    let mut outcome = ChainOutcome::unchanged(event);
    for extension in extensions {
        let called = extension.call(Arc::clone(&outcome.event), cancel.clone()).await;
        let named = |result| match result {
            HookResult::Resources(paths) => {
                HookResult::Resources(DiscoveredPaths { extension: extension.name().to_string(), ..paths })
            }
            other => other,
        };
        let flow = called.and_then(|result| apply(&mut outcome, named(result)));
        match flow {
            Ok(ControlFlow::Continue(())) => {}
            Ok(ControlFlow::Break(())) => break,
            Err(error) if hook == HookKind::ToolCall => {
                outcome.results.push(HookResult::Block { reason: Some(error), terminate: false });
                break;
            }
            Err(error) => {
                // Whoever was to run the command has failed, so nobody else runs it.
                if hook == HookKind::UserBash {
                    outcome.results.push(HookResult::Block { reason: Some(error.clone()), terminate: false });
                }
                let failure = HookFailure { extension: extension.name(), hook, error };
                // In a box, so that a call that does not fail takes less memory.
                Box::pin(reporter.send(Step::HookFailed(failure))).await;
                if hook == HookKind::UserBash {
                    break;
                }
            }
        }
    }
    outcome
}

/// Applies a result: changes the event, or keeps the result for whoever called the hook. Breaks if no further extension
/// is to be called.
fn apply(outcome: &mut ChainOutcome, result: HookResult) -> Result<ControlFlow<()>, String> {
    use ControlFlow::{Break, Continue};
    if result == HookResult::None {
        return Ok(Continue(()));
    }
    match (Arc::make_mut(&mut outcome.event), result) {
        (_, HookResult::All(results)) => {
            for result in results {
                if apply(outcome, result)?.is_break() {
                    return Ok(Break(()));
                }
            }
        }
        (HookEvent::Input { text, images, .. }, HookResult::Transform { text: new, images: new_images }) => {
            *text = new;
            if let Some(new_images) = new_images {
                *images = new_images;
            }
        }
        (HookEvent::MessageEnd(message), HookResult::Message(new)) => {
            if message.role() != new.role() {
                return Err("message_end handlers must return a message with the same role".to_owned());
            }
            *message = new;
        }
        (
            HookEvent::Context(messages) | HookEvent::ContextWithSystem { messages, .. },
            HookResult::Messages(new),
        ) => *messages = new,
        (HookEvent::ContextWithSystem { system_prompt, .. }, HookResult::SystemPrompt(new)) => {
            *system_prompt = new.into();
        }
        (HookEvent::BeforeProviderHeaders(headers), HookResult::Headers(changes)) => {
            for (name, value) in changes {
                match value {
                    Some(value) => drop(headers.insert(name, value)),
                    None => drop(headers.remove(&name)),
                }
            }
        }
        (HookEvent::BeforeProviderRequest(payload), HookResult::Payload(new)) => *payload = new,
        (HookEvent::ToolCall { arguments, .. }, HookResult::Arguments { arguments: new, validate }) => {
            *arguments = Arc::new(new.clone());
            if validate {
                outcome.results.push(HookResult::Arguments { arguments: new, validate });
            }
        }
        (
            HookEvent::ToolResult { content, details, structured_content, usage, is_error, .. },
            HookResult::ToolResult(change),
        ) => {
            if let Some(new) = change.content {
                *content = new;
                *structured_content = None;
            }
            if change.structured_content.is_some() {
                *structured_content = change.structured_content;
            }
            if change.details.is_some() {
                *details = change.details;
            }
            if let Some(new) = change.usage {
                *usage = Some(Box::new(new));
            }
            *is_error = change.is_error.unwrap_or(*is_error);
        }
        (
            HookEvent::TurnEnd { boundary, .. } | HookEvent::AgentBeforeSettle { boundary, .. },
            HookResult::Boundary { entries, continues },
        ) => {
            boundary.entries.extend(entries);
            boundary.continues = continues.unwrap_or(boundary.continues);
        }
        (HookEvent::BeforeAgentStart { system_prompt, parts, changes, .. }, HookResult::Start(additions)) => {
            if *additions.changes != PromptChanges::default() {
                changes.then((*additions.changes).clone());
                *system_prompt = system_prompt::render(parts, changes).into();
            }
            outcome.results.push(HookResult::Start(additions));
        }
        (
            HookEvent::SessionBeforeSwitch { .. }
            | HookEvent::SessionBeforeFork { .. }
            | HookEvent::SessionBeforeCompact(_)
            | HookEvent::SessionBeforeTree(_),
            HookResult::Cancel,
        ) => {
            outcome.results.push(HookResult::Cancel);
            return Ok(Break(()));
        }
        (HookEvent::Input { .. }, result @ HookResult::Handled)
        | (HookEvent::ToolCall { .. }, result @ HookResult::Block { .. })
        | (HookEvent::UserBash { .. }, result @ HookResult::Shell(_)) => {
            outcome.results.push(result);
            return Ok(Break(()));
        }
        (HookEvent::Input { .. }, result @ HookResult::Start(_))
        | (HookEvent::ToolCall { .. }, result @ HookResult::Ask { .. })
        | (HookEvent::SessionBeforeCompact(_), result @ HookResult::Compaction(_))
        | (HookEvent::SessionBeforeTree(_), result @ HookResult::Tree(_))
        | (HookEvent::ResourcesDiscover { .. }, result @ HookResult::Resources(_))
        | (
            HookEvent::Input { .. }
            | HookEvent::ToolCall { .. }
            | HookEvent::ToolResult { .. }
            | HookEvent::TurnEnd { .. }
            | HookEvent::AgentBeforeSettle { .. },
            result @ HookResult::Stop { .. },
        ) => outcome.results.push(result),
        (event, _) => return Err(format!("the result is none that {} has", event.kind().as_str())),
    }
    Ok(Continue(()))
}
