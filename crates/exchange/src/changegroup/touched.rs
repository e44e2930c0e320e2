//! What has to be known of the sent changesets before anything below them is written: the files
//! that they touch, and revisions that they share with changesets which are not sent.
//!
//! A manifest or file revision is linked to the changeset that stored it first. If that one is
//! foreign (secret, or on a branch nobody asked for) but a sent one has the same content with the
//! same parents, the revision must travel all the same, linked to the first sent changeset that
//! has it. Only files that a foreign changeset touched can hold such revisions.

use super::group::Sent;
use super::selection::Selection;
use crate::ExchangeError;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use varve_repo::{ManifestEntries, RepoView};
use varve_revlog::{Node, Rev, Revlog};

/// Files with the sent changesets that touched them, oldest first.
type TouchedFiles = BTreeMap<Vec<u8>, Vec<Rev>>;

/// See above.
#[derive(Default)]
pub(super) struct Touched {
    pub(super) files: TouchedFiles,
    /// Manifests that were first stored by foreign changesets, oldest first.
    pub(super) shared_manifests: Vec<Sent>,
    /// The same for files, by path.
    pub(super) shared_files: HashMap<Vec<u8>, Vec<Sent>>,
}

impl Touched {
    /// Reads the sent changesets, and the foreign ones if there are any.
    pub(super) fn read(view: &RepoView, selection: &Selection) -> Result<Self, ExchangeError> {
        let changelog = view.changelog();
        let mut touched = Touched::default();
        let mut manifests = Vec::new();
        let mut reader = changelog.reader();
        for rev in selection.sent() {
            let changeset = view.parse_changeset(rev, reader.text(rev)?)?;
            manifests.push((rev, changeset.manifest));
            for path in changeset.files() {
                match touched.files.get_mut(path) {
                    Some(revs) => revs.push(rev),
                    None => {
                        touched.files.insert(path.to_vec(), vec![rev]);
                    }
                }
            }
        }
        if selection.has_foreign() {
            let shared = Shared { view, selection };
            touched.shared_manifests = shared.manifests(&manifests)?;
            touched.shared_files = shared.files(&touched.files, &manifests)?;
        }
        Ok(touched)
    }
}

/// Finds revisions that a sent and a foreign changeset share.
struct Shared<'a> {
    view: &'a RepoView,
    selection: &'a Selection,
}

impl Shared<'_> {
    fn is_foreign(&self, revlog: &Revlog, rev: Rev) -> bool {
        let link = revlog.linkrev(rev);
        self.selection.sent_link(link).is_none() && !self.selection.client_has_link(link)
    }

    fn manifests(&self, of_sent: &[(Rev, Node)]) -> Result<Vec<Sent>, ExchangeError> {
        let manifest = self.view.manifest()?;
        let mut found = BTreeMap::new();
        for (changeset, node) in of_sent {
            let Some(rev) = manifest.rev(node) else {
                continue;
            };
            if self.is_foreign(manifest, rev) {
                found.entry(rev).or_insert(*changeset);
            }
        }
        let sent = |(rev, changeset)| Sent {
            rev,
            changeset: self.view.changelog().node(changeset),
        };
        Ok(found.into_iter().map(sent).collect())
    }

    fn files(
        &self,
        touched: &TouchedFiles,
        manifests: &[(Rev, Node)],
    ) -> Result<HashMap<Vec<u8>, Vec<Sent>>, ExchangeError> {
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

    fn files_of_foreign(&self) -> Result<BTreeSet<Vec<u8>>, ExchangeError> {
        let changelog = self.view.changelog();
        let mut reader = changelog.reader();
        let mut paths = BTreeSet::new();
        for rev in self.selection.foreign() {
            let changeset = self.view.parse_changeset(rev, reader.text(rev)?)?;
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
    ) -> Result<HashMap<Vec<u8>, Vec<Sent>>, ExchangeError> {
        let manifest = self.view.manifest()?;
        let mut reader = manifest.reader();
        let mut found: HashMap<Vec<u8>, Vec<Sent>> = HashMap::new();
        for (changeset, paths) in suspects {
            let place = manifests.binary_search_by_key(changeset, |(rev, _)| *rev);
            let node = place.ok().and_then(|at| manifests.get(at));
            let Some(rev) = node.and_then(|(_, node)| manifest.rev(node)) else {
                continue;
            };
            let text = reader.text(rev)?;
            for path in paths {
                let entry = ManifestEntries::find(text, path).map_err(|(offset, reason)| {
                    let node = manifest.node(rev);
                    ExchangeError::DamagedManifest {
                        node,
                        offset,
                        reason,
                    }
                })?;
                let nodes = foreign_nodes.get(path).zip(entry);
                let Some(rev) = nodes.and_then(|(nodes, entry)| nodes.get(&entry.node)) else {
                    continue;
                };
                let sent = found.entry(path.to_vec()).or_default();
                if !sent.iter().any(|known| known.rev == *rev) {
                    let changeset = self.view.changelog().node(*changeset);
                    sent.push(Sent {
                        rev: *rev,
                        changeset,
                    });
                }
            }
        }
        Ok(found)
    }
}
