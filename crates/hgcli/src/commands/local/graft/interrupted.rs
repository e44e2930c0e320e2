//! Going on with a graft that left conflicts, and giving it up.

use super::step::{self, GraftRun, GraftSettings};
use crate::arguments::Matches;
use crate::commands::local::commit::metadata;
use crate::commands::local::{unfinished, update};
use crate::context::{Config, Repo};
use crate::ui::{Abort, Ui, short_hex};
use varve_repo::{LockKind, Node, Phase, RepoView, Repository, Rev};
use varve_workdir::{Dirstate, GraftState, LocalChanges};

/// `--continue`.
pub(super) fn go_on(run: &mut GraftRun<'_>) -> Result<u8, Abort> {
    if !run.matches.arguments().is_empty() || !run.matches.list("rev").is_empty() {
        return Err(Abort::input("can't specify --continue and revisions"));
    }
    let state = GraftState::read(run.repository)?;
    let Some(state) = state else {
        let abort = Abort::state("no graft in progress");
        return Err(match unfinished::continuation(run.repository)? {
            Some(continuation) => abort.hint(format!("continue: {continuation}")),
            None => abort,
        });
    };
    let typed = GraftSettings::of_options(run.ui, run.matches)?;
    let settings = GraftSettings::of_state(&state, typed);
    if settings.no_commit && state.nodes.len() > 1 {
        return Err(Abort::input(
            "graft --no-commit of more than one revision is not supported",
        ));
    }
    step::graft_all(run, &settings, state.nodes, state.new_nodes, true)
}

/// `--stop`: the working copy as it was after the last commit.
pub(super) fn stop(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    repository: &Repository,
) -> Result<u8, Abort> {
    if GraftState::read(repository)?.is_none() {
        return Err(Abort::state("no interrupted graft found"));
    }
    let view = repo.view()?;
    let parent = Dirstate::read(repository)?.parents()[0];
    go_back(repo, ui, config, matches, (repository, &view), parent)?;
    GraftState::clear(repository)?;
    ui.status("stopped the interrupted graft\n")?;
    print_parent(ui, &parent)
}

/// `--abort`: as it was before the graft, without the changesets that it has made.
pub(super) fn abort(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    repository: &Repository,
) -> Result<u8, Abort> {
    let state = GraftState::read(repository)?;
    let state = state.ok_or_else(|| Abort::state("no interrupted graft to abort"))?;
    let view = repo.view()?;
    let changelog = view.changelog();
    let made: Vec<Rev> = state
        .new_nodes
        .iter()
        .filter_map(|node| changelog.rev(node))
        .collect();
    let cleans = may_strip(ui, &view, &made)?;
    let mut target = Dirstate::read(repository)?.parents()[0];
    if let (true, Some(first)) = (cleans, made.iter().min()) {
        target = changelog.node_or_null(changelog.parents(*first)[0]);
    }
    go_back(repo, ui, config, matches, (repository, &view), target)?;
    if cleans && !made.is_empty() {
        let nodes: Vec<Node> = made.iter().map(|rev| changelog.node(*rev)).collect();
        let lock = repo.lock(ui, LockKind::Store)?;
        let options = metadata::strip_options(config, repository)?;
        repository.strip(lock, &nodes, options, &ui.stop)?;
        repo.refresh();
    }
    GraftState::clear(repository)?;
    ui.status("graft aborted\n")?;
    print_parent(ui, &target)
}

/// Whether the changesets that the graft has made can go; says why not.
fn may_strip(ui: &mut Ui, view: &RepoView, made: &[Rev]) -> Result<bool, Abort> {
    let changelog = view.changelog();
    let public = made
        .iter()
        .filter(|rev| view.phases().of(**rev) == Phase::Public);
    let public: Vec<String> = public.map(|rev| short_hex(&changelog.node(*rev))).collect();
    if !public.is_empty() {
        let public = public.join(", ");
        ui.warn(format!("cannot clean up public changesets {public}\n"))?;
        return Ok(false);
    }
    let Some(first) = made.iter().min() else {
        return Ok(true);
    };
    let later: Vec<Rev> = changelog.revs().skip(first.index()).collect();
    let descendants = view.descendants_among(&later, made);
    if descendants.iter().any(|rev| !made.contains(rev)) {
        ui.warn("new changesets detected on destination branch, can't strip\n")?;
        return Ok(false);
    }
    Ok(true)
}

/// Updates to a changeset and gives up all changes.
fn go_back(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    (repository, view): (&Repository, &RepoView),
    target: Node,
) -> Result<(), Abort> {
    let mut dirstate = Dirstate::read(repository)?;
    let parents = [target, Node::NULL];
    repo.before_update(ui, &parents)?;
    let place = (repository, view);
    let rev = view.changelog().rev(&target);
    let local = LocalChanges::Discard;
    let updated = update::go_to(ui, config, matches, place, &mut dirstate, rev, local)?;
    repo.after_update(ui, &parents, updated.unresolved)
}

fn print_parent(ui: &mut Ui, node: &Node) -> Result<u8, Abort> {
    let shown = short_hex(node);
    ui.status(format!("working directory is now at {shown}\n"))?;
    Ok(0)
}
