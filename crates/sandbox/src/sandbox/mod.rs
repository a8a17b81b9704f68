//! The sandbox of a session: which keeper runs a call, and what is said about it.

mod changes;
mod covered;
mod keepers;
mod reporting;
mod results;
mod session_gate;
mod starting;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bowline_core::message::Arguments;
use bowline_core::pending_changes::{
    AcceptReport, DiscardReport, PendingQuery, PendingReport, PendingSelection,
};
use bowline_core::reply::Refusal;
use bowline_core::sandbox::{
    Grants, ReportedConnection, SandboxChange, SandboxLevel, SandboxMode, SandboxNetwork, SandboxReport,
    SandboxSummary, SandboxWorkspace,
};
use bowline_tools::{
    BoxFuture, CallContext, CommandOutcome, CommandRequest, Confinement, Error as ToolError, HostGate,
    Options, Outcome, OutputSink, Progress, WriteAccess,
};

use self::changes::Mounted;
pub use self::changes::forget_changes;
use self::covered::Covered;
use self::reporting::Proved;
use self::results::{refusal, with_changes};
use self::session_gate::SessionGate;
use self::starting::host_rules;
use crate::error::Error;
use crate::keeper::{Trial, first_mount_inside};
use crate::keeper_process::Keeper;
use crate::plan::{self, HomeStore, Plan};
use crate::protected::Watch;
use crate::proxy::ProxyHandle;
use crate::session_folder::{SessionFolder, TemporaryFolder};
use crate::wishes::Wishes;
use crate::workspace_overlay::Store;

/// How many keepers may die within [`DEATH_WINDOW`] before no more are started.
const MOST_DEATHS: usize = 3;
const DEATH_WINDOW: Duration = Duration::from_mins(1);

/// The tool that runs commands.
const BASH: &str = "bash";

/// Where a sandbox is, and what it may know of the process.
#[derive(Clone)]
pub struct Place {
    pub working_directory: PathBuf,
    /// The home folder that the environment names.
    pub user_home: Option<PathBuf>,
    /// The home folder of the account.
    pub account_home: Option<PathBuf>,
    /// Bowline's own folder.
    pub own_folder: PathBuf,
    /// Bowline's own folder and whatever else of it must not be read, such as sessions elsewhere.
    pub own_places: Vec<PathBuf>,
    pub temporary_directory: PathBuf,
    /// The program that is a keeper when it is started in that role.
    pub program: PathBuf,
    /// The options of the tools.
    pub options: Arc<Options>,
    /// The level to use although a higher one may be available.
    pub level: Option<SandboxLevel>,
    /// Finds the paths that rules of the user close, or says why it cannot. Called for each keeper, on a thread that may block.
    pub denied: Arc<dyn Fn() -> Result<Denied, String> + Send + Sync>,
}

/// Paths that rules of the user close.
#[derive(Debug, Clone, Default)]
pub struct Denied {
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
}

/// What confines the tools of a session. Cheap to clone.
#[derive(Clone)]
pub struct Sandbox(Arc<Inner>);

struct Inner {
    wishes: Wishes,
    place: Place,
    state: Mutex<State>,
    host_gate: Arc<SessionGate>,
    /// Held while a keeper is started, so that calls at the same time start one.
    starting: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    mode: SandboxMode,
    network: SandboxNetwork,
    /// What was granted for the rest of the session.
    granted: Grants,
    level: Option<SandboxLevel>,
    /// The one that runs commands and most tools, and the one for files that were granted for the session.
    keepers: Vec<Running>,
    deaths: VecDeque<Instant>,
    folder: Option<Arc<SessionFolder>>,
    /// Where changes to the home folder go, if it is an overlay.
    home_store: Option<Arc<HomeStore>>,
    /// The changes of sessions, by their id, if the workspace is an overlay.
    stores: HashMap<String, Arc<Store>>,
    /// The keepers that have mounted one of them.
    mounted: Vec<Mounted>,
    /// The sessions whose changes subagents share, by the id of the subagent.
    shared: HashMap<String, String>,
    /// What the newest keeper was found to enforce.
    proved: Option<Proved>,
    /// Grows with everything that the report is made of.
    revision: u64,
}

