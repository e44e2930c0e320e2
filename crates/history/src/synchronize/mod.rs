//! Bringing a database in step with a repository.
//!
//! The checkpoint says which run of changesets is documents, with a digest of their numbers, phases and nodes. If that
//! still is the digest of the same run, only the changesets behind it are new, and they are one commit with the names
//! that moved: no reader of `_changes` sees half a push. Otherwise something was stripped, rewritten or has another
//! phase: all documents of changesets are compared with the repository. A first fill is done in batches, each with its
//! checkpoint.

mod data;
mod files;

use crate::changeset::ChangesetReader;
use crate::checkpoint::Checkpoint;
use crate::ids::{DESIGN, LABELS, is_node};
use crate::labels::label_documents;
use crate::shown::{Digests, ShownChangesets};
use crate::writer::CommitWriter;
use crate::{HistoryError, HistorySettings, design};
use std::ops::Bound;
use varve_base::{Interrupt, Progress, Unit};
use varve_docdb::{Database, Direction, IdRange, Snapshot};
use varve_json::{Object, Value};
use varve_repo::{Node, RepoView, Rev};

/// Documents that one commit of a fill has at most.
const BATCH: usize = 1000;
/// Changesets that one commit has at most: a larger push is seen in pieces.
const ONE_COMMIT: usize = 10_000;
/// Documents that a thread makes at least.
const SHARE: usize = 50;

/// Numbers of documents that were written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Documents that were made, changed or deleted.
    pub documents: usize,
    /// Commits of the database.
    pub commits: usize,
}

/// Returns whether a database is made of a repository, or may be: nothing was written to it yet.
///
/// # Errors
/// Damage of the database.
pub fn is_of_repository(snapshot: &Snapshot) -> Result<bool, HistoryError> {
    Ok(snapshot.update_seq() == 0 || Checkpoint::read(snapshot)?.is_some())
}

/// Brings a database in step with a repository. Interrupted at any point, or killed, it goes on from the last commit the
/// next time; a second call writes nothing. No two calls for one database may run at the same time.
///
/// # Errors
/// [`HistoryError::Foreign`] for a database of other documents; damage; a failure of the storage;
/// [`HistoryError::Interrupted`].
pub fn synchronize(
    view: &RepoView,
    database: &Database,
    settings: HistorySettings,
    (progress, stop): (&dyn Progress, &Interrupt),
) -> Result<Changes, HistoryError> {
    let snapshot = database.snapshot();
    if !is_of_repository(&snapshot)? {
        return Err(HistoryError::Foreign);
    }
    let stored = Checkpoint::read(&snapshot)?;
    let shown = ShownChangesets::of(view, settings.includes_drafts);
    let (checkpoint, rev) = stored.unzip();
    let mut fill = Fill {
        view,
        database,
        settings,
        progress,
        stop,
        shown: &shown,
        checkpoint: checkpoint.unwrap_or_default(),
        checkpoint_rev: rev,
        changes: Changes::default(),
    };
    fill.run()?;
    Ok(fill.changes)
}

struct Fill<'a> {
    view: &'a RepoView,
    database: &'a Database,
    settings: HistorySettings,
    progress: &'a dyn Progress,
    stop: &'a Interrupt,
    shown: &'a ShownChangesets<'a>,
    checkpoint: Checkpoint,
    checkpoint_rev: Option<String>,
    changes: Changes,
}

/// Changesets whose documents are to be made, and how.
struct Plan {
    /// Oldest first.
    changesets: Vec<Rev>,
    /// The run of documents grows: batches may have checkpoints.
    grows: bool,
    /// Documents of other changesets have to be looked for.
    is_swept: bool,
}

