//! A server that is told to stop, and clients that keep it waiting, in the middle of pushes.

use super::{OPEN, Pair, commit};
use std::io::Write;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

/// A repository whose client has much to push.
pub(super) fn with_much() -> Pair {
    let pair = Pair::new(OPEN);
    let client = &pair.clients()[0];
    let mut state = 1_u32;
    for number in 0..8 {
        for file in 0..20 {
            let noise = std::iter::repeat_with(|| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            });
            let bytes: Vec<u8> = noise.take(20_000).collect();
            std::fs::write(client.join(format!("f{file}")), bytes).unwrap();
        }
        commit(&pair.hg, client, &format!("n{number}"));
    }
    pair
}

#[test]
fn a_server_that_is_told_to_stop_undoes_what_cannot_end() {
    let mut pair = with_much();
    // Longer than the time for running requests to end, and shorter than the time for others to be
    // undone.
    let begun = pair.site.path().join("begun");
    let hook = format!("touch {}; sleep 12", begun.display());
    pair.configure(&format!("{OPEN}[hooks]\nprechangegroup = {hook}\n"));
    let client = &pair.clients()[0];
    pair.hg
        .ok(client, &["bundle", "-a", "-t", "none-v1", "../all.hg"]);
    let bundle = std::fs::read(pair.site.path().join("all.hg")).unwrap();
    let mut stream = TcpStream::connect(pair.ours.address()).unwrap();
    let head = format!(
        "POST /hg/r?cmd=unbundle&heads=666f726365 HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n",
        bundle.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&bundle).unwrap();
    let server = pair.servers()[0].clone();
    let journal = server.join(".hg/store/journal");
    while !begun.exists() {
        thread::sleep(Duration::from_millis(10));
    }
    let Pair { hg, site, ours, .. } = pair;
    assert!(ours.stop("TERM").status.success());
    assert!(!journal.exists());
    assert_eq!(hg.ok(&server, &["log", "-T", "."]), "...");
    hg.ok(&server, &["verify"]);
    drop((stream, site));
}

#[test]
fn a_client_that_sends_slowly_does_not_hold_up_pushes() {
    let pair = with_much();
    let client = &pair.clients()[0];
    let mut stream = TcpStream::connect(pair.ours.address()).unwrap();
    let head = "POST /hg/r?cmd=unbundle&heads=666f726365 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999\r\n\r\nHG20";
    stream.write_all(head.as_bytes()).unwrap();
    // It has been taken in when another request behind it has been answered.
    pair.hg.ok(client, &["identify", &pair.urls()[0]]);
    let server = &pair.servers()[0];
    assert!(!server.join(".hg/store/lock").is_symlink());
    let told = pair.hg.run(client, &["push", &pair.urls()[0]]);
    assert_eq!(told.code, Some(0), "{told}");
    drop(stream);
    pair.hg.ok(server, &["verify"]);
}
