//! Merging another changeset, or its changes since a chosen base, into the working copy.
//!
//! As in an update, obstacles are found before anything is changed, our side of each conflict is kept in the merge
//! state, and the dirstate is written last. The working copy must be clean, so that our side is its first parent.

mod check;
mod chosen_base;
mod copy_mode;
mod destination;
mod explain;
mod record;
mod uncommitted;
mod untracked;

pub use check::check_merge;
pub use destination::{MergeDestination, merge_destination, rebase_destination};

use crate::file_merges::{MergeFile, MergeSettings, Merger, Outcome};
use crate::manifest_merge::{
    Base, CommitNote, FileAction, FileMerge, ManifestMerge, Tracing, merge_manifests,
};
use crate::merge_state::{FILENODE_SOURCE, FileExtras, REMOVAL_CANDIDATE, clear_merge};
use crate::tree::TreeEntry;
use crate::update::{
    Plan, Relocation, RenameNote, UpdateStep, apply, count, directories, note_begin, note_end,
};
use crate::{
    Comparison, Dirstate, MergeLabels, MergeOptions, Tree, UpdateEvent, UpdateObserver,
    UpdateStats, WorkdirError, WorkingFiles, path_copies,
};
use record::Recorder;
pub(crate) use record::record_deletion;
use varve_base::{Interrupt, Progress};
use varve_repo::{FileKind, Node, RepoView, Repository, Rev};

/// The base of a merge, and the parents that the working copy gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeBase {
    /// The common ancestors. The other changeset becomes the second parent.
    CommonAncestors,
    /// As [`MergeBase::CommonAncestors`], with one of several common ancestors that the user prefers.
    Ancestor(Rev),
    /// A chosen changeset, `None` for the null one: what the other changeset changed since then is brought here. The
    /// first parent stays the only one. Untracked files in the way are merged.
    Chosen(Option<Rev>),
    /// As [`MergeBase::Chosen`], for a changeset that moves.
    Moved {
        /// The chosen changeset.
        base: Option<Rev>,
        /// The second parent in the new place, which becomes that of the working copy too.
        second: Node,
        /// True if the changes join those of others in the working copy, with no commit in between.
        collapses: bool,
    },
}

impl MergeBase {
    /// The chosen changeset, if one was chosen.
    fn chosen(self) -> Option<Option<Rev>> {
        match self {
            MergeBase::CommonAncestors | MergeBase::Ancestor(_) => None,
            MergeBase::Chosen(base) | MergeBase::Moved { base, .. } => Some(base),
        }
    }
}

/// An order to merge another branch.
#[derive(Clone, Copy)]
pub struct MergeRequest<'a> {
    /// The repository; the caller holds the lock of its working copy.
    pub repository: &'a Repository,
    /// Has both changesets.
    pub view: &'a RepoView,
    /// The changeset to merge into the first parent.
    pub other: Rev,
    /// The base.
    pub base: MergeBase,
    /// Files of the working copy take part with their uncommitted changes, which [`MergeBase::Moved`] asks for too.
    pub keeps_changes: bool,
    /// The merge tool.
    pub tool: &'a MergeOptions,
    /// The names of the sides.
    pub labels: &'a MergeLabels,
    /// Receives the progress of long steps.
    pub progress: &'a dyn Progress,
    /// Ends the work early.
    pub stop: &'a Interrupt,
}

