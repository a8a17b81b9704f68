//! What is said about a sandbox.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bowline_core::sandbox::{
    AskMode, ReportedChecks, ReportedEnvironment, ReportedKeeper, SandboxLevel, SandboxMode, SandboxNetwork,
    SandboxReport, SandboxSummary, SandboxWorkspace,
};

use super::Inner;
use crate::frames::ProbeResult;
use crate::keeper_process::Keeper;
use crate::plan::Plan;
use crate::report;

/// What a keeper was found to enforce.
#[derive(Clone)]
pub(super) struct Proved {
    pub plan: Arc<Plan>,
    landlock_abi: u32,
    mechanisms: Vec<String>,
    probes: Vec<ProbeResult>,
    at: u64,
    keeper: ReportedKeeper,
}

impl Proved {
    pub fn new(plan: &Arc<Plan>, keeper: &Keeper) -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self {
            plan: Arc::clone(plan),
            landlock_abi: keeper.ready.landlock_abi,
            mechanisms: keeper.ready.mechanisms.clone(),
            probes: keeper.ready.probes.clone(),
            at: milliseconds(since),
            keeper: ReportedKeeper { pid: keeper.process, started_ms: milliseconds(keeper.start_took) },
        }
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl Inner {
    /// Returns what holds now in short.
    pub(super) fn summary(&self) -> SandboxSummary {
        let workspace = self.is_overlay().then_some(SandboxWorkspace::Overlay);
        let state = self.state();
        let is_confined = state.mode.is_confined();
        SandboxSummary {
            mode: state.mode,
            level: match state.mode {
                SandboxMode::External => SandboxLevel::External,
                _ => state.level.filter(|_| is_confined).unwrap_or_default(),
            },
            ask: AskMode::default(),
            network: if is_confined { state.network } else { SandboxNetwork::Full },
            workspace,
        }
    }

    /// Returns what holds now.
    pub(super) fn report(&self) -> SandboxReport {
        let workspace = self.is_overlay().then_some(SandboxWorkspace::Overlay);
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
            workspace,
            tools: "confined".to_owned(),
            hosts: match state.network {
                SandboxNetwork::AllowList => self.wishes.hosts.clone(),
                _ => Vec::new(),
            },
            granted: state.granted.clone(),
            promises: report::promises(level, state.network, probes),
            not_enforced: report::not_enforced(level, state.network)
                .into_iter()
                .chain(proved.and_then(|proved| report::unmasked(&proved.plan.unmasked)))
                .chain(proved.and_then(|proved| report::left_out(proved.plan.git_folders.left_out)))
                .collect(),
            environment,
            keeper: proved.map(|proved| proved.keeper.clone()),
            connections: None,
            checks: ReportedChecks {
                passed: proved.map_or(0, |proved| u32::try_from(proved.probes.len()).unwrap_or(u32::MAX)),
                failed: 0,
            },
        }
    }
}
