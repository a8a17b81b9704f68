//! Brings extension processes to a session.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use bowline_core::hook::SessionReason;
use bowline_core::ui::ExtensionError;
use bowline_engine::{About, Attached, Extension, ExtensionInput, Host, SessionLink};
use bowline_tools::BoxFuture;
use futures_util::future::join_all;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::connection::lock;
use crate::discovery::{Found, NotLoaded};
use crate::plan::Plan;
use crate::process_extension::{Listing, Phase, ProcessExtension};
use crate::protocol::{HookEventRecord, ToExtension};
use crate::supervisor::{OwnedTask, supervise};

/// Brings extension processes to sessions.
#[derive(Debug)]
pub struct ProcessHost {
    plan: Arc<Plan>,
}

impl ProcessHost {
    pub fn new(plan: Plan) -> Self {
        Self { plan: Arc::new(plan) }
    }
}

impl Host for ProcessHost {
    fn attach(&self, link: SessionLink, about: About) -> Option<Box<dyn Attached>> {
        if !self.plan.places.may_have_any(&about.directory) {
            return None;
        }
        let group = Arc::new(Group::default());
        let starting = start(Arc::clone(&self.plan), Arc::clone(&group), link, about);
        Some(Box::new(Processes { group, _starting: OwnedTask(tokio::spawn(starting)) }))
    }
}

/// The extension processes of a session.
#[derive(Debug)]
struct Processes {
    group: Arc<Group>,
    _starting: OwnedTask,
}

impl Attached for Processes {
    fn extensions(&self) -> Vec<Arc<dyn Extension>> {
        let extensions = lock(&self.group.extensions);
        extensions.iter().map(|extension| Arc::clone(extension) as Arc<dyn Extension>).collect()
    }

    fn stop(&self) -> BoxFuture<'static, ()> {
        let group = Arc::clone(&self.group);
        Box::pin(async move {
            group.stop.cancel();
            let runs = std::mem::take(&mut *lock(&group.runs));
            join_all(runs.into_iter().map(|mut run| async move { drop((&mut run.0).await) })).await;
            group.remove_providers();
        })
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        // Ends the processes.
        lock(&self.group.runs).clear();
        self.group.remove_providers();
    }
}

/// The extensions of a session, which can speak to each other.
#[derive(Debug, Default)]
pub(crate) struct Group {
    extensions: Mutex<Vec<Arc<ProcessExtension>>>,
    /// What runs them.
    runs: Mutex<Vec<OwnedTask>>,
    stop: CancellationToken,
    /// The flags of the command line that an extension knows.
    taken_flags: Mutex<HashSet<String>>,
    trusts_project: OnceLock<bool>,
    /// Whether the session has been told that its extensions are ready.
    is_ready: AtomicBool,
}

impl Group {
    /// Notes that an extension knows a flag.
    pub fn take_flag(&self, name: &str) {
        lock(&self.taken_flags).insert(name.to_owned());
    }

    /// Tells whether extensions are still waited for.
    pub fn is_starting(&self) -> bool {
        !self.is_ready.load(Ordering::Relaxed)
    }

    fn remove_providers(&self) {
        for extension in &*lock(&self.extensions) {
            extension.remove_providers();
        }
    }

    pub fn trusts_project(&self) -> bool {
        self.trusts_project.get().copied().unwrap_or_default()
    }

    /// Asks the extensions for the models of their providers, for a limited time.
    pub async fn list_models(&self, listing: Listing, limit: Duration) {
        let extensions = lock(&self.extensions).clone();
        let lists = extensions.iter().map(|extension| extension.list_models(listing));
        let _ = timeout(limit, join_all(lists)).await;
    }

    /// Lists the models of all providers anew.
    pub async fn refresh_models(&self, limit: Duration) {
        self.list_models(Listing::All, limit).await;
        let extensions = lock(&self.extensions).clone();
        for extension in extensions {
            extension.add_providers().await;
        }
    }

    /// Sends what an extension emits to the others.
    pub fn emit(&self, sender: &Arc<ProcessExtension>, channel: &str, data: &Value) {
        for extension in &*lock(&self.extensions) {
            if !Arc::ptr_eq(extension, sender)
                && extension.takes_bus()
                && let Some(connection) = extension.connection()
            {
                let event = HookEventRecord::Bus { channel, data };
                connection.send_event(&ToExtension::Event { event: &event });
            }
        }
    }
}

