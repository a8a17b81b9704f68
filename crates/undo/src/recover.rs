//! What a process left unfinished that ended: runs without an end, and undos that were interrupted.

use bowline_core::file_changes::RestoreReport;

use crate::capture::Roots;
use crate::compare::Left;
use crate::error::Error;
use crate::git_index::Repository;
use crate::journal::{History, Line, Run};
use crate::recorder::{Baseline, Recorder};
use crate::state::Change;

impl Recorder {
    /// Finishes what was interrupted. Nothing is done for a session that another process may have.
    pub(crate) fn recover(&self) -> Result<(), Error> {
        if self.is_read_only() {
            return Ok(());
        }
        let history = self.journal.read()?;
        if let Some(intent) = &history.intent {
            let roots = Roots::open(&self.options.workspace)?;
            self.check_folder(&history, &roots)?;
            self.finish(intent.clone(), roots, RestoreReport::default(), true)?;
        }
        let live = self.live_number();
        let last = history.runs.last_key_value().map(|(number, _)| *number);
        for (number, run) in &history.runs {
            if !run.is_over && Some(*number) != live {
                self.close(&history, *number, run, last == Some(*number))?;
            }
        }
        Ok(())
    }

    /// Closes a run that was in progress when its process ended: what has changed since then counts as its own.
    fn close(&self, history: &History, number: u64, run: &Run, is_last: bool) -> Result<(), Error> {
        let roots = Roots::open(&self.options.workspace)?;
        let is_elsewhere = roots.inode().is_none() || self.check_folder(history, &roots).is_err();
        if is_last && run.had_commands && is_elsewhere {
            // The folder may come back.
            return Ok(());
        }
        let mut changes = self.announced_changes(&roots, &run.announced);
        if run.had_commands
            && is_last
            && let Some(index) = self.written_index()
        {
            let repository = Repository::around(&self.options.workspace, self.options.home.as_deref());
            let mut now = self.scan_again(&roots, &index, repository.as_ref())?;
            let started = index.started;
            let baseline = Baseline { index, repository, is_written: true, folder: None, started };
            // What its turns are known to have changed is theirs.
            let mut left = Left::new();
            for change in run.turns.iter().flat_map(|turn| &turn.changes) {
                left.insert(change.path.clone(), change.after.clone());
            }
            let found = self.compare(&roots, &baseline, &mut now, &changes, &left);
            changes.extend(found);
        }
        changes.retain(Change::is_change);
        if !changes.is_empty() {
            let turn = run.turns.last().map_or(run.announced_turn, |turn| turn.turn + 1);
            let workspace = roots.inode();
            let (entry, call) = (None, None);
            let recovered = true;
            let line = Line::Changes { run: number, turn, entry, call, changes, recovered, workspace };
            self.journal.append(&line)?;
        }
        self.journal.append(&Line::End { run: number })
    }

    /// Refuses to go on if the workspace is another folder than the one that is known.
    pub(crate) fn check_folder(&self, history: &History, roots: &Roots) -> Result<(), Error> {
        match (history.workspace, roots.inode()) {
            (Some(known), Some(now)) if known != now => {
                Err(Error::OtherFolder(self.options.workspace.clone()))
            }
            _ => Ok(()),
        }
    }
}
