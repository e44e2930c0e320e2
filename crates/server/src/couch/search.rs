//! Paths of text search, answered as by a CouchDB whose search services are switched off.

use crate::Failure;
use crate::http::FailureKind;

/// A service of text search that a CouchDB may have beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// `_search` and its relatives.
    Clouseau,
    /// `_nouveau` and its relatives.
    Nouveau,
}

/// Answers a request for a service, whatever it asks.
pub fn refused(service: Service) -> Failure {
    match service {
        Service::Clouseau => Failure::new(
            FailureKind::Unavailable,
            "service unavailable",
            "Search is not available",
        ),
        Service::Nouveau => Failure::not_found("missing"),
    }
}
