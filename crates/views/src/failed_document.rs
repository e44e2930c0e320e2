//! A document for which map functions passed a limit: until it is changed, the next build would end there too.

use crate::ViewError;
use parking_lot::Mutex;
use std::time::{Duration, Instant};
use varve_docdb::{DocdbError, Snapshot};
use varve_js::{Compilation, JsError, Limits};

/// The functions are called again after this: a limit can be passed by accident.
const RETRY_AFTER: Duration = Duration::from_secs(600);

/// How the functions of a build run.
pub(crate) type Conditions = (Limits, Compilation);

/// The document that ended the last build of an index, if one did. Its functions may have taken their whole time, which
/// no later query is to wait for again.
#[derive(Debug, Default)]
pub(crate) struct FailedDocument(Mutex<Option<Failure>>);

#[derive(Debug)]
struct Failure {
    id: String,
    /// The document's last update.
    seq: u64,
    reason: JsError,
    conditions: Conditions,
    when: Instant,
}

impl FailedDocument {
    /// Keeps the failure of a build that was run so.
    pub(crate) fn remember(&self, error: &ViewError, conditions: Conditions) {
        if let ViewError::Function { id, seq, source } = error {
            *self.0.lock() = Some(Failure {
                id: id.clone(),
                seq: *seq,
                reason: (**source).clone(),
                conditions,
                when: Instant::now(),
            });
        }
    }

    /// The failure with which a build of these documents would end.
    ///
    /// # Errors
    /// Damage of the database.
    pub(crate) fn expected(
        &self,
        documents: &Snapshot,
        conditions: Conditions,
    ) -> Result<Option<ViewError>, DocdbError> {
        let mut known = self.0.lock();
        let Some(failure) = &*known else {
            return Ok(None);
        };
        let document = documents.document(&failure.id)?;
        let is_same = document.is_some_and(|document| document.seq() == failure.seq);
        if is_same && failure.conditions == conditions && failure.when.elapsed() < RETRY_AFTER {
            return Ok(Some(ViewError::Function {
                id: failure.id.clone(),
                seq: failure.seq,
                source: Box::new(failure.reason.clone()),
            }));
        }
        *known = None;
        Ok(None)
    }
}
