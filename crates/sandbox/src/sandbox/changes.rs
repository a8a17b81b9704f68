//! The changes of a workspace that is an overlay: which store a session has, and what is done to it while nothing is mounted.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bowline_core::pending_changes::{
    AcceptReport, DiscardReport, PendingQuery, PendingReport, PendingSelection,
};
use bowline_core::reply::{Refusal, RefusalCode};
use bowline_core::sandbox::{SandboxMode, SandboxWorkspace};
use bowline_tools::{NOT_AN_OVERLAY, not_an_overlay};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::keepers::discard;
use super::starting::token;
use super::{Inner, Running};
use crate::error::Error;
use crate::keeper_process::Keeper;
use crate::workspace_overlay::{Protection, Store, forget, has_changes};

/// How long the processes of a keeper may take to be gone after they were killed.
const LONGEST_END: Duration = Duration::from_secs(10);

/// How often, and how long apart, it is looked whether processes that were left end by themselves.
const GLANCES: usize = 20;
const GLANCE: Duration = Duration::from_millis(50);

/// How many processes a refusal names.
const MOST_NAMED: usize = 5;

/// Why nothing is pending in an overlay.
const READ_ONLY: &str = "the sandbox is read-only now, so the overlay is not in use";

/// What is done to pending changes.
type Job<R> = fn(&Store, &Protection, Option<&[String]>) -> Result<R, Error>;

impl Inner {
    /// Tells whether the workspace is an overlay now.
    pub(super) fn is_overlay(&self) -> bool {
        let mode = self.state().mode;
        mode == SandboxMode::WorkspaceWrite && self.wishes.workspace == SandboxWorkspace::Overlay
    }

    /// Returns the store of a session; none if the workspace is no overlay.
    pub(super) fn store(&self, session: Option<&str>) -> Result<Option<Arc<Store>>, Error> {
        if !self.is_overlay() {
            return Ok(None);
        }
        let mut state = self.state();
        let owner =
            session.map(|session| state.shared.get(session).map_or(session, String::as_str).to_owned());
        let key = owner.clone().unwrap_or_default();
        if let Some(store) = state.stores.get(&key) {
            return Ok(Some(Arc::clone(store)));
        }
        // What is kept in memory only ends with the process, and so do its changes.
        let named = owner.as_deref().filter(|_| !self.place.options.sessions_end_with_process);
        let store = Store::open(&self.place.own_folder, &self.place.working_directory, named, &token()?)?;
        let store = Arc::new(store);
        state.stores.insert(key, Arc::clone(&store));
        Ok(Some(store))
    }

    /// Has a subagent use the store of the session that started it.
    pub(super) fn share(&self, subagent: &str, session: &str) {
        let mut state = self.state();
        let owner = state.shared.get(session).map_or(session, String::as_str).to_owned();
        state.shared.insert(subagent.to_owned(), owner);
    }

    /// Removes the changes of a session.
    pub(super) fn forget(&self, session: &str) {
        let store = self.state().stores.remove(session);
        if let Some(store) = store {
            let ended = self.take_mounted(store.path());
            ended.iter().filter_map(|mounted| mounted.keeper.upgrade()).for_each(|keeper| keeper.end());
            if !ended.iter().all(|mounted| wait_for_end(&mounted.end)) {
                return;
            }
        }
        forget(&self.place.own_folder, session);
    }

    /// Returns what is pending.
    pub(super) async fn pending(&self, session: &str, query: PendingQuery) -> Result<PendingReport, Refusal> {
        if !self.is_overlay() {
            let mut reason = match self.wishes.workspace {
                SandboxWorkspace::Overlay => READ_ONLY.to_owned(),
                SandboxWorkspace::Direct => NOT_AN_OVERLAY.to_owned(),
            };
            if has_changes(&self.place.own_folder, &self.place.working_directory, session) {
                reason.push_str(". This session has changes that are neither accepted nor discarded");
            }
            return Ok(PendingReport { reason: Some(reason), ..PendingReport::default() });
        }
        self.with_store(session, move |store, protection| {
            store.report(protection, query.paths.as_deref(), query.with_diff)
        })
        .await
    }

    pub(super) async fn accept(
        &self,
        session: &str,
        selection: PendingSelection,
    ) -> Result<AcceptReport, Refusal> {
        self.settle(session, selection, Store::accept).await
    }

    pub(super) async fn discard(
        &self,
        session: &str,
        selection: PendingSelection,
    ) -> Result<DiscardReport, Refusal> {
        self.settle(session, selection, Store::discard).await
    }

