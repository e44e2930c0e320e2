//! Streams and connections whose clients are too many, too slow or silent.

use super::client::{Http2, next, run};
use crate::client::Running;
use h2::client::Builder;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

/// The first bytes of a client that has no settings.
pub const GREETING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// Connects without a library; what the server sends is not read.
pub fn connect(server: &Running) -> TcpStream {
    let mut socket = TcpStream::connect(server.address).unwrap();
    socket
        .set_read_timeout(Some(super::client::DEADLINE))
        .unwrap();
    socket.write_all(GREETING).unwrap();
    socket
}

/// Reads until the server closes the connection.
pub fn read_to_end(mut socket: TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    match socket.read_to_end(&mut all) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
        Err(error) => panic!("the connection stays open: {error}"),
    }
    all
}

/// A server with a document and an attachment of 1 MiB.
fn scene(settings: &str) -> Running {
    let server = Running::start_with(settings);
    let admin = [crate::client::ADMIN];
    assert_eq!(server.send("PUT", "/db", &admin, "").status, 201);
    let body = "x".repeat(1 << 20);
    let put = server.send("PUT", "/db/doc/file", &admin, &body);
    assert_eq!(put.status, 201);
    server
}

fn was_reset(error: &h2::Error) -> bool {
    error.is_reset() && error.is_remote()
}

#[test]
fn streams_without_a_window_are_reset_and_the_others_go_on() {
    let server = scene("[limits]\nwrite_timeout = 1\n");
    run(async {
        let builder = &mut Builder::new();
        let builder = builder
            .initial_window_size(10_000)
            .initial_connection_window_size(50_000_000);
        let mut client = Http2::open_with(&server, builder).await;
        let mut stalled = Vec::new();
        for _ in 0..20 {
            let (response, _) = client
                .begin(("GET", "/db/doc/file"), &[], true)
                .await
                .unwrap();
            stalled.push(response.await.unwrap().into_body());
        }
        // Its client reads on, so it outlives them.
        let feed = "/db/_changes?feed=continuous&since=now&heartbeat=50&timeout=100000";
        let (response, _) = client.begin(("GET", feed), &[], true).await.unwrap();
        let mut live = response.await.unwrap().into_body();
        for body in &mut stalled {
            // Data that has come is not given back, so that the window stays shut.
            let ended = loop {
                tokio::select! {
                    biased;
                    data = body.data() => match data {
                        Some(Ok(_)) => {}
                        other => break other,
                    },
                    beat = next(&mut live) => {
                        beat.unwrap().unwrap();
                    }
                }
            };
            let error = ended.expect("it is no whole answer").unwrap_err();
            assert!(was_reset(&error), "{error}");
        }
        assert_eq!(client.get("/db/doc").await.status, 200);
        next(&mut live).await.unwrap().unwrap();
    });
}

#[test]
fn a_last_piece_that_is_not_read_ends_the_connection() {
    let server = scene("[limits]\nwrite_timeout = 1\n");
    run(async {
        let builder = &mut Builder::new();
        let mut client = Http2::open_with(&server, builder.initial_window_size(1)).await;
        let (response, _) = client.begin(("GET", "/_up"), &[], true).await.unwrap();
        let _body = response.await.unwrap().into_body();
        // It is closed without a word, or in the middle of one.
        let _ = client.connection.await.unwrap();
    });
}

#[test]
fn clients_that_read_no_byte_are_gone_after_their_time() {
    let server = scene("[limits]\nwrite_timeout = 1\nidle_timeout = 1\n");
    // GET of the attachment, with the admin's login, as literals without an index.
    let mut head = vec![0x82, 0x86];
    for (index, value) in [(4, "/db/doc/file"), (1, "127.0.0.1")] {
        head.extend([index, value.len() as u8]);
        head.extend(value.as_bytes());
    }
    head.extend([0x0f, 0x08, 18]);
    head.extend(b"Basic YWRtOnBhc3M=");
    let mut sockets: Vec<TcpStream> = (0..10).map(|_| connect(&server)).collect();
    for socket in &mut sockets {
        // As large as windows are, so that the socket is what stalls.
        let window = [
            &[0, 0, 4, 8, 0, 0, 0, 0, 0][..],
            &0x7fff_0000_u32.to_be_bytes(),
        ]
        .concat();
        socket.write_all(&window).unwrap();
        for stream in 0..100_u32 {
            let mut frame = vec![0, 0, head.len() as u8, 1, 5];
            frame.extend((2 * stream + 1).to_be_bytes());
            frame.extend(&head);
            socket.write_all(&frame).unwrap();
        }
    }
    for socket in sockets {
        assert!(read_to_end(socket).len() < 100 << 20);
    }
    assert_eq!(server.get("/_up").status, 200);
}

#[test]
fn a_greeting_without_a_request_is_not_waited_for() {
    let server = Running::start_with("[limits]\nhead_timeout = 1\n");
    let mut slow = connect(&server);
    // Neither does a head that never ends.
    slow.write_all(&[0, 0, 1, 1, 0, 0, 0, 0, 1, 0x82]).unwrap();
    for socket in [connect(&server), slow] {
        let goodbye = read_to_end(socket);
        assert!(
            goodbye.windows(2).any(|bytes| bytes == [7, 0]),
            "{goodbye:?}"
        );
    }
}

#[test]
fn a_connection_between_requests_is_told_before_it_is_closed() {
    let server = scene("[limits]\nidle_timeout = 1\n");
    run(async {
        let mut client = Http2::open(&server).await;
        assert_eq!(client.get("/_up").await.status, 200);
        // Feeds are not idle.
        let feed = "/db/_changes?feed=longpoll&since=now&timeout=2500";
        assert_eq!(client.get(feed).await.status, 200);
        client
            .connection
            .await
            .unwrap()
            .expect("GOAWAY, and the end");
    });
}

#[test]
fn streams_are_bounded_by_connection_and_count_as_connections() {
    let server = scene("[limits]\nstreams = 3\nconnections_per_address = 3\n");
    run(async {
        let mut client = Http2::open(&server).await;
        assert_eq!(client.get("/_up").await.status, 200);
        assert_eq!(client.requests.current_max_send_streams(), 3);
        let feed = "/db/_changes?feed=continuous&since=now&timeout=100000";
        let mut held = Vec::new();
        for _ in 0..2 {
            let (response, _) = client.begin(("GET", feed), &[], true).await.unwrap();
            let response = response.await.unwrap();
            assert_eq!(response.status(), 200);
            held.push(response);
        }
        let refused = client.get("/_up").await;
        assert_eq!(refused.status, 503);
        assert!(refused.text().contains("too many connections"));
        drop(held);
        while client.get("/_up").await.status != 200 {
            tokio::task::yield_now().await;
        }
    });
}