/// A keeper, and what it was started for.
#[derive(Clone)]
struct Running {
    purpose: Purpose,
    keeper: Arc<Keeper>,
    /// The way to the hosts of the list.
    proxy: Option<Arc<ProxyHandle>>,
    covered: Arc<Covered>,
    plan: Arc<Plan>,
    protected: Arc<Watch>,
    /// Removed after the keeper has ended.
    _temporary: Arc<TemporaryFolder>,
}

/// What a keeper is for. A call needs one for exactly its purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Purpose {
    mode: SandboxMode,
    network: SandboxNetwork,
    /// The files that a file tool may write although they are outside or protected. Commands never may: they run in one keeper
    /// all along, with one `/tmp` and one `localhost`.
    files: Vec<PathBuf>,
    /// Whether the keeper is for one call, and ends with it.
    is_for_one_call: bool,
    /// Where changes of the workspace go, if it is an overlay.
    store: Option<PathBuf>,
}

impl Sandbox {
    /// Returns the sandbox of a session in a place, or why there is none. Waits for another process for a moment if the mode
    /// confines tools.
    pub fn new(wishes: Wishes, place: Place) -> Result<Arc<Self>, Error> {
        let (mode, network) = (wishes.mode, wishes.network);
        let inner = Inner {
            state: Mutex::new(State { mode, network, ..State::default() }),
            wishes,
            place,
            host_gate: Arc::default(),
            starting: tokio::sync::Mutex::default(),
        };
        host_rules(&inner.wishes)?;
        if mode.is_confined() {
            inner.check(mode, network)?;
        }
        Ok(Arc::new(Self(Arc::new(inner))))
    }
}

impl Inner {
    /// Checks that a mode is available here, and finds out the level.
    fn check(&self, mode: SandboxMode, network: SandboxNetwork) -> Result<SandboxLevel, Error> {
        plan::roots(mode, &self.wishes, &self.place)?;
        let trial = Trial::run(&self.place.program)
            .map_err(Error::preparing("finding out what the system offers"))?;
        let level = plan::level(&trial, network, &self.wishes, self.place.level)?;
        if self.wishes.workspace == SandboxWorkspace::Overlay && mode == SandboxMode::WorkspaceWrite {
            self.check_overlay(level)?;
        }
        let mut state = self.state();
        state.level = Some(level);
        state.revision += 1;
        Ok(level)
    }

