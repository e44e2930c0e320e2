//! Leaves that one database has and another one lacks.

use super::{Document, Snapshot};
use crate::revtree::Stored;
use crate::{Change, DocdbError, Rev};

/// A change of a source, and which of its leaves count.
#[derive(Clone, Debug)]
pub struct WantedLeaves {
    /// The change.
    pub change: Change,
    /// Leaves of the document, as the change lists them.
    pub revs: Vec<Rev>,
}

/// A leaf of a source that a target lacks.
#[derive(Clone, Debug)]
pub struct MissingLeaf {
    pub(crate) id: String,
    /// The revision, then its ancestors as far as the source knows them.
    pub(crate) path: Vec<Rev>,
    pub(crate) stored: Stored,
}

impl MissingLeaf {
    /// The document.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The revision.
    pub fn rev(&self) -> Option<&Rev> {
        self.path.first()
    }

    /// The leaf has attachments.
    pub fn has_attachments(&self) -> bool {
        self.stored.attachments.is_some()
    }

    /// Bytes that it takes in the source's file.
    pub fn stored_len(&self) -> u64 {
        self.stored.active
    }
}

impl Snapshot {
    /// The wanted leaves of `source` that this database does not know, not even as ancestors. The changes are those of
    /// the same commit of `source`.
    ///
    /// # Errors
    /// Damage.
    pub fn missing_leaves(
        &self,
        source: &Snapshot,
        wanted: &[WantedLeaves],
    ) -> Result<Vec<MissingLeaf>, DocdbError> {
        let ids: Vec<&str> = wanted.iter().map(|one| one.change.id.as_str()).collect();
        let lacks = |document: &Option<Document>, rev: &Rev| {
            let tree = document.as_ref().map(Document::tree);
            tree.is_none_or(|tree| tree.find(rev).is_none())
        };
        let mut missing: Vec<(&Change, Vec<&Rev>)> = Vec::new();
        for (one, known) in wanted.iter().zip(self.documents(&ids)?) {
            let revs = one.revs.iter().filter(|rev| lacks(&known, rev));
            let revs: Vec<&Rev> = revs.collect();
            if !revs.is_empty() {
                missing.push((&one.change, revs));
            }
        }
        // A first revision has no ancestors, so the change says all of it.
        let has_history = |(change, revs): &&(&Change, Vec<&Rev>)| {
            *revs != [&change.rev] || change.rev.generation > 1
        };
        let ids = missing.iter().filter(has_history);
        let ids: Vec<&str> = ids.map(|(change, _)| change.id.as_str()).collect();
        let mut documents = source.documents(&ids)?.into_iter();
        let mut leaves = Vec::new();
        for one in &missing {
            let (change, revs) = one;
            if !has_history(&one) {
                leaves.push(MissingLeaf {
                    id: change.id.clone(),
                    path: vec![change.rev.clone()],
                    stored: change.stored.clone(),
                });
                continue;
            }
            if let Some(document) = documents.next().flatten() {
                leaves.extend(revs.iter().filter_map(|rev| leaf_of(&document, rev)));
            }
        }
        Ok(leaves)
    }
}

/// A revision with its history; `None` if only its id is known.
fn leaf_of(document: &Document, rev: &Rev) -> Option<MissingLeaf> {
    let (_, stored) = document.revision(rev)?;
    let path = document.tree().path(rev);
    Some(MissingLeaf {
        id: document.id().to_owned(),
        path: path.map(|node| node.rev.clone()).collect(),
        stored: stored.clone(),
    })
}
