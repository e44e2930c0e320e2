//! Threads that store what is received, each for revlogs of its own.
//!
//! Whoever receives takes the stream apart and gathers revisions in batches. The first batch that is
//! full starts the thread; what is less is done when the lane is brought to rest, without one.

use crate::RepoError;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, SyncSender, sync_channel};
use std::thread::JoinHandle;
use varve_revlog::Received;

/// Bytes from which on a batch is full.
const FULL: usize = 256 << 10;
/// What an item takes besides its patch.
const ITEM_LEN: usize = size_of::<Item>();

/// Revisions in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Batch {
    items: Vec<Item>,
    /// Of all revisions, one after the other.
    patches: Vec<u8>,
}

#[derive(Debug)]
enum Item {
    /// Revisions of this file follow.
    Begin(Vec<u8>),
    /// Its patch is the next that many bytes.
    Revision(Received<'static>, usize),
    /// The file is complete.
    End,
}

/// Stores revisions.
pub(super) trait Worker: Send + 'static {
    /// A file begins.
    ///
    /// # Errors
    /// What is damaged.
    fn begin(&mut self, _path: Vec<u8>) -> Result<(), RepoError> {
        Ok(())
    }

    /// A revision comes.
    ///
    /// # Errors
    /// What is not as it says it is.
    fn revision(&mut self, received: &Received<'_>) -> Result<(), RepoError>;

    /// The file ends.
    ///
    /// # Errors
    /// What the storage answers.
    fn end(&mut self) -> Result<(), RepoError> {
        Ok(())
    }
}

impl Batch {
    pub fn begin(&mut self, path: Vec<u8>) {
        self.items.push(Item::Begin(path));
    }

    pub fn revision(&mut self, received: &Received<'_>) {
        self.patches.extend_from_slice(received.patch);
        let len = received.patch.len();
        let without_patch = Received {
            patch: &[],
            ..*received
        };
        self.items.push(Item::Revision(without_patch, len));
    }

    pub fn end(&mut self) {
        self.items.push(Item::End);
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub fn is_full(&self) -> bool {
        self.len() >= FULL
    }

    fn len(&self) -> usize {
        self.patches.len() + self.items.len() * ITEM_LEN
    }

    fn work(self, worker: &mut impl Worker) -> Result<(), RepoError> {
        let mut patches = &self.patches[..];
        for item in self.items {
            match item {
                Item::Begin(path) => worker.begin(path)?,
                Item::End => worker.end()?,
                Item::Revision(received, len) => {
                    let (patch, rest) = patches.split_at(len);
                    patches = rest;
                    worker.revision(&Received { patch, ..received })?;
                }
            }
        }
        Ok(())
    }
}

/// A worker with what waits for it.
#[derive(Debug)]
pub(super) struct Lane<W: Worker> {
    state: State<W>,
    /// What the thread has not been given yet.
    batch: Batch,
    /// Full batches that may wait.
    most: usize,
    /// Bytes of the batches that wait.
    waiting: Arc<AtomicUsize>,
}

#[derive(Debug)]
enum State<W> {
    Resting(W),
    Busy {
        sender: SyncSender<Batch>,
        thread: JoinHandle<(W, Result<(), RepoError>)>,
    },
    /// Only while it changes.
    Between,
}

impl<W: Worker> Lane<W> {
    /// A lane where `most` full batches may wait.
    pub fn new(worker: W, most: usize) -> Lane<W> {
        Lane {
            most,
            state: State::Resting(worker),
            batch: Batch::default(),
            waiting: Arc::default(),
        }
    }

