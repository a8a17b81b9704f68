//! A session with a running server: how it is started, and how it is called.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bowline_tools::{Service, ServiceEnd, ServiceLaunch};
use rmcp::model::{ClientRequest, ProtocolVersion, ServerResult, SubscriptionFilter};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, PeerRequestOptions, RequestHandle,
    RunningService, ServiceError,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{Peer, RoleClient};
use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStderr;

use crate::any_transport::AnyTransport;
use crate::configuration::{self, ServerConfig, Transport};
use crate::error::Error;
use crate::handler::Handler;
use crate::host::ServerContext;
use crate::http::{Http, HttpError};
use crate::limits::{KEPT_STDERR, LONGEST_ERROR, beginning};
use crate::stdio::{OutputEnd, Stdio};

/// How long the exit of a process is waited for after its output has ended, to say how it ended.
const EXIT: Duration = Duration::from_millis(500);

/// How long a session may take to close.
const CLOSING: Duration = Duration::from_millis(300);

/// What calls need of a session.
#[derive(Clone)]
pub(crate) struct Connection {
    pub server: String,
    pub peer: Peer<RoleClient>,
    pub handler: Handler,
    /// Cancelled when the session has ended.
    pub end: tokio_util::sync::CancellationToken,
}

/// A session, with what has to be ended with it.
pub(crate) struct Session {
    pub connection: Connection,
    running: RunningService<RoleClient, Handler>,
    process: Option<Process>,
}

/// The process of a server.
struct Process {
    service: Service,
    output: OutputEnd,
    stderr: Stderr,
}

/// The end of what a server wrote to stderr, without the secrets that it was given.
#[derive(Clone, Default)]
struct Stderr {
    kept: Arc<Mutex<Vec<u8>>>,
    secrets: Arc<[String]>,
}

impl Stderr {
    /// Reads until the pipe ends, so that the server never waits for it.
    async fn keep(self, mut pipe: ChildStderr) {
        let mut buffer = vec![0; 4096];
        while let Ok(length) = pipe.read(&mut buffer).await
            && length > 0
        {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend_from_slice(&buffer[..length]);
            let excess = kept.len().saturating_sub(KEPT_STDERR);
            kept.drain(..excess);
        }
    }

    /// Returns the last lines, for an error.
    fn tail(&self) -> Option<String> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::from_utf8_lossy(&kept).into_owned();
        drop(kept);
        for secret in self.secrets.iter() {
            text = text.replace(secret, "[redacted]");
        }
        let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        let last = lines[lines.len().saturating_sub(5)..].join("\n");
        (!last.is_empty()).then(|| beginning(&last, LONGEST_ERROR))
    }
}

impl Session {
    /// Starts a server, or connects to it, and agrees on a protocol version.
    pub async fn open(config: &ServerConfig, context: &ServerContext) -> Result<Self, Error> {
        match Self::open_by(config, context, ClientLifecycleMode::Initialize).await {
            // A server that only knows the newest protocol refuses the first request of the older ones.
            Err(Error::Refused(refusal)) => {
                let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
                let mode = ClientLifecycleMode::Discover { preferred_versions };
                Self::open_by(config, context, mode).await.map_err(|_| Error::Refused(refusal))
            }
            result => result,
        }
    }

    async fn open_by(
        config: &ServerConfig,
        context: &ServerContext,
        mode: ClientLifecycleMode,
    ) -> Result<Self, Error> {
        let handler = Handler::new(&config.name, &context.working_directory, Arc::clone(&context.asker));
        let (running, process) = match &config.transport {
            Transport::Command { command, arguments, environment, working_directory } => {
                let launch = ServiceLaunch {
                    program: command.clone(),
                    arguments: arguments.clone(),
                    environment: evaluate_all(context, "env", environment).await?,
                    working_directory: folder(working_directory.as_ref(), context),
                    options: Arc::clone(&context.tools),
                };
                let secrets = secrets(&launch.environment);
                let (service, pipes) =
                    Service::start(&launch).map_err(|error| Error::Start(lower(&error.to_string())))?;
                let stderr = Stderr { secrets, ..Stderr::default() };
                tokio::spawn(stderr.clone().keep(pipes.stderr));
                let (transport, output) = Stdio::new(pipes.stdin, pipes.stdout);
                let mut process = Process { service, output, stderr };
                match handler.clone().serve_with_lifecycle(AnyTransport::new(transport), mode).await {
                    Ok(running) => (running, Some(process)),
                    Err(error) => return Err(process.describe(initialize_error(&error)).await),
                }
            }
            Transport::Http { url, headers } => {
                let client = context.host.http_client(url.clone()).await.map_err(Error::Start)?;
                let mut custom = HashMap::new();
                for (name, value) in evaluate_all(context, "headers", headers).await? {
                    let (name, value) = configuration::header(&name, &value).ok_or_else(|| Error::Value {
                        place: format!("headers.{name}"),
                        reason: "it cannot be sent in a header".to_owned(),
                    })?;
                    custom.insert(name, value);
                }
                let settings =
                    StreamableHttpClientTransportConfig::with_uri(url.as_str()).custom_headers(custom);
                let transport = StreamableHttpClientTransport::with_client(Http { client }, settings);
                let transport = AnyTransport::new(transport);
                let running = handler.clone().serve_with_lifecycle(transport, mode).await;
                (running.map_err(|error| initialize_error(&error))?, None)
            }
        };
        let connection = Connection {
            server: config.name.clone(),
            peer: running.peer().clone(),
            handler,
            end: tokio_util::sync::CancellationToken::new(),
        };
        connection.follow_lists();
        Ok(Self { connection, running, process })
    }

