//! Measures how fast the proxy copies on loopback: `cargo run --release -p bowline-sandbox --example proxy_speed`.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

use bowline_sandbox::proxy::{HostRules, ProxyOptions, serve};

const MEGABYTES: usize = 2000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = TcpListener::bind("127.0.0.1:0")?;
    let target = server.local_addr()?.to_string();
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let proxy = listener.local_addr()?;
    let handle = serve(listener, ProxyOptions::new(HostRules::parse(&[target.as_str()], &[])?))?;

    let sending = std::thread::spawn(move || -> std::io::Result<()> {
        let (mut stream, _) = server.accept()?;
        let piece = vec![7; 1_000_000];
        (0..MEGABYTES).try_for_each(|_| stream.write_all(&piece))
    });
    let mut stream = TcpStream::connect(proxy)?;
    write!(stream, "CONNECT {target} HTTP/1.1\r\n\r\n")?;
    let start = Instant::now();
    let mut piece = vec![0; 256 * 1024];
    while stream.read(&mut piece)? > 0 {}
    let seconds = start.elapsed().as_secs_f64();
    sending.join().map_err(|_| "the server panicked")??;

    let received = handle.connections().first().map_or(0, |record| record.received);
    let speed = received as f64 / 1e6 / seconds;
    writeln!(std::io::stdout(), "{speed:.0} MB/s ({received} bytes in {seconds:.2} s)")?;
    Ok(())
}
