//! The proxy as programs see it. The network is a fake one: its names lead where a test says, and its servers are on this
//! machine's loopback.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bowline_tools::BoxFuture;
use tokio::sync::Semaphore;

use super::*;

const PUBLIC: &str = "93.184.216.34";

/// Names with the answers that they give one after the other, and addresses with the servers behind them.
#[derive(Debug, Default)]
struct FakeNetwork {
    names: Mutex<HashMap<String, VecDeque<Vec<IpAddr>>>>,
    servers: Mutex<HashMap<IpAddr, SocketAddr>>,
    own: Vec<IpAddr>,
    dialled: Mutex<Vec<SocketAddr>>,
    resolved: AtomicUsize,
}

impl Network for FakeNetwork {
    fn resolve(&self, name: String, _: u16) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        self.resolved.fetch_add(1, Ordering::SeqCst);
        let mut names = self.names.lock().unwrap();
        let answer = names.get_mut(&name).map(|answers| match answers.len() {
            1 => answers[0].clone(),
            _ => answers.pop_front().unwrap(),
        });
        Box::pin(async move { answer.ok_or_else(|| io::Error::other("no such name")) })
    }

    fn connect(&self, address: SocketAddr) -> BoxFuture<'static, io::Result<tokio::net::TcpStream>> {
        self.dialled.lock().unwrap().push(address);
        let server = self.servers.lock().unwrap().get(&address.ip()).copied();
        Box::pin(async move {
            match server {
                Some(server) => tokio::net::TcpStream::connect(server).await,
                None => Err(io::Error::from(io::ErrorKind::ConnectionRefused)),
            }
        })
    }

    fn is_own(&self, address: IpAddr) -> bool {
        self.own.contains(&address)
    }
}

impl FakeNetwork {
    fn dialled(&self) -> Vec<String> {
        self.dialled.lock().unwrap().iter().map(SocketAddr::to_string).collect()
    }
}

fn names(entries: &[(&str, &[&[&str]])]) -> FakeNetwork {
    let answers = |answers: &&[&[&str]]| -> VecDeque<Vec<IpAddr>> {
        answers.iter().map(|addresses| addresses.iter().map(|text| text.parse().unwrap()).collect()).collect()
    };
    let names = entries.iter().map(|(name, list)| ((*name).to_owned(), answers(list))).collect();
    FakeNetwork { names: Mutex::new(names), ..FakeNetwork::default() }
}

struct Running {
    handle: ProxyHandle,
    address: SocketAddr,
    network: Arc<FakeNetwork>,
}

struct Setup<'entries> {
    allow: &'entries [&'entries str],
    deny: &'entries [&'entries str],
    gate: Option<Arc<dyn HostGate>>,
    limits: Limits,
}

impl Default for Setup<'_> {
    fn default() -> Self {
        Self { allow: &["example.org"], deny: &[], gate: None, limits: Limits::default() }
    }
}

fn start(network: FakeNetwork, setup: Setup<'_>) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let network = Arc::new(network);
    let options = ProxyOptions {
        rules: HostRules::parse(setup.allow, setup.deny).unwrap(),
        gate: setup.gate,
        network: Arc::clone(&network) as Arc<dyn Network>,
        limits: setup.limits,
    };
    Running { handle: serve(listener, options).unwrap(), address, network }
}

/// Starts a server that answers each connection by this function.
fn server(network: &FakeNetwork, address: &str, answer: impl Fn(TcpStream) + Send + 'static) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    network.servers.lock().unwrap().insert(address.parse().unwrap(), listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            answer(stream.unwrap());
        }
    });
}

fn echo(mut stream: TcpStream) {
    std::thread::spawn(move || {
        let mut reader = stream.try_clone().unwrap();
        let _ = io::copy(&mut reader, &mut stream);
        let _ = stream.shutdown(std::net::Shutdown::Write);
    });
}

/// Sends what it gets back to the client at the end of the request, as the body of an answer.
fn mirror(mut stream: TcpStream) {
    std::thread::spawn(move || {
        let mut request = Vec::new();
        let mut piece = [0; 1024];
        stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        while let Ok(count @ 1..) = stream.read(&mut piece) {
            request.extend_from_slice(&piece[..count]);
        }
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", request.len());
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.write_all(&request);
    });
}

