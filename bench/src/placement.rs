//! The cores that processes run on.
//!
//! Two processes communicate several times faster on one core than on two, because waking a sleeping core takes longer
//! than everything else. The kernel places them at random, so a measure must fix their place.

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::failure::Failure;
use crate::pipe::Pipe;

/// Keeps this thread, and the processes that it starts, on one core until dropped.
pub(crate) struct Kept {
    before: CpuSet,
    cores: Vec<usize>,
}

impl Kept {
    pub(crate) fn on_one_core() -> Result<Self, Failure> {
        let before = sched_getaffinity(None).map_err(Failure::while_doing("asking for the cores"))?;
        let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| before.is_set(*core)).collect();
        let first = cores.first().copied().ok_or_else(|| Failure::new("there is no core"))?;
        place(None, first)?;
        Ok(Self { before, cores })
    }

    /// Returns another core than this thread's, if there is one.
    pub(crate) fn other_core(&self) -> Option<usize> {
        self.cores.get(1).copied()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = sched_setaffinity(None, &self.before);
    }
}

/// Moves a process to a core.
pub(crate) fn move_to(core: usize, process: &Pipe) -> Result<(), Failure> {
    let pid = i32::try_from(process.pid()).ok().and_then(Pid::from_raw);
    place(Some(pid.ok_or_else(|| Failure::new("a child has no process id"))?), core)
}

/// Keeps this thread on a core.
pub(crate) fn stay_on(core: usize) -> Result<(), Failure> {
    place(None, core)
}

fn place(process: Option<Pid>, core: usize) -> Result<(), Failure> {
    let mut cores = CpuSet::new();
    cores.set(core);
    sched_setaffinity(process, &cores).map_err(Failure::while_doing("choosing a core"))
}
