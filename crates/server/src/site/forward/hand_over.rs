//! Waiting while a database goes from one server to another.

use crate::runtime::{ClusterState, ClusterView};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

/// Time after which a request is refused that no server could answer. Longer than a server leaves a database to another process that
/// has taken it over.
const REFUSED_AFTER: Duration = Duration::from_secs(6);
/// The first wait, and the longest one: each is twice as long as the one before.
const WAITS: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(500)];
/// Shortest time within which servers see the same, however short the take-over time is.
const LEAST_SETTLING: Duration = Duration::from_secs(1);

/// Time within which all servers have seen that one has joined or died: two looks at the store, of which there are five in a
/// take-over time.
pub(super) fn settling(takeover: Duration) -> Duration {
    (takeover * 2 / 5).max(LEAST_SETTLING)
}

/// The waits of one request that a server could not answer, as it does not own the database.
#[derive(Debug)]
pub(in crate::site) struct HandOver {
    view: watch::Receiver<ClusterState>,
    until: Instant,
    wait: Duration,
}

impl HandOver {
    pub(super) fn begin(view: &ClusterView) -> HandOver {
        HandOver {
            view: view.watch(),
            until: Instant::now() + REFUSED_AFTER,
            wait: WAITS[0],
        }
    }

    /// Returns true when it is time for another attempt, and false if the request is to be refused: there is no other server, or
    /// time is up.
    pub(in crate::site) async fn wait(&mut self) -> bool {
        let left = self.until.saturating_duration_since(Instant::now());
        if self.view.borrow().live().len() < 2 || left.is_zero() {
            return false;
        }
        // A change since the last attempt ends the wait at once.
        let _ = timeout(self.wait.min(left), self.view.changed()).await;
        self.wait = (self.wait * 2).min(WAITS[1]);
        true
    }
}
