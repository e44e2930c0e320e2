//! Bundles that are made in one pass, at full speed, whatever their clients take; clones of everything that several
//! clients ask for at the same time are made once.
//!
//! ```text
//!                                    +-> client 1, from the beginning
//! repository -> maker -> [ file ] ---+-> client 2, later, from the beginning
//!                                    +-> client 3, slower
//! ```
//! The maker runs in the pool of bundles and writes into a file without a name; each client is sent the file as far as
//! it has come, and waits for more as a future. A short bundle stays in memory. The file is there as long as any client
//! reads it; a maker that no client waits for stops. If the file cannot take it, the disk being full, the rest is made
//! again for each client, a window at a time: the bytes are the same.

use crate::hg::streams::{SendError, send_file};
use crate::http::{BodyWriter, FinishedBody};
use crate::runtime::Pool;
use parking_lot::Mutex;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use tokio::sync::watch;
use varve_base::storage::scratch_file;
use varve_base::{StorageError, StorageFile};
use varve_exchange::server::wire::{RepeatableResponse, WriteBody};
use varve_exchange::{ChunkSink, ExchangeError, SinkClosed};

/// A bundle of at most so many bytes stays in memory.
const SHORT_BUNDLE: usize = 128 << 10;

/// Bytes that are made at a time of a bundle that cannot have a file.
const WINDOW: usize = 4 << 20;

/// The bundles that are on their way.
#[derive(Debug)]
pub(crate) struct SharedBundles {
    /// Where their files stand.
    directory: PathBuf,
    on_their_way: Mutex<Vec<Weak<Bundle>>>,
}

/// Receives the error of a broken bundle, where the bundle itself reports it.
type Report = Box<dyn Fn(&ExchangeError) + Send>;

/// One bundle, and how far it is.
struct Bundle {
    write: Arc<WriteBody>,
    /// The request that determines it, if others may send the same.
    shared_as: Option<RepeatableResponse>,
    directory: PathBuf,
    progress: watch::Sender<Progress>,
}

/// How far a bundle has come.
#[derive(Default)]
struct Progress {
    /// The beginning of the bundle, until there is a file: at most [`SHORT_BUNDLE`] bytes.
    memory: Vec<u8>,
    file: Option<Arc<dyn StorageFile>>,
    /// Bytes that are in the file.
    len: u64,
    end: Option<End>,
    clients: usize,
}

#[derive(Clone, Debug)]
enum End {
    Whole,
    /// There is no room for more; the written bytes are right.
    NoRoom,
    /// The bundle cannot be made, for this reason.
    Failed(String),
}

/// Next part of the bundle for one client.
enum BundlePart {
    File(Arc<dyn StorageFile>, u64),
    Memory(Vec<u8>),
    End(End),
}

impl fmt::Debug for Bundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bundle")
            .field("len", &self.progress.borrow().len)
            .finish_non_exhaustive()
    }
}

impl SharedBundles {
    pub(crate) fn new(directory: &Path) -> SharedBundles {
        SharedBundles {
            directory: directory.to_owned(),
            on_their_way: Mutex::default(),
        }
    }

    /// One client's part in a bundle. It is being made in `pool` from now on, if it was not before; then `report` hears
    /// why it broke off.
    pub(super) fn join(
        &self,
        pool: &Pool,
        (write, shared_as): (Arc<WriteBody>, Option<RepeatableResponse>),
        report: Report,
    ) -> Part {
        let mut all = self.on_their_way.lock();
        all.retain(|bundle| bundle.strong_count() > 0);
        let mut others = all.iter().filter_map(Weak::upgrade);
        if let Some(part) = others.find_map(|bundle| bundle.part_for(shared_as.as_ref(), pool)) {
            return part;
        }
        let bundle = Arc::new(Bundle {
            write,
            shared_as,
            directory: self.directory.clone(),
            progress: watch::Sender::new(Progress {
                clients: 1,
                ..Progress::default()
            }),
        });
        if bundle.shared_as.is_some() {
            all.push(Arc::downgrade(&bundle));
        }
        let making = Arc::clone(&bundle);
        pool.spawn(async move { making.make(&report) });
        Part {
            bundle,
            pool: pool.clone(),
        }
    }
}

