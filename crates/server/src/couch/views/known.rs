//! Indexes as they are now, for pages that would rather show a little less than wait.

use super::indexes::{Refresh, index_of};
use crate::couch::database::registry::OpenDatabase;
use crate::{CouchContext, Failure};
use std::sync::Arc;
use varve_docdb::Snapshot;
use varve_json::Value;
use varve_views::{GroupStep, IndexSnapshot, QueryOptions};

/// Rows that are reduced before a group is given.
const TURN: u64 = 4096;

/// An index at whatever state of its database it covers.
pub(crate) struct KnownIndex {
    moment: IndexSnapshot,
    documents: Snapshot,
}

impl KnownIndex {
    /// The index of a design document, which a background job brings up to date; `None` if there is no such document.
    ///
    /// # Errors
    /// As [`index_of`].
    pub(crate) fn open(
        app: &Arc<CouchContext>,
        database: &Arc<OpenDatabase>,
        design: &str,
    ) -> Result<Option<KnownIndex>, Failure> {
        let documents = database.documents.snapshot();
        let found = documents.document(design)?;
        let Some(document) = found.filter(|document| !document.is_deleted()) else {
            return Ok(None);
        };
        let index = index_of(app, database, &documents, &document)?;
        Refresh::of(app, database, design).in_background(&index, &documents);
        Ok(Some(KnownIndex {
            moment: index.current(&documents)?,
            documents,
        }))
    }

    /// The number of documents that have changed since.
    ///
    /// # Errors
    /// Damage.
    pub(crate) fn pending(&self) -> Result<u64, Failure> {
        Ok(self.documents.count_changes(self.moment.update_seq())?)
    }

    /// The number of the last change that the index may cover.
    pub(crate) fn update_seq(&self) -> u64 {
        self.documents.update_seq()
    }

    /// Shows keys and values of a view's groups by so many items of keys, one after the other.
    ///
    /// # Errors
    /// Damage, or no such view.
    pub(crate) fn each_group(
        &self,
        view: &str,
        level: u64,
        mut show: impl FnMut(&Value, &Value),
    ) -> Result<(), Failure> {
        let level = level.to_string();
        let options = QueryOptions::from_query([("group_level", level.as_str())])?;
        let answer = self.moment.query(view, &options)?;
        let Some(mut groups) = answer.into_groups() else {
            return Ok(());
        };
        loop {
            match groups.next_within(TURN)? {
                GroupStep::Group(row) => {
                    show(
                        &varve_json::parse(&row.key)?,
                        &varve_json::parse(&row.value)?,
                    );
                }
                GroupStep::Paused => {}
                GroupStep::End => return Ok(()),
            }
        }
    }
}
