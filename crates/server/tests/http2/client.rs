//! A client of HTTP/2 with prior knowledge, whose windows a test decides about.

use crate::client::{ADMIN, Running};
use bytes::Bytes;
use h2::client::{self, ResponseFuture, SendRequest};
use h2::{RecvStream, SendStream};
use hyper::{HeaderMap, Request};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

/// Until then something must have happened; it takes a few seconds.
pub const DEADLINE: Duration = Duration::from_secs(120);

/// One connection.
pub struct Http2 {
    pub requests: SendRequest<Bytes>,
    /// Ends with the connection: with the error that it ended by.
    pub connection: JoinHandle<Result<(), h2::Error>>,
    authority: String,
}

/// A complete answer.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

/// Runs a test on one thread, but not for ever.
pub fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let ended = runtime.block_on(async { tokio::time::timeout(DEADLINE, test).await });
    ended.unwrap();
}

impl Http2 {
    pub async fn open(server: &Running) -> Http2 {
        let mut builder = client::Builder::new();
        builder
            .initial_window_size(1 << 20)
            .initial_connection_window_size(64 << 20);
        Http2::open_with(server, &builder).await
    }

    pub async fn open_with(server: &Running, builder: &client::Builder) -> Http2 {
        let socket = TcpStream::connect(server.address).await.unwrap();
        let (requests, connection) = builder.handshake(socket).await.unwrap();
        Http2 {
            requests,
            connection: tokio::spawn(connection),
            authority: server.address.to_string(),
        }
    }

    /// Sends the head of a request of the admin; the body follows unless `is_whole`.
    pub async fn begin(
        &mut self,
        (method, path): (&str, &str),
        headers: &[(&str, &str)],
        is_whole: bool,
    ) -> Result<(ResponseFuture, SendStream<Bytes>), h2::Error> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.authority));
        for (name, value) in [ADMIN].iter().chain(headers) {
            request = request.header(*name, *value);
        }
        let requests = self.requests.clone().ready().await?;
        self.requests = requests;
        self.requests
            .send_request(request.body(()).unwrap(), is_whole)
    }

    /// Sends a request and reads its answer.
    pub async fn send(
        &mut self,
        (method, path): (&str, &str),
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Reply, h2::Error> {
        let is_whole = body.is_empty();
        let (response, mut sending) = self.begin((method, path), headers, is_whole).await?;
        if !is_whole {
            sending.send_data(Bytes::copy_from_slice(body), true)?;
        }
        let (head, mut body) = response.await?.into_parts();
        Ok(Reply {
            status: head.status.as_u16(),
            headers: head.headers,
            body: read_all(&mut body).await?,
        })
    }

    pub async fn get(&mut self, path: &str) -> Reply {
        self.send(("GET", path), &[], b"").await.unwrap()
    }

    pub async fn put(&mut self, path: &str, body: &[u8]) -> u16 {
        let json = [("content-type", "application/json")];
        self.send(("PUT", path), &json, body).await.unwrap().status
    }
}

/// The next bytes of a body, which are then no longer of the window.
pub async fn next(body: &mut RecvStream) -> Option<Result<Bytes, h2::Error>> {
    let bytes = match body.data().await? {
        Ok(bytes) => bytes,
        Err(error) => return Some(Err(error)),
    };
    let _ = body.flow_control().release_capacity(bytes.len());
    Some(Ok(bytes))
}

pub async fn read_all(body: &mut RecvStream) -> Result<Vec<u8>, h2::Error> {
    let mut all = Vec::new();
    while let Some(bytes) = next(body).await {
        all.extend(bytes?);
    }
    Ok(all)
}

/// Reads until a text has come.
pub async fn read_until(body: &mut RecvStream, text: &str) -> String {
    let mut read = String::new();
    while !read.contains(text) {
        let bytes = next(body).await.unwrap().unwrap();
        read.push_str(std::str::from_utf8(&bytes).unwrap());
    }
    read
}