fn client(running: &Running) -> TcpStream {
    let stream = TcpStream::connect(running.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// Sends bytes, ends this side, and returns all that comes back.
fn exchange(running: &Running, bytes: &[u8]) -> String {
    let mut stream = client(running);
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

fn connect(running: &Running, target: &str) -> String {
    exchange(running, format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n").as_bytes())
}

/// Opens a tunnel and returns it after the head of the answer.
fn tunnel(running: &Running, target: &str) -> TcpStream {
    let mut stream = client(running);
    write!(stream, "CONNECT {target} HTTP/1.1\r\n\r\n").unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&head));
        head.push(byte[0]);
    }
    assert!(head.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&head));
    stream
}

#[track_caller]
fn wait_until(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < deadline, "waited too long");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn listed_host_gets_a_tunnel_with_half_closes() {
    let running = start(names(&[("example.org", &[&[PUBLIC]])]), Setup::default());
    server(&running.network, PUBLIC, echo);
    let mut stream = tunnel(&running, "Example.ORG.:443");
    stream.write_all(&[7; 300_000]).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, [7; 300_000]);
    assert_eq!(running.network.dialled(), ["93.184.216.34:443"]);
    let records = running.handle.connections();
    assert_eq!(
        serde_json::to_value(&records).unwrap(),
        serde_json::json!([{
            "number": 0, "host": "example.org", "port": 443, "decision": "listed", "sent": 300_000, "received": 300_000
        }])
    );
}

#[test]
fn unlisted_host_is_refused_with_the_reason_and_never_resolved() {
    let running = start(names(&[("evil.example", &[&[PUBLIC]])]), Setup::default());
    for target in [
        "evil.example:443",
        "example.org:22",
        "example.org.evil.example:443",
        "sub.example.org:443",
        PUBLIC_TARGET,
    ] {
        let answer = connect(&running, target);
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
        let reason = format!("The sandbox does not let programs reach {target}: it is not on the list");
        assert!(answer.contains(&reason), "{answer}");
    }
    assert_eq!(running.network.resolved.load(Ordering::SeqCst), 0);
    assert!(running.network.dialled().is_empty());
    assert!(running.handle.connections().iter().all(|record| record.decision == Decision::Unlisted));
}

const PUBLIC_TARGET: &str = "93.184.216.34:443";

#[test]
fn nul_and_case_tricks_are_refused() {
    let setup = Setup { allow: &["*.example.org"], ..Setup::default() };
    let running = start(names(&[]), setup);
    for target in [
        "evil.example\0.example.org:443",
        "evil.example%00.example.org:443",
        "evil.example\t.example.org:443",
    ] {
        let answer = connect(&running, target);
        assert!(answer.starts_with("HTTP/1.1 400 "), "{target:?}: {answer}");
    }
    // The case of letters makes no difference: the name is looked up, and there is none.
    assert!(connect(&running, "A.EXAMPLE.ORG:443").contains("a.example.org has no address"));
    assert_eq!(running.network.resolved.load(Ordering::SeqCst), 1);
}

#[test]
fn odd_addresses_are_refused() {
    let setup = Setup { allow: &["127.0.0.1:80", "[::1]:80"], ..Setup::default() };
    let running = start(names(&[]), setup);
    for target in
        ["2130706433:80", "0x7f000001:80", "0177.0.0.1:80", "127.1:80", "127.0.0.1.:80", "[::1%lo]:80"]
    {
        let answer = connect(&running, target);
        assert!(answer.starts_with("HTTP/1.1 400 "), "{target}: {answer}");
    }
    assert!(running.network.dialled().is_empty());
    // The same address in its usual form is an entry, and so is the IPv4 address in IPv6's clothes.
    connect(&running, "[::ffff:127.0.0.1]:80");
    assert_eq!(running.network.dialled(), ["127.0.0.1:80"]);
}

