//! One connection of a browser: requests, one after the other.

use std::time::Duration;

use bowline_http_head::{Head, HeadError, Received, received};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Site;
use super::answer::Answer;

/// How long a browser may take to send a request, also the next one.
const REQUEST_TIME: Duration = Duration::from_secs(60);

/// How long it may take to read an answer.
const ANSWER_TIME: Duration = Duration::from_secs(60);

/// Serves a connection to its end.
pub(super) async fn serve(mut stream: TcpStream, site: &Site) {
    let _ = stream.set_nodelay(true);
    let mut buffer = Vec::new();
    loop {
        let (answer, stays) = match timeout(REQUEST_TIME, next(&mut stream, &mut buffer, site)).await {
            Ok(Next::Request(request, body)) => {
                let stays = request.stays;
                (site.answer(request, body).await, stays)
            }
            Ok(Next::Refused(answer)) => (answer, false),
            Ok(Next::Nothing) | Err(_) => return,
        };
        let stays = stays && !answer.closes;
        let bytes = answer.into_bytes(stays);
        let is_read =
            timeout(ANSWER_TIME, stream.write_all(&bytes)).await.is_ok_and(|written| written.is_ok());
        if !is_read || !stays {
            let _ = timeout(ANSWER_TIME, stream.shutdown()).await;
            return;
        }
    }
}

/// Tells a browser that there are too many connections, if it takes that without waiting.
pub(super) fn turn_away(stream: &TcpStream) {
    let answer = Answer::failure("503 Service Unavailable", "there are too many connections to this page");
    let _ = stream.try_write(&answer.into_bytes(false));
}

/// What comes next on a connection.
enum Next {
    Request(super::Request, Vec<u8>),
    Refused(Answer),
    /// The browser has closed it.
    Nothing,
}

async fn next(stream: &mut TcpStream, buffer: &mut Vec<u8>, site: &Site) -> Next {
    let refused = |error: HeadError| Next::Refused(Answer::failure("400 Bad Request", &error.to_string()));
    let head: Vec<u8> = loop {
        match received(buffer) {
            Ok(Received::Wholly(end)) => break buffer.drain(..end).collect(),
            Ok(Received::Partly) => {}
            Err(error) => return refused(error),
        }
        if !read_more(stream, buffer).await {
            return Next::Nothing;
        }
    };
    let request = match Head::parse(&head).map(|head| site.admit(&head)) {
        Ok(Ok(request)) => request,
        Ok(Err(answer)) => return Next::Refused(answer),
        Err(error) => return refused(error),
    };
    let length = usize::try_from(request.body).unwrap_or(usize::MAX);
    while buffer.len() < length {
        if !read_more(stream, buffer).await {
            return Next::Nothing;
        }
    }
    let body = buffer.drain(..length).collect();
    Next::Request(request, body)
}

async fn read_more(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> bool {
    let mut piece = [0; 4096];
    match stream.read(&mut piece).await {
        Ok(0) | Err(_) => false,
        Ok(count) => {
            buffer.extend_from_slice(&piece[..count]);
            true
        }
    }
}