impl Bundle {
    /// A part in this bundle, if it is the same and still being made or whole.
    fn part_for(
        self: Arc<Bundle>,
        wanted: Option<&RepeatableResponse>,
        pool: &Pool,
    ) -> Option<Part> {
        if wanted.is_none() || self.shared_as.as_ref() != wanted {
            return None;
        }
        let joined = self.progress.send_if_modified(|progress| {
            let is_good = matches!(progress.end, None | Some(End::Whole));
            // A maker that no client waited for may have stopped already.
            let is_waited_for = progress.clients > 0 || progress.end.is_some();
            progress.clients += usize::from(is_good && is_waited_for);
            is_good && is_waited_for
        });
        joined.then(|| Part {
            bundle: self,
            pool: pool.clone(),
        })
    }

    fn make(&self, report: &Report) {
        let mut ending = Ending {
            bundle: self,
            end: End::Failed("the maker of the bundle failed".to_owned()),
        };
        let mut sink = IntoFile {
            bundle: self,
            report,
        };
        ending.end = match (self.write)(&mut sink) {
            Ok(()) => End::Whole,
            Err(error) => End::Failed(error.to_string()),
        };
    }
}

/// Tells the clients that no more comes, also if the maker panics.
struct Ending<'a> {
    bundle: &'a Bundle,
    end: End,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let end = self.end.clone();
        self.bundle.progress.send_modify(|progress| {
            progress.end.get_or_insert(end);
        });
    }
}

/// Where the maker writes.
struct IntoFile<'a> {
    bundle: &'a Bundle,
    report: &'a Report,
}

impl IntoFile<'_> {
    /// Appends to the file; without one, makes it and begins with the bytes in memory. Returns the file and by how much
    /// it has grown.
    fn append(
        &self,
        file: Option<Arc<dyn StorageFile>>,
        bytes: &[u8],
    ) -> Result<(Arc<dyn StorageFile>, u64), StorageError> {
        let bundle = self.bundle;
        let (file, memory) = match file {
            Some(file) => (file, Vec::new()),
            None => {
                let file = scratch_file(&bundle.directory);
                let file = file.or_else(|_| scratch_file(&std::env::temp_dir()))?;
                (file, bundle.progress.borrow().memory.clone())
            }
        };
        if !memory.is_empty() {
            file.append(&memory)?;
        }
        file.append(bytes)?;
        Ok((file, (memory.len() + bytes.len()) as u64))
    }
}

impl ChunkSink for IntoFile<'_> {
    fn send(&mut self, bytes: Vec<u8>) -> Result<(), SinkClosed> {
        let progress = &self.bundle.progress;
        let (clients, file, in_memory) = {
            let state = progress.borrow();
            (state.clients, state.file.clone(), state.memory.len())
        };
        if clients == 0 {
            // No client joins any more: see `Bundle::part_for`.
            return Err(SinkClosed);
        }
        if file.is_none() && in_memory + bytes.len() <= SHORT_BUNDLE {
            progress.send_modify(|state| state.memory.extend_from_slice(&bytes));
            return Ok(());
        }
        let appended = self.append(file, &bytes);
        let has_room = appended.is_ok();
        progress.send_modify(|state| match appended {
            Ok((file, added)) => {
                state.memory = Vec::new();
                state.file = Some(file);
                state.len += added;
            }
            Err(_) => state.end = Some(End::NoRoom),
        });
        has_room.then_some(()).ok_or(SinkClosed)
    }

    fn broke_off(&mut self, error: &ExchangeError) {
        (self.report)(error);
    }
}

/// A bundle in the answer to one client: all of it.
#[derive(Debug)]
pub(super) struct Part {
    bundle: Arc<Bundle>,
    pool: Pool,
}

