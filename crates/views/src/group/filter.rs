//! Groups that are one filter of `_changes`: their rows are the changes that pass, by sequence.

use super::{Map, Signature, ViewGroup, ViewLocation, sign};
use crate::design::{JAVASCRIPT, QUERY};
use crate::selector::Selector;
use md5::{Digest, Md5};
use std::sync::Arc;
use varve_json::collate::Order;

/// Begins the hashed text of a filter of changes.
const FILTER: &[u8] = b"varve index of changes 1";

/// Kind of the rows of an index; each kind has files of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKind {
    /// Rows of views.
    Views,
    /// Changes that pass a filter.
    Changes,
}

/// Condition that lets a change into an index of changes.
#[derive(Clone, Debug)]
pub(crate) enum ChangesFilter {
    /// A leaf of the document matches.
    Selector(Arc<Selector>),
    /// The group's one map function emits something for a leaf.
    Emission,
}

impl ViewGroup {
    /// The changes of documents that match a selector. Selectors that are written out alike have one signature.
    pub fn of_selector(selector: Arc<Selector>) -> Self {
        let canonical = varve_json::to_string(&selector.to_json());
        ViewGroup::of_filter(QUERY, canonical, None, ChangesFilter::Selector(selector))
    }

    /// The changes of documents for which a map function emits something. `library` is the JSON text of the object in
    /// which it finds modules.
    pub fn of_map_filter(source: &str, library: Option<String>) -> Self {
        let filter = ChangesFilter::Emission;
        ViewGroup::of_filter(JAVASCRIPT, source.to_owned(), library, filter)
    }

    fn of_filter(
        language: &str,
        source: String,
        library: Option<String>,
        filter: ChangesFilter,
    ) -> Self {
        let maps = vec![Map {
            source,
            order: Order::default(),
            reductions: Vec::new(),
        }];
        let location = ViewLocation {
            map: 0,
            reduction: None,
        };
        let views = vec![(String::new(), location)];
        let mut hash = Md5::new();
        hash.update(FILTER);
        hash.update(sign(language, None, &maps, &views, library.as_deref()).0);
        ViewGroup {
            signature: Signature(hash.finalize().into()),
            include_design: true,
            local_seq: false,
            is_query: language == QUERY,
            wants_partitions: None,
            is_partitioned: false,
            has_access: false,
            maps,
            views,
            library,
            filter: Some(filter),
        }
    }

    /// The filter, where the rows are changes.
    pub(crate) fn filter(&self) -> Option<&ChangesFilter> {
        self.filter.as_ref()
    }

    /// Kind of the group's index.
    pub fn kind(&self) -> IndexKind {
        match self.filter {
            Some(_) => IndexKind::Changes,
            None => IndexKind::Views,
        }
    }
}
