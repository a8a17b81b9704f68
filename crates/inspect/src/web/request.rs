//! What a request wants, and whether it may have it.

use bowline_http_head::{Framing, Head};

use super::answer::Answer;
use super::token::Token;

/// How large a command of the page may be.
pub(super) const LARGEST_BODY: u64 = 4 * 1024 * 1024;

/// A request that may be answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub wanted: Wanted,
    /// The length of its body.
    pub body: u64,
    /// Whether another request may follow on the connection.
    pub stays: bool,
}

/// What a request wants.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Page,
    /// The rows from a number on, as soon as there are any.
    Records {
        from: usize,
    },
    /// One row, whole.
    Record {
        number: usize,
    },
    /// What the command box completes.
    Commands,
    /// To send a line to the command.
    Send,
}

/// Returns a request, if it may be answered.
pub(super) fn admit(head: &Head<'_>, port: u16, token: &Token) -> Result<Request, Answer> {
    let malformed =
        |error: bowline_http_head::HeadError| Answer::failure("400 Bad Request", &error.to_string());
    let host = head.headers.only("host").map_err(malformed)?.unwrap_or_default();
    let is_ours = |host: &str| host == format!("127.0.0.1:{port}") || host == format!("localhost:{port}");
    if !is_ours(host) {
        return Err(Answer::failure("403 Forbidden", "the page is only served under its own address"));
    }
    let (path, query) = head.request.target.split_once('?').unwrap_or((head.request.target, ""));
    let mut parts = path.trim_start_matches('/').splitn(2, '/');
    // Whoever does not know the token learns nothing about what there is.
    let nothing = || Answer::failure("404 Not Found", "there is nothing here");
    if !token.is(parts.next().unwrap_or_default()) {
        return Err(nothing());
    }
    let wanted = match (head.request.method, parts.next()) {
        ("GET", Some("")) => Wanted::Page,
        ("GET", Some("records")) => Wanted::Records { from: number(query, "from").ok_or_else(nothing)? },
        ("GET", Some("record")) => Wanted::Record { number: number(query, "number").ok_or_else(nothing)? },
        ("GET", Some("commands")) => Wanted::Commands,
        ("POST", Some("send")) => Wanted::Send,
        (_, Some("" | "records" | "record" | "commands" | "send")) => {
            return Err(Answer::failure("405 Method Not Allowed", "this cannot be done here"));
        }
        _ => return Err(nothing()),
    };
    let from_elsewhere = || Answer::failure("403 Forbidden", "the request is not from the page");
    let header = |name: &str| head.headers.only(name).map_err(malformed);
    if wanted == Wanted::Send && !header("bowline-token")?.is_some_and(|text| token.is(text)) {
        return Err(from_elsewhere());
    }
    // The page may be opened from elsewhere, by a link or a terminal; nothing else may.
    if wanted != Wanted::Page {
        let is_own = |origin: &str| origin.strip_prefix("http://").is_some_and(is_ours);
        let is_same = |site: &str| matches!(site, "same-origin" | "none");
        if !header("origin")?.is_none_or(is_own) || !header("sec-fetch-site")?.is_none_or(is_same) {
            return Err(from_elsewhere());
        }
    }
    let body = match head.framing().map_err(malformed)? {
        Framing::Length(length) if length <= LARGEST_BODY => length,
        Framing::Length(_) => {
            return Err(Answer::failure("413 Content Too Large", "the command is too large"));
        }
        Framing::Chunked => return Err(Answer::failure("411 Length Required", "the length is missing")),
    };
    let closes = |value: &[u8]| value.eq_ignore_ascii_case(b"close");
    let stays = head.request.version.as_str() == "HTTP/1.1" && !head.headers.values("connection").any(closes);
    Ok(Request { wanted, body, stays })
}

/// Returns the number that a query has under a name.
fn number(query: &str, name: &str) -> Option<usize> {
    let value = query.split('&').find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name));
    value?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "Host: 127.0.0.1:81";

    #[track_caller]
    fn check(line: &str, headers: &str, expected: Result<Wanted, &str>) {
        let token = Token::random().unwrap();
        let headers = headers.replace("TOKEN", token.as_str()).replace('\n', "\r\n");
        let head = format!("{} HTTP/1.1\r\n{headers}\r\n\r\n", line.replace("TOKEN", token.as_str()));
        let head = Head::parse(head.as_bytes()).unwrap();
        let admitted = admit(&head, 81, &token).map(|request| request.wanted);
        match (admitted, expected) {
            (Ok(wanted), Ok(expected)) => assert_eq!(wanted, expected, "{line}"),
            (Err(answer), Err(expected)) => {
                assert!(answer.status.starts_with(expected), "{line}: {}", answer.status);
            }
            (admitted, expected) => panic!("{line} {headers}: {} {expected:?}", admitted.is_ok()),
        }
    }

    #[test]
    fn whoever_knows_the_token_and_the_address_is_served() {
        check("GET /TOKEN/", HOST, Ok(Wanted::Page));
        check("GET /TOKEN/", "Host: localhost:81\nSec-Fetch-Site: cross-site", Ok(Wanted::Page));
        check("GET /TOKEN/records?from=7", HOST, Ok(Wanted::Records { from: 7 }));
        check("GET /TOKEN/record?number=7", HOST, Ok(Wanted::Record { number: 7 }));
        check("GET /TOKEN/commands", &format!("{HOST}\nSec-Fetch-Site: same-origin"), Ok(Wanted::Commands));
        check(
            "POST /TOKEN/send",
            &format!("{HOST}\nBowline-Token: TOKEN\nOrigin: http://127.0.0.1:81"),
            Ok(Wanted::Send),
        );
    }

    #[test]
    fn everybody_else_is_refused() {
        check("GET /", HOST, Err("404"));
        check("GET /0000/", HOST, Err("404"));
        check("GET /TOKEN", HOST, Err("404"));
        check("GET /TOKEN/records?from=-1", HOST, Err("404"));
        check("GET /TOKEN/other", HOST, Err("404"));
        check("GET /TOKEN/", "X: y", Err("403"));
        check("GET /TOKEN/", "Host: evil.example:81", Err("403"));
        check("GET /TOKEN/", "Host: 127.0.0.1", Err("403"));
        check("GET /TOKEN/", &format!("{HOST}\n{HOST}"), Err("400"));
        check("GET /TOKEN/send", HOST, Err("405"));
        check("DELETE /TOKEN/", HOST, Err("405"));
        check("POST /TOKEN/send", HOST, Err("403"));
        check("POST /TOKEN/send", &format!("{HOST}\nBowline-Token: 0"), Err("403"));
        check(
            "POST /TOKEN/send",
            &format!("{HOST}\nBowline-Token: TOKEN\nOrigin: http://evil.example"),
            Err("403"),
        );
        check("GET /TOKEN/records?from=0", &format!("{HOST}\nSec-Fetch-Site: cross-site"), Err("403"));
        check(
            "POST /TOKEN/send",
            &format!("{HOST}\nBowline-Token: TOKEN\nContent-Length: 99999999"),
            Err("413"),
        );
        check(
            "POST /TOKEN/send",
            &format!("{HOST}\nBowline-Token: TOKEN\nTransfer-Encoding: chunked"),
            Err("411"),
        );
    }
}
