//! Room for former contents: what is dropped, so that no more than `undo.maxBytes` is kept.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use crate::capture::Keep;
use crate::error::Error;
use crate::image::ImageId;
use crate::index::Image;
use crate::journal::{History, Line};
use crate::recorder::Recorder;

impl Recorder {
    /// Makes room for a content by dropping what nothing refers to, then what the oldest runs need, if it may. Returns
    /// whether there is room.
    pub(crate) fn make_room(&self, bytes: u64, keep: Keep) -> bool {
        // Copies of what nobody has changed leave some room for changes.
        let limit = match keep {
            Keep::Always => self.options.max_bytes,
            _ => self.options.max_bytes / 4 * 3,
        };
        let fits = || self.store.bytes().saturating_add(bytes) <= limit;
        if fits() {
            return true;
        }
        let is_full = if keep == Keep::Always { &self.is_full } else { &self.has_no_free_room };
        if is_full.load(Ordering::Relaxed) {
            return false;
        }
        let has_room = self.drop_until(fits, keep).unwrap_or(false);
        is_full.store(!has_room, Ordering::Relaxed);
        has_room
    }

    fn drop_until(&self, fits: impl Fn() -> bool, keep: Keep) -> Result<bool, Error> {
        let mut history = self.journal.read()?;
        self.drop_unused(&history);
        while !fits() {
            let oldest = history.runs.iter().find(|(_, run)| run.is_over && !run.is_dropped);
            let Some(run) = oldest.map(|(number, _)| *number).filter(|_| keep == Keep::Always) else {
                return Ok(false);
            };
            self.journal.append(&Line::Dropped { run })?;
            history = self.journal.read()?;
            self.drop_unused(&history);
        }
        Ok(true)
    }

    /// Drops the contents that neither a run nor an index of the workspace needs.
    fn drop_unused(&self, history: &History) {
        let mut wanted: HashSet<ImageId> = history.images().chain(self.pinned().iter().copied()).collect();
        for entry in self.written_index().iter().flat_map(|index| &index.entries) {
            if let Image::Stored(image) = entry.image {
                wanted.insert(image);
            }
        }
        self.store.retain(&wanted);
    }

    /// Keeps a content from being dropped as long as the run goes on.
    pub(crate) fn pin(&self, image: ImageId) {
        self.pinned().insert(image);
    }
}
