//! `clone`, `pull` and `identify` of repositories elsewhere: over HTTP and TLS, from stock
//! `hg serve` and from Varve, and on this machine.

use super::store_streams::same_but_time;
use super::{Twin, our_hg};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use tempfile::TempDir;
use varve_testkit::peers::{Hg, HgServer, Outcome, hg, hg_program};
use varve_testkit::repos;
use varve_testkit::varve::{Server, configure};

/// A repository to be cloned from.
pub(super) struct Origin {
    directory: TempDir,
    hg: Hg,
}

impl Origin {
    pub(super) fn rich() -> Origin {
        let origin = Origin::nothing();
        repos::make(&origin.hg, &origin.path(), repos::DEFAULT);
        origin
    }

    pub(super) fn nothing() -> Origin {
        let directory = tempfile::tempdir().unwrap();
        let hg = hg();
        Origin { directory, hg }
    }

    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(super) fn hg(&self) -> &Hg {
        &self.hg
    }

    pub(super) fn path(&self) -> PathBuf {
        self.directory.path().join("origin")
    }

    pub(super) fn serve(&self) -> HgServer {
        self.hg.serve(&self.path())
    }

    pub(super) fn ok(&self, line: &str) -> String {
        let words: Vec<&str> = line.split(' ').collect();
        self.hg.ok(&self.path(), &words)
    }

    pub(super) fn commit(&self, name: &str) {
        repos::write(&self.path(), name, name.as_bytes());
        let line = ["commit", "-A", "-m", name, "-d", "1 0"];
        self.hg.ok(&self.path(), &line);
    }
}

/// Two copies of a repository without changesets.
pub(super) fn empty() -> Twin {
    Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
    })
}

/// Stock `hg` finds nothing wrong, and both copies have the same.
pub(super) fn same_history(twin: &Twin, below: &str) {
    let hg = hg();
    let log = |root: &Path| {
        let directory = root.join(below);
        let template =
            "{node} {p1node} {p2node} {phase} {branch} {bookmarks} {date|hgdate}\n{desc}\n";
        let line = ["log", "--hidden", "-p", "-r", "all()", "-T", template];
        let said = hg.run_all(&directory, &[&["verify", "-q"], &line]);
        said.into_iter().map(Outcome::success).collect::<Vec<_>>()
    };
    assert_eq!(log(twin.ours()), log(twin.theirs()));
}

#[test]
fn clones_over_http_are_the_same() {
    let origin = Origin::rich();
    origin.ok("bookmark -f -r 1 mark");
    let server = origin.serve();
    let url = server.url();
    let twin = empty();
    for (name, options) in [
        ("all", ""),
        ("bare", "-U"),
        ("some", "-r 2"),
        ("branch", "-b default -u 0"),
        ("null", "-u null"),
        ("quiet", "-q"),
    ] {
        twin.all_same(&[&format!("clone {options} {url} {name}")]);
        same_history(&twin, name);
        twin.all_same(&[
            &format!("-R {name} bookmarks"),
            &format!("-R {name} status"),
            &format!("-R {name} paths"),
            &format!("-R {name} pull"),
        ]);
    }
    twin.all_same(&[
        &format!("clone -r nope {url} no"),
        &format!("clone -b nope {url} no"),
        &format!("clone {url} all"),
        &format!("clone {url}"),
        &format!("clone -U -u 0 {url} no"),
        &format!("clone {url}no/such/page"),
        "clone http://127.0.0.1:1/ no",
        "paths",
    ]);
    assert!(!twin.ours().join("no").exists());
    twin.all_same(&[
        &format!("identify {url}"),
        &format!("identify -i {url}"),
        &format!("identify -B -r mark {url}"),
        &format!("identify -n {url}"),
        &format!("identify -r nope {url}"),
        &format!("identify -T json {url}"),
        &format!("identify -T {{id}}-{{bookmarks}} {url} -r mark"),
        "identify http://127.0.0.1:1/",
    ]);
}

