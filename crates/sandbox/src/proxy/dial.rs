//! From a host that was asked for to a connection: what the rules say, whom to ask, and which addresses may be dialled.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::address;
use super::host::{Endpoint, Host};
use super::records::{Decision, Traffic};
use super::rules::Verdict;
use super::{HostAnswer, Proxy};

/// How many addresses of a host are tried.
const MAX_ADDRESSES: usize = 4;

/// A connection to a host, and where its bytes are counted.
#[derive(Debug)]
pub struct Dialled {
    pub stream: TcpStream,
    pub traffic: Arc<Traffic>,
}

/// Why a host was not reached, in words for whoever reads the program's output.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    pub status: &'static str,
    pub text: String,
}

impl Proxy {
    /// Decides about a host.
    pub(super) async fn decide(&self, endpoint: &Endpoint) -> Result<Decision, Refusal> {
        let verdict = self.rules().verdict(endpoint);
        const UNLISTED: (Decision, &str) =
            (Decision::Unlisted, "it is not on the list of hosts that the user allows");
        let (decision, why) = match (verdict, &self.questions) {
            (Verdict::Allowed, _) => return Ok(Decision::Listed),
            (Verdict::Denied, _) => (Decision::Denied, "the user's settings deny it"),
            (Verdict::Unlisted, None) => UNLISTED,
            (Verdict::Unlisted, Some(questions)) => match questions.ask(endpoint).await {
                HostAnswer::Allowed => return Ok(Decision::Approved),
                HostAnswer::Declined => (Decision::Declined, "the user was asked and did not allow it"),
                HostAnswer::Unanswered => (
                    Decision::Unlisted,
                    "it is not on the list, and nobody answered in time whether it may be",
                ),
                HostAnswer::NotAsked => UNLISTED,
            },
        };
        self.record(endpoint, decision);
        Err(forbidden(format!("The sandbox does not let programs reach {endpoint}: {why}.")))
    }

    /// Connects to a host that may be reached. Its name is resolved once, and only addresses that passed are dialled.
    pub(super) async fn dial(&self, endpoint: &Endpoint, decision: Decision) -> Result<Dialled, Refusal> {
        let fail = |decision, refusal| {
            self.record(endpoint, decision);
            Err(refusal)
        };
        let addresses = match self.addresses(endpoint).await {
            Ok(addresses) => addresses,
            Err(text) => return fail(Decision::Unreachable, unreachable(text)),
        };
        let passed = match self.pass(endpoint, &addresses, decision) {
            Ok(passed) => passed,
            Err(text) => return fail(Decision::BadAddress, forbidden(text)),
        };
        let mut reason = "nobody answered in time".to_owned();
        for address in passed.into_iter().take(MAX_ADDRESSES) {
            let connecting = self.network.connect(SocketAddr::new(address, endpoint.port));
            match timeout(self.limits.connect, connecting).await {
                Ok(Ok(stream)) => return Ok(Dialled { stream, traffic: self.record(endpoint, decision) }),
                Ok(Err(error)) => reason = error.to_string(),
                Err(_) => {}
            }
        }
        fail(Decision::Unreachable, unreachable(format!("{endpoint} cannot be reached: {reason}.")))
    }

    async fn addresses(&self, endpoint: &Endpoint) -> Result<Vec<IpAddr>, String> {
        let name = match &endpoint.host {
            Host::Address(address) => return Ok(vec![*address]),
            Host::Name(name) => name.clone(),
        };
        match timeout(self.limits.resolve, self.network.resolve(name, endpoint.port)).await {
            Ok(Ok(addresses)) if !addresses.is_empty() => Ok(addresses),
            Ok(Ok(_)) => Err(format!("{} has no address.", endpoint.host)),
            Ok(Err(error)) => Err(format!("{} has no address: {error}.", endpoint.host)),
            Err(_) => Err(format!("{} could not be resolved in time.", endpoint.host)),
        }
    }

    /// Returns the addresses that may be dialled. The error says why there are none.
    fn pass(
        &self,
        endpoint: &Endpoint,
        addresses: &[IpAddr],
        decision: Decision,
    ) -> Result<Vec<IpAddr>, String> {
        let rules = self.rules();
        // Whoever was asked about an address has seen the address.
        let approved =
            |address: &IpAddr| decision == Decision::Approved && endpoint.host == Host::Address(*address);
        let mut passed = Vec::new();
        let mut reason = "";
        for address in addresses.iter().map(IpAddr::to_canonical) {
            let special = || {
                address::special(address).or_else(|| self.network.is_own(address).then_some("this machine"))
            };
            if rules.denies_address(address, endpoint.port) {
                reason = "an address that the user's settings deny";
            } else if approved(&address) || rules.names_address(address, endpoint.port) {
                passed.push(address);
            } else if let Some(kind) = special() {
                reason = kind;
            } else {
                passed.push(address);
            }
        }
        match passed.is_empty() {
            false => Ok(passed),
            true => Err(format!(
                "The sandbox does not let programs reach {endpoint}: it leads to {reason}. Only an entry with the address itself would allow that."
            )),
        }
    }
}

fn forbidden(text: String) -> Refusal {
    Refusal { status: "403 Forbidden by the sandbox", text }
}

fn unreachable(text: String) -> Refusal {
    Refusal { status: "502 Bad Gateway", text }
}