    /// Does something to the changes of a session while nothing is mounted. The next call gets a new view.
    async fn settle<R: Send + 'static>(
        &self,
        session: &str,
        selection: PendingSelection,
        job: Job<R>,
    ) -> Result<R, Refusal> {
        // No keeper starts meanwhile.
        let _starting = self.starting.lock().await;
        let store = self.store(Some(session)).map_err(unavailable)?.ok_or_else(not_an_overlay)?;
        let left = if selection.force { Vec::new() } else { self.processes_left(&store).await };
        if !left.is_empty() {
            return Err(busy(&left));
        }
        self.end_keepers_of(store.path()).await.map_err(unavailable)?;
        self.with_store(session, move |store, protection| job(store, protection, selection.paths.as_deref()))
            .await
    }

    async fn with_store<R: Send + 'static>(
        &self,
        session: &str,
        job: impl FnOnce(&Store, &Protection) -> Result<R, Error> + Send + 'static,
    ) -> Result<R, Refusal> {
        let store = self.store(Some(session)).map_err(unavailable)?.ok_or_else(not_an_overlay)?;
        let denied = Arc::clone(&self.place.denied);
        let done = tokio::task::spawn_blocking(move || {
            let denied = denied().map_err(Error::Rule)?;
            let protection = Protection::new(&store.workspace, &denied.write);
            job(&store, &protection)
        });
        match done.await {
            Ok(done) => done.map_err(unavailable),
            Err(error) => Err(Refusal::new(RefusalCode::Internal, format!("Internal error: {error}"))),
        }
    }

    /// Returns the names of the processes that calls left running. Some commands leave one that is about to end.
    async fn processes_left(&self, store: &Store) -> Vec<String> {
        for _ in 0..GLANCES {
            if self.processes_of(store).is_empty() {
                return Vec::new();
            }
            tokio::time::sleep(GLANCE).await;
        }
        self.processes_of(store)
    }

    /// Returns the names of the processes that calls left in the keepers of a store.
    fn processes_of(&self, store: &Store) -> Vec<String> {
        let state = self.state();
        let mounted = state.mounted.iter().filter(|mounted| mounted.store == store.path());
        mounted
            .filter_map(|mounted| mounted.keeper.upgrade())
            .flat_map(|keeper| commands_of(&keeper))
            .collect()
    }

    /// Notes that a keeper has mounted a store.
    pub(super) fn note_mounted(&self, store: &Path, keeper: &Arc<Keeper>) -> Result<(), Error> {
        let end =
            end_of(keeper).ok_or_else(|| Error::EndedEarly("its processes cannot be seen".to_owned()))?;
        let mounted = Mounted { store: store.to_owned(), keeper: Arc::downgrade(keeper), end };
        self.state().mounted.push(mounted);
        Ok(())
    }

    /// Waits until no call uses a keeper of a store.
    pub(super) async fn wait_for_calls(&self, store: &Path) {
        let is_busy = || {
            let state = self.state();
            let mut mounted = state.mounted.iter().filter(|mounted| mounted.store == store);
            mounted.any(|mounted| mounted.keeper.upgrade().is_some_and(|keeper| keeper.is_busy()))
        };
        while is_busy() {
            tokio::time::sleep(GLANCE).await;
        }
    }

    /// Ends the keepers of a store with everything that runs in them, and waits until they are gone.
    pub(super) async fn end_keepers_of(&self, store: &Path) -> Result<(), Error> {
        let ended = self.take_mounted(store);
        let keepers = ended.iter().filter_map(|mounted| mounted.keeper.upgrade());
        keepers.for_each(|keeper| keeper.end());
        let gone =
            tokio::task::spawn_blocking(move || ended.iter().all(|mounted| wait_for_end(&mounted.end)));
        match gone.await {
            Ok(true) => Ok(()),
            _ => Err(Error::Changes("the processes of the sandbox could not be ended".to_owned())),
        }
    }

    fn take_mounted(&self, store: &Path) -> Vec<Mounted> {
        let mut state = self.state();
        let is_of_store = |running: &mut Running| running.purpose.store.as_deref() == Some(store);
        discard(state.keepers.extract_if(.., is_of_store).collect());
        let (ended, others) =
            std::mem::take(&mut state.mounted).into_iter().partition(|mounted| mounted.store == store);
        state.mounted = others;
        ended
    }
}

/// A keeper that has mounted a store. Calls may still use it although no new one does.
pub(super) struct Mounted {
    store: PathBuf,
    keeper: Weak<Keeper>,
    /// Tells that everything in it has ended.
    end: OwnedFd,
}

/// Removes the pending changes of a session that was deleted, unless another process has it open.
pub fn forget_changes(own_folder: &Path, session: &str) {
    forget(own_folder, session);
}

/// Returns the children of a process.
fn children_of(process: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_ascii_whitespace().filter_map(|number| number.parse().ok()).collect::<Vec<_>>()
        })
        .collect()
}

/// Returns the confined process of a keeper, which is process 1 of its namespace.
fn inner_of(keeper: &Keeper) -> Option<u32> {
    children_of(keeper.process).first().copied()
}

/// Returns the names of what runs in a keeper. Whatever lost its parent is a child of the confined process.
fn commands_of(keeper: &Keeper) -> Vec<String> {
    let children = inner_of(keeper).map(children_of).unwrap_or_default();
    let name = |process: &u32| {
        let status = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // Its name is in parentheses and may have any character; the state follows.
        let (_, rest) = status.split_once('(')?;
        let (name, state) = rest.rsplit_once(") ")?;
        (!state.starts_with(['Z', 'X'])).then(|| name.to_owned())
    };
    children.iter().filter_map(name).map(|name| name.escape_default().to_string()).collect()
}

/// Returns what tells that everything in a keeper has ended: the confined process ends after all others of its namespace.
fn end_of(keeper: &Keeper) -> Option<OwnedFd> {
    let process = inner_of(keeper).and_then(|process| i32::try_from(process).ok()).and_then(Pid::from_raw)?;
    pidfd_open(process, PidfdFlags::empty()).ok()
}

fn wait_for_end(process: &OwnedFd) -> bool {
    let mut events = [PollFd::new(process, PollFlags::IN)];
    let limit = Timespec::try_from(LONGEST_END).ok();
    poll(&mut events, limit.as_ref()).is_ok_and(|count| count > 0)
}

fn busy(left: &[String]) -> Refusal {
    let mut named = left.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
    if left.len() > MOST_NAMED {
        named.push_str(&format!(" and {} more", left.len() - MOST_NAMED));
    }
    let text = format!(
        "Processes that tools started are still running ({named}). Wait until they have ended, or pass \"force\": true to \
         end them"
    );
    Refusal::new(RefusalCode::Busy, text)
}

#[expect(clippy::needless_pass_by_value, reason = "the signature that map_err wants")]
fn unavailable(error: Error) -> Refusal {
    Refusal::new(RefusalCode::SandboxUnavailable, error.to_string())
}
