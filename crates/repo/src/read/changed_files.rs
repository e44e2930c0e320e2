//! The files that some changesets touch, and the revisions that these share with foreign ones.
//!
//! A manifest or file revision is linked to the changeset that stored it first. If that one is
//! foreign (it does not travel) but another one that does has the same content with the same
//! parents, the revision must travel all the same, linked to the first changeset that has it and
//! is no foreigner. Only files that a foreign changeset touched can hold such revisions.

use crate::format::{ManifestEntries, RepoError};
use crate::read::RepoView;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use varve_revlog::{Node, Rev, Revlog};

/// Files with the changesets that touched them, oldest first.
pub type TouchedFiles = BTreeMap<Vec<u8>, Vec<Rev>>;

/// Revisions of files, each with the changeset that has it, by path.
pub type SharedFiles = HashMap<Vec<u8>, Vec<(Rev, Rev)>>;

/// See above.
#[derive(Clone, Debug, Default)]
pub struct Touched {
    /// All files that the changesets touch.
    pub files: TouchedFiles,
    /// Manifests that foreign changesets stored first, each with the changeset that has it.
    pub shared_manifests: BTreeMap<Rev, Rev>,
    /// The same for files, by path.
    pub shared_files: SharedFiles,
}

/// Which changesets travel and which are foreign; what is neither is there already.
#[derive(Debug)]
pub struct Travellers<'a> {
    /// Those that travel, oldest first.
    pub chosen: &'a [Rev],
    /// Those that do not, oldest first.
    pub foreign: &'a [Rev],
}

impl RepoView {
    /// Reads the changesets that travel, and the foreign ones if there are any.
    ///
    /// # Errors
    /// What is damaged.
    pub fn touched(&self, travellers: &Travellers<'_>) -> Result<Touched, RepoError> {
        let mut touched = Touched::default();
        let mut manifests = Vec::new();
        let mut reader = self.changelog().reader();
        for rev in travellers.chosen {
            let changeset = self.parse_changeset(*rev, reader.text(*rev)?)?;
            manifests.push((*rev, changeset.manifest));
            for path in changeset.files() {
                match touched.files.get_mut(path) {
                    Some(revs) => revs.push(*rev),
                    None => {
                        touched.files.insert(path.to_vec(), vec![*rev]);
                    }
                }
            }
        }
        if !travellers.foreign.is_empty() {
            let shared = Shared {
                view: self,
                foreign: travellers.foreign,
            };
            touched.shared_manifests = shared.manifests(&manifests)?;
            touched.shared_files = shared.files(&touched.files, &manifests)?;
        }
        Ok(touched)
    }
}

/// Finds revisions that a changeset shares with a foreign one.
struct Shared<'a> {
    view: &'a RepoView,
    foreign: &'a [Rev],
}

impl Shared<'_> {
    fn is_foreign(&self, revlog: &Revlog, rev: Rev) -> bool {
        let link = self.view.changelog().rev_at(revlog.linkrev(rev));
        // Links past the end are of a commit that was not done when the changelog was read.
        link.is_none_or(|link| self.foreign.binary_search(&link).is_ok())
    }

    fn manifests(&self, of_chosen: &[(Rev, Node)]) -> Result<BTreeMap<Rev, Rev>, RepoError> {
        let manifest = self.view.manifest()?;
        let mut found = BTreeMap::new();
        for (changeset, node) in of_chosen {
            let Some(rev) = manifest.rev(node) else {
                continue;
            };
            if self.is_foreign(manifest, rev) {
                found.entry(rev).or_insert(*changeset);
            }
        }
        Ok(found)
    }

    fn files(
        &self,
        touched: &TouchedFiles,
        manifests: &[(Rev, Node)],
    ) -> Result<SharedFiles, RepoError> {
        let mut foreign_nodes = HashMap::new();
        let mut suspects: BTreeMap<Rev, Vec<&[u8]>> = BTreeMap::new();
        for path in self.files_of_foreign()? {
            let Some((path, changesets)) = touched.get_key_value(&path) else {
                continue;
            };
            let filelog = self.view.filelog(path)?;
            let own: BTreeSet<i64> = filelog.revs().map(|rev| filelog.linkrev(rev)).collect();
            let foreign = filelog.revs().filter(|rev| self.is_foreign(&filelog, *rev));
            let nodes: HashMap<Node, Rev> = foreign.map(|rev| (filelog.node(rev), rev)).collect();
            if nodes.is_empty() {
                continue;
            }
            foreign_nodes.insert(path.as_slice(), nodes);
            // A changeset that stored a revision of its own has that one.
            for changeset in changesets.iter().filter(|c| !own.contains(&i64::from(c.0))) {
                suspects.entry(*changeset).or_default().push(path);
            }
        }
        self.look_up(&suspects, &foreign_nodes, manifests)
    }

    fn files_of_foreign(&self) -> Result<BTreeSet<Vec<u8>>, RepoError> {
        let mut reader = self.view.changelog().reader();
        let mut paths = BTreeSet::new();
        for rev in self.foreign {
            let changeset = self.view.parse_changeset(*rev, reader.text(*rev)?)?;
            paths.extend(changeset.files().map(<[u8]>::to_vec));
        }
        Ok(paths)
    }

    /// Looks into the manifests of the suspects, oldest first, whether they have a foreign node.
    fn look_up(
        &self,
        suspects: &BTreeMap<Rev, Vec<&[u8]>>,
        foreign_nodes: &HashMap<&[u8], HashMap<Node, Rev>>,
        manifests: &[(Rev, Node)],
    ) -> Result<SharedFiles, RepoError> {
        let manifest = self.view.manifest()?;
        let mut reader = manifest.reader();
        let mut found = SharedFiles::new();
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
                let nodes = foreign_nodes.get(path).zip(entry);
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
