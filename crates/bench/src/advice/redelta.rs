//! How much seeking deltas anew would give back.

use super::elapsed;
use crate::BenchError;
use crate::repository::{History, HistoryPart};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use varve_base::{Interrupt, MemoryStorage, Storage};
use varve_revlog::{
    Appender, Content, NewRevision, Rev, RevisionHints, Revlog, WriteOptions, flag,
};

/// Longer revlogs are left out: one alone may take longer than the budget.
const MOST_REVISIONS: usize = 3000;

/// Bytes of the revlogs that were looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Redelta {
    pub revlogs: usize,
    pub before: u64,
    pub after: u64,
}

/// Writes revlogs anew in memory, the manifest first, then files far apart from each other, until `share` is over.
pub(super) fn measure(
    history: &History,
    how: WriteOptions,
    share: Duration,
    interrupt: &Interrupt,
) -> Result<Redelta, BenchError> {
    /// Prime, so that the steps meet every revlog.
    const STEP: usize = 7919;
    let start = Instant::now();
    let short = |(_, revlog): &&(HistoryPart, Revlog)| (2..=MOST_REVISIONS).contains(&revlog.len());
    let (files, others): (Vec<_>, Vec<_>) = history
        .revlogs
        .iter()
        .filter(short)
        .partition(|(part, _)| *part == HistoryPart::File);
    let manifests = others
        .into_iter()
        .filter(|(part, _)| *part == HistoryPart::Manifest);
    let spread = (0..files.len()).map(|number| files[number * STEP % files.len()]);
    let mut found = Redelta::default();
    for (part, revlog) in manifests.chain(spread) {
        if elapsed(start) > share.as_secs_f64() {
            break;
        }
        let content = match part {
            HistoryPart::Manifest => Content::Manifest,
            _ => Content::File,
        };
        if let Some(bytes) = rewrite(revlog, content, how, interrupt)? {
            found.revlogs += 1;
            found.before += revlog.data_len();
            found.after += bytes;
        }
    }
    Ok(found)
}

/// Bytes of the chunks of a revlog that is written anew; `None` for one that a recompression would refuse.
fn rewrite(
    revlog: &Revlog,
    content: Content,
    how: WriteOptions,
    interrupt: &Interrupt,
) -> Result<Option<u64>, BenchError> {
    let memory: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
    let path = Path::new("copy.i");
    let mut appender = Appender::open(&memory, path, content, how)?;
    let mut reader = revlog.reader();
    for rev in revlog.revs() {
        interrupt.check()?;
        let entry = revlog.entry(rev);
        let Ok(link) = u32::try_from(revlog.linkrev(rev)) else {
            return Ok(None);
        };
        let new = NewRevision {
            text: reader.unchecked_text(rev)?,
            p1: entry.p1,
            p2: entry.p2,
            link: Rev(link),
        };
        let hints = RevisionHints {
            node: Some(entry.node),
            flags: entry.flags & (flag::CENSORED | flag::ELLIPSIS | flag::STORED_OUTSIDE),
            delta: None,
        };
        appender.add_with_hints(&new, &hints)?;
    }
    appender.write()?;
    Ok(Some(Revlog::open(&memory, path)?.data_len()))
}