/// Merges a changeset into the working copy, which is clean. `dirstate` has been read under the lock.
///
/// # Errors
/// The refusals of [`check_merge`]; an obstacle, before anything is changed; a failure of the file system.
pub fn merge_changeset(
    request: &MergeRequest<'_>,
    dirstate: &mut Dirstate,
    observer: &mut dyn UpdateObserver,
) -> Result<UpdateStats, WorkdirError> {
    let MergeRequest {
        repository, view, ..
    } = *request;
    let first = dirstate.parents()[0];
    let node = view.changelog().node(request.other);
    let local = view.changelog().rev(&first);
    let (parent, theirs) = (Tree::of(view, local)?, Tree::of(view, Some(request.other))?);
    let collapses = matches!(
        request.base,
        MergeBase::Moved {
            collapses: true,
            ..
        }
    );
    let ours = match collapses || request.keeps_changes {
        true => uncommitted::working_tree(repository, dirstate, &parent, request.stop)?,
        false => parent.clone(),
    };
    let bases = bases(request, local)?;
    let mut merged = merge_manifests(&ours, &theirs, &bases)?;
    if follows_from(request, local) {
        take_theirs(&mut merged, &theirs)?;
    }
    explain::report_passed_over(&merged, observer);
    let trees = Sides {
        ours: &ours,
        theirs: &theirs,
        bases: &bases,
    };
    let mut plan = trees.plan(&merged)?;
    let files = WorkingFiles::of(repository);
    check_in_the_way(request, &files, &mut plan, &trees)?;
    let settings = MergeSettings {
        repository,
        view,
        tool: request.tool,
        labels: request.labels,
        stop: request.stop,
    };
    let merger = Merger::prepare(settings, &plan.merges, observer)?;
    let comparison = Comparison {
        ancestor: bases.first().map_or(Node::NULL, |base| base.node),
        ours: first,
        theirs: node,
        is_branch_merge: true,
        discards: false,
        is_forced: request.base.chosen().is_some() || request.keeps_changes,
        copies: merged.copies.as_ref(),
    };
    let report = explain::report(&plan, (&ours, &merged), &comparison, merger.observer)?;
    note_begin(repository, &node)?;
    clear_merge(repository)?;
    merger.keep()?;
    let backups = &request.tool.backups;
    crate::file_merges::keep_replaced(&plan.replaced, &files, backups)?;
    apply(&plan, view, (request.progress, request.stop))?;
    relocate(&plan, view, &files, merger.observer)?;
    report.before_merges(merger.observer);
    let outcomes = merger.merge_all([first, node], extras(&merged))?;
    let sides = (&parent, &node);
    record(request, dirstate, &plan, &outcomes, sides)?;
    dirstate.write(repository)?;
    note_end(repository)?;
    let mut stats = count(&plan, &outcomes);
    stats.updated += plan.relocations.len();
    Ok(stats)
}

/// Refuses untracked files and directories where files are to be written, or takes the former into the plan.
fn check_in_the_way(
    request: &MergeRequest<'_>,
    files: &WorkingFiles,
    plan: &mut Plan,
    trees: &Sides<'_>,
) -> Result<(), WorkdirError> {
    let (on_disk, settings) = ((files, request.repository.root()), &request.tool.untracked);
    let is_forced = request.base.chosen().is_some() || request.keeps_changes;
    if is_forced {
        untracked::merge(on_disk, plan, trees, settings)?;
    }
    untracked::check(on_disk, plan, trees, (settings, is_forced))?;
    directories::check(files, plan)
}

/// Puts the result into the dirstate, with the parents.
fn record(
    request: &MergeRequest<'_>,
    dirstate: &mut Dirstate,
    plan: &Plan,
    outcomes: &[Outcome],
    (ours, node): (&Tree<'_>, &Node),
) -> Result<(), WorkdirError> {
    Recorder {
        plan,
        outcomes,
        ours,
    }
    .record(dirstate)?;
    let first = dirstate.parents()[0];
    match request.base {
        MergeBase::CommonAncestors | MergeBase::Ancestor(_) => {
            dirstate.set_parents([first, *node]);
        }
        MergeBase::Moved { second, .. } if !second.is_null() => {
            dirstate.set_parents([first, second]);
        }
        MergeBase::Chosen(_) | MergeBase::Moved { .. } => {
            chosen_base::drop_second_parent(dirstate, ours, outcomes)?;
        }
    }
    let changelog = request.view.changelog();
    let before = match request.base {
        MergeBase::CommonAncestors | MergeBase::Ancestor(_) => return Ok(()),
        MergeBase::Chosen(base) => base,
        MergeBase::Moved {
            collapses: true, ..
        } => {
            let first = changelog.rev(&first);
            let copies = path_copies(request.view, first, Some(request.other))?;
            return chosen_base::record(dirstate, ours, copies);
        }
        // A merge has the copies since its first parent, whichever of the two is the base.
        MergeBase::Moved { .. } => changelog.parents(request.other)[0],
    };
    chosen_base::record_copies(dirstate, ours, before, request.other)
}

/// The bases of a merge, each with the way to trace copies over it.
fn bases<'v>(
    request: &MergeRequest<'v>,
    local: Option<Rev>,
) -> Result<Vec<Base<'v>>, WorkdirError> {
    let view = request.view;
    let mut bases = match (request.base, request.base.chosen()) {
        (_, Some(rev)) => vec![chosen_base(view, rev, [local, Some(request.other)])?],
        (MergeBase::Ancestor(rev), None) => vec![base(view, Some(rev))?],
        (_, None) => common_ancestors(view, local, request.other)?,
    };
    for base in &mut bases {
        base.tracing = copy_mode::tracing(request, local, base.node);
    }
    Ok(bases)
}

