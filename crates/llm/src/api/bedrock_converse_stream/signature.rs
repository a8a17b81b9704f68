//! Amazon's request signature, version 4.

use std::fmt::Write;

use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use ring::hmac::{HMAC_SHA256, Key, Tag, sign as authenticate};

use crate::secret::Secret;

/// The key of an account.
#[derive(Debug)]
pub(super) struct AccountKey<'a> {
    pub(super) id: &'a str,
    pub(super) secret: Secret,
}

/// The signed parts of a POST.
#[derive(Debug)]
pub(super) struct Signed<'a> {
    pub(super) region: &'a str,
    pub(super) service: &'a str,
    /// The path as sent, already percent-encoded.
    pub(super) path: &'a str,
    /// The headers, with lower-case names in alphabetical order; must include `host` and `x-amz-date`.
    pub(super) headers: &'a [(&'a str, &'a str)],
    pub(super) body: &'a [u8],
    pub(super) time: Timestamp,
}

/// Formats a time for the header `x-amz-date`.
pub(super) fn date_header(time: Timestamp) -> String {
    time.strftime("%Y%m%dT%H%M%SZ").to_string()
}

impl Signed<'_> {
    /// Returns the value of the header `authorization`.
    pub(super) fn authorization(&self, key: &AccountKey<'_>) -> Secret {
        let date = date_header(self.time);
        let day = &date[..8];
        let Self { region, service, .. } = self;
        let scope = format!("{day}/{region}/{service}/aws4_request");
        let names = self.headers.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
        let request = hexadecimal(digest(&SHA256, self.canonical(&names).as_bytes()).as_ref());
        let text = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{request}");
        let first = hash(format!("AWS4{}", key.secret.expose()).as_bytes(), day);
        let steps = [*region, *service, "aws4_request", &text];
        let signature = steps.iter().fold(first, |tag, step| hash(tag.as_ref(), step));
        let signature = hexadecimal(signature.as_ref());
        let id = key.id;
        Secret::new(format!(
            "AWS4-HMAC-SHA256 Credential={id}/{scope}, SignedHeaders={names}, Signature={signature}"
        ))
    }

    /// Returns the canonical request. Every service but S3 encodes the path once more.
    fn canonical(&self, names: &str) -> String {
        let mut text = format!("POST\n{}\n\n", encode_path(self.path));
        for (name, value) in self.headers {
            let _ = writeln!(text, "{name}:{}", value.trim());
        }
        let body = hexadecimal(digest(&SHA256, self.body).as_ref());
        let _ = write!(text, "\n{names}\n{body}");
        text
    }
}

fn hash(key: &[u8], text: &str) -> Tag {
    authenticate(&Key::new(HMAC_SHA256, key), text.as_bytes())
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Percent-encodes a path: each segment, but not the slashes between them.
fn encode_path(path: &str) -> String {
    path.split('/').map(encode_segment).collect::<Vec<_>>().join("/")
}

/// Percent-encodes everything but the unreserved characters.
pub(super) fn encode_segment(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(headers: &[(&str, &str)], body: &str, names: &str, signature: &str) {
        let signed = Signed {
            region: "us-east-1",
            service: "service",
            path: "/",
            headers,
            body: body.as_bytes(),
            time: "2015-08-30T12:36:00Z".parse().unwrap(),
        };
        let secret = Secret::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY");
        let value = signed.authorization(&AccountKey { id: "AKIDEXAMPLE", secret });
        let expected = format!(
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders={names}, Signature={signature}"
        );
        assert_eq!(value.expose(), expected);
    }

    /// `post-vanilla`, `post-header-key-sort` and `post-x-www-form-urlencoded` of Amazon's test suite.
    #[test]
    fn amazons_examples_have_the_expected_signature() {
        let host = ("host", "example.amazonaws.com");
        let date = ("x-amz-date", "20150830T123600Z");
        check(
            &[host, date],
            "",
            "host;x-amz-date",
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
        );
        check(
            &[host, ("my-header1", "value1"), date],
            "",
            "host;my-header1;x-amz-date",
            "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c",
        );
        check(
            &[("content-type", "application/x-www-form-urlencoded"), host, date],
            "Param1=value1",
            "content-type;host;x-amz-date",
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
        );
    }

    #[test]
    fn path_is_encoded_once_more() {
        assert_eq!(encode_segment("a.b-v1:0"), "a.b-v1%3A0");
        assert_eq!(encode_path("/model/a%3A0/x"), "/model/a%253A0/x");
    }
}
