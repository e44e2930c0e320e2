//! Small histories in memory, as far as commits without a working copy can make them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use varve_base::MemoryStorage;
use varve_codec::EngineSetting;
use varve_repo::{
    FileChange, FileKind, LockKind, NewChangeset, NewMarker, Node, Phase, RepoView, Repository,
    Rev, ViewFilter,
};

/// A repository in memory whose changesets are drafts.
pub struct MemoryRepo {
    pub repository: Repository,
}

impl MemoryRepo {
    /// One changeset per element, which names the positions of its parents; dates are 0, 10, 20 and so on.
    pub fn new(parents: &[&[usize]]) -> (MemoryRepo, Vec<Node>) {
        let storage = Arc::new(MemoryStorage::default());
        let repository = Repository::create(storage, Path::new("r")).unwrap();
        let made = MemoryRepo { repository };
        let mut nodes: Vec<Node> = Vec::new();
        for (number, of) in parents.iter().enumerate() {
            let parent = |at: usize| of.get(at).map_or(Node::NULL, |of| nodes[*of]);
            nodes.push(made.commit(number, [parent(0), parent(1)]));
        }
        (made, nodes)
    }

    fn commit(&self, number: usize, parents: [Node; 2]) -> Node {
        let content = number.to_string();
        let file = FileChange::Write {
            path: content.as_bytes(),
            content: content.as_bytes(),
            kind: FileKind::Plain,
            copied_from: None,
        };
        let changeset = NewChangeset {
            parents,
            user: b"Ada",
            date: (number as i64 * 10, 0),
            branch: b"default",
            extras: &[],
            description: content.as_bytes(),
            phase: Phase::Draft,
            changes: &[file],
        };
        let mut batch = self.repository.begin(EngineSetting::ZLIB).unwrap();
        let node = batch.commit(&changeset).unwrap();
        batch.finish().unwrap();
        node
    }

    pub fn view(&self, filter: ViewFilter) -> Arc<RepoView> {
        self.repository.view_for(filter).unwrap()
    }

    pub fn rev(&self, node: &Node) -> Rev {
        let view = self.view(ViewFilter::Unfiltered);
        view.changelog().rev(node).unwrap()
    }

    /// Moves a changeset to a phase: lower phases reach its ancestors, higher ones its descendants.
    pub fn set_phase(&self, node: &Node, phase: Phase) {
        let view = self.view(ViewFilter::Unfiltered);
        let rev = self.rev(node);
        let moved = view.phases().moved(view.changelog(), &[rev], phase, true);
        let lock = self.repository.try_lock(LockKind::Store).unwrap();
        let mut transaction = self.repository.transaction(lock, "phase").unwrap();
        transaction.set_phases(view.changelog(), &moved);
        transaction.finish().unwrap();
    }

    /// Marks `old` as rewritten into `new`.
    pub fn add_marker(&self, old: Node, new: Node) {
        let lock = self.repository.try_lock(LockKind::Store).unwrap();
        let mut transaction = self.repository.transaction(lock, "mark").unwrap();
        let marker = NewMarker {
            flags: 0,
            old,
            successors: &[new],
            parents: None,
            date: (0, 0),
            metadata: &[(b"user", b"Ada")],
        };
        transaction.add_markers(&[marker]).unwrap();
        transaction.finish().unwrap();
    }

    pub fn set_bookmark(&self, name: &str, node: Node) {
        let lock = self.repository.try_lock(LockKind::Store).unwrap();
        let set = self.repository.set_bookmark(lock, name.as_bytes(), node);
        set.unwrap();
    }
}

/// Bookmarks by name.
pub fn bookmarks(of: &[(&str, Node)]) -> BTreeMap<Vec<u8>, Node> {
    let named = of.iter();
    named
        .map(|(name, node)| (name.as_bytes().to_vec(), *node))
        .collect()
}