/// The common ancestors, by node as Mercurial takes them; the null changeset if there are none.
fn common_ancestors(
    view: &RepoView,
    local: Option<Rev>,
    other: Rev,
) -> Result<Vec<Base<'_>>, WorkdirError> {
    let heads = local.map(|local| view.common_ancestor_heads(local, other));
    let mut revs: Vec<Option<Rev>> = heads.unwrap_or_default().into_iter().map(Some).collect();
    revs.sort_by_key(|rev| view.changelog().node_or_null(*rev));
    if revs.is_empty() {
        revs.push(None);
    }
    revs.into_iter().map(|rev| base(view, rev)).collect()
}

fn base(view: &RepoView, rev: Option<Rev>) -> Result<Base<'_>, WorkdirError> {
    Ok(Base {
        node: view.changelog().node_or_null(rev),
        tree: Tree::of(view, rev)?,
        ours_ancestor: None,
        theirs_ancestor: None,
        tracing: Tracing::Full,
    })
}

/// A base that may be no ancestor of the sides.
fn chosen_base(
    view: &RepoView,
    rev: Option<Rev>,
    [ours, theirs]: [Option<Rev>; 2],
) -> Result<Base<'_>, WorkdirError> {
    let common = |side: Option<Rev>| -> Result<Option<Tree<'_>>, WorkdirError> {
        let Some(base) = rev else {
            return Ok(None);
        };
        let heads = side.map(|side| view.common_ancestor_heads(base, side));
        let head = heads.unwrap_or_default().into_iter().max();
        match head == Some(base) {
            true => Ok(None),
            false => Tree::of(view, head).map(Some),
        }
    };
    Ok(Base {
        ours_ancestor: common(ours)?,
        theirs_ancestor: common(theirs)?,
        ..base(view, rev)?
    })
}

/// Whether the other changeset follows from our side, with nothing of our own between. Common ancestors of two sides of
/// which one follows from the other are refused.
fn follows_from(request: &MergeRequest<'_>, local: Option<Rev>) -> bool {
    let is_chosen = request.base.chosen().is_some();
    local.is_none_or(|local| is_chosen && request.view.is_descendant(request.other, local))
}

