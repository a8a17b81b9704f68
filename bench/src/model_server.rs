//! A model on the loopback interface that always gives the same answer, built in advance and written at once or paced.
//!
//! Unlike the test kit's server, which writes frame by frame, this one must cost next to nothing.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use crate::failure::Failure;

/// How the answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// As fast as the client reads.
    Burst,
    /// In chunks that the client has read before the next one arrives.
    Paced,
}

impl Pace {
    fn piece(self) -> usize {
        match self {
            Self::Burst => 256 * 1024,
            // Its records fit into a pipe.
            Self::Paced => 16 * 1024,
        }
    }

    fn pause(self) -> Option<Duration> {
        (self == Self::Paced).then_some(Duration::from_millis(1))
    }
}

/// Starts the server on a thread that ends with the program; returns its address as a base URL.
pub(crate) fn start(body: &str, pace: Pace) -> Result<String, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(Failure::while_doing("opening a port"))?;
    let address = listener.local_addr().map_err(Failure::while_doing("opening a port"))?;
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client may disconnect at any time.
            let _ = serve(stream, answer.as_bytes(), pace);
        }
    });
    Ok(format!("http://{address}"))
}

fn serve(mut stream: TcpStream, answer: &[u8], pace: Pace) -> io::Result<()> {
    read_request(&mut BufReader::new(&stream))?;
    stream.set_nodelay(true)?;
    for piece in answer.chunks(pace.piece()) {
        stream.write_all(piece)?;
        if let Some(pause) = pace.pause() {
            thread::sleep(pause);
        }
    }
    Ok(())
}

/// Reads a whole request, because closing a connection with unread bytes would reset it.
fn read_request(reader: &mut BufReader<&TcpStream>) -> io::Result<()> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    io::copy(&mut reader.take(length), &mut io::sink()).map(|_| ())
}
