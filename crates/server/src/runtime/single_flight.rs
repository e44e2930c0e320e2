//! Single flight: one worker per key does slow work, however many clients wait for it.
//!
//! Every client names a target, such as a sequence that an index has to reach. Clients whose targets no
//! build has begun for share the next build, which goes for the highest of them. A waiting client is a
//! future; a client that leaves is forgotten, and the build goes on without it.

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

/// The state that a build has to reach.
pub(crate) trait Target {
    /// A build that reaches a position has reached all lower ones.
    type Position: PartialOrd;

    fn position(&self) -> Self::Position;
}

/// Builds that run or are wanted, by key. `O` is the outcome of one build.
#[derive(Debug)]
pub(crate) struct SingleFlight<K, T, O>(Mutex<Vec<Flight<K, T, O>>>);

/// The builds of one key.
#[derive(Debug)]
struct Flight<K, T, O> {
    key: K,
    waiters: usize,
    /// The highest target that no build was begun for.
    wanted: Option<T>,
    /// Number of builds that were begun.
    begun: u64,
    ended: watch::Sender<Ended<O>>,
    has_worker: bool,
}

/// Number of builds that have ended, and the outcome of the last of them.
#[derive(Debug)]
struct Ended<O> {
    builds: u64,
    outcome: Option<O>,
}

impl<K, T, O> Default for SingleFlight<K, T, O> {
    fn default() -> Self {
        SingleFlight(Mutex::default())
    }
}

impl<K: Clone + PartialEq, T: Target, O: Clone> SingleFlight<K, T, O> {
    /// Number of clients that wait for a key.
    pub(crate) fn waiters(&self, key: &K) -> usize {
        let flights = self.0.lock();
        let found = flights.iter().find(|flight| flight.key == *key);
        found.map_or(0, |flight| flight.waiters)
    }

    /// Asks for a build that reaches the target, and waits for it. `start` starts a worker for the key if
    /// there is none, and returns whether it could; `None` if it could not.
    pub(crate) fn join(
        &self,
        key: &K,
        target: T,
        start: impl FnOnce() -> bool,
    ) -> Option<Waiter<'_, K, T, O>> {
        let mut flights = self.0.lock();
        let flight = flight_of(&mut flights, key);
        flight.waiters += 1;
        let waiter = Waiter {
            flights: self,
            key: key.clone(),
            build: flight.begun + 1,
            ended: flight.ended.subscribe(),
        };
        Self::want(flights, key, target, start).then_some(waiter)
    }

    /// Asks for a build that reaches the target, without waiting for it. Returns `false` if there is no worker
    /// and `start` could not start one.
    pub(crate) fn request(&self, key: &K, target: T, start: impl FnOnce() -> bool) -> bool {
        let mut flights = self.0.lock();
        flight_of(&mut flights, key);
        Self::want(flights, key, target, start)
    }

    fn want(
        mut flights: MutexGuard<'_, Vec<Flight<K, T, O>>>,
        key: &K,
        target: T,
        start: impl FnOnce() -> bool,
    ) -> bool {
        let flight = flight_of(&mut flights, key);
        let wanted = flight.wanted.as_ref();
        if wanted.is_none_or(|wanted| wanted.position() < target.position()) {
            flight.wanted = Some(target);
        }
        if std::mem::replace(&mut flight.has_worker, true) {
            return true;
        }
        // A worker that cannot be started abandons the key, which takes the lock.
        drop(flights);
        start()
    }

    /// The target of the next build; `None` if there is nothing to build, and the worker is to end.
    pub(crate) fn next(&self, key: &K) -> Option<T> {
        let mut flights = self.0.lock();
        let flight = flight_of(&mut flights, key);
        let wanted = flight.wanted.take();
        match wanted {
            Some(_) => flight.begun += 1,
            None => {
                flight.has_worker = false;
                forget_unused(&mut flights);
            }
        }
        wanted
    }

    /// Ends the build that was begun last, and wakes its waiters. Returns the outcome if there is no waiter.
    pub(crate) fn finish(&self, key: &K, outcome: O) -> Option<O> {
        let mut flights = self.0.lock();
        let flight = flight_of(&mut flights, key);
        flight.end_builds(outcome)
    }

    /// To be called when a worker ends before [`SingleFlight::next`] ended it: all waiters get the outcome.
    pub(crate) fn abandon(&self, key: &K, outcome: O) {
        let mut flights = self.0.lock();
        let flight = flight_of(&mut flights, key);
        flight.has_worker = false;
        flight.wanted = None;
        flight.begun += 1;
        flight.end_builds(outcome);
        forget_unused(&mut flights);
    }
}

