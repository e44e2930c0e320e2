//! Comparison of both sides: counts, and all leaf revisions. Changes are read page by page, so that memory is bounded.
//!
//! A document that differs may have changed meanwhile: behind another round of copying, those that differed are compared
//! again, and only then named.

use super::super::database::ChangeRow;
use super::blocking;
use super::copy::{DatabaseCopy, PAGE, info_of};
use super::remote::RemoteInfo;
use std::collections::{HashMap, HashSet};
use varve_docdb::{Direction, Document, Snapshot};
use varve_json::Value;
use varve_replicate::ReplicateError;
use varve_replicate::replicator::Selection;

/// Documents that are compared a second time; of more, only the number is told.
const SUSPECTS: usize = 10_000;
/// Ids that one request for changes names.
const IDS: usize = 100;
/// Rounds of copying in which the counts of a server that is written to may come to fit.
const ROUNDS: usize = 5;

/// Counts of a database in the directory, and how it differs from the server's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Compared {
    pub(super) documents: u64,
    pub(super) revisions: u64,
    pub(super) attachments: u64,
    pub(super) differences: u64,
}

/// Result of a walk over the changes of the server.
#[derive(Default)]
struct Walked {
    counts: Compared,
    /// Documents that both sides have.
    common: u64,
    /// Ids of documents that differ, the first of them.
    suspects: Vec<String>,
    /// How many more differ.
    more: u64,
}

/// Compares both sides, and names each difference; also copies what came meanwhile.
pub(super) async fn compare(
    copy: DatabaseCopy,
) -> Result<(DatabaseCopy, Compared), ReplicateError> {
    let mut walked = Walked::default();
    let mut since = Value::from(0_u64);
    loop {
        let page = copy.page(&since, PAGE, &Selection::All).await?;
        let is_last = page.rows.is_empty()
            || page.rows.len() < PAGE && page.pending.is_none_or(|left| left == 0);
        let snapshot = copy.database.snapshot();
        walked = blocking(move || {
            walked.page(&snapshot, &page.rows)?;
            Ok(walked)
        })
        .await?;
        if is_last {
            break;
        }
        since = page.last_seq;
    }
    let (copy, info) = settle(copy).await?;
    let mut compared = walked.counts;
    if !walked.suspects.is_empty() {
        compared.differences += again(&copy, &walked.suspects).await?;
    }
    if walked.more > 0 {
        compared.differences += walked.more;
        let what = format!("{}: {} more documents differ", copy.name, walked.more);
        copy.notices.found(what).await;
    }
    let here = copy.database.snapshot().info()?;
    compared.documents = here.doc_count.saturating_add(here.doc_del_count);
    let counts_fit = (here.doc_count, here.doc_del_count) == (info.live, info.deleted);
    if !counts_fit || walked.common != compared.documents {
        let named = walked.suspects.into_iter().collect();
        compared.differences += only_here(&copy, &named).await?;
    }
    if !counts_fit && compared.differences == 0 {
        compared.differences += 1;
        let what = format!(
            "{}: the server counts {} documents and {} deleted ones, the directory {} and {}",
            copy.name, info.live, info.deleted, here.doc_count, here.doc_del_count
        );
        copy.notices.found(what).await;
    }
    Ok((copy, compared))
}

/// Copies what came meanwhile, until the server's counts are those of the copied state.
async fn settle(mut copy: DatabaseCopy) -> Result<(DatabaseCopy, RemoteInfo), ReplicateError> {
    let mut info = RemoteInfo::of(&info_of(&copy.peer, &copy.name).await?);
    for _ in 0..ROUNDS {
        copy = copy.catch_up().await?;
        let before = std::mem::replace(
            &mut info,
            RemoteInfo::of(&info_of(&copy.peer, &copy.name).await?),
        );
        if before.update_seq == info.update_seq {
            break;
        }
    }
    Ok((copy, info))
}

