//! A request's body that may be longer than memory.
//!
//! No thread waits for a client: the body is either pulled, and each batch handed to a pool when it has come
//! ([`PulledBody::feed`]), or spooled until it is whole, in memory and beyond some size in an unnamed file
//! ([`Upload::spool`]), and then read like any file, as often as it takes.

use crate::Failure;
use crate::http::arriving::{ArrivingBody, BodyError};
use crate::http::blocking;
use crate::http::intake::{read_body, too_large};
use crate::http::spool::{SpooledBody, Spooling};
use crate::runtime::{BodyReservation, Pool};
use hyper::HeaderMap;
use hyper::body::Bytes;
use hyper::header::EXPECT;
use parking_lot::{Mutex, MutexGuard};
use std::fmt;
use std::io::{self, Read};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

/// Bytes that are worth the way to another thread.
const BATCH: usize = 256 << 10;
/// Bytes that may come while a batch is stored; then the client is slowed down.
const READAHEAD: usize = 1 << 20;
/// Up to this length a body is read before it is known whether it is wanted.
const SHORT: u64 = 64 << 10;
/// Bytes that are read of an unwanted body, before the connection is closed.
const DISCARDED: u64 = 4 << 30;

/// The body of a request that is not read before the request is answered.
#[derive(Clone)]
pub struct Upload(Arc<Shared>);

struct Shared {
    is_short: bool,
    announced: u64,
    state: Mutex<UploadState>,
}

enum UploadState {
    /// Nothing of it was read.
    Arriving(ArrivingBody),
    /// The rest of a body of which a part was read.
    Begun(ArrivingBody),
    Spooled(SpooledBody),
    /// A reader has the body, or has read it.
    Taken,
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Upload")
    }
}

impl Upload {
    /// # Errors
    /// 413 if the client announces more than the body's limit.
    pub(super) async fn new(
        arriving: ArrivingBody,
        headers: &HeaderMap,
        limit: u64,
    ) -> Result<Upload, Failure> {
        let size = arriving.size_hint();
        if size.lower() > limit {
            return Err(too_large(arriving, headers).await);
        }
        let is_asking = headers.contains_key(EXPECT);
        Ok(Upload(Arc::new(Shared {
            is_short: !is_asking && size.upper().is_some_and(|upper| upper <= SHORT),
            announced: size.lower(),
            state: Mutex::new(UploadState::Arriving(arriving)),
        })))
    }

    /// A body that is there already.
    pub(crate) fn whole(body: Vec<u8>) -> Upload {
        Upload(Arc::new(Shared {
            is_short: true,
            announced: body.len() as u64,
            state: Mutex::new(UploadState::Spooled(SpooledBody::Memory(body.into()))),
        }))
    }

    /// Whether the body is announced so short that it need not be refused before it is read.
    pub(crate) fn is_short(&self) -> bool {
        self.0.is_short
    }

    /// Bytes that the client says it sends; 0 if it does not say.
    pub(crate) fn announced(&self) -> u64 {
        self.0.announced
    }

