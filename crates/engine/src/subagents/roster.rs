//! What a session knows of its subagents.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use bowline_core::subagent::{Subagent, SubagentEvent, SubagentStatus, Subscription};
use tokio::sync::Semaphore;

use super::child::Place;
use super::names::Names;

/// Of how many subagents that have ended the files are remembered.
const REMEMBERED: usize = 256;

/// Which events of subagents the client wants. A session shares it with its subagents, so that a change reaches those that
/// are running.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watch(Arc<AtomicU8>);

impl Watch {
    pub fn level(&self) -> Subscription {
        match self.0.load(Ordering::Relaxed) {
            0 => Subscription::Off,
            1 => Subscription::Progress,
            _ => Subscription::Events,
        }
    }

    pub fn set(&self, level: Subscription) {
        self.0.store(level as u8, Ordering::Relaxed);
    }
}

/// The subagents of a session, and its own place among subagents.
#[derive(Debug)]
pub(crate) struct Roster {
    pub place: Place,
    pub names: Arc<Names>,
    /// Lets a limited number of subagents run at the same time.
    pub permits: Arc<Semaphore>,
    running: BTreeMap<String, Arc<Subagent>>,
    /// The ids and files of those that have ended, oldest first.
    ended: VecDeque<(String, PathBuf)>,
}

impl Roster {
    /// Returns the roster of a session without subagents.
    pub fn new(max_parallel: NonZeroUsize) -> Self {
        Self {
            place: Place::default(),
            names: Arc::default(),
            permits: Arc::new(Semaphore::new(max_parallel.get())),
            running: BTreeMap::new(),
            ended: VecDeque::new(),
        }
    }

    /// Notes what happened to a subagent.
    pub fn note(&mut self, event: &SubagentEvent) {
        match event {
            SubagentEvent::Started(subagent) | SubagentEvent::Progress(subagent) => {
                self.running.insert(subagent.progress.id.clone(), Arc::clone(subagent));
            }
            SubagentEvent::Ended(subagent) => {
                self.running.remove(&subagent.progress.id);
                self.remember(subagent);
            }
            SubagentEvent::Inner { .. } => {}
        }
    }

    /// Returns the subagents that are running, in the order of their calls and tasks.
    pub fn running(&self) -> Vec<Arc<Subagent>> {
        self.running.values().cloned().collect()
    }

    /// Returns those that are still taken for running although the call has ended that started them, with their own
    /// subagents.
    pub fn left_by(&self, call_id: &str) -> Vec<Arc<Subagent>> {
        let roots = self.running.values().filter(|subagent| subagent.parent_call_id == call_id);
        let roots: Vec<_> = roots.map(|subagent| subagent.progress.id.clone()).collect();
        let belongs = |id: &str| {
            roots
                .iter()
                .any(|root| id == root || id.strip_prefix(&**root).is_some_and(|rest| rest.starts_with('.')))
        };
        let left = self.running.values().filter(|subagent| belongs(&subagent.progress.id));
        left.map(|subagent| aborted(subagent)).collect()
    }

    /// Returns the file of a subagent, running or not.
    pub fn file_of(&self, id: &str) -> Option<PathBuf> {
        let running = self.running.get(id).and_then(|subagent| subagent.session_file.clone());
        running
            .or_else(|| self.ended.iter().rev().find(|(ended, _)| ended == id).map(|(_, file)| file.clone()))
    }

    /// Tells whether a file is that of a subagent.
    pub fn has_file(&self, file: &Path) -> bool {
        let mut running = self.running.values();
        running.any(|subagent| subagent.session_file.as_deref() == Some(file))
            || self.ended.iter().any(|(_, ended)| ended == file)
    }

    /// Forgets everything, because the session is left for another.
    pub fn clear(&mut self) {
        self.running.clear();
        self.ended.clear();
        self.names = Arc::default();
    }

    fn remember(&mut self, subagent: &Subagent) {
        let Some(file) = &subagent.session_file else { return };
        self.ended.push_back((subagent.progress.id.clone(), file.clone()));
        if self.ended.len() > REMEMBERED {
            self.ended.pop_front();
        }
    }
}

/// Returns a subagent as it is after it was dropped.
fn aborted(subagent: &Subagent) -> Arc<Subagent> {
    let mut subagent = subagent.clone();
    subagent.progress.status = SubagentStatus::Aborted;
    Arc::new(subagent)
}
