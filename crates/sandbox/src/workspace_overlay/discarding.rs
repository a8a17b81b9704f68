//! Throwing pending changes away. Nothing is mounted meanwhile.

use bowline_core::file_changes::LeftAlone;
use bowline_core::pending_changes::DiscardReport;

use super::listing::{Entry, shorten};
use super::protection::Protection;
use super::selection::Selection;
use super::store::Store;
use super::taking_out::{sides, take_out};
use super::upper::is_whiteout;
use crate::error::Error;

impl Store {
    /// Throws the changes of these paths and what is below them away, or all of them.
    pub fn discard(&self, protection: &Protection, paths: Option<&[String]>) -> Result<DiscardReport, Error> {
        let listing = self.list(protection)?;
        let selection = Selection::new(paths, &self.workspace);
        let not_discarded = selection.missing(&listing.entries);
        let mut report = DiscardReport { not_discarded, ..DiscardReport::default() };
        let selected: Vec<&Entry> =
            listing.entries.iter().filter(|entry| selection.has(&entry.path)).collect();
        if selection.is_all() {
            report.discarded = selected.iter().map(|entry| entry.path.clone()).collect();
            shorten(&mut report.discarded, &mut report.omitted);
            self.reset().map_err(Error::preparing("emptying the overlay"))?;
            return Ok(report);
        }
        if selected.is_empty() {
            report.pending = listing.entries.len() as u64;
            return Ok(report);
        }
        let (upper, _) = sides(self)?;
        let (inside, alone): (Vec<&Entry>, Vec<&Entry>) = selected.into_iter().partition(|entry| {
            // One whiteout stands for a folder with everything in it.
            let mut above = entry.path.match_indices('/').map(|(end, _)| &entry.path[..end]);
            above.any(|above| {
                let place = upper.parent_of(above);
                !selection.has(above) && place.is_ok_and(|(folder, name)| is_whiteout(&folder, name))
            })
        });
        for entry in inside {
            let reason = "it was deleted with the folder that it is in; discard that".to_owned();
            report.not_discarded.push(LeftAlone { path: entry.path.clone(), reason });
        }
        take_out(self, &alone, true)?;
        report.discarded = alone.iter().map(|entry| entry.path.clone()).collect();
        shorten(&mut report.discarded, &mut report.omitted);
        shorten(&mut report.not_discarded, &mut report.omitted);
        report.pending = self.list(protection)?.entries.len() as u64;
        Ok(report)
    }
}
