use super::*;
use proptest::prelude::*;

#[track_caller]
fn check(head: &str, expected: &str) {
    let head = head.replace('\n', "\r\n") + "\r\n\r\n";
    let shown = match RequestHead::parse(head.as_bytes()) {
        Ok(RequestHead { endpoint, kind: RequestKind::Tunnel }) => format!("tunnel to {endpoint}"),
        Ok(RequestHead { endpoint, kind: RequestKind::Forward { head, body } }) => {
            let head = String::from_utf8(head).unwrap().replace("\r\n", "\n");
            format!("to {endpoint}, {body:?}: {}", head.trim_end())
        }
        Err(HeadError::Malformed(error)) => format!("{error:?}"),
        Err(error) => format!("{error:?}"),
    };
    assert_eq!(shown, expected, "{head:?}");
}

#[test]
fn tunnels_need_a_host_and_a_port() {
    check("CONNECT example.org:443 HTTP/1.1\nHost: example.org:443", "tunnel to example.org:443");
    check("CONNECT Example.org.:443 HTTP/1.1\nHost: example.org", "tunnel to example.org:443");
    check("CONNECT [2606:4700::1]:443 HTTP/1.0", "tunnel to [2606:4700::1]:443");
    check("CONNECT example.org HTTP/1.1", "Host(NoPort)");
    check("CONNECT http://example.org:443/ HTTP/1.1", "Host(Brackets)");
    check("CONNECT example.org:443 HTTP/1.1\nHost: evil.example:443", "OtherHost");
    check("CONNECT example.org:443 HTTP/1.1\nHost: example.org:22", "OtherHost");
    check("CONNECT example.org:443 HTTP/1.1\nContent-Length: 3", "TunnelBody");
    check("CONNECT evil.example\0.example.org:443 HTTP/1.1", "Target");
    check("CONNECT user@example.org:443 HTTP/1.1", "Host(UserInfo)");
    check("CONNECT 2130706433:80 HTTP/1.1", "Host(OddAddress)");
}

#[test]
fn requests_are_rewritten_for_the_server() {
    check(
        "GET http://Example.org/a?b=http://x HTTP/1.1\nHost: example.org:80\nAccept: */*\nProxy-Authorization: Basic eA==\nProxy-Connection: keep-alive\nConnection: keep-alive, X-Mine\nX-Mine: 1",
        "to example.org:80, Length(0): GET /a?b=http://x HTTP/1.1\nHost: example.org\nAccept: */*\nConnection: close",
    );
    check(
        "POST HTTP://example.org:8080 HTTP/1.0\nContent-Length: 3",
        "to example.org:8080, Length(3): POST / HTTP/1.0\nHost: example.org:8080\nContent-Length: 3\nConnection: close",
    );
    check(
        "GET http://example.org?q HTTP/1.1",
        "to example.org:80, Length(0): GET /?q HTTP/1.1\nHost: example.org\nConnection: close",
    );
    check(
        "PUT http://example.org/ HTTP/1.1\nTransfer-Encoding: chunked\nTE: trailers\nUpgrade: websocket",
        "to example.org:80, Chunked: PUT / HTTP/1.1\nHost: example.org\nTransfer-Encoding: chunked\nConnection: close",
    );
}

#[test]
fn what_is_no_request_to_a_proxy_is_refused() {
    check("GET / HTTP/1.1\nHost: example.org", "OriginForm");
    check("GET /://x HTTP/1.1", "OriginForm");
    check("OPTIONS * HTTP/1.1", "OriginForm");
    check("GET https://example.org/ HTTP/1.1", "Scheme");
    check("GET ftp://example.org/ HTTP/1.1", "Scheme");
    check("GET http:/example.org/ HTTP/1.1", "OriginForm");
    check("GET http://user:secret@example.org/ HTTP/1.1", "Host(UserInfo)");
    check("GET http://example.org\\@evil.example/ HTTP/1.1", "Host(UserInfo)");
    check("GET http:///path HTTP/1.1", "Host(Empty)");
    check("GET http://example.org/#fragment HTTP/1.1", "Path");
    check("GET http://example.org/ä HTTP/1.1", "Target");
    check("GET  http://example.org/ HTTP/1.1", "RequestLine");
    check("GET http://example.org/ HTTP/1.1 ", "RequestLine");
    check("GET http://example.org/ HTTP/2.0", "RequestLine");
    check("GET http://example.org/", "RequestLine");
    check("get http://example.org/ HTTP/1.1", "RequestLine");
}

