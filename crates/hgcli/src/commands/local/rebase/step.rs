//! Rebasing one changeset in the working copy.

use super::run::RebaseRun;
use crate::commands::local::commit::{self, metadata};
use crate::commands::local::merge::{self, MergeSides};
use crate::commands::local::update;
use crate::ui::{Abort, Ui};
use varve_lang::patterns::Matcher;
use varve_repo::{Node, Phase, RepoView, Rev};
use varve_workdir::{
    ChangesetMetadata, CommitMetadata, Dirstate, LocalChanges, MergeBase, MergeLabels,
    RebaseParents, RebaseRefusal, Status, message,
};

/// Extra key that names the old changeset.
const SOURCE: &[u8] = b"rebase_source";
/// Extra keys that are kept: those of grafts.
const KEPT_EXTRAS: [&[u8]; 2] = [b"source", b"intermediate-source"];

/// Brings a changeset to its new place and commits it there.
///
/// # Errors
/// [`Abort::Intervention`] if files are left with conflicts.
pub(super) fn rebase(run: &mut RebaseRun<'_>, rev: Rev) -> Result<(), Abort> {
    let view = run.repo.view()?;
    let shown = run.describe(&view, rev)?;
    if run.announced.take() != Some(rev) {
        run.ui.status([b"rebasing ", &shown[..], b"\n"].concat())?;
    }
    let place = run.targets.parents(&view, rev)?;
    let place = match place {
        Ok(place) => place,
        Err(refusal) => {
            if let Some(at) = run.left_at.filter(|_| !run.is_in_memory()) {
                go_to(run, &view, at)?;
            }
            return Err(refused(run, refusal)?);
        }
    };
    let is_there = Dirstate::read(run.repository)?.parents()[0] == place.parents[0];
    let is_merged = std::mem::take(&mut run.resumes) && is_there;
    if !is_merged {
        if run.is_in_memory() && !run.collapses {
            commit::refuse_changes(run.ui, run.repository)?;
        }
        bring(run, &view, rev, &place)?;
    }
    if run.collapses {
        run.targets.done.insert(rev, Some(place.parents[0]));
        return Ok(());
    }
    match commit_one(run, &view, rev, &place)? {
        Some(node) => drop(run.targets.done.insert(rev, Some(node))),
        None => run.skip(rev, place.parents[0], &shown)?,
    }
    Ok(())
}

/// Mercurial's words for a changeset that cannot be rebased.
pub(super) fn refused(run: &mut RebaseRun<'_>, refusal: RebaseRefusal) -> Result<Abort, Abort> {
    let mut named = |rev: Rev| run.repo.rev_and_hex(rev);
    Ok(match refusal {
        RebaseRefusal::NoParentMoves(rev) => Abort::input(format!(
            "cannot rebase {} without moving at least one of its parents",
            named(rev)?
        )),
        RebaseRefusal::SourceIsAncestor => Abort::input("source is ancestor of destination"),
        RebaseRefusal::UnwantedChanges(rev, lists) => {
            let mut words = Vec::new();
            for list in lists {
                let list = list.into_iter().map(&mut named);
                words.push(list.collect::<Result<Vec<String>, Abort>>()?.join(", "));
            }
            Abort::input(format!(
                "rebasing {} will include unwanted changes from {}",
                named(rev)?,
                words.join(" or ")
            ))
        }
    })
}

/// Merges the changes of a changeset into the working copy, which goes to the new parent.
fn bring(
    run: &mut RebaseRun<'_>,
    view: &RepoView,
    rev: Rev,
    place: &RebaseParents,
) -> Result<(), Abort> {
    go_to(run, view, place.parents[0])?;
    let labels = MergeLabels::of_rebase();
    let sides = MergeSides {
        other: rev,
        base: MergeBase::Moved {
            base: place.base,
            second: place.parents[1],
            collapses: run.collapses,
        },
        keeps_changes: false,
        labels: &labels,
    };
    let mut dirstate = Dirstate::read(run.repository)?;
    let (ui, config, matches) = (&mut *run.ui, run.config, run.matches);
    let at = (run.repository, view);
    let merged = merge::merge(ui, config, matches, at, &mut dirstate, &sides)?;
    match merged.unresolved {
        0 => Ok(()),
        _ => Err(Abort::Intervention(
            "unresolved conflicts (see 'hg resolve', then 'hg rebase --continue')",
        )),
    }
}

/// Gives the working copy the files of a changeset, unless it has them.
pub(super) fn go_to(run: &mut RebaseRun<'_>, view: &RepoView, target: Node) -> Result<(), Abort> {
    let parents = Dirstate::read(run.repository)?.parents();
    // What was brought before and is not committed stays.
    let is_there = parents[0] == target && (run.collapses || parents[1].is_null());
    match is_there {
        true => Ok(()),
        false => update_to(run, view, target),
    }
}

/// Gives the working copy the files of a changeset, whatever it has now.
pub(super) fn update_to(
    run: &mut RebaseRun<'_>,
    view: &RepoView,
    target: Node,
) -> Result<(), Abort> {
    let mut dirstate = Dirstate::read(run.repository)?;
    let parents = [target, Node::NULL];
    run.repo.before_update(run.ui, &parents)?;
    let at = (run.repository, view);
    let rev = view.changelog().rev(&target);
    let (ui, config, matches) = (&mut *run.ui, run.config, run.matches);
    let local = LocalChanges::Discard;
    let updated = update::go_to(ui, config, matches, at, &mut dirstate, rev, local)?;
    run.repo.after_update(run.ui, &parents, updated.unresolved)
}