impl Fill<'_> {
    fn run(&mut self) -> Result<(), HistoryError> {
        let plan = self.plan()?;
        let total = plan.changesets.len();
        self.progress
            .begin("changesets", Unit::Items, Some(total as u64));
        let mut rest = plan.changesets.as_slice();
        let is_at_once =
            rest.len() <= BATCH || (self.checkpoint.is_complete && total <= ONE_COMMIT);
        let mut digests = Digests::new(self.shown);
        while !is_at_once && rest.len() > BATCH {
            let (batch, behind) = rest.split_at(BATCH);
            let mut writer = CommitWriter::new(self.database);
            self.put_changesets(batch, &mut writer)?;
            if plan.grows {
                let next = batch.last().map_or(0, |rev| rev.index() + 1);
                let checkpoint = Checkpoint {
                    settings: self.settings.fingerprint(),
                    next,
                    digest: digests.up_to(next),
                    is_complete: false,
                    files_of: self.checkpoint.files_of.clone(),
                    data_of: self.checkpoint.data_of.clone(),
                };
                self.set_checkpoint(checkpoint, &mut writer)?;
            }
            self.commit(writer)?;
            rest = behind;
        }
        let files = self.fill_files()?;
        let data = self.fill_data()?;
        let mut writer = CommitWriter::new(self.database);
        for batch in rest.chunks(BATCH) {
            self.put_changesets(batch, &mut writer)?;
        }
        if plan.is_swept {
            self.delete_unshown(&mut writer)?;
        }
        self.put_labels(&mut writer)?;
        files.put(&mut writer)?;
        data.put(&mut writer)?;
        writer.put(vec![(DESIGN.to_owned(), design::design())])?;
        self.finish(digests, writer, (files.head, data.head))
    }

    /// Writes the last commit, if there is anything to write.
    fn finish(
        &mut self,
        mut digests: Digests<'_>,
        mut writer: CommitWriter<'_>,
        (files_of, data_of): (Option<Node>, Option<Node>),
    ) -> Result<(), HistoryError> {
        let next = self.shown.end();
        let checkpoint = Checkpoint {
            settings: self.settings.fingerprint(),
            next,
            digest: digests.up_to(next),
            is_complete: true,
            files_of: files_of.map(|node| node.to_string()),
            data_of: data_of.map(|node| node.to_string()),
        };
        let is_known = self.checkpoint_rev.is_some() && checkpoint == self.checkpoint;
        if is_known && writer.len() == 0 {
            return Ok(());
        }
        self.set_checkpoint(checkpoint, &mut writer)?;
        self.commit(writer)
    }

    /// Returns whether documents may be there that the settings do not want, and that the checkpoint does not tell of.
    fn may_be_of_other_settings(&self) -> bool {
        let known = &self.checkpoint;
        self.checkpoint_rev.is_some()
            && (!known.is_complete || known.settings != self.settings.fingerprint())
    }

    fn plan(&self) -> Result<Plan, HistoryError> {
        let known = &self.checkpoint;
        let same_settings = known.settings == self.settings.fingerprint();
        let is_run = known.next <= self.shown.end()
            && same_settings
            && known.digest == self.shown.digest(known.next);
        if is_run || self.checkpoint_rev.is_none() {
            return Ok(Plan {
                changesets: self.shown.from(known.next).collect(),
                grows: true,
                // An unfinished fill may have begun because of other settings.
                is_swept: !known.is_complete && self.checkpoint_rev.is_some(),
            });
        }
        if !same_settings {
            return Ok(Plan {
                changesets: self.shown.from(0).collect(),
                grows: true,
                is_swept: true,
            });
        }
        Ok(Plan {
            changesets: self.stale_changesets()?,
            grows: false,
            is_swept: true,
        })
    }

    /// Shown changesets without a document, and those whose documents have another number or phase.
    fn stale_changesets(&self) -> Result<Vec<Rev>, HistoryError> {
        let changelog = self.view.changelog();
        let mut is_current = vec![false; self.shown.end()];
        let snapshot = self.database.snapshot();
        let mut body = Vec::new();
        for row in changeset_rows(&snapshot)? {
            let row = row?;
            let node = Node::from_hex(row.id().as_bytes());
            let rev = node.and_then(|node| changelog.rev(&node));
            let Some(rev) = rev.filter(|_| is_node(row.id())) else {
                continue;
            };
            body.clear();
            snapshot.body(&row.stored, &mut body)?;
            let document = varve_json::parse_object(&body).unwrap_or_default();
            let phase = self.view.phases().of(rev).name();
            is_current[rev.index()] = document.get("rev").and_then(Value::as_u64)
                == Some(u64::from(rev.0))
                && document.get("phase").and_then(Value::as_str) == Some(phase);
        }
        let stale = self.shown.from(0).filter(|rev| !is_current[rev.index()]);
        Ok(stale.collect())
    }

    /// Deletes documents of changesets that are not shown.
    fn delete_unshown(&self, writer: &mut CommitWriter<'_>) -> Result<(), HistoryError> {
        let snapshot = writer.snapshot.clone();
        for row in changeset_rows(&snapshot)? {
            let row = row?;
            let node = Node::from_hex(row.id().as_bytes());
            let rev = node.and_then(|node| self.view.changelog().rev(&node));
            if is_node(row.id()) && !rev.is_some_and(|rev| self.shown.contains(rev)) {
                writer.delete(row.id(), &row.rev)?;
            }
        }
        Ok(())
    }

    /// Makes the documents of some changesets, with all cores if they are many.
    fn put_changesets(
        &self,
        revs: &[Rev],
        writer: &mut CommitWriter<'_>,
    ) -> Result<(), HistoryError> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let share = revs.len().div_ceil(cores).max(SHARE);
        let made = std::thread::scope(|scope| {
            let threads: Vec<_> = revs
                .chunks(share)
                .map(|share| scope.spawn(|| self.documents(share)))
                .collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| match thread.join() {
                Ok(made) => made,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            let made: Result<Vec<_>, HistoryError> = threads.into_iter().map(join).collect();
            made
        });
        made?.into_iter().try_for_each(|made| writer.put(made))
    }

    fn documents(&self, revs: &[Rev]) -> Result<Vec<(String, Object)>, HistoryError> {
        let mut reader = ChangesetReader::new(self.view, self.settings.counts_lines)?;
        let changelog = self.view.changelog();
        let mut documents = Vec::with_capacity(revs.len());
        for rev in revs {
            self.stop.check()?;
            let id = changelog.node(*rev).to_string();
            documents.push((id, reader.document(*rev)?));
            self.progress.advance(1);
        }
        Ok(documents)
    }

    fn put_labels(&self, writer: &mut CommitWriter<'_>) -> Result<(), HistoryError> {
        let labels = label_documents(self.shown)?;
        for prefix in LABELS {
            writer.delete_others(prefix, |id| labels.contains_key(id))?;
        }
        writer.put(labels.into_iter().collect())
    }

    fn set_checkpoint(
        &mut self,
        checkpoint: Checkpoint,
        writer: &mut CommitWriter<'_>,
    ) -> Result<(), HistoryError> {
        writer.set_checkpoint(checkpoint.edit(self.checkpoint_rev.as_deref())?);
        self.checkpoint = checkpoint;
        Ok(())
    }

    fn commit(&mut self, mut writer: CommitWriter<'_>) -> Result<(), HistoryError> {
        self.stop.check()?;
        if self.checkpoint_rev.is_none() && !writer.has_checkpoint() {
            // A database with documents and without a checkpoint would be one of other documents.
            let nothing = Checkpoint {
                settings: self.settings.fingerprint(),
                digest: self.shown.digest(0),
                ..Checkpoint::default()
            };
            self.set_checkpoint(nothing, &mut writer)?;
        }
        let documents = writer.len();
        let done = writer.commit();
        let stored = Checkpoint::read(&self.database.snapshot())?;
        self.checkpoint_rev = stored.map(|(_, rev)| rev);
        if let Err(HistoryError::Document { .. }) = &done {
            // The rest was written, with a checkpoint that is not true.
            let mut writer = CommitWriter::new(self.database);
            self.set_checkpoint(Checkpoint::default(), &mut writer)?;
            writer.commit()?;
        }
        done?;
        self.changes.documents += documents;
        self.changes.commits += 1;
        Ok(())
    }
}

/// Documents whose ids may be those of changesets.
fn changeset_rows(snapshot: &Snapshot) -> Result<varve_docdb::AllDocs, HistoryError> {
    let nodes = IdRange {
        low: Bound::Included("0"),
        high: Bound::Excluded("g"),
    };
    Ok(snapshot.all_docs(nodes, Direction::Forward)?)
}
