//! Stream clones byte by byte: big files go past hyper into the socket, and nothing may be lost,
//! doubled or out of place around them.

use crate::client::{Connection, Running};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Duration;

const V1: &str = "/hg/big?cmd=stream_out";
const V2: &str = "/hg/big?cmd=getbundle&stream=1&bundlecaps=HG20%2Cbundle2%3DHG20%250Astream%253Dv2\
    &common=0000000000000000000000000000000000000000\
    &heads=0000000000000000000000000000000000000000";
const UNCOMPRESSED: (&str, &str) = ("x-hgproto-1", "0.1 0.2 comp=none");

/// Sizes around those where a file is handed over, cut into pieces or into chunks.
const SIZES: &[usize] = &[
    1,
    (64 << 10) - 1,
    64 << 10,
    (64 << 10) + 1,
    (256 << 10) - 1,
    256 << 10,
    0,
    (256 << 10) + 1,
    (1 << 20) - 1,
    300,
    (4 << 20) - 1,
    4 << 20,
    (4 << 20) + 1,
    (8 << 20) + 5,
    2,
];

/// A server with a repository whose revlogs are noise: a stream clone does not look inside.
struct Scene {
    server: Running,
    /// Names as streamed, and contents.
    files: Vec<(String, Vec<u8>)>,
}

impl Scene {
    fn new() -> Scene {
        let server = Running::start();
        let store = server.directory.path().join("repos/big/.hg/store");
        fs::create_dir_all(store.join("data")).unwrap();
        let requires = "dotencode\nfncache\ngeneraldelta\nrevlogv1\nstore\n";
        fs::write(store.join("../requires"), requires).unwrap();
        let mut noise = Noise(1);
        let mut files = Vec::new();
        for (n, size) in SIZES.iter().enumerate() {
            let (name, bytes) = (format!("data/f{n:02}.d"), noise.bytes(*size));
            fs::write(store.join(&name), &bytes).unwrap();
            files.push((name, bytes));
        }
        let names: String = files.iter().map(|(name, _)| format!("{name}\n")).collect();
        fs::write(store.join("fncache"), names).unwrap();
        files.retain(|(_, bytes)| !bytes.is_empty());
        Scene { server, files }
    }

    fn path(&self, name: &str) -> PathBuf {
        let store = self.server.directory.path().join("repos/big/.hg/store");
        store.join(name)
    }

    fn connect(&self) -> Connection {
        Connection::open(self.server.address)
    }

    fn total(&self) -> usize {
        self.files.iter().map(|(_, bytes)| bytes.len()).sum()
    }

    /// The whole answer to `stream_out`.
    fn v1(&self) -> Vec<u8> {
        let mut out = format!("0\n{} {}\n", self.files.len(), self.total()).into_bytes();
        for (name, bytes) in &self.files {
            out.extend(format!("{name}\0{}\n", bytes.len()).bytes());
            out.extend(bytes);
        }
        out
    }

    /// The payload of the part `STREAM2`.
    fn v2(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (name, bytes) in &self.files {
            out.extend([b's', name.len() as u8]);
            let mut rest = bytes.len();
            while rest >= 0x80 {
                out.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            out.push(rest as u8);
            out.extend(name.bytes());
            out.extend(bytes);
        }
        out
    }
}

/// Bytes that never repeat, so that any slip shows.
struct Noise(u64);

impl Noise {
    fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(len + 8);
        while out.len() < len {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            out.extend(self.0.to_le_bytes());
        }
        out.truncate(len);
        out
    }
}

/// Panics without printing megabytes.
fn assert_same(found: &[u8], expected: &[u8]) {
    let differs = found.iter().zip(expected).position(|(a, b)| a != b);
    assert_eq!((found.len(), differs), (expected.len(), None));
}

/// The chunks of the first part of a bundle2 behind the name of its compression.
fn first_payload(answer: &[u8]) -> Vec<u8> {
    let mut rest = answer.strip_prefix(b"\x04noneHG20").unwrap();
    let mut take = |len: usize| {
        let (taken, behind) = rest.split_at(len);
        rest = behind;
        taken
    };
    let mut block = || {
        let len = u32::from_be_bytes(take(4).try_into().unwrap());
        take(len as usize)
    };
    assert_eq!(block(), b"", "stream parameters");
    assert_eq!(&block()[..8], b"\x07STREAM2");
    let mut payload = Vec::new();
    loop {
        match block() {
            [] => return payload,
            chunk => payload.extend(chunk),
        }
    }
}

