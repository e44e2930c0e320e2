//! Whether the repository is still as it was when somebody prepared a push to it.
//!
//! The store is locked by then, so what holds now holds until the push is stored. Of changesets
//! counts what the other side may see.

use super::Applying;
use super::parts::{bookmarks, damaged, phase_heads};
use crate::ExchangeError;
use std::collections::HashSet;
use std::fmt;
use varve_repo::{Node, Rev};

/// Digits of a node in messages.
const SHORT: usize = 12;

impl Applying<'_> {
    /// The heads of all branches are exactly these.
    pub(super) fn check_heads(&self, payload: &[u8]) -> Result<(), ExchangeError> {
        let view = self.how.repository.view()?;
        let revs = view.heads().into_iter();
        let mut heads: Vec<Node> = revs.map(|rev| view.changelog().node(rev)).collect();
        if heads.is_empty() {
            heads.push(Node::NULL);
        }
        let mut expected = nodes(payload, "check:heads")?;
        heads.sort_unstable();
        expected.sort_unstable();
        same_or_raced(heads == expected)
    }

    /// These are still heads of branches.
    pub(super) fn check_updated_heads(&self, payload: &[u8]) -> Result<(), ExchangeError> {
        let expected = nodes(payload, "check:updated-heads")?;
        let view = self.how.repository.view()?;
        let branches = view.branchmap()?;
        let heads = branches.values().flat_map(|branch| &branch.heads);
        let heads: HashSet<&Rev> = heads.collect();
        let is_head = |node: &Node| {
            let rev = view.changelog().rev(node);
            rev.is_some_and(|rev| heads.contains(&rev))
        };
        same_or_raced(expected.iter().all(is_head))
    }

    /// These changesets are still in these phases.
    pub(super) fn check_phases(&mut self, payload: &[u8]) -> Result<(), ExchangeError> {
        let source = self.how.source;
        let receiver = self.receiver(source)?;
        for (expected, nodes) in phase_heads(payload)? {
            // What comes before all changesets is always public.
            for node in nodes.into_iter().filter(|node| !node.is_null()) {
                let unknown = || ExchangeError::UnknownRevision(node.to_string());
                let phase = receiver.phase(&node).ok_or_else(unknown)?;
                if phase != expected {
                    let (short, phase, expected) = (Short(&node), phase.name(), expected.name());
                    return Err(ExchangeError::Overtaken(format!(
                        " ({short} is {phase} expected {expected})"
                    )));
                }
            }
        }
        Ok(())
    }

    /// These bookmarks are still where they were.
    pub(super) fn check_bookmarks(&mut self, payload: &[u8]) -> Result<(), ExchangeError> {
        let source = self.how.source;
        let receiver = self.receiver(source)?;
        for (name, expected) in bookmarks(payload)? {
            let found = receiver.bookmark(&name).filter(|node| !node.is_null());
            let expected = Some(&expected).filter(|node| !node.is_null());
            if found == expected {
                continue;
            }
            let name = String::from_utf8_lossy(&name);
            let how = match (expected, found) {
                (Some(from), Some(to)) => format!("move from {} to {}", Short(from), Short(to)),
                (Some(from), None) => format!("is missing, expected {}", Short(from)),
                (None, Some(to)) => format!("set on {}, expected missing", Short(to)),
                (None, None) => continue,
            };
            let words = format!(" (bookmark \"{name}\" {how})");
            return Err(ExchangeError::Overtaken(words));
        }
        Ok(())
    }
}

fn same_or_raced(same: bool) -> Result<(), ExchangeError> {
    match same {
        true => Ok(()),
        false => Err(ExchangeError::Overtaken(String::new())),
    }
}

pub(super) fn nodes(payload: &[u8], part: &str) -> Result<Vec<Node>, ExchangeError> {
    match payload.as_chunks::<{ Node::LEN }>() {
        (nodes, []) => Ok(nodes.iter().map(|node| Node(*node)).collect()),
        _ => Err(damaged(part)),
    }
}

/// The first digits of a node.
struct Short<'a>(&'a Node);

impl fmt::Display for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_string()[..SHORT])
    }
}
