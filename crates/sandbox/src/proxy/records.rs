//! What the proxy remembers of connections: host, port, bytes and decision, never what was asked for.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use super::host::Endpoint;

/// How many connections are remembered; the oldest are forgotten first.
pub const MAX_RECORDS: usize = 1000;

/// What was decided about a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// The host is on the list.
    Listed,
    /// The user was asked and said yes.
    Approved,
    /// The host is on the list of those that may never be reached.
    Denied,
    /// The host is not on the list.
    Unlisted,
    /// The user was asked and said no.
    Declined,
    /// The name leads to addresses that names may not lead to.
    BadAddress,
    /// The name has no address, or nobody answers there.
    Unreachable,
}

impl Decision {
    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Listed => "listed",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Unlisted => "unlisted",
            Self::Declined => "declined",
            Self::BadAddress => "bad-address",
            Self::Unreachable => "unreachable",
        }
    }
}

/// One connection, as far as it is remembered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionRecord {
    /// A number that grows with each connection.
    pub number: u64,
    pub host: String,
    pub port: u16,
    pub decision: Decision,
    /// Bytes that went to the host.
    pub sent: u64,
    /// Bytes that came from the host.
    pub received: u64,
}

/// The bytes of a connection that may still be open.
#[derive(Debug, Default)]
pub struct Traffic {
    pub sent: AtomicU64,
    pub received: AtomicU64,
}

#[derive(Debug)]
struct Entry {
    endpoint: Endpoint,
    decision: Decision,
    traffic: Arc<Traffic>,
}

/// The connections of a proxy.
#[derive(Debug, Default)]
pub struct Records {
    entries: VecDeque<Entry>,
    forgotten: u64,
}

impl Records {
    /// Remembers a connection and returns where its bytes are counted.
    pub fn add(&mut self, endpoint: Endpoint, decision: Decision) -> Arc<Traffic> {
        if self.entries.len() == MAX_RECORDS {
            self.entries.pop_front();
            self.forgotten += 1;
        }
        let traffic = Arc::<Traffic>::default();
        self.entries.push_back(Entry { endpoint, decision, traffic: Arc::clone(&traffic) });
        traffic
    }

    /// Returns the connections, the oldest first.
    pub fn list(&self) -> Vec<ConnectionRecord> {
        let numbered = self.entries.iter().zip(self.forgotten..);
        let record = |(entry, number): (&Entry, u64)| ConnectionRecord {
            number,
            host: entry.endpoint.host.to_string(),
            port: entry.endpoint.port,
            decision: entry.decision,
            sent: entry.traffic.sent.load(Ordering::Relaxed),
            received: entry.traffic.received.load(Ordering::Relaxed),
        };
        numbered.map(record).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_connections_are_forgotten() {
        let mut records = Records::default();
        for port in 1..=1010 {
            records.add(Endpoint::parse("example.org", Some(port)).unwrap(), Decision::Unlisted);
        }
        let list = records.list();
        assert_eq!((list.len(), list[0].port, list[0].number, list[999].number), (1000, 11, 10, 1009));
    }
}