#[test]
fn files_of_stores_are_cloned_as_they_are() {
    let origin = Origin::rich();
    origin.ok("bookmark -f -r 1 mark");
    let server = origin.serve();
    let twin = empty();
    let clone = |url: &str, name: &str, options: &[&str]| {
        let words = [&["clone", "--stream"], options, &[url, name]].concat();
        same_but_time(&twin, &words);
        same_history(&twin, name);
        twin.all_same(&[
            &format!("-R {name} bookmarks"),
            &format!("-R {name} status"),
            &format!("-R {name} debugrequires"),
            &format!("-R {name} pull"),
        ]);
    };
    clone(server.url(), "all", &[]);
    clone(server.url(), "bare", &["-U"]);
    clone(server.url(), "some", &["-r", "1"]);
    drop(server);
    repos::write(&origin.path(), ".hg/hgrc", b"[phases]\npublish = no\n");
    origin.ok("phase -d -f -r tip");
    let server = origin.serve();
    clone(server.url(), "drafts", &["-U"]);
    drop(server);
    repos::write(&origin.path(), ".hg/hgrc", b"[server]\nuncompressed = no\n");
    let server = origin.serve();
    clone(server.url(), "refused", &["-U"]);
}

#[test]
fn files_of_stores_are_cloned_from_varve() {
    let served = tempfile::tempdir().unwrap();
    let repos = served.path().join("repos");
    std::fs::create_dir(&repos).unwrap();
    repos::make(&hg(), &repos.join("origin"), repos::DEFAULT);
    let server = Server::start(crate::VARVE, served.path());
    let url = server.url("/hg/origin");
    let twin = empty();
    same_but_time(&twin, &["clone", "--stream", "-U", &url, "streamed"]);
    same_history(&twin, "streamed");
}

#[test]
fn pulls_bring_what_is_new_with_its_bookmarks_and_phases() {
    let origin = Origin::nothing();
    origin.hg.ok(origin.directory.path(), &["init", "origin"]);
    for name in ["a", "b", "c"] {
        origin.commit(name);
    }
    let server = origin.serve();
    let url = server.url();
    let twin = empty();
    twin.all_same(&[
        &format!("pull -r 0 {url}"),
        &format!("pull -u {url}"),
        &format!("pull {url}"),
    ]);
    twin.each(|root| {
        let rc = format!("[paths]\ndefault = {url}\nsecond = {url}#default\n");
        std::fs::write(root.join(".hg/hgrc"), rc).unwrap();
    });
    origin.ok("bookmark -r 1 forward");
    origin.ok("bookmark -r 2 apart");
    twin.all_same(&["pull", "bookmarks", "pull second"]);
    origin.ok("bookmark -f -r 2 forward");
    origin.ok("update -q 0");
    origin.commit("d");
    origin.ok("bookmark -f -r 3 apart");
    twin.all_same(&["bookmark -f -r 0 apart", "update -q 2"]);
    twin.each(|root| repos::write(root, "e", b"e"));
    twin.same(&["commit", "-q", "-A", "-m", "own", "-d", "1 0"]);
    twin.all_same(&[
        "bookmark -f -r 3 apart",
        "bookmark -f -r 1 forward",
        "pull",
        "bookmarks",
        "heads",
        "pull -B apart",
        "pull -B nope",
        "pull -r nope",
        "pull -b nope",
        "pull second",
        "log -T {rev}-{node}-{phase}-{bookmarks}\\n",
    ]);
    same_history(&twin, "");
    origin.commit("f");
    twin.all_same(&["pull -u", "parents", "pull nowhere"]);
    same_history(&twin, "");
}

#[test]
fn drafts_of_a_server_that_does_not_publish_stay_drafts() {
    let origin = Origin::rich();
    std::fs::write(origin.path().join(".hg/hgrc"), "[phases]\npublish = no\n").unwrap();
    let server = origin.serve();
    let url = server.url();
    let twin = empty();
    twin.all_same(&[&format!("clone -U {url} c"), &format!("pull {url}")]);
    same_history(&twin, "c");
    origin.ok("phase -p 0");
    twin.all_same(&[&format!("-R c pull {url}"), "-R c log -T {rev}-{phase}\\n"]);
    same_history(&twin, "c");
}

