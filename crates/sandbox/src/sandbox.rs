//! The sandbox of a session: which keeper runs a call, and what is said about it.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use bowline_core::message::{Arguments, Content};
use bowline_core::sandbox::{
    AskMode, Grants, ProtectedChange, ReportedChecks, ReportedEnvironment, ReportedKeeper, SandboxChange,
    SandboxLevel, SandboxMode, SandboxNetwork, SandboxReport, SandboxSummary,
};
use bowline_tools::{
    BoxFuture, CallContext, CommandOutcome, CommandRequest, Confinement, Error as ToolError, Options,
    Outcome, OutputSink,
};

use crate::error::Error;
use crate::keeper::Trial;
use crate::keeper_process::Keeper;
use crate::plan::{self, PROXY_PORT, Plan};
use crate::policy::{Policy, ToolOptions};
use crate::protected::{Protected, Watch};
use crate::proxy::{self, HostRules, ProxyHandle, ProxyOptions};
use crate::report;
use crate::session_folder::{SessionFolder, TemporaryFolder};
use crate::targets::OpenTargets;
use crate::wishes::Wishes;

/// How many keepers may die within [`DEATH_WINDOW`] before no more are started.
const MOST_DEATHS: usize = 3;
const DEATH_WINDOW: Duration = Duration::from_mins(1);

/// How many keepers with grants of their own are kept for their background processes.
const MOST_KEEPERS: usize = 4;

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
    /// Paths that a rule closes to reading.
    pub denied_read: Vec<PathBuf>,
    /// Paths that a rule closes to writing.
    pub denied_write: Vec<PathBuf>,
}

/// What confines the tools of a session. Cheap to clone.
#[derive(Clone)]
pub struct Sandbox(Arc<Inner>);

struct Inner {
    wishes: Wishes,
    place: Place,
    state: Mutex<State>,
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
    keepers: Vec<Running>,
    deaths: VecDeque<Instant>,
    folder: Option<Arc<SessionFolder>>,
    /// What the newest keeper was found to enforce.
    proved: Option<Proved>,
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
    grants: Grants,
}

#[derive(Clone)]
struct Proved {
    plan: Plan,
    landlock_abi: u32,
    mechanisms: Vec<String>,
    probes: Vec<crate::frames::ProbeResult>,
    at: u64,
    keeper: ReportedKeeper,
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
        self.state().level = Some(level);
        Ok(level)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what a call with these grants needs.
    fn purpose(&self, grants: &Grants) -> Purpose {
        let state = self.state();
        let mut all = state.granted.clone();
        all.paths.extend(grants.paths.iter().cloned());
        all.paths.sort();
        all.paths.dedup();
        // The proxy is told of hosts without another keeper.
        all.hosts = Vec::new();
        all.unsandboxed = false;
        Purpose { mode: state.mode, network: state.network, grants: all }
    }