#[test]
fn nothing_can_be_smuggled() {
    let with = |header: &str, expected: &str| {
        check(&format!("POST http://example.org/ HTTP/1.1\n{header}"), expected);
    };
    with("Host: evil.example", "OtherHost");
    with("Host: example.org:8080", "OtherHost");
    with("Host: example.org\nHost: example.org", "Repeated");
    with("Content-Length: 3\nTransfer-Encoding: chunked", "Length");
    with("Content-Length: 3\nContent-Length: 3", "Length");
    with("Content-Length: 3, 3", "Length");
    with("Content-Length: +3", "Length");
    with("Content-Length: 0x3", "Length");
    with("Content-Length:", "Length");
    with("Content-Length: 99999999999999999999", "Length");
    with("Transfer-Encoding: chunked\nTransfer-Encoding: chunked", "Length");
    with("Transfer-Encoding: gzip, chunked", "Length");
    with("Transfer-Encoding: xchunked", "Length");
    with("Transfer-Encoding : chunked", "Header");
    with("X: a\n b", "Folded");
    with("X: a\n\tb", "Folded");
    with("X", "Header");
    with(": x", "Header");
    with("X: a\0b", "Header");
    with("X: a\x7f", "Header");
    with("Connection: Content-Length\nContent-Length: 3", "Connection");
    with("Connection: x, transfer-encoding", "Connection");
    with("Connection: Host", "Connection");
    check("POST http://example.org/ HTTP/1.0\nTransfer-Encoding: chunked", "Length");
}

#[test]
fn lines_end_in_cr_lf() {
    for head in [
        "GET http://example.org/ HTTP/1.1\n\n",
        "GET http://example.org/ HTTP/1.1\r\nX: a\nY: b\r\n\r\n",
        "GET http://example.org/ HTTP/1.1\r\nX: a\rY: b\r\n\r\n",
        "GET http://example.org/ HTTP/1.1\r\nX: a\r\r\n\r\n",
        "\nGET",
    ] {
        assert_eq!(received(head.as_bytes()), Err(Malformed::LineEnd), "{head:?}");
    }
    assert_eq!(received(b"GET http://example.org/ HTTP/1.1\r"), Ok(Received::Partly));
}

#[test]
fn heads_are_bounded() {
    let long = format!("GET http://example.org/{} HTTP/1.1\r\n", "a".repeat(MAX_HEAD));
    assert_eq!(received(long.as_bytes()), Err(Malformed::TooLarge));
    check(&format!("GET http://example.org/ HTTP/1.1{}", "\nX: a".repeat(101)), "TooManyHeaders");
    check(&format!("{} http://example.org/ HTTP/1.1", "A".repeat(33)), "RequestLine");
}

proptest! {
    #[test]
    fn any_bytes_are_parsed_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        check_any_bytes(&bytes);
    }

    #[test]
    fn any_head_is_parsed_or_refused(
        method in "CONNECT|GET|POST|[A-Z]{0,4}",
        target in "(http://)?[a-z0-9.:@\\[\\]]{0,12}[/?#]?[ -~]{0,8}",
        headers in proptest::collection::vec("(Host|Connection|Content-Length|Transfer-Encoding|X):? ?[ -~]{0,12}", 0..4),
    ) {
        let head = format!("{method} {target} HTTP/1.1\r\n{}\r\n\r\n", headers.join("\r\n"));
        check_any_bytes(head.as_bytes());
    }
}