#[test]
fn name_is_resolved_once_so_that_it_cannot_be_rebound() {
    let network = names(&[("example.org", &[&[PUBLIC], &["127.0.0.1"]])]);
    let running = start(network, Setup::default());
    server(&running.network, PUBLIC, echo);
    drop(tunnel(&running, "example.org:443"));
    assert_eq!(running.network.resolved.load(Ordering::SeqCst), 1);
    let answer = connect(&running, "example.org:443");
    assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("it leads to this machine"), "{answer}");
    assert_eq!(running.network.dialled(), ["93.184.216.34:443"]);
    assert_eq!(running.handle.connections()[1].decision, Decision::BadAddress);
}

#[test]
fn only_addresses_that_passed_are_dialled() {
    let network = names(&[("example.org", &[&["169.254.169.254", "10.0.0.1", "::1", "8.8.8.8", PUBLIC]])]);
    let running = start(network, Setup::default());
    server(&running.network, PUBLIC, echo);
    server(&running.network, "10.0.0.1", echo);
    drop(tunnel(&running, "example.org:443"));
    assert_eq!(running.network.dialled(), ["8.8.8.8:443", "93.184.216.34:443"]);
}

#[test]
fn metadata_and_own_addresses_are_not_dialled() {
    let mut network = names(&[
        (
            "example.org",
            &[&["169.254.169.254", "fd00:ec2::254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe"]],
        ),
        ("own.example", &[&["5.6.7.8"]]),
    ]);
    network.own = vec!["5.6.7.8".parse().unwrap()];
    let running = start(network, Setup { allow: &["example.org", "own.example"], ..Setup::default() });
    assert!(connect(&running, "example.org:80").contains("it leads to the metadata service of a cloud"));
    assert!(connect(&running, "own.example:80").contains("it leads to this machine"));
    assert!(connect(&running, "169.254.169.254:80").contains("not on the list"));
    assert!(running.network.dialled().is_empty());
}

#[test]
fn entry_with_the_address_itself_allows_it() {
    let network = names(&[("intern.example", &[&["10.0.0.5"]]), ("denied.example", &[&["8.8.8.8"]])]);
    let setup = Setup {
        allow: &["intern.example", "denied.example", "10.0.0.5"],
        deny: &["8.8.8.8"],
        ..Setup::default()
    };
    let running = start(network, setup);
    server(&running.network, "10.0.0.5", echo);
    drop(tunnel(&running, "intern.example:443"));
    drop(tunnel(&running, "10.0.0.5:443"));
    assert!(connect(&running, "denied.example:443").contains("an address that the user's settings deny"));
    assert_eq!(running.network.dialled(), ["10.0.0.5:443", "10.0.0.5:443"]);
}

#[test]
fn request_is_forwarded_without_what_concerns_the_proxy() {
    let running = start(names(&[("example.org", &[&[PUBLIC]])]), Setup::default());
    server(&running.network, PUBLIC, mirror);
    let request = "POST http://example.org/secret/path?key HTTP/1.1\r\nHost: example.org\r\nProxy-Connection: x\r\nContent-Length: 4\r\n\r\nbody";
    let answer = exchange(&running, request.as_bytes());
    assert!(
        answer.ends_with("POST /secret/path?key HTTP/1.1\r\nHost: example.org\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody"),
        "{answer}"
    );
    assert!(!format!("{:?}", running.handle.connections()).contains("secret"));
}

#[test]
fn second_request_on_a_connection_reaches_nobody() {
    let running = start(names(&[("example.org", &[&[PUBLIC]])]), Setup::default());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let server_saw = Arc::clone(&seen);
    server(&running.network, PUBLIC, move |mut stream| {
        stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        let mut piece = [0; 1024];
        while let Ok(count @ 1..) = stream.read(&mut piece) {
            server_saw.lock().unwrap().extend_from_slice(&piece[..count]);
        }
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
    });
    let first = "GET http://example.org/ HTTP/1.1\r\n\r\n";
    let second = "GET / HTTP/1.1\r\nHost: other.example\r\n\r\n";
    exchange(&running, format!("{first}{second}").as_bytes());
    let chunked =
        "POST http://example.org/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";
    exchange(&running, format!("{chunked}{second}").as_bytes());
    wait_until(|| String::from_utf8_lossy(&seen.lock().unwrap()).contains("0\r\n\r\n"));
    assert!(!String::from_utf8_lossy(&seen.lock().unwrap()).contains("other.example"));
}