    /// Returns a keeper for a purpose, starting one if there is none.
    async fn keeper(&self, grants: &Grants) -> Result<Running, Error> {
        let purpose = self.purpose(grants);
        if let Some(running) = self.running(&purpose)? {
            return Ok(running);
        }
        let _starting = self.starting.lock().await;
        // Another call may have started one meanwhile.
        if let Some(running) = self.running(&purpose)? {
            return Ok(running);
        }
        let running = self.start(purpose).await?;
        let mut state = self.state();
        if state.keepers.len() >= MOST_KEEPERS {
            state.keepers.remove(0);
        }
        state.keepers.push(running.clone());
        Ok(running)
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

    async fn start(&self, purpose: Purpose) -> Result<Running, Error> {
        let level = match self.state().level {
            Some(level) => level,
            None => self.check(purpose.mode, purpose.network)?,
        };
        let (wishes, place, wanted) = (self.wishes.clone(), self.place.clone(), purpose.clone());
        let planned = tokio::task::spawn_blocking(move || {
            Plan::make((wanted.mode, wanted.network), &wishes, &place, &wanted.grants)
        });
        let plan = planned.await.unwrap_or_else(|_| Err(Error::EndedEarly("planning failed".to_owned())))?;
        let folder = self.folder()?;
        let temporary = folder.new_temporary().map_err(Error::preparing("making a private /tmp"))?;
        let targets =
            OpenTargets::open(&token()?).map_err(Error::preparing("making the targets of the probes"))?;
        let policy = self.policy(level, &plan, &folder, &temporary, &targets);
        let environment = self.environment(&policy);
        let (keeper, listener) = Keeper::start(&self.place.program, environment, &policy).await?;
        let mut broken: Vec<_> = keeper
            .ready
            .probes
            .iter()
            .filter(|probe| !probe.refused)
            .map(|probe| probe.promise.clone())
            .collect();
        broken.extend(targets.broken().into_iter().map(str::to_owned));
        if !broken.is_empty() {
            return Err(Error::BrokenPromise { broken });
        }
        let own_folder = self.place.own_folder.clone();
        let protected = Protected::note(&plan, level, &own_folder);
        let protected =
            Arc::new(Watch::new(protected.map_err(Error::preparing("reading what is protected"))?));
        let proxy = listener.map(|listener| self.serve_proxy(listener)).transpose()?;
        let keeper = Arc::new(keeper);
        self.state().proved = Some(Proved::new(plan, &keeper));
        Ok(Running { purpose, keeper, proxy, protected, _temporary: Arc::new(temporary) })
    }

    /// Starts the proxy for the hosts of the list and those that were granted.
    fn serve_proxy(&self, listener: TcpListener) -> Result<Arc<ProxyHandle>, Error> {
        let mut rules = host_rules(&self.wishes)?;
        for host in &self.state().granted.hosts {
            rules.allow(host).map_err(|error| Error::Host(error.to_string()))?;
        }
        let proxy = proxy::serve(listener, ProxyOptions::new(rules));
        Ok(Arc::new(proxy.map_err(Error::preparing("starting the proxy"))?))
    }

    /// Returns the folder of the session among the temporary files, which is made when it is first needed.
    fn folder(&self) -> Result<Arc<SessionFolder>, Error> {
        let mut state = self.state();
        if let Some(folder) = &state.folder {
            return Ok(Arc::clone(folder));
        }
        let keeps_logs = !self.place.options.sessions_end_with_process;
        let folder = SessionFolder::create(&self.place.temporary_directory, &token()?, keeps_logs)
            .map_err(Error::preparing("making a folder for temporary files"))?;
        let folder = Arc::new(folder);
        state.folder = Some(Arc::clone(&folder));
        Ok(folder)
    }

    fn policy(
        &self,
        level: SandboxLevel,
        plan: &Plan,
        folder: &SessionFolder,
        temporary: &TemporaryFolder,
        targets: &OpenTargets,
    ) -> Policy {
        let options = &*self.place.options;
        let mut writable = plan.writable.clone();
        writable.push(folder.logs());
        Policy {
            level,
            mode: plan.mode,
            network: plan.network,
            unix_sockets: self.wishes.unix_sockets,
            working_directory: self.place.working_directory.clone(),
            writable,
            read_only_inside: plan.read_only_inside.clone(),
            git_folders: plan.git_folders.all().cloned().collect(),
            masked: plan.masked.clone(),
            home: plan.home.clone(),
            home_store: plan.home_store.clone(),
            private_tmp: temporary.path.clone(),
            visible: plan.visible.clone(),
            proxy_port: (plan.network == SandboxNetwork::AllowList).then_some(PROXY_PORT),
            parent: std::process::id(),
            targets: targets.targets().clone(),
            tools: ToolOptions {
                shell: options.shell.clone(),
                command_prefix: options.command_prefix.clone(),
                keeps_images: options.keeps_images,
                home_directory: options.home_directory.clone(),
                own_folder: options.own_folder.clone(),
                logs: folder.logs(),
                sessions_end_with_process: options.sessions_end_with_process,
                inherited_mark: options.inherited_mark.clone(),
                command_timeout: options.command_timeout,
            },
        }
    }

    /// Returns the environment of a keeper, which is that of commands.
    fn environment(&self, policy: &Policy) -> Vec<(OsString, OsString)> {
        let variables = self.place.options.environment.variables().map(<[_]>::to_vec);
        let mut variables = variables.unwrap_or_default();
        let temporary = match policy.level {
            SandboxLevel::Full => PathBuf::from("/tmp"),
            _ => policy.private_tmp.clone(),
        };
        variables.retain(|(name, _)| name != "TMPDIR");
        variables.push(("TMPDIR".into(), temporary.into()));
        if let Some(port) = policy.proxy_port {
            let proxy = proxy::environment(port);
            variables.retain(|(name, _)| !proxy.iter().any(|(proxy, _)| name == proxy.as_str()));
            variables.extend(proxy.into_iter().map(|(name, value)| (name.into(), value.into())));
        }
        variables
    }

    /// Says at the end of a refused result what the sandbox allows, so that the model does not look for the reason.
    fn explain(&self, mut outcome: Outcome) -> Outcome {
        let says_so = |content: &Content| matches!(content, Content::Text { text } if SIGNS.iter().any(|sign| text.contains(sign)));
        if outcome.is_error && outcome.content.iter().any(says_so) {
            let note = self.note();
            match outcome.content.iter_mut().rev().find_map(|content| match content {
                Content::Text { text } => Some(text),
                _ => None,
            }) {
                Some(text) => {
                    text.push_str("\n\n");
                    text.push_str(&note);
                }
                None => outcome.content.push(Content::text(note)),
            }
        }
        outcome
    }

    /// Returns what the sandbox allows, in one line.
    fn note(&self) -> String {
        let state = self.state();
        let mut writable: Vec<_> = match &state.proved {
            Some(proved) => proved.plan.writable.iter().map(|path| path.display().to_string()).collect(),
            None => Vec::new(),
        };
        writable.push(if state.level == Some(SandboxLevel::Full) { "/tmp" } else { "$TMPDIR" }.to_owned());
        let network = match state.network {
            SandboxNetwork::None => "no network but localhost",
            SandboxNetwork::AllowList => "only listed hosts, through the proxy",
            SandboxNetwork::Full => "the network is open",
        };
        format!(
            "[Sandbox {}: writing is possible in {}; {network}. What is refused stays refused however it is tried.]",
            state.mode.as_str(),
            writable.join(", ")
        )
    }
}

/// What refused calls say.
const SIGNS: &[&str] = &[
    "Read-only file system",
    "Operation not permitted",
    "Permission denied",
    "Network is unreachable",
    "Could not resolve host",
    "Temporary failure in name resolution",
    "Name or service not known",
    "EROFS",
    "EPERM",
    "EACCES",
    "EAI_AGAIN",
    "ENETUNREACH",
];

impl Proved {
    fn new(plan: Plan, keeper: &Keeper) -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self {
            plan,
            landlock_abi: keeper.ready.landlock_abi,
            mechanisms: keeper.ready.mechanisms.clone(),
            probes: keeper.ready.probes.clone(),
            at: milliseconds(since),
            keeper: ReportedKeeper { pid: keeper.process, started_ms: milliseconds(keeper.start_took) },
        }
    }
}

