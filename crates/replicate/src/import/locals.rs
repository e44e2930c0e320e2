//! Local documents of all files of a database.

use crate::couch_file::{CouchFile, LocalInfo, Met, Walk};
use crate::{Finding, ReplicateError};
use std::iter::Peekable;
use std::path::PathBuf;
use varve_docdb::LOCAL_PREFIX;

/// Begins the ids of documents in which the nodes of a cluster note how far their own copies and indexes are. They say
/// nothing to another server, and CouchDB lists them to no client.
const OF_NODES: [&str; 3] = [
    "_local/shard-sync-",
    "_local/purge-mem3-",
    "_local/purge-mrview-",
];

/// Whether a local document is of a cluster's nodes, so that it is not moved.
pub fn is_of_nodes(id: &str) -> bool {
    OF_NODES.iter().any(|prefix| id.starts_with(prefix))
}

/// The local documents of all files in the order of their ids.
pub(super) struct Locals<'a> {
    walks: Vec<Peekable<LocalWalk<'a>>>,
    last: Option<String>,
    report: &'a (dyn Fn(Finding) + Sync),
}

/// Local documents that can be read.
struct LocalWalk<'a> {
    path: PathBuf,
    walk: Walk<LocalInfo>,
    report: &'a (dyn Fn(Finding) + Sync),
}

impl Iterator for LocalWalk<'_> {
    type Item = LocalInfo;

    fn next(&mut self) -> Option<LocalInfo> {
        loop {
            match self.walk.next()? {
                Met::Item(local) => return Some(local),
                Met::Lost(lost) => {
                    let what = format!("local documents are left out: {}", lost.damage.reason);
                    (self.report)(Finding::in_file(&self.path, Some(lost.damage.offset), what));
                }
            }
        }
    }
}

impl<'a> Locals<'a> {
    pub(super) fn new(files: &[CouchFile], report: &'a (dyn Fn(Finding) + Sync)) -> Locals<'a> {
        let walks = files.iter().map(|file| {
            let walk = LocalWalk {
                path: file.path().to_owned(),
                walk: file.locals(),
                report,
            };
            walk.peekable()
        });
        Locals {
            walks: walks.collect(),
            last: None,
            report,
        }
    }

    /// The document with the least id; of several with this id the newest.
    fn least(&mut self) -> Option<LocalInfo> {
        let ids = self
            .walks
            .iter_mut()
            .filter_map(|walk| walk.peek().map(|it| it.id.clone()));
        let least = ids.min()?;
        let mut newest: Option<LocalInfo> = None;
        for walk in &mut self.walks {
            while let Some(local) = walk.next_if(|local| local.id == least) {
                if newest.as_ref().is_none_or(|newest| newest.rev < local.rev) {
                    newest = Some(local);
                }
            }
        }
        newest
    }
}

impl Iterator for Locals<'_> {
    type Item = Result<(String, u64, Vec<u8>), ReplicateError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let local = self.least()?;
            if is_of_nodes(&local.id) {
                continue;
            }
            // In a damaged file the order may be wrong.
            let is_next = self.last.as_ref().is_none_or(|last| *last < local.id);
            if is_next && local.id.starts_with(LOCAL_PREFIX) {
                self.last = Some(local.id.clone());
                return Some(Ok((local.id, local.rev, local.body)));
            }
            let what = format!(
                "the local document {:?} is left out: it is out of order",
                local.id
            );
            (self.report)(Finding::of(what));
        }
    }
}
