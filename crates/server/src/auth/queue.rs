//! Passwords that wait to be checked: a bounded queue, one check at a time, fair to addresses.
//!
//! A check takes a good part of a second of CPU, so clients that guess must neither keep cores busy nor make others
//! wait behind their guesses. Addresses take turns; each has a bounded number of different guesses in the queue, and
//! requests with the same login share one check.

use crate::Failure;
use crate::http::blocking;
use crate::runtime::scheduler::with_niceness;
use crate::runtime::{Pool, network_of};
use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::oneshot;

/// Other requests go before a check where processors are short of time, and it still gets a quarter of the share of a
/// thread beside it, so that logins go on.
const NICENESS: i32 = 6;

/// Tells one login from another, without its password.
pub(super) type LoginKey = [u8; 32];

pub(super) type Outcome = Result<bool, Failure>;
type Check = Box<dyn FnOnce() -> Outcome + Send>;

/// Checks of passwords.
#[derive(Clone)]
pub(super) struct CheckQueue {
    state: Arc<Mutex<QueueState>>,
    pool: Pool,
    /// Different logins that may wait, in all and for one address.
    most: usize,
    most_per_address: usize,
    checked: Arc<AtomicU64>,
}

#[derive(Default)]
struct QueueState {
    /// Addresses with waiting logins; the first one is next.
    turns: VecDeque<AddressQueue>,
    running: Option<(LoginKey, Vec<oneshot::Sender<Outcome>>)>,
    waiting: usize,
}

struct AddressQueue {
    network: Option<IpAddr>,
    logins: VecDeque<WaitingLogin>,
}

struct WaitingLogin {
    key: LoginKey,
    check: Check,
    /// Requests that come with this login.
    requests: Vec<oneshot::Sender<Outcome>>,
}

impl fmt::Debug for CheckQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CheckQueue")
    }
}

impl CheckQueue {
    /// Runs checks on a thread of the pool.
    pub(super) fn new(pool: Pool, limits: &varve_config::Limits) -> CheckQueue {
        CheckQueue {
            state: Arc::default(),
            pool,
            most: limits.logins,
            most_per_address: limits.logins_per_address,
            checked: Arc::default(),
        }
    }

    /// How many checks have run since the start.
    pub(super) fn checked(&self) -> u64 {
        self.checked.load(Ordering::Relaxed)
    }

    /// Runs `check` when its turn has come, unless one with the same key waits or runs already.
    ///
    /// # Errors
    /// 503 if too many logins wait; 500 if the check panics; that of the check.
    pub(super) async fn check(
        &self,
        client: Option<IpAddr>,
        key: LoginKey,
        check: impl FnOnce() -> Outcome + Send + 'static,
    ) -> Outcome {
        let (told, outcome) = oneshot::channel();
        let login = WaitingLogin {
            key,
            check: Box::new(check),
            requests: vec![told],
        };
        if self.add(client.map(network_of), login)? {
            let queue = self.clone();
            tokio::spawn(async move { queue.run().await });
        }
        let outcome = outcome.await;
        outcome.unwrap_or_else(|_| Err(Failure::internal("the login was not checked")))
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock()
    }

    /// Returns whether nothing runs yet.
    fn add(&self, network: Option<IpAddr>, login: WaitingLogin) -> Result<bool, Failure> {
        let mut state = self.lock();
        let Some(login) = state.join(login) else {
            return Ok(false);
        };
        let is_idle = state.running.is_none();
        let own = state.turns.iter().find(|queue| queue.network == network);
        let of_address = own.map_or(0, |queue| queue.logins.len());
        if of_address >= self.most_per_address {
            return Err(Failure::overloaded("too many logins of this address wait"));
        }
        if state.waiting >= self.most {
            return Err(Failure::overloaded("too many logins wait"));
        }
        let own = state
            .turns
            .iter_mut()
            .find(|queue| queue.network == network);
        match own {
            Some(queue) => queue.logins.push_back(login),
            None => state.turns.push_back(AddressQueue {
                network,
                logins: VecDeque::from([login]),
            }),
        }
        state.waiting += 1;
        if is_idle {
            // The runner takes its place before another one can be started.
            state.running = Some((LoginKey::default(), Vec::new()));
        }
        Ok(is_idle)
    }

    async fn run(&self) {
        while let Some(check) = self.next() {
            self.checked.fetch_add(1, Ordering::Relaxed);
            let check = move || {
                let done = with_niceness("login", NICENESS, check);
                done.unwrap_or_else(|| Err(Failure::internal("the login was not checked")))
            };
            let outcome = blocking(&self.pool, check).await;
            // Until the next one is taken no other runner may start.
            let none = Some((LoginKey::default(), Vec::new()));
            let done = std::mem::replace(&mut self.lock().running, none);
            let requests = done.map(|(_, requests)| requests).unwrap_or_default();
            for request in requests {
                // A client that has gone needs no outcome.
                let _ = request.send(outcome.clone());
            }
        }
    }

