//! Questions about lines of first parents: `branches` and `between`.

use super::remote::{Remote, joined, parse_nodes, unexpected};
use crate::ExchangeError;
use varve_revlog::Node;

/// Pairs of changesets in one request; servers refuse long lists.
const PAIRS_PER_REQUEST: usize = 8;

/// A line of first parents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The newest changeset.
    pub head: Node,
    /// The nearest merge, or changeset without parents; the head itself may be that.
    pub root: Node,
    /// Parents of the root, null where it has none.
    pub root_parents: [Node; 2],
}

impl Remote {
    /// The segments below `nodes`, in this order.
    ///
    /// # Errors
    /// As of [`Transport::call`](super::Transport::call), or the answer is none.
    pub fn branches(&mut self, nodes: &[Node]) -> Result<Vec<Segment>, ExchangeError> {
        let answer = self.call("branches", &[("nodes", joined(nodes))])?;
        let segments = lines("branches", &answer, nodes.len())?.map(|line| {
            let nodes = parse_nodes("branches", line)?;
            let [head, root, first, second] = nodes[..] else {
                return Err(unexpected("branches", line));
            };
            let root_parents = [first, second];
            Ok(Segment {
                head,
                root,
                root_parents,
            })
        });
        segments.collect()
    }

    /// For each pair, the changesets at distances 1, 2, 4 … along first parents from its first changeset down to,
    /// and without, its second.
    ///
    /// # Errors
    /// As of [`Transport::call`](super::Transport::call), or the answer is none.
    pub fn between(&mut self, pairs: &[(Node, Node)]) -> Result<Vec<Vec<Node>>, ExchangeError> {
        let mut samples = Vec::with_capacity(pairs.len());
        for pairs in pairs.chunks(PAIRS_PER_REQUEST) {
            let shown: Vec<String> = pairs
                .iter()
                .map(|(newer, older)| format!("{newer}-{older}"))
                .collect();
            let answer = self.call("between", &[("pairs", shown.join(" ").into_bytes())])?;
            for line in lines("between", &answer, pairs.len())? {
                samples.push(match line {
                    b"" => Vec::new(),
                    line => parse_nodes("between", line)?,
                });
            }
        }
        Ok(samples)
    }
}

/// The lines of an answer, which must be `count`.
fn lines<'a>(
    command: &'static str,
    answer: &'a [u8],
    count: usize,
) -> Result<impl Iterator<Item = &'a [u8]> + use<'a>, ExchangeError> {
    let text = answer.strip_suffix(b"\n").unwrap_or(answer);
    let found = text.split(|byte| *byte == b'\n');
    match found.clone().count() == count {
        true => Ok(found),
        false => Err(unexpected(command, answer)),
    }
}
