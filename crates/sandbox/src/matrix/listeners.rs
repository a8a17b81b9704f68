//! The sockets outside, and how often anything reached them.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};

/// The sockets. None of them blocks: connections wait in the kernel until they are counted.
#[derive(Debug)]
pub(super) struct Listeners {
    tcp4: TcpListener,
    tcp6: Option<TcpListener>,
    /// Listens on all addresses of this machine.
    everywhere: TcpListener,
    own_address: Option<IpAddr>,
    udp: UdpSocket,
    streams: Vec<(String, UnixListener)>,
    datagrams: UnixDatagram,
    pub socket_in_tmp: PathBuf,
    pub abstract_name: String,
}

impl Listeners {
    /// Opens the sockets of a fixture.
    pub fn open(fixture: &Path, temporary: &Path, token: &str) -> io::Result<Self> {
        let socket_in_tmp = temporary.join(format!("{token}.socket"));
        let abstract_name = token.to_owned();
        let abstract_address = UnixAddress::from_abstract_name(&abstract_name)?;
        let outside = fixture.join("outside");
        let streams = vec![
            ("a socket by its path".to_owned(), UnixListener::bind(outside.join("stream.socket"))?),
            (
                "a socket in the home folder".to_owned(),
                UnixListener::bind(fixture.join("home/agent.socket"))?,
            ),
            ("a socket in /tmp".to_owned(), UnixListener::bind(&socket_in_tmp)?),
            ("an abstract socket".to_owned(), UnixListener::bind_addr(&abstract_address)?),
        ];
        let listeners = Self {
            tcp4: TcpListener::bind(("127.0.0.1", 0))?,
            tcp6: TcpListener::bind(("::1", 0)).ok(),
            everywhere: TcpListener::bind(("0.0.0.0", 0))?,
            own_address: own_address(),
            udp: UdpSocket::bind(("127.0.0.1", 0))?,
            streams,
            datagrams: UnixDatagram::bind(outside.join("datagram.socket"))?,
            socket_in_tmp,
            abstract_name,
        };
        listeners.tcp4.set_nonblocking(true)?;
        listeners.everywhere.set_nonblocking(true)?;
        listeners.udp.set_nonblocking(true)?;
        listeners.datagrams.set_nonblocking(true)?;
        if let Some(listener) = &listeners.tcp6 {
            listener.set_nonblocking(true)?;
        }
        for (_, listener) in &listeners.streams {
            listener.set_nonblocking(true)?;
        }
        Ok(listeners)
    }

    pub fn tcp4(&self) -> io::Result<SocketAddr> {
        self.tcp4.local_addr()
    }

    pub fn tcp6(&self) -> Option<SocketAddr> {
        self.tcp6.as_ref()?.local_addr().ok()
    }

    pub fn udp(&self) -> io::Result<SocketAddr> {
        self.udp.local_addr()
    }

    pub fn own_address(&self) -> Option<SocketAddr> {
        Some(SocketAddr::new(self.own_address?, self.everywhere.local_addr().ok()?.port()))
    }

    /// Returns which sockets were reached since the last time.
    pub fn reached(&self) -> Vec<String> {
        let mut reached = Vec::new();
        let tcp = [
            ("127.0.0.1", Some(&self.tcp4)),
            ("::1", self.tcp6.as_ref()),
            ("0.0.0.0", Some(&self.everywhere)),
        ];
        for (name, listener) in tcp {
            let listener = listener.into_iter();
            let count = listener.flat_map(|listener| std::iter::from_fn(|| listener.accept().ok())).count();
            if count > 0 {
                reached.push(format!("a connection to {name}"));
            }
        }
        for (name, listener) in &self.streams {
            if std::iter::from_fn(|| listener.accept().ok()).count() > 0 {
                reached.push(format!("a connection to {name}"));
            }
        }
        let mut buffer = [0; 64];
        if std::iter::from_fn(|| self.udp.recv(&mut buffer).ok()).count() > 0 {
            reached.push("a packet by UDP".to_owned());
        }
        if std::iter::from_fn(|| self.datagrams.recv(&mut buffer).ok()).count() > 0 {
            reached.push("a datagram by a path".to_owned());
        }
        reached
    }
}

impl Drop for Listeners {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.socket_in_tmp);
    }
}

/// Returns the address that this machine would use to reach another one. Nothing is sent to find out.
fn own_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind(("0.0.0.0", 0)).ok()?;
    socket.connect(("192.0.2.1", 9)).ok()?;
    socket.local_addr().ok().map(|address| address.ip())
}
