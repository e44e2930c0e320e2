//! Moving changesets to another branch.

use crate::commands::local::commit;
use crate::commands::local::commit::metadata::write_options;
use crate::commands::local::rewrite::{self, Replacement, RewriteEnd, refusal};
use crate::commands::local::strip::UNCALLED_HOOKS;
use crate::context::{Config, Repo};
use crate::ui::{Abort, Ui};
use std::collections::BTreeSet;
use varve_repo::{DEFAULT_BRANCH, LockKind, RepoView, Repository, Rev, ViewFilter};
use varve_workdir::{AmendRefusal, BranchChange, Dirstate, RebranchedChangeset};

/// Name of the command in refusals.
const OPERATION: &str = "change branch of";
/// Name of the command in markers and bundles.
const END: RewriteEnd<'_> = RewriteEnd::replacing("branch-change");

/// Puts changesets of the branch `name` in the place of those that `specs` mean. The caller holds the lock of the working
/// copy.
pub(super) fn change(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    specs: &[&[u8]],
    (name, force): (&[u8], bool),
) -> Result<u8, Abort> {
    let repository = repo.repository()?;
    let mut dirstate = Dirstate::read(&repository)?;
    if !dirstate.parents()[1].is_null() {
        return Err(Abort::state("outstanding uncommitted merge"));
    }
    commit::refuse_changes(ui, &repository)?;
    let revs = chosen((repo, ui, config), specs)?;
    check_name(repo, &revs, (name, force))?;
    let made = commit_again(
        (repo, ui, config),
        (&repository, &mut dirstate),
        (&revs, name),
    )?;
    let replacements: Vec<Replacement> = made
        .iter()
        .map(|moved| Replacement::of(&moved.done))
        .collect();
    if !replacements.is_empty() {
        rewrite::finish((repo, ui, config), &repository, &replacements, &END)?;
    }
    Ok(0)
}

/// The changesets, each of which but one has another as its parent, if all may be rewritten.
fn chosen(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    specs: &[&[u8]],
) -> Result<BTreeSet<Rev>, Abort> {
    let named = repo.revisions_and_null(ui, specs)?;
    if named.is_empty() {
        return Err(Abort::input("empty revision set"));
    }
    let revs: BTreeSet<Rev> = named.iter().flatten().copied().collect();
    let view = repo.view()?;
    let is_root = |rev: &&Rev| {
        let parents = view.changelog().parents(**rev);
        !parents.iter().flatten().any(|rev| revs.contains(rev))
    };
    let has_null = named.iter().any(Option::is_none);
    if revs.iter().filter(is_root).count() + usize::from(has_null) > 1 {
        let message = "cannot change branch of non-linear revisions";
        return Err(Abort::input(message));
    }
    if has_null {
        let refusal = AmendRefusal::NullParent.into();
        return Err(refusal::words(refusal, OPERATION, ui.verbosity.verbose));
    }
    refusal::check_all((repo, ui, config), &revs, OPERATION)?;
    check_heads(&view, &revs)?;
    if !config.evolution()?.markers {
        repo.refuse_hooks("branch --rev", UNCALLED_HOOKS)?;
    }
    Ok(revs)
}

/// Refuses changesets of which the last ones are followed by others of their branch.
fn check_heads(view: &RepoView, revs: &BTreeSet<Rev>) -> Result<(), Abort> {
    let parents = revs.iter().flat_map(|rev| view.changelog().parents(*rev));
    let followed: BTreeSet<Rev> = parents.flatten().collect();
    let branches = view.branchmap()?.values();
    let heads: BTreeSet<Rev> = branches.flat_map(|branch| branch.heads.clone()).collect();
    match revs.difference(&followed).all(|last| heads.contains(last)) {
        true => Ok(()),
        false => Err(Abort::input("cannot change branch in middle of a stack")),
    }
}

/// Refuses a branch that is there, and is not the one that the changesets follow.
fn check_name(
    repo: &mut Repo,
    revs: &BTreeSet<Rev>,
    (name, force): (&[u8], bool),
) -> Result<(), Abort> {
    let view = repo.view()?;
    if force || !view.branchmap()?.contains_key(name) {
        return Ok(());
    }
    let root = revs.first().copied();
    let parents = root.map_or([None; 2], |root| view.changelog().parents(root));
    let mut below = Vec::new();
    for parent in parents.into_iter().flatten() {
        below.push(view.with_changeset(parent, |changeset| changeset.branch().into_owned())?);
    }
    if below.is_empty() {
        below.push(DEFAULT_BRANCH.to_vec());
    }
    match below.iter().any(|branch| branch == name) {
        true => Ok(()),
        false => Err(Abort::input("a branch of the same name already exists")),
    }
}

fn commit_again(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    (repository, dirstate): (&Repository, &mut Dirstate),
    (revs, name): (&BTreeSet<Rev>, &[u8]),
) -> Result<Vec<RebranchedChangeset>, Abort> {
    let lock = repo.lock(ui, LockKind::Store)?;
    let view = repository.view_for(ViewFilter::Unfiltered)?;
    let keeps_branch = config.evolution()?.markers || is_on_branch_of_parent(repository, dirstate)?;
    let revs: Vec<Rev> = revs.iter().copied().collect();
    let before = dirstate.parents();
    let request = BranchChange {
        view: &view,
        revs: &revs,
        branch: name,
        stop: &ui.stop.clone(),
    };
    let options = write_options(config, repository)?;
    let mut batch = repository.begin_named(lock, options, "branches")?;
    let made = varve_workdir::change_branch(repository, &mut batch, dirstate, &request)?;
    for moved in &made {
        print_steps(ui, moved, name)?;
    }
    if dirstate.parents() != before {
        if !keeps_branch {
            drop(batch);
            ui.warn_of_rollback()?;
            return Err(Abort::state("uncommitted changes")
                .hint("commit or update --clean to discard changes"));
        }
        ui.note("resolving manifests\n")?;
    }
    let changed = made.iter().filter(|moved| moved.old_branch != name).count();
    ui.status(format!("changed branch on {changed} changesets\n"))?;
    batch.finish()?;
    dirstate.write(repository)?;
    repo.refresh();
    Ok(made)
}

/// True unless the next commit is to begin a branch, which the working copy would lose.
fn is_on_branch_of_parent(repository: &Repository, dirstate: &Dirstate) -> Result<bool, Abort> {
    let view = repository.view_for(ViewFilter::Unfiltered)?;
    let of_parent = match view.changelog().rev(&dirstate.parents()[0]) {
        Some(rev) => view.with_changeset(rev, |changeset| changeset.branch().into_owned())?,
        None => DEFAULT_BRANCH.to_vec(),
    };
    Ok(varve_workdir::branch(repository)? == of_parent)
}

fn print_steps(ui: &mut Ui, moved: &RebranchedChangeset, name: &[u8]) -> Result<(), Abort> {
    let words = [
        &b"changing branch of '"[..],
        &moved.done.old.to_hex(),
        b"' from '",
        &ui.local(&moved.old_branch),
        b"' to '",
        &ui.local(name),
        b"'\n",
    ];
    ui.debug(words.concat())?;
    rewrite::note_commit(ui, &moved.done)?;
    ui.debug(format!("new node id is {}\n", ui.hex(&moved.done.node)))
}
