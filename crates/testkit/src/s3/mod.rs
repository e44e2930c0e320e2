//! A server of S3 in memory, with faults: as much of the protocol as a store of objects needs, for one bucket.
//!
//! Signatures are not checked; a real server does that. Source: Amazon S3 API Reference, version 2006-03-01.

mod connection;
mod operations;

use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

/// The one bucket.
pub const BUCKET: &str = "bucket";
/// The one key of access.
pub const ACCESS_KEY: &str = "test-key";

/// A mistake that the server makes with one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Answers with a status and S3's name of an error, and does nothing else.
    Refuse(u16, &'static str),
    /// Closes the connection, and does nothing else.
    LoseRequest,
    /// Does what it is asked, and closes the connection without an answer.
    LoseAnswer,
    /// Does what it is asked, announces the whole answer, and closes the connection after so many bytes of its body.
    Cut(usize),
    /// Answers 200 with these bytes, and does nothing else.
    Answer(&'static [u8]),
}

#[derive(Debug)]
pub(crate) struct BucketState {
    objects: BTreeMap<String, Arc<[u8]>>,
    /// Faults of the next requests with a method.
    faults: Vec<(&'static str, VecDeque<Fault>)>,
    /// Method and key of each request.
    seen: Vec<String>,
    page_length: usize,
    heeds_conditions: bool,
}

/// The server, which stops answering when it is dropped.
#[derive(Debug)]
pub struct S3Server {
    address: SocketAddr,
    state: Arc<Mutex<BucketState>>,
}

impl S3Server {
    /// Listens on a free port of this machine, with an empty bucket.
    #[must_use]
    pub fn start() -> S3Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(BucketState {
            objects: BTreeMap::new(),
            faults: Vec::new(),
            seen: Vec::new(),
            page_length: 1000,
            heeds_conditions: true,
        }));
        let shared = Arc::downgrade(&state);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), Some(state)) = (client, shared.upgrade()) else {
                    break;
                };
                let state = Arc::downgrade(&state);
                std::thread::spawn(move || connection::serve(client, &state));
            }
        });
        S3Server { address, state }
    }

    /// Its URL, without a slash at the end.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The variables of the environment with which a program finds and may use it.
    pub fn variables(&self) -> [(&'static str, String); 4] {
        [
            ("AWS_ENDPOINT_URL", self.endpoint()),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_ACCESS_KEY_ID", ACCESS_KEY.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "test-secret".to_owned()),
        ]
    }

    /// Makes a mistake with each of the next requests of this method.
    pub fn fail(&self, method: &'static str, faults: impl IntoIterator<Item = Fault>) {
        let faults = faults.into_iter().collect();
        self.state.lock().faults.push((method, faults));
    }

    /// Lists this many objects at once.
    pub fn set_page_length(&self, length: usize) {
        self.state.lock().page_length = length;
    }

    /// Ignores `If-None-Match` from now on, as old servers do.
    pub fn ignore_conditions(&self) {
        self.state.lock().heeds_conditions = false;
    }

    /// Method and key of each request since the last call.
    pub fn take_requests(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().seen)
    }

    /// Puts an object there that no request has made.
    pub fn insert(&self, key: &str, bytes: &[u8]) {
        let mut state = self.state.lock();
        state.objects.insert(key.to_owned(), bytes.into());
    }
}
