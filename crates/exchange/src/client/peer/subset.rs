//! A part of a repository that answers questions of discovery as if it were another one.

use super::{PeerArgs, Transport, joined};
use crate::ExchangeError;
use std::collections::HashSet;
use std::io::{Cursor, Read};
use varve_repo::RepoView;
use varve_revlog::{Node, Rev};

/// Knows some changesets of a repository and their ancestors, and answers `heads` and `known` only.
#[derive(Debug)]
pub struct SubsetPeer {
    heads: Vec<Node>,
    known: HashSet<Node>,
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
        let mut heads: Vec<Node> = heads.map(|rev| changelog.node(*rev)).collect();
        if heads.is_empty() {
            heads.push(Node::NULL);
        }
        SubsetPeer {
            heads,
            known: all.iter().map(|rev| changelog.node(*rev)).collect(),
        }
    }
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
                let nodes = args.iter().find(|(name, _)| *name == "nodes");
                let nodes = nodes.map(|(_, nodes)| &nodes[..]).unwrap_or_default();
                let nodes = nodes.split(|byte| *byte == b' ');
                let nodes = nodes.filter(|hex| !hex.is_empty()).map(Node::from_hex);
                let is_known =
                    |node: Option<Node>| node.is_some_and(|node| self.known.contains(&node));
                Ok(nodes
                    .map(|node| if is_known(node) { b'1' } else { b'0' })
                    .collect())
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
