//! Revisions above the cuts that stay.
//!
//! A revision is linked to the changeset that stored it first. If that one goes and another one
//! that stays has the same content with the same parents, the revision stays too, linked to the
//! oldest of those.

use super::filelog;
use super::renumbering::Renumbering;
use crate::format::RepoError;
use crate::format::manifest::ManifestEntries;
use crate::read::RepoView;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use varve_base::Interrupt;
use varve_revlog::{Node, Rev, Revlog};

/// The cut of one revlog.
#[derive(Debug)]
pub(super) struct Cut {
    /// So many revisions stay as they are.
    pub kept: usize,
    /// Later ones that stay, oldest first, with the changeset that they are linked to then.
    pub again: Vec<(Rev, Rev)>,
}

pub(super) struct KeptRevisions {
    /// `None` if no manifest goes.
    pub manifests: Option<Cut>,
    /// Files that lose a revision.
    pub files: BTreeMap<Vec<u8>, Cut>,
}

/// Revisions of one revlog that lose their changesets.
type Orphans = HashMap<Node, Rev>;

struct Search<'a> {
    view: &'a RepoView,
    numbers: &'a Renumbering,
    /// The new number and the manifest of each changeset that stays above the cut.
    again: Vec<(Rev, Node)>,
    stop: &'a Interrupt,
}

impl KeptRevisions {
    pub fn find(
        view: &RepoView,
        numbers: &Renumbering,
        stop: &Interrupt,
    ) -> Result<KeptRevisions, RepoError> {
        let (mut files, mut again) = (BTreeSet::new(), Vec::new());
        let mut reader = view.changelog().reader();
        for rev in view.changelog().revs().skip(numbers.first()) {
            stop.check()?;
            let changeset = view.parse_changeset(rev, reader.text(rev)?)?;
            files.extend(changeset.files().map(<[u8]>::to_vec));
            again.extend(numbers.after(rev).map(|new| (new, changeset.manifest)));
        }
        let search = Search {
            view,
            numbers,
            again,
            stop,
        };
        Ok(KeptRevisions {
            manifests: search.manifests()?,
            files: search.files(files)?,
        })
    }
}

impl Search<'_> {
    fn first_of(&self, log: &Revlog) -> Option<usize> {
        let first = self.numbers.first() as i64;
        log.revs().position(|rev| log.linkrev(rev) >= first)
    }

    /// Where a revision is linked afterwards; `None` if its changeset goes.
    fn link(&self, log: &Revlog, rev: Rev) -> Option<Rev> {
        let link = self.view.changelog().rev_at(log.linkrev(rev))?;
        self.numbers.after(link)
    }

    fn orphans(&self, log: &Revlog, kept: usize) -> Orphans {
        let above = log.revs().skip(kept);
        let gone = above.filter(|rev| self.link(log, *rev).is_none());
        gone.map(|rev| (log.node(rev), rev)).collect()
    }

    fn cut(&self, log: &Revlog, kept: usize, adopted: &BTreeMap<Rev, Rev>) -> Cut {
        let again = log.revs().skip(kept).filter_map(|rev| {
            let link = self.link(log, rev);
            Some((rev, link.or_else(|| adopted.get(&rev).copied())?))
        });
        Cut {
            kept,
            again: again.collect(),
        }
    }

    fn manifests(&self) -> Result<Option<Cut>, RepoError> {
        let log = self.view.manifest()?;
        let Some(kept) = self.first_of(log) else {
            return Ok(None);
        };
        let orphans = self.orphans(log, kept);
        let mut adopted = BTreeMap::new();
        for (link, node) in &self.again {
            if let Some(rev) = orphans.get(node) {
                adopted.entry(*rev).or_insert(*link);
            }
        }
        Ok(Some(self.cut(log, kept, &adopted)))
    }

    fn files(&self, files: BTreeSet<Vec<u8>>) -> Result<BTreeMap<Vec<u8>, Cut>, RepoError> {
        let mut orphans: BTreeMap<&[u8], Orphans> = BTreeMap::new();
        let mut logs = Vec::new();
        for file in &files {
            self.stop.check()?;
            let Some(log) = filelog(self.view, file)? else {
                continue;
            };
            if let Some(kept) = self.first_of(&log) {
                let found = self.orphans(&log, kept);
                if !found.is_empty() {
                    orphans.insert(file, found);
                }
                logs.push((file, kept));
            }
        }
        let adopted = self.adopted(&orphans)?;
        let none = BTreeMap::new();
        let mut cuts = BTreeMap::new();
        for (file, kept) in logs {
            let log = self.view.filelog(file)?;
            let adopted = adopted.get(&file[..]).unwrap_or(&none);
            cuts.insert(file.clone(), self.cut(&log, kept, adopted));
        }
        Ok(cuts)
    }

    /// Looks for orphans in the manifests of the kept changesets, oldest first.
    fn adopted<'o>(
        &self,
        orphans: &BTreeMap<&'o [u8], Orphans>,
    ) -> Result<BTreeMap<&'o [u8], BTreeMap<Rev, Rev>>, RepoError> {
        let manifest = self.view.manifest()?;
        let mut reader = manifest.reader();
        let mut adopted: BTreeMap<&[u8], BTreeMap<Rev, Rev>> = BTreeMap::new();
        for (link, node) in self.again.iter().filter(|_| !orphans.is_empty()) {
            self.stop.check()?;
            let Some(rev) = manifest.rev(node) else {
                continue;
            };
            let text = reader.text(rev)?;
            for (file, orphans) in orphans {
                let entry = ManifestEntries::find(text, file).map_err(|(offset, reason)| {
                    RepoError::DamagedManifest {
                        path: self.view.root().to_owned(),
                        node: *node,
                        offset,
                        reason,
                    }
                })?;
                if let Some(rev) = entry.and_then(|entry| orphans.get(&entry.node)) {
                    let adopted = adopted.entry(file).or_default();
                    adopted.entry(*rev).or_insert(*link);
                }
            }
        }
        Ok(adopted)
    }
}
