//! The choice of one of several servers to serve the logs of a store.
//!
//! ```text
//! cluster/leader/TERM               id and address of the leader of this term
//! cluster/heartbeat/TERM/NUMBER     the leader is alive; the last of them are kept
//! cluster/resigned/TERM             the leader has ended
//! ```
//!
//! A standby that sees no new heartbeat for the take-over time, by its own monotonic clock, creates the object of the next term;
//! one of several succeeds. A leader that finds a later term stops. This only says which server should own logs: a leader that was
//! paused may still believe that it is one, and fencing alone decides which records count.

use crate::clock::Clock;
use crate::error::{SharedError, StoreError};
use crate::node::Node;
use crate::store::{ObjectStore, Settled, create_if_absent};
use std::sync::Arc;
use std::time::Duration;

const LEADERS: &str = "cluster/leader/";
const HEARTBEATS: &str = "cluster/heartbeat/";
const RESIGNED: &str = "cluster/resigned/";
/// Digits of terms and numbers in keys.
const DIGITS: usize = 20;
/// Heartbeats in a take-over time.
const BEATS: u32 = 5;
/// Heartbeats that are kept: a standby lists them while the leader removes old ones.
const KEPT_BEATS: u64 = 3;

/// Result of one look at the store.
#[derive(Debug)]
pub enum Role {
    /// This server leads from now on.
    Leader(Leadership),
    /// Another one does; it may have ended without a word.
    Standby(Node),
}

/// A server that waits for its turn.
#[derive(Debug)]
pub struct Standby {
    store: Arc<dyn ObjectStore>,
    clock: Arc<dyn Clock>,
    node: Node,
    takeover: Duration,
    seen: Option<Heartbeat>,
}

/// The newest heartbeat that a standby has seen.
#[derive(Clone, Copy, Debug)]
struct Heartbeat {
    term: u64,
    number: u64,
    /// When it was seen first, by the monotonic clock.
    since: Duration,
}

impl Standby {
    /// A server that would lead, once the leader was silent for the take-over time.
    pub fn new(
        store: Arc<dyn ObjectStore>,
        clock: Arc<dyn Clock>,
        node: Node,
        takeover: Duration,
    ) -> Standby {
        Standby {
            store,
            clock,
            node,
            takeover,
            seen: None,
        }
    }

    /// Time between two looks, and between two heartbeats.
    pub fn interval(&self) -> Duration {
        self.takeover / BEATS
    }

    /// Looks at the store once.
    ///
    /// # Errors
    /// Errors of the store; the next look may succeed.
    pub fn look(&mut self) -> Result<Role, SharedError> {
        let Some((term, leader)) = newest_leader(self.store.as_ref())? else {
            return self.try_to_lead(1);
        };
        // The process that led under this id has ended, or this one would not run.
        let is_vacant = leader.id == self.node.id
            || self.store.object_len(&key(RESIGNED, term))?.is_some()
            || self.is_silent(term)?;
        match is_vacant {
            true => self.try_to_lead(term.saturating_add(1)),
            false => Ok(Role::Standby(leader)),
        }
    }

    /// True if no heartbeat has come for the take-over time.
    fn is_silent(&mut self, term: u64) -> Result<bool, SharedError> {
        let beats = heartbeats_of(term);
        let found = self.store.list(&beats)?;
        let numbers = found.iter().filter_map(|it| number_of(&beats, &it.key));
        let number = numbers.max().unwrap_or(0);
        let now = self.clock.monotonic();
        match self.seen {
            Some(seen) if (seen.term, seen.number) == (term, number) => {
                Ok(now.saturating_sub(seen.since) >= self.takeover)
            }
            _ => {
                let since = now;
                self.seen = Some(Heartbeat {
                    term,
                    number,
                    since,
                });
                Ok(false)
            }
        }
    }

    fn try_to_lead(&self, term: u64) -> Result<Role, SharedError> {
        let (key, bytes) = (key(LEADERS, term), self.node.encode()?);
        let made = create_if_absent(self.store.as_ref(), self.clock.as_ref(), &key, &bytes)?;
        match made {
            Settled::Theirs(bytes) => Ok(Role::Standby(Node::decode(&key, &bytes)?)),
            Settled::Ours => Ok(Role::Leader(Leadership {
                store: Arc::clone(&self.store),
                term,
                beats: 0,
                interval: self.interval(),
            })),
        }
    }
}

/// The newest leader of a store and its term; it may have ended.
///
/// # Errors
/// Damage, and errors of the store.
pub fn newest_leader(store: &dyn ObjectStore) -> Result<Option<(u64, Node)>, SharedError> {
    let found = store.list(LEADERS)?;
    let Some(newest) = found.last() else {
        return Ok(None);
    };
    let Some(term) = number_of(LEADERS, &newest.key) else {
        return Err(SharedError::damaged(&newest.key, "its name is no term"));
    };
    let Some(bytes) = store.read(&newest.key)? else {
        let (key, wanted_by) = (newest.key.clone(), LEADERS.to_owned());
        return Err(SharedError::Missing { key, wanted_by });
    };
    Ok(Some((term, Node::decode(&newest.key, &bytes)?)))
}

/// A term of this server.
#[derive(Debug)]
pub struct Leadership {
    store: Arc<dyn ObjectStore>,
    term: u64,
    beats: u64,
    interval: Duration,
}

impl Leadership {
    /// Number of the term.
    pub fn term(&self) -> u64 {
        self.term
    }

