//! Attempts 75 to 88: leaving by the network, with every kind of socket.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use rustix::net::{AddressFamily, Protocol, RawProtocol, SendFlags, SocketFlags, SocketType};

use super::attempt::expected::{HARMLESS, PRIVATE_OR_REFUSED, REFUSED};
use super::attempt::{Attempt, Preparation as _, Reach, Stop, Tried, refused, row};
use super::inside::Inside;

use Reach::{Anyone, Machine};

/// An address of the block that is reserved for documentation: no host has it.
const ELSEWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 443);

/// Where echo requests go: nothing leaves this machine, whoever makes the attempt.
const HERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// How long a connection may take.
const PATIENCE: Duration = Duration::from_millis(500);

pub(super) const ATTEMPTS: &[Attempt] = &[
    row("75", "network.outside", "connect by TCP to 127.0.0.1", REFUSED, Anyone, |inside| {
        connect(inside.facts.tcp4)
    }),
    row("76", "network.outside", "connect by TCP to ::1", REFUSED, Machine, |inside| {
        connect(inside.facts.tcp6.ok_or_else(|| Stop::Absent("the machine has no IPv6".to_owned()))?)
    }),
    row("77", "network.outside", "connect to an address of this machine", REFUSED, Machine, |inside| {
        let missing = || Stop::Absent("the machine has no address but its loopback".to_owned());
        connect(inside.facts.own_address.ok_or_else(missing)?)
    }),
    row("78", "network.outside", "find a way to another machine", REFUSED, Machine, |_| elsewhere()),
    row("79", "network.outside", "connect by MPTCP", REFUSED, Machine, multipath),
    row("80", "network.outside", "connect by TCP Fast Open", REFUSED, Anyone, fast_open),
    row("81", "network.outside", "send by UDP", REFUSED, Anyone, |inside| send(inside.facts.udp)),
    row("82", "network.outside", "find a way to a name server", REFUSED, Machine, |_| ask_name_server()),
    row("83", "network.outside", "ping by a raw socket", REFUSED, Machine, |_| ping(SocketType::RAW)),
    row("84", "network.outside", "ping by a datagram socket", REFUSED, Machine, |_| ping(SocketType::DGRAM)),
    row("85", "network.packet", "open a packet socket", REFUSED, Machine, |_| {
        open(AddressFamily::PACKET, SocketType::RAW, None)
    }),
    row("86", "network.vsock", "open a vsock socket", REFUSED, Machine, |_| {
        open(AddressFamily::VSOCK, SocketType::STREAM, None)
    }),
    row("87", "kernel.calls", "open a crypto socket", REFUSED, Machine, |_| {
        open(AddressFamily::from_raw(libc::AF_ALG as u16), SocketType::SEQPACKET, None)
    }),
    row("88", "network.outside", "open a netlink socket", HARMLESS, Anyone, |_| {
        open(AddressFamily::NETLINK, SocketType::RAW, None)
    }),
    row("88b", "network.outside", "listen on a TCP port", PRIVATE_OR_REFUSED, Anyone, |_| {
        Ok(TcpListener::bind(("0.0.0.0", 0)).map(drop)?)
    }),
];

fn connect(address: SocketAddr) -> Tried {
    Ok(TcpStream::connect_timeout(&address, PATIENCE).map(drop)?)
}

fn open(family: AddressFamily, kind: SocketType, protocol: Option<Protocol>) -> Tried {
    Ok(rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, protocol).map(drop)?)
}

/// Begins to connect to a host that does not exist: whether there is a way out is known before an answer.
/// Asks the kernel for a way to another machine. Connecting a datagram socket sends nothing, and is refused where there is
/// no way.
fn elsewhere() -> Tried {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    Ok(socket.connect(ELSEWHERE)?)
}

fn multipath(inside: &Inside) -> Tried {
    const MPTCP: u32 = 262;
    let protocol = RawProtocol::new(MPTCP).map(Protocol::from_raw);
    let socket =
        rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, protocol)?;
    Ok(rustix::net::connect(socket, &inside.facts.tcp4)?)
}

/// Connects by sending, which a rule about connect(2) does not see.
fn fast_open(inside: &Inside) -> Tried {
    let fast_open = SendFlags::from_bits_retain(libc::MSG_FASTOPEN.cast_unsigned());
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None)?;
    rustix::net::sendto(socket, b"!", fast_open | SendFlags::NOSIGNAL, &inside.facts.tcp4)?;
    Ok(())
}

fn send(address: SocketAddr) -> Tried {
    let socket = UdpSocket::bind(("127.0.0.1", 0))?;
    socket.connect(address)?;
    socket.send(b"!")?;
    // Nobody listens in a network of one's own, which the next call on the socket tells.
    socket.set_read_timeout(Some(Duration::from_millis(20))).prepared("setting a time limit")?;
    match socket.recv(&mut [0; 8]) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Err(error.into()),
        _ => Ok(()),
    }
}

fn ask_name_server() -> Tried {
    let text = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    let server =
        text.lines().find_map(|line| line.strip_prefix("nameserver ")?.trim().parse::<IpAddr>().ok());
    let Some(server) = server else { return Err(Stop::Absent("no name server is configured".to_owned())) };
    let local = if server.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    // As above: whoever finds a way could ask.
    let socket = UdpSocket::bind(local)?;
    match socket.connect((server, 53)) {
        // A name server on the loopback interface is that of the sandbox, where nobody listens.
        Ok(()) if server.is_loopback() => refused("nobody listens there"),
        result => Ok(result?),
    }
}

fn ping(kind: SocketType) -> Tried {
    const ICMP: u32 = 1;
    let protocol = RawProtocol::new(ICMP).map(Protocol::from_raw);
    let socket = rustix::net::socket_with(AddressFamily::INET, kind, SocketFlags::CLOEXEC, protocol)?;
    // An echo request: type 8, its checksum, and a number.
    let sent = rustix::net::sendto(socket, b"\x08\0\xf7\xff\0\0\0\0", SendFlags::DONTWAIT, &HERE)?;
    if sent == 8 { Ok(()) } else { refused("nothing was sent") }
}
