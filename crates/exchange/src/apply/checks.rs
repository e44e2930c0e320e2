//! Checks that the repository is still as it was when a client prepared its push.
//!
//! The store is locked, so the result stays true until the push is stored. Only changesets that the client may
//! see count.

use super::Application;
use crate::ExchangeError;
use crate::format::part::{PartType, bookmarks, node_list, phase_heads};
use std::collections::HashSet;
use std::fmt;
use varve_repo::{Node, Rev};

/// Digits of a node in messages.
const SHORT: usize = 12;

impl Application<'_> {
    /// The heads of all branches are exactly these.
    pub(super) fn check_heads(&self, payload: &[u8]) -> Result<(), ExchangeError> {
        let view = self.options.repository.view()?;
        let revs = view.heads().into_iter();
        let mut heads: Vec<Node> = revs.map(|rev| view.changelog().node(rev)).collect();
        if heads.is_empty() {
            heads.push(Node::NULL);
        }
        let mut expected = node_list::decode(payload, PartType::CheckHeads)?;
        heads.sort_unstable();
        expected.sort_unstable();
        same_or_raced(heads == expected)
    }

    /// These are still heads of branches.
    pub(super) fn check_updated_heads(&self, payload: &[u8]) -> Result<(), ExchangeError> {
        let expected = node_list::decode(payload, PartType::CheckUpdatedHeads)?;
        let view = self.options.repository.view()?;
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
        let receiver = self.receiver()?;
        for (expected, nodes) in phase_heads::decode(payload)? {
            // The null changeset is always public.
            for node in nodes.into_iter().filter(|node| !node.is_null()) {
                let unknown = || ExchangeError::UnknownRevision(node.to_string());
                let phase = receiver.phase(&node).ok_or_else(unknown)?;
                if phase != expected {
                    let (short, phase, expected) = (Short(&node), phase.name(), expected.name());
                    return Err(ExchangeError::RepositoryChanged(format!(
                        " ({short} is {phase} expected {expected})"
                    )));
                }
            }
        }
        Ok(())
    }

    /// These bookmarks are still where they were.
    pub(super) fn check_bookmarks(&mut self, payload: &[u8]) -> Result<(), ExchangeError> {
        let receiver = self.receiver()?;
        for (name, expected) in bookmarks::decode(payload)? {
            let found = receiver.bookmark(&name);
            if found == expected.as_ref() {
                continue;
            }
            let name = String::from_utf8_lossy(&name);
            let how = match (&expected, found) {
                (Some(from), Some(to)) => format!("move from {} to {}", Short(from), Short(to)),
                (Some(from), None) => format!("is missing, expected {}", Short(from)),
                (None, Some(to)) => format!("set on {}, expected missing", Short(to)),
                (None, None) => continue,
            };
            let words = format!(" (bookmark \"{name}\" {how})");
            return Err(ExchangeError::RepositoryChanged(words));
        }
        Ok(())
    }
}

fn same_or_raced(same: bool) -> Result<(), ExchangeError> {
    match same {
        true => Ok(()),
        false => Err(ExchangeError::RepositoryChanged(String::new())),
    }
}

/// The first digits of a node.
struct Short<'a>(&'a Node);

impl fmt::Display for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_string()[..SHORT])
    }
}