    /// Time between two heartbeats.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Shows that this server is alive. Returns false if another one leads now.
    ///
    /// # Errors
    /// Errors of the store; the next heartbeat may succeed.
    pub fn beat(&mut self) -> Result<bool, StoreError> {
        let next = key(LEADERS, self.term.saturating_add(1));
        if self.store.object_len(&next)?.is_some() {
            return Ok(false);
        }
        self.beats += 1;
        let beats = heartbeats_of(self.term);
        // Whatever it answers, the next one has another name.
        self.store.create(&key(&beats, self.beats), b"")?;
        if let Some(old) = self.beats.checked_sub(KEPT_BEATS).filter(|old| *old > 0) {
            self.store.remove(&key(&beats, old))?;
        }
        Ok(true)
    }

    /// Lets a standby take over at once. To be called when this server has given up all logs.
    ///
    /// # Errors
    /// Errors of the store; others wait for the take-over time then.
    pub fn resign(self) -> Result<(), StoreError> {
        self.store.create(&key(RESIGNED, self.term), b"")?;
        for object in self.store.list(&heartbeats_of(self.term))? {
            self.store.remove(&object.key)?;
        }
        Ok(())
    }
}

fn heartbeats_of(term: u64) -> String {
    format!("{}/", key(HEARTBEATS, term))
}

fn key(directory: &str, number: u64) -> String {
    format!("{directory}{number:0DIGITS$}")
}

fn number_of(directory: &str, key: &str) -> Option<u64> {
    let digits = key.strip_prefix(directory)?;
    let is_number = digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;
    use crate::store::DirectoryStore;

    const TAKEOVER: Duration = Duration::from_secs(5);

    struct Scene {
        _directory: tempfile::TempDir,
        store: Arc<dyn ObjectStore>,
        clock: Arc<ManualClock>,
    }

    impl Scene {
        fn new() -> Scene {
            let directory = tempfile::tempdir().unwrap();
            Scene {
                store: Arc::new(DirectoryStore::new(directory.path()).unwrap()),
                _directory: directory,
                clock: Arc::default(),
            }
        }

        fn server(&self, id: &str) -> Standby {
            let (id, address) = (id.to_owned(), format!("{id}:1"));
            let clock = Arc::clone(&self.clock) as Arc<dyn Clock>;
            Standby::new(
                Arc::clone(&self.store),
                clock,
                Node { id, address },
                TAKEOVER,
            )
        }
    }

    fn leads(role: Role) -> Leadership {
        match role {
            Role::Leader(leadership) => leadership,
            Role::Standby(leader) => panic!("{leader:?} leads"),
        }
    }

    fn leader_of(role: Role) -> String {
        match role {
            Role::Leader(_) => panic!("it leads itself"),
            Role::Standby(leader) => leader.address,
        }
    }

    #[test]
    fn a_silent_leader_is_followed_by_one_standby_and_stops() {
        let scene = Scene::new();
        let [mut a, mut b, mut c] = ["a", "b", "c"].map(|id| scene.server(id));
        let mut first = leads(a.look().unwrap());
        assert_eq!(first.term(), 1);
        // It may take its time before the first heartbeat, and is never thought dead while they come.
        for _ in 0..20 {
            assert_eq!(leader_of(b.look().unwrap()), "a:1");
            assert_eq!(leader_of(c.look().unwrap()), "a:1");
            scene.clock.sleep(TAKEOVER * 9 / 10);
            assert!(first.beat().unwrap());
        }
        assert!(
            scene.store.list(HEARTBEATS).unwrap().len() <= 3,
            "old ones are removed"
        );
        assert_eq!(leader_of(b.look().unwrap()), "a:1");
        assert_eq!(leader_of(c.look().unwrap()), "a:1");
        scene.clock.sleep(TAKEOVER);
        let mut second = leads(b.look().unwrap());
        assert_eq!(second.term(), 2);
        // The other standby begins to wait anew, and the leader before notices.
        assert_eq!(leader_of(c.look().unwrap()), "b:1");
        assert!(!first.beat().unwrap() && second.beat().unwrap());
        first.resign().unwrap();
        assert_eq!(
            leader_of(c.look().unwrap()),
            "b:1",
            "only the newest term counts"
        );
    }

    #[test]
    fn a_leader_that_resigns_or_is_started_again_is_not_waited_for() {
        let scene = Scene::new();
        let [mut a, mut b] = ["a", "b"].map(|id| scene.server(id));
        let mut first = leads(a.look().unwrap());
        assert!(first.beat().unwrap());
        assert_eq!(leader_of(b.look().unwrap()), "a:1");
        first.resign().unwrap();
        leads(b.look().unwrap());
        assert_eq!(leader_of(a.look().unwrap()), "b:1");
        assert_eq!(leads(scene.server("b").look().unwrap()).term(), 3);
    }

    #[test]
    fn hostile_objects_name_no_server() {
        let scene = Scene::new();
        for (term, bytes) in [&b"id = x\n"[..], b"", b"id = x\naddress = a b\n", b"\xff"]
            .into_iter()
            .enumerate()
        {
            let key = key(LEADERS, term as u64 + 1);
            scene.store.create(&key, bytes).unwrap();
            assert!(scene.server("a").look().is_err(), "{bytes:?}");
        }
        scene.store.create("cluster/leader/x", b"").unwrap();
        assert!(scene.server("a").look().is_err());
    }
}
