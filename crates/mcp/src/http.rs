//! The transport over streamable HTTP: what the protocol's worker asks for, sent by our own client, with bounds on what
//! comes back.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt as _};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{RequestBuilder, Response, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

use crate::limits::{LARGE_MESSAGE, LONGEST_MESSAGE, beginning};
use crate::stdio::parse;

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
const BOTH: &str = "application/json, text/event-stream";
const SESSION: &str = "Mcp-Session-Id";
const LAST_EVENT: &str = "Last-Event-Id";

/// How much of the text of an error is read.
const ERROR_TEXT: usize = 16 * 1024;

/// A client for one server.
#[derive(Clone)]
pub(crate) struct Http {
    pub client: reqwest::Client,
}

/// Why a request failed, as a clause for the user. It repeats neither the address nor a header.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum HttpError {
    #[error("it needs authorization")]
    Unauthorized { status: u16, challenge: Option<String> },
    #[error("{0}")]
    Failed(String),
}

type Failure = StreamableHttpError<HttpError>;

fn failed(text: impl Into<String>) -> Failure {
    StreamableHttpError::Client(HttpError::Failed(text.into()))
}

impl StreamableHttpClient for Http {
    type Error = HttpError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let has_session = session_id.is_some();
        let body = serde_json::to_vec(&message)?;
        let request = self.client.post(&*uri).header(ACCEPT, BOTH).header(CONTENT_TYPE, JSON).body(body);
        let response = send(request, session_id, custom_headers).await?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && has_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        let session = header(&response, SESSION);
        if !status.is_success() {
            let body = read(response, ERROR_TEXT).await.unwrap_or_default();
            return refused(&message, status, &body, session);
        }
        let is_request = matches!(message, ClientJsonRpcMessage::Request(_));
        let kind = header(&response, CONTENT_TYPE.as_str()).unwrap_or_default();
        if kind.starts_with(EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(events(response), session));
        }
        if !is_request {
            // Some servers answer a notification with something; nobody waits for it.
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if !kind.starts_with(JSON) {
            let shown = if kind.is_empty() { "no content type".to_owned() } else { beginning(&kind, 100) };
            return Err(failed(format!("it answered with {shown} instead of JSON; is the address right?")));
        }
        let body = read(response, LONGEST_MESSAGE).await.map_err(failed)?;
        match parse_body(body).await {
            Some(message) => Ok(StreamableHttpPostResponse::Json(message, session)),
            None => Err(failed("its answer is no message of the protocol; is the address right?")),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failure> {
        // A server need not support it, and there is nothing to do if it fails.
        send(self.client.delete(&*uri), Some(session_id), custom_headers).await.map(drop)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        let mut request = self.client.get(&*uri).header(ACCEPT, EVENTS);
        if let Some(id) = last_event_id {
            request = request.header(LAST_EVENT, id);
        }
        let response = send(request, session_id, custom_headers).await?;
        let status = response.status();
        if status == StatusCode::METHOD_NOT_ALLOWED {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        if !status.is_success() {
            return Err(failed(format!("it refused a stream of events (HTTP {})", status.as_u16())));
        }
        if !header(&response, CONTENT_TYPE.as_str()).is_some_and(|kind| kind.starts_with(EVENTS)) {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        Ok(events(response))
    }
}

async fn send(
    mut request: RequestBuilder,
    session: Option<Arc<str>>,
    headers: HashMap<HeaderName, HeaderValue>,
) -> Result<Response, Failure> {
    for (name, value) in headers {
        request = request.header(name, value);
    }
    if let Some(session) = session {
        request = request.header(SESSION, &*session);
    }
    let response = request.send().await.map_err(|error| failed(describe(&error)))?;
    let status = response.status();
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        let challenge = header(&response, WWW_AUTHENTICATE.as_str()).map(|text| beginning(&text, 200));
        return Err(StreamableHttpError::Client(HttpError::Unauthorized {
            status: status.as_u16(),
            challenge,
        }));
    }
    if status.is_redirection() {
        return Err(failed(format!(
            "it redirects elsewhere (HTTP {}), which is not followed because it would send the headers there: use the new \
             address",
            status.as_u16()
        )));
    }
    Ok(response)
}

/// Returns what went wrong with a request, without its address.
fn describe(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "it could not be reached in time".to_owned();
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let what = if error.is_connect() { "it could not be reached" } else { "the connection failed" };
    format!("{what} ({})", beginning(&cause.to_string(), 200))
}

/// Returns the error that a response with an error status stands for. One that is an error of the protocol is passed on as
/// such.
fn refused(
    message: &ClientJsonRpcMessage,
    status: StatusCode,
    body: &[u8],
    session: Option<String>,
) -> Result<StreamableHttpPostResponse, Failure> {
    let text = String::from_utf8_lossy(body);
    let id = match message {
        ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
        _ => None,
    };
    if id.is_some()
        && let Ok(ServerJsonRpcMessage::Error(mut error)) = serde_json::from_slice(body)
    {
        // A server that could not read the request does not know its id.
        error.id = id;
        return Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(error), session));
    }
    let plain = format!("HTTP {}: {}", status.as_u16(), beginning(text.trim(), 300));
    let is_discovery = matches!(message, ClientJsonRpcMessage::Request(request)
        if matches!(request.request, ClientRequest::DiscoverRequest(_)));
    if is_discovery && status.is_client_error() {
        let error = ErrorData::invalid_request(plain, None);
        return Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::error(error, id), None));
    }
    Err(failed(format!("it refused a request ({plain})")))
}

