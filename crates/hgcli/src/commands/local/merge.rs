//! `merge`: another changeset into the working directory.

use super::attend::{self, Watcher};
use super::{unfinished, update};
use crate::arguments::{Flag, Matches};
use crate::context::{Category, Command, Config, Context, Repo, found_destination};
use crate::render::changesets;
use crate::ui::{Abort, Ui, short_hex};
use varve_repo::{LockKind, Node, RepoView, Repository, Rev};
use varve_revset::ChosenDestination;
use varve_workdir::{
    Dirstate, LocalChanges, MergeBase, MergeLabels, MergeRequest, MergeState, UpdateStats,
};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["merge"],
    options: &[
        Flag::flag(
            'f',
            "force",
            "merge into a working directory with changes (not advisable)",
        ),
        Flag::value('r', "rev", "REV", "the changeset to merge"),
        Flag::flag(
            'P',
            "preview",
            "show what would be merged, and merge nothing",
        ),
        Flag::long_flag("abort", "give up the merge that is under way"),
        Flag::value('t', "tool", "TOOL", "what merges files"),
    ],
    arguments: 0..=1,
    synopsis: "[-P] [[-r] REV]",
    summary: "merge another revision into working directory",
    help: "Brings all changes that REV has, and the parent of the working directory has not, into \
           the working directory. The next commit has both as its parents; it must come before any \
           other update.\n\n\
           Without REV that is the only other head of the branch, or of the active bookmark.\n\n\
           Files are merged line by line. Where both sides changed the same lines, both are left \
           in the file between marks, and the file waits for 'hg resolve'. TOOL may be what 'hg \
           help update' lists.\n\n\
           'hg merge --abort' brings back the files of the parent and loses all changes since.\n\n\
           Ends with 0; with 1 if files are unresolved.",
    category: Some(Category::WorkingDirectory),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    if matches.flag("abort") {
        return abort(repo, ui, config, matches);
    }
    let typed = match (matches.value("rev"), matches.arguments().first()) {
        (Some(_), Some(_)) => return Err(Abort::input("please specify just one revision")),
        (Some(typed), None) => Some(typed.to_vec()),
        (None, argument) => argument.cloned(),
    };
    if typed.is_none() && config.boolean("commands", "merge.require-rev", false)? {
        return Err(Abort::input(
            "configuration requires specifying revision to merge with",
        ));
    }
    let repository = repo.repository()?;
    if matches.flag("preview") {
        return preview(repo, ui, config, matches, typed.as_deref());
    }
    let lock = repo.lock(ui, LockKind::WorkingCopy)?;
    let mut dirstate = Dirstate::read(&repository)?;
    let place = (&repository, &dirstate);
    let other = other(repo, ui, place, typed.as_deref())?;
    let view = repo.view()?;
    let Some(other) = other else {
        return Err(Abort::from(varve_workdir::WorkdirError::MergesAncestor));
    };
    varve_workdir::check_merge(
        &repository,
        &view,
        &dirstate,
        (other, matches.flag("force")),
        &ui.stop,
    )?;
    let parents = [dirstate.parents()[0], view.changelog().node(other)];
    repo.before_update(ui, &parents)?;
    let base = preferred_ancestor(repo, ui, config, (parents[0], other))?;
    let sides = MergeSides {
        other,
        base,
        keeps_changes: matches.flag("force"),
        labels: &MergeLabels::of_merge(),
    };
    let place = (&repository, &*view);
    let merged = merge(ui, config, matches, place, &mut dirstate, &sides)?;
    repo.after_update(ui, &parents, merged.unresolved)?;
    drop(lock);
    report(ui, &merged)
}

/// The base among several common ancestors, by `merge.preferancestor`; all of them have a say unless that is set.
fn preferred_ancestor(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    (local, other): (Node, Rev),
) -> Result<MergeBase, Abort> {
    const ALL: &[u8] = b"*";
    let preferred = config.list("merge", "preferancestor");
    if preferred.is_empty() || preferred == [ALL] {
        return Ok(MergeBase::CommonAncestors);
    }
    let view = repo.view()?;
    let changelog = view.changelog();
    let local_rev = changelog.rev(&local);
    let heads = local_rev.map(|local| view.common_ancestor_heads(local, other));
    let mut heads: Vec<Rev> = heads.unwrap_or_default().into_iter().collect();
    heads.sort_by_key(|rev| changelog.node(*rev));
    if heads.len() < 2 {
        return Ok(MergeBase::CommonAncestors);
    }
    let named = preferred.iter().filter(|name| *name != ALL);
    // A name of nothing is passed over.
    let named = named.filter_map(|name| repo.revision(ui, Some(name)).ok().flatten());
    let chosen = named.into_iter().find(|rev| heads.contains(rev));
    let chosen = chosen.unwrap_or(heads[0]);
    let shown = |rev: Rev| short_hex(&changelog.node(rev));
    let others = heads.iter().filter(|rev| **rev != chosen);
    let others: Vec<String> = others.map(|rev| shown(*rev)).collect();
    ui.status(format!(
        "note: using {} as ancestor of {} and {}\n      alternatively, use --config \
         merge.preferancestor={}\n",
        shown(chosen),
        short_hex(&local),
        shown(other),
        others.join(" or "),
    ))?;
    Ok(MergeBase::Ancestor(chosen))
}

