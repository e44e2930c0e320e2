//! The server and clients are killed in the middle of pushes, many times.

use super::{OPEN, Pair, commit, copy};
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;
use varve_testkit::peers::hg_program;
use varve_testkit::varve::Server;

/// A repository whose client has much to push.
fn with_much() -> Pair {
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

fn pushing(client: &Path, url: &str) -> std::process::Child {
    let mut command = Command::new(hg_program());
    command.args(["push", "-f", url]).current_dir(client);
    command.env("HGRCPATH", "").env("HGPLAIN", "1");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// The next push lands everything, after `recover` if that is needed.
fn lands(pair: &Pair, url: &str, recover: bool) {
    let (server, client) = (&pair.servers()[0], &pair.clients()[0]);
    let told = pair.hg.run(client, &["push", "-f", url]);
    if told.stderr.contains("abandoned transaction")
        || told.stdout.contains("abandoned transaction")
    {
        assert!(recover, "{told}");
        pair.hg.ok(server, &["recover"]);
        pair.hg.ok(server, &["verify"]);
        pair.hg.ok(client, &["push", "-f", url]);
    } else {
        assert!(matches!(told.code, Some(0 | 1)), "{told}");
    }
    pair.hg.ok(server, &["verify"]);
    let count = |path: &Path| pair.hg.ok(path, &["log", "-T", "."]).len();
    assert_eq!(count(server), count(client));
}

/// Puts the repository back to three changesets.
fn reset(pair: &Pair, kept: &Path) {
    let server = &pair.servers()[0];
    std::fs::remove_dir_all(server).unwrap();
    copy(kept, server);
}

#[test]
fn a_server_that_is_killed_loses_nothing() {
    let pair = with_much();
    let kept = pair.site.path().join("kept");
    copy(&pair.servers()[0], &kept);
    let folder = pair.site.path().join("second");
    std::fs::create_dir_all(folder.join("repos")).unwrap();
    for round in 0..12 {
        reset(&pair, &kept);
        let second = folder.join("repos/r");
        let _ = std::fs::remove_dir_all(&second);
        copy(&kept, &second);
        let server = Server::start(crate::VARVE, &folder);
        let mut client = pushing(&pair.clients()[0], &server.url("/hg/r"));
        thread::sleep(Duration::from_millis(150 + 40 * round));
        server.kill();
        client.wait().unwrap();
        std::fs::remove_dir_all(pair.servers()[0].as_path()).unwrap();
        copy(&second, &pair.servers()[0]);
        lands(&pair, &pair.urls()[0], true);
    }
}

#[test]
fn a_client_that_is_killed_leaves_nothing_behind() {
    let pair = with_much();
    let kept = pair.site.path().join("kept");
    copy(&pair.servers()[0], &kept);
    let url = &pair.urls()[0];
    for round in 0..12 {
        reset(&pair, &kept);
        let mut client = pushing(&pair.clients()[0], url);
        thread::sleep(Duration::from_millis(150 + 40 * round));
        let _ = client.kill();
        client.wait().unwrap();
        // What it had begun is undone by the server itself.
        lands(&pair, url, false);
    }
}

#[test]
fn a_server_that_is_told_to_stop_undoes_what_cannot_end() {
    let mut pair = with_much();
    // Longer than what is under way may take to end, and shorter than what cannot may take to be
    // undone.
    let begun = pair.site.path().join("begun");
    let hook = format!("touch {}; sleep 7", begun.display());
    pair.configure(&format!("{OPEN}[hooks]\nprechangegroup = {hook}\n"));
    let client = &pair.clients()[0];
    pair.hg
        .ok(client, &["bundle", "-a", "-t", "none-v1", "../all.hg"]);
    let bundle = std::fs::read(pair.site.path().join("all.hg")).unwrap();
    let mut stream = TcpStream::connect(pair.ours.address()).unwrap();
    let head = format!(
        "POST /hg/r?cmd=unbundle&heads=666f726365 HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n",
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
fn a_client_that_sends_slowly_keeps_nobody_from_pushing() {
    let pair = with_much();
    let client = &pair.clients()[0];
    let mut stream = TcpStream::connect(pair.ours.address()).unwrap();
    let head = "POST /hg/r?cmd=unbundle&heads=666f726365 HTTP/1.1\r\nHost: x\r\nContent-Length: 99999\r\n\r\nHG20";
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
