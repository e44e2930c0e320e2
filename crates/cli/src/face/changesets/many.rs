//! Many changesets: the texts are made by all cores, block by block, and printed in order.

use super::Printer;
use crate::face::{Abort, Session};
use std::num::NonZero;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use varve_repo::Rev;
use varve_revlog::Reader;

/// Changesets of one block: enough that reading their texts, which lie together, is one span.
const BLOCK: usize = 2048;
/// Fewer changesets than this are not worth a thread.
const FEW: usize = 256;
/// Blocks that a thread may be ahead of the output.
const AHEAD: usize = 2;

type Rendered = Result<Vec<u8>, Abort>;

impl Printer {
    /// Prints changesets in this order.
    pub(crate) fn print_all(
        &self,
        session: &mut Session,
        revs: &[Option<Rev>],
    ) -> Result<(), Abort> {
        let changelog = self.view.changelog();
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        if revs.len() <= FEW || cores == 1 {
            let mut reader = changelog.reader();
            for block in revs.chunks(FEW) {
                session.write(self.block(block, &mut reader)?)?;
            }
            return Ok(());
        }
        let blocks: Vec<&[Option<Rev>]> = revs.chunks(BLOCK).collect();
        let workers = cores.min(blocks.len());
        std::thread::scope(|scope| {
            let channels = (0..workers).map(|first| {
                let (send, receive) = sync_channel(AHEAD);
                let own: Vec<&[Option<Rev>]> = blocks
                    .iter()
                    .skip(first)
                    .step_by(workers)
                    .copied()
                    .collect();
                scope.spawn(move || self.work(&own, &send));
                receive
            });
            let channels: Vec<Receiver<Rendered>> = channels.collect();
            for number in 0..blocks.len() {
                // A worker that is gone has sent its error before.
                let Ok(rendered) = channels[number % workers].recv() else {
                    break;
                };
                session.write(rendered?)?;
            }
            Ok(())
        })
    }

    fn work(&self, blocks: &[&[Option<Rev>]], send: &SyncSender<Rendered>) {
        let mut reader = self.view.changelog().reader();
        for block in blocks {
            let rendered = self.block(block, &mut reader);
            let failed = rendered.is_err();
            // Nobody listens any more after an error of the output.
            if send.send(rendered).is_err() || failed {
                return;
            }
        }
    }

    /// The texts of one block. They are read in the order of the file, which is the fastest.
    fn block(&self, revs: &[Option<Rev>], reader: &mut Reader<'_>) -> Rendered {
        let mut order: Vec<usize> = (0..revs.len()).collect();
        let is_sorted = revs.is_sorted();
        if !is_sorted {
            order.sort_unstable_by_key(|at| revs[*at]);
        }
        let mut made = Vec::new();
        let mut ends = vec![0..0; revs.len()];
        for at in order {
            let start = made.len();
            self.render(revs[at], reader, &mut made)?;
            ends[at] = start..made.len();
        }
        if is_sorted {
            return Ok(made);
        }
        let mut out = Vec::with_capacity(made.len());
        for range in ends {
            out.extend_from_slice(&made[range]);
        }
        Ok(out)
    }
}
