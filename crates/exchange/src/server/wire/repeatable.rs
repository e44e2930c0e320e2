//! Answers that several clients may ask for at the same time.

use super::WireSettings;
use super::request::WireRequest;
use crate::{ChunkSink, ExchangeError};
use std::fmt;
use std::sync::Arc;
use varve_repo::RepoView;

/// What writes an answer, each time the same bytes.
type Write = dyn Fn(&mut dyn ChunkSink) -> Result<(), ExchangeError> + Send + Sync;

/// An answer that can be written more than once, and what it follows from: two that are equal have
/// the same bytes.
#[derive(Clone)]
pub struct RepeatableResponse {
    view: Arc<RepoView>,
    request: WireRequest,
    settings: WireSettings,
    write: Arc<Write>,
}

impl RepeatableResponse {
    pub(super) fn new(
        view: Arc<RepoView>,
        request: &WireRequest,
        settings: &WireSettings,
        write: Arc<Write>,
    ) -> RepeatableResponse {
        RepeatableResponse {
            view,
            request: request.clone(),
            settings: WireSettings {
                // Clients may call this server by different names; that is in no bundle.
                clone_bundles_at: None,
                ..settings.clone()
            },
            write,
        }
    }

    /// Writes the answer.
    ///
    /// # Errors
    /// What is damaged; [`ExchangeError::Closed`] when nobody takes it any more.
    pub fn write(&self, sink: &mut dyn ChunkSink) -> Result<(), ExchangeError> {
        (self.write)(sink)
    }
}

impl PartialEq for RepeatableResponse {
    fn eq(&self, other: &Self) -> bool {
        // A view is one state of one repository, and there is one of each at a time.
        Arc::ptr_eq(&self.view, &other.view)
            && self.request == other.request
            && self.settings == other.settings
    }
}

impl fmt::Debug for RepeatableResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RepeatableResponse")
            .field("request", &self.request)
            .finish_non_exhaustive()
    }
}
