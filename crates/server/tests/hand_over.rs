//! Databases of a shared store that go from one server to another while they are used: requests and replications go on.

use crate::client::{ADMIN, Connection, Running};
use crate::replication::{JSON, ask, get, wait_for};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;
use varve_server::SharedOptions;
use varve_shared::{DirectoryStore, Node, Placement};

/// The server that runs first, and leads.
pub const ONE: &str = "11111111111111111111111111111111";
pub const TWO: &str = "22222222222222222222222222222222";
const DATABASES: usize = 4;

pub fn options(store: &TempDir) -> SharedOptions {
    SharedOptions {
        store: Arc::new(DirectoryStore::new(store.path()).unwrap()),
        advertise: None,
        takeover: Duration::from_secs(1),
    }
}

pub fn start(store: &TempDir, id: &str) -> Running {
    Running::start_in_store(options(store), id)
}

/// Names of databases that the server with this id owns once both have joined.
pub fn databases_of(id: &str) -> impl Iterator<Item = String> {
    let nodes = [ONE, TWO].map(|id| Node {
        id: id.to_owned(),
        address: String::new(),
    });
    let placement = Placement::new(nodes);
    let names = (0..).map(|number| format!("db{number}"));
    names.filter(move |name| placement.owner_of(name).unwrap().id == id)
}

/// Number of servers that may own databases, as one of them sees it.
pub fn candidates(server: &Running) -> usize {
    let members = get(server, "/_membership");
    members["cluster_nodes"].as_array().unwrap().len()
}

pub fn create(server: &Running, database: &str) {
    let (status, answer) = ask(server, "PUT", &format!("/{database}"), &Value::Null);
    assert_eq!(status, 201, "{answer}");
}

fn put(server: &Running, database: &str, id: &str) {
    let attachments = json!({"f": {"data": "c2VkaW1lbnQ="}});
    let document = json!({"_attachments": attachments});
    let (status, answer) = ask(server, "PUT", &format!("/{database}/{id}"), &document);
    assert_eq!(status, 201, "{answer}");
}

/// The source moves, the target does, or both.
#[test]
fn replications_within_a_server_go_on_when_their_databases_move() {
    let store = tempfile::tempdir().unwrap();
    let one = start(&store, ONE);
    let (mut stay, mut go) = (databases_of(ONE), databases_of(TWO));
    let mut names = [
        stay.next(),
        go.next(),
        go.next(),
        stay.next(),
        go.next(),
        go.next(),
    ];
    let pairs = [0, 2, 4].map(|first| [first, first + 1].map(|at| names[at].take().unwrap()));
    let jobs = pairs.each_ref().map(|[source, target]| {
        create(&one, source);
        put(&one, source, "before");
        let wanted =
            json!({"source": source, "target": target, "create_target": true, "continuous": true});
        let (status, answer) = ask(&one, "POST", "/_replicate", &wanted);
        assert_eq!(status, 202, "{answer}");
        answer["_local_id"].as_str().unwrap().to_owned()
    });
    let has_all = |id: &str| {
        let has = |[_, target]: &[String; 2]| get(&one, &format!("/{target}/{id}"))["_id"] == id;
        pairs.iter().all(has)
    };
    wait_for("documents are copied", || has_all("before"));
    let two = start(&store, TWO);
    for server in [&one, &two] {
        wait_for("both may own databases", || candidates(server) == 2);
    }
    for [source, _] in &pairs {
        put(&two, source, "after");
    }
    wait_for("documents are copied to the next owner", || {
        has_all("after")
    });
    for id in &jobs {
        let job = get(&one, &format!("/_scheduler/jobs/{id}"));
        let history = job["history"].as_array().unwrap();
        let kinds: Vec<&str> = history
            .iter()
            .map(|it| it["type"].as_str().unwrap())
            .collect();
        assert_eq!(kinds, ["started", "added"], "{job}");
    }
}

/// # Errors
/// An answer that refuses the request.
fn send(
    connection: &mut Connection,
    (method, path): (&str, &str),
    headers: &[(&str, &str)],
    body: &[u8],
) -> Result<(), String> {
    let reply = connection.begin(method, path, headers, body);
    let text = String::from_utf8(connection.body(&reply)).unwrap();
    match reply.status {
        200 | 201 => Ok(()),
        status => Err(format!("{method} {path}: {status} {text}")),
    }
}