/// Settles what one side deleted and the other changed as they have it: where they follow from us, we have neither
/// deleted nor changed anything since.
fn take_theirs(merged: &mut ManifestMerge, theirs: &Tree<'_>) -> Result<(), WorkdirError> {
    for (path, action) in &mut merged.actions {
        match action {
            FileAction::ChangedDeleted(_) => *action = FileAction::Remove,
            FileAction::DeletedChanged(_) => {
                if let Some((_, kind)) = theirs.get(path)? {
                    *action = FileAction::Get(kind);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Extras for the commit.
fn extras(merged: &ManifestMerge) -> FileExtras {
    let mut extras = FileExtras::new();
    for (path, note) in &merged.notes {
        let CommitNote {
            from_theirs,
            removal_candidate,
        } = *note;
        let of_path = extras.entry(path.clone()).or_default();
        if from_theirs {
            of_path.insert(FILENODE_SOURCE.to_vec(), b"other".to_vec());
        }
        if removal_candidate {
            of_path.insert(REMOVAL_CANDIDATE.to_vec(), b"yes".to_vec());
        }
    }
    extras
}

/// The trees of a merge.
struct Sides<'a> {
    ours: &'a Tree<'a>,
    theirs: &'a Tree<'a>,
    bases: &'a [Base<'a>],
}

impl Sides<'_> {
    /// The steps of a merge in the words of an update.
    fn plan(&self, merged: &ManifestMerge) -> Result<Plan, WorkdirError> {
        let mut plan = Plan::default();
        for (path, action) in &merged.actions {
            self.plan_one(&mut plan, path, action)?;
        }
        for (source, names) in &merged.divergent {
            plan.notes
                .push(RenameNote::Twice(source.clone(), names.clone()));
        }
        for (source, names) in &merged.renamed_and_deleted {
            plan.notes
                .push(RenameNote::Deleted(source.clone(), names.clone()));
        }
        plan.merges.sort_by(|a, b| a.order().cmp(&b.order()));
        plan.relocations
            .sort_by_key(|file| (file.theirs.is_some(), file.to.clone()));
        Ok(plan)
    }

    fn plan_one(
        &self,
        plan: &mut Plan,
        path: &[u8],
        action: &FileAction,
    ) -> Result<(), WorkdirError> {
        let relocated = |from: &[u8], kind: FileKind, theirs: Option<TreeEntry>| Relocation {
            from: from.to_vec(),
            to: path.to_vec(),
            theirs,
            kind,
        };
        let step = match action {
            FileAction::Keep | FileAction::KeepAbsent | FileAction::KeepNew => return Ok(()),
            FileAction::Get(kind) => {
                let Some((node, _)) = self.theirs.get(path)? else {
                    return Ok(());
                };
                UpdateStep::Write((node, *kind))
            }
            FileAction::SetKind(kind) => UpdateStep::Mode(*kind),
            FileAction::Remove => UpdateStep::Remove,
            FileAction::MoveOurs { from, kind } => {
                plan.relocations.push(relocated(from, *kind, None));
                return Ok(());
            }
            FileAction::GetMoved { from, kind } => {
                let theirs = self.theirs.get(from)?;
                plan.relocations.push(relocated(from, *kind, theirs));
                return Ok(());
            }
            FileAction::Merge(merge)
            | FileAction::ChangedDeleted(merge)
            | FileAction::DeletedChanged(merge) => {
                plan.merges.push(self.file(path, merge)?);
                return Ok(());
            }
        };
        plan.steps.insert(path.to_vec(), step);
        Ok(())
    }

    fn file(&self, path: &[u8], merge: &FileMerge) -> Result<MergeFile, WorkdirError> {
        let base = self.bases.iter().find(|base| base.node == merge.ancestor);
        let entry = |tree: Option<&Tree<'_>>, path: &Option<Vec<u8>>| {
            let (Some(tree), Some(path)) = (tree, path) else {
                return Ok(None);
            };
            let entry = tree.get(path)?;
            Ok::<_, WorkdirError>(entry.map(|entry| (path.clone(), entry)))
        };
        Ok(MergeFile {
            dest: path.to_vec(),
            ours: merge.ours.clone(),
            base: entry(base.map(|base| &base.tree), &merge.base)?,
            theirs: entry(Some(self.theirs), &merge.theirs)?,
            moves: merge.moves,
            ancestor: merge.ancestor,
        })
    }
}

/// Writes the files that follow a renamed directory.
fn relocate(
    plan: &Plan,
    view: &RepoView,
    files: &WorkingFiles,
    observer: &mut dyn UpdateObserver,
) -> Result<(), WorkdirError> {
    for relocation in &plan.relocations {
        let Relocation {
            from,
            to,
            theirs,
            kind,
        } = relocation;
        observer.on_event(&UpdateEvent::Decided(to, &explain::relocation(relocation)));
        let content = match theirs {
            Some((node, _)) => {
                observer.on_event(&UpdateEvent::GettingAs { from, to });
                view.file_content(from, node)?
            }
            None => {
                observer.on_event(&UpdateEvent::Moving { from, to });
                files.read(from)?.0
            }
        };
        files.audit(to)?;
        files.make_directories(to)?;
        files.write(to, &content, *kind)?;
        if theirs.is_none() {
            files.remove(from)?;
        }
    }
    Ok(())
}
