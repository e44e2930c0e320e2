//! The fate of each file when two changesets merge: decided from their manifests, before anything is read or
//! written in the working copy.
//!
//! The base is a common ancestor, or for a graft the parent of the grafted changeset. With several common ancestors
//! every one of them has its say about each file (see [`bids`]).

mod bids;
mod copy_report;
mod copy_tracing;
mod file_ancestry;
mod guessed_copies;
mod reasons;
pub(crate) use file_ancestry::FileAncestry;

pub use bids::{Auction, Bidder, Verdict};
pub(crate) use copy_report::NamesBySource;
pub use copy_report::{CopyReport, TracedCopy};
pub use reasons::Reason;

use crate::WorkdirError;
use crate::tree::differences;
use crate::tree::{Tree, TreeEntry};
pub(crate) use copy_tracing::renamed_directories;
use copy_tracing::{CopyTracing, NewFiles, Trees};
use std::collections::{BTreeMap, BTreeSet};
use varve_repo::{FileKind, Node};

/// A file that both sides have changed, with its name on each side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileMerge {
    /// Our name of it, unless we deleted it.
    pub ours: Option<Vec<u8>>,
    /// Their name of it, unless they deleted it.
    pub theirs: Option<Vec<u8>>,
    /// Its name in the base.
    pub base: Option<Vec<u8>>,
    /// Whether our name goes.
    pub moves: bool,
    /// The base.
    pub ancestor: Node,
}

/// The fate of one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileAction {
    /// Stays as we have it.
    Keep,
    /// Stays away as on our side.
    KeepAbsent,
    /// We alone have it, and it is new.
    KeepNew,
    /// Taken from their side, with this kind.
    Get(FileKind),
    /// Only its kind changes.
    SetKind(FileKind),
    /// Removed, as on their side.
    Remove,
    /// Our file `from` moves here with its directory.
    MoveOurs { from: Vec<u8>, kind: FileKind },
    /// Their file `from` is taken to this path of a directory that we renamed.
    GetMoved { from: Vec<u8>, kind: FileKind },
    /// Both sides changed it.
    Merge(FileMerge),
    /// We changed it and they deleted it.
    ChangedDeleted(FileMerge),
    /// We deleted it and they changed it.
    DeletedChanged(FileMerge),
}

/// Extras for the commit that follows, kept in the merge state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommitNote {
    /// Their revision of the file is the merged one.
    pub from_theirs: bool,
    /// One side has removed the file.
    pub removal_candidate: bool,
}

/// Search for copies and renames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tracing {
    /// All of them, by the ancestors of files.
    Full,
    /// By [a guess](guessed_copies), with so many files at most that come into question for one.
    Guessed(usize),
    /// Names are taken as they are.
    Off,
}

/// The plan of a merge.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ManifestMerge {
    /// By the path of the result; paths that both sides have alike are absent.
    pub actions: BTreeMap<Vec<u8>, FileAction>,
    /// By path.
    pub notes: BTreeMap<Vec<u8>, CommitNote>,
    /// Files that both sides renamed, each to other names.
    pub divergent: NamesBySource,
    /// Files that one side renamed and the other deleted.
    pub renamed_and_deleted: NamesBySource,
    /// Copies since the ancestor, if there is one ancestor and there are any.
    pub copies: Option<CopyReport>,
    /// Files for which too many others come into question, with the number of these.
    pub passed_over: Vec<(Vec<u8>, usize)>,
    /// How the choice among several ancestors went.
    pub auction: Option<Auction>,
}

/// A base with its changeset.
pub(crate) struct Base<'a> {
    pub node: Node,
    pub tree: Tree<'a>,
    /// The common ancestor with our side, unless the base is an ancestor of that.
    pub ours_ancestor: Option<Tree<'a>>,
    /// The same for their side.
    pub theirs_ancestor: Option<Tree<'a>>,
    pub tracing: Tracing,
}

/// Plans the merge of two trees over their common ancestors.
///
/// # Errors
/// Damage in the repository.
pub(crate) fn merge_manifests(
    ours: &Tree<'_>,
    theirs: &Tree<'_>,
    bases: &[Base<'_>],
) -> Result<ManifestMerge, WorkdirError> {
    let differing = differences(ours, theirs)?;
    let mut plans = Vec::new();
    for base in bases {
        let trees = Trees {
            base: &base.tree,
            ours,
            theirs,
            ours_ancestor: base.ours_ancestor.as_ref(),
            theirs_ancestor: base.theirs_ancestor.as_ref(),
        };
        let is_one_of_several = bases.len() > 1;
        let planner = Planner::new(trees, (base.node, base.tracing), is_one_of_several)?;
        plans.push(planner.plan(&differing)?);
    }
    Ok(match plans.len() {
        0 => ManifestMerge::default(),
        1 => plans.swap_remove(0),
        _ => bids::choose(
            bases.iter().map(|base| base.node).zip(plans).collect(),
            ours,
        )?,
    })
}

/// A path that differs, as we and as they have it.
type Differing<'d> = (&'d [u8], Option<TreeEntry>, Option<TreeEntry>);

