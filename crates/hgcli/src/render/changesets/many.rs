//! Many changesets: the texts are made by all cores, block by block, and printed in order.

use super::Printer;
use crate::ui::{Abort, Ui};
use std::num::NonZero;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use varve_repo::Rev;
use varve_revlog::Reader;

/// Changesets of one block: enough that reading their texts, which lie together, is one span.
const BLOCK: usize = 2048;
/// Fewer changesets than this are not worth a thread.
const FEW: usize = 256;
/// Blocks that a thread may be ahead of the output.
const QUEUED_BLOCKS: usize = 2;

/// Some of the changesets, and the number of the block.
type Block<'a> = (usize, &'a [Option<Rev>]);
/// Texts, and the error that came behind them.
type Rendered = (Vec<u8>, Option<Abort>);

impl Printer {
    /// Prints the texts of changesets in this order.
    pub(super) fn print_texts(&self, ui: &mut Ui, revs: &[Option<Rev>]) -> Result<(), Abort> {
        let changelog = self.view.changelog();
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        if revs.len() <= FEW || cores == 1 {
            let mut reader = changelog.reader();
            for (number, block) in revs.chunks(FEW).enumerate() {
                print(ui, self.block(number * FEW, block, &mut reader))?;
            }
            return Ok(());
        }
        let blocks: Vec<Block<'_>> = revs.chunks(BLOCK).enumerate().collect();
        let workers = cores.min(blocks.len());
        std::thread::scope(|scope| {
            let channels = (0..workers).map(|first| {
                let (send, receive) = sync_channel(QUEUED_BLOCKS);
                let own: Vec<Block<'_>> = blocks
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
                print(ui, rendered)?;
            }
            Ok(())
        })
    }

    fn work(&self, blocks: &[Block<'_>], send: &SyncSender<Rendered>) {
        let mut reader = self.view.changelog().reader();
        for (number, block) in blocks {
            let rendered = self.block(number * BLOCK, block, &mut reader);
            let failed = rendered.1.is_some();
            // After an error of the output the receiver is gone.
            if send.send(rendered).is_err() || failed {
                return;
            }
        }
    }

    /// The texts of one block. They are read in the order of the file, which is the fastest.
    fn block(&self, first: usize, revs: &[Option<Rev>], reader: &mut Reader<'_>) -> Rendered {
        let mut order: Vec<usize> = (0..revs.len()).collect();
        let is_sorted = revs.is_sorted();
        if !is_sorted {
            order.sort_unstable_by_key(|at| revs[*at]);
        }
        let mut made = Vec::new();
        let mut ends = vec![0..0; revs.len()];
        // Of several errors the one of the first changeset counts.
        let mut failed: Option<(usize, Abort)> = None;
        for at in order {
            let start = made.len();
            if let Err(error) = self.render(revs[at], first + at, reader, &mut made) {
                made.truncate(start);
                if failed.as_ref().is_none_or(|(earlier, _)| at < *earlier) {
                    failed = Some((at, error));
                }
                if is_sorted {
                    break;
                }
            }
            ends[at] = start..made.len();
        }
        let (shown, error) = match failed {
            Some((at, error)) => (at, Some(error)),
            None => (revs.len(), None),
        };
        if is_sorted {
            return (made, error);
        }
        let mut out = Vec::with_capacity(made.len());
        for range in ends.into_iter().take(shown) {
            out.extend_from_slice(&made[range]);
        }
        (out, error)
    }
}

fn print(ui: &mut Ui, (text, error): Rendered) -> Result<(), Abort> {
    ui.write(text)?;
    error.map_or(Ok(()), Err)
}