fn header(response: &Response, name: &str) -> Option<String> {
    response.headers().get(name).and_then(|value| value.to_str().ok()).map(ToOwned::to_owned)
}

/// Reads a body of at most `limit` bytes.
async fn read(response: Response, limit: usize) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    let mut stream = response.bytes_stream();
    while let Some(piece) = stream.next().await {
        let piece = piece.map_err(|error| describe(&error))?;
        if body.len() + piece.len() > limit {
            return Err(format!("it sent a message of more than {} KB", limit / 1024));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

async fn parse_body(body: Vec<u8>) -> Option<ServerJsonRpcMessage> {
    if body.len() < LARGE_MESSAGE {
        return parse(&body);
    }
    tokio::task::spawn_blocking(move || parse(&body)).await.unwrap_or_default()
}

/// Returns the events of a response; one that is too large ends the stream.
fn events(response: Response) -> BoxStream<'static, Result<Sse, SseError>> {
    let bytes =
        response.bytes_stream().map(|piece| piece.map_err(|error| HttpError::Failed(describe(&error))));
    SseStream::from_bytes_stream(Box::pin(bounded(bytes, LONGEST_MESSAGE))).boxed()
}

/// Ends a stream with an error if an event, which ends with an empty line, has more than `limit` bytes.
fn bounded<S>(stream: S, limit: usize) -> impl Stream<Item = Result<Bytes, HttpError>> + Send
where
    S: Stream<Item = Result<Bytes, HttpError>> + Send,
{
    let mut size = 0;
    let mut last = b'\n';
    stream.scan(false, move |has_failed, piece| {
        if *has_failed {
            return std::future::ready(None);
        }
        let checked = piece.and_then(|bytes| {
            for byte in &bytes {
                if *byte == b'\n' && last == b'\n' {
                    size = 0;
                } else {
                    size += 1;
                }
                if *byte != b'\r' {
                    last = *byte;
                }
            }
            if size > limit {
                return Err(HttpError::Failed(format!(
                    "it sent a message of more than {} MB",
                    limit / 1024 / 1024
                )));
            }
            Ok(bytes)
        });
        *has_failed = checked.is_err();
        std::future::ready(Some(checked))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn event_that_is_too_large_ends_the_stream() {
        let pieces = ["data: 1\n\n", "data: 23456\r\n\r\n", "data: 12345", "6789012", "more"];
        let stream = futures_util::stream::iter(pieces.map(|piece| Ok(Bytes::from_static(piece.as_bytes()))));
        let seen: Vec<_> = bounded(stream, 14).map(|piece| piece.is_ok()).collect().await;
        assert_eq!(seen, [true, true, true, false]);
    }
}
