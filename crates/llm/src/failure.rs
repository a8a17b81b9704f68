//! Classifies the refusals of providers and words them for the user.

use std::time::{Duration, SystemTime};

use bowline_core::stream::{FailureKind, StreamError};
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use serde_json::Value;

use crate::limits::{PROVIDER_TEXT, shorten};

/// The most of a refusal that is searched for words, in bytes. What matters is said early.
const SEARCHED: usize = 64 * 1024;

/// Words of refusals that retrying cannot fix.
const QUOTA: &[&str] = &[
    "insufficient_quota",
    "insufficient balance",
    "insufficient credit",
    "insufficient funds",
    "quota exceeded",
    "exceeded your current quota",
    "credit balance",
    "available balance",
    "out of budget",
    "out of credit",
    "usage limit reached",
    "usagelimiterror",
    "billing_error",
    " billing ",
];

/// Words of refusals that mean the conversation is too large for the model.
const OVERFLOW: &[&str] = &[
    "prompt is too long",
    "input is too long",
    "context length",
    "context_length",
    "context limit",
    "context size",
    "maximum context",
    "context window",
    "request_too_large",
    "reduce the length of the messages",
];

/// The names of the failure kinds in scripts and recordings.
pub(crate) const KINDS: &[(&str, FailureKind)] = &[
    ("authentication", FailureKind::Authentication),
    ("quota", FailureKind::Quota),
    ("rate-limited", FailureKind::RateLimited),
    ("unavailable", FailureKind::Unavailable),
    ("connection", FailureKind::Connection),
    ("timed-out", FailureKind::TimedOut),
    ("cut", FailureKind::Incomplete),
    ("context-overflow", FailureKind::ContextOverflow),
    ("not-found", FailureKind::NotFound),
    ("rejected", FailureKind::Rejected),
    ("protocol", FailureKind::Protocol),
    ("too-large", FailureKind::TooLarge),
    ("too-slow", FailureKind::TooSlow),
];

/// An error response instead of a stream.
#[derive(Debug)]
pub(crate) struct Refusal<'a> {
    pub(crate) status: u16,
    /// The values of `retry-after-ms` and `retry-after`.
    pub(crate) retry_after_ms: Option<&'a str>,
    pub(crate) retry_after: Option<&'a str>,
    /// The value of `x-should-retry`, with which some providers override their status.
    pub(crate) should_retry: Option<&'a str>,
    pub(crate) body: &'a [u8],
    /// The origin of the key.
    pub(crate) key_origin: Option<&'a str>,
}

impl Refusal<'_> {
    /// Returns the failure that the response means.
    pub(crate) fn into_failure(self) -> StreamError {
        let (name, text) = describe(self.body);
        let kind = advised(kind_of(Some(self.status), name.as_deref(), &text), self.should_retry);
        let mut message = tell(Some(self.status), name.as_deref(), &text);
        if let Some(hint) = hint(kind, self.key_origin) {
            message = format!("{message} ({hint})");
        }
        let retry_after = wait(self.retry_after_ms, self.retry_after, now());
        StreamError { kind, status: Some(self.status), message, retry_after }
    }
}

/// Returns the failure for an error inside a stream. The text is whole: secrets are masked in it before it is shortened.
pub(crate) fn in_stream(status: Option<u16>, name: Option<&str>, text: &str) -> StreamError {
    let kind = kind_of(status, name, text);
    StreamError { kind, status, message: tell(status, name, text), retry_after: None }
}

/// Words of failures that a retry may overcome.
const PASSING: &[&str] = &[
    "overloaded",
    "unavailable",
    "internal server error",
    "server error",
    "bad gateway",
    "gateway timeout",
    "timed out",
    "timeout",
    "connection",
    "network",
    "fetch failed",
    "socket hang up",
];

/// Returns the kind of a failure of which only the text is known, as of a provider that an extension adds.
pub fn failure_kind_of(text: &str) -> FailureKind {
    let words = text[..text.floor_char_boundary(SEARCHED)].to_lowercase();
    match kind_of(None, None, text) {
        FailureKind::Unavailable if !PASSING.iter().any(|phrase| words.contains(phrase)) => {
            FailureKind::Rejected
        }
        kind => kind,
    }
}