    fn lock(&self) -> MutexGuard<'_, UploadState> {
        self.0.state.lock()
    }

    fn take(&self) -> UploadState {
        std::mem::replace(&mut self.lock(), UploadState::Taken)
    }

    /// True if the whole body can be read: nothing of it was read, or it is spooled.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(
            *self.lock(),
            UploadState::Arriving(_) | UploadState::Spooled(_)
        )
    }

    /// The body, to be read as it arrives; `None` if a part of it was read before.
    pub(crate) fn pull(&self) -> Option<PulledBody> {
        match self.take() {
            UploadState::Arriving(body) => Some(PulledBody {
                body: Some(body),
                is_begun: false,
                upload: self.clone(),
            }),
            other => {
                *self.lock() = other;
                None
            }
        }
    }

    /// Reads the body to its end, so that [`Upload::reader`] has all of it. More than `memory` bytes are written to
    /// an unnamed file in `directory`.
    ///
    /// # Errors
    /// 408, 413 and 400 as [`BodyError`] says; 500 if the file cannot be written.
    pub(crate) async fn spool(
        &self,
        pool: &Pool,
        memory: u64,
        directory: &Path,
    ) -> Result<(), Failure> {
        let Some(mut body) = self.pull() else {
            return Ok(());
        };
        let spooling = Spooling::new(memory, directory);
        let spooling = body.feed(pool, spooling, Spooling::append).await?;
        // The body is at its end and has nothing to discard.
        drop(body);
        *self.lock() = UploadState::Spooled(spooling.finish());
        Ok(())
    }

    /// Reads the body into memory, free of its content encoding.
    ///
    /// # Errors
    /// As [`read_body`].
    pub(crate) async fn read(
        &self,
        headers: &HeaderMap,
        limit: u64,
        memory: &mut BodyReservation,
    ) -> Result<Vec<u8>, Failure> {
        match self.take() {
            UploadState::Arriving(body) => read_body(body, headers, limit, memory).await,
            other => {
                *self.lock() = other;
                Ok(Vec::new())
            }
        }
    }

    /// The body that was spooled, from its beginning; `None` if it was not.
    pub(crate) fn spooled(&self) -> Option<Box<dyn Read + Send>> {
        match &*self.lock() {
            UploadState::Spooled(body) => Some(body.clone().reader()),
            UploadState::Arriving(_) | UploadState::Begun(_) | UploadState::Taken => None,
        }
    }

    /// The same, and nothing if it was not spooled.
    pub(crate) fn reader(&self) -> Box<dyn Read + Send> {
        self.spooled().unwrap_or_else(|| Box::new(io::empty()))
    }

    /// Reads the unread rest: a client that sends all of its request before it reads must be able to, or it never sees
    /// the answer.
    pub(super) async fn discard(&self) {
        if let UploadState::Arriving(mut body) | UploadState::Begun(mut body) = self.take() {
            body.discard(DISCARDED, Duration::MAX).await;
        }
    }
}

/// A body that is read as it arrives. When it is dropped, its upload gets the rest back, to discard it.
pub(crate) struct PulledBody {
    /// Always there, but while it is dropped.
    body: Option<ArrivingBody>,
    /// True once a part of it was read.
    is_begun: bool,
    upload: Upload,
}

impl Drop for PulledBody {
    fn drop(&mut self) {
        if let Some(body) = self.body.take() {
            *self.upload.lock() = match self.is_begun {
                true => UploadState::Begun(body),
                false => UploadState::Arriving(body),
            };
        }
    }
}

impl PulledBody {
    /// The next bytes as they come; `None` at the end.
    ///
    /// # Errors
    /// As [`BodyError`] says.
    pub(crate) async fn next_piece(&mut self) -> Result<Option<Bytes>, Failure> {
        Ok(self.next().await?)
    }

    async fn next(&mut self) -> Result<Option<Bytes>, BodyError> {
        self.is_begun = true;
        match &mut self.body {
            Some(body) => body.next().await,
            None => Ok(None),
        }
    }

    /// Passes the whole body on in batches. `store` gets each on a thread of the pool, together with the sink, which
    /// it gives back; meanwhile the next batch arrives.
    ///
    /// # Errors
    /// As [`BodyError`] says; those of `store`.
    pub(crate) async fn feed<S, T>(
        &mut self,
        pool: &Pool,
        mut sink: S,
        store: T,
    ) -> Result<S, Failure>
    where
        S: Send + 'static,
        T: Fn(S, Vec<Bytes>) -> Result<S, Failure> + Clone + Send + 'static,
    {
        let mut arrived = Arrived::default();
        loop {
            while !arrived.is_whole && arrived.len < BATCH {
                arrived.add(self.next().await?);
            }
            let batch = arrived.take();
            if batch.is_empty() {
                return Ok(sink);
            }
            let store = store.clone();
            let mut stored = pin!(blocking(pool, move || store(sink, batch)));
            sink = loop {
                tokio::select! {
                    sink = &mut stored => break sink?,
                    piece = self.next(), if !arrived.is_whole && arrived.len < READAHEAD => {
                        arrived.add(piece?);
                    }
                }
            };
        }
    }
}

/// Pieces that have come and are not stored yet.
#[derive(Default)]
struct Arrived {
    pieces: Vec<Bytes>,
    len: usize,
    is_whole: bool,
}

impl Arrived {
    fn add(&mut self, piece: Option<Bytes>) {
        match piece {
            Some(bytes) => {
                self.len += bytes.len();
                self.pieces.push(bytes);
            }
            None => self.is_whole = true,
        }
    }

    fn take(&mut self) -> Vec<Bytes> {
        self.len = 0;
        std::mem::take(&mut self.pieces)
    }
}
