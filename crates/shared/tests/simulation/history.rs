//! All operations of a run, and what feeds of changes have seen.

use super::node::Entry;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    Write,
    Read,
}

/// One operation on one register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub kind: OperationKind,
    pub key: u8,
    /// Written, or read; 0 is that of a register that was never written.
    pub value: u32,
    pub start: u64,
    /// `None` for a write without an answer: it takes effect at any time later, or never.
    pub end: Option<u64>,
}

impl Event {
    pub fn read(key: u8, value: u32, start: u64) -> Event {
        Event {
            kind: OperationKind::Read,
            key,
            value,
            start,
            end: Some(start + 1),
        }
    }
}

/// Feeds go on at any node.
pub const FEEDS: usize = 2;

#[derive(Debug, Default)]
pub struct History {
    pub operations: Vec<Event>,
    pub violations: Vec<String>,
    /// Key and value of each sequence.
    sequences: BTreeMap<u32, (u8, u32)>,
    /// The last sequence that each feed has seen.
    feeds: [u32; FEEDS],
    /// Feeds that ask a node just now.
    busy: [bool; FEEDS],
    last_value: u32,
}

impl History {
    /// A value that was never written before.
    pub fn next_value(&mut self) -> u32 {
        self.last_value += 1;
        self.last_value
    }

    pub fn acknowledged_writes(&self) -> u64 {
        let writes = self
            .operations
            .iter()
            .filter(|it| it.kind == OperationKind::Write);
        writes.filter(|it| it.end.is_some()).count() as u64
    }

    pub fn unknown_writes(&self) -> u64 {
        self.operations.iter().filter(|it| it.end.is_none()).count() as u64
    }

    /// An acknowledged write, with its sequence.
    pub fn assign(&mut self, entry: Entry) {
        let (sequence, assigned) = (entry.sequence, (entry.key, entry.value));
        let known = *self.sequences.entry(sequence).or_insert(assigned);
        if known != assigned {
            self.violations
                .push(format!("sequence {sequence} is {known:?} and {assigned:?}"));
        }
    }

    /// A feed that waits for no node, from now on for this one.
    pub fn begin_feed(&mut self) -> Option<usize> {
        let feed = self.busy.iter().position(|busy| !busy)?;
        self.busy[feed] = true;
        Some(feed)
    }

    pub fn end_feed(&mut self, feed: usize) {
        self.busy[feed] = false;
    }

    /// A feed gets all changes; those of keys that were changed again are left out.
    pub fn observe_feed(&mut self, feed: usize, entries: &[Entry]) {
        for pair in entries.windows(2) {
            if pair[0].sequence >= pair[1].sequence {
                self.violations
                    .push(format!("sequences are out of order: {pair:?}"));
            }
        }
        for entry in entries {
            self.assign(*entry);
        }
        let last = entries.last().map_or(0, |entry| entry.sequence);
        let seen = self.feeds[feed];
        if last < seen {
            self.violations
                .push(format!("feed {feed} went back from {seen} to {last}"));
        }
        self.feeds[feed] = last;
    }
}
