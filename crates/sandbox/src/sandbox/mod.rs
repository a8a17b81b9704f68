//! The sandbox of a session: which keeper runs a call, and what is said about it.

mod reporting;
mod results;
mod session_gate;
mod starting;

use std::collections::VecDeque;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bowline_core::message::Arguments;
use bowline_core::sandbox::{
    Grants, SandboxChange, SandboxLevel, SandboxMode, SandboxNetwork, SandboxReport, SandboxSummary,
};
use bowline_tools::{
    BoxFuture, CallContext, CommandOutcome, CommandRequest, Confinement, Error as ToolError, HostGate,
    Options, Outcome, OutputSink, Progress, WriteAccess,
};

use self::reporting::Proved;
use self::results::{refusal, with_changes};
use self::session_gate::SessionGate;
use self::starting::host_rules;
use crate::error::Error;
use crate::keeper::Trial;
use crate::keeper_process::Keeper;
use crate::plan;
use crate::protected::{Expected, Watch};
use crate::proxy::ProxyHandle;
use crate::session_folder::{SessionFolder, TemporaryFolder};
use crate::wishes::Wishes;

/// How many keepers may die within [`DEATH_WINDOW`] before no more are started.
const MOST_DEATHS: usize = 3;
const DEATH_WINDOW: Duration = Duration::from_mins(1);

/// The tool that runs commands.
const BASH: &str = "bash";

/// Where a sandbox is, and what it may know of the process.
#[derive(Clone)]
pub struct Place {
    pub working_directory: PathBuf,
    pub user_home: Option<PathBuf>,
    /// Bowline's own folder.
    pub own_folder: PathBuf,
    /// Bowline's own folder and whatever else of it must not be read, such as sessions elsewhere.
    pub own_places: Vec<PathBuf>,
    pub temporary_directory: PathBuf,
    /// The program that is a keeper when it is started in that role.
    pub program: PathBuf,
    /// The options of the tools.
    pub options: Arc<Options>,
    /// The level to use although a higher one may be to be had.
    pub level: Option<SandboxLevel>,
    /// Finds the paths that rules of the user close. Called for each keeper, on a thread that may block.
    pub denied: Arc<dyn Fn() -> Denied + Send + Sync>,
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

    /// Tells whether the keeper is to start with the session.
    pub fn is_eager(&self) -> bool {
        self.0.wishes.eager && self.is_active()
    }
}

impl Inner {
    /// Checks that a mode can be had here, and finds out the level.
    fn check(&self, mode: SandboxMode, network: SandboxNetwork) -> Result<SandboxLevel, Error> {
        plan::roots(mode, &self.wishes, &self.place)?;
        let trial = Trial::run(&self.place.program)
            .map_err(Error::preparing("finding out what the system offers"))?;
        let level = plan::level(&trial, network, &self.wishes, self.place.level)?;
        let mut state = self.state();
        state.level = Some(level);
        state.revision += 1;
        Ok(level)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what commands need, and whatever else has no grants.
    fn ordinary_purpose(&self) -> Purpose {
        let state = self.state();
        Purpose { mode: state.mode, network: state.network, files: Vec::new(), is_for_one_call: false }
    }

    /// Returns what a call needs. Only tools that write one file get the files that were granted.
    fn purpose(&self, tool: &str, grants: &Grants) -> Purpose {
        let mut purpose = self.ordinary_purpose();
        if !matches!(tool, "write" | "edit") {
            return purpose;
        }
        purpose.files.clone_from(&self.state().granted.paths);
        let new: Vec<_> = grants.paths.iter().filter(|path| !purpose.files.contains(path)).cloned().collect();
        purpose.is_for_one_call = !new.is_empty();
        purpose.files.extend(new);
        purpose.files.sort();
        purpose.files.dedup();
        purpose
    }

    /// Returns a keeper for a purpose, starting one if there is none.
    async fn keeper(&self, purpose: Purpose) -> Result<Running, Error> {
        if purpose.is_for_one_call {
            return self.start(purpose).await;
        }
        let mut found = self.running(&purpose)?;
        if found.is_none() {
            let _starting = self.starting.lock().await;
            // Another call may have started one meanwhile.
            found = self.running(&purpose)?;
            if found.is_none() {
                let running = self.start(purpose).await?;
                let mut state = self.state();
                // More files have been granted since the one before.
                state
                    .keepers
                    .retain(|other| other.purpose.files.is_empty() || running.purpose.files.is_empty());
                state.keepers.push(running.clone());
                found = Some(running);
            }
        }
        let running = found.ok_or_else(|| Error::EndedEarly("there is none".to_owned()))?;
        match running.protected.stuck().await {
            Some(path) => Err(Error::ProtectedStays { path }),
            None => Ok(running),
        }
    }

    /// Has the keepers that run expect changes of protected files until the result is dropped.
    fn expect(&self, files: &[PathBuf]) -> Vec<Expected> {
        if files.is_empty() {
            return Vec::new();
        }
        self.state().keepers.iter().map(|running| running.protected.expect(files)).collect()
    }

    /// Returns the keeper for a purpose, if there is one that lives.
    fn running(&self, purpose: &Purpose) -> Result<Option<Running>, Error> {
        let mut state = self.state();
        let now = Instant::now();
        let before = state.keepers.len();
        state.keepers.retain(|running| !running.keeper.is_dead());
        let died = before - state.keepers.len();
        state.deaths.extend(std::iter::repeat_n(now, died));
        while state.deaths.front().is_some_and(|death| now.duration_since(*death) > DEATH_WINDOW) {
            state.deaths.pop_front();
        }
        if state.deaths.len() >= MOST_DEATHS {
            return Err(Error::DiesTooOften { deaths: state.deaths.len() });
        }
        let found = state.keepers.iter().find(|running| running.purpose == *purpose);
        Ok(found.cloned())
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
        if mode.is_confined() {
            self.check(mode, network).map_err(|error| format!("The sandbox stays as it is: {error}."))?;
        }
        let mut state = self.state();
        (state.mode, state.network) = (mode, network);
        if !is_wider {
            state.granted = Grants::default();
        }
        let granted = state.granted.paths.clone();
        state.keepers.retain(|running| {
            let purpose = &running.purpose;
            let is_granted = purpose.files.iter().all(|path| granted.contains(path));
            purpose.mode <= mode && purpose.network <= network && is_granted && is_wider
        });
        state.proved = None;
        state.revision += 1;
        Ok(())
    }

    fn write_access(&self, path: &Path) -> WriteAccess {
        let (mode, granted, plan) = {
            let state = self.state();
            let plan = state.proved.as_ref().map(|proved| proved.plan.clone());
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
        if plan::is_protected(&real, &roots, plan.as_ref()) {
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

    fn prove(&self) -> BoxFuture<'static, Result<SandboxReport, String>> {
        let inner = Arc::clone(&self.0);
        Box::pin(async move {
            if inner.state().mode.is_confined() {
                inner.keeper(inner.ordinary_purpose()).await.map_err(|error| error.to_string())?;
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

    fn call(
        &self,
        tool: &'static str,
        context: CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'static, Outcome> {
        let inner = Arc::clone(&self.0);
        Box::pin(async move {
            let purpose = inner.purpose(tool, &context.grants);
            // What the user has allowed is not put back.
            let _expected = inner.expect(&purpose.files);
            match inner.keeper(purpose).await {
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
            match self.0.keeper(self.0.ordinary_purpose()).await {
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