    /// Waits until the session ends by itself, and returns why, as a clause. Dropping the returned future loses nothing.
    pub async fn ended(&mut self) -> String {
        let reason = match &mut self.process {
            Some(process) => {
                tokio::select! {
                    () = process.output.reached() => {}
                    _ = process.service.wait() => {}
                }
                process.describe(Error::Connection("it closed its output".to_owned())).await.to_string()
            }
            None => {
                // The worker has no other way to say that it has given up.
                while !self.connection.peer.is_transport_closed() {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                "the connection was closed".to_owned()
            }
        };
        self.connection.end.cancel();
        reason
    }

    /// Returns why a request at the start failed: how the process ended, if it did.
    pub async fn explain(&mut self, error: Error) -> Error {
        match &mut self.process {
            Some(process) if self.connection.peer.is_transport_closed() => process.describe(error).await,
            _ => error,
        }
    }

    /// Ends the session and the process, which gets some time to exit.
    pub async fn close(mut self, patience: Duration) {
        self.connection.end.cancel();
        // Closes stdin, or the session on the server.
        let _ = self.running.close_with_timeout(CLOSING).await;
        if let Some(process) = self.process {
            process.service.stop(patience).await;
        }
    }
}

impl Process {
    /// Returns an error that says how the process ended and what it wrote last, if it has ended by itself.
    async fn describe(&mut self, error: Error) -> Error {
        let Error::Connection(closed) = error else { return error };
        let end = tokio::time::timeout(EXIT, self.service.wait()).await.ok();
        let mut text = match (self.output.reason(), end) {
            (Some(reason), _) => reason,
            (None, Some(ServiceEnd::Exited { code })) => format!("it exited with code {code}"),
            (None, Some(ServiceEnd::Signalled { signal })) => format!("it was killed by signal {signal}"),
            (None, None) => closed,
        };
        if let Some(tail) = self.stderr.tail() {
            text.push_str("; its last output: ");
            text.push_str(&tail);
        }
        Error::Connection(text)
    }
}

impl Connection {
    /// Sends a request and returns the way to its answer.
    pub async fn send(&self, request: ClientRequest) -> Result<RequestHandle<RoleClient>, ServiceError> {
        self.peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await
    }

    /// Sends a request and waits for the answer no longer than `limit`.
    pub async fn ask(&self, request: ClientRequest, limit: Duration) -> Result<ServerResult, Error> {
        let send = self.peer.send_cancellable_request(request, PeerRequestOptions::with_timeout(limit));
        let answer = async {
            let handle = send.await?;
            handle.await_response().await
        };
        tokio::select! {
            answer = answer => answer.map_err(|error| self.error(&error, limit)),
            () = self.end.cancelled() => Err(self.closed()),
        }
    }

    pub fn closed(&self) -> Error {
        let reason = "the connection was closed".to_owned();
        Error::Ended { server: self.server.clone(), reason }
    }

