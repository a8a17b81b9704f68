//! Extensions that run without a session, for subcommands.

use std::path::Path;
use std::time::Duration;

use bowline_core::hook::SessionReason;
use bowline_engine::{About, Attached, DetachedSession, ExtensionInput, Host as _};
use bowline_extension_host::{Plan, ProcessHost};
use bowline_llm::Providers;

/// How long extensions may take to exit at the end.
pub(crate) const LONGEST_STOP: Duration = Duration::from_secs(3);

/// Starts the extensions of a plan. Returns what ends them and what they send; `None` if there are none.
pub(crate) fn attach(
    plan: Plan,
    providers: &Providers,
    directory: &Path,
    name: &str,
) -> Option<(Box<dyn Attached>, DetachedSession)> {
    let (link, session) = DetachedSession::new();
    let about = About {
        session_id: name.to_owned(),
        session_file: None,
        directory: directory.to_owned(),
        providers: providers.clone(),
        reason: SessionReason::Startup,
        guards: Default::default(),
    };
    let attached = ProcessHost::new(plan).attach(link, about)?;
    Some((attached, session))
}

/// Extensions that are there for their providers alone.
pub(crate) struct DetachedExtensions {
    attached: Box<dyn Attached>,
    session: DetachedSession,
}

impl DetachedExtensions {
    /// Starts the extensions of a plan, which add their providers. Returns `None` if there are none.
    pub fn start(mut plan: Plan, providers: &Providers, directory: &Path) -> Option<Self> {
        // What is reported arrives as an input as well.
        plan.report = Box::new(|_| {});
        let (attached, session) = attach(plan, providers, directory, "login")?;
        Some(Self { attached, session })
    }

    /// Waits until every extension has registered or failed.
    pub async fn become_ready(&mut self, mut take: impl FnMut(ExtensionInput)) {
        while let Some(input) = self.session.next().await {
            if matches!(input, ExtensionInput::Ready) {
                break;
            }
            take(input);
        }
    }

    /// Waits for what an extension sends next; for ever if none is left.
    pub async fn next(&mut self) -> ExtensionInput {
        match self.session.next().await {
            Some(input) => input,
            None => std::future::pending().await,
        }
    }

    /// Waits for something that extensions take part in.
    pub async fn during<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                biased;
                result = &mut work => return result,
                // There is nobody to show or ask anything.
                _ = self.next() => {}
            }
        }
    }

    /// Ends the extensions.
    pub async fn stop(&mut self) {
        let stop = tokio::time::timeout(LONGEST_STOP, self.attached.stop());
        let _ = self.during(stop).await;
    }
}