/// The changeset to merge; `None` is the null revision.
fn other(
    repo: &mut Repo,
    ui: &mut Ui,
    (repository, dirstate): (&Repository, &Dirstate),
    typed: Option<&[u8]>,
) -> Result<Option<Rev>, Abort> {
    if let Some(typed) = typed {
        return repo.revision(ui, Some(typed));
    }
    let view = repo.view()?;
    let found = varve_workdir::merge_destination(repository, &view, dirstate, None)?;
    found_destination(ChosenDestination::Merge, found).map(Some)
}

/// Shows the changesets that a merge would bring, oldest first.
fn preview(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    typed: Option<&[u8]>,
) -> Result<u8, Abort> {
    let repository = repo.repository()?;
    let dirstate = Dirstate::read(&repository)?;
    let place = (&repository, &dirstate);
    let other = other(repo, ui, place, typed)?;
    let view = repo.view()?;
    let local = view.changelog().rev(&dirstate.parents()[0]);
    let local: Vec<Rev> = local.into_iter().collect();
    let other: Vec<Rev> = other.into_iter().collect();
    let missing = view.missing_ancestors(&other, &local);
    let missing: Vec<Option<Rev>> = missing.into_iter().map(Some).collect();
    changesets::show(repo, ui, config, matches, &missing)?;
    Ok(0)
}

/// A changeset to merge into the working copy, and the base.
pub(crate) struct MergeSides<'a> {
    pub(crate) other: Rev,
    pub(crate) base: MergeBase,
    /// Uncommitted changes of the working copy are merged too.
    pub(crate) keeps_changes: bool,
    /// Names of the sides.
    pub(crate) labels: &'a MergeLabels,
}

/// Merges, and prints the steps.
pub(crate) fn merge(
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    (repository, view): (&Repository, &RepoView),
    dirstate: &mut Dirstate,
    sides: &MergeSides<'_>,
) -> Result<UpdateStats, Abort> {
    let tool = attend::tool_choice(config, matches.value("tool"))?;
    let progress = std::mem::replace(&mut ui.progress, Box::new(varve_base::Silent));
    let stop = ui.stop.clone();
    let request = MergeRequest {
        repository,
        view,
        other: sides.other,
        base: sides.base,
        keeps_changes: sides.keeps_changes,
        tool: &tool,
        labels: sides.labels,
        progress: progress.as_ref(),
        stop: &stop,
    };
    let mut watcher = Watcher::new(ui, config, sides.labels)?;
    let merged = varve_workdir::merge_changeset(&request, dirstate, &mut watcher);
    let told = watcher.finish();
    ui.progress = progress;
    told?;
    update::warn_of_untracked(ui, &merged)?;
    update::warn_of_lost_directory(ui, repository)?;
    Ok(merged?)
}

/// Prints the counts of a merge; returns the exit code.
pub(crate) fn report(ui: &mut Ui, merged: &UpdateStats) -> Result<u8, Abort> {
    update::print_stats(ui, merged)?;
    if merged.unresolved == 0 {
        ui.status("(branch merge, don't forget to commit)\n")?;
        return Ok(0);
    }
    ui.status(
        "use 'hg resolve' to retry unresolved file merges or 'hg merge --abort' to abandon\n",
    )?;
    Ok(update::UNRESOLVED)
}

/// `--abort`: the working directory of the first parent.
fn abort(repo: &mut Repo, ui: &mut Ui, config: &Config, matches: &Matches) -> Result<u8, Abort> {
    let repository = repo.repository()?;
    let lock = repo.lock(ui, LockKind::WorkingCopy)?;
    let mut dirstate = Dirstate::read(&repository)?;
    let [first, second] = dirstate.parents();
    let state = MergeState::read(&repository)?;
    if let Some(continuation) = unfinished::continuation(&repository)? {
        return Err(Abort::state("no merge in progress").hint(format!("continue: {continuation}")));
    }
    if second.is_null() && state.is_none() {
        return Err(Abort::state("no merge in progress"));
    }
    if matches.flag("preview") {
        return Err(Abort::input("cannot specify both --abort and --preview"));
    }
    if matches.value("rev").is_some() {
        return Err(Abort::input("cannot specify both --abort and --rev"));
    }
    if !matches.arguments().is_empty() {
        return Err(Abort::input("cannot specify a node with --abort"));
    }
    let local = state.map_or(first, |state| state.local);
    let line = format!(
        "aborting the merge, updating back to {}\n",
        short_hex(&local)
    );
    ui.status(line)?;
    let view = repo.view()?;
    let target = view.changelog().rev(&local);
    let parents = [local, Node::NULL];
    repo.before_update(ui, &parents)?;
    let place = (&repository, &*view);
    let local = LocalChanges::Discard;
    let updated = update::go_to(ui, config, matches, place, &mut dirstate, target, local)?;
    repo.after_update(ui, &parents, updated.unresolved)?;
    drop(lock);
    update::print_stats(ui, &updated)?;
    Ok(u8::from(updated.unresolved > 0))
}
