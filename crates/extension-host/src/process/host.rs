//! Brings extension processes to a session.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use bowline_core::extension_info::{ExtensionInfo, ExtensionStatus};
use bowline_core::hook::SessionReason;
use bowline_core::slash_command::Scope;
use bowline_core::ui::ExtensionError;
use bowline_engine::{About, Attached, Extension, ExtensionInput, Host, SessionLink};
use bowline_extension::TrustQuestion;
use bowline_tools::BoxFuture;
use futures_util::future::join_all;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::mcp::RegisteredServers;
use crate::process::component_keys::ComponentKeys;
use crate::process::connection::lock;
use crate::process::discovery::{Found, NotLoaded, Program};
use crate::process::extension::{Listing, ProcessExtension, describe};
use crate::process::plan::{GivenFlag, IfUnknown, Plan};
use crate::process::serving_process::Process;
use crate::process::supervisor::{OwnedTask, supervise};
use crate::process::trust_question;
use crate::protocol::HookEventRecord;

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
        // From now on nobody decides about the project before the user's extensions had their say.
        let may_decide = self.plan.places.may_have_of_user();
        let question = may_decide.then(|| self.plan.resources.ask_trust(&about.directory)).flatten();
        let group = Arc::new(Group::default());
        let start = Start { plan: Arc::clone(&self.plan), group: Arc::clone(&group), link, about };
        let starting = start.run(question);
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
        let mut all: Vec<_> = {
            let extensions = lock(&self.group.extensions);
            extensions.iter().map(|extension| Arc::clone(extension) as Arc<dyn Extension>).collect()
        };
        all.extend(self.group.servers.extensions());
        all
    }

    fn describe(&self) -> Vec<ExtensionInfo> {
        let mut described: Vec<_> =
            lock(&self.group.extensions).iter().map(|extension| extension.describe()).collect();
        described.extend_from_slice(&lock(&self.group.not_loaded));
        described
    }

    fn stop(&self) -> BoxFuture<'static, ()> {
        let group = Arc::clone(&self.group);
        Box::pin(async move {
            group.stop.cancel();
            let runs = std::mem::take(&mut *lock(&group.runs));
            join_all(runs.into_iter().map(|mut run| async move { drop((&mut run.0).await) })).await;
            group.remove_providers();
            group.servers.stop().await;
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
    /// The process that pi's extensions share.
    pi_host: Mutex<Option<Arc<Process>>>,
    /// The MCP servers that they have registered.
    pub servers: RegisteredServers,
    /// The keys under which clients know their components.
    pub component_keys: Arc<ComponentKeys>,
    /// What was found and is not run.
    not_loaded: Mutex<Vec<ExtensionInfo>>,
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

    /// Adds an extension of pi. Extensions that share a process have different names.
    fn add_of_pi(&self, mut extension: ProcessExtension) -> Arc<ProcessExtension> {
        let mut extensions = lock(&self.extensions);
        let name = Arc::clone(extension.id());
        let mut number = 1;
        while extensions.iter().any(|known| known.id() == extension.id()) {
            number += 1;
            extension.rename(&format!("{name}-{number}"));
        }
        let extension = Arc::new(extension);
        extensions.push(Arc::clone(&extension));
        extension
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

    /// Puts the extensions of the user and of the project in order, and tells those that were started before whether the
    /// project is trusted.
    fn trust_is_decided(&self, order: &[PathBuf]) {
        let mut extensions = lock(&self.extensions);
        extensions.sort_by_key(|known| {
            order.iter().position(|path| *path == known.found.path).unwrap_or(usize::MAX)
        });
        for extension in extensions.iter().filter(|extension| extension.is_of_user()) {
            extension.tell_trust(self.trusts_project());
        }
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
            extension.add_listed_providers().await;
        }
    }

    /// Sends what an extension emits to the others.
    pub fn emit(&self, sender: &Arc<ProcessExtension>, channel: &str, data: &Value) {
        for extension in &*lock(&self.extensions) {
            if !Arc::ptr_eq(extension, sender)
                && extension.takes_bus()
                && let Some(connection) = extension.connection()
            {
                connection.send_event(&HookEventRecord::Bus { channel, data });
            }
        }
    }
}

/// The start of the extensions of a session.
struct Start {
    plan: Arc<Plan>,
    group: Arc<Group>,
    link: SessionLink,
    about: About,
}

/// Whether every extension has registered in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Punctuality {
    InTime,
    Late,
}

