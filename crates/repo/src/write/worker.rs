//! Threads that write what is received, each files of its own.
//!
//! Whoever receives takes the stream apart and gathers pieces in batches. The first batch that is
//! full starts the thread; what is less is done when the lane is brought to rest, without one.

use crate::format::RepoError;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Bytes from which on a batch is full.
const FULL: usize = 256 << 10;

/// What is gathered for a worker.
pub(crate) trait Batch: Default + Send + 'static {
    /// Bytes that it takes.
    fn len(&self) -> usize;

    /// Whether it is time to hand it over.
    fn is_full(&self) -> bool {
        self.len() >= FULL
    }
}

/// Writes what comes.
pub(crate) trait Worker: Send + 'static {
    /// What it is given at a time.
    type Batch: Batch;

    /// Works a batch off.
    ///
    /// # Errors
    /// What is damaged; what the storage answers.
    fn work(&mut self, batch: Self::Batch) -> Result<(), RepoError>;
}

/// A worker with what waits for it.
#[derive(Debug)]
pub(crate) struct Lane<W: Worker> {
    state: State<W>,
    /// What the thread has not been given yet.
    batch: W::Batch,
    /// Full batches that may wait.
    most: usize,
    /// Bytes of the batches that wait.
    waiting: Arc<AtomicUsize>,
}

#[derive(Debug)]
enum State<W: Worker> {
    Resting(W),
    Busy {
        sender: SyncSender<W::Batch>,
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
            batch: W::Batch::default(),
            waiting: Arc::default(),
        }
    }

    /// Bytes that wait.
    pub fn load(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// What is gathered for the worker.
    pub fn batch(&mut self) -> &mut W::Batch {
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
        worker.work(last)?;
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
    batches: &mpsc::Receiver<W::Batch>,
    waiting: &AtomicUsize,
) -> (W, Result<(), RepoError>) {
    for batch in batches {
        let len = batch.len();
        if let Err(error) = worker.work(batch) {
            return (worker, Err(error));
        }
        waiting.fetch_sub(len, Ordering::Relaxed);
    }
    (worker, Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::Range;
    use varve_base::Interrupted;

    /// Notes what comes; nothing is an error.
    #[derive(Debug, Default)]
    struct Notes(Vec<usize>);

    /// A number for each piece, which stands for its bytes.
    #[derive(Debug, Default)]
    struct Pieces(Vec<usize>);

    impl Batch for Pieces {
        fn len(&self) -> usize {
            self.0.iter().sum()
        }
    }

    impl Worker for Notes {
        type Batch = Pieces;

        fn work(&mut self, batch: Pieces) -> Result<(), RepoError> {
            for piece in batch.0 {
                if piece == 0 {
                    return Err(Interrupted.into());
                }
                self.0.push(piece);
            }
            Ok(())
        }
    }

    fn fill(lane: &mut Lane<Notes>, pieces: Range<usize>) -> Result<(), RepoError> {
        for piece in pieces {
            lane.batch().0.push(piece);
            lane.send_full()?;
        }
        Ok(())
    }

    #[test]
    fn what_is_little_needs_no_thread() {
        let mut lane = Lane::new(Notes::default(), 4);
        fill(&mut lane, 1..10).unwrap();
        assert!(matches!(lane.state, State::Resting(_)));
        assert_eq!(lane.rest().unwrap().0.len(), 9);
    }

    #[test]
    fn everything_is_done_in_order_before_a_lane_rests() {
        let mut lane = Lane::new(Notes::default(), 4);
        for round in 0..3 {
            fill(&mut lane, 1 + round * 10_000..1 + (round + 1) * 10_000).unwrap();
            assert!(matches!(lane.state, State::Busy { .. }));
            lane.rest().unwrap();
            assert_eq!(lane.load(), 0);
        }
        assert!(lane.into_worker().0.into_iter().eq(1..=30_000));
    }

    #[test]
    fn an_error_shows_at_the_latest_when_the_lane_rests() {
        let mut lane = Lane::new(Notes::default(), 4);
        fill(&mut lane, 1..100).unwrap();
        lane.batch().0.push(0);
        let later = fill(&mut lane, 100..50_000);
        assert!(later.and(lane.rest().map(drop)).is_err());
        assert_eq!(lane.worker().0.len(), 99);
    }
}
