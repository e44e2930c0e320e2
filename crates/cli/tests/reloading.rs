//! SIGHUP: logs that were renamed, and certificates that were renewed.

use crate::hgcli::our_hg;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use varve_testkit::http::Client;
use varve_testkit::peers::{hg, hg_program, run_hg};
use varve_testkit::repos;
use varve_testkit::varve::{Server, configure};

const DEADLINE: Duration = Duration::from_secs(60);

/// A certificate with its key; good for nothing but tests.
fn pem(name: &str) -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    tests.join("hgcli/tls").join(name)
}

#[track_caller]
fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_there() {
        assert!(begun.elapsed() < DEADLINE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn has(path: &Path, text: &str) -> bool {
    std::fs::read_to_string(path).is_ok_and(|read| read.contains(text))
}

fn kill(signal: &str, id: u32) {
    let id = id.to_string();
    let sent = Command::new("kill").args(["-s", signal, &id]).status();
    assert!(sent.unwrap().success());
}

/// Renames the log, and waits until the server with this number has another one in its place.
fn rotate(log: &Path, id: u32) {
    std::fs::rename(log, log.with_extension("old")).unwrap();
    kill("HUP", id);
    wait_for("the log is opened again", || log.exists());
}

#[test]
fn logs_are_opened_again_and_the_settings_file_of_logs_too() {
    let directory = tempfile::tempdir().unwrap();
    configure(directory.path(), "[log]\nfile = faults\nlevel = info\n");
    let [faults, requests] = ["faults", "requests"].map(|name| directory.path().join(name));
    let options = ["-A", requests.to_str().unwrap()];
    let server = Server::start_with(crate::VARVE, directory.path(), &options).unwrap();
    let mut admin = server.admin();
    admin.get("/_up?first");
    let old = requests.with_extension("old");
    wait_for("the first line", || has(&requests, "/_up?first"));
    rotate(&requests, server.id());
    std::fs::rename(&faults, faults.with_extension("old")).unwrap();
    server.signal("HUP");
    wait_for("the log is opened again", || faults.exists());
    // The new files are there a moment before they are written to.
    let mut body = String::new();
    wait_for("a line in both files", || {
        body = admin.get("/_all_dbs?second").expect_status(200).text();
        has(&requests, "/_all_dbs?second") && has(&faults, "/_all_dbs")
    });
    let line = std::fs::read_to_string(&requests).unwrap();
    assert!(line.starts_with("127.0.0.1 - admin ["), "{line}");
    let end = format!(
        "\"GET /_all_dbs?second HTTP/1.1\" 200 {} \"-\" \"-\"\n",
        body.len()
    );
    assert!(line.ends_with(&end), "{line}");
    admin.get("/_up?third");
    wait_for("the third line", || has(&requests, "/_up?third"));
    assert!(!has(&old, "third"));
    assert!(server.stop("TERM").status.success());
}

#[test]
fn a_daemon_opens_its_logs_again() {
    let directory = tempfile::tempdir().unwrap();
    let hg = hg();
    hg.ok(directory.path(), &["init", "r"]);
    for (program, first) in [(PathBuf::from(crate::VARVE), "site"), (our_hg(), "r")] {
        let place = directory.path().join(first);
        let [pid, faults, requests] = ["pid", "faults", "requests"]
            .map(|name| directory.path().join(format!("{first}-{name}")));
        let mut command = Command::new(&program);
        match first {
            "r" => command.args(["-R", place.to_str().unwrap(), "serve"]),
            _ => {
                configure(&place, "");
                command.args(["serve", place.to_str().unwrap()])
            }
        };
        command
            .args(["-d", "-p", "0", "-a", "127.0.0.1"])
            .env("HGRCPATH", "");
        command
            .arg("--pid-file")
            .arg(&pid)
            .arg("-A")
            .arg(&requests)
            .arg("-E")
            .arg(&faults);
        let output = command.output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{out}");
        let id = std::fs::read_to_string(&pid)
            .unwrap()
            .trim_end()
            .parse()
            .unwrap();
        let (_, rest) = out.split_once(":/").unwrap();
        let host = rest.trim_start_matches('/').split('/').next().unwrap();
        let port = host.rsplit(':').next().unwrap();
        let mut client = Client::new(&format!("127.0.0.1:{port}"));
        let mut ask = |path: &str| client.request("GET", path, &[], b"").unwrap().status;
        ask("/first");
        rotate(&requests, id);
        rotate(&faults, id);
        ask("/second");
        wait_for("the second line", || has(&requests, "/second"));
        kill("TERM", id);
        let process = PathBuf::from(format!("/proc/{id}"));
        wait_for("the end", || !process.exists());
    }
}

/// Whether stock `hg` believes the server with this certificate, and only with it.
fn is_believed(url: &str, certificate: &str) -> bool {
    let mut command = Command::new(hg_program());
    let trusted = format!("--config=web.cacerts={}", pem(certificate).display());
    command
        .args(["identify", &trusted, url])
        .env("HGRCPATH", "");
    run_hg(&mut command).code == Some(0)
}

/// Swaps the certificate, breaks it, and swaps it back.
fn renew(file: &Path, faults: &Path, url: &str, id: u32) {
    assert!(is_believed(url, "authority.pem") && !is_believed(url, "other.pem"));
    std::fs::write(file, "broken\n").unwrap();
    kill("HUP", id);
    wait_for("the broken one is logged", || {
        has(faults, "it has no certificate; the one before is kept")
    });
    assert!(is_believed(url, "authority.pem"));
    std::fs::copy(pem("other.pem"), file).unwrap();
    kill("HUP", id);
    wait_for("the new one", || is_believed(url, "other.pem"));
    assert!(!is_believed(url, "authority.pem"));
}

#[test]
fn a_certificate_is_read_again_and_a_broken_one_left() {
    let directory = tempfile::tempdir().unwrap();
    let hg = hg();
    repos::make(&hg, &directory.path().join("repos/r"), repos::DEFAULT);
    configure(directory.path(), "");
    let [file, faults] = ["certificate", "faults"].map(|name| directory.path().join(name));
    std::fs::copy(pem("server.pem"), &file).unwrap();
    let options = [
        "--certificate",
        file.to_str().unwrap(),
        "-E",
        faults.to_str().unwrap(),
    ];
    let server = Server::start_with(crate::VARVE, directory.path(), &options).unwrap();
    let port = server.address().rsplit(':').next().unwrap();
    let url = format!("https://localhost:{port}/hg/r");
    renew(&file, &faults, &url, server.id());
}

/// Ends with this value.
struct Alone(Child);

impl Drop for Alone {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_repository_that_is_served_alone_reads_its_certificate_again() {
    let directory = tempfile::tempdir().unwrap();
    let hg = hg();
    repos::make(&hg, &directory.path().join("r"), repos::DEFAULT);
    let [file, faults] = ["certificate", "faults"].map(|name| directory.path().join(name));
    std::fs::copy(pem("server.pem"), &file).unwrap();
    let mut command = Command::new(our_hg());
    command.args([
        "serve",
        "-R",
        "r",
        "-p",
        "0",
        "-a",
        "127.0.0.1",
        "-E",
        "faults",
    ]);
    command
        .args(["--certificate", "certificate"])
        .current_dir(directory.path());
    command
        .env("HGRCPATH", "")
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut alone = Alone(command.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(alone.0.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let (_, rest) = line.split_once("://").unwrap();
    let port = rest.split('/').next().unwrap().rsplit(':').next().unwrap();
    renew(
        &file,
        &faults,
        &format!("https://localhost:{port}/"),
        alone.0.id(),
    );
}