impl Part {
    /// Sends the bundle while it is made.
    ///
    /// # Errors
    /// The client has gone; why the bundle cannot be made.
    pub(super) async fn send(self, mut writer: BodyWriter) -> Result<FinishedBody, SendError> {
        let mut sent = 0;
        loop {
            match self.next(sent).await {
                BundlePart::File(file, len) => {
                    send_file(&mut writer, &file, sent, len - sent).await?;
                    sent = len;
                }
                BundlePart::Memory(bytes) => {
                    writer.send(bytes).await?;
                    return Ok(writer.finish());
                }
                BundlePart::End(End::Whole) => return Ok(writer.finish()),
                BundlePart::End(End::NoRoom) => return self.send_rest(sent, writer).await,
                BundlePart::End(End::Failed(reason)) => return Err(SendError::NotMade(reason)),
            }
        }
    }

    /// Waits until there is more than `sent`, or no more will come.
    async fn next(&self, sent: u64) -> BundlePart {
        let mut progress = self.bundle.progress.subscribe();
        let has_news = |state: &Progress| state.len > sent || state.end.is_some();
        // The sender lives in the bundle, so that waiting cannot fail.
        let Ok(state) = progress.wait_for(has_news).await else {
            return BundlePart::End(End::NoRoom);
        };
        match (&state.file, &state.end) {
            (Some(file), _) if state.len > sent => BundlePart::File(Arc::clone(file), state.len),
            (None, Some(End::Whole)) => BundlePart::Memory(state.memory.clone()),
            (_, end) => BundlePart::End(end.clone().unwrap_or(End::NoRoom)),
        }
    }