/// Classifies a refusal by what can be done about it. Words take precedence over the status: providers use one status
/// for many things, and 429 means both "later" and "never".
fn kind_of(status: Option<u16>, name: Option<&str>, text: &str) -> FailureKind {
    let searched = &text[..text.floor_char_boundary(SEARCHED)];
    let words = format!(" {} {searched} ", name.unwrap_or_default()).to_lowercase();
    let has = |list: &[&str]| list.iter().any(|phrase| words.contains(phrase));
    if status == Some(402) || has(QUOTA) {
        return FailureKind::Quota;
    }
    if status == Some(413) || (status != Some(429) && has(OVERFLOW)) {
        return FailureKind::ContextOverflow;
    }
    match status {
        Some(401 | 403) => FailureKind::Authentication,
        Some(429) => FailureKind::RateLimited,
        Some(408 | 409 | 425 | 500..=599) => FailureKind::Unavailable,
        Some(404) => FailureKind::NotFound,
        Some(300..=499) => FailureKind::Rejected,
        _ if has(&["authentication_error", "permission_error", "invalid_api_key"]) => {
            FailureKind::Authentication
        }
        _ if has(&["rate_limit", "rate limit", "too many requests"]) => FailureKind::RateLimited,
        _ if has(&["not_found_error"]) => FailureKind::NotFound,
        _ if has(&["invalid_request", "content_filter"]) => FailureKind::Rejected,
        // Failures after a request was accepted are nearly always the provider's.
        _ => FailureKind::Unavailable,
    }
}

/// Returns the kind after applying the provider's retry advice. No advice helps against a wrong key or an exhausted
/// quota.
fn advised(kind: FailureKind, should_retry: Option<&str>) -> FailureKind {
    match should_retry.map(str::trim) {
        Some("false") if kind.is_retryable() => FailureKind::Rejected,
        Some("true") if matches!(kind, FailureKind::Rejected | FailureKind::NotFound) => {
            FailureKind::Unavailable
        }
        _ => kind,
    }
}

/// Returns the message for the user.
fn tell(status: Option<u16>, name: Option<&str>, text: &str) -> String {
    let reason = status.and_then(|status| reqwest::StatusCode::from_u16(status).ok()?.canonical_reason());
    let status = status.map(|status| status.to_string());
    let head = match (status, name.or(reason)) {
        (Some(status), Some(name)) => format!("{status} {name}"),
        (Some(status), None) => status,
        (None, Some(name)) => name.to_owned(),
        (None, None) => "The provider reported an error".to_owned(),
    };
    if text.is_empty() { head } else { format!("{head}: {text}") }
}

fn hint(kind: FailureKind, key_origin: Option<&str>) -> Option<String> {
    match (kind, key_origin) {
        (FailureKind::Authentication, Some(origin)) => Some(format!("the key came from {origin}")),
        (FailureKind::Authentication, None) => Some("no key was sent".to_owned()),
        (FailureKind::NotFound, _) => Some("check the model's id and base URL".to_owned()),
        _ => None,
    }
}

/// Returns the name and the text in the body of an error.
fn describe(body: &[u8]) -> (Option<String>, String) {
    let text = String::from_utf8_lossy(body);
    let text = text.trim();
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        let is_page = text.starts_with('<');
        return (
            None,
            if is_page {
                "the server answered with a web page".to_owned()
            } else {
                shorten(text, PROVIDER_TEXT)
            },
        );
    };
    let value = value.get(0).unwrap_or(&value);
    let error = value.get("error").unwrap_or(value);
    let name = ["type", "code"].iter().find_map(|field| error.get(field)?.as_str()).map(str::to_owned);
    let message = ["message", "detail", "error"].iter().find_map(|field| error.get(field)?.as_str());
    let message = shorten(message.or(error.as_str()).unwrap_or(text), PROVIDER_TEXT);
    (name.filter(|name| name != "error"), message)
}