/// Writes three documents by requests whose bodies are read in all the ways there are.
///
/// # Errors
/// An answer that refuses one.
fn write(connection: &mut Connection, database: &str, id: &str) -> Result<(), String> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    let documents = json!({"docs": [{"_id": format!("{id}-packed"), "text": "x".repeat(1000)}]});
    packed.write_all(documents.to_string().as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let [plain, bulk, attachment] = [
        format!("/{database}/{id}-plain"),
        format!("/{database}/_bulk_docs"),
        format!("/{database}/{id}-long/f"),
    ];
    let (gzip, binary) = (("content-encoding", "gzip"), ("content-type", "a/b"));
    send(connection, ("PUT", &plain), &[ADMIN, JSON], b"{}")?;
    let headers = [ADMIN, JSON, gzip];
    send(connection, ("POST", &bulk), &headers, &packed)?;
    let headers = [ADMIN, binary];
    send(connection, ("PUT", &attachment), &headers, &[7; 100_000])
}

/// Writers that stop together, also when one is refused.
#[derive(Default)]
struct Writers {
    is_over: AtomicBool,
    rounds: AtomicUsize,
}

impl Writers {
    /// Writes through a server until all stop; returns the number of rounds.
    fn write_all(&self, address: SocketAddr, database: &str, name: &str) -> Result<usize, String> {
        let mut connection = Connection::open(address);
        for round in 0.. {
            if self.is_over() {
                return Ok(round);
            }
            let written = write(&mut connection, database, &format!("{name}-{round}"));
            written.inspect_err(|_| self.stop())?;
            self.rounds.fetch_add(1, Ordering::SeqCst);
        }
        Ok(0)
    }

    /// Reads through a server until all stop.
    fn read_all(&self, address: SocketAddr, database: &str) -> Result<usize, String> {
        let mut connection = Connection::open(address);
        for round in 0.. {
            if self.is_over() {
                return Ok(round);
            }
            let path = format!("/{database}");
            let read = send(&mut connection, ("GET", &path), &[ADMIN], &[]);
            read.inspect_err(|_| self.stop())?;
        }
        Ok(0)
    }

    fn stop(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }
}

#[test]
fn nothing_is_refused_while_a_server_joins() {
    let store = tempfile::tempdir().unwrap();
    let one = start(&store, ONE);
    let names: Vec<String> = databases_of(TWO).take(DATABASES).collect();
    names.iter().for_each(|name| create(&one, name));
    let writers = Writers::default();
    let rounds = thread::scope(|scope| {
        let writers = &writers;
        let write_all = |address, through: &'static str| {
            let databases = names.iter();
            let begun = databases
                .map(|database| scope.spawn(move || writers.write_all(address, database, through)));
            begun.collect::<Vec<_>>()
        };
        let mut begun = write_all(one.address, "one");
        let readers = names.iter().map(|database| {
            let address = one.address;
            scope.spawn(move || writers.read_all(address, database))
        });
        let readers: Vec<_> = readers.collect();
        let two = start(&store, TWO);
        begun.extend(write_all(two.address, "two"));
        for server in [&one, &two] {
            wait_for("both may own databases", || {
                writers.is_over() || candidates(server) == 2
            });
        }
        let before = writers.rounds.load(Ordering::SeqCst);
        wait_for("the next owner writes", || {
            writers.is_over() || writers.rounds.load(Ordering::SeqCst) > before + 4 * DATABASES
        });
        writers.stop();
        for reader in readers {
            assert_ne!(reader.join().unwrap(), Ok(0));
        }
        let rounds = begun.into_iter().map(|writer| writer.join().unwrap());
        rounds.collect::<Result<Vec<usize>, String>>().unwrap()
    });
    for (number, name) in names.iter().enumerate() {
        let info = get(&one, &format!("/{name}"));
        let rounds = rounds[number] + rounds[number + DATABASES];
        assert_eq!(
            info["doc_count"].as_u64().unwrap(),
            3 * rounds as u64,
            "{name}"
        );
    }
}