    /// Makes the rest again, a window at a time.
    async fn send_rest(
        &self,
        mut sent: u64,
        mut writer: BodyWriter,
    ) -> Result<FinishedBody, SendError> {
        loop {
            let write = Arc::clone(&self.bundle.write);
            let made = self.pool.call(move || {
                let mut window = Window {
                    passed: sent,
                    bytes: Vec::new(),
                    is_full: false,
                };
                let written = write(&mut window);
                match window.is_full {
                    true => Ok((window.bytes, true)),
                    false => written.map(|()| (window.bytes, false)),
                }
            });
            let made = made.await?;
            let (bytes, has_more) = made?;
            sent += bytes.len() as u64;
            writer.send(bytes).await?;
            if !has_more {
                return Ok(writer.finish());
            }
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.bundle
            .progress
            .send_modify(|progress| progress.clients -= 1);
    }
}

/// Takes a part of a bundle that begins behind the client's part.
struct Window {
    passed: u64,
    bytes: Vec<u8>,
    is_full: bool,
}

impl ChunkSink for Window {
    fn send(&mut self, mut bytes: Vec<u8>) -> Result<(), SinkClosed> {
        let passed = usize::try_from(self.passed).unwrap_or(usize::MAX);
        let passed = passed.min(bytes.len());
        self.passed -= passed as u64;
        bytes.drain(..passed);
        self.bytes.append(&mut bytes);
        self.is_full = self.bytes.len() >= WINDOW;
        match self.is_full {
            true => Err(SinkClosed),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Answer;
    use crate::http::Body;
    use http_body_util::BodyExt;
    use std::time::Duration;
    use tokio::sync::mpsc;

    /// Fails a test rather than letting it hang.
    const DEADLINE: Duration = Duration::from_secs(60);

    const BUFFER: usize = 50_000;

    /// Buffer `number` of a bundle.
    fn buffer(number: usize) -> Vec<u8> {
        (0..BUFFER).map(|n| ((n + number) % 251) as u8).collect()
    }

    /// Writes `count` buffers.
    fn buffers(count: usize) -> Arc<WriteBody> {
        Arc::new(move |sink: &mut dyn ChunkSink| {
            for number in 0..count {
                sink.send(buffer(number))?;
            }
            Ok(())
        })
    }

    fn all(count: usize) -> Vec<u8> {
        (0..count).flat_map(buffer).collect()
    }

    async fn collect(part: Part, pool: &Pool) -> Result<Vec<u8>, String> {
        let answer = Answer::stream("", pool, move |writer| part.send(writer));
        let Body::Stream(receiver, _) = answer.body else {
            panic!("it is a stream");
        };
        let collected = tokio::time::timeout(DEADLINE, receiver.collect()).await;
        let collected = collected.expect("it ends in time");
        let collected = collected.map_err(|error| error.to_string())?;
        Ok(collected.to_bytes().to_vec())
    }

    fn join(directory: &Path, pool: &Pool, write: Arc<WriteBody>) -> Part {
        SharedBundles::new(directory).join(pool, (write, None), Box::new(|_| ()))
    }

    #[tokio::test]
    async fn bundles_come_whole_from_memory_and_from_files() {
        let directory = tempfile::tempdir().unwrap();
        let (makers, reads) = (Pool::for_tests(1), Pool::for_tests(1));
        for count in [0, 1, 2, 3, 40] {
            let part = join(directory.path(), &makers, buffers(count));
            let bundle = Arc::clone(&part.bundle);
            assert_eq!(collect(part, &reads).await.unwrap(), all(count), "{count}");
            let is_long = count * BUFFER > SHORT_BUNDLE;
            assert_eq!(bundle.progress.borrow().file.is_some(), is_long, "{count}");
        }
    }

    #[tokio::test]
    async fn a_bundle_that_cannot_be_made_or_whose_maker_dies_is_cut() {
        let directory = tempfile::tempdir().unwrap();
        let (makers, reads) = (Pool::for_tests(1), Pool::for_tests(1));
        let fails = |sink: &mut dyn ChunkSink| {
            sink.send(buffer(0))?;
            Err(ExchangeError::NoStreamClone)
        };
        let cut = collect(join(directory.path(), &makers, Arc::new(fails)), &reads).await;
        assert_eq!(cut, Err(ExchangeError::NoStreamClone.to_string()));
        let dies = |sink: &mut dyn ChunkSink| {
            sink.send(buffer(0))?;
            panic!("bug")
        };
        let cut = collect(join(directory.path(), &makers, Arc::new(dies)), &reads).await;
        assert_eq!(cut, Err("the maker of the bundle failed".to_owned()));
    }

    #[tokio::test]
    async fn a_file_without_room_for_more_is_followed_by_what_is_made_again() {
        let directory = tempfile::tempdir().unwrap();
        let (makers, reads) = (Pool::for_tests(1), Pool::for_tests(1));
        // More than two windows are left.
        let count = 2 + 2 * WINDOW / BUFFER + 7;
        let file = scratch_file(directory.path()).unwrap();
        file.append(&all(2)).unwrap();
        let bundle = Bundle {
            write: buffers(count),
            shared_as: None,
            directory: directory.path().to_owned(),
            progress: watch::Sender::new(Progress {
                file: Some(file),
                len: 2 * BUFFER as u64,
                end: Some(End::NoRoom),
                clients: 1,
                ..Progress::default()
            }),
        };
        let part = Part {
            bundle: Arc::new(bundle),
            pool: makers.clone(),
        };
        assert!(collect(part, &reads).await.unwrap() == all(count));
    }

    #[tokio::test]
    async fn a_maker_that_no_client_waits_for_stops() {
        let directory = tempfile::tempdir().unwrap();
        let makers = Pool::for_tests(1);
        let (told, mut heard) = mpsc::unbounded_channel();
        let endless = move |sink: &mut dyn ChunkSink| {
            loop {
                if let Err(closed) = sink.send(b"more".to_vec()) {
                    let _ = told.send(());
                    return Err(closed.into());
                }
                std::thread::yield_now();
            }
        };
        let part = join(directory.path(), &makers, Arc::new(endless));
        drop(part);
        let stopped = tokio::time::timeout(DEADLINE, heard.recv()).await;
        assert_eq!(stopped.unwrap(), Some(()));
    }
}