#[test]
fn repositories_on_this_machine_are_pulled_from() {
    let origin = Origin::rich();
    let path = origin.path();
    let path = path.to_str().unwrap();
    let twin = empty();
    twin.all_same(&[
        &format!("pull -r 1 {path}"),
        &format!("pull file://{path}"),
        &format!("pull {path}"),
        "pull nowhere",
        "pull",
    ]);
    same_history(&twin, "");
    let other = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        repos::write(path, "x", b"x");
        hg.ok(path, &["commit", "-A", "-m", "x", "-d", "0 0"]);
    });
    other.all_same(&[
        &format!("pull {path}"),
        &format!("pull -f -r 0 {path}"),
        "heads",
    ]);
    same_history(&other, "");
}

#[test]
fn no_more_is_asked_than_stock_hg_asks() {
    let origin = Origin::nothing();
    origin.hg.ok(origin.directory.path(), &["init", "origin"]);
    for number in 0..20 {
        origin.commit(&format!("f{number}"));
    }
    let log = origin.directory.path().join("log");
    let server = origin
        .hg
        .serve_with(&origin.path(), &["-A", log.to_str().unwrap()]);
    let url = server.url();
    let twin = empty();
    for line in [
        format!("pull -r 7 {url}"),
        format!("pull -r 9 {url}"),
        format!("pull {url}"),
        format!("pull {url}"),
        format!("identify {url}"),
        format!("clone -U {url} c"),
    ] {
        std::fs::write(&log, "").unwrap();
        twin.all_same(&[&line]);
        let text = std::fs::read_to_string(&log).unwrap();
        let first = |text: &str| text.find("cmd=capabilities").unwrap() + 1;
        // Stock hg comes first.
        let theirs = first(&text[first(&text)..]) + first(&text);
        let requests = |text: &str| text.matches("cmd=").count();
        // One is counted on the wrong side of the cut.
        let (theirs, ours) = (requests(&text[..theirs]), requests(&text[theirs..]) + 1);
        assert!(
            ours <= theirs,
            "{line}: {ours} requests, {theirs} from stock hg\n{text}"
        );
    }
}

#[test]
fn proxies_are_asked_for_what_is_not_near() {
    let origin = Origin::rich();
    let server = origin.serve();
    let near = server.url();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = free.local_addr().unwrap().to_string();
    drop(free);
    let far = "http://host.invalid/";
    let host = format!("http_proxy.host={nobody}");
    let twin = empty();
    twin.all_same(&[
        &format!("identify --config {host} {near}"),
        &format!("identify --config {host} --config http_proxy.always=yes {near}"),
        &format!("identify --config {host} {far}"),
        &format!("identify --config {host} --config http_proxy.no=host.invalid {far}"),
        &format!("identify --config {host} --config http_proxy.no=*.invalid {far}"),
        &format!("identify --config {host} --config http_proxy.no=invalid {far}"),
    ]);
    let url = format!("http://{nobody}");
    for no in [
        "",
        "host.invalid",
        ".invalid",
        "invalid",
        "valid",
        "a,host.invalid",
    ] {
        let twin = empty().with("http_proxy", &url).with("no_proxy", no);
        twin.same(&["identify", far]);
        twin.same(&["identify", near]);
    }
    // A proxy finds the way to hosts that do not resolve: this one ends at the server itself.
    let through = serve_proxy(near);
    let setting = format!("http_proxy.host={through}");
    let both = twin.run(&["identify", "--id", "--config", &setting, far]);
    let direct = twin.run(&["identify", "--id", near]);
    assert_eq!(both.ours.stdout, direct.ours.stdout, "{}", both.ours.stderr);
}

