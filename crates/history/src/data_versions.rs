//! The versions of data files along the first parents of the default head.
//!
//! A line of first parents is the one order in which each state was the state of the branch: versions of merged lines would
//! alternate with each other.

use crate::HistoryError;
use crate::data_items::DataFormat;
use std::collections::BTreeMap;
use varve_base::Interrupt;
use varve_lang::patterns::{Pattern, PatternEnd, PatternError, PatternKind, PatternSet};
use varve_repo::{FileKind, Node, RepoView, Rev};

/// Data files of one changeset at most, the first by path.
const MOST_FILES: usize = 10_000;
/// Versions of a file that become revisions, the newest: documents remember no more of their ancestors by default.
pub(crate) const MOST_VERSIONS: usize = 1000;

/// Filelog revisions of data files by their paths.
pub(crate) type DataFiles = BTreeMap<Vec<u8>, Node>;

/// A state of a file that a changeset brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DataVersion {
    pub(crate) changeset: Rev,
    /// Filelog revision; `None` if the file was removed.
    pub(crate) node: Option<Node>,
}

/// A path with its filelog revision, if the file is there.
type PathState = (Vec<u8>, Option<Node>);

/// Finds data files.
pub(crate) struct DataFileFinder<'v> {
    view: &'v RepoView,
    globs: PatternSet,
    stop: &'v Interrupt,
}

impl<'v> DataFileFinder<'v> {
    /// # Errors
    /// A glob that does not compile.
    pub(crate) fn new(
        view: &'v RepoView,
        globs: &[String],
        stop: &'v Interrupt,
    ) -> Result<Self, PatternError> {
        let pattern = |glob: &String| Pattern {
            kind: match glob.contains('/') {
                true => PatternKind::RootGlob,
                false => PatternKind::RelGlob,
            },
            text: glob.as_bytes().to_vec(),
        };
        let patterns: Vec<Pattern> = globs.iter().map(pattern).collect();
        let globs = PatternSet::compile(&patterns, PatternEnd::File)?;
        Ok(DataFileFinder { view, globs, stop })
    }

    fn is_data(&self, path: &[u8]) -> bool {
        DataFormat::of_path(path).is_some() && self.globs.matches(path)
    }

    /// The data files of a changeset.
    ///
    /// # Errors
    /// A damaged changeset or manifest.
    pub(crate) fn files(&self, changeset: Rev) -> Result<DataFiles, HistoryError> {
        let text = self.view.manifest_text(Some(changeset))?;
        let mut files = DataFiles::new();
        for entry in self.view.manifest_entries(&text) {
            let entry = entry?;
            if is_file(entry.kind) && self.is_data(entry.path) {
                files.insert(entry.path.to_vec(), entry.node);
                if files.len() == MOST_FILES {
                    break;
                }
            }
        }
        Ok(files)
    }

    /// Changesets of the line of first parents behind `from`, oldest first; `None` if it does not lead there.
    pub(crate) fn line(&self, from: Option<Rev>, head: Rev) -> Option<Vec<Rev>> {
        let changelog = self.view.changelog();
        let mut line = Vec::new();
        let mut next = Some(head);
        while let Some(rev) = next.filter(|rev| Some(*rev) > from) {
            line.push(rev);
            next = changelog.parents(rev)[0];
        }
        line.reverse();
        (next == from).then_some(line)
    }

    /// The versions that the changesets of a line brought of `files`, the newest [`MOST_VERSIONS`] of each. `before` has those
    /// of the changeset before the line.
    ///
    /// # Errors
    /// A damaged changeset or manifest; [`HistoryError::Interrupted`].
    pub(crate) fn versions(
        &self,
        line: &[Rev],
        mut before: DataFiles,
        files: &DataFiles,
    ) -> Result<BTreeMap<Vec<u8>, Vec<DataVersion>>, HistoryError> {
        let mut versions = BTreeMap::<Vec<u8>, Vec<DataVersion>>::new();
        for changeset in line.iter().copied() {
            self.stop.check()?;
            for (path, node) in self.touched(changeset, files)? {
                if before.get(&path) == node.as_ref() {
                    continue;
                }
                match node {
                    Some(node) => before.insert(path.clone(), node),
                    None => before.remove(&path),
                };
                let of_file = versions.entry(path).or_default();
                of_file.push(DataVersion { changeset, node });
            }
        }
        for of_file in versions.values_mut() {
            of_file.drain(..of_file.len().saturating_sub(MOST_VERSIONS));
        }
        Ok(versions)
    }

    /// The files of which a changeset may have brought a version, as they are there: a merge names no file that it took from
    /// its second parent.
    fn touched(&self, changeset: Rev, files: &DataFiles) -> Result<Vec<PathState>, HistoryError> {
        let named: Vec<Vec<u8>> = match self.view.changelog().parents(changeset)[1] {
            Some(_) => files.keys().cloned().collect(),
            None => self.view.with_changeset(changeset, |changeset| {
                let named = changeset.files().filter(|path| files.contains_key(*path));
                named.map(<[u8]>::to_vec).collect()
            })?,
        };
        if named.is_empty() {
            return Ok(Vec::new());
        }
        let text = self.view.manifest_text(Some(changeset))?;
        let entry = |path: Vec<u8>| {
            let entry = self.view.find_in_manifest(&text, &path)?;
            let node = entry
                .filter(|entry| is_file(entry.kind))
                .map(|entry| entry.node);
            Ok::<_, HistoryError>((path, node))
        };
        named.into_iter().map(entry).collect()
    }
}

/// A link's text is a path.
fn is_file(kind: FileKind) -> bool {
    kind != FileKind::Symlink
}
