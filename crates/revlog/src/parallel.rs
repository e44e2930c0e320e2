//! Reading many revisions with several threads.

use crate::{Reader, Rev, Revlog, RevlogError};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// Most revisions that a thread takes at once. Neighbours are stored against each other: the more
/// of them, the fewer chains are read twice.
const LARGEST_SHARE: usize = 256;
/// Least number of revisions that a thread takes at once.
const SMALLEST_SHARE: usize = 16;
/// How many shares each thread should find, so that none waits long for the last one.
const SHARES_PER_THREAD: usize = 4;

/// Function for a revision and its text.
type Work<'w, E> = dyn Fn(Rev, &[u8]) -> Result<(), E> + Sync + 'w;

impl Revlog {
    /// Reads the texts of `revs` with `threads` threads, each with its own contexts, and calls
    /// `work` with each. One thread keeps the order; several keep it among a few neighbours.
    ///
    /// # Errors
    /// The first error of [`crate::Reader::text`] or of `work` ends everything.
    pub fn for_each_text<E: From<RevlogError> + Send>(
        &self,
        revs: &[Rev],
        threads: usize,
        work: &Work<'_, E>,
    ) -> Result<(), E> {
        self.each_read(revs, threads, |reader, rev| reader.text(rev), work)
    }

    /// As [`Revlog::for_each_text`], with [`Reader::unchecked_text`].
    ///
    /// # Errors
    /// See [`Revlog::for_each_text`].
    pub fn for_each_unchecked_text<E: From<RevlogError> + Send>(
        &self,
        revs: &[Rev],
        threads: usize,
        work: &Work<'_, E>,
    ) -> Result<(), E> {
        self.each_read(
            revs,
            threads,
            |reader, rev| reader.unchecked_text(rev),
            work,
        )
    }

    fn each_read<E: From<RevlogError> + Send>(
        &self,
        revs: &[Rev],
        threads: usize,
        read: for<'r> fn(&'r mut Reader<'_>, Rev) -> Result<&'r [u8], RevlogError>,
        work: &Work<'_, E>,
    ) -> Result<(), E> {
        let share = revs.len() / (threads.max(1) * SHARES_PER_THREAD);
        let share = share.clamp(SMALLEST_SHARE, LARGEST_SHARE);
        let shares: Vec<_> = revs.chunks(share).collect();
        let (next, stop, failed) = (
            AtomicUsize::new(0),
            AtomicBool::new(false),
            Mutex::new(None),
        );
        let one_thread = || {
            let mut reader = self.reader();
            while let Some(share) = shares.get(next.fetch_add(1, Relaxed)) {
                for rev in *share {
                    if stop.load(Relaxed) {
                        return;
                    }
                    let done = read(&mut reader, *rev).map_err(E::from);
                    if let Err(error) = done.and_then(|text| work(*rev, text)) {
                        stop.store(true, Relaxed);
                        let mut failed = failed.lock();
                        failed.get_or_insert(error);
                        return;
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads.min(shares.len()) {
                scope.spawn(one_thread);
            }
            one_thread();
        });
        let failed = failed.into_inner();
        failed.map_or(Ok(()), Err)
    }
}
