//! The live servers of a store.
//!
//! ```text
//! cluster/node/ID-PROCESS/NUMBER    lines that name the server; the last heartbeats of this process of it are kept
//! ```
//!
//! A process is alive as long as new heartbeats of it are seen within the take-over time, by the monotonic clock of the process
//! that looks. Like the choice of a leader this only says who should write: which records count is decided by the logs' epochs.

use crate::clock::Clock;
use crate::error::{SharedError, StoreError};
use crate::node::{Node, random_hex};
use crate::store::ObjectStore;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const NODES: &str = "cluster/node/";
/// Digits of numbers in keys.
const DIGITS: usize = 20;
/// Heartbeats in a take-over time.
const BEATS: u32 = 5;
/// Heartbeats that are kept: others list them while the process removes old ones.
const KEPT_BEATS: u64 = 3;
/// Heartbeats after which a process may own databases, so that one that starts and fails again moves none.
const JOIN_BEATS: u64 = 3;
/// Heartbeats of a process that was silent for so many take-over times are removed.
const FORGOTTEN_AFTER: u32 = 100;

/// A live server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The server.
    pub node: Node,
    /// True once it has been alive for long enough to own databases.
    pub has_joined: bool,
}

/// Shows that a server is alive, and sees which others are.
#[derive(Debug)]
pub struct Membership {
    store: Arc<dyn ObjectStore>,
    clock: Arc<dyn Clock>,
    node: Node,
    takeover: Duration,
    /// Directory of this process.
    own: String,
    beats: u64,
    /// By directory.
    seen: BTreeMap<String, SeenProcess>,
}

/// A process of a server, as far as it was seen.
#[derive(Clone, Debug)]
struct SeenProcess {
    node: Node,
    number: u64,
    /// When the number was seen first, by the monotonic clock.
    since: Duration,
}

impl Membership {
    /// A server that no other one has seen yet.
    ///
    /// # Errors
    /// [`SharedError::NoRandom`].
    pub fn new(
        store: Arc<dyn ObjectStore>,
        clock: Arc<dyn Clock>,
        node: Node,
        takeover: Duration,
    ) -> Result<Membership, SharedError> {
        let own = format!("{NODES}{}-{}/", node.id, random_hex()?);
        Ok(Membership {
            store,
            clock,
            node,
            takeover,
            own,
            beats: 0,
            seen: BTreeMap::new(),
        })
    }

    /// Time between two heartbeats, and between two looks.
    pub fn interval(&self) -> Duration {
        self.takeover / BEATS
    }

    /// Shows that this process is alive.
    ///
    /// # Errors
    /// Errors of the store; the next heartbeat may succeed.
    pub fn beat(&mut self) -> Result<(), SharedError> {
        self.beats += 1;
        // Whatever it answers, the next one has another name.
        let key = format!("{}{:0DIGITS$}", self.own, self.beats);
        self.store.create(&key, &self.node.encode()?)?;
        if let Some(old) = self.beats.checked_sub(KEPT_BEATS).filter(|old| *old > 0) {
            let key = format!("{}{old:0DIGITS$}", self.own);
            self.store.remove(&key)?;
        }
        Ok(())
    }

    /// The live servers, by id.
    ///
    /// # Errors
    /// Errors of the store; the next look may succeed.
    pub fn look(&mut self) -> Result<Vec<Member>, StoreError> {
        let mut newest: BTreeMap<String, u64> = BTreeMap::new();
        for object in self.store.list(NODES)? {
            if let Some((process, number)) = process_of(&object.key) {
                // They come in the order of their numbers.
                newest.insert(process.to_owned(), number);
            }
        }
        let now = self.clock.monotonic();
        self.seen.retain(|process, _| newest.contains_key(process));
        for (process, number) in newest {
            match self.seen.get_mut(&process) {
                Some(seen) if seen.number == number => {}
                Some(seen) => (seen.number, seen.since) = (number, now),
                None => {
                    if let Some(node) = self.read(&process, number)? {
                        let since = now;
                        let seen = SeenProcess {
                            node,
                            number,
                            since,
                        };
                        self.seen.insert(process, seen);
                    }
                }
            }
        }
        self.forget_predecessors()?;
        Ok(self.live(now))
    }

