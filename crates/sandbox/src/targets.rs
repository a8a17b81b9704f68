//! What the probes of a keeper try to reach: a file, sockets and a port outside. They exist only while it starts.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::policy::Targets;

/// The folder for the file and the socket: it belongs to everyone, and unlike `/tmp` it is visible inside.
const PLACE: &str = "/var/tmp";

const PREFIX: &str = "bowline-probe-";

/// After how long a folder is taken for abandoned. A keeper starts in milliseconds.
const ABANDONED: Duration = Duration::from_mins(10);

/// The targets of the probes. What was made for them is removed when dropped.
#[derive(Debug)]
pub(crate) struct OpenTargets {
    targets: Targets,
    tcp: TcpListener,
    abstract_socket: UnixListener,
    /// Absent where nothing can be made.
    path_socket: Option<UnixListener>,
}

impl OpenTargets {
    /// Makes the targets. `token` makes their names unique.
    pub fn open(token: &str) -> io::Result<Self> {
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        tcp.set_nonblocking(true)?;
        let name = format!("{PREFIX}{token}");
        let abstract_socket = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
        abstract_socket.set_nonblocking(true)?;
        remove_abandoned(Path::new(PLACE));
        let made = make_folder(&Path::new(PLACE).join(&name)).ok();
        let (folder, path_socket) = made.unzip();
        let targets = Targets { folder, tcp_port: tcp.local_addr()?.port(), abstract_socket: name };
        Ok(Self { targets, tcp, abstract_socket, path_socket })
    }

    pub fn targets(&self) -> &Targets {
        &self.targets
    }

    /// Returns the promises that were broken, as far as that shows outside.
    pub fn broken(&self) -> Vec<&'static str> {
        let mut broken = Vec::new();
        if self.tcp.accept().is_ok() {
            broken.push("network.outside");
        }
        if self.abstract_socket.accept().is_ok() {
            broken.push("socket.abstract");
        }
        if self.path_socket.as_ref().is_some_and(|socket| socket.accept().is_ok()) {
            broken.push("socket.path");
        }
        if let Some(folder) = &self.targets.folder
            && folder.join("created").exists()
        {
            broken.push("file.create");
        }
        broken
    }
}

/// Removes what processes left that were killed while their keeper started.
fn remove_abandoned(place: &Path) {
    let user = rustix::process::getuid().as_raw();
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        let is_old = |found: &fs::Metadata| {
            let age = found.modified().ok().and_then(|time| SystemTime::now().duration_since(time).ok());
            age.is_some_and(|age| age > ABANDONED)
        };
        let is_own = |found: fs::Metadata| found.is_dir() && found.uid() == user && is_old(&found);
        if is_ours && entry.metadata().is_ok_and(is_own) {
            remove_folder(&entry.path());
        }
    }
}

fn remove_folder(folder: &Path) {
    for name in ["file", "socket", "created"] {
        let _ = fs::remove_file(folder.join(name));
    }
    let _ = fs::remove_dir(folder);
}

fn make_folder(folder: &Path) -> io::Result<(PathBuf, UnixListener)> {
    fs::DirBuilder::new().mode(0o700).create(folder)?;
    fs::write(folder.join("file"), "A probe of bowline's sandbox.\n")?;
    let socket = UnixListener::bind(folder.join("socket"))?;
    socket.set_nonblocking(true)?;
    Ok((folder.to_owned(), socket))
}

impl Drop for OpenTargets {
    fn drop(&mut self) {
        if let Some(folder) = &self.targets.folder {
            remove_folder(folder);
        }
    }
}
