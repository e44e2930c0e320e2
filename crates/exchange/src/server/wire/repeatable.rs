//! Answers that several clients may ask for at the same time.

use super::request::WireRequest;
use super::{WireSettings, WriteBody};
use std::fmt;
use std::sync::Arc;
use varve_repo::RepoView;

/// An answer that can be written more than once, and its inputs: two that are equal have
/// the same bytes.
#[derive(Clone)]
pub struct RepeatableResponse {
    view: Arc<RepoView>,
    request: Box<WireRequest>,
    settings: Box<WireSettings>,
    write: Arc<WriteBody>,
}

impl RepeatableResponse {
    pub(super) fn new(
        view: Arc<RepoView>,
        request: &WireRequest,
        settings: &WireSettings,
        write: Arc<WriteBody>,
    ) -> RepeatableResponse {
        RepeatableResponse {
            view,
            request: Box::new(request.clone()),
            settings: Box::new(WireSettings {
                // Clients may call this server by different names; that is in no bundle.
                clone_bundles_at: None,
                ..settings.clone()
            }),
            write,
        }
    }

    /// Writes the answer.
    pub fn body(&self) -> &Arc<WriteBody> {
        &self.write
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
