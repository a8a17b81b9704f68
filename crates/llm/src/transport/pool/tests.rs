//! Servers on loopback that close their connections at awkward moments.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::*;
use crate::proxy::ProxySettings;
use crate::transport::client::{Trust, build, tls};
use crate::transport::tests::read_request;
use crate::transport::{Timeouts, Transport};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// What a server does with the next request on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Answer,
    /// Reads it and closes the connection cleanly.
    Close,
    /// Closes the connection without reading, which resets it.
    Reset,
    /// Reads it, works longer than closing an idle connection takes, and closes the connection.
    CloseLate,
}

/// Serves connections one after another, each by its steps, and returns the number of requests received.
async fn serve(connections: &'static [&'static [Step]]) -> (String, JoinHandle<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        let mut requests = 0;
        for steps in connections {
            let (mut socket, _) = listener.accept().await.unwrap();
            for step in *steps {
                requests += usize::from(play(*step, &mut socket).await);
            }
        }
        requests
    });
    (url, serving)
}

/// Performs a step and returns whether there was a request for it.
async fn play(step: Step, socket: &mut TcpStream) -> bool {
    if step == Step::Reset {
        socket.readable().await.unwrap();
        return true;
    }
    if read_request(socket).await.is_none() {
        return false;
    }
    match step {
        Step::Answer => socket.write_all(ANSWER).await.unwrap(),
        Step::CloseLate => {
            tokio::time::pause();
            tokio::time::advance(SOON).await;
            tokio::time::resume();
        }
        Step::Close | Step::Reset => {}
    }
    true
}

fn pool() -> Pool {
    build(Timeouts::default(), &ProxySettings::default(), Trust::Nobody).unwrap()
}

async fn post(pool: &Pool, url: &str) -> reqwest::Result<Bytes> {
    let answer = pool.send(pool.client.post(url).body("question")).await;
    answer?.bytes().await
}

/// Sends two requests and checks the outcome of the second and the total number of requests received.
async fn check(connections: &'static [&'static [Step]], is_answered: bool, sent: usize) {
    let (url, serving) = serve(connections).await;
    let pool = pool();
    assert_eq!(post(&pool, &url).await.unwrap(), "ok");
    let second = post(&pool, &url).await;
    assert_eq!(second.is_ok(), is_answered, "{second:?}");
    assert_eq!(tokio::time::timeout(Duration::from_secs(5), serving).await.unwrap().unwrap(), sent);
}

#[tokio::test]
async fn request_on_a_closed_connection_is_sent_again() {
    check(&[&[Step::Answer, Step::Close], &[Step::Answer]], true, 3).await;
    check(&[&[Step::Answer, Step::Reset], &[Step::Answer]], true, 3).await;
}

#[tokio::test]
async fn connection_closed_long_ago_is_not_used() {
    check(&[&[Step::Answer], &[Step::Answer]], true, 2).await;
}

#[tokio::test]
async fn request_is_sent_again_only_once() {
    check(&[&[Step::Answer, Step::Close], &[Step::Close]], false, 3).await;
}

#[tokio::test]
async fn request_that_a_server_worked_on_is_not_sent_again() {
    check(&[&[Step::Answer, Step::CloseLate]], false, 2).await;
}

#[tokio::test]
async fn request_on_a_fresh_connection_is_not_sent_again() {
    let (url, serving) = serve(&[&[Step::Close]]).await;
    post(&pool(), &url).await.unwrap_err();
    assert_eq!(serving.await.unwrap(), 1);
}

#[tokio::test]
async fn requests_other_than_model_requests_are_not_sent_again() {
    let (url, serving) = serve(&[&[Step::Answer, Step::Close]]).await;
    let transport = Transport::new(Timeouts::default(), &HashMap::new(), None);
    let post = || transport.post_form(&url, b"a=b".to_vec(), Duration::from_secs(5));
    assert_eq!(post().await.unwrap(), (200, b"ok".to_vec()));
    post().await.unwrap_err();
    assert_eq!(serving.await.unwrap(), 2);
}

/// With HTTP/2 the connection is shared, and its end reaches a request differently.
#[tokio::test]
async fn http_2_request_on_a_closed_connection_is_sent_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        for answers in [1, 1] {
            let (socket, _) = listener.accept().await.unwrap();
            let mut connection = h2::server::handshake(socket).await.unwrap();
            for _ in 0..answers {
                let (_, mut respond) = connection.accept().await.unwrap().unwrap();
                let mut body = respond.send_response(hyper::Response::new(()), false).unwrap();
                body.send_data(Bytes::from("ok"), true).unwrap();
            }
            // Polls for the next request, then drops the connection.
            connection.accept().await;
        }
    });
    let tls = tls(Trust::Nobody).unwrap();
    let pool = Pool::build(Client::builder().tls_backend_preconfigured(tls).http2_prior_knowledge()).unwrap();
    assert_eq!(post(&pool, &url).await.unwrap(), "ok");
    assert_eq!(post(&pool, &url).await.unwrap(), "ok");
    drop(pool);
    serving.await.unwrap();
}
