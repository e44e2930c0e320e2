//! Walking over a tree from its first item to its last.
//!
//! ```text
//! {kv_node, [{key, value}]}
//! {kp_node, [{last key below, {offset, reduction, size}}]}
//! ```
//! A child was written before its parent, so offsets fall on the way down.

use super::blocks::BlockReader;
use super::compressed::expand;
use super::damage::{Damage, Malformed};
use super::header::Root;
use super::term::{TermReader, tag};
use std::collections::VecDeque;

/// A node takes at least so many bytes, so a file has no more of them than its length allows.
const LEAST_NODE: u64 = 20;

/// Item of a walk through a tree.
#[derive(Debug)]
pub(crate) enum Met<T> {
    Item(T),
    Lost(Lost),
}

/// A part of a tree that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    pub(crate) damage: Damage,
    /// Its keys, where they are integers: above the first, up to the second. `None` for the second if there is no end.
    pub(crate) keys: (u64, Option<u64>),
}

/// A node that is to be visited.
#[derive(Clone, Copy, Debug)]
struct Pending {
    offset: u64,
    /// Of its parent.
    below: u64,
    keys: (u64, Option<u64>),
}

/// Gives the items of a tree in order; each is decoded by a function.
pub(crate) struct Walk<T> {
    reader: BlockReader,
    decode: fn(&mut TermReader<'_>) -> Result<T, Malformed>,
    /// Nodes to visit, the next one last.
    pending: Vec<Pending>,
    ready: VecDeque<Met<T>>,
    /// Nodes that may still be visited.
    left: u64,
    chunk: Vec<u8>,
    room: Vec<u8>,
}

impl<T> Walk<T> {
    pub(crate) fn new(
        reader: BlockReader,
        root: Option<Root>,
        decode: fn(&mut TermReader<'_>) -> Result<T, Malformed>,
    ) -> Walk<T> {
        let pending = root.map(|root| Pending {
            offset: root.offset,
            below: u64::MAX,
            keys: (0, None),
        });
        Walk {
            left: reader.len() / LEAST_NODE + 1,
            reader,
            decode,
            pending: pending.into_iter().collect(),
            ready: VecDeque::new(),
            chunk: Vec::new(),
            room: Vec::new(),
        }
    }

    fn visit(&mut self, node: Pending) {
        if let Err(damage) = self.open(node) {
            let keys = node.keys;
            self.ready.push_back(Met::Lost(Lost { damage, keys }));
        }
    }

    fn open(&mut self, node: Pending) -> Result<(), Damage> {
        let Pending { offset, below, .. } = node;
        if offset >= below || self.left == 0 {
            return Err(Damage::new(offset, "a node does not lead down"));
        }
        self.left -= 1;
        self.reader.chunk(offset, &mut self.chunk)?;
        let (term, _) = expand(&self.chunk, &mut self.room).map_err(|error| error.at(offset))?;
        let node_of = || -> Result<_, Malformed> {
            let mut reader = TermReader::new(term)?;
            reader.tuple_of(2)?;
            let is_leaf = match reader.atom()? {
                b"kv_node" => true,
                b"kp_node" => false,
                _ => return Err(Malformed("this is no node")),
            };
            let count = reader.items()?;
            Ok((reader, is_leaf, count))
        };
        let (reader, is_leaf, count) = node_of().map_err(|error| error.at(offset))?;
        match is_leaf {
            true => leaf(node, (reader, count), self.decode, &mut self.ready),
            false => {
                let before = self.pending.len();
                let read = inner(node, (reader, count), &mut self.pending);
                self.pending[before..].reverse();
                if let Err((keys, malformed)) = read {
                    let damage = malformed.at(offset);
                    // Behind the children that could be read, so before them on the stack; reported at once.
                    self.ready.push_back(Met::Lost(Lost { damage, keys }));
                }
            }
        }
        Ok(())
    }
}

/// Decodes the items of a leaf; those that do not decode are lost one by one.
fn leaf<T>(
    node: Pending,
    (mut reader, count): (TermReader<'_>, u32),
    decode: fn(&mut TermReader<'_>) -> Result<T, Malformed>,
    ready: &mut VecDeque<Met<T>>,
) {
    let mut last = node.keys.0;
    for _ in 0..count {
        let mut item = reader.clone();
        let key = key_of(&mut reader.clone());
        let passed = reader.skip();
        let low = last;
        last = key.unwrap_or(last);
        match decode(&mut item) {
            Ok(item) => ready.push_back(Met::Item(item)),
            Err(malformed) => {
                let high = if passed.is_ok() && key.is_some() {
                    key
                } else {
                    node.keys.1
                };
                let damage = malformed.at(node.offset);
                let keys = (low, high);
                ready.push_back(Met::Lost(Lost { damage, keys }));
            }
        }
        if passed.is_err() {
            return;
        }
    }
}

/// The key of an item, if it is an integer.
fn key_of(item: &mut TermReader<'_>) -> Option<u64> {
    item.tuple().ok()?;
    match item.peek().ok()? {
        tag::BINARY => None,
        _ => item.unsigned().ok(),
    }
}

/// Adds the children of an inner node; on an error, the keys that are lost.
fn inner(
    node: Pending,
    (mut reader, count): (TermReader<'_>, u32),
    pending: &mut Vec<Pending>,
) -> Result<(), ((u64, Option<u64>), Malformed)> {
    let mut low = node.keys.0;
    for _ in 0..count {
        let mut child = || -> Result<_, Malformed> {
            reader.tuple_of(2)?;
            let key = match reader.peek()? {
                tag::BINARY => reader.skip().map(|()| None)?,
                _ => Some(reader.unsigned()?),
            };
            let arity = reader.tuple()?;
            let offset = reader.unsigned()?;
            for _ in 1..arity {
                reader.skip()?;
            }
            Ok((key, offset))
        };
        let (key, offset) = child().map_err(|malformed| ((low, node.keys.1), malformed))?;
        pending.push(Pending {
            offset,
            below: node.offset,
            keys: (low, key),
        });
        low = key.unwrap_or(low);
    }
    Ok(())
}

impl<T> Iterator for Walk<T> {
    type Item = Met<T>;

    fn next(&mut self) -> Option<Met<T>> {
        loop {
            if let Some(met) = self.ready.pop_front() {
                return Some(met);
            }
            let node = self.pending.pop()?;
            self.visit(node);
        }
    }
}