    /// Checks that the working folder can be an overlay.
    fn check_overlay(&self, level: SandboxLevel) -> Result<(), Error> {
        if level != SandboxLevel::Full {
            return Err(Error::OverlayNeedsNamespaces);
        }
        let workspace = bowline_files::canonical(&self.place.working_directory);
        if bowline_files::canonical(&self.place.own_folder).starts_with(&workspace) {
            return Err(Error::StoreInWorkspace { workspace });
        }
        if let Some(mount) = first_mount_inside(&workspace) {
            return Err(Error::MountedInside { mount });
        }
        let store = Store::open(&self.place.own_folder, &workspace, None, &starting::token()?)?;
        let tried = Trial::overlay(&self.place.program, &workspace, store.path());
        match tried.map_err(Error::preparing("finding out whether the workspace can be an overlay"))? {
            Some(cause) => {
                Err(Error::OverlayUnavailable { cause, own_folder: self.place.own_folder.clone() })
            }
            None => Ok(()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Changes the mode or the network, for the calls from now on. Whatever runs with more rights ends.
    fn change(&self, change: SandboxChange) -> Result<(), String> {
        let (mode, network) = {
            let state = self.state();
            (change.mode.unwrap_or(state.mode), change.network.unwrap_or(state.network))
        };
        let before = {
            let state = self.state();
            (state.mode, state.network)
        };
        // Without a sandbox, everything is reached.
        let reached = if before.0.is_confined() { before.1 } else { SandboxNetwork::Full };
        let is_wider = mode > before.0 || (mode.is_confined() && network > reached);
        if is_wider && !self.wishes.client_may_widen {
            return Err(format!(
                "The sandbox can only be made stricter than {} with network {}; start bowline with --client-may-widen to \
                 allow more.",
                before.0.as_str(),
                reached.as_str()
            ));
        }
        if !mode.is_confined() && self.wishes.workspace == SandboxWorkspace::Overlay {
            return Err(format!(
                "The sandbox stays as it is: with {}, tools would write the working folder itself, which is an overlay here; \
                 start bowline with --workspace direct to allow that.",
                mode.as_str()
            ));
        }
        if mode.is_confined() {
            self.check(mode, network).map_err(|error| format!("The sandbox stays as it is: {error}."))?;
        }
        let mut state = self.state();
        (state.mode, state.network) = (mode, network);
        if !is_wider {
            state.granted = Grants::default();
        }
        let granted = state.granted.paths.clone();
        let has_more = |running: &mut Running| {
            let purpose = &running.purpose;
            let is_granted = purpose.files.iter().all(|path| granted.contains(path));
            purpose.mode > mode || purpose.network > network || !is_granted || !is_wider
        };
        let ended: Vec<_> = state.keepers.extract_if(.., has_more).collect();
        state.proved = None;
        state.revision += 1;
        drop(state);
        // This takes a while, and nobody must wait for the state meanwhile.
        drop(ended);
        Ok(())
    }

    fn write_access(&self, path: &Path) -> WriteAccess {
        let (mode, granted, plan) = {
            let state = self.state();
            let plan = state.proved.as_ref().map(|proved| Arc::clone(&proved.plan));
            (state.mode, state.granted.paths.clone(), plan)
        };
        let real = bowline_files::canonical(path);
        if !mode.is_confined() || granted.contains(&real) {
            return WriteAccess::Allowed;
        }
        if plan::is_masked(&real, &self.wishes, &self.place) {
            return WriteAccess::Masked;
        }
        let roots = plan::roots(mode, &self.wishes, &self.place).unwrap_or_default();
        if plan::is_protected(&real, &roots, plan.as_deref()) {
            return WriteAccess::Protected;
        }
        let is_in = |root: &PathBuf| real.starts_with(root);
        match roots.iter().any(is_in) || real.starts_with("/tmp") {
            true => WriteAccess::Allowed,
            false => WriteAccess::Outside,
        }
    }
}

impl Confinement for Sandbox {
    fn is_active(&self) -> bool {
        self.0.state().mode.is_confined()
    }

    fn summary(&self) -> SandboxSummary {
        self.0.summary()
    }

    fn report(&self) -> SandboxReport {
        self.0.report()
    }

    fn revision(&self) -> u64 {
        self.0.state().revision
    }

    fn prove(&self, session: Option<&str>) -> BoxFuture<'static, Result<SandboxReport, String>> {
        let (inner, session) = (Arc::clone(&self.0), session.map(ToOwned::to_owned));
        Box::pin(async move {
            if inner.state().mode.is_confined() {
                let grants = Grants::default();
                let keeper = inner.keeper(None, &grants, session.as_deref());
                keeper.await.map_err(|error| error.to_string())?;
            }
            Ok(inner.report())
        })
    }

    fn change(&self, change: SandboxChange) -> Result<(), String> {
        self.0.change(change)
    }

    fn write_access(&self, path: &Path) -> WriteAccess {
        self.0.write_access(path)
    }

    fn kept_texts(&self) -> Option<PathBuf> {
        self.0.folder().ok().map(|folder| folder.logs())
    }

    fn connections(&self) -> Vec<ReportedConnection> {
        let proxies =
            self.0.state().keepers.iter().filter_map(|running| running.proxy.clone()).collect::<Vec<_>>();
        let records = proxies.iter().flat_map(|proxy| proxy.connections());
        let reported = records.map(|record| ReportedConnection {
            decision: record.decision.as_str().to_owned(),
            host: record.host,
            port: record.port,
            sent: record.sent,
            received: record.received,
        });
        reported.collect()
    }

    fn ask_about_hosts(&self, gate: Arc<dyn HostGate>) {
        self.0.host_gate.set(gate);
    }

    fn grant(&self, grants: &Grants) {
        let mut state = self.0.state();
        state.revision += 1;
        state.granted.paths.extend(grants.paths.iter().cloned());
        state.granted.paths.sort();
        state.granted.paths.dedup();
        for host in &grants.hosts {
            for proxy in state.keepers.iter().filter_map(|running| running.proxy.as_ref()) {
                // It was asked about, so it is a host.
                let _ = proxy.allow(host);
            }
            state.granted.hosts.push(host.clone());
        }
    }

    fn pending_changes(
        &self,
        session: &str,
        query: PendingQuery,
    ) -> BoxFuture<'static, Result<PendingReport, Refusal>> {
        let (inner, session) = (Arc::clone(&self.0), session.to_owned());
        Box::pin(async move { inner.pending(&session, query).await })
    }

    fn accept_changes(
        &self,
        session: &str,
        selection: PendingSelection,
    ) -> BoxFuture<'static, Result<AcceptReport, Refusal>> {
        let (inner, session) = (Arc::clone(&self.0), session.to_owned());
        Box::pin(async move { inner.accept(&session, selection).await })
    }

