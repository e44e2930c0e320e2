//! Thousands of clients that read nothing, send nothing or wait for an index hold sockets, and nothing else.

use crate::VARVE;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime::Builder;
use varve_testkit::http::Client;
use varve_testkit::varve::{Server, configure};

/// Clients that ask for a long answer and read none of it.
const STALLED: usize = 5000;
/// Clients that wait for an index.
const WAITING: usize = 2000;
/// Clients that send a part of a body.
const UPLOADING: usize = 600;

/// The bounds that the server keeps to, whatever its clients do.
const MOST_THREADS: usize = 64;
const MOST_MEMORY: u64 = 1 << 30;

/// Bytes of an answer that the kernel takes for a client that reads nothing: little, as there are many.
const RECEIVE_BUFFER: u32 = 4096;
/// Bytes of the answers, far more than all buffers on the way.
const LONG: usize = 8 << 20;
const DOCUMENTS: usize = 4096;

/// Each map call takes a second, so that the index takes minutes.
const SLOW_MAP: &str =
    "function (doc) { var end = Date.now() + 1000; while (Date.now() < end); emit(doc._id) }";

/// Stalled clients have this long; it must be enough to open all connections.
const SETTINGS: &str = "[chttpd_auth]\niterations = 2\n[ken]\nbatch_channels = 0\n[views]\ncompile = false\n\
                        [fabric]\nrequest_timeout = infinity\n\
                        [limits]\nwrite_timeout = 40\nbody_timeout = 40\n";
/// Until then the stalled clients have been disconnected.
const DEADLINE: Duration = Duration::from_secs(240);

/// Answers of many megabytes.
const ANSWERS: &[&str] = &[
    "/long/_all_docs?include_docs=true",
    "/long/_changes?include_docs=true",
    "/long/_design/d/_view/all",
    "/long/a0/data",
    "/hg/big?cmd=stream_out",
    // All changesets, as a changegroup in a bundle of version 2.
    "/hg/big?cmd=getbundle&cg=1&bundlecaps=HG20%2Cbundle2%3DHG20%250Achangegroup%253D02",
];

fn program(directory: &Path, arguments: &[&str]) {
    let mut command = Command::new(VARVE);
    command.args(arguments).current_dir(directory);
    command
        .env("HGRCPATH", "")
        .env("HGPLAIN", "1")
        .env("HGUSER", "ada");
    command.stdin(Stdio::null()).stdout(Stdio::null());
    assert!(command.status().unwrap().success(), "{arguments:?}");
}

fn make_repository(path: &Path, length: usize) {
    fs::create_dir_all(path).unwrap();
    program(path, &["init"]);
    fs::write(
        path.join("data.bin"),
        varve_testkit::repos::noise(length, 7),
    )
    .unwrap();
    program(path, &["commit", "-A", "-m", "first"]);
}

fn fill(admin: &mut Client) {
    for database in ["long", "slow", "short"] {
        admin
            .put(&format!("/{database}"), &json!({}))
            .expect_status(201);
        let everyone = json!({"members": {"names": [], "roles": []}});
        admin
            .put(&format!("/{database}/_security"), &everyone)
            .expect_status(200);
    }
    let text = varve_testkit::repos::noise(LONG / DOCUMENTS / 2, 3);
    let text: String = text.iter().map(|byte| format!("{byte:02x}")).collect();
    let docs: Vec<_> = (0..DOCUMENTS)
        .map(|n| json!({"_id": format!("a{n}"), "text": text}))
        .collect();
    admin
        .post("/long/_bulk_docs", &json!({"docs": docs}))
        .expect_status(201);
    let map = "function (doc) { emit(doc._id, doc.text) }";
    let design = json!({"views": {"all": {"map": map}}});
    admin.put("/long/_design/d", &design).expect_status(201);
    admin
        .get("/long/_design/d/_view/all?limit=1")
        .expect_status(200);
    let rev = admin.get("/long/a0").json()["_rev"]
        .as_str()
        .unwrap()
        .to_owned();
    let data = varve_testkit::repos::noise(LONG, 5);
    let stored = admin.request(
        "PUT",
        &format!("/long/a0/data?rev={rev}"),
        &[("content-type", "application/octet-stream")],
        &data,
    );
    stored.unwrap().expect_status(201);
    let docs: Vec<_> = (0..1000).map(|n| json!({"_id": format!("s{n}")})).collect();
    admin
        .post("/slow/_bulk_docs", &json!({"docs": docs}))
        .expect_status(201);
    let design = json!({"views": {"v": {"map": SLOW_MAP}}});
    admin.put("/slow/_design/s", &design).expect_status(201);
}

