//! Former contents of files, each under its SHA-256, in a folder that only the user may enter.

use std::collections::HashSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, refuse_link};
use crate::image::ImageId;

/// The contents that are kept for one session.
#[derive(Debug)]
pub(crate) struct Store {
    folder: PathBuf,
    /// What is kept, once somebody has looked.
    kept: Mutex<Option<Kept>>,
    temporary: AtomicU64,
}

#[derive(Debug, Default)]
struct Kept {
    ids: HashSet<ImageId>,
    bytes: u64,
}

impl Store {
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, kept: Mutex::default(), temporary: AtomicU64::new(0) }
    }

    /// Returns how many bytes are kept.
    pub fn bytes(&self) -> u64 {
        self.with_kept(|kept| kept.bytes)
    }

    pub fn has(&self, id: ImageId) -> bool {
        self.with_kept(|kept| kept.ids.contains(&id))
    }

    /// Keeps a content. A reader sees all of it or nothing.
    pub fn put(&self, id: ImageId, content: &[u8]) -> Result<(), Error> {
        if self.has(id) {
            return Ok(());
        }
        let failed = |error| Error::access(&self.folder, error);
        self.refuse_links()?;
        bowline_files::create_private_folder(&self.folder).map_err(failed)?;
        let number = self.temporary.fetch_add(1, Ordering::Relaxed);
        let temporary = self.folder.join(format!("new-{}-{number}", std::process::id()));
        let _ = fs::remove_file(&temporary);
        let mut file =
            bowline_files::private_file().write(true).create_new(true).open(&temporary).map_err(failed)?;
        let placed = file.write_all(content).and_then(|()| fs::rename(&temporary, self.path(id)));
        if let Err(error) = placed {
            let _ = fs::remove_file(&temporary);
            return Err(failed(error));
        }
        self.with_kept(|kept| {
            if kept.ids.insert(id) {
                kept.bytes += content.len() as u64;
            }
        });
        Ok(())
    }

    /// Removes what a process left behind that was killed. Only for who holds the session.
    pub fn tidy(&self) {
        if self.refuse_links().is_err() {
            return;
        }
        for entry in self.folder.read_dir().into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_some_and(|name| name.starts_with("new-")) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Returns a content, if it is kept and intact.
    pub fn get(&self, id: ImageId, limit: u64) -> Option<Vec<u8>> {
        self.refuse_links().ok()?;
        let content = bowline_files::read(&self.path(id), limit).ok()?;
        (ImageId::of(&content) == id).then_some(content)
    }

    /// Removes everything else.
    pub fn retain(&self, wanted: &HashSet<ImageId>) {
        let unwanted: Vec<ImageId> =
            self.with_kept(|kept| kept.ids.iter().filter(|id| !wanted.contains(id)).copied().collect());
        for id in unwanted {
            let path = self.path(id);
            let size = path.symlink_metadata().map_or(0, |metadata| metadata.len());
            let _ = fs::remove_file(path);
            self.with_kept(|kept| {
                kept.ids.remove(&id);
                kept.bytes = kept.bytes.saturating_sub(size);
            });
        }
    }

    fn path(&self, id: ImageId) -> PathBuf {
        self.folder.join(id.to_string())
    }

    fn with_kept<R>(&self, look: impl FnOnce(&mut Kept) -> R) -> R {
        let mut kept = self.kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        look(kept.get_or_insert_with(|| match self.refuse_links() {
            Ok(()) => list(&self.folder),
            Err(_) => Kept::default(),
        }))
    }

    fn refuse_links(&self) -> Result<(), Error> {
        self.folder.parent().map_or(Ok(()), refuse_link)?;
        refuse_link(&self.folder)
    }
}

fn list(folder: &Path) -> Kept {
    let mut kept = Kept::default();
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        if let Some(id) = entry.file_name().to_str().and_then(ImageId::parse) {
            kept.bytes += entry.metadata().map_or(0, |metadata| metadata.len());
            kept.ids.insert(id);
        }
    }
    kept
}
