//! Fetching an index that another server has built.

use super::{StoredCopy, copy_of, is_much, warn};
use crate::Failure;
use crate::couch::views::indexes::Refresh;
use varve_base::Interrupt;
use varve_docdb::Snapshot;
use varve_views::{IndexKind, ViewIndex};

/// Name of the task.
const TASK: &str = "view_index_fetch";

impl Refresh {
    /// Puts the copy of a shared store in the place of an index that lacks much, once for each index while its database is open. The
    /// log says what fails; the index is then built from what it has.
    pub(in crate::couch::views) fn fetch_copy(
        &self,
        index: &ViewIndex,
        snapshot: &Snapshot,
        stop: &Interrupt,
    ) {
        if !self.app.databases.is_shared() || index.group().kind() != IndexKind::Views {
            return;
        }
        match self.try_fetch_copy(index, &snapshot.unrestricted(), stop) {
            Ok(None) => {}
            Ok(Some(bytes)) => {
                let counters = &self.app.server().metrics.index_copies;
                counters.fetched.inc();
                counters.fetched_bytes.inc_by(bytes);
            }
            // The build finds it, too, and ends.
            Err(_) if stop.is_raised() => {}
            Err(failure) => {
                let failed = format!(
                    "an index is built, as its copy cannot be used: {}",
                    self.design
                );
                warn(&self.app, &self.database.name, &failed, &failure);
            }
        }
    }

    /// Returns the bytes of the copy that is used from now on; `None` if there is none of use.
    fn try_fetch_copy(
        &self,
        index: &ViewIndex,
        snapshot: &Snapshot,
        stop: &Interrupt,
    ) -> Result<Option<u64>, Failure> {
        let (database, signature) = (&self.database, index.group().signature());
        let copies = &database.indexes.copies;
        let covered = index.current(snapshot)?.update_seq();
        let missing = snapshot.count_changes(covered)?;
        if !is_much(missing, snapshot.count_changes(0)?) {
            return Ok(None);
        }
        if covered == 0 && copies.is_known(signature) {
            // It was there, and went for its damage.
            copies.distrust(signature);
            return Ok(None);
        }
        if !copies.try_once(signature) {
            return Ok(None);
        }
        let Some(copy) = copy_of(&self.app, &database.name, &signature.to_string())? else {
            return Ok(None);
        };
        let versions = copy.versions()?;
        // They may name a commit that came after the one which is to be indexed.
        self.app.databases.follow(database);
        let newest = database.documents.snapshot();
        for version in versions {
            let Some(stored) = StoredCopy::of(&version) else {
                continue;
            };
            let is_worth_it = snapshot.count_changes(stored.seq)? <= missing / 2;
            if !is_worth_it || !database.documents.contains_commit(&stored.commit)? {
                continue;
            }
            let fields = [
                ("database", database.name.as_str()),
                ("design_document", self.design.as_str()),
            ];
            let task = self.app.tasks().start(TASK, &fields);
            let replacement = index.begin_replacement()?;
            copy.fetch(&version, replacement.file(), (&task, stop))?;
            if !replacement.finish(&newest)? {
                return Err(Failure::internal("its file is no whole index"));
            }
            copies.note(signature, stored);
            return Ok(Some(version.bytes()));
        }
        Ok(None)
    }
}
