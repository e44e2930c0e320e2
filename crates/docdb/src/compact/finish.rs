//! Bringing the copy up to date, and putting it in the old file's place.

use super::copier::Copier;
use super::files::copy_path;
use super::{
    Checkpoint, Compacted, Compaction, CompactionMonitor, Finished, Stage, Unreadable, catch_up,
    dictionaries, security,
};
use crate::record::Header;
use crate::{Database, DocdbError, Snapshot};
use std::sync::Arc;
use varve_base::Interrupt;
use varve_btree::{Transaction, TreeFile};

/// The writer may be kept waiting while so many bytes of commits are looked through.
const SHORT: u64 = 2 << 20;
/// Rounds after which the writer waits even for a longer one: it is faster than the copying.
const ROUNDS: usize = 12;

impl Compaction {
    /// Catches up until a round is short.
    pub(super) fn rounds(&mut self, watch: &CompactionMonitor<'_>) -> Result<(), DocdbError> {
        for _ in 0..ROUNDS {
            let newest = self.database.snapshot();
            if self.is_near(&newest) {
                break;
            }
            self.round(&newest.uncached(), Stage::Catching, watch)?;
        }
        Ok(())
    }

    /// Whether little was committed since the copied snapshot.
    fn is_near(&self, newest: &Snapshot) -> bool {
        let copied = self.copied.as_ref();
        let copied = copied.map(|(copied, _)| copied.tree().position());
        let short = SHORT.min(self.step);
        copied.is_some_and(|copied| newest.tree().position().saturating_sub(copied) <= short)
    }

    /// Brings the copy up to a commit.
    fn round(
        &mut self,
        to: &Snapshot,
        stage: Stage,
        watch: &CompactionMonitor<'_>,
    ) -> Result<(), DocdbError> {
        let is_new = |copied: &Snapshot| copied.tree().position() != to.tree().position();
        // The last one has to say that it is, whatever it copies.
        let is_due = |copied: &Snapshot| stage == Stage::Complete || is_new(copied);
        let Some((copied, mut copier)) = self.copied.take_if(|(copied, _)| is_due(copied)) else {
            return Ok(());
        };
        watch.check()?;
        let new = Arc::clone(&self.new);
        let mut txn = new.begin()?;
        if copier.recoding.is_needless() {
            let (method, known) = (copier.recoding.method(), &mut self.dictionaries);
            dictionaries::catch_up(to, method, &self.seen, known, &mut txn)?;
            copier.keep(dictionaries::numbers(&self.dictionaries));
        }
        catch_up::catch_up(to, &copied, &mut txn, &mut copier, watch)?;
        if to.header().security != copied.header().security {
            self.security = security(to, &mut txn, &mut copier)?;
        }
        self.commit(txn, to, &copier, stage)?;
        self.copied = Some((to.clone(), copier));
        Ok(())
    }

    /// Commits a copy of the snapshot `of`: as one that may be gone on with, unless it is complete.
    pub(super) fn commit(
        &mut self,
        mut txn: Transaction<'_>,
        of: &Snapshot,
        copier: &Copier,
        stage: Stage,
    ) -> Result<(), DocdbError> {
        self.chunk_stats = self.chunk_stats.plus(txn.chunk_stats());
        let recoding = &copier.recoding;
        let header = Header {
            security: self.security,
            // Unchanged chunks may have been written by another setting meanwhile.
            setting: match recoding.is_needless() {
                true => of.header().setting,
                false => Some(recoding.setting()),
            },
            next_dictionary: self.next_dictionary(of),
            dictionaries: self.dictionaries.clone(),
            chunk_stats: Some(self.chunk_stats),
            holes: 0,
            ..of.header().clone()
        };
        // A resumed compaction would not know the unreadable parts that this one has met.
        let is_resumable = self.is_long && copier.unreadable.is_empty();
        let header = match stage == Stage::Catching && is_resumable {
            true => Checkpoint::new(of, of.update_seq(), header)?.encode(),
            false => header.encode(),
        };
        txn.set_user_header(&header);
        txn.commit()?;
        Ok(())
    }

    /// Refuses if a copied document cannot be read: its older revisions, which a salvage could use, would go with the
    /// old file.
    ///
    /// # Errors
    /// [`DocdbError::LeftUncompacted`].
    pub fn check_readable(&self) -> Result<(), DocdbError> {
        let copier = self.copied.as_ref().map(|(_, copier)| copier);
        match copier.map(|copier| &copier.unreadable) {
            Some(unreadable) if !unreadable.is_empty() => Err(DocdbError::LeftUncompacted {
                path: self.database.path().to_owned(),
                what: unreadable.to_string(),
            }),
            _ => Ok(()),
        }
    }

    /// Copies the missing rest while the writer waits, and puts the copy in the old file's place.
    ///
    /// # Errors
    /// As [`Database::compact`]; also that the storage does not say that the new name is durable:
    /// the new file is in use then, and writers are refused until it is.
    pub fn finish(mut self, stop: &Interrupt) -> Result<Finished, DocdbError> {
        let done = self.complete(stop);
        self.keep_if_interrupted(&done);
        done.map_err(DocdbError::of_compaction)
    }

    fn complete(&mut self, stop: &Interrupt) -> Result<Finished, DocdbError> {
        let database = self.database.clone();
        let watch = CompactionMonitor {
            database: &database,
            progress: &varve_base::Silent,
            stop,
        };
        if self.copied.is_none() {
            return Err(database.snapshot().abandoned());
        }
        self.rounds(&watch)?;
        let old = Arc::clone(&self.old);
        // From here on there are no writes and no deletions.
        let writer = old.begin()?;
        let last = Snapshot::new(writer.base().clone(), database.path())?;
        self.round(&last.uncached(), Stage::Complete, &watch)?;
        watch.check()?;
        // In a copy that was appended as a whole, damage anywhere would make all of it disappear.
        crate::write::seal(self.new.begin()?, database.path())?;
        let (storage, path) = (database.storage(), database.path());
        let (before, after) = (old.sizes().file, self.new.sizes().file);
        let newest = Snapshot::new(self.new.snapshot(), path)?;
        storage.rename(&copy_path(path), path)?;
        // The new file is the database: whatever fails from here on, it is taken over.
        self.is_finished = true;
        let (new, newest) = match reopen(&database, &newest) {
            Some(reopened) => reopened,
            None => (Arc::clone(&self.new), newest),
        };
        database.replace_file(new, newest)?;
        drop(writer);
        let copied = self.copied.take();
        Ok(Finished {
            sizes: Compacted { before, after },
            unreadable: copied.map_or_else(Unreadable::default, |(_, copier)| copier.unreadable),
        })
    }
}

/// The renamed file under its own name, so that messages say which file is meant. One that cannot
/// be opened once more is used as it is.
fn reopen(database: &Database, newest: &Snapshot) -> Option<(Arc<TreeFile>, Snapshot)> {
    let (storage, path) = (database.storage(), database.path());
    let file = TreeFile::open(storage.as_ref(), path, database.tree_options()).ok()?;
    let found = Snapshot::new(file.snapshot(), path).ok()?;
    let is_same = found.tree().is_same_file(newest.tree())
        && found.tree().position() == newest.tree().position();
    is_same.then(|| (Arc::new(file), found))
}
