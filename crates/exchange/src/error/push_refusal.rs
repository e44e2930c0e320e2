//! Refusals of a push before anything is sent.

use varve_revlog::Node;

/// The reason why a push without `--force` is refused, in the words that Mercurial has for it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PushRefusal {
    /// A head of the pushed changesets is obsolete, orphaned or divergent.
    #[error("push includes {instability} changeset: {}!", short(node))]
    Unstable {
        /// The newest such head.
        node: Node,
        /// `obsolete`, or the name of the instability.
        instability: &'static str,
    },
    /// The other side would get new branches.
    #[error("push creates new remote branches: {}{}", joined(names), closed_count(*closed))]
    NewBranches {
        /// Names of the branches.
        names: Vec<Vec<u8>>,
        /// Number of branches that have closed heads only.
        closed: usize,
    },
    /// A branch of the other side would get more heads.
    #[error(transparent)]
    NewHeads(#[from] NewHeads),
    /// A bookmark would show a secret changeset.
    #[error("cannot push bookmark {0} as it points to a secret changeset")]
    SecretBookmark(String),
}

/// Heads that a push would add to a branch of the other side.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.message())]
pub struct NewHeads {
    /// Name of the branch.
    pub branch: Vec<u8>,
    /// Whether the other side does not have the branch.
    pub is_new_branch: bool,
    /// The new heads, of which [`PushRefusal`] names the first; not empty.
    pub heads: Vec<Node>,
    /// A bookmark on the first head, if the branch is `default`.
    pub bookmark: Option<Vec<u8>>,
    /// Whether the other side has heads on the branch that are unknown here.
    pub has_unknown: bool,
}

impl NewHeads {
    fn message(&self) -> String {
        let branch = String::from_utf8_lossy(&self.branch);
        if self.is_new_branch {
            return format!("push creates new branch '{branch}' with multiple heads");
        }
        let first = self.heads.first().map(short).unwrap_or_default();
        let suffix = match &self.bookmark {
            Some(name) => format!(" with bookmark '{}'", String::from_utf8_lossy(name)),
            None if self.branch == varve_repo::DEFAULT_BRANCH => String::new(),
            None => format!(" on branch '{branch}'"),
        };
        format!("push creates new remote head {first}{suffix}")
    }
}

fn short(node: &Node) -> String {
    String::from_utf8_lossy(&node.to_hex()[..12]).into_owned()
}

fn joined(names: &[Vec<u8>]) -> String {
    String::from_utf8_lossy(&names.join(&b", "[..])).into_owned()
}

fn closed_count(closed: usize) -> String {
    match closed {
        0 => String::new(),
        closed => format!(" ({closed} closed)"),
    }
}
