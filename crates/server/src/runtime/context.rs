//! State of every server, whatever it serves.

use crate::Tasks;
use crate::runtime::log::Log;
use crate::runtime::metrics::Metrics;
use crate::runtime::scheduler::Scheduler;
use crate::runtime::throttle::RequestCounter;
use crate::runtime::{Executor, HelpIndex, Limits, ListeningAddress, RunningAnswers};
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use tokio::sync::{Semaphore, watch};
use varve_base::Interrupt;

/// This server's name where CouchDB's answers name a node of a cluster.
pub(crate) const NODE_NAME: &str = "varve@127.0.0.1";

/// Answers that are compressed piece by piece at a time: an encoder takes up to 0.4 MB. Others are sent as they are.
const ENCODERS: usize = 128;

/// One running server, without its content.
#[derive(Debug)]
pub(crate) struct ServerContext {
    /// The threads that requests run on.
    pub(crate) executor: Executor,
    /// How much its clients may hold of it.
    pub(crate) limits: Limits,
    /// Background work.
    pub(crate) scheduler: Scheduler,
    /// The list of `_active_tasks`.
    pub(crate) tasks: Arc<Tasks>,
    /// Raised when work that still runs has no more time.
    pub(crate) hurry: Interrupt,
    /// Where faults and requests are written.
    pub(crate) log: Log,
    pub(crate) metrics: Metrics,
    pub(crate) started: Instant,
    pub(crate) running: RunningAnswers,
    /// Those that compress answers.
    pub(crate) encoders: Arc<Semaphore>,
    /// Set before the first request.
    pub(crate) listening: OnceLock<ListeningAddress>,
    /// Set before the first request.
    pub(crate) help: OnceLock<HelpIndex>,
    stopping: watch::Sender<bool>,
    requests: RequestCounter,
}

impl ServerContext {
    pub(crate) fn new(executor: Executor, log: Log, limits: Limits) -> ServerContext {
        let requests = RequestCounter::default();
        ServerContext {
            executor,
            limits,
            scheduler: Scheduler::new(requests.clone()),
            tasks: Arc::default(),
            hurry: Interrupt::default(),
            log,
            metrics: Metrics::default(),
            started: Instant::now(),
            running: RunningAnswers::default(),
            encoders: Arc::new(Semaphore::new(ENCODERS)),
            listening: OnceLock::new(),
            help: OnceLock::new(),
            stopping: watch::Sender::new(false),
            requests,
        }
    }

    /// Becomes `true` when the server stops: feeds then end.
    pub(crate) fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.subscribe()
    }

    /// Completes when the server stops.
    pub(crate) async fn stopped(&self) {
        // It fails only if the sender is gone, which belongs to this.
        let _ = self.stopping().wait_for(|is_stopping| *is_stopping).await;
    }

    pub(crate) fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    pub(crate) fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Ten hexadecimal digits that tell this request from others in the log.
    pub(crate) fn next_request_id(&self) -> String {
        let number = self.requests.count();
        format!("{:010x}", number & 0xff_ffff_ffff)
    }
}