    /// The server that a heartbeat names; `None` if it was removed meanwhile or names none.
    fn read(&self, process: &str, number: u64) -> Result<Option<Node>, StoreError> {
        let key = format!("{process}{number:0DIGITS$}");
        let bytes = self.store.read(&key)?;
        Ok(bytes.and_then(|bytes| Node::decode(&key, &bytes).ok()))
    }

    /// Removes what former processes of this server have left, and processes that have been silent for long. One that was only
    /// paused shows itself again.
    fn forget_predecessors(&mut self) -> Result<(), StoreError> {
        let (now, limit) = (self.clock.monotonic(), self.takeover * FORGOTTEN_AFTER);
        let is_over = |process: &String, seen: &SeenProcess| {
            let is_silent = now.saturating_sub(seen.since) >= limit;
            *process != self.own && (is_silent || seen.node.id == self.node.id)
        };
        let over: Vec<String> = self
            .seen
            .iter()
            .filter(|(process, seen)| is_over(process, seen))
            .map(|(process, _)| process.clone())
            .collect();
        for process in over {
            remove_all(self.store.as_ref(), &process)?;
            self.seen.remove(&process);
        }
        Ok(())
    }

    fn live(&self, now: Duration) -> Vec<Member> {
        let mut live: BTreeMap<&str, (&SeenProcess, Member)> = BTreeMap::new();
        let is_live = |seen: &&SeenProcess| now.saturating_sub(seen.since) < self.takeover;
        for seen in self.seen.values().filter(is_live) {
            let member = Member {
                node: seen.node.clone(),
                has_joined: seen.number >= JOIN_BEATS,
            };
            // Of two processes of one server only one can be alive, and it was seen last.
            let id = &*seen.node.id;
            if live
                .get(id)
                .is_none_or(|(other, _)| other.since <= seen.since)
            {
                live.insert(id, (seen, member));
            }
        }
        live.into_values().map(|(_, member)| member).collect()
    }

    /// Takes this server out of the list. To be called when it writes nothing any more.
    ///
    /// # Errors
    /// Errors of the store; others wait for the take-over time then.
    pub fn leave(self) -> Result<(), StoreError> {
        remove_all(self.store.as_ref(), &self.own)
    }
}

/// The servers of a store as their heartbeats show them to a process that does not wait for the next ones: those whose last one is
/// at most `silence` older than the newest of all, by the store's clock.
///
/// # Errors
/// Errors of the store.
pub fn shown_members(
    store: &dyn ObjectStore,
    silence: Duration,
) -> Result<Vec<Member>, StoreError> {
    let beats = store.list(NODES)?;
    let newest = beats.iter().map(|beat| beat.modified).max();
    let oldest = newest.unwrap_or_default().saturating_sub(silence);
    let mut members: BTreeMap<String, Member> = BTreeMap::new();
    for beat in beats.iter().filter(|beat| beat.modified >= oldest) {
        let Some((_, number)) = process_of(&beat.key) else {
            continue;
        };
        let bytes = store.read(&beat.key)?;
        if let Some(node) = bytes.and_then(|bytes| Node::decode(&beat.key, &bytes).ok()) {
            let has_joined = number >= JOIN_BEATS;
            members.insert(node.id.clone(), Member { node, has_joined });
        }
    }
    Ok(members.into_values().collect())
}

fn remove_all(store: &dyn ObjectStore, directory: &str) -> Result<(), StoreError> {
    for object in store.list(directory)? {
        store.remove(&object.key)?;
    }
    Ok(())
}

/// The directory of a process, with its slash, and the number of a heartbeat.
fn process_of(key: &str) -> Option<(&str, u64)> {
    let (directory, digits) = key.split_at_checked(key.len().checked_sub(DIGITS)?)?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let name = directory.strip_prefix(NODES)?.strip_suffix('/')?;
    let is_process = !name.is_empty() && !name.contains('/');
    (is_number && is_process).then(|| Some((directory, digits.parse().ok()?)))?
}

#[cfg(test)]
mod tests;