/// A proxy that leads to one server, whichever is asked for; its address.
fn serve_proxy(server: &str) -> String {
    let server = server.trim_start_matches("http://").trim_end_matches('/');
    let (server, listener) = (server.to_owned(), TcpListener::bind("127.0.0.1:0").unwrap());
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, server) = (client.unwrap(), server.clone());
            std::thread::spawn(move || {
                let mut asked = Vec::new();
                let mut byte = [0];
                while !asked.ends_with(b"\r\n\r\n") && client.read(&mut byte).unwrap_or(0) > 0 {
                    asked.push(byte[0]);
                }
                if !asked.starts_with(b"CONNECT host.invalid:80 ") {
                    return;
                }
                let there = TcpStream::connect(server).unwrap();
                client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
                let (from, to) = (client.try_clone().unwrap(), there.try_clone().unwrap());
                let all = || AtomicUsize::new(usize::MAX);
                std::thread::spawn(move || pass(from, to, &all()));
                pass(there, client, &AtomicUsize::new(usize::MAX));
            });
        }
    });
    address
}

#[test]
fn names_and_passwords_come_from_the_url_or_the_configuration() {
    let directory = tempfile::tempdir().unwrap();
    configure(directory.path(), "[chttpd]\nrequire_valid_user = true\n");
    let path = directory.path().join("repos/r");
    std::fs::create_dir_all(&path).unwrap();
    let hg = hg();
    hg.ok(&path, &["init"]);
    repos::write(&path, "a", b"a");
    hg.ok(&path, &["commit", "-A", "-m", "a", "-d", "0 0"]);
    let server = Server::start(crate::VARVE, directory.path());
    let (url, login) = (server.url("/hg/r"), server.admin_url("/hg/r"));
    let (user, rest) = login
        .strip_prefix("http://")
        .unwrap()
        .split_once(':')
        .unwrap();
    let (password, _) = rest.split_once('@').unwrap();
    let twin = empty();
    let auth = format!(
        "--config auth.x.prefix={url} --config auth.x.username={user} --config auth.x.password={password}"
    );
    twin.all_same(&[
        &format!("clone {login} in-url"),
        "-R in-url paths",
        &format!("clone {auth} {url} configured"),
        &format!("identify {url}"),
        &format!("identify http://{user}:wrong@{}/hg/r", server.address()),
    ]);
    same_history(&twin, "in-url");
    same_history(&twin, "configured");
    let answered = |program: &Path, typed: &str| {
        let mut command = Command::new(program);
        command.args(["identify", &url, "--config", "ui.interactive=yes"]);
        command.env("HGRCPATH", "").env("HGPLAIN", "1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.stderr(Stdio::null()).spawn().unwrap();
        let mut stdin = process.stdin.take().unwrap();
        stdin.write_all(typed.as_bytes()).unwrap();
        drop(stdin);
        let done = process.wait_with_output().unwrap();
        (done.status.code(), String::from_utf8(done.stdout).unwrap())
    };
    for typed in [
        format!("{user}\n{password}\n"),
        format!("{user}\nwrong\n"),
        String::new(),
    ] {
        let (theirs, ours) = (answered(&hg_program(), &typed), answered(&our_hg(), &typed));
        assert_eq!(theirs, ours, "{typed:?}");
    }
}

/// Passes connections on to `server` until `left` bytes of answers have gone through, and cuts
/// them then.
fn cutting(server: String, left: usize) -> String {
    cutting_both(server, usize::MAX, left)
}

/// The same, with a number of bytes for requests as well.
pub(super) fn cutting_both(server: String, requests: usize, answers: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let [requests, answers] = [requests, answers].map(|left| Arc::new(AtomicUsize::new(left)));
    thread::spawn(move || {
        for client in listener.incoming() {
            let (Ok(client), Ok(server)) = (client, TcpStream::connect(&server)) else {
                return;
            };
            let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            let [requests, answers] = [&requests, &answers].map(Arc::clone);
            thread::spawn(move || pass(from, to, &requests));
            thread::spawn(move || pass(server, client, &answers));
        }
    });
    format!("http://{address}/")
}

fn pass(mut from: TcpStream, mut to: TcpStream, left: &AtomicUsize) {
    let mut bytes = [0; 64];
    while let Ok(len @ 1..) = from.read(&mut bytes) {
        let may = left.load(Ordering::SeqCst).min(len);
        left.fetch_sub(may, Ordering::SeqCst);
        if to.write_all(&bytes[..may]).is_err() || may < len {
            break;
        }
    }
    // Either may be closed already.
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

pub(super) fn ours(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(our_hg());
    command.args(arguments).current_dir(directory);
    command.env("HGRCPATH", "").env("HGPLAIN", "1");
    command.output().unwrap()
}

/// Returns whether a stream clone succeeds over a connection that is cut after so many bytes; a failed one must leave nothing behind.
fn stream_cut_after(directory: &Path, server: &str, left: usize) -> bool {
    let name = format!("stream{left}");
    let url = cutting(server.to_owned(), left);
    let done = ours(directory, &["clone", "-U", "--stream", &url, &name]);
    let clone = directory.join(name);
    assert_eq!(clone.exists(), done.status.success(), "{left}: {done:?}");
    if done.status.success() {
        hg().ok(&clone, &["verify", "-q"]);
        return true;
    }
    let words = String::from_utf8_lossy(&done.stderr);
    assert!(words.contains("abort: "), "{left}: {words}");
    assert_eq!(done.status.code(), Some(255), "{left}: {words}");
    false
}

#[test]
fn connections_that_break_leave_everything_as_it_was() {
    let origin = Origin::rich();
    let server = origin.serve();
    let address = server.url().strip_prefix("http://").unwrap();
    let address = address.trim_end_matches('/').to_owned();
    let directory = tempfile::tempdir().unwrap();
    let (hg, mut broken, mut whole) = (hg(), 0, 0);
    let moments = [
        0,
        1,
        100,
        700,
        900,
        1200,
        1600,
        2000,
        3000,
        4000,
        6000,
        1 << 30,
    ];
    for (round, left) in moments.into_iter().enumerate() {
        let clone = format!("clone{round}");
        let url = cutting(address.clone(), left);
        let done = ours(directory.path(), &["clone", "-U", &url, &clone]);
        let clone = directory.path().join(clone);
        assert_eq!(clone.exists(), done.status.success(), "{left}: {done:?}");
        stream_cut_after(directory.path(), &address, left);
        let pulled = directory.path().join(format!("pulled{round}"));
        hg.ok(directory.path(), &["init".as_ref(), pulled.as_os_str()]);
        let done = ours(&pulled, &["pull", &cutting(address.clone(), left)]);
        let count = hg.ok(&pulled, &["log", "-T", "."]).len();
        assert_eq!(count > 0, done.status.success(), "{left}: {done:?}");
        assert!(!pulled.join(".hg/store/journal").exists());
        hg.ok(&pulled, &["verify", "-q"]);
        assert_eq!(clone.exists(), count > 0, "{left}");
        let end = if count > 0 { &mut whole } else { &mut broken };
        *end += 1;
        let words = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(count > 0 || words.contains("abort: "), "{left}: {words}");
    }
    let streams = [2_500, 5_000, 8_000, 10_000, 20_000];
    let cut = streams
        .into_iter()
        .filter(|left| !stream_cut_after(directory.path(), &address, *left));
    assert!(cut.count() >= 3);
    assert!(broken >= 7 && whole >= 1, "{broken} broken, {whole} whole");
}

#[test]
fn a_server_is_named_with_its_root() {
    let origin = Origin::rich();
    let server = origin.serve();
    let twin = empty();
    let url = server.url().trim_end_matches('/');
    twin.all_same(&[
        &format!("clone -q {url} c"),
        "-R c paths",
        "-R c pull",
        &format!("-R c incoming {url}"),
        &format!("-R c outgoing {url}"),
        &format!("-R c paths --config paths.other={url}#default"),
    ]);
}
