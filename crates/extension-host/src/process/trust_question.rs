//! Asking the user's extensions whether a project is trusted, before anything of it is used.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bowline_core::hook::{HookEvent, HookKind, HookResult, Subscription};
use bowline_engine::Extension as _;
use bowline_extension::TrustQuestion;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::process::extension::ProcessExtension;

/// How long the extensions may take together, whatever they wait for: prompts wait for them.
const LIMIT: Duration = Duration::from_secs(10);

/// Asks extensions in order until one says yes or no. One that fails is reported and passed over.
pub(crate) async fn ask(
    extensions: &[Arc<ProcessExtension>],
    question: &Arc<TrustQuestion>,
    directory: &Path,
) {
    let event = HookEvent::ProjectTrust { directory: directory.to_owned() };
    let deadline = Instant::now() + LIMIT;
    for extension in extensions {
        match extension.subscription(HookKind::ProjectTrust, None) {
            Subscription::None => continue,
            Subscription::Told => {
                extension.tell(&event);
                continue;
            }
            Subscription::Awaited => {}
        }
        let answer = timeout_at(deadline, without_dialogs(extension, &event)).await;
        let too_late = |_| Err(format!("Extension hook timed out after {} s", LIMIT.as_secs()));
        match answer.unwrap_or_else(too_late) {
            Ok(HookResult::Trust { is_trusted, remember }) => {
                question.decide(is_trusted);
                if remember {
                    record(extension, question, is_trusted).await;
                }
                return;
            }
            Ok(_) => {}
            Err(error) => extension.fail(HookKind::ProjectTrust.as_str(), error).await,
        }
        if Instant::now() >= deadline {
            return;
        }
    }
}

/// Calls an extension. Nobody may be there yet to answer its dialogs, so they have their default at once.
async fn without_dialogs(extension: &ProcessExtension, event: &HookEvent) -> Result<HookResult, String> {
    let connection = extension.connection();
    if let Some(connection) = &connection {
        connection.allow_dialogs(false);
    }
    let answer = extension.call(Arc::new(event.clone()), CancellationToken::new()).await;
    if let Some(connection) = &connection {
        connection.allow_dialogs(true);
    }
    answer
}

/// Records a decision for later.
async fn record(extension: &ProcessExtension, question: &Arc<TrustQuestion>, is_trusted: bool) {
    let asked = Arc::clone(question);
    let recorded = tokio::task::spawn_blocking(move || asked.remember(is_trusted)).await;
    if let Ok(Err(error)) = recorded {
        let error = format!("the decision is not recorded: {error}");
        extension.fail(HookKind::ProjectTrust.as_str(), error).await;
    }
}
