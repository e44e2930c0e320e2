//! Counters of what CouchDB's own statistics count, for the tools that watch it.

use crate::runtime::metrics::Occupancy;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Counts of what happens to databases.
#[derive(Debug, Default)]
pub(crate) struct CouchCounters {
    /// Documents that were asked for by their ids.
    pub(crate) reads: Counter,
    /// Edits that were stored.
    pub(crate) writes: Counter,
    /// Requests to `_bulk_docs`.
    pub(crate) bulk_requests: Counter,
    /// Queries of views.
    pub(crate) view_reads: Counter,
    /// Requests to `_purge`.
    pub(crate) purges: Counter,
    /// Feeds that wait for changes.
    waiting_feeds: Gauge,
}

impl CouchCounters {
    pub(crate) fn register(&self, registry: &mut Registry) {
        for (name, help, counter) in [
            (
                "document_reads",
                "Documents that were asked for by their ids",
                &self.reads,
            ),
            ("document_writes", "Edits that were stored", &self.writes),
            (
                "bulk_requests",
                "Requests to _bulk_docs",
                &self.bulk_requests,
            ),
            ("view_reads", "Queries of views", &self.view_reads),
            ("purge_requests", "Requests to _purge", &self.purges),
        ] {
            registry.register(name, help, counter.clone());
        }
        let feeds = "Feeds that wait for changes";
        registry.register("waiting_feeds", feeds, self.waiting_feeds.clone());
    }

    /// Counts a feed until the guard is dropped.
    pub(crate) fn count_feed(&self) -> Occupancy {
        Occupancy::of(&self.waiting_feeds)
    }

    /// Feeds that wait now.
    pub(crate) fn waiting_feeds(&self) -> u64 {
        u64::try_from(self.waiting_feeds.get()).unwrap_or(0)
    }
}