    /// Returns the error of a request in words.
    pub fn error(&self, error: &ServiceError, limit: Duration) -> Error {
        let server = self.server.clone();
        match error {
            ServiceError::McpError(error) => {
                let text = beginning(&error.message, LONGEST_ERROR);
                Error::Server { server, text: format!("{text} (code {})", error.code.0) }
            }
            ServiceError::TransportClosed => self.closed(),
            ServiceError::Cancelled { .. } => Error::Aborted,
            ServiceError::Timeout { .. } => Error::CallTimeout { server, limit },
            ServiceError::TransportSend(error) => {
                Error::Unavailable { server, reason: format!("{}.", transport_error(&*error.error)) }
            }
            other => Error::Answer { server, text: beginning(&other.to_string(), LONGEST_ERROR) },
        }
    }

    /// Asks for reports of changed lists, where the protocol wants to be asked.
    fn follow_lists(&self) {
        let is_newest =
            self.peer.peer_info().is_some_and(|info| info.protocol_version >= ProtocolVersion::V_2026_07_28);
        if !is_newest {
            return;
        }
        let connection = self.clone();
        tokio::spawn(async move {
            let mut filter = SubscriptionFilter::default();
            filter.tools_list_changed = Some(true);
            filter.prompts_list_changed = Some(true);
            filter.resources_list_changed = Some(true);
            // A server without changes refuses.
            let Ok(mut subscription) = connection.peer.listen(filter).await else { return };
            loop {
                tokio::select! {
                    () = connection.end.cancelled() => return,
                    change = subscription.next() => match change {
                        Ok(Some(_)) => connection.handler.report_change(),
                        _ => return,
                    }
                }
            }
        });
    }
}

/// Returns values with what stands in them evaluated.
async fn evaluate_all(
    context: &ServerContext,
    group: &str,
    values: &[(String, String)],
) -> Result<Vec<(String, String)>, Error> {
    let mut evaluated = Vec::with_capacity(values.len());
    for (name, value) in values {
        let value = context.host.evaluate(value.clone()).await;
        let value = value.map_err(|reason| Error::Value { place: format!("{group}.{name}"), reason })?;
        evaluated.push((name.clone(), value));
    }
    Ok(evaluated)
}

/// Returns the values that are worth hiding in what a server writes.
fn secrets(environment: &[(String, String)]) -> Arc<[String]> {
    const SHORTEST: usize = 8;
    environment.iter().map(|(_, value)| value.clone()).filter(|value| value.len() >= SHORTEST).collect()
}

fn folder(configured: Option<&PathBuf>, context: &ServerContext) -> PathBuf {
    let Some(path) = configured else { return context.working_directory.clone() };
    match (path.strip_prefix("~"), &context.tools.home_directory) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => context.working_directory.join(path),
    }
}

/// Returns a sentence as a clause.
fn lower(sentence: &str) -> String {
    let mut characters = sentence.trim_end_matches('.').chars();
    characters.next().map(|first| first.to_lowercase().chain(characters).collect()).unwrap_or_default()
}

fn initialize_error(error: &ClientInitializeError) -> Error {
    match error {
        ClientInitializeError::JsonRpcError(error) => {
            Error::Refused(format!("{} (code {})", beginning(&error.message, LONGEST_ERROR), error.code.0))
        }
        ClientInitializeError::TransportError { error, .. } => {
            if let Some(HttpError::Unauthorized { status, challenge }) = find(&*error.error) {
                let challenge = challenge.as_ref().map(|text| format!(" (it asks for: {text})"));
                return Error::Unauthorized { status: *status, challenge: challenge.unwrap_or_default() };
            }
            Error::Connection(transport_error(&*error.error))
        }
        ClientInitializeError::ConnectionClosed(_) => {
            Error::Connection("it closed the connection".to_owned())
        }
        other => Error::Protocol(beginning(&other.to_string(), 300)),
    }
}

/// Returns what is wrong with a transport, as a clause.
fn transport_error(error: &(dyn std::error::Error + 'static)) -> String {
    match find::<HttpError>(error) {
        Some(error) => error.to_string(),
        None => beginning(&error.to_string(), 300),
    }
}

/// Returns the cause of that type.
fn find<'a, T: std::error::Error + 'static>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a T> {
    use rmcp::transport::streamable_http_client::StreamableHttpError;
    let mut cause = Some(error);
    while let Some(current) = cause {
        if let Some(found) = current.downcast_ref::<T>() {
            return Some(found);
        }
        // It does not name its cause.
        if let Some(StreamableHttpError::Client(inner)) =
            current.downcast_ref::<StreamableHttpError<HttpError>>()
        {
            return (inner as &dyn std::error::Error as &(dyn std::error::Error + 'static))
                .downcast_ref::<T>();
        }
        cause = current.source();
    }
    None
}