/// Returns the time. A clock that is set to a year that nobody can write counts as the epoch.
pub(crate) fn now() -> Timestamp {
    Timestamp::try_from(SystemTime::now()).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Returns how long a provider asks to wait: milliseconds, seconds, or until a date.
fn wait(milliseconds: Option<&str>, other: Option<&str>, now: Timestamp) -> Option<Duration> {
    let seconds = |text: &str, scale: f64| {
        let number: f64 = text.trim().parse().ok()?;
        Duration::try_from_secs_f64(number / scale).ok()
    };
    if let Some(duration) = milliseconds.and_then(|text| seconds(text, 1000.0)) {
        return Some(duration);
    }
    let other = other?;
    seconds(other, 1.0).or_else(|| {
        let date = rfc2822::DateTimeParser::new().parse_timestamp(other.trim()).ok()?;
        Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(status: u16, body: &str, kind: FailureKind, message: &str) {
        let refusal = Refusal {
            status,
            retry_after_ms: None,
            retry_after: None,
            should_retry: None,
            body: body.as_bytes(),
            key_origin: Some("the variable K"),
        };
        let failure = refusal.into_failure();
        assert_eq!((failure.kind, failure.message.as_str()), (kind, message));
        assert_eq!(failure.status, Some(status));
    }

    #[test]
    fn refusals_are_classified_and_worded() {
        use FailureKind::{
            Authentication, ContextOverflow, NotFound, Quota, RateLimited, Rejected, Unavailable,
        };
        let named = |name: &str, text: &str| {
            format!(r#"{{"type":"error","error":{{"type":"{name}","message":"{text}"}}}}"#)
        };
        check(
            401,
            &named("authentication_error", "invalid x-api-key"),
            Authentication,
            "401 authentication_error: invalid x-api-key (the key came from the variable K)",
        );
        check(403, "", Authentication, "403 Forbidden (the key came from the variable K)");
        check(402, "{}", Quota, "402 Payment Required: {}");
        check(
            429,
            r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#,
            Quota,
            "429 insufficient_quota: You exceeded your current quota",
        );
        check(429, &named("rate_limit_error", "slow down"), RateLimited, "429 rate_limit_error: slow down");
        let upgrade = "Rate limit reached. Upgrade at https://c.example/settings/billing";
        check(429, &named("tokens", upgrade), RateLimited, &format!("429 tokens: {upgrade}"));
        for status in [408, 409, 500, 502, 503, 504, 520, 524, 529] {
            assert_eq!(kind_of(Some(status), None, "x"), Unavailable, "{status}");
        }
        check(529, &named("overloaded_error", "Overloaded"), Unavailable, "529 overloaded_error: Overloaded");
        check(
            400,
            &named("invalid_request_error", "prompt is too long: 9 > 5"),
            ContextOverflow,
            "400 invalid_request_error: prompt is too long: 9 > 5",
        );
        check(400, r#"{"error":"no such thing"}"#, Rejected, "400 Bad Request: no such thing");
        check(413, "", ContextOverflow, "413 Payload Too Large");
        check(
            404,
            "<html>",
            NotFound,
            "404 Not Found: the server answered with a web page (check the model's id and base URL)",
        );
    }

    #[test]
    fn provider_advice_overrides_the_status() {
        use FailureKind::{Authentication, Quota, Rejected, Unavailable};
        assert_eq!(advised(Unavailable, Some("false")), Rejected);
        assert_eq!(advised(Rejected, Some("true")), Unavailable);
        assert_eq!(advised(Unavailable, None), Unavailable);
        assert_eq!(advised(Authentication, Some("true")), Authentication);
        assert_eq!(advised(Quota, Some("true")), Quota);
    }

    #[test]
    fn errors_inside_a_stream_are_classified() {
        let kind = |name, text| in_stream(None, Some(name), text).kind;
        assert_eq!(kind("overloaded_error", "Overloaded"), FailureKind::Unavailable);
        assert_eq!(kind("api_error", "Internal server error"), FailureKind::Unavailable);
        assert_eq!(kind("rate_limit_error", "x"), FailureKind::RateLimited);
        assert_eq!(kind("invalid_request_error", "x"), FailureKind::Rejected);
        assert_eq!(kind("not_found_error", "x"), FailureKind::NotFound);
        assert_eq!(in_stream(Some(502), None, "Provider returned error").kind, FailureKind::Unavailable);
    }

    #[test]
    fn only_the_beginning_of_a_text_is_searched_for_words() {
        let long = format!("{}rate limit", " ".repeat(SEARCHED));
        assert_eq!(in_stream(None, None, &long).kind, FailureKind::Unavailable);
        assert_eq!(in_stream(None, None, long.trim_start()).kind, FailureKind::RateLimited);
    }

    #[test]
    fn wait_is_milliseconds_seconds_or_a_date() {
        let now: Timestamp = "1994-11-06T08:49:00Z".parse().unwrap();
        let wait = |milliseconds, other| wait(milliseconds, other, now);
        assert_eq!(wait(Some("1500"), Some("9")), Some(Duration::from_millis(1500)));
        assert_eq!(wait(None, Some("2.5")), Some(Duration::from_millis(2500)));
        let date = Some("Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(wait(None, date), Some(Duration::from_secs(37)));
        assert_eq!(wait(None, Some("Sun, 06 Nov 1994 08:00:00 GMT")), Some(Duration::ZERO));
        assert_eq!(wait(None, Some("soon")), None);
        assert_eq!(wait(None, Some("-1")), None);
    }
}