    /// Bytes that wait.
    pub fn load(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// What is gathered for the worker.
    pub fn batch(&mut self) -> &mut Batch {
        &mut self.batch
    }

    /// Hands the batch to the thread if it is full; waits if too many wait there already.
    ///
    /// # Errors
    /// What the worker has met.
    pub fn send_full(&mut self) -> Result<(), RepoError> {
        match self.batch.is_full() {
            true => self.send(),
            false => Ok(()),
        }
    }

    /// Hands the batch to the thread.
    ///
    /// # Errors
    /// What the worker has met.
    pub fn send(&mut self) -> Result<(), RepoError> {
        let batch = std::mem::take(&mut self.batch);
        self.start();
        self.waiting.fetch_add(batch.len(), Ordering::Relaxed);
        match &self.state {
            State::Busy { sender, .. } if sender.send(batch).is_ok() => Ok(()),
            // The thread ended before its time.
            _ => self.rest().map(drop),
        }
    }

    fn start(&mut self) {
        self.state = match std::mem::replace(&mut self.state, State::Between) {
            State::Resting(worker) => {
                let (sender, batches) = sync_channel(self.most);
                let waiting = Arc::clone(&self.waiting);
                let thread = std::thread::spawn(move || run(worker, &batches, &waiting));
                State::Busy { sender, thread }
            }
            other => other,
        };
    }

    /// Ends the thread when everything is done, the batch included.
    ///
    /// # Errors
    /// What the worker has met.
    pub fn rest(&mut self) -> Result<&mut W, RepoError> {
        self.state = match std::mem::replace(&mut self.state, State::Between) {
            State::Busy { sender, thread } => {
                drop(sender);
                let done = thread.join();
                let (worker, done) = done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                self.waiting.store(0, Ordering::Relaxed);
                self.state = State::Resting(worker);
                done?;
                return self.rest();
            }
            resting => resting,
        };
        let last = std::mem::take(&mut self.batch);
        let worker = self.worker();
        last.work(worker)?;
        Ok(worker)
    }

    /// Works off the batch, unless a thread does.
    ///
    /// # Errors
    /// What the worker has met.
    pub fn rest_unless_busy(&mut self) -> Result<(), RepoError> {
        match self.state {
            State::Busy { .. } => Ok(()),
            _ => self.rest().map(drop),
        }
    }

    /// The worker of a lane that rests.
    pub fn worker(&mut self) -> &mut W {
        match &mut self.state {
            State::Resting(worker) => worker,
            _ => unreachable!("a lane is brought to rest before its worker is looked at"),
        }
    }

    /// The worker of a lane that rests, for good.
    pub fn into_worker(mut self) -> W {
        match std::mem::replace(&mut self.state, State::Between) {
            State::Resting(worker) => worker,
            _ => unreachable!("a lane is brought to rest before its worker is taken"),
        }
    }
}

/// Nothing is written any more once the lane is gone.
impl<W: Worker> Drop for Lane<W> {
    fn drop(&mut self) {
        if let State::Busy { sender, thread } = std::mem::replace(&mut self.state, State::Between) {
            drop(sender);
            let _ = thread.join();
        }
    }
}

fn run<W: Worker>(
    mut worker: W,
    batches: &mpsc::Receiver<Batch>,
    waiting: &AtomicUsize,
) -> (W, Result<(), RepoError>) {
    for batch in batches {
        let len = batch.len();
        if let Err(error) = batch.work(&mut worker) {
            return (worker, Err(error));
        }
        waiting.fetch_sub(len, Ordering::Relaxed);
    }
    (worker, Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Node, Rev};
    use varve_base::Interrupted;

    /// Notes what comes; an empty patch is an error.
    #[derive(Debug, Default)]
    struct Notes(Vec<(u32, usize)>);

    impl Worker for Notes {
        fn revision(&mut self, received: &Received<'_>) -> Result<(), RepoError> {
            if received.patch.is_empty() {
                return Err(Interrupted.into());
            }
            self.0.push((received.link.0, received.patch.len()));
            Ok(())
        }
    }

    fn received(link: u32, patch: &[u8]) -> Received<'_> {
        Received {
            node: Node::NULL,
            parents: [Node::NULL; 2],
            base: Node::NULL,
            link: Rev(link),
            flags: 0,
            patch,
        }
    }

    fn fill(lane: &mut Lane<Notes>, links: std::ops::Range<u32>) -> Result<(), RepoError> {
        let patch = vec![1; 5000];
        for link in links {
            let len = 1 + link as usize % patch.len();
            lane.batch().revision(&received(link, &patch[..len]));
            lane.send_full()?;
        }
        Ok(())
    }

    #[test]
    fn what_is_little_needs_no_thread() {
        let mut lane = Lane::new(Notes::default(), 4);
        fill(&mut lane, 0..10).unwrap();
        assert!(matches!(lane.state, State::Resting(_)));
        assert_eq!(lane.rest().unwrap().0.len(), 10);
    }

    #[test]
    fn everything_is_done_in_order_before_a_lane_rests() {
        let mut lane = Lane::new(Notes::default(), 4);
        for round in 0..3 {
            fill(&mut lane, round * 10_000..(round + 1) * 10_000).unwrap();
            assert!(matches!(lane.state, State::Busy { .. }));
            lane.rest().unwrap();
            assert_eq!(lane.load(), 0);
        }
        let notes = lane.into_worker().0;
        let expected = (0..30_000).map(|link| (link, 1 + link as usize % 5000));
        assert!(notes.into_iter().eq(expected));
    }

    #[test]
    fn an_error_shows_at_the_latest_when_the_lane_rests() {
        let mut lane = Lane::new(Notes::default(), 4);
        fill(&mut lane, 0..100).unwrap();
        lane.batch().revision(&received(100, &[]));
        let later = fill(&mut lane, 101..50_000);
        assert!(later.and(lane.rest().map(drop)).is_err());
        assert_eq!(lane.worker().0.len(), 100);
    }
}