/// For every second client the login of the testkit's administrator.
fn login(number: usize) -> &'static str {
    match number % 2 {
        0 => "",
        _ => "authorization: Basic YWRtaW46bGF5ZXJzLW9mLXNpbHQ=\r\n",
    }
}

/// Connects with a small receive buffer, and sends.
async fn send(server: &Server, text: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(RECEIVE_BUFFER).unwrap();
    let mut stream = socket
        .connect(server.address().parse().unwrap())
        .await
        .unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

async fn stall(server: &Server) -> Vec<TcpStream> {
    let mut streams = Vec::new();
    for n in 0..STALLED {
        let path = ANSWERS[n / 2 % ANSWERS.len()];
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{}\r\n", login(n));
        streams.push(send(server, &request).await);
    }
    for stream in &mut streams {
        // The answers have begun.
        let mut status = [0; 12];
        stream.read_exact(&mut status).await.unwrap();
        assert_eq!(
            &status,
            b"HTTP/1.1 200",
            "{}",
            String::from_utf8_lossy(&status)
        );
    }
    streams
}

async fn wait_for_index(server: &Server) -> Vec<TcpStream> {
    let mut streams = Vec::new();
    for n in 0..WAITING {
        let login = login(n);
        let request =
            format!("GET /slow/_design/s/_view/v HTTP/1.1\r\nhost: localhost\r\n{login}\r\n");
        streams.push(send(server, &request).await);
    }
    streams
}

async fn upload(server: &Server) -> Vec<TcpStream> {
    let kinds = [
        ("/short/u/data", "application/octet-stream"),
        ("/short/u", "multipart/related; boundary=x"),
        ("/short/u", "application/json"),
    ];
    let mut streams = Vec::new();
    for n in 0..UPLOADING {
        let (path, kind) = kinds[n % kinds.len()];
        let head = format!("PUT {path}{n} HTTP/1.1\r\nhost: localhost\r\n{}", login(1));
        let more = format!("content-type: {kind}\r\ncontent-length: 10000000\r\n\r\n--x\r\n");
        streams.push(send(server, &(head + &more)).await);
    }
    streams
}

fn sockets(server: &Server) -> usize {
    let files = server.open_files();
    let names = files.iter().map(|file| file.to_string_lossy());
    names.filter(|name| name.starts_with("socket:")).count()
}

fn assert_bounds(server: &Server) {
    let (threads, memory) = (server.threads(), server.peak_memory());
    assert!(threads <= MOST_THREADS, "{threads} threads");
    assert!(memory <= MOST_MEMORY, "{} MiB", memory >> 20);
}

fn assert_served(server: &Server, directory: &Path, round: usize) {
    let mut admin = server.admin();
    admin.get("/long/a1").expect_status(200);
    server
        .anonymous()
        .get("/long/_all_docs?limit=1")
        .expect_status(200);
    admin
        .put(&format!("/short/w{round}"), &json!({}))
        .expect_status(201);
    let heads = server.anonymous().get("/hg/big?cmd=heads");
    assert_eq!(heads.expect_status(200).body.len(), 41);
    let url = server.url("/hg/small");
    program(directory, &["clone", &url, &format!("clone{round}")]);
}

#[test]
fn thousands_of_stalled_clients_hold_no_threads_and_leave_in_time() {
    let directory = tempfile::tempdir().unwrap();
    let served = directory.path().join("served");
    configure(&served, SETTINGS);
    make_repository(&served.join("repos/big"), LONG);
    make_repository(&served.join("repos/small"), 1000);
    let server = Server::start(VARVE, &served);
    fill(&mut server.admin());
    varve_server::raise_file_limit();
    let clients = Builder::new_current_thread().enable_all().build().unwrap();
    let waiting = clients.block_on(wait_for_index(&server));
    let stalled = clients.block_on(stall(&server));
    let uploading = clients.block_on(upload(&server));
    assert_served(&server, directory.path(), 0);
    let held = waiting.len() + stalled.len() + uploading.len();
    assert!(sockets(&server) >= held, "{} of {held}", sockets(&server));
    assert_bounds(&server);
    let begun = Instant::now();
    // The server closes the stalled clients only, not those that wait for the index.
    while sockets(&server) > WAITING + 100 {
        assert!(begun.elapsed() < DEADLINE, "{} sockets", sockets(&server));
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!(sockets(&server) >= WAITING);
    assert_served(&server, directory.path(), 1);
    assert_bounds(&server);
}
