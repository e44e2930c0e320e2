//! The index of a feed's filter: found, read and asked for.

use std::sync::Arc;

use varve_docdb::Snapshot;
use varve_views::{IndexSnapshot, ViewGroup, ViewIndex};

use crate::couch::call::Call;
use crate::couch::changes::filter::Filter;
use crate::couch::database::registry::OpenDatabase;
use crate::couch::views::indexes::{Refresh, discard_if_damaged};
use crate::runtime::repeats::fault_id;
use crate::{CouchContext, Failure};

/// A filter gets no index if more than one of so many changes pass: rows of most changes cost what they save.
const SELECTIVE: u64 = 10;
/// A filter that was asked about so many changes behind its index has the index brought up to date, or about fewer if
/// fewer are worth a new one.
const WORTH_AN_UPDATE: u64 = 1_000;

/// The index of a filter whose verdict depends on the document alone.
pub struct FilterIndex {
    app: Arc<CouchContext>,
    database: Arc<OpenDatabase>,
    group: Arc<ViewGroup>,
    index: Option<Arc<ViewIndex>>,
    /// The index as it was before the snapshot that is read was taken.
    index_snapshot: Option<IndexSnapshot>,
    /// Changes that the filter was asked about, and those of them that passed.
    asked: u64,
    passed: u64,
    is_requested: bool,
}

impl FilterIndex {
    /// The index of the filter of a feed, if such a filter can have one. A reader who does not see all documents has
    /// none: an index is about all of them.
    pub fn of(call: &Call, filter: &Filter) -> Option<FilterIndex> {
        let is_off = call.app.settings().filter_indexes == 0;
        if is_off || call.snapshot().is_restricted() {
            return None;
        }
        Some(FilterIndex {
            app: Arc::clone(&call.app),
            database: Arc::clone(&call.database),
            group: Arc::new(filter.group()?),
            index: None,
            index_snapshot: None,
            asked: 0,
            passed: 0,
            is_requested: false,
        })
    }

    /// Reads how far the index is. To be called before a snapshot is taken: in a later one, each document that the index
    /// does not know at its last update was updated behind the index.
    pub fn look_up(&mut self) {
        self.index_snapshot = None;
        // Each time: that is what counts as a use, and another feed may have taken its place.
        let indexes = &self.database.filter_indexes;
        let found = indexes.find(&self.app, &self.database, &self.group);
        self.index = self.or_log(found.map_err(Failure::from)).flatten();
        let Some(index) = &self.index else {
            return;
        };
        let found = index.current(&self.database.documents.snapshot());
        self.index_snapshot = self.or_log(found.map_err(Failure::from));
    }

    /// The index, if it is of use for the changes of a snapshot behind `since`.
    pub fn snapshot_covering(&self, snapshot: &Snapshot, since: u64) -> Option<&IndexSnapshot> {
        let covers = |found: &&IndexSnapshot| {
            found.update_seq() > since && found.update_seq() <= snapshot.update_seq()
        };
        self.index_snapshot.as_ref().filter(covers)
    }

    /// Counts a change that the filter was asked about.
    pub fn count(&mut self, passes: bool) {
        self.asked += 1;
        self.passed += u64::from(passes);
    }

    /// Has the index built or brought up to date, if the changes that were counted are worth it.
    pub fn request_if_worth(&mut self) {
        let is_known = self.index.is_some();
        let worth_an_index = self.app.settings().filter_index_after;
        let is_worth = match is_known {
            true => self.asked >= WORTH_AN_UPDATE.min(worth_an_index),
            false => {
                let is_selective = self.passed.saturating_mul(SELECTIVE) <= self.asked;
                self.asked >= worth_an_index && is_selective
            }
        };
        if !is_worth || self.is_requested {
            return;
        }
        self.is_requested = true;
        let indexes = &self.database.filter_indexes;
        let made = indexes.find_or_create(&self.app, &self.database, &self.group);
        if let Some(index) = self.or_log(made.map_err(Failure::from)).flatten() {
            let refresh = Refresh::of_filter(&self.app, &self.database);
            refresh.in_background(&index, &self.database.documents.snapshot());
            if is_known {
                // The next thousand changes will be worth another update.
                (self.asked, self.is_requested) = (0, false);
            }
            self.index = Some(index);
        }
    }

    /// Has an index built anew that could not be read. The feed goes on without it.
    pub fn discard(&mut self, failure: &Failure) {
        if let (Some(index), Some(snapshot)) = (&self.index, self.index_snapshot.take()) {
            self.app
                .log()
                .scope(|| discard_if_damaged(index, &snapshot, failure));
        }
    }

    /// A feed does without an index that cannot be used.
    fn or_log<T>(&self, outcome: Result<T, Failure>) -> Option<T> {
        let failure = match outcome {
            Ok(done) => return Some(done),
            Err(failure) => failure,
        };
        if !self.database.documents.is_deleted() && !self.app.server().is_stopping() {
            let database = &self.database.name;
            self.app.log().scope(|| {
                let fault = fault_id(&failure.reason);
                tracing::error!(
                    database,
                    fault,
                    "the index of a filter of {database}: {failure}"
                );
            });
        }
        None
    }
}
