//! Which keeper runs a call: the one of the commands, one for granted files, or a new one.

use std::path::PathBuf;
use std::time::Instant;

use bowline_core::sandbox::{Grants, SandboxMode};

use super::reporting::Proved;
use super::{DEATH_WINDOW, Inner, MOST_DEATHS, Purpose, Running};
use crate::error::Error;
use crate::protected::Expected;
use crate::workspace_overlay::Store;

/// How often a keeper is started for one call while the sandbox is being changed.
const MOST_STARTS: usize = 8;

impl Inner {
    /// Returns what a call of a tool needs, or what commands need. Only tools that write one file get the files that were
    /// granted.
    pub(super) fn purpose(&self, tool: Option<&str>, grants: &Grants, store: Option<&Store>) -> Purpose {
        let store = store.filter(|_| self.is_overlay()).map(|store| store.path().to_owned());
        let state = self.state();
        let (mode, network) = (state.mode, state.network);
        let granted = state.granted.paths.clone();
        drop(state);
        let mut purpose = Purpose { mode, network, files: Vec::new(), is_for_one_call: false, store };
        if !matches!(tool, Some("write" | "edit")) {
            return purpose;
        }
        purpose.files = granted;
        purpose.files.extend(grants.paths.iter().cloned());
        if purpose.store.is_some() {
            // What is in the workspace is written to the overlay, where its protected paths stay as they are.
            let workspace = bowline_files::canonical(&self.place.working_directory);
            purpose.files.retain(|path| !path.starts_with(&workspace));
        }
        purpose.files.sort();
        purpose.files.dedup();
        let is_granted = |path: &PathBuf| self.state().granted.paths.contains(path);
        purpose.is_for_one_call = !purpose.files.iter().all(is_granted);
        if !purpose.files.is_empty() && purpose.store.take().is_some() {
            // The overlay is for one keeper at a time. This one writes the files that were granted, and nothing else.
            purpose.mode = SandboxMode::ReadOnly;
        }
        purpose
    }

    /// Returns a keeper for a call of a tool in a session, or for a command, starting one if there is none. What it is for is
    /// asked for again once it has been started: the sandbox may have been made stricter meanwhile.
    pub(super) async fn keeper(
        &self,
        tool: Option<&str>,
        grants: &Grants,
        session: Option<&str>,
    ) -> Result<Running, Error> {
        let store = self.store(session)?;
        let purpose = || self.purpose(tool, grants, store.as_deref());
        for _ in 0..MOST_STARTS {
            let wanted = purpose();
            let mut found = if wanted.is_for_one_call { None } else { self.running(&wanted)? };
            if found.is_none() {
                let _starting = self.starting.lock().await;
                // Another call may have started one meanwhile.
                found = if wanted.is_for_one_call { None } else { self.running(&wanted)? };
                if found.is_none() {
                    found = self.start_wanted(wanted, &purpose).await?;
                }
            }
            let Some(running) = found else { continue };
            return match running.protected.stuck().await {
                Some(path) => Err(Error::ProtectedStays { path }),
                None => Ok(running),
            };
        }
        Err(Error::EndedEarly("the sandbox was changed again and again".to_owned()))
    }

    /// Starts a keeper and keeps it, unless it is for one call; `None` if something else is wanted by now.
    async fn start_wanted(
        &self,
        wanted: Purpose,
        purpose: &impl Fn() -> Purpose,
    ) -> Result<Option<Running>, Error> {
        // Two overlays must not share a store.
        if let Some(store) = &wanted.store {
            self.wait_for_calls(store).await;
            self.end_keepers_of(store).await?;
        }
        let running = self.start(wanted).await?;
        if purpose() != running.purpose {
            discard(vec![running]);
            return Ok(None);
        }
        let mut state = self.state();
        let mut replaced = Vec::new();
        if !running.purpose.is_for_one_call {
            // Of two keepers for granted files, the newer one has more of them.
            let is_replaced = |other: &mut Running| {
                other.purpose.files.is_empty() == running.purpose.files.is_empty()
                    && other.purpose.store == running.purpose.store
            };
            replaced.extend(state.keepers.extract_if(.., is_replaced));
            state.keepers.push(running.clone());
        }
        // The report speaks of the keeper that runs commands.
        if running.purpose.files.is_empty() {
            state.proved = Some(Proved::new(&running.plan, &running.keeper));
            state.revision += 1;
        }
        drop(state);
        discard(replaced);
        Ok(Some(running))
    }

    /// Has the keepers that run expect changes of protected files until the result is dropped.
    pub(super) fn expect(&self, files: &[PathBuf]) -> Vec<Expected> {
        if files.is_empty() {
            return Vec::new();
        }
        self.state().keepers.iter().map(|running| running.protected.expect(files)).collect()
    }

    /// Returns the keeper for a purpose, if there is one that lives and still covers what it promises to cover.
    fn running(&self, purpose: &Purpose) -> Result<Option<Running>, Error> {
        let mut state = self.state();
        let now = Instant::now();
        let died: Vec<_> = state.keepers.extract_if(.., |running| running.keeper.is_dead()).collect();
        state.deaths.extend(std::iter::repeat_n(now, died.len()));
        let outdated: Vec<_> = state.keepers.extract_if(.., |running| running.covered.is_changed()).collect();
        discard(died.into_iter().chain(outdated).collect());
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

/// Drops keepers where that may take a while: everything in them is killed first, and then what they left is looked at.
pub(super) fn discard(keepers: Vec<Running>) {
    if keepers.is_empty() {
        return;
    }
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn_blocking(move || drop(keepers))),
        Err(_) => drop(keepers),
    }
}