    /// Takes the next login, of which at least one client is still there.
    fn next(&self) -> Option<Check> {
        let mut state = self.lock();
        while let Some(login) = state.take() {
            if login.requests.iter().any(|request| !request.is_closed()) {
                state.running = Some((login.key, login.requests));
                return Some(login.check);
            }
        }
        state.running = None;
        None
    }
}

impl QueueState {
    /// Adds the requests of a login to those of the same one; gives it back if there is none.
    fn join(&mut self, login: WaitingLogin) -> Option<WaitingLogin> {
        if let Some((key, requests)) = &mut self.running
            && *key == login.key
        {
            requests.extend(login.requests);
            return None;
        }
        let mut waiting = self.turns.iter_mut().flat_map(|queue| &mut queue.logins);
        match waiting.find(|known| known.key == login.key) {
            Some(known) => {
                known.requests.extend(login.requests);
                None
            }
            None => Some(login),
        }
    }

    /// The next login of the address whose turn it is, which then goes to the end.
    fn take(&mut self) -> Option<WaitingLogin> {
        let mut queue = self.turns.pop_front()?;
        let login = queue.logins.pop_front()?;
        self.waiting -= 1;
        if !queue.logins.is_empty() {
            self.turns.push_back(queue);
        }
        Some(login)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn queue(most: usize, most_per_address: usize) -> CheckQueue {
        let limits = varve_config::Limits {
            logins: most,
            logins_per_address: most_per_address,
            ..varve_config::Limits::default()
        };
        CheckQueue::new(Pool::for_tests(2), &limits)
    }

    fn address(last: u8) -> Option<IpAddr> {
        Some(IpAddr::from([192, 0, 2, last]))
    }

    /// Adds a login that notes its number; a gate holds the first one.
    async fn waiting(
        queue: &CheckQueue,
        client: u8,
        number: u8,
        ran: &mpsc::Sender<u8>,
    ) -> tokio::task::JoinHandle<Outcome> {
        let (queue, ran) = (queue.clone(), ran.clone());
        let task = tokio::spawn(async move {
            let check = move || Ok(ran.send(number).is_ok());
            queue.check(address(client), [number; 32], check).await
        });
        tokio::task::yield_now().await;
        task
    }

    /// A check that runs until the sender is dropped.
    async fn hold(queue: &CheckQueue) -> (mpsc::Sender<()>, tokio::task::JoinHandle<Outcome>) {
        let (release, held) = mpsc::channel::<()>();
        let holder = queue.clone();
        let check = move || Ok(held.recv().is_err());
        let task = tokio::spawn(async move { holder.check(address(9), [9; 32], check).await });
        while queue
            .lock()
            .running
            .as_ref()
            .is_none_or(|(key, _)| *key != [9; 32])
        {
            tokio::task::yield_now().await;
        }
        (release, task)
    }

    #[tokio::test]
    async fn addresses_take_turns() {
        let queue = queue(10, 10);
        let (release, first) = hold(&queue).await;
        let (ran, order) = mpsc::channel();
        let mut tasks = vec![first];
        for (client, number) in [(1, 11), (1, 12), (1, 13), (2, 21), (2, 22), (3, 31)] {
            tasks.push(waiting(&queue, client, number, &ran).await);
        }
        drop(release);
        for task in tasks {
            assert_eq!(task.await.unwrap(), Ok(true));
        }
        drop(ran);
        assert_eq!(order.iter().collect::<Vec<_>>(), [11, 21, 31, 12, 22, 13]);
        assert_eq!(queue.lock().waiting, 0);
    }

    #[tokio::test]
    async fn what_is_too_much_is_refused_and_the_same_login_is_checked_once() {
        let queue = queue(3, 2);
        let (release, first) = hold(&queue).await;
        let (ran, order) = mpsc::channel();
        let mut tasks = vec![first];
        for (client, number) in [(1, 11), (1, 12), (1, 12), (1, 11), (2, 21), (2, 9)] {
            tasks.push(waiting(&queue, client, number, &ran).await);
        }
        for (client, number) in [(1, 13), (3, 31)] {
            let refused = waiting(&queue, client, number, &ran).await.await.unwrap();
            assert_eq!(refused.unwrap_err().status(), 503);
        }
        drop(release);
        for task in tasks {
            assert_eq!(task.await.unwrap(), Ok(true));
        }
        drop(ran);
        assert_eq!(order.iter().collect::<Vec<_>>(), [11, 21, 12]);
    }

    #[tokio::test]
    async fn logins_of_clients_that_left_are_not_checked() {
        let queue = queue(3, 3);
        let (release, first) = hold(&queue).await;
        let (ran, order) = mpsc::channel();
        let left = waiting(&queue, 1, 11, &ran).await;
        let stays = waiting(&queue, 1, 12, &ran).await;
        left.abort();
        assert!(left.await.is_err());
        drop((release, ran));
        assert_eq!(first.await.unwrap(), Ok(true));
        assert_eq!(stays.await.unwrap(), Ok(true));
        assert_eq!(order.iter().collect::<Vec<_>>(), [12]);
        assert!(queue.check(address(1), [1; 32], || Ok(false)).await.is_ok());
    }
}