#[test]
fn every_byte_arrives_and_the_connection_goes_on() {
    let scene = Scene::new();
    let mut connection = scene.connect();
    for _ in 0..2 {
        let reply = connection.begin("GET", V1, &[], "");
        assert_eq!(reply.header("transfer-encoding"), Some("chunked"));
        assert_same(&connection.body(&reply), &scene.v1());
        assert_eq!(connection.send("GET", "/_up", &[], "").status, 200);
        let reply = connection.begin("GET", V2, &[UNCOMPRESSED], "");
        assert_same(&first_payload(&connection.body(&reply)), &scene.v2());
        let head = connection.send("HEAD", V1, &[], "");
        assert_eq!((head.status, head.body.as_str()), (200, ""));
    }
    let reply = connection.begin("GET", V1, &[("connection", "close")], "");
    assert_same(&connection.body(&reply), &scene.v1());
}

#[test]
fn an_old_client_reads_to_the_end_of_the_connection() {
    let scene = Scene::new();
    let mut socket = TcpStream::connect(scene.server.address).unwrap();
    let request = format!("GET {V1} HTTP/1.0\r\n\r\n");
    socket.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).unwrap();
    let head = answer.windows(4).position(|four| four == b"\r\n\r\n");
    assert_same(&answer[head.unwrap() + 4..], &scene.v1());
}

#[test]
fn a_slow_reader_gets_the_same() {
    let scene = Scene::new();
    let mut socket = TcpStream::connect(scene.server.address).unwrap();
    let request = format!("GET {V1} HTTP/1.0\r\n\r\n");
    socket.write_all(request.as_bytes()).unwrap();
    let (mut answer, mut piece) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        let got = socket.read(&mut piece).unwrap();
        if got == 0 {
            break;
        }
        answer.extend(&piece[..got]);
        // The socket is full each time before it is read again.
        std::thread::sleep(Duration::from_millis(if answer.len() % 5 == 0 {
            5
        } else {
            0
        }));
    }
    assert!(answer.ends_with(&scene.v1()));
}

#[test]
fn many_streams_and_closed_ones_do_not_disturb_each_other() {
    let scene = Scene::new();
    let (v1, v2) = (scene.v1(), scene.v2());
    std::thread::scope(|threads| {
        for n in 0..9 {
            let (scene, v1, v2) = (&scene, &v1, &v2);
            threads.spawn(move || {
                let mut connection = scene.connect();
                match n % 3 {
                    0 => {
                        let reply = connection.begin("GET", V1, &[], "");
                        assert_same(&connection.body(&reply), v1);
                    }
                    1 => {
                        let reply = connection.begin("GET", V2, &[UNCOMPRESSED], "");
                        assert_same(&first_payload(&connection.body(&reply)), v2);
                    }
                    _ => drop(connection.begin("GET", V1, &[], "")),
                }
            });
        }
    });
    assert_eq!(scene.server.get("/_up").status, 200);
}

/// Longer than socket buffers.
const LONG: u64 = 64 << 20;

#[test]
fn a_file_that_shrinks_meanwhile_cuts_the_connection() {
    let scene = Scene::new();
    let last = scene.path("data/f99.d");
    File::create(&last).unwrap().set_len(LONG).unwrap();
    let fncache = scene.path("fncache");
    let names = fs::read_to_string(&fncache).unwrap();
    fs::write(&fncache, names + "data/f99.d\n").unwrap();
    let mut socket = TcpStream::connect(scene.server.address).unwrap();
    let request = format!("GET {V1} HTTP/1.1\r\nhost: varve.test\r\n\r\n");
    socket.write_all(request.as_bytes()).unwrap();
    let mut first = vec![0; 1000];
    socket.read_exact(&mut first).unwrap();
    File::options()
        .write(true)
        .open(&last)
        .unwrap()
        .set_len(1)
        .unwrap();
    let mut rest = Vec::new();
    // Either way of closing will do.
    let _ = socket.read_to_end(&mut rest);
    assert!(rest.len() < scene.total() + LONG as usize, "{}", rest.len());
    assert!(!rest.ends_with(b"0\r\n\r\n"), "the answer looks complete");
    assert_eq!(scene.server.get("/_up").status, 200);
}
