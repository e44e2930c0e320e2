//! The real server under requests that are nearly right: heads, bodies in parts, JSON, bundles and design functions, each changed
//! at random. It must not panic, hang, or take more memory than is said here.
//!
//! `VARVE_FUZZ_SECONDS=3600` runs for so long instead of [`ROUNDS`], `VARVE_FUZZ_SEED` begins elsewhere.

mod requests;
mod rng;

use crate::VARVE;
use requests::{Template, functions, templates};
use rng::Rng;
use serde_json::json;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};
use varve_testkit::varve::{Server, configure};

const ROUNDS: usize = 300;
/// A client leaves after so long without an answer: some changes make a request wait for more.
const PATIENCE: Duration = Duration::from_millis(200);
/// A server that answers nothing for so long hangs.
const HANG: Duration = Duration::from_secs(120);
/// One function in this many rounds: each makes a database.
const FUNCTION_EVERY: usize = 10;
const PING_EVERY: usize = 50;
const MEMORY: u64 = 1 << 30;
const SETTINGS: &str = "[couchdb]\nos_process_timeout = 1000\n";

/// A repository to push to, and a bundle of it.
fn repository(server_directory: &std::path::Path, format: &str) -> Vec<u8> {
    let repository = server_directory.join("repos/r");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(VARVE);
        command.args(arguments).current_dir(&repository);
        let done = command
            .env("HGRCPATH", "")
            .env("HGUSER", "ada")
            .output()
            .unwrap();
        assert!(done.status.success(), "{arguments:?}: {done:?}");
    };
    if !repository.exists() {
        std::fs::create_dir_all(&repository).unwrap();
        run(&["init"]);
        for n in 0..3 {
            std::fs::write(repository.join("f"), "line\n".repeat(10 + n)).unwrap();
            run(&["commit", "-A", "-m", &format!("change {n}")]);
        }
        let rights = "[web]\npush_ssl = no\nallow-push = *\n";
        std::fs::write(repository.join(".hg/hgrc"), rights).unwrap();
    }
    let file = format!("{format}.hg");
    run(&["bundle", "--all", "-t", format, &file]);
    std::fs::read(repository.join(file)).unwrap()
}

/// Sends bytes as they are, and reads the answer until its end or until the patience ends.
fn send(address: &str, bytes: &[u8], closes: bool) {
    let Ok(mut stream) = TcpStream::connect(address) else {
        return;
    };
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    // A server that has refused the request closes the connection, or reads no more.
    if stream.write_all(bytes).is_ok() && closes {
        let _ = stream.shutdown(Shutdown::Write);
    }
    let mut answer = [0; 16 << 10];
    let begun = Instant::now();
    while begun.elapsed() < 4 * PATIENCE && matches!(stream.read(&mut answer), Ok(1..)) {}
}

/// A database of its own for a changed function, which sees a document in each of its roles.
fn try_function(server: &Server, rng: &mut Rng, round: usize) {
    let mut source = rng.choose(functions()).as_bytes().to_vec();
    rng.mutate(&mut source);
    let source = String::from_utf8_lossy(&source);
    let design = json!({
        "views": {"v": {"map": source, "reduce": source}, "w": {"map": source, "reduce": "_stats"}},
        "validate_doc_update": source, "updates": {"u": source}, "filters": {"f": source},
    });
    let mut admin = server.admin();
    let database = format!("/f{round}");
    let mut ask = |method: &str, path: &str, body: &str| {
        let headers = [("Content-Type", "application/json")];
        let path = format!("{database}{path}");
        // Any answer will do.
        let _ = admin.request(method, &path, &headers, body.as_bytes());
    };
    ask("PUT", "", "");
    ask("PUT", "/a", "{\"n\":1}");
    ask("PUT", "/_design/d", &design.to_string());
    ask("PUT", "/b", "{\"n\":2}");
    ask("GET", "/_design/d/_view/v?group=true", "");
    ask("GET", "/_design/d/_view/w", "");
    ask("POST", "/_design/d/_update/u/a", "{}");
    ask("GET", "/_changes?filter=d/f", "");
    ask("DELETE", "", "");
}

fn check(server: &mut Server, seed: u64, round: usize) {
    let at = format!("seed {seed}, round {round}");
    let begun = Instant::now();
    while !matches!(server.anonymous().request("GET", "/_up", &[], b""), Ok(up) if up.status == 200)
    {
        assert!(server.is_running(), "{at}: {}", server.printed());
        assert!(begun.elapsed() < HANG, "{at}: no answer");
        std::thread::sleep(Duration::from_millis(50));
    }
    let printed = server.printed();
    assert!(!printed.contains("panicked"), "{at}: {printed}");
    let memory = server.peak_memory();
    assert!(memory < MEMORY, "{at}: {memory} bytes");
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The status of the answer to a request that closes its connection.
fn status(address: &str, request: &[u8]) -> u16 {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(HANG)).unwrap();
    stream.write_all(request).unwrap();
    let mut start = [0; 12];
    stream.read_exact(&mut start).unwrap();
    let text = std::str::from_utf8(&start).unwrap();
    text.strip_prefix("HTTP/1.1 ").unwrap().parse().unwrap()
}

/// Else only refusals would be tried with changes.
#[test]
fn the_requests_are_right_before_they_are_changed() {
    let directory = tempfile::tempdir().unwrap();
    configure(directory.path(), SETTINGS);
    let bundle = repository(directory.path(), "none-v2");
    let server = Server::start(VARVE, directory.path());
    server.admin().put("/d", &json!(null)).expect_status(201);
    server
        .admin()
        .put("/d/a", &json!({"n": 1}))
        .expect_status(201);
    let view = json!({"views": {"v": {"map": functions()[0], "reduce": "_count"}}});
    server.admin().put("/d/_design/d", &view).expect_status(201);
    let refused: Vec<_> = templates(&[bundle])
        .iter()
        .map(|template| {
            let status = status(server.address(), &template.unchanged());
            (template.line().to_owned(), status)
        })
        // No document is there in every state that the requests take for granted.
        .filter(|(_, status)| *status >= 400 && ![404, 409].contains(status))
        .collect();
    assert_eq!(refused, []);
}

#[test]
fn changed_requests_cause_no_panic_no_hang_and_no_memory() {
    let directory = tempfile::tempdir().unwrap();
    configure(directory.path(), SETTINGS);
    let bundles = ["none-v1", "none-v2", "gzip-v2", "zstd-v2"];
    let bundles = bundles.map(|format| repository(directory.path(), format));
    let mut server = Server::start(VARVE, directory.path());
    server.admin().put("/d", &json!(null)).expect_status(201);
    let templates: Vec<Template> = templates(&bundles);
    let seed = number("VARVE_FUZZ_SEED").unwrap_or(1);
    let time = number("VARVE_FUZZ_SECONDS").map(Duration::from_secs);
    let (mut rng, begun) = (Rng::new(seed), Instant::now());
    for round in 0.. {
        match time {
            Some(time) if begun.elapsed() > time => break,
            None if round >= ROUNDS => break,
            _ => {}
        }
        let template = rng.choose(&templates);
        send(server.address(), &template.changed(&mut rng), rng.one_in(3));
        if round % FUNCTION_EVERY == 0 {
            try_function(&server, &mut rng, round);
        }
        if round % PING_EVERY == 0 {
            check(&mut server, seed, round);
        }
    }
    check(&mut server, seed, usize::MAX);
    let ended = server.stop("TERM");
    assert!(ended.status.success(), "{ended:?}");
    assert!(!ended.printed.contains("panicked"), "{ended:?}");
}
