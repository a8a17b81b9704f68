//! What the proxy needs of the network. Tests put a network of their own in its place, so that none of them resolves or
//! dials anything outside of this machine.

use std::fmt::Debug;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use bowline_tools::BoxFuture;
use tokio::net::TcpStream;

/// Resolves names and dials addresses.
pub trait Network: Debug + Send + Sync {
    /// Returns the addresses of a name, in the order in which they should be tried.
    fn resolve(&self, name: String, port: u16) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;

    /// Connects to an address.
    fn connect(&self, address: SocketAddr) -> BoxFuture<'static, io::Result<TcpStream>>;

    /// Tells whether an address is one of this machine's own.
    fn is_own(&self, address: IpAddr) -> bool;
}

/// The network of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemNetwork;

impl Network for SystemNetwork {
    fn resolve(&self, name: String, port: u16) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let addresses = tokio::net::lookup_host((name, port)).await?;
            Ok(addresses.map(|address| address.ip()).collect())
        })
    }

    fn connect(&self, address: SocketAddr) -> BoxFuture<'static, io::Result<TcpStream>> {
        Box::pin(TcpStream::connect(address))
    }

    fn is_own(&self, address: IpAddr) -> bool {
        let (anywhere, foreign): (IpAddr, IpAddr) = match address {
            IpAddr::V4(_) => (Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::new(192, 0, 2, 1).into()),
            IpAddr::V6(_) => {
                (Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into())
            }
        };
        // A socket can be bound to own addresses only, unless the machine is configured otherwise.
        if can_bind(address) && !can_bind(foreign) {
            return true;
        }
        // Connecting a UDP socket sends nothing. What goes to an own address comes from it as well.
        let route = UdpSocket::bind((anywhere, 0)).and_then(|socket| {
            socket.connect((address, 9))?;
            socket.local_addr()
        });
        route.is_ok_and(|source| source.ip() == address)
    }
}

fn can_bind(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_addresses_are_known() {
        assert!(SystemNetwork.is_own("127.0.0.1".parse().unwrap()));
        assert!(SystemNetwork.is_own("127.9.9.9".parse().unwrap()));
        assert!(!SystemNetwork.is_own("192.0.2.7".parse().unwrap()));
    }
}
