//! A part of a repository that answers questions of discovery as if it were another one.

use super::{PeerArgs, Transport, joined};
use crate::ExchangeError;
use std::collections::{HashMap, HashSet};
use std::io::{Cursor, Read};
use varve_repo::RepoView;
use varve_revlog::{Node, Rev};

/// Knows some changesets of a repository and their ancestors, and answers `heads`, `known`, `branches` and `between`
/// only.
#[derive(Debug)]
pub struct SubsetPeer {
    heads: Vec<Node>,
    /// Parents of each known changeset, null where it has none.
    parents: HashMap<Node, [Node; 2]>,
}

impl SubsetPeer {
    /// The part of `view` that `revs` and their ancestors are.
    pub fn of(view: &RepoView, revs: &[Rev]) -> SubsetPeer {
        let changelog = view.changelog();
        let all = view.missing_ancestors(revs, &[]);
        let parents: HashSet<Rev> = all
            .iter()
            .flat_map(|rev| changelog.parents(*rev).into_iter().flatten())
            .collect();
        let heads = all.iter().filter(|rev| !parents.contains(rev));
        let heads = heads.map(|rev| changelog.node(*rev)).collect();
        let node = |rev: Option<Rev>| rev.map_or(Node::NULL, |rev| changelog.node(rev));
        let parents = all
            .iter()
            .map(|rev| (changelog.node(*rev), changelog.parents(*rev).map(node)));
        SubsetPeer {
            heads,
            parents: parents.collect(),
        }
    }

    /// Head, root and the root's parents of the segment below `head`.
    fn segment(&self, head: Node) -> [Node; 4] {
        let mut root = head;
        loop {
            let [first, second] = self.parents_of(&root);
            if first.is_null() || !second.is_null() {
                return [head, root, first, second];
            }
            root = first;
        }
    }

    /// Changesets at distances 1, 2, 4 … along first parents from `newer` to `older`.
    fn samples(&self, newer: Node, older: Node) -> Vec<Node> {
        let (mut at, mut distance, mut wanted) = (newer, 0_usize, 1);
        let mut samples = Vec::new();
        while at != older && !at.is_null() {
            if distance == wanted {
                samples.push(at);
                wanted *= 2;
            }
            at = self.parents_of(&at)[0];
            distance += 1;
        }
        samples
    }

    fn parents_of(&self, node: &Node) -> [Node; 2] {
        self.parents.get(node).copied().unwrap_or([Node::NULL; 2])
    }
}

/// The words of an argument that is a list.
fn words<'a>(args: PeerArgs<'a>, wanted: &str) -> impl Iterator<Item = &'a [u8]> + use<'a> {
    let list = args.iter().find(|(name, _)| *name == wanted);
    let list = list.map(|(_, list)| &list[..]).unwrap_or_default();
    let words = list.split(|byte| *byte == b' ');
    words.filter(|word| !word.is_empty())
}

/// A line of nodes.
fn line(nodes: &[Node]) -> Vec<u8> {
    let mut line = joined(nodes);
    line.push(b'\n');
    line
}

impl Transport for SubsetPeer {
    fn is_remote(&self) -> bool {
        false
    }

    fn call(&mut self, command: &str, args: PeerArgs<'_>) -> Result<Vec<u8>, ExchangeError> {
        match command {
            "capabilities" => Ok(b"known".to_vec()),
            "heads" => Ok(joined(&self.heads)),
            "known" => {
                let is_known =
                    |node: Option<Node>| node.is_some_and(|node| self.parents.contains_key(&node));
                Ok(words(args, "nodes")
                    .map(|hex| match is_known(Node::from_hex(hex)) {
                        true => b'1',
                        false => b'0',
                    })
                    .collect())
            }
            "branches" => {
                let nodes = words(args, "nodes").filter_map(Node::from_hex);
                Ok(nodes.flat_map(|head| line(&self.segment(head))).collect())
            }
            "between" => {
                let pairs = words(args, "pairs").filter_map(|pair| {
                    let (newer, older) = pair.split_at_checked(40)?;
                    let older = older.strip_prefix(b"-")?;
                    Some((Node::from_hex(newer)?, Node::from_hex(older)?))
                });
                let lines = pairs.map(|(newer, older)| line(&self.samples(newer, older)));
                Ok(lines.flatten().collect())
            }
            _ => Err(ExchangeError::UnknownCommand {
                command: command.to_owned(),
            }),
        }
    }

    fn stream(
        &mut self,
        command: &str,
        args: PeerArgs<'_>,
    ) -> Result<Box<dyn Read + Send>, ExchangeError> {
        Ok(Box::new(Cursor::new(self.call(command, args)?)))
    }
}