/// Returns the rules for hosts.
fn host_rules(wishes: &Wishes) -> Result<HostRules, Error> {
    HostRules::parse(&wishes.hosts, &wishes.denied_hosts).map_err(|error| Error::Host(error.to_string()))
}

/// Returns a path with every link resolved, as far as it exists.
fn real_path(path: &Path) -> PathBuf {
    let mut rest = Vec::new();
    for ancestor in path.ancestors() {
        if let Ok(real) = ancestor.canonicalize() {
            return rest.iter().rev().fold(real, |path: PathBuf, name| path.join(name));
        }
        rest.extend(ancestor.file_name().map(ToOwned::to_owned));
    }
    path.to_owned()
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Returns a random name.
fn token() -> Result<String, Error> {
    let mut bytes = [0; 12];
    let random = ring::rand::SystemRandom::new();
    ring::rand::SecureRandom::fill(&random, &mut bytes)
        .map_err(|_| Error::EndedEarly("there is no randomness".to_owned()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
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
            state.keepers.clear();
            state.granted = Grants::default();
        }
        state.proved = None;
        Ok(())
    }

    fn allows_write(&self, path: &Path) -> bool {
        let state = self.state();
        if !state.mode.is_confined() {
            return true;
        }
        let real = real_path(path);
        let temporary = Path::new("/tmp");
        let roots = plan::roots(state.mode, &self.wishes, &self.place).unwrap_or_default();
        let is_in = |root: &PathBuf| real.starts_with(root);
        let is_granted = state.granted.paths.iter().any(is_in);
        let is_protected = state
            .proved
            .as_ref()
            .is_some_and(|proved| proved.plan.read_only_inside.iter().chain(&proved.plan.masked).any(is_in));
        is_granted || (!is_protected && (roots.iter().any(is_in) || real.starts_with(temporary)))
    }

    fn report(&self) -> SandboxReport {
        let state = self.state();
        let kernel =
            std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned();
        let environment = ReportedEnvironment { dropped: self.place.options.environment.dropped().to_vec() };
        if !state.mode.is_confined() {
            return SandboxReport { kernel, environment, ..SandboxReport::unconfined(state.mode) };
        }
        let level = state.level.unwrap_or_default();
        let proved = state.proved.as_ref();
        let probes = proved.map(|proved| (&proved.probes[..], proved.at));
        let list =
            |paths: &[PathBuf]| paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
        let mut writable = proved.map(|proved| list(&proved.plan.writable)).unwrap_or_default();
        writable.push(match level {
            SandboxLevel::Full => "/tmp (private)".to_owned(),
            _ => "$TMPDIR (private)".to_owned(),
        });
        SandboxReport {
            mode: state.mode,
            level,
            ask: AskMode::default(),
            network: state.network,
            kernel,
            landlock_abi: proved.map_or(0, |proved| proved.landlock_abi),
            mechanisms: proved.map(|proved| proved.mechanisms.clone()).unwrap_or_default(),
            writable,
            read_only_inside: proved.map(|proved| list(&proved.plan.read_only_inside)).unwrap_or_default(),
            masked: proved.map(|proved| list(&proved.plan.masked)).unwrap_or_default(),
            home: match proved.and_then(|proved| proved.plan.home_store.as_ref()) {
                Some(_) => "overlay".to_owned(),
                None => "read-only".to_owned(),
            },
            tools: "confined".to_owned(),
            hosts: match state.network {
                SandboxNetwork::AllowList => self.wishes.hosts.clone(),
                _ => Vec::new(),
            },
            granted: state.granted.clone(),
            promises: report::promises(level, state.network, probes),
            not_enforced: report::not_enforced(level, state.network),
            environment,
            keeper: proved.map(|proved| proved.keeper.clone()),
            checks: ReportedChecks {
                passed: proved.map_or(0, |proved| u32::try_from(proved.probes.len()).unwrap_or(u32::MAX)),
                failed: 0,
            },
        }
    }
}

impl Confinement for Sandbox {
    fn is_active(&self) -> bool {
        self.0.state().mode.is_confined()
    }

    fn summary(&self) -> SandboxSummary {
        let state = self.0.state();
        let is_confined = state.mode.is_confined();
        SandboxSummary {
            mode: state.mode,
            level: match state.mode {
                SandboxMode::External => SandboxLevel::External,
                _ => state.level.filter(|_| is_confined).unwrap_or_default(),
            },
            ask: AskMode::default(),
            network: if is_confined { state.network } else { SandboxNetwork::Full },
        }
    }

    fn report(&self) -> SandboxReport {
        self.0.report()
    }

    fn prove(&self) -> BoxFuture<'static, Result<SandboxReport, String>> {
        let inner = Arc::clone(&self.0);
        Box::pin(async move {
            if inner.state().mode.is_confined() {
                inner.keeper(&Grants::default()).await.map_err(|error| error.to_string())?;
            }
            Ok(inner.report())
        })
    }

    fn change(&self, change: SandboxChange) -> Result<(), String> {
        self.0.change(change)
    }

    fn allows_write(&self, path: &Path) -> bool {
        self.0.allows_write(path)
    }

    fn kept_texts(&self) -> Option<PathBuf> {
        self.0.folder().ok().map(|folder| folder.logs())
    }

    fn grant(&self, grants: &Grants) {
        let mut state = self.0.state();
        state.granted.paths.extend(grants.paths.iter().cloned());
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
            match inner.keeper(&context.grants).await {
                Ok(running) => {
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
            match self.0.keeper(&Grants::default()).await {
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

/// Says in a result which protected paths were put back.
fn with_changes(mut outcome: Outcome, changes: Vec<ProtectedChange>) -> Outcome {
    if !changes.is_empty() {
        let paths: Vec<_> = changes.iter().map(|change| change.path.display().to_string()).collect();
        outcome.content.push(Content::text(format!(
            "[Sandbox: {} is protected, because other programs of the user follow it. It was put back as it was; ask the \
             user to change it.]",
            paths.join(", ")
        )));
        outcome.protected.extend(changes);
    }
    outcome
}

/// Returns what is read of a call that could not be confined.
fn refusal(error: &Error) -> String {
    format!("Not carried out: {error}.")
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.0.state();
        formatter.debug_struct("Sandbox").field("mode", &state.mode).field("network", &state.network).finish()
    }
}