struct Planner<'a> {
    trees: Trees<'a>,
    ancestor: Node,
    /// Whether there are other common ancestors.
    is_one_of_several: bool,
    copies: CopyTracing,
    /// Paths that a copy or a renamed directory on the other side takes care of.
    settled_by_ours: BTreeSet<Vec<u8>>,
    settled_by_theirs: BTreeSet<Vec<u8>>,
    plan: ManifestMerge,
}

impl<'a> Planner<'a> {
    fn new(
        trees: Trees<'a>,
        (ancestor, tracing): (Node, Tracing),
        is_one_of_several: bool,
    ) -> Result<Self, WorkdirError> {
        let new = NewFiles {
            ours: new_files(trees.base, trees.ours)?,
            theirs: new_files(trees.base, trees.theirs)?,
        };
        let copies = match tracing {
            Tracing::Full => CopyTracing::find(trees, &new)?,
            Tracing::Guessed(most) => CopyTracing::guess(trees, &new, most)?,
            Tracing::Off => CopyTracing::default(),
        };
        let settled = |side: &copy_tracing::SideCopies| {
            let paths = side.copies.values().chain(side.moves.values());
            paths.cloned().collect()
        };
        Ok(Planner {
            settled_by_ours: settled(&copies.ours),
            settled_by_theirs: settled(&copies.theirs),
            trees,
            ancestor,
            is_one_of_several,
            copies,
            plan: ManifestMerge::default(),
        })
    }