#[test]
fn client_that_ends_its_side_after_a_request_gets_the_answer() {
    let running = start(names(&[("example.org", &[&[PUBLIC]])]), Setup::default());
    server(&running.network, PUBLIC, mirror);
    let mut stream = client(&running);
    stream.write_all(b"GET http://example.org/ HTTP/1.1\r\n\r\n").unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
}

#[test]
fn bad_requests_are_refused_with_the_reason() {
    let running = start(names(&[]), Setup::default());
    for (request, words) in [
        ("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n", "this is a proxy"),
        ("GET https://example.org/ HTTP/1.1\r\n\r\n", "use CONNECT"),
        ("GET http://example.org/ HTTP/1.1\nHost: a\n\n", "CR LF"),
        ("\x16\x03\x01\x02\0\x01\0\x01\r\n\r\n", "the first line is not a method"),
        ("GET http://example.org/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", "another host"),
    ] {
        let answer = exchange(&running, request.as_bytes());
        assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains(words), "{answer}");
    }
    let long = format!("GET http://example.org/ HTTP/1.1\r\nX: {}", "a".repeat(70_000));
    assert!(exchange(&running, long.as_bytes()).starts_with("HTTP/1.1 431 "));
    assert!(running.handle.connections().is_empty());
}

/// Answers when it is told to, and counts the questions.
#[derive(Debug)]
struct Gate {
    asked: Mutex<Vec<String>>,
    answers: Arc<Semaphore>,
    answer: HostAnswer,
}

impl Gate {
    fn new(is_allowed: bool) -> Arc<Self> {
        Self::saying(if is_allowed { HostAnswer::Allowed } else { HostAnswer::Declined })
    }

    fn saying(answer: HostAnswer) -> Arc<Self> {
        Arc::new(Self { asked: Mutex::default(), answers: Arc::new(Semaphore::new(0)), answer })
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl HostGate for Gate {
    fn ask(&self, host: &str, port: u16) -> BoxFuture<'static, HostAnswer> {
        self.asked.lock().unwrap().push(format!("{host}:{port}"));
        let (answers, answer) = (Arc::clone(&self.answers), self.answer);
        Box::pin(async move {
            answers.acquire().await.unwrap().forget();
            answer
        })
    }
}

fn asking(gate: &Arc<Gate>) -> Running {
    let setup = Setup { gate: Some(Arc::clone(gate) as Arc<dyn HostGate>), ..Setup::default() };
    start(names(&[("asked.example", &[&[PUBLIC]]), ("inside.example", &[&["127.0.0.1"]])]), setup)
}

#[test]
fn equal_questions_are_asked_once_and_hold_the_connections() {
    let gate = Gate::new(true);
    let running = asking(&gate);
    server(&running.network, PUBLIC, echo);
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..3).map(|_| scope.spawn(|| drop(tunnel(&running, "asked.example:443")))).collect();
        wait_until(|| !gate.asked().is_empty());
        std::thread::sleep(Duration::from_millis(100));
        assert!(threads.iter().all(|thread| !thread.is_finished()));
        assert!(running.network.dialled().is_empty());
        gate.answers.add_permits(1);
    });
    assert_eq!(gate.asked(), ["asked.example:443"]);
    assert!(running.handle.connections().iter().all(|record| record.decision == Decision::Approved));
    // A yes is for those who were waiting; what holds for the session is on the list.
    running.handle.allow("asked.example:443").unwrap();
    drop(tunnel(&running, "asked.example:443"));
    assert_eq!(gate.asked().len(), 1);
    assert_eq!(running.handle.allowed(), ["example.org", "asked.example:443"]);
}

#[test]
fn refused_question_is_not_asked_again_at_once() {
    let gate = Gate::new(false);
    let running = asking(&gate);
    gate.answers.add_permits(10);
    for _ in 0..2 {
        let answer = connect(&running, "asked.example:443");
        assert!(
            answer.starts_with("HTTP/1.1 403 ") && answer.contains("was asked and did not allow"),
            "{answer}"
        );
    }
    assert_eq!(gate.asked().len(), 1);
    assert_eq!(running.handle.connections()[1].decision, Decision::Declined);
}