impl<K, T, O> Flight<K, T, O> {
    fn end_builds(&mut self, outcome: O) -> Option<O> {
        let has_waiters = self.waiters > 0;
        let (kept, unseen) = match has_waiters {
            true => (Some(outcome), None),
            false => (None, Some(outcome)),
        };
        self.ended.send_replace(Ended {
            builds: self.begun,
            outcome: kept,
        });
        unseen
    }
}

/// The flight of a key, which begins if there is none.
fn flight_of<'f, K: Clone + PartialEq, T, O>(
    flights: &'f mut Vec<Flight<K, T, O>>,
    key: &K,
) -> &'f mut Flight<K, T, O> {
    let found = flights.iter().position(|flight| flight.key == *key);
    let index = found.unwrap_or_else(|| {
        flights.push(Flight {
            key: key.clone(),
            waiters: 0,
            wanted: None,
            begun: 0,
            ended: watch::Sender::new(Ended {
                builds: 0,
                outcome: None,
            }),
            has_worker: false,
        });
        flights.len() - 1
    });
    &mut flights[index]
}

fn forget_unused<K, T, O>(flights: &mut Vec<Flight<K, T, O>>) {
    flights.retain(|flight| flight.waiters > 0 || flight.has_worker);
}

/// A client that waits for a build; it counts as one until this is dropped.
#[derive(Debug)]
pub(crate) struct Waiter<'f, K: Clone + PartialEq, T, O> {
    flights: &'f SingleFlight<K, T, O>,
    key: K,
    /// Number of the first build that reaches the target.
    build: u64,
    ended: watch::Receiver<Ended<O>>,
}

impl<K: Clone + PartialEq, T, O: Clone> Waiter<'_, K, T, O> {
    /// The outcome of the build, or of a later one; `None` if there will be none.
    pub(crate) async fn outcome(mut self) -> Option<O> {
        let build = self.build;
        let has_ended = |ended: &Ended<O>| ended.builds >= build && ended.outcome.is_some();
        let ended = self.ended.wait_for(has_ended).await.ok()?;
        ended.outcome.clone()
    }
}