    fn discard_changes(
        &self,
        session: &str,
        selection: PendingSelection,
    ) -> BoxFuture<'static, Result<DiscardReport, Refusal>> {
        let (inner, session) = (Arc::clone(&self.0), session.to_owned());
        Box::pin(async move { inner.discard(&session, selection).await })
    }

    fn share_changes(&self, subagent: &str, session: &str) {
        self.0.share(subagent, session);
    }

    fn forget_changes(&self, session: &str) {
        self.0.forget(session);
    }

    fn call(
        &self,
        tool: &'static str,
        context: CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'static, Outcome> {
        let inner = Arc::clone(&self.0);
        Box::pin(async move {
            let (grants, session) = (context.grants.clone(), context.session_id.clone());
            // What the user has allowed is not put back.
            let _expected = inner.expect(&inner.purpose(Some(tool), &grants, None).files);
            let found = tokio::select! {
                biased;
                () = context.cancel.cancelled() => return Outcome::error(ToolError::Aborted.to_string()),
                found = inner.keeper(Some(tool), &grants, session.as_deref()) => found,
            };
            match found {
                Ok(running) => {
                    if tool == BASH {
                        // As the tool does when its command has been started; this saves a round trip.
                        (context.progress)(Progress { content: Vec::new(), details: None });
                    }
                    let outcome = running.keeper.call(tool, context, arguments).await;
                    let changes = running.protected.after_call(tool == BASH).await;
                    inner.explain(with_changes(outcome, changes))
                }
                Err(error) => Outcome::error(refusal(&error)),
            }
        })
    }

    fn run_command<'sink>(
        &'sink self,
        request: CommandRequest,
        output: OutputSink<'sink>,
    ) -> BoxFuture<'sink, Result<CommandOutcome, ToolError>> {
        Box::pin(async move {
            let (grants, session) = (Grants::default(), request.session_id.clone());
            let found = tokio::select! {
                biased;
                () = request.cancel.cancelled() => return Ok(CommandOutcome::cancelled()),
                found = self.0.keeper(None, &grants, session.as_deref()) => found,
            };
            match found {
                Ok(running) => {
                    let outcome = running.keeper.run_command(request, output).await;
                    let protected = running.protected.after_call(true).await;
                    outcome.map(|outcome| CommandOutcome { protected, ..outcome })
                }
                Err(error) => Err(ToolError::Confinement(refusal(&error))),
            }
        })
    }
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.0.state();
        formatter.debug_struct("Sandbox").field("mode", &state.mode).field("network", &state.network).finish()
    }
}
