//! The way out of a network namespace: an HTTP proxy that reaches the hosts of a list.
//!
//! A socket belongs to the namespace in which it was made, whoever holds it. So the keeper listens inside, and this
//! proxy accepts on that listener and dials from the network outside.

pub mod address;
mod body;
mod connection;
mod dial;
pub mod host;
mod network;
mod questions;
mod records;
pub mod request_head;
mod rules;
#[cfg(test)]
mod tests;
mod tunnel;

use std::fmt::Debug;
use std::io;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use bowline_tools::{HostAnswer, HostGate};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

pub use network::{Network, SystemNetwork};
pub use records::{ConnectionRecord, Decision, MAX_RECORDS};
pub use rules::{HostRules, RuleError, Verdict};

use host::Endpoint;
use questions::Questions;
use records::{Records, Traffic};

/// How long the proxy waits and how much it does at once.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections that are open at once.
    pub connections: usize,
    /// How long a program may take to send its request.
    pub head: Duration,
    /// How long the name of a host may take to resolve.
    pub resolve: Duration,
    /// How long each address of a host may take to answer.
    pub connect: Duration,
    /// How long a connection may be silent.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 256,
            head: Duration::from_secs(30),
            resolve: Duration::from_secs(10),
            connect: Duration::from_secs(5),
            idle: Duration::from_secs(600),
        }
    }
}

/// What a proxy allows.
#[derive(Debug)]
pub struct ProxyOptions {
    pub rules: HostRules,
    /// Who is asked about hosts that are not on the list. Without anybody they are refused.
    pub gate: Option<Arc<dyn HostGate>>,
    pub network: Arc<dyn Network>,
    pub limits: Limits,
}

impl ProxyOptions {
    /// Returns the options of a proxy that reaches these hosts by the network of this machine, and asks nobody.
    pub fn new(rules: HostRules) -> Self {
        Self { rules, gate: None, network: Arc::new(SystemNetwork), limits: Limits::default() }
    }
}

/// What the connections of a proxy share.
#[derive(Debug)]
struct Proxy {
    rules: Mutex<HostRules>,
    questions: Option<Arc<Questions>>,
    network: Arc<dyn Network>,
    limits: Limits,
    records: Mutex<Records>,
}

impl Proxy {
    fn rules(&self) -> MutexGuard<'_, HostRules> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn records(&self) -> MutexGuard<'_, Records> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, endpoint: &Endpoint, decision: Decision) -> Arc<Traffic> {
        self.records().add(endpoint.clone(), decision)
    }
}

/// A proxy that is running. It ends, with all its connections, when this is dropped.
#[derive(Debug)]
pub struct ProxyHandle {
    proxy: Arc<Proxy>,
    stop: CancellationToken,
}

impl ProxyHandle {
    /// Allows one more host from now on: `host`, `*.host` or `host:port`.
    pub fn allow(&self, entry: &str) -> Result<(), RuleError> {
        self.proxy.rules().allow(entry)
    }

    /// Returns the entries that are allowed now.
    pub fn allowed(&self) -> Vec<String> {
        self.proxy.rules().allowed()
    }

    /// Returns the last connections, the oldest first.
    pub fn connections(&self) -> Vec<ConnectionRecord> {
        self.proxy.records().list()
    }
}

impl Drop for ProxyHandle {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Runs a proxy on a listener. It has a thread of its own, because the loop of the sessions must not copy bytes.
pub fn serve(listener: TcpListener, options: ProxyOptions) -> io::Result<ProxyHandle> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    let listener = {
        let _entered = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    let proxy = Arc::new(Proxy {
        rules: Mutex::new(options.rules),
        questions: options.gate.map(Questions::new),
        network: options.network,
        limits: options.limits,
        records: Mutex::default(),
    });
    let stop = CancellationToken::new();
    let handle = ProxyHandle { proxy: Arc::clone(&proxy), stop: stop.clone() };
    std::thread::Builder::new().name("proxy".to_owned()).spawn(move || {
        runtime.block_on(stop.run_until_cancelled(accept(listener, proxy)));
        // A name that is still being resolved must not hold up the end.
        runtime.shutdown_background();
    })?;
    Ok(handle)
}

async fn accept(listener: tokio::net::TcpListener, proxy: Arc<Proxy>) {
    let slots = Arc::new(Semaphore::new(proxy.limits.connections));
    loop {
        let Ok((client, _)) = listener.accept().await else {
            // Too many open files, most likely: some will be closed.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        match Arc::clone(&slots).try_acquire_owned() {
            Ok(slot) => {
                let proxy = Arc::clone(&proxy);
                tokio::spawn(async move {
                    connection::serve(client, &proxy).await;
                    drop(slot);
                });
            }
            Err(_) => connection::turn_away(&client),
        }
    }
}

/// Returns the environment that makes programs use a proxy on this port of their own localhost.
pub fn environment(port: u16) -> Vec<(String, String)> {
    let proxy = format!("http://127.0.0.1:{port}");
    let none = "localhost,127.0.0.1,::1";
    let mut variables = Vec::new();
    for (name, value) in
        [("HTTP_PROXY", proxy.as_str()), ("HTTPS_PROXY", &proxy), ("ALL_PROXY", &proxy), ("NO_PROXY", none)]
    {
        variables.push((name.to_owned(), value.to_owned()));
        variables.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    variables.push(("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned()));
    let java: Vec<String> = ["http", "https"]
        .iter()
        .map(|scheme| format!("-D{scheme}.proxyHost=127.0.0.1 -D{scheme}.proxyPort={port}"))
        .collect();
    variables.push(("JAVA_TOOL_OPTIONS".to_owned(), java.join(" ")));
    variables
}
