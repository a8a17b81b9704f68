//! Attempts 94 to 98: making the proxy reach what is not on its list.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::attempt::expected::REFUSED_OR_ABSENT;
use super::attempt::{Attempt, Preparation as _, Reach, Stop, Tried, refused, row};
use super::inside::Inside;

/// A host that is on the list, and that does not exist.
pub(super) const LISTED: &str = "listed.invalid";

/// How long the proxy may think.
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) const ATTEMPTS: &[Attempt] = &[
    proxied("94", "reach a host that is not listed", |inside| {
        let port = inside.facts.tcp4.port();
        any(inside, &["unlisted.invalid:443".to_owned(), format!("127.0.0.1:{port}")])
    }),
    proxied("95", "pass another name off as a listed one", |inside| {
        let names = [
            format!("unlisted.invalid\0.{LISTED}:443"),
            format!("unlisted.invalid%00.{LISTED}:443"),
            format!("{LISTED}@unlisted.invalid:443"),
            format!("{LISTED}:443@unlisted.invalid:443"),
            format!("{LISTED}.unlisted.invalid:443"),
            format!("UNLISTED.invalid#{LISTED}:443"),
            format!("unlisted.invalid\\{LISTED}:443"),
        ];
        any(inside, &names)
    }),
    proxied("96", "write an address in an odd way", |inside| {
        let port = inside.facts.tcp4.port();
        let forms = [
            "2130706433",
            "0x7f000001",
            "0177.0.0.1",
            "127.1",
            "0",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "127.0.0.1.",
        ];
        any(inside, &forms.map(|form| format!("{form}:{port}")))
    }),
    proxied("97", "reach this machine by a listed name", |inside| {
        // The name is on the list, but what it resolves to is not for it to reach.
        let port = inside.facts.tcp4.port();
        match ask(inside, &format!("localhost:{port}"))? {
            200 => Ok(()),
            status => refused(format!("answered with {status}")),
        }
    }),
    proxied("98", "reach the address of cloud metadata", |inside| {
        any(inside, &["169.254.169.254:80".to_owned()])
    }),
];

const fn proxied(number: &'static str, name: &'static str, act: fn(&Inside) -> Tried) -> Attempt {
    Attempt { proxied: true, ..row(number, "network.outside", name, REFUSED_OR_ABSENT, Reach::Nobody, act) }
}

/// Asks for each of these, none of which the list allows.
fn any(inside: &Inside, targets: &[String]) -> Tried {
    let mut last = 0;
    for target in targets {
        last = ask(inside, target)?;
        // An error of a gateway means that the proxy has tried.
        if matches!(last, 200 | 502 | 504) {
            return Ok(());
        }
    }
    refused(format!("answered with {last}"))
}

/// Asks the proxy for a connection and returns the status of its answer; 0 if it hung up.
fn ask(inside: &Inside, target: &str) -> Result<u16, Stop> {
    let variable = inside.environment.iter().find(|(name, _)| name == "HTTPS_PROXY" || name == "https_proxy");
    let Some((_, proxy)) = variable else { return Err(Stop::Failed("there is no proxy".to_owned())) };
    let address = proxy.trim_start_matches("http://").trim_end_matches('/');
    let address: SocketAddr = address.parse().prepared("finding the proxy")?;
    let mut connection =
        TcpStream::connect_timeout(&address, PATIENCE).prepared("connecting to the proxy")?;
    connection.set_read_timeout(Some(PATIENCE)).prepared("setting a time limit")?;
    let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n");
    connection.write_all(request.as_bytes()).prepared("asking the proxy")?;
    let mut answer = [0; 64];
    let length = connection.read(&mut answer).unwrap_or(0);
    let text = String::from_utf8_lossy(&answer[..length]).into_owned();
    Ok(text.split_whitespace().nth(1).and_then(|status| status.parse().ok()).unwrap_or(0))
}
