//! Words network failures for the user.

use std::error::Error;
use std::io;
use std::time::Duration;

use bowline_core::stream::{FailureKind, StreamError};

/// Returns the failure of a request without an answer.
pub(super) fn before_answer(error: &reqwest::Error, host: &str, limit: Duration) -> StreamError {
    if error.is_builder() {
        let message = format!("The request to {host} could not be built: {}.", cause(error));
        return StreamError::new(FailureKind::Rejected, message);
    }
    if error.is_timeout() {
        let seconds = limit.as_secs_f32();
        let message = format!(
            "No connection to {host} within {seconds} s (timeout). Check the network, the proxy variables and the base URL."
        );
        return StreamError::new(FailureKind::TimedOut, message);
    }
    if !error.is_connect() {
        let message =
            format!("The connection to {host} broke before an answer came: {}. Try again.", cause(error));
        return StreamError::new(FailureKind::Connection, message);
    }
    let message = if let Some(failure) = find::<rustls::Error>(error) {
        no_tls(host, failure)
    } else if let Some(failure) =
        chain(error).map(ToString::to_string).find(|text| text.contains("tls handshake"))
    {
        no_tls(host, &failure)
    } else if is_refused(error) {
        format!(
            "{host} refused the connection. Check that the server is running and that the base URL is right."
        )
    } else if chain(error).any(|inner| inner.to_string().contains("dns error")) {
        format!("The host {host} could not be found. Check the base URL and the network connection.")
    } else {
        format!("No connection to {host}: {}. Check the network and the proxy variables.", cause(error))
    };
    StreamError::new(FailureKind::Connection, message)
}

fn no_tls(host: &str, failure: &dyn std::fmt::Display) -> String {
    format!(
        "No secure connection to {host}: {failure}. Check the clock, the system's certificates, any proxy in between, and that the server speaks TLS: the base URL of one that does not begins with http://."
    )
}

/// Returns the failure of an interrupted answer.
pub(super) fn within_answer(error: &reqwest::Error, host: &str) -> StreamError {
    let message = format!(
        "The connection to {host} was lost in the middle of the answer: {}. Try again.",
        cause(error)
    );
    StreamError::new(FailureKind::Incomplete, message)
}

fn is_refused(error: &reqwest::Error) -> bool {
    find::<io::Error>(error).is_some_and(|inner| inner.kind() == io::ErrorKind::ConnectionRefused)
}

/// Returns the innermost cause, which is the informative one.
fn cause(error: &reqwest::Error) -> String {
    chain(error).last().map(ToString::to_string).unwrap_or_default()
}

fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |inner: &&'a (dyn Error + 'static)| (*inner).source())
}

/// Finds an error of a type in the chain of causes; an I/O error may wrap one.
pub(super) fn find<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    chain(error).find_map(|inner| {
        let carried = inner.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        inner.downcast_ref::<T>().or_else(|| carried?.downcast_ref::<T>())
    })
}