impl<K: Clone + PartialEq, T, O> Drop for Waiter<'_, K, T, O> {
    fn drop(&mut self) {
        let mut flights = self.flights.0.lock();
        flight_of(&mut flights, &self.key).waiters -= 1;
        forget_unused(&mut flights);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    impl Target for u64 {
        type Position = u64;

        fn position(&self) -> u64 {
            *self
        }
    }

    type Flights = SingleFlight<&'static str, u64, String>;

    /// Joins a key whose worker is the test itself.
    fn join(flights: &Flights, target: u64) -> Waiter<'_, &'static str, u64, String> {
        flights.join(&"key", target, || true).unwrap()
    }

    #[tokio::test]
    async fn many_waiters_share_one_build_for_the_highest_target() {
        let flights = Flights::default();
        let mut starts = 0;
        let waiters: Vec<_> = (0..2000)
            .map(|number| {
                let start = || {
                    starts += 1;
                    true
                };
                flights.join(&"key", number % 7, start).unwrap()
            })
            .collect();
        assert_eq!((starts, flights.waiters(&"key")), (1, 2000));
        assert_eq!(flights.next(&"key"), Some(6));
        assert_eq!(flights.finish(&"key", "built".to_owned()), None);
        for waiter in waiters {
            assert_eq!(waiter.outcome().await.as_deref(), Some("built"));
        }
        assert_eq!(flights.next(&"key"), None);
        assert!(flights.0.lock().is_empty());
    }

    #[tokio::test]
    async fn a_client_that_comes_during_a_build_waits_for_the_next_one() {
        let flights = Flights::default();
        let early = join(&flights, 1);
        assert_eq!(flights.next(&"key"), Some(1));
        let mut late = Box::pin(join(&flights, 1).outcome());
        flights.finish(&"key", "first".to_owned());
        assert_eq!(early.outcome().await.as_deref(), Some("first"));
        let pending = tokio::time::timeout(Duration::ZERO, &mut late).await;
        assert!(pending.is_err(), "its build has not begun");
        assert_eq!(flights.next(&"key"), Some(1));
        flights.finish(&"key", "second".to_owned());
        assert_eq!(late.await.as_deref(), Some("second"));
    }

    #[tokio::test]
    async fn a_waiter_that_is_dropped_no_longer_counts_and_the_build_goes_on() {
        let flights = Flights::default();
        drop(join(&flights, 5));
        assert_eq!(flights.waiters(&"key"), 0);
        assert_eq!(flights.next(&"key"), Some(5));
        let unseen = flights.finish(&"key", "built".to_owned());
        assert_eq!(unseen.as_deref(), Some("built"));
        assert_eq!(flights.next(&"key"), None);
        assert!(flights.0.lock().is_empty());
    }

    #[tokio::test]
    async fn a_waiter_that_is_out_of_time_leaves_the_build_to_others() {
        let flights = Flights::default();
        let patient = join(&flights, 1);
        let hasty = join(&flights, 1).outcome();
        assert_eq!(flights.next(&"key"), Some(1));
        let waited = tokio::time::timeout(Duration::from_millis(1), hasty).await;
        assert!(waited.is_err());
        assert_eq!(flights.waiters(&"key"), 1);
        flights.finish(&"key", "built".to_owned());
        assert_eq!(patient.outcome().await.as_deref(), Some("built"));
    }

    #[tokio::test]
    async fn an_abandoned_key_fails_the_waiters_of_both_builds_and_can_be_built_again() {
        let flights = Flights::default();
        let early = join(&flights, 1);
        assert_eq!(flights.next(&"key"), Some(1));
        let late = join(&flights, 2);
        flights.abandon(&"key", "failed".to_owned());
        assert_eq!(early.outcome().await.as_deref(), Some("failed"));
        assert_eq!(late.outcome().await.as_deref(), Some("failed"));
        assert!(flights.0.lock().is_empty());
        let mut is_started = false;
        let again = flights.join(&"key", 3, || {
            is_started = true;
            true
        });
        assert!(is_started && flights.next(&"key") == Some(3));
        flights.finish(&"key", "built".to_owned());
        assert_eq!(again.unwrap().outcome().await.as_deref(), Some("built"));
    }

    #[test]
    fn a_client_without_a_worker_does_not_wait() {
        let flights = Flights::default();
        let refuse = || {
            flights.abandon(&"key", "no worker".to_owned());
            false
        };
        assert!(flights.join(&"key", 1, refuse).is_none());
        assert!(!flights.request(&"key", 1, refuse));
        assert!(flights.0.lock().is_empty());
    }

    #[test]
    fn keys_do_not_wait_for_each_other() {
        let flights = Flights::default();
        assert!(flights.request(&"a", 1, || true));
        assert!(flights.request(&"b", 2, || true));
        assert_eq!(flights.next(&"b"), Some(2));
        assert_eq!(flights.next(&"a"), Some(1));
    }
}
