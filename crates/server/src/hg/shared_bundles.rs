//! Clones of everything that several clients ask for at the same time are made once.
//!
//! ```text
//!                                    +-> client 1, from the beginning
//! repository -> maker -> [ file ] ---+-> client 2, later, from the beginning
//!                                    +-> client 3, slower
//! ```
//! The maker writes into a file without a name as fast as it can; each client is sent the file as
//! far as it has come. The file is there as long as anybody reads it; a maker that nobody waits for
//! stops. If the file cannot take it, the disk being full, each client is made the rest of its own:
//! the bytes are the same.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use varve_base::storage::scratch_file;
use varve_base::{StorageError, StorageFile};
use varve_exchange::server::wire::RepeatableResponse;
use varve_exchange::{ChunkSink, ExchangeError, SinkClosed};

/// The answers that are on their way.
#[derive(Debug)]
pub(crate) struct SharedAnswers {
    /// Where their files stand.
    folder: PathBuf,
    on_their_way: Mutex<Vec<Weak<Shared>>>,
}

/// Hears why an answer broke off, where that is told in the answer itself.
type Report = Box<dyn Fn(&ExchangeError) + Send>;

/// One answer, and how far it is.
struct Shared {
    answer: RepeatableResponse,
    file: Arc<dyn StorageFile>,
    state: Mutex<State>,
    changed: Condvar,
}

/// How far an answer has come.
#[derive(Debug, Default)]
struct State {
    /// Bytes that are in the file.
    len: u64,
    end: Option<End>,
    clients: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Whole,
    /// What is in the file is right, but no more will come.
    Cut,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl SharedAnswers {
    pub(crate) fn new(folder: &Path) -> SharedAnswers {
        SharedAnswers {
            folder: folder.to_owned(),
            on_their_way: Mutex::default(),
        }
    }

    /// One client's part in an answer. It is being made from now on, if it was not before; then
    /// `report` hears why it broke off.
    ///
    /// # Errors
    /// If there cannot be a file for it.
    pub(super) fn join(
        &self,
        answer: RepeatableResponse,
        report: Report,
    ) -> Result<Part, StorageError> {
        let mut all = self.on_their_way.lock();
        let all = all.as_mut().unwrap_or_else(|broken| broken.get_mut());
        all.retain(|shared| shared.strong_count() > 0);
        let mut same = all.iter().filter_map(Weak::upgrade);
        if let Some(part) = same.find_map(|shared| shared.part_for(&answer)) {
            return Ok(part);
        }
        let shared = Arc::new(Shared {
            answer,
            file: scratch_file(&self.folder)?,
            state: Mutex::new(State {
                clients: 1,
                ..State::default()
            }),
            changed: Condvar::new(),
        });
        all.push(Arc::downgrade(&shared));
        let making = Arc::clone(&shared);
        tokio::task::spawn_blocking(move || making.make(&report));
        Ok(Part { shared })
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A part in this answer, if it is the same and still being made or whole.
    fn part_for(self: Arc<Shared>, answer: &RepeatableResponse) -> Option<Part> {
        let mut state = self.state();
        if self.answer != *answer || state.end == Some(End::Cut) {
            return None;
        }
        state.clients += 1;
        drop(state);
        Some(Part { shared: self })
    }

    fn make(&self, report: &Report) {
        let mut ending = Ending {
            shared: self,
            end: End::Cut,
        };
        let mut sink = IntoFile {
            shared: self,
            report,
        };
        if self.answer.write(&mut sink).is_ok() {
            ending.end = End::Whole;
        }
    }
}

/// Tells the clients that no more comes, also if the maker panics.
struct Ending<'a> {
    shared: &'a Shared,
    end: End,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.shared.state().end.get_or_insert(self.end);
        self.shared.changed.notify_all();
    }
}

/// Where the maker writes.
struct IntoFile<'a> {
    shared: &'a Shared,
    report: &'a Report,
}

impl ChunkSink for IntoFile<'_> {
    fn send(&mut self, bytes: Vec<u8>) -> Result<(), SinkClosed> {
        let shared = self.shared;
        let written = shared.file.append(&bytes).is_ok();
        let mut state = shared.state();
        if !written || state.clients == 0 {
            // Nobody must join any more.
            state.end = Some(End::Cut);
            return Err(SinkClosed);
        }
        state.len += bytes.len() as u64;
        drop(state);
        shared.changed.notify_all();
        Ok(())
    }

    fn broke_off(&mut self, error: &ExchangeError) {
        (self.report)(error);
    }
}

/// What one client gets of an answer: all of it.
#[derive(Debug)]
pub(super) struct Part {
    shared: Arc<Shared>,
}

impl Part {
    /// Sends the answer while it is made.
    ///
    /// # Errors
    /// As [`RepeatableResponse::write`].
    pub(super) fn send(&self, sink: &mut dyn ChunkSink) -> Result<(), ExchangeError> {
        let Shared { answer, file, .. } = &*self.shared;
        let mut sent = 0;
        loop {
            match self.wait(sent) {
                (len, _) if len > sent => {
                    sink.send_file(file, sent, len - sent)?;
                    sent = len;
                }
                (_, None) => {}
                (_, Some(End::Whole)) => return Ok(()),
                (_, Some(End::Cut)) => return answer.write(&mut Behind { sink, passed: sent }),
            }
        }
    }

    /// Waits until there is more than `sent`, or no more will come.
    fn wait(&self, sent: u64) -> (u64, Option<End>) {
        let state = self.shared.state();
        let nothing_new = |state: &mut State| state.len == sent && state.end.is_none();
        let woken = self.shared.changed.wait_while(state, nothing_new);
        let state = woken.unwrap_or_else(PoisonError::into_inner);
        (state.len, state.end)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.shared.state().clients -= 1;
    }
}

/// Passes the first bytes over, which the client has.
struct Behind<'a> {
    sink: &'a mut dyn ChunkSink,
    passed: u64,
}

impl ChunkSink for Behind<'_> {
    fn send(&mut self, mut bytes: Vec<u8>) -> Result<(), SinkClosed> {
        let passed = usize::try_from(self.passed).unwrap_or(usize::MAX);
        let passed = passed.min(bytes.len());
        self.passed -= passed as u64;
        bytes.drain(..passed);
        match bytes.is_empty() {
            true => Ok(()),
            false => self.sink.send(bytes),
        }
    }

    fn broke_off(&mut self, error: &ExchangeError) {
        self.sink.broke_off(error);
    }
}
