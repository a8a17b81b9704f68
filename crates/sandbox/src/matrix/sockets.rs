//! Attempts 89 to 93: services of this machine that listen on a path or an abstract name.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};

use super::attempt::expected::REFUSED;
use super::attempt::{Attempt, Preparation as _, Reach, Stop, Tried, row};
use super::inside::Inside;

use Reach::Anyone;

pub(super) const ATTEMPTS: &[Attempt] = &[
    row("89", "socket.path", "connect to a socket by its path", REFUSED, Anyone, |inside| {
        connect(&inside.fixture.join("outside/stream.socket"))
    }),
    row("90", "socket.path", "send to a datagram socket by its path", REFUSED, Anyone, |inside| {
        let socket = UnixDatagram::unbound()?;
        socket.send_to(b"!", inside.fixture.join("outside/datagram.socket"))?;
        Ok(())
    }),
    row("91", "socket.path", "connect to a socket in the machine's /tmp", REFUSED, Anyone, |inside| {
        connect(&inside.facts.socket_in_tmp)
    }),
    row("92", "socket.path", "connect to docker, D-Bus, an agent of ssh", REFUSED, Anyone, services),
    row("93", "socket.abstract", "connect to an abstract name", REFUSED, Anyone, |inside| {
        let name = SocketAddr::from_abstract_name(&inside.facts.abstract_name).prepared("forming a name")?;
        Ok(UnixStream::connect_addr(&name).map(drop)?)
    }),
];

fn connect(path: &Path) -> Tried {
    Ok(UnixStream::connect(path).map(drop)?)
}

/// Connects to whatever of the usual services there is, and to the one that the fixture has in the home folder.
fn services(inside: &Inside) -> Tried {
    let user = inside.facts.user;
    let mut paths = vec![inside.home().join("agent.socket")];
    paths.extend(
        [
            "/run/docker.sock",
            "/var/run/docker.sock",
            "/run/podman/podman.sock",
            "/run/containerd/containerd.sock",
            "/run/dbus/system_bus_socket",
            "/run/systemd/private",
            "/tmp/.X11-unix/X0",
        ]
        .map(PathBuf::from),
    );
    paths.extend(
        ["bus", "docker.sock", "podman/podman.sock", "keyring/ssh", "gnupg/S.gpg-agent", "wayland-0"]
            .map(|name| PathBuf::from(format!("/run/user/{user}/{name}"))),
    );
    let mut last = Stop::Absent("there are no services".to_owned());
    for path in paths {
        match connect(&path) {
            Ok(()) => return Ok(()),
            Err(stop) => last = stop,
        }
    }
    Err(last)
}
