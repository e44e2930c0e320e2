//! What every server has, whatever it serves.

use crate::Tasks;
use crate::runtime::Executor;
use crate::runtime::log::Log;
use crate::runtime::metrics::Metrics;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::watch;
use varve_base::Interrupt;

/// This server's name where CouchDB's answers name a node of a cluster.
pub(crate) const NODE_NAME: &str = "varve@127.0.0.1";

/// One running server, without what it serves.
#[derive(Debug)]
pub(crate) struct ServerContext {
    /// The threads that requests and background work run on.
    pub(crate) executor: Executor,
    /// What runs for longer.
    pub(crate) tasks: Tasks,
    /// Raised when work that still runs has no more time.
    pub(crate) hurry: Interrupt,
    /// Where faults and requests are written.
    pub(crate) log: Log,
    pub(crate) metrics: Metrics,
    stopping: watch::Sender<bool>,
    requests: AtomicU64,
}

impl ServerContext {
    pub(crate) fn new(executor: Executor, log: Log) -> ServerContext {
        ServerContext {
            executor,
            tasks: Tasks::default(),
            hurry: Interrupt::default(),
            log,
            metrics: Metrics::default(),
            stopping: watch::Sender::new(false),
            requests: AtomicU64::new(0),
        }
    }

    /// Becomes `true` when the server stops: feeds then end.
    pub(crate) fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.subscribe()
    }

    pub(crate) fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Ten hexadecimal digits that tell this request from others in the log.
    pub(crate) fn next_request_id(&self) -> String {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        format!("{:010x}", number & 0xff_ffff_ffff)
    }
}
