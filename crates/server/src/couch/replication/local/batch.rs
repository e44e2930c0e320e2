//! One batch between databases of this server.

use super::super::batch::Sides;
use super::super::error::ReplicationError;
use super::super::peer::PeerRequest;
use super::LocalCopy;
use crate::Failure;
use crate::couch::call::Call;
use crate::couch::functions::validate;
use crate::couch::partitions;
use crate::couch::target::Target;
use crate::http::blocking;
use std::sync::Arc;
use tokio::sync::oneshot;
use varve_docdb::{
    Accepted, DESIGN_PREFIX, Edit, MissingLeaf, Mode, ReadyCopies, Snapshot, WantedLeaves,
};
use varve_replicate::replicator::checkpoint::Counts;

/// Bytes of the source's file that are written together, but for one revision that takes more.
const WRITTEN: u64 = 16 << 20;

/// Leaves that are to be written together, and their documents in the same order.
struct Slice {
    /// The target takes these as they are.
    ready: ReadyCopies,
    ready_ids: Vec<String>,
    /// The target looks at these.
    edits: Vec<Edit>,
    edit_ids: Vec<String>,
    /// These can be no documents.
    refused: Vec<(String, Failure)>,
}

impl LocalCopy {
    /// Brings the leaves of some changes of one commit to the target. After a failure, `counts` has what was written before.
    ///
    /// # Errors
    /// Damage, and refusals that are about more than one document; others are counted. [`ReplicationError::Moved`].
    pub async fn replicate(
        &self,
        sides: &Sides,
        (source, rows): (Snapshot, &Arc<Vec<WantedLeaves>>),
        counts: &mut Counts,
    ) -> Result<(), ReplicationError> {
        // The semaphore is never closed.
        let _permit = self.batches.acquire().await;
        // The request that would have brought them, for the rights of its user.
        let request = PeerRequest::post(&["_bulk_docs"], Vec::new());
        let told = |failure: Failure| self.refused(&sides.target, &request, &failure);
        let caller = self
            .target
            .caller(&sides.target, &request)
            .await
            .map_err(told)?;
        let found = self.step({
            let (source, rows) = (source.clone(), Arc::clone(rows));
            move |control| {
                let call = caller.open(&Target::BulkDocs)?;
                call.check_writer()?;
                let target = call.snapshot();
                let ids = rows.iter().map(|row| &row.change.id);
                ids.into_iter()
                    .try_for_each(|id| partitions::check_id(&target, id))?;
                let missing = target.missing_leaves(&source, &rows)?;
                control.pause()?;
                Ok((Arc::new(call), slices(missing)))
            }
        });
        let (call, slices) = found.await.map_err(told)?;
        for leaves in slices {
            let mut of_slice = Counts::default();
            count_found(&leaves, sides.has_bulk_get(), &mut of_slice);
            let (source, of) = (source.clone(), Arc::clone(&call));
            let prepared = self.step(move |_| prepare(&of, &source, leaves));
            let slice = prepared.await.map_err(told)?;
            self.write(sides, &call, slice, &mut of_slice)
                .await
                .map_err(told)?;
            counts.add(&of_slice);
        }
        counts.revisions_checked += rows.iter().map(|row| row.revs.len() as u64).sum::<u64>();
        Ok(())
    }

    async fn write(
        &self,
        sides: &Sides,
        call: &Arc<Call>,
        slice: Slice,
        counts: &mut Counts,
    ) -> Result<(), Failure> {
        for (id, failure) in &slice.refused {
            note(sides, id, Err(failure.clone()), counts);
        }
        if !slice.ready_ids.is_empty() {
            let (done, outcomes) = oneshot::channel();
            call.database
                .documents
                .copy_later(slice.ready, move |outcomes| {
                    // A run that has ended needs no outcomes.
                    let _ = done.send(outcomes);
                });
            let outcomes = outcomes.await;
            let outcomes =
                outcomes.map_err(|_| Failure::internal("the edits have no outcomes"))??;
            for (id, outcome) in slice.ready_ids.iter().zip(outcomes) {
                note(sides, id, outcome.map_err(Failure::from), counts);
            }
        }
        if !slice.edits.is_empty() {
            let (of, edits) = (Arc::clone(call), slice.edits);
            let executor = call.app.executor();
            let written = blocking(&executor.functions, move || {
                validate::update(&of, edits, Mode::Replicated)
            });
            for (id, outcome) in slice.edit_ids.iter().zip(written.await?) {
                note(sides, id, outcome, counts);
            }
        }
        Ok(())
    }
}

/// Counts as over HTTP, where revisions with attachments come alone.
fn count_found(leaves: &[MissingLeaf], has_bulk_get: bool, counts: &mut Counts) {
    let found = leaves.len() as u64;
    counts.missing_found += found;
    counts.docs_read += found;
    if has_bulk_get {
        let plain = leaves.iter().filter(|leaf| !leaf.has_attachments());
        counts.bulk_get_attempts += found;
        counts.bulk_get_docs += plain.count() as u64;
    }
}

fn note(sides: &Sides, id: &str, outcome: Result<Accepted, Failure>, counts: &mut Counts) {
    match outcome {
        Ok(_) => counts.docs_written += 1,
        Err(failure) => {
            sides.log_refused(id, &format_args!("{}: {}", failure.error, failure.reason));
            counts.doc_write_failures += 1;
        }
    }
}

/// Cuts leaves into parts of about [`WRITTEN`] bytes.
fn slices(leaves: Vec<MissingLeaf>) -> Vec<Vec<MissingLeaf>> {
    let (mut slices, mut bytes) = (Vec::<Vec<MissingLeaf>>::new(), 0);
    for leaf in leaves {
        let len = leaf.stored_len();
        match slices.last_mut() {
            Some(last) if bytes + len <= WRITTEN => {
                bytes += len;
                last.push(leaf);
            }
            _ => {
                bytes = len;
                slices.push(vec![leaf]);
            }
        }
    }
    slices
}

/// Does everything for leaves that needs no writer.
fn prepare(call: &Call, source: &Snapshot, leaves: Vec<MissingLeaf>) -> Result<Slice, Failure> {
    let database = &call.database.documents;
    let takes_any = !source.has_access() && validate::takes_unseen(call)?;
    let is_seen = |leaf: &MissingLeaf| !takes_any || leaf.id().starts_with(DESIGN_PREFIX);
    let (seen, unseen): (Vec<_>, Vec<_>) = leaves.into_iter().partition(is_seen);
    let ready_ids = unseen.iter().map(|leaf| leaf.id().to_owned()).collect();
    let ready = database.prepare_copies(source, unseen)?;
    let (mut edits, mut edit_ids, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    for leaf in seen {
        match source.edit_of(&leaf)? {
            Ok(mut edit) => {
                database.place_long(&mut edit)?;
                edit_ids.push(leaf.id().to_owned());
                edits.push(edit);
            }
            Err(error) => refused.push((leaf.id().to_owned(), error.into())),
        }
    }
    Ok(Slice {
        ready,
        ready_ids,
        edits,
        edit_ids,
        refused,
    })
}