impl Walked {
    fn page(&mut self, snapshot: &Snapshot, rows: &[ChangeRow]) -> Result<(), ReplicateError> {
        let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        for (row, document) in rows.iter().zip(snapshot.documents(&ids)?) {
            if let Some(document) = &document {
                self.common += 1;
                self.count(snapshot, document)?;
            }
            let (lacking, further) = differences(row, document.as_ref());
            if !lacking.is_empty() || !further.is_empty() {
                match self.suspects.len() < SUSPECTS {
                    true => self.suspects.push(row.id.clone()),
                    false => self.more += 1,
                }
            }
        }
        Ok(())
    }

    fn count(&mut self, snapshot: &Snapshot, document: &Document) -> Result<(), ReplicateError> {
        self.counts.revisions += document.tree().len() as u64;
        for leaf in document.tree().leaves() {
            if let Some(stored) = &leaf.stored {
                self.counts.attachments += snapshot.attachments(stored)?.len() as u64;
            }
        }
        Ok(())
    }
}

fn leaves(document: Option<&Document>) -> Vec<String> {
    let leaves = document
        .into_iter()
        .flat_map(|document| document.tree().leaves());
    leaves.map(|leaf| leaf.rev.to_string()).collect()
}

/// Leaves that only the server has, and those that only the directory has.
fn differences(row: &ChangeRow, document: Option<&Document>) -> (Vec<String>, Vec<String>) {
    let here = leaves(document);
    let lacking = row.revs.iter().filter(|rev| !here.contains(rev));
    let lacking = lacking.cloned().collect();
    let further = here.iter().filter(|rev| !row.revs.contains(rev));
    (lacking, further.cloned().collect())
}

/// Compares some documents again, and names those that differ.
async fn again(copy: &DatabaseCopy, ids: &[String]) -> Result<u64, ReplicateError> {
    let mut count = 0;
    for ids in ids.chunks(IDS) {
        let selection = Selection::Ids(ids.to_vec());
        let since = Value::from(0_u64);
        let page = copy.page(&since, PAGE, &selection).await?;
        let mut rows: HashMap<String, ChangeRow> = page
            .rows
            .into_iter()
            .map(|row| (row.id.clone(), row))
            .collect();
        let documents = copy.database.snapshot().documents(ids)?;
        for (id, document) in ids.iter().zip(documents) {
            let row = rows.remove(id).unwrap_or_else(|| ChangeRow {
                id: id.clone(),
                revs: Vec::new(),
            });
            let (lacking, further) = differences(&row, document.as_ref());
            count += (lacking.len() + further.len()) as u64;
            name(
                copy,
                id,
                &lacking,
                "is at the server, and not in the directory",
            )
            .await;
            name(
                copy,
                id,
                &further,
                "is a leaf in the directory, and not at the server",
            )
            .await;
        }
    }
    Ok(count)
}

async fn name(copy: &DatabaseCopy, id: &str, revs: &[String], what: &str) {
    for rev in revs {
        let line = format!("{}: {id:?} {rev} {what}", copy.name);
        copy.notices.found(line).await;
    }
}

/// Names the leaves of the directory that the server does not know, but for those of documents that were `named`.
async fn only_here(copy: &DatabaseCopy, named: &HashSet<String>) -> Result<u64, ReplicateError> {
    let (mut count, mut since) = (0, 0);
    loop {
        let snapshot = copy.database.snapshot();
        let (mut rows, last) = blocking(move || rows_of(&snapshot, since)).await?;
        if rows.is_empty() {
            return Ok(count);
        }
        rows.retain(|row| !named.contains(&row.id));
        for unknown in copy.peer.revs_diff(&rows).await? {
            count += unknown.revs.len() as u64;
            let what = "is in the directory, and the server does not know it";
            name(copy, &unknown.id, &unknown.revs, what).await;
        }
        since = last;
    }
}

/// The next documents of the directory with their leaves, and the sequence of the last one.
fn rows_of(snapshot: &Snapshot, since: u64) -> Result<(Vec<ChangeRow>, u64), ReplicateError> {
    let (mut rows, mut last) = (Vec::new(), since);
    for change in snapshot.changes(since, Direction::Forward)?.take(PAGE) {
        let change = change?;
        last = change.seq;
        let document = snapshot.document(&change.id)?;
        rows.push(ChangeRow {
            revs: leaves(document.as_ref()),
            id: change.id,
        });
    }
    Ok((rows, last))
}
