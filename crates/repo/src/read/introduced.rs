//! Which changeset brought a file's revision into a line of history.
//!
//! A filelog names the first changeset that ever had a revision. The same change may have been
//! made again on another branch, and seen from there that one counts.

use crate::format::{Changeset, RepoError};
use crate::read::RepoView;
use std::collections::HashSet;
use varve_revlog::{Node, Rev, Revlog};

/// A set of changesets with all their ancestors, computed lazily, as far down as it is asked about.
#[derive(Debug)]
pub struct Ancestors<'a> {
    changelog: &'a Revlog,
    /// One bit per changeset, from the newest of the set down to the oldest that is known.
    known: Vec<u64>,
    /// Number behind the newest of the set.
    end: usize,
    /// Parents of all changesets from this one on are known.
    done: usize,
}

impl<'a> Ancestors<'a> {
    /// Those of `heads`, which belong to the set themselves.
    pub fn new(changelog: &'a Revlog, heads: &[Rev]) -> Ancestors<'a> {
        let end = heads.iter().map(|head| head.index() + 1).max();
        let end = end.unwrap_or(0);
        let mut ancestors = Ancestors {
            changelog,
            known: Vec::new(),
            end,
            done: end,
        };
        for head in heads {
            ancestors.insert(*head);
        }
        ancestors
    }

    /// Whether a changeset belongs to the set.
    pub fn contains(&mut self, rev: Rev) -> bool {
        while self.done > rev.index() {
            self.step();
        }
        self.has(rev)
    }

    /// The newest member of these.
    fn newest(&mut self, among: std::ops::Range<u32>) -> Option<Rev> {
        let mut revs = among.rev().map(Rev);
        revs.find(|rev| self.contains(*rev))
    }

    fn has(&self, rev: Rev) -> bool {
        let Some(at) = self.end.checked_sub(rev.index() + 1) else {
            return false;
        };
        let bits = self.known.get(at / 64);
        bits.is_some_and(|bits| bits >> (at % 64) & 1 == 1)
    }

    fn insert(&mut self, rev: Rev) {
        let at = self.end - 1 - rev.index();
        if at / 64 >= self.known.len() {
            self.known.resize(at / 64 + 1, 0);
        }
        self.known[at / 64] |= 1 << (at % 64);
    }

    fn step(&mut self) {
        self.done -= 1;
        let rev = Rev(self.done as u32);
        if self.has(rev) {
            for parent in self.changelog.parents(rev).into_iter().flatten() {
                self.insert(parent);
            }
        }
    }
}

/// One revision of one file.
#[derive(Clone, Copy, Debug)]
pub struct FileRevision<'a> {
    /// The file.
    pub path: &'a [u8],
    /// Its history.
    pub filelog: &'a Revlog,
    /// Which revision.
    pub rev: Rev,
}

impl RepoView {
    /// The changeset that brought a file's revision into `history`: the one that the filelog
    /// names, or if that does not belong to it, the newest ancestor of `from` that has the
    /// revision and touches the file. `None` if the filelog names none that is there.
    ///
    /// # Errors
    /// A damaged changeset, manifest or filelog.
    pub fn introducing_changeset(
        &self,
        file: FileRevision<'_>,
        history: &mut Ancestors<'_>,
        from: Rev,
    ) -> Result<Option<Rev>, RepoError> {
        let link = self.changelog().rev_at(file.filelog.linkrev(file.rev));
        let Some(link) = link else {
            return Ok(None);
        };
        if history.contains(link) {
            return Ok(Some(link));
        }
        let node = file.filelog.node(file.rev);
        let mut ancestors = Ancestors::new(self.changelog(), &[from]);
        let mut end = from.0.saturating_add(1);
        while let Some(candidate) = ancestors.newest(link.0 + 1..end) {
            if self.adds_revision(candidate, file.path, &node)? {
                return Ok(Some(candidate));
            }
            end = candidate.0;
        }
        Ok(Some(link))
    }

    fn adds_revision(&self, changeset: Rev, path: &[u8], node: &Node) -> Result<bool, RepoError> {
        let touches =
            self.with_changeset(changeset, |text| text.files().any(|file| file == path))?;
        if !touches {
            return Ok(false);
        }
        let text = self.manifest_text(Some(changeset))?;
        let entry = self.find_in_manifest(&text, path)?;
        Ok(entry.is_some_and(|entry| entry.node == *node))
    }

    /// The visible changesets that introduced revisions of a file, which `filelog` holds: for each revision the one
    /// that the filelog names, or if that is hidden, the oldest later one with the same revision.
    ///
    /// # Errors
    /// A damaged changeset or manifest.
    pub fn changesets_of_file(&self, path: &[u8], filelog: &Revlog) -> Result<Vec<Rev>, RepoError> {
        let mut introducing = Vec::new();
        let mut hidden = HashSet::new();
        let mut oldest: Option<Rev> = None;
        for rev in filelog.revs() {
            match self.changelog().rev_at(filelog.linkrev(rev)) {
                Some(link) if self.is_visible(link) => introducing.push(link),
                Some(link) => {
                    hidden.insert(filelog.node(rev));
                    oldest = Some(oldest.map_or(link, |known| known.min(link)));
                }
                None => {}
            }
        }
        let later = oldest.into_iter().flat_map(|oldest| {
            let later = oldest.0 + 1..self.changelog().len() as u32;
            later.map(Rev)
        });
        for rev in later.filter(|rev| self.is_visible(*rev)) {
            if hidden.is_empty() {
                break;
            }
            let touches = |changeset: Changeset<'_>| changeset.files().any(|file| file == path);
            if !self.with_changeset(rev, touches)? {
                continue;
            }
            let manifest = self.manifest_text(Some(rev))?;
            let entry = self.find_in_manifest(&manifest, path)?;
            if entry.is_some_and(|entry| hidden.remove(&entry.node)) {
                introducing.push(rev);
            }
        }
        Ok(introducing)
    }
}
