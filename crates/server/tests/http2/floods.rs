//! Clients that send frames as quickly as they can, and read none.

use super::client::{Http2, run};
use super::limits::{connect, read_to_end};
use crate::client::Running;
use h2::Reason;
use std::io::Write;

/// Sends the same bytes again and again until the server closes the connection.
fn flood(server: &Running, frames: &[u8]) {
    let mut socket = connect(server);
    socket
        .set_write_timeout(Some(super::client::DEADLINE))
        .unwrap();
    let many = frames.repeat(1000);
    for _ in 0..10_000 {
        if socket.write_all(&many).is_err() {
            return;
        }
    }
    panic!("the server takes everything");
}

#[test]
fn floods_of_pings_and_settings_end_their_connection() {
    let server = Running::start_with("[limits]\nwrite_timeout = 1\nhead_timeout = 2\n");
    flood(
        &server,
        &[0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8],
    );
    flood(&server, &[0, 0, 0, 4, 0, 0, 0, 0, 0]);
    flood(&server, &[0, 0, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(server.get("/_up").status, 200);
}

#[test]
fn a_head_without_end_ends_its_connection() {
    let server = Running::start();
    let mut socket = connect(&server);
    // A new header of 10 KB in each frame.
    let mut header = vec![0x00, 0x7f, 0xa1, 0x4d];
    header.resize(4 + 10_016, b'a');
    header.push(0);
    let len = header.len() as u32;
    let mut frame = len.to_be_bytes()[1..].to_vec();
    frame.extend([1, 1, 0, 0, 0, 1]);
    frame.extend(&header);
    socket.write_all(&frame).unwrap();
    (frame[3], frame[4]) = (9, 0);
    while socket.write_all(&frame).is_ok() {}
    read_to_end(socket);
    assert_eq!(server.get("/_up").status, 200);
}

#[test]
fn streams_that_are_reset_as_soon_as_they_are_open_end_their_connection() {
    let server = Running::start();
    run(async {
        let mut client = Http2::open(&server).await;
        let mut opened = 0;
        loop {
            let feed = "/db/_changes?feed=continuous&timeout=100000";
            let Ok((_, mut sending)) = client.begin(("GET", feed), &[], false).await else {
                break;
            };
            sending.send_reset(Reason::CANCEL);
            opened += 1;
            assert!(opened < 100_000, "the server takes everything");
            tokio::task::yield_now().await;
        }
        let mut other = Http2::open(&server).await;
        assert_eq!(other.get("/_up").await.status, 200);
    });
}
