//! What attempts have to know of the fixture: a file that the checker writes and every attempt reads.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The name of the file in the fixture's folder.
pub(super) const FILE: &str = "facts.json";

/// The victims of a fixture.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Facts {
    /// A word that is in the name of everything that the fixture has outside of its folder.
    pub token: String,
    /// The process of the checker, which stands for bowline.
    pub bowline: i32,
    /// A process of the same user.
    pub victim: i32,
    /// Where the secret is in the memory of that process.
    pub secret_address: u64,
    /// Listens on 127.0.0.1.
    pub tcp4: SocketAddr,
    /// Listens on ::1, if the machine has it.
    pub tcp6: Option<SocketAddr>,
    /// The port of a listener on all addresses, and an address of this machine that is not of its loopback.
    pub own_address: Option<SocketAddr>,
    pub udp: SocketAddr,
    /// A listener in the machine's `/tmp`.
    pub socket_in_tmp: PathBuf,
    /// A file in the machine's `/tmp`.
    pub file_in_tmp: PathBuf,
    /// A file in the machine's `/dev/shm`.
    pub file_in_shm: PathBuf,
    /// The abstract name of a listener.
    pub abstract_name: String,
    /// The keys of a shared memory segment and a message queue.
    pub memory_key: i32,
    pub queue_key: i32,
    /// Descriptors that were open, and not closed on exec, when the sandbox was started.
    pub inherited_file: i32,
    pub inherited_folder: i32,
    /// A file handle of a file outside, and the mount that it belongs to.
    pub handle: Option<Handle>,
    /// The user that the checker runs as.
    pub user: u32,
}

/// A name of a file that bypasses folders.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Handle {
    pub kind: i32,
    pub bytes: Vec<u8>,
}

impl Facts {
    /// Reads the facts of a fixture.
    pub fn read(fixture: &Path) -> Result<Self, String> {
        let path = fixture.join(FILE);
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Writes the facts of a fixture, so that a reader sees either the old or the new ones.
    pub fn write(&self, fixture: &Path) -> std::io::Result<()> {
        let new = fixture.join("facts.new");
        std::fs::write(&new, serde_json::to_string(self)?)?;
        std::fs::rename(new, fixture.join(FILE))
    }
}