impl Start {
    /// Finds the extensions, starts them, and tells the session when they have registered. Those of the user start first
    /// if they may be asked about the project.
    async fn run(self, question: Option<TrustQuestion>) {
        let users = match question {
            Some(question) => self.start_those_of_user(question).await,
            None => None,
        };
        let is_second = users.is_some();
        let found = self.find_all().await;
        let order: Vec<_> = found.iter().map(|found| found.path.clone()).collect();
        // Those of the user were started or reported before.
        let found = found.into_iter().filter(|found| !is_second || found.source.scope == Scope::Project);
        let others = self.begin_all(found.collect()).await;
        if is_second {
            self.group.trust_is_decided(&order);
        }
        self.link.send(ExtensionInput::Changed).await;
        if [self.wait_for(others).await, users.unwrap_or(Punctuality::InTime)].contains(&Punctuality::Late) {
            report_late(&self.plan, &self.group).await;
        }
        let Self { plan, group, link, about } = self;
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

    /// Starts the extensions of the user and asks them about the project, if it has something that needs trust.
    async fn start_those_of_user(&self, question: TrustQuestion) -> Option<Punctuality> {
        let (plan, directory) = (Arc::clone(&self.plan), self.about.directory.clone());
        let search = tokio::task::spawn_blocking(move || {
            question.is_needed().then(|| (plan.places.discover(&directory, false), question))
        });
        let (found, question) = search.await.unwrap_or_default()?;
        let of_user = found.into_iter().filter(|found| found.source.scope != Scope::Project);
        let settled = self.begin_all(of_user.collect()).await;
        let punctuality = self.wait_for(settled).await;
        let extensions = lock(&self.group.extensions).clone();
        trust_question::ask(&extensions, &Arc::new(question), &self.about.directory).await;
        Some(punctuality)
    }

    /// Returns all extensions that there are, in order, and notes whether the project is trusted.
    async fn find_all(&self) -> Vec<Found> {
        let (plan, directory) = (Arc::clone(&self.plan), self.about.directory.clone());
        let begun: Vec<_> =
            lock(&self.group.extensions).iter().map(|known| known.found.path.clone()).collect();
        let search = tokio::task::spawn_blocking(move || {
            let trusts_project = plan.resources.is_trusted(&directory);
            let mut found = plan.places.discover(&directory, trusts_project);
            // The settings of a project may name an extension of the user.
            let begun: Vec<_> = begun.iter().filter_map(|path| path.canonicalize().ok()).collect();
            let is_begun = |path: &Path| path.canonicalize().is_ok_and(|path| begun.contains(&path));
            found.retain(|found| found.source.scope != Scope::Project || !is_begun(&found.path));
            (found, trusts_project)
        });
        let (found, trusts_project) = search.await.unwrap_or_default();
        let _ = self.group.trusts_project.set(trusts_project);
        found
    }

    /// Starts extensions, and reports those that cannot be loaded.
    async fn begin_all(&self, found: Vec<Found>) -> Vec<oneshot::Receiver<()>> {
        let Self { plan, group, link, about } = self;
        let mut settled = Vec::new();
        let mut of_pi = Vec::new();
        for found in found {
            if group.stop.is_cancelled() {
                break;
            }
            if found.launch.is_err() {
                lock(&group.not_loaded).push(describe(&found));
            }
            match &found.launch {
                Ok(launch) => {
                    let launch = launch.clone();
                    let weak = Arc::downgrade(group);
                    let (plan, about, link) = (Arc::clone(plan), about.clone(), link.clone());
                    let is_of_pi = matches!(launch.program, Program::PiModule(_));
                    let extension = ProcessExtension::new(plan, found, launch, about, link, weak);
                    if is_of_pi {
                        of_pi.push(group.add_of_pi(extension));
                        continue;
                    }
                    let extension = Arc::new(extension);
                    lock(&group.extensions).push(Arc::clone(&extension));
                    settled.push(begin(group, Arc::new(Process::of(extension))));
                    // What the client has sent meanwhile comes first.
                    tokio::task::yield_now().await;
                }
                Err(NotLoaded::Failed(reason)) => report(plan, link, &found, reason).await,
                Err(NotLoaded::Unused(reason)) => {
                    (plan.log)(&format!("{} is not loaded: {reason}", found.path.display()));
                }
            }
        }
        settled.extend(self.begin_of_pi(&of_pi));
        settled
    }

    /// Has the process that pi's extensions share load them, and starts it if it does not run.
    fn begin_of_pi(&self, extensions: &[Arc<ProcessExtension>]) -> Option<oneshot::Receiver<()>> {
        if extensions.is_empty() {
            return None;
        }
        let mut pi_host = lock(&self.group.pi_host);
        if let Some(process) = &*pi_host {
            process.add(extensions);
            return Some(process.settled());
        }
        let process = Process::of_pi(Arc::clone(&self.plan), self.about.clone(), self.link.clone());
        process.add(extensions);
        let process = pi_host.insert(Arc::new(process));
        Some(begin(&self.group, Arc::clone(process)))
    }

    async fn wait_for(&self, settled: Vec<oneshot::Receiver<()>>) -> Punctuality {
        match timeout(self.plan.start_limit, join_all(settled)).await {
            Ok(_) => Punctuality::InTime,
            Err(_) => Punctuality::Late,
        }
    }
}

/// Starts a process. The receiver ends when it is known whether its extensions start.
fn begin(group: &Group, process: Arc<Process>) -> oneshot::Receiver<()> {
    let settled = process.settled();
    lock(&group.runs).push(OwnedTask(tokio::spawn(supervise(process, group.stop.clone()))));
    settled
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
        .filter(|extension| extension.status() == ExtensionStatus::Starting)
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
        plan.flags
            .iter()
            .filter(|flag| flag.if_unknown != IfUnknown::Ignored && !taken.contains(&flag.name))
            .collect()
    };
    for GivenFlag { name, .. } in &unknown {
        let error = format!("unknown option --{name}: no extension has it");
        (plan.report)(&error);
        let failed = ExtensionError { extension: "<runtime>".to_owned(), event: "load".to_owned(), error };
        link.send(ExtensionInput::Failed(failed)).await;
    }
    if plan.gives_up && unknown.iter().any(|flag| flag.if_unknown == IfUnknown::Fatal) {
        link.send(ExtensionInput::GiveUp).await;
    }
}