/// Finds the extensions, starts them, and tells the session when they have registered.
async fn start(plan: Arc<Plan>, group: Arc<Group>, link: SessionLink, about: About) {
    let (found, trusts_project) = {
        let (plan, directory) = (Arc::clone(&plan), about.directory.clone());
        let search = tokio::task::spawn_blocking(move || {
            let trusts_project = plan.resources.is_trusted(&directory);
            (plan.places.discover(&directory, trusts_project), trusts_project)
        });
        search.await.unwrap_or_default()
    };
    let _ = group.trusts_project.set(trusts_project);
    let mut settled = Vec::new();
    for found in found {
        match &found.launch {
            Ok(launch) => {
                let launch = launch.clone();
                let weak = Arc::downgrade(&group);
                let (plan, about, link) = (Arc::clone(&plan), about.clone(), link.clone());
                let extension = Arc::new(ProcessExtension::new(plan, found, launch, about, link, weak));
                settled.push(begin(&group, extension));
                // What the client has sent meanwhile comes first.
                tokio::task::yield_now().await;
            }
            Err(NotLoaded::Failed(reason)) => report(&plan, &link, &found, reason).await,
            Err(NotLoaded::Unused(reason)) => {
                (plan.log)(&format!("{} is not loaded: {reason}", found.path.display()));
            }
        }
    }
    link.send(ExtensionInput::Changed).await;
    if timeout(plan.start_limit, join_all(settled)).await.is_err() {
        report_late(&plan, &group).await;
    }
    // In another folder there are other extensions, which need not have the same flags.
    if about.reason == SessionReason::Startup {
        report_flags(&plan, &group, &link).await;
    }
    group.list_models(Listing::Unlisted, plan.start_limit).await;
    group.is_ready.store(true, Ordering::Relaxed);
    let extensions = lock(&group.extensions).clone();
    for extension in extensions {
        extension.announce_all().await;
    }
    link.send(ExtensionInput::Ready).await;
}

/// Starts an extension. The receiver ends when it is known whether it starts.
fn begin(group: &Arc<Group>, extension: Arc<ProcessExtension>) -> oneshot::Receiver<()> {
    let (settled, receiver) = oneshot::channel();
    lock(&group.extensions).push(Arc::clone(&extension));
    let on_settled = move || {
        let _ = settled.send(());
    };
    let run = supervise(extension, group.stop.clone(), on_settled);
    lock(&group.runs).push(OwnedTask(tokio::spawn(run)));
    receiver
}

/// Reports an extension that cannot be loaded.
async fn report(plan: &Plan, link: &SessionLink, found: &Found, reason: &str) {
    (plan.report)(&format!("extension {}: {reason}", found.path.display()));
    let error = ExtensionError {
        extension: found.path.to_string_lossy().into_owned(),
        event: "load".to_owned(),
        error: reason.to_owned(),
    };
    link.send(ExtensionInput::Failed(error)).await;
}

/// Reports the extensions that have not registered in time. They take part once they have.
async fn report_late(plan: &Plan, group: &Group) {
    let late: Vec<_> = lock(&group.extensions)
        .iter()
        .filter(|extension| extension.phase() == Phase::Starting)
        .cloned()
        .collect();
    for extension in late {
        let seconds = plan.start_limit.as_secs_f32();
        let error = format!("has not registered within {seconds} s; the session goes on without it");
        extension.fail("load", error).await;
    }
}

/// Reports the flags of the command line that nobody knows.
async fn report_flags(plan: &Plan, group: &Group, link: &SessionLink) {
    let unknown: Vec<_> = {
        let taken = lock(&group.taken_flags);
        plan.flags.iter().filter(|flag| !taken.contains(&flag.name)).map(|flag| flag.name.clone()).collect()
    };
    for name in unknown {
        let error = format!("unknown option --{name}: no extension has it");
        (plan.report)(&error);
        let failed = ExtensionError { extension: "<runtime>".to_owned(), event: "load".to_owned(), error };
        link.send(ExtensionInput::Failed(failed)).await;
    }
}
