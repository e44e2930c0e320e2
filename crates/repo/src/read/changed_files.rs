//! The files that outgoing changesets change, and the revisions that they share with excluded ones.
//!
//! A manifest or file revision is linked to the changeset that stored it first. If that changeset is
//! excluded, but an outgoing one has the same content with the same parents, the revision must be
//! sent all the same, linked to the first outgoing changeset that has it. Only files that an excluded
//! changeset changed can hold such revisions.

use crate::format::{ManifestEntries, RepoError};
use crate::read::RepoView;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use varve_revlog::{Node, Rev, Revlog};

/// Files with the changesets that changed them, oldest first.
pub type ChangedFiles = BTreeMap<Vec<u8>, Vec<Rev>>;

/// Revisions of files, each with the changeset that has it, by path.
pub type SharedFileRevisions = HashMap<Vec<u8>, Vec<(Rev, Rev)>>;

/// Files and revisions of a set of outgoing changesets.
#[derive(Clone, Debug, Default)]
pub struct OutgoingRevisions {
    /// All files that the outgoing changesets change.
    pub files: ChangedFiles,
    /// Manifests that excluded changesets stored first, each with the changeset that has it.
    pub shared_manifests: BTreeMap<Rev, Rev>,
    /// The same for files, by path.
    pub shared_files: SharedFileRevisions,
}

/// The changesets that are sent and those that are not; the receiver has all others.
#[derive(Debug)]
pub struct OutgoingSet<'a> {
    /// Changesets to send, oldest first.
    pub outgoing: &'a [Rev],
    /// Changesets that are not sent, oldest first.
    pub excluded: &'a [Rev],
}

impl RepoView {
    /// Reads the outgoing changesets, and the excluded ones if there are any.
    ///
    /// # Errors
    /// A damaged changelog or manifest.
    pub fn changed_files(&self, set: &OutgoingSet<'_>) -> Result<OutgoingRevisions, RepoError> {
        let mut changed = OutgoingRevisions::default();
        let mut manifests = Vec::new();
        let mut reader = self.changelog().reader();
        for rev in set.outgoing {
            let changeset = self.parse_changeset(*rev, reader.text(*rev)?)?;
            manifests.push((*rev, changeset.manifest));
            for path in changeset.files() {
                match changed.files.get_mut(path) {
                    Some(revs) => revs.push(*rev),
                    None => {
                        changed.files.insert(path.to_vec(), vec![*rev]);
                    }
                }
            }
        }
        if !set.excluded.is_empty() {
            let shared = SharedRevisionFinder {
                view: self,
                excluded: set.excluded,
            };
            changed.shared_manifests = shared.manifests(&manifests)?;
            changed.shared_files = shared.files(&changed.files, &manifests)?;
        }
        Ok(changed)
    }
}

/// Finds revisions that a changeset shares with an excluded one.
struct SharedRevisionFinder<'a> {
    view: &'a RepoView,
    excluded: &'a [Rev],
}

impl SharedRevisionFinder<'_> {
    fn is_excluded(&self, revlog: &Revlog, rev: Rev) -> bool {
        let link = self.view.changelog().rev_at(revlog.linkrev(rev));
        // Links past the end are of a commit that was not done when the changelog was read.
        link.is_none_or(|link| self.excluded.binary_search(&link).is_ok())
    }

    fn manifests(&self, of_outgoing: &[(Rev, Node)]) -> Result<BTreeMap<Rev, Rev>, RepoError> {
        let manifest = self.view.manifest()?;
        let mut found = BTreeMap::new();
        for (changeset, node) in of_outgoing {
            let Some(rev) = manifest.rev(node) else {
                continue;
            };
            if self.is_excluded(manifest, rev) {
                found.entry(rev).or_insert(*changeset);
            }
        }
        Ok(found)
    }

    fn files(
        &self,
        changed: &ChangedFiles,
        manifests: &[(Rev, Node)],
    ) -> Result<SharedFileRevisions, RepoError> {
        let mut excluded_nodes = HashMap::new();
        let mut suspects: BTreeMap<Rev, Vec<&[u8]>> = BTreeMap::new();
        for path in self.files_of_excluded()? {
            let Some((path, changesets)) = changed.get_key_value(&path) else {
                continue;
            };
            let filelog = self.view.filelog(path)?;
            let own: BTreeSet<i64> = filelog.revs().map(|rev| filelog.linkrev(rev)).collect();
            let excluded = filelog
                .revs()
                .filter(|rev| self.is_excluded(&filelog, *rev));
            let nodes: HashMap<Node, Rev> = excluded.map(|rev| (filelog.node(rev), rev)).collect();
            if nodes.is_empty() {
                continue;
            }
            excluded_nodes.insert(path.as_slice(), nodes);
            // A changeset that stored a revision of its own has that one.
            for changeset in changesets.iter().filter(|c| !own.contains(&i64::from(c.0))) {
                suspects.entry(*changeset).or_default().push(path);
            }
        }
        self.find_in_manifests(&suspects, &excluded_nodes, manifests)
    }

    fn files_of_excluded(&self) -> Result<BTreeSet<Vec<u8>>, RepoError> {
        let mut reader = self.view.changelog().reader();
        let mut paths = BTreeSet::new();
        for rev in self.excluded {
            let changeset = self.view.parse_changeset(*rev, reader.text(*rev)?)?;
            paths.extend(changeset.files().map(<[u8]>::to_vec));
        }
        Ok(paths)
    }

    /// Searches the manifests of the suspects, oldest first, for nodes of excluded changesets.
    fn find_in_manifests(
        &self,
        suspects: &BTreeMap<Rev, Vec<&[u8]>>,
        excluded_nodes: &HashMap<&[u8], HashMap<Node, Rev>>,
        manifests: &[(Rev, Node)],
    ) -> Result<SharedFileRevisions, RepoError> {
        let manifest = self.view.manifest()?;
        let mut reader = manifest.reader();
        let mut found = SharedFileRevisions::new();
        for (changeset, paths) in suspects {
            let place = manifests.binary_search_by_key(changeset, |(rev, _)| *rev);
            let node = place.ok().and_then(|at| manifests.get(at));
            let Some(rev) = node.and_then(|(_, node)| manifest.rev(node)) else {
                continue;
            };
            let text = reader.text(rev)?;
            for path in paths {
                let entry = ManifestEntries::find(text, path).map_err(|(offset, reason)| {
                    RepoError::DamagedManifest {
                        path: self.view.root().to_owned(),
                        node: manifest.node(rev),
                        offset,
                        reason,
                    }
                })?;
                let nodes = excluded_nodes.get(path).zip(entry);
                let Some(rev) = nodes.and_then(|(nodes, entry)| nodes.get(&entry.node)) else {
                    continue;
                };
                let shared = found.entry(path.to_vec()).or_default();
                if !shared.iter().any(|(known, _)| known == rev) {
                    shared.push((*rev, *changeset));
                }
            }
        }
        Ok(found)
    }
}
