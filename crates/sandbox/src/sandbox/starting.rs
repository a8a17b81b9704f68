//! Starting a keeper: the plan, the folders, the policy, the environment, the proxy.

use std::ffi::OsString;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bowline_core::sandbox::{SandboxLevel, SandboxMode, SandboxNetwork};
use bowline_tools::HostGate;

use super::covered::Covered;
use super::{Inner, Purpose, Running};
use crate::error::Error;
use crate::keeper_process::Keeper;
use crate::plan::{self, PROXY_PORT, Plan};
use crate::policy::{Policy, ToolOptions};
use crate::protected::{Protected, Watch};
use crate::proxy::{self, HostRules, ProxyHandle, ProxyOptions};
use crate::session_folder::{SessionFolder, TemporaryFolder};
use crate::targets::OpenTargets;
use crate::wishes::{Home, Wishes};

impl Inner {
    /// Starts a keeper for a purpose.
    pub(super) async fn start(&self, purpose: Purpose) -> Result<Running, Error> {
        let level = match self.state().level {
            Some(level) => level,
            None => self.check(purpose.mode, purpose.network)?,
        };
        let (wishes, place, wanted) = (self.wishes.clone(), self.place.clone(), purpose.clone());
        let home_store = self.home_store(&purpose)?;
        let store = self
            .state()
            .stores
            .values()
            .find(|store| Some(store.path()) == purpose.store.as_deref())
            .cloned();
        let planned = tokio::task::spawn_blocking(move || {
            if let Some(store) = &store {
                store.prepare()?;
            }
            let changes = store.as_ref().map(|store| store.path());
            let modes = (wanted.mode, wanted.network);
            let plan = Plan::make(modes, &wishes, &place, &wanted.files, home_store, changes)?;
            let plan = plan.for_level(level, &place)?;
            // Before anything is mounted: what is replaced from here on is noticed.
            let covered = Covered::note(&plan);
            let protected = Protected::note(&plan.written_directly(), level, &place.own_folder);
            Ok((plan, covered, protected.map_err(Error::preparing("reading what is protected"))?))
        });
        let (plan, covered, protected) =
            planned.await.unwrap_or_else(|_| Err(Error::EndedEarly("planning failed".to_owned())))?;
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
        let (protected, covered) = (Arc::new(Watch::new(protected)), Arc::new(covered));
        let proxy = listener.map(|listener| self.serve_proxy(listener)).transpose()?;
        let keeper = Arc::new(keeper);
        if let Some(store) = &purpose.store {
            self.note_mounted(store, &keeper)?;
        }
        let plan = Arc::new(plan);
        Ok(Running { purpose, keeper, proxy, covered, plan, protected, _temporary: Arc::new(temporary) })
    }

    /// Starts the proxy for the hosts of the list and those that were granted.
    fn serve_proxy(&self, listener: TcpListener) -> Result<Arc<ProxyHandle>, Error> {
        let gate: Arc<dyn HostGate> = Arc::clone(&self.host_gate) as Arc<dyn HostGate>;
        let mut rules = host_rules(&self.wishes)?;
        for host in &self.state().granted.hosts {
            rules.allow(host).map_err(|error| Error::Host(error.to_string()))?;
        }
        let proxy = proxy::serve(listener, ProxyOptions { gate: Some(gate), ..ProxyOptions::new(rules) });
        Ok(Arc::new(proxy.map_err(Error::preparing("starting the proxy"))?))
    }

    /// Returns the folder of the session among the temporary files, which is made when it is first needed.
    pub(super) fn folder(&self) -> Result<Arc<SessionFolder>, Error> {
        let mut state = self.state();
        if let Some(folder) = &state.folder {
            return Ok(Arc::clone(folder));
        }
        let keeps_logs = !self.place.options.sessions_end_with_process;
        let parent = self.temporary_parent()?;
        let folder = SessionFolder::create(&parent, &token()?, keeps_logs)
            .map_err(Error::preparing("making a folder for temporary files"))?;
        let folder = Arc::new(folder);
        state.folder = Some(Arc::clone(&folder));
        Ok(folder)
    }

    /// Returns where changes to the home folder go, if it is an overlay. Only commands need one.
    fn home_store(&self, purpose: &Purpose) -> Result<Option<PathBuf>, Error> {
        let is_overlay = self.wishes.home == Home::Overlay && purpose.mode == SandboxMode::WorkspaceWrite;
        let home = self.place.user_home.as_deref().and_then(|home| home.canonicalize().ok());
        let Some(home) = home.filter(|_| is_overlay && purpose.files.is_empty()) else { return Ok(None) };
        let mut state = self.state();
        if state.home_store.is_none() {
            let store = plan::home_store(&home, &self.place)
                .map_err(Error::preparing("making the store of the home folder"))?;
            state.home_store = Some(Arc::new(store));
        }
        Ok(state.home_store.as_ref().map(|store| store.path.clone()))
    }

    /// Returns the folder for temporary files, or another one if tools may write that: they could put something else in the
    /// place of what bowline makes there and removes later.
    fn temporary_parent(&self) -> Result<PathBuf, Error> {
        let roots = plan::roots(SandboxMode::WorkspaceWrite, &self.wishes, &self.place)?;
        let usual = [self.place.temporary_directory.as_path(), Path::new("/tmp"), Path::new("/var/tmp")];
        let mut usable = usual.into_iter().filter_map(|folder| folder.canonicalize().ok());
        let is_outside = |folder: &PathBuf| !roots.iter().any(|root| folder.starts_with(root));
        usable.find(is_outside).ok_or(Error::NoTemporaryFolder)
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
            working_directory: plan.working_directory.clone(),
            writable,
            granted: plan.granted.clone(),
            read_only_inside: plan.read_only_inside.clone(),
            git_folders: plan.git_folders.all().filter(|path| path.to_str().is_some()).cloned().collect(),
            masked: plan.masked.clone(),
            home: plan.home.clone(),
            home_store: plan.home_store.clone(),
            workspace_store: plan.workspace_store.clone(),
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
        let mut variables = self.place.options.environment.whole();
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
}

/// Returns the rules for hosts.
pub(super) fn host_rules(wishes: &Wishes) -> Result<HostRules, Error> {
    HostRules::parse(&wishes.hosts, &wishes.denied_hosts).map_err(|error| Error::Host(error.to_string()))
}

/// Returns a random name.
pub(super) fn token() -> Result<String, Error> {
    let mut bytes = [0; 12];
    let random = ring::rand::SystemRandom::new();
    ring::rand::SecureRandom::fill(&random, &mut bytes)
        .map_err(|_| Error::EndedEarly("there is no randomness".to_owned()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