    fn plan(mut self, differing: &[Differing<'_>]) -> Result<ManifestMerge, WorkdirError> {
        for (path, ours, theirs) in differing {
            match (ours, theirs) {
                (Some(ours), Some(theirs)) => self.plan_both(path, *ours, *theirs)?,
                (Some(ours), None) => self.plan_ours(path, *ours)?,
                (None, Some(theirs)) => self.plan_theirs(path, *theirs)?,
                (None, None) => {}
            }
        }
        self.plan.copies = self.copies.report;
        self.plan.divergent = self.copies.divergent;
        self.plan.renamed_and_deleted = self.copies.renamed_and_deleted;
        self.plan.passed_over = self.copies.passed_over;
        Ok(self.plan)
    }

    fn set(&mut self, path: &[u8], action: FileAction) {
        self.plan.actions.insert(path.to_vec(), action);
    }

    fn note(&mut self, path: &[u8]) -> &mut CommitNote {
        self.plan.notes.entry(path.to_vec()).or_default()
    }

    fn merge(&self, ours: Option<&[u8]>, theirs: Option<&[u8]>, base: Option<&[u8]>) -> FileMerge {
        FileMerge {
            ours: ours.map(<[u8]>::to_vec),
            theirs: theirs.map(<[u8]>::to_vec),
            base: base.map(<[u8]>::to_vec),
            moves: false,
            ancestor: self.ancestor,
        }
    }

    /// A path that both sides have.
    fn plan_both(
        &mut self,
        path: &[u8],
        ours: TreeEntry,
        theirs: TreeEntry,
    ) -> Result<(), WorkdirError> {
        let Some(base) = self.trees.base.get(path)? else {
            // A copy on either side tells the base, even if the other side has made the file anew.
            let (ours, theirs) = (&self.copies.ours.copies, &self.copies.theirs.copies);
            let source = ours.get(path).or_else(|| theirs.get(path));
            let merge = self.merge(Some(path), Some(path), source.map(Vec::as_slice));
            self.set(path, FileAction::Merge(merge));
            return Ok(());
        };
        let no_link = ![ours.1, theirs.1, base.1].contains(&FileKind::Symlink);
        let action = if theirs == base {
            FileAction::Keep
        } else if ours == base && ours.0 == theirs.0 {
            FileAction::SetKind(theirs.1)
        } else if ours == base {
            self.note(path).from_theirs = true;
            FileAction::Get(theirs.1)
        } else if no_link && theirs.0 == base.0 {
            FileAction::SetKind(merged_kind(base.1, ours.1, theirs.1))
        } else if no_link && ours.0 == base.0 {
            self.note(path).from_theirs = true;
            FileAction::Get(merged_kind(base.1, ours.1, theirs.1))
        } else {
            FileAction::Merge(self.merge(Some(path), Some(path), Some(path)))
        };
        self.set(path, action);
        Ok(())
    }

    /// A path that only our side has.
    fn plan_ours(&mut self, path: &[u8], ours: TreeEntry) -> Result<(), WorkdirError> {
        if self.settled_by_theirs.contains(path) {
            return Ok(());
        }
        if let Some(moved) = self.copies.ours.moves.get(path).cloned() {
            let action = match self.trees.theirs.get(&moved)? {
                Some(_) => FileAction::Merge(FileMerge {
                    moves: true,
                    ..self.merge(Some(path), Some(&moved), None)
                }),
                None => FileAction::MoveOurs {
                    from: path.to_vec(),
                    kind: ours.1,
                },
            };
            self.set(&moved, action);
            return Ok(());
        }
        if let Some(source) = self.copies.ours.copies.get(path).cloned() {
            let merge = self.merge(Some(path), Some(&source), Some(&source));
            self.set(path, FileAction::Merge(merge));
            return Ok(());
        }
        match self.trees.base.get(path)? {
            None => self.set(path, FileAction::KeepNew),
            Some(base) => {
                self.note(path).removal_candidate = true;
                // A file of which only the kind changed counts as unchanged here.
                let action = match base.0 == ours.0 {
                    true => FileAction::Remove,
                    false => FileAction::ChangedDeleted(self.merge(Some(path), None, Some(path))),
                };
                self.set(path, action);
            }
        }
        Ok(())
    }

    /// A path that only their side has.
    fn plan_theirs(&mut self, path: &[u8], theirs: TreeEntry) -> Result<(), WorkdirError> {
        if self.settled_by_ours.contains(path) {
            return Ok(());
        }
        if let Some(moved) = self.copies.theirs.moves.get(path).cloned() {
            let action = match self.trees.ours.get(&moved)? {
                Some(_) => FileAction::Merge(self.merge(Some(&moved), Some(path), None)),
                None => FileAction::GetMoved {
                    from: path.to_vec(),
                    kind: theirs.1,
                },
            };
            self.set(&moved, action);
            return Ok(());
        }
        if let Some(source) = self.copies.theirs.copies.get(path).cloned() {
            let merge = FileMerge {
                moves: self.trees.theirs.get(&source)?.is_none(),
                ..self.merge(Some(&source), Some(path), Some(&source))
            };
            self.set(path, FileAction::Merge(merge));
            return Ok(());
        }
        let Some(base) = self.trees.base.get(path)? else {
            self.set(path, FileAction::Get(theirs.1));
            return Ok(());
        };
        if base.0 == theirs.0 {
            // Mercurial notes this only where it looks at all files.
            if self.is_one_of_several {
                self.note(path).removal_candidate = true;
            }
            self.set(path, FileAction::KeepAbsent);
            return Ok(());
        }
        if let Some(moved) = self.moved_by_us(path)
            && self.trees.ours.get(&moved)?.is_some()
        {
            let merge = self.merge(Some(&moved), Some(path), Some(path));
            self.set(&moved, FileAction::Merge(merge));
            return Ok(());
        }
        self.note(path).removal_candidate = true;
        let merge = self.merge(None, Some(path), Some(path));
        self.set(path, FileAction::DeletedChanged(merge));
        Ok(())
    }

    /// Where a file is that was in a directory that we renamed.
    fn moved_by_us(&self, path: &[u8]) -> Option<Vec<u8>> {
        let mut directories = self.copies.ours.directories.iter();
        let (from, to) = directories.find(|(from, _)| path.starts_with(from))?;
        Some([&to[..], &path[from.len()..]].concat())
    }
}

/// The kind of a file of which one side or both changed the kind.
fn merged_kind(base: FileKind, ours: FileKind, theirs: FileKind) -> FileKind {
    match ours == base {
        true => theirs,
        false => ours,
    }
}

fn new_files(base: &Tree<'_>, side: &Tree<'_>) -> Result<BTreeSet<Vec<u8>>, WorkdirError> {
    let added = differences(base, side)?.into_iter();
    let added = added.filter(|(_, before, _)| before.is_none());
    Ok(added.map(|(path, ..)| path.to_vec()).collect())
}
