//! What the server answers.

use std::fmt::Write as _;

/// An answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub status: &'static str,
    kind: &'static str,
    policy: String,
    body: String,
    /// Whether no request follows: where the body of a refused one ends does not matter then.
    pub closes: bool,
}

/// The policy for everything that is not a page.
const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'";

impl Answer {
    pub fn page(body: String, policy: String) -> Self {
        Self { status: "200 OK", kind: "text/html; charset=utf-8", policy, body, closes: false }
    }

    /// Returns an answer that is lines of JSON, which no browser shows as anything.
    pub fn json_lines(body: String) -> Self {
        let kind = "application/jsonl; charset=utf-8";
        Self { status: "200 OK", kind, policy: NOTHING.to_owned(), body, closes: false }
    }

    pub fn failure(status: &'static str, text: &str) -> Self {
        let (kind, body) = ("text/plain; charset=utf-8", format!("{text}\n"));
        Self { status, kind, policy: NOTHING.to_owned(), body, closes: true }
    }

    /// Returns the bytes of the answer.
    pub fn into_bytes(self, stays: bool) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {}\r\n", self.status);
        let connection = if stays && !self.closes { "keep-alive" } else { "close" };
        let headers: [(&str, &str); 10] = [
            ("Content-Type", self.kind),
            ("Content-Length", &self.body.len().to_string()),
            ("Content-Security-Policy", &self.policy),
            ("Referrer-Policy", "no-referrer"),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Connection", connection),
        ];
        for (name, value) in headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        head.push_str("\r\n");
        head.push_str(&self.body);
        head.into_bytes()
    }
}