#[test]
fn question_that_nobody_answered_is_not_called_a_refusal_of_the_user() {
    let gate = Gate::saying(HostAnswer::Unanswered);
    let running = asking(&gate);
    gate.answers.add_permits(1);
    let answer = connect(&running, "asked.example:443");
    assert!(answer.contains("nobody answered in time") && !answer.contains("did not allow"), "{answer}");
    assert_eq!(running.handle.connections()[0].decision, Decision::Unlisted);
}

#[test]
fn approved_name_may_not_lead_to_this_machine() {
    let gate = Gate::new(true);
    let running = asking(&gate);
    gate.answers.add_permits(10);
    assert!(connect(&running, "inside.example:443").contains("it leads to this machine"));
}

#[test]
fn denied_host_is_not_asked_about() {
    let gate = Gate::new(true);
    let setup = Setup {
        deny: &["*.asked.example"],
        gate: Some(Arc::clone(&gate) as Arc<dyn HostGate>),
        ..Setup::default()
    };
    let running = start(names(&[]), setup);
    assert!(connect(&running, "a.asked.example:8443").contains("the user's settings deny it"));
    assert!(gate.asked().is_empty());
}

#[test]
fn client_that_goes_away_frees_its_place_while_a_question_is_open() {
    let gate = Gate::new(true);
    let limits = Limits { connections: 1, ..Limits::default() };
    let setup = Setup { gate: Some(Arc::clone(&gate) as Arc<dyn HostGate>), limits, ..Setup::default() };
    let running = start(names(&[]), setup);
    let mut waiting = client(&running);
    waiting.write_all(b"CONNECT asked.example:443 HTTP/1.1\r\n\r\n").unwrap();
    wait_until(|| !gate.asked().is_empty());
    let turned_away = exchange(&running, b"");
    assert!(turned_away.starts_with("HTTP/1.1 503 "), "{turned_away}");
    drop(waiting);
    wait_until(|| {
        let mut stream = client(&running);
        let _ = stream.write_all(b"GET / HTTP/1.1\r\n\r\n");
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer.starts_with("HTTP/1.1 400 ")
    });
}

#[test]
fn slow_heads_and_silent_tunnels_are_ended() {
    let limits =
        Limits { head: Duration::from_millis(100), idle: Duration::from_millis(200), ..Limits::default() };
    let setup = Setup { limits, ..Setup::default() };
    let running = start(names(&[("example.org", &[&[PUBLIC]])]), setup);
    server(&running.network, PUBLIC, echo);
    assert!(exchange(&running, b"GET http://example.org/ HT").starts_with("HTTP/1.1 408 "));
    let mut stream = tunnel(&running, "example.org:443");
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
}

#[test]
fn unreachable_hosts_are_reported_as_such() {
    let network = names(&[("example.org", &[&[PUBLIC]]), ("empty.example", &[&[]])]);
    let running = start(network, Setup { allow: &["example.org", "empty.example"], ..Setup::default() });
    let answer = connect(&running, "example.org:443");
    assert!(answer.starts_with("HTTP/1.1 502 ") && answer.contains("cannot be reached"), "{answer}");
    assert!(connect(&running, "empty.example:443").contains("empty.example has no address"));
}

#[test]
fn proxy_ends_with_its_handle() {
    let running = start(names(&[("example.org", &[&[PUBLIC]])]), Setup::default());
    server(&running.network, PUBLIC, echo);
    let mut stream = tunnel(&running, "example.org:443");
    drop(running.handle);
    assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)));
    wait_until(|| TcpStream::connect(running.address).is_err());
}

#[test]
fn environment_points_programs_to_the_proxy() {
    let variables: HashMap<String, String> = environment(3128).into_iter().collect();
    for name in ["HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        assert_eq!(variables[name], "http://127.0.0.1:3128");
    }
    assert_eq!(variables["no_proxy"], "localhost,127.0.0.1,::1");
    assert_eq!(variables["NODE_USE_ENV_PROXY"], "1");
    assert!(variables["JAVA_TOOL_OPTIONS"].contains("-Dhttps.proxyPort=3128"));
    assert_eq!(variables.len(), 10);
}
