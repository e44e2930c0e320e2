//! What all requests share.

use crate::Failure;
use crate::auth::{Auth, UserContext};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::watch;
use varve_base::{DiskStorage, Storage};

/// Largest body that a request without a login may send: arguments of reads, no data.
const ANONYMOUS_BODY: u64 = 8 << 20;

/// One running server.
#[derive(Debug)]
pub struct App {
    /// The served folder; paths are relative to it.
    pub storage: Arc<dyn Storage>,
    /// Users and sessions.
    pub auth: Auth,
    stopping: watch::Sender<bool>,
    requests: AtomicU64,
}

impl App {
    /// Opens a folder; nothing below it is read before somebody asks for it.
    pub fn open(folder: &Path) -> App {
        App {
            storage: Arc::new(DiskStorage::new(folder)),
            auth: Auth::default(),
            stopping: watch::Sender::new(false),
            requests: AtomicU64::new(0),
        }
    }

    /// Runs storage work on a blocking thread.
    ///
    /// # Errors
    /// That of `work`; 500 if it panicked.
    pub async fn blocking<T, W>(work: W) -> Result<T, Failure>
    where
        T: Send + 'static,
        W: FnOnce() -> Result<T, Failure> + Send + 'static,
    {
        let done = tokio::task::spawn_blocking(work).await;
        done.unwrap_or_else(|_| Err(Failure::internal("the handler of this request failed")))
    }

    /// Becomes `true` when the server stops: feeds then end.
    pub fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.subscribe()
    }

    pub(crate) fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Bytes that a request of this user may have as its body.
    pub(crate) fn body_limit(&self, user: &UserContext) -> u64 {
        match user.name {
            Some(_) => 4 << 30,
            None => ANONYMOUS_BODY,
        }
    }

    /// Ten hexadecimal digits that tell this request from others in the log.
    pub(crate) fn next_request_id(&self) -> String {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        format!("{:010x}", number & 0xff_ffff_ffff)
    }
}
