//! Several clients clone a repository at the same time: their answer is made once.

use super::Site;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use varve_testkit::http::Client;
use varve_testkit::peers::{hg, hg_program};
use varve_testkit::repos;
use varve_testkit::varve::Server;

const FILES: usize = 24;
/// More than the buffers between two programs hold, altogether.
const LEN: usize = 1 << 20;
const COMPRESSED: (&str, &str) = ("X-HgProto-1", "0.1 0.2 comp=zstd,zlib");

/// A site with a repository of noise.
fn noisy() -> Site {
    let site = Site::new();
    let (hg, root) = (hg(), site.repository("r"));
    repos::make(&hg, &root, repos::DEFAULT);
    let mut state = 1_u32;
    for file in 0..FILES {
        let noise = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        });
        let bytes: Vec<u8> = noise.take(LEN).collect();
        repos::write(&root, &format!("f{file}"), &bytes);
    }
    repos::commit(&hg, &root, "noise");
    site
}

/// The path that asks for everything.
fn everything(site: &Site) -> String {
    let tip = hg().ok(&site.repository("r"), &["log", "-r", "tip", "-T", "{node}"]);
    // A fresh file may still change unseen, so each request reads it anew.
    std::thread::sleep(Duration::from_millis(500));
    let caps = "HG20%2Cbundle2%3DHG20%250Achangegroup%253D01%252C02";
    format!(
        "/hg/r?cmd=getbundle&cg=1&bundlecaps={caps}&common={}&heads={tip}",
        "0".repeat(40)
    )
}

/// A client that has asked and reads nothing yet.
struct Slow(TcpStream);

impl Slow {
    fn ask(server: &Server, path: &str) -> Slow {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        let (name, value) = COMPRESSED;
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{name}: {value}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        // It has been taken in when the answer begins.
        stream.peek(&mut [0]).unwrap();
        Slow(stream)
    }

    /// Reads it all, and takes the chunks of HTTP apart.
    fn read(mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.0.read_to_end(&mut bytes).unwrap();
        let end = bytes
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap();
        let (mut rest, mut body) = (&bytes[end + 4..], Vec::new());
        loop {
            let line = rest.windows(2).position(|two| two == b"\r\n").unwrap();
            let len =
                usize::from_str_radix(std::str::from_utf8(&rest[..line]).unwrap(), 16).unwrap();
            let chunk = &rest[line + 2..];
            if len == 0 {
                return body;
            }
            body.extend_from_slice(&chunk[..len]);
            rest = &chunk[len + 2..];
        }
    }
}

fn ask(server: &Server, path: &str) -> Vec<u8> {
    let answer = Client::new(server.address()).request("GET", path, &[COMPRESSED], b"");
    answer.unwrap().expect_status(200).body
}

/// Files of answers that are under way.
fn copies(server: &Server) -> usize {
    let is_copy = |path: &Path| path.to_string_lossy().contains("varve-scratch");
    let files = server.open_files();
    files.iter().filter(|path| is_copy(path)).count()
}

#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn one_answer_is_made_for_all_clients() {
    let site = noisy();
    let server = site.serve();
    let path = everything(&site);
    let slow = [Slow::ask(&server, &path), Slow::ask(&server, &path)];
    wait_until("no copy", || copies(&server) > 0);
    assert_eq!(copies(&server), 1);
    let quick = ask(&server, &path);
    assert!(quick.len() > FILES * LEN);
    assert_eq!(copies(&server), 1);
    // A changeset more is another answer.
    let root = site.repository("r");
    repos::write(&root, "more", b"more");
    repos::commit(&hg(), &root, "more");
    let third = Slow::ask(&server, &everything(&site));
    wait_until("no other copy", || copies(&server) > 1);
    assert_eq!(copies(&server), 2);
    assert!(third.read() != quick);
    for client in slow {
        assert!(client.read() == quick);
    }
    wait_until("a copy stays", || copies(&server) == 0);
}

#[test]
fn an_answer_without_clients_is_stopped() {
    let site = noisy();
    let server = site.serve();
    let path = everything(&site);
    let (one, other) = (Slow::ask(&server, &path), Slow::ask(&server, &path));
    wait_until("no copy", || copies(&server) > 0);
    drop(one);
    assert_eq!(copies(&server), 1);
    drop(other);
    wait_until("a copy stays", || copies(&server) == 0);
    assert!(ask(&server, &path).len() > FILES * LEN);
}

#[test]
fn without_room_for_a_copy_each_client_gets_its_own() {
    let site = noisy();
    let limited = site.path().join("limited");
    let script = format!(
        "#!/bin/sh\ntrap '' XFSZ\nulimit -f 8192\nexec {} \"$@\"\n",
        crate::VARVE
    );
    std::fs::write(&limited, script).unwrap();
    std::fs::set_permissions(&limited, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = everything(&site);
    let whole = ask(&site.serve(), &path);
    let server = Server::start(limited.to_str().unwrap(), site.path());
    let slow = Slow::ask(&server, &path);
    assert!(ask(&server, &path) == whole);
    assert!(slow.read() == whole);
}

#[test]
fn clients_of_mercurial_clone_at_once() {
    let site = noisy();
    let server = site.serve();
    let work = tempfile::tempdir().unwrap();
    let clone = |number: usize| -> Child {
        let mut command = Command::new(hg_program());
        let target = work.path().join(number.to_string());
        command.args(["clone", "-q", "-U", "--pull", &server.url("/hg/r")]);
        command.arg(target).env("HGRCPATH", "");
        command.stdout(Stdio::null()).spawn().unwrap()
    };
    let clones: Vec<Child> = (0..4).map(clone).collect();
    for (number, mut child) in clones.into_iter().enumerate() {
        assert!(child.wait().unwrap().success());
        let target = work.path().join(number.to_string());
        hg().ok(&target, &["verify", "-q"]);
        assert_eq!(
            hg().ok(&target, &["log", "-T", "."]),
            hg().ok(&site.repository("r"), &["log", "-T", "."])
        );
    }
}
