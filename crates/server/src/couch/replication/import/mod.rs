//! Import from a running server: all of its databases, with the same revisions, into a directory that no server has.
//!
//! ```text
//!   session      all databases: copied side by side, followed, compared
//!   copy         one database: pages of changes, batches of them, a checkpoint behind each page
//!   fetch        the revisions of a batch, read from the server
//!   incoming     one revision with its attachments, as a stream
//!   beside       what a database has besides documents
//!   compare      counts and leaves of both sides
//!   store        databases of the directory, and their checkpoints
//!   remote       requests to the server
//! ```
//! Nothing is written to the server. Revisions are stored as they come: no validation function is asked, because the
//! server has accepted them before.

mod beside;
mod compare;
mod copy;
mod fetch;
mod incoming;
mod remote;
mod session;
mod store;

use crate::directory::OfflineDirectory;
use remote::RemoteServer;
use session::Session;
use std::time::Duration;
use store::Store;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};
use varve_base::{Interrupt, Progress, Unit};
use varve_btree::ChunkStats;
use varve_config::Replicator;
use varve_replicate::{Finding, ReplicateError};

/// Messages to the caller that may wait.
const EVENTS: usize = 256;
/// Time within which an interruption is noticed.
const TICK: Duration = Duration::from_millis(50);
/// Threads that parse answers and drive connections.
const THREADS: usize = 2;
/// Threads that read and write databases.
const BLOCKING_THREADS: usize = 64;

/// An order to import databases of a server.
#[derive(Clone, Debug)]
pub struct ServerImport {
    /// URL of the server, with name and password.
    pub url: String,
    /// Names of databases; all that the server lists if there is none.
    pub databases: Vec<String>,
    /// Databases that are copied side by side.
    pub jobs: usize,
    /// How often a request is sent again after failures that may pass.
    pub retries: u32,
    /// Whether changes are followed until the import is interrupted.
    pub follows: bool,
    /// Whether databases that are not of an earlier import are left alone.
    pub skips_existing: bool,
    /// Timeouts, TLS, batches and hosts that may be reached.
    pub replicator: Replicator,
}

/// Receives the progress of an import from a server.
#[derive(Clone, Copy)]
pub struct ServerWatch<'w> {
    /// Counts documents.
    pub progress: &'w dyn Progress,
    /// Ends the import, or the time in which changes are followed.
    pub stop: &'w Interrupt,
    /// Called for each part that is left out, and for each difference.
    pub report: &'w dyn Fn(Finding),
    /// Called with each line about how the import goes on.
    pub note: &'w dyn Fn(String),
}

impl std::fmt::Debug for ServerWatch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ServerWatch({:?})", self.stop)
    }
}

/// A database that was imported from a server, as it is in the directory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerImported {
    /// Its name.
    pub name: String,
    /// Documents, deleted ones too.
    pub documents: u64,
    /// Revisions that are known by their ids at least.
    pub revisions: u64,
    /// Attachments of the leaves.
    pub attachments: u64,
    /// Bytes that the server's files of it have, as the server says.
    pub source_bytes: u64,
    /// Length of its file.
    pub file_bytes: u64,
    /// Chunks and nodes by their form, where they are counted.
    pub chunks: Option<ChunkStats>,
}

/// Result of an import from a server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerImportResult {
    /// Databases that were copied, in the order of their names.
    pub databases: Vec<ServerImported>,
    /// Parts that were left out, and databases that could not be copied.
    pub left_out: u64,
    /// Differences that the comparison found.
    pub differences: u64,
}

/// Copies databases of a running server, follows their changes if that is asked for, and compares both sides. A database
/// that an earlier import has begun is gone on with.
///
/// # Errors
/// [`ReplicateError::Server`], [`ReplicateError::Unreachable`]; [`ReplicateError::Foreign`] without
/// [`ServerImport::skips_existing`]; [`ReplicateError::NoSuchDatabase`]; [`ReplicateError::Interrupted`]; errors of the
/// storage.
pub fn import_from_server(
    request: &ServerImport,
    directory: &OfflineDirectory,
    watch: ServerWatch<'_>,
) -> Result<ServerImportResult, ReplicateError> {
    let runtime = runtime()?;
    let remote = {
        let _inside = runtime.enter();
        RemoteServer::new(request)?
    };
    let (events, received) = mpsc::channel(EVENTS);
    let (stop, stopping) = watch::channel(false);
    let session = Session::new(
        remote,
        Store::new(directory),
        request,
        EventSender(events),
        stopping,
    );
    let work = runtime.spawn(session.run());
    let done = runtime.block_on(async {
        deliver(received, &stop, watch).await;
        work.await
    });
    done.map_err(broken_off)?
}

fn runtime() -> Result<Runtime, ReplicateError> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .max_blocking_threads(BLOCKING_THREADS)
        .thread_name("import")
        .enable_all()
        .build()
        .map_err(|error| ReplicateError::Server(format!("no threads: {error}")))
}

/// Hands messages to the caller, on its own thread, until the import ends; passes an interruption on.
async fn deliver(
    mut received: mpsc::Receiver<Event>,
    stop: &watch::Sender<bool>,
    caller: ServerWatch<'_>,
) {
    let mut ticks = tokio::time::interval(TICK);
    loop {
        tokio::select! {
            event = received.recv() => match event {
                None => return,
                Some(Event::Total(total)) => {
                    caller.progress.begin("documents", Unit::Items, Some(total));
                }
                Some(Event::Advanced(count)) => caller.progress.advance(count),
                Some(Event::Ended) => caller.progress.end(),
                Some(Event::Found(finding)) => (caller.report)(finding),
                Some(Event::Line(line)) => (caller.note)(line),
            },
            _ = ticks.tick() => {
                if caller.stop.is_raised() {
                    stop.send_replace(true);
                }
            }
        }
    }
}

/// A message to the caller.
#[derive(Debug)]
enum Event {
    Total(u64),
    Advanced(u64),
    Ended,
    Found(Finding),
    Line(String),
}

/// Sends messages to the caller; if it does not listen any more, the import ends soon.
#[derive(Clone, Debug)]
struct EventSender(mpsc::Sender<Event>);

impl EventSender {
    async fn send(&self, event: Event) {
        let _ = self.0.send(event).await;
    }

    async fn found(&self, what: String) {
        self.send(Event::Found(Finding::of(what))).await;
    }
}

/// A task of the import panicked.
fn broken_off(error: tokio::task::JoinError) -> ReplicateError {
    ReplicateError::Server(format!("a part of the import broke off: {error}"))
}

/// Does something that waits for the disk.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ReplicateError> + Send + 'static,
) -> Result<T, ReplicateError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(broken_off)?
}