/// Commits the working copy as the copy of `rev`; `None` if nothing changed.
fn commit_one(
    run: &mut RebaseRun<'_>,
    view: &RepoView,
    rev: Rev,
    place: &RebaseParents,
) -> Result<Option<Node>, Abort> {
    let repository = run.repository;
    commit::refuse_unresolved(repository)?;
    let mut dirstate = Dirstate::read(repository)?;
    let everything = Matcher::everything();
    let status = commit::working_changes(run.ui, repository, &everything, &mut dirstate)?;
    let mut old = ChangesetMetadata::read(view, rev)?;
    old.description = run.with_new_names(old.description)?;
    let branch = branch(run, view, &old, place.parents[0])?;
    let is_merge = !place.parents[1].is_null();
    let is_unchanged = status.is_unchanged() && branch.is_same_as_parent && !is_merge;
    if is_unchanged && !keeps_empty(run)? {
        dirstate.write(repository)?;
        varve_workdir::clear_merge(repository)?;
        return Ok(None);
    }
    let description = match run.matches.flag("edit") {
        true => {
            let form = if is_merge {
                "rebase.merge"
            } else {
                "rebase.normal"
            };
            edited(run, &old, &branch.name, &status, (is_merge, form))?
        }
        false => old.description.clone(),
    };
    let extras = extras(view, rev, &old);
    let extras: Vec<(&[u8], &[u8])> = extras.iter().map(|(k, v)| (&k[..], &v[..])).collect();
    let words = CommitMetadata {
        user: &old.user,
        date: old.date,
        branch: &branch.name,
        extras: &extras,
        description: &description,
        phase: phase(view, rev),
    };
    let whom = (&mut *run.repo, &mut *run.ui, run.config);
    let (node, _) = commit::commit_changes(whom, &mut dirstate, (&status, None), &words)?;
    varve_workdir::set_branch(repository, &branch.name)?;
    if is_unchanged {
        let shown = run.describe(view, rev)?;
        note_empty(run.ui, &shown)?;
    }
    Ok(Some(node))
}

/// Says that the copy of a changeset has no changes.
pub(super) fn note_empty(ui: &mut Ui, shown: &[u8]) -> Result<(), Abort> {
    let words = b", its destination already has all its changes\n";
    ui.warn([b"note: created empty successor for ", shown, words].concat())
}

/// Whether a changeset that becomes empty is made all the same.
pub(super) fn keeps_empty(run: &RebaseRun<'_>) -> Result<bool, Abort> {
    let keeps = match run.config.text("rewrite", "empty-successor").as_deref() {
        Some("keep") => true,
        Some("skip") | None => false,
        Some(other) => {
            return Err(Abort::of_kind(
                crate::ui::FailureKind::Configuration,
                format!("unknown value for rewrite.empty-successor: {other}"),
            ));
        }
    };
    Ok(keeps || run.config.boolean("ui", "allowemptycommit", false)?)
}

/// The branch of a copy.
pub(super) struct NewBranch {
    pub(super) name: Vec<u8>,
    pub(super) is_same_as_parent: bool,
}

/// The branch of the old changeset if branches are kept, else that of the new parent. If the first changeset, or the only
/// one of a collapse, goes onto the parent of the working copy, there is no update to it, and the branch that is set there counts.
pub(super) fn branch(
    run: &RebaseRun<'_>,
    view: &RepoView,
    old: &ChangesetMetadata,
    parent: Node,
) -> Result<NewBranch, Abort> {
    let mut new = of_branches(run, old, branch_of(view, &parent)?);
    let is_first = run.collapses || run.targets.done.values().all(Option::is_none);
    if is_first && parent == run.original && !run.keeps_branches {
        new.name.clone_from(&run.original_branch);
        new.is_same_as_parent = true;
    }
    Ok(new)
}

/// The branch of a changeset, which may be the null one.
pub(super) fn branch_of(view: &RepoView, node: &Node) -> Result<Vec<u8>, Abort> {
    Ok(match view.changelog().rev(node) {
        Some(rev) => view.with_changeset(rev, |changeset| changeset.branch().into_owned())?,
        None => varve_repo::DEFAULT_BRANCH.to_vec(),
    })
}

pub(super) fn of_branches(
    run: &RebaseRun<'_>,
    old: &ChangesetMetadata,
    of_parent: Vec<u8>,
) -> NewBranch {
    let name = match run.keeps_branches {
        true => old.branch.clone(),
        false => of_parent.clone(),
    };
    NewBranch {
        is_same_as_parent: name == of_parent,
        name,
    }
}

/// Copies are drafts at least, and as secret as the old changesets.
pub(super) fn phase(view: &RepoView, rev: Rev) -> Phase {
    view.phases().of(rev).max(Phase::Draft)
}

/// The extras of the copy of `rev`.
pub(super) fn extras(
    view: &RepoView,
    rev: Rev,
    old: &ChangesetMetadata,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let hex = view.changelog().node(rev).to_hex().to_vec();
    let kept = old
        .extras
        .iter()
        .filter(|(key, _)| KEPT_EXTRAS.contains(&&key[..]));
    kept.cloned().chain([(SOURCE.to_vec(), hex)]).collect()
}

/// The description as the user's editor leaves it.
pub(super) fn edited(
    run: &mut RebaseRun<'_>,
    old: &ChangesetMetadata,
    branch: &[u8],
    status: &Status,
    (is_merge, form): (bool, &'static str),
) -> Result<Vec<u8>, Abort> {
    let notes = message::EditorNotes {
        user: &old.user,
        branch,
        is_merge,
        bookmark: None,
        status,
    };
    let draft = metadata::DescriptionDraft {
        typed: old.description.clone(),
        edits: true,
        form,
    };
    metadata::edited(run.ui, draft, &notes)
}
