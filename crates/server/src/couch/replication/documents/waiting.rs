//! Documents whose replications have no identity yet: it needs the text of a filter function, which the source has.

use super::super::error::ReplicationError;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use tokio::time::Instant;
use varve_replicate::replicator::backoff;

/// Database and id of a document.
pub(in crate::couch::replication) type DocumentName = (String, String);

/// The documents of one server that wait.
#[derive(Debug, Default)]
pub(in crate::couch::replication) struct WaitingDocuments(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    /// Attempts that are under way, by the number of the newest one.
    attempts: BTreeMap<DocumentName, u64>,
    last_attempt: u64,
    failed: BTreeMap<DocumentName, FailedAttempts>,
}

/// Attempts that failed in a row.
#[derive(Debug)]
struct FailedAttempts {
    reason: String,
    count: u32,
    retry_at: Instant,
}

impl Waiting {
    fn failed_and_idle(&self) -> impl Iterator<Item = (&DocumentName, &FailedAttempts)> {
        let is_idle = |(name, _): &(&DocumentName, _)| !self.attempts.contains_key(*name);
        self.failed.iter().filter(is_idle)
    }
}

impl WaitingDocuments {
    /// Begins an attempt; one of the same document that is under way counts no more.
    pub fn begin(&self, name: &DocumentName) -> u64 {
        let mut waiting = self.0.lock();
        waiting.last_attempt += 1;
        let number = waiting.last_attempt;
        waiting.attempts.insert(name.clone(), number);
        number
    }

    /// Ends an attempt; returns whether it still counts.
    pub fn end(&self, name: &DocumentName, attempt: u64) -> bool {
        let mut waiting = self.0.lock();
        let counts = waiting.attempts.get(name) == Some(&attempt);
        if counts {
            waiting.attempts.remove(name);
        }
        counts
    }

    /// Has the document be looked at again, after a time that doubles.
    pub fn fail(&self, name: DocumentName, error: &ReplicationError) {
        let mut waiting = self.0.lock();
        let count = waiting.failed.get(&name).map_or(0, |known| known.count) + 1;
        let failed = FailedAttempts {
            reason: error.told(),
            count,
            retry_at: Instant::now() + backoff::after_crashes(count),
        };
        waiting.failed.insert(name, failed);
    }

    /// Forgets documents, and what is under way for them.
    pub fn forget(&self, is_it: impl Fn(&DocumentName) -> bool) {
        let mut waiting = self.0.lock();
        waiting.attempts.retain(|name, _| !is_it(name));
        waiting.failed.retain(|name, _| !is_it(name));
    }

    /// The documents whose time has come.
    pub fn due(&self, now: Instant) -> Vec<DocumentName> {
        let waiting = self.0.lock();
        let due = waiting.failed_and_idle();
        let due = due.filter(|(_, failed)| failed.retry_at <= now);
        due.map(|(name, _)| name.clone()).collect()
    }

    /// When the next one's time comes.
    pub fn next(&self) -> Option<Instant> {
        let waiting = self.0.lock();
        waiting
            .failed_and_idle()
            .map(|(_, failed)| failed.retry_at)
            .min()
    }

    /// Reason of the last failure.
    pub fn reason(&self, name: &DocumentName) -> Option<String> {
        let waiting = self.0.lock();
        waiting.failed.get(name).map(|failed| failed.reason.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(id: &str) -> DocumentName {
        ("_replicator".to_owned(), id.to_owned())
    }

    #[test]
    fn the_newest_attempt_counts_until_the_document_is_forgotten() {
        let waiting = WaitingDocuments::default();
        let (first, second) = (waiting.begin(&name("a")), waiting.begin(&name("a")));
        assert!(!waiting.end(&name("a"), first));
        assert!(waiting.end(&name("a"), second));
        assert!(!waiting.end(&name("a"), second));
        let third = waiting.begin(&name("a"));
        waiting.forget(|known| *known == name("a"));
        assert!(!waiting.end(&name("a"), third));
    }

    #[test]
    fn a_document_that_failed_is_due_again_but_not_during_an_attempt() {
        let waiting = WaitingDocuments::default();
        let error = ReplicationError::Filter("no".to_owned());
        waiting.fail(name("a"), &error);
        let first = waiting.next().unwrap();
        assert!(waiting.due(Instant::now()).is_empty());
        assert_eq!(waiting.due(first), [name("a")]);
        let attempt = waiting.begin(&name("a"));
        assert!(waiting.due(first).is_empty() && waiting.next().is_none());
        assert!(waiting.end(&name("a"), attempt));
        waiting.fail(name("a"), &error);
        assert!(waiting.next().unwrap() > first);
        assert_eq!(
            waiting.reason(&name("a")).as_deref(),
            Some("filter_fetch_error: no")
        );
        waiting.forget(|_| true);
        assert_eq!((waiting.next(), waiting.reason(&name("a"))), (None, None));
    }
}
