//! Which changesets are edited, and the plan for them.

use super::outgoing;
use super::plan::{self, PlanSource};
use crate::arguments::Matches;
use crate::context::{Config, Repo};
use crate::ui::{Abort, Ui, short_hex};
use varve_exchange::generate::save_backup_as;
use varve_repo::{Node, Phase, RepoView, Repository, Rev, bundle_name};
use varve_workdir::{Dirstate, HisteditState};

/// The draft changesets that no other head has, up to the last merge.
const DEFAULT_REVSET: &[u8] = b"only(.) and not public() and not ::merge()";
/// Most changesets that a message names.
const MOST_NAMED: usize = 4;

/// Finds the changesets, and lets the user plan; the state before the first step.
pub(super) fn select(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    repository: &Repository,
) -> Result<HisteditState, Abort> {
    let root = match matches.flag("outgoing") {
        true => outgoing::root(repo, ui, config, matches)?,
        false => root(repo, ui, config, matches)?,
    };
    let view = repo.view()?;
    let changelog = view.changelog();
    let topmost = Dirstate::read(repository)?.parents()[0];
    let revs = line(&view, root, &topmost)?;
    let keeps = matches.flag("keep");
    if !keeps {
        check_rewrite(config, &view, &revs)?;
    }
    if revs.iter().any(|rev| changelog.parents(*rev)[1].is_some()) {
        return Err(Abort::input("cannot edit history that contains merges"));
    }
    let nodes: Vec<Node> = revs.iter().map(|rev| changelog.node(*rev)).collect();
    let base = changelog.node_or_null(changelog.parents(root)[0]);
    let mut state = HisteditState::new(base, topmost, keeps);
    let source = PlanSource {
        candidates: &nodes,
        first: changelog.node(root),
        shown: plan::lines(repo, ui, config, &plan::picks(&nodes))?,
    };
    state.rules = plan::read(repo, ui, config, matches, (&topmost, &source))?;
    if !config.evolution()?.markers {
        let mut counted = nodes.clone();
        counted.push(base);
        let name = bundle_name(&changelog.node(root), &counted, "histedit");
        save_backup_as(&view, repository.storage().as_ref(), &name, &revs)?;
        state.backup = format!("strip-backup/{name}").into_bytes();
    }
    Ok(state)
}

/// The first changeset to edit.
fn root(repo: &mut Repo, ui: &mut Ui, config: &Config, matches: &Matches) -> Result<Rev, Abort> {
    let typed = matches.list("rev");
    let arguments = matches.arguments().iter().map(Vec::as_slice);
    let specs: Vec<&[u8]> = arguments.chain(typed).collect();
    let wrong = || Abort::input("histedit requires exactly one ancestor revision");
    let found = match specs[..] {
        [] => {
            let set = match config.get("histedit", "defaultrev") {
                None => DEFAULT_REVSET,
                Some(b"") => return Err(wrong()),
                Some(set) => set,
            };
            let revs = repo.revisions_and_null(ui, &[set])?;
            revs.into_iter().min()
        }
        [spec] => {
            let revs = repo.revisions_and_null(ui, &[spec])?;
            if revs == [None] {
                Some(None)
            } else {
                let revs: Vec<Rev> = revs.into_iter().flatten().collect();
                match repo.view()?.roots(&revs)[..] {
                    [root] => Some(Some(root)),
                    _ => {
                        return Err(Abort::input(
                            "The specified revisions must have exactly one common root",
                        ));
                    }
                }
            }
        }
        _ => return Err(wrong()),
    };
    let found = found.ok_or_else(wrong)?;
    found.ok_or_else(|| {
        Abort::input("cannot edit the null revision").hint("no changeset checked out")
    })
}

/// The changesets from `root` to the parent of the working copy, oldest first.
fn line(view: &RepoView, root: Rev, topmost: &Node) -> Result<Vec<Rev>, Abort> {
    let changelog = view.changelog();
    let not_below = || {
        let shown = short_hex(&changelog.node(root));
        Abort::input(format!("{shown} is not an ancestor of working directory"))
    };
    let top = changelog.rev(topmost).ok_or_else(not_below)?;
    let ancestors = view.missing_ancestors(&[top], &[]);
    let below = view.with_descendants(&[root]);
    let revs: Vec<Rev> = ancestors
        .into_iter()
        .filter(|rev| below.binary_search(rev).is_ok())
        .collect();
    match revs.is_empty() {
        true => Err(not_below()),
        false => Ok(revs),
    }
}

/// Refuses to replace what must stay as it is.
fn check_rewrite(config: &Config, view: &RepoView, revs: &[Rev]) -> Result<(), Abort> {
    let changelog = view.changelog();
    let public = revs
        .iter()
        .filter(|rev| view.phases().of(**rev) == Phase::Public);
    let public: Vec<String> = public.map(|rev| short_hex(&changelog.node(*rev))).collect();
    if !public.is_empty() {
        let mut shown = public[..public.len().min(MOST_NAMED)].join(", ");
        if public.len() > MOST_NAMED {
            shown += &format!(" and {} others", public.len() - MOST_NAMED);
        }
        let message = format!("cannot edit public changesets: {shown}");
        return Err(Abort::input(message).hint("see 'hg help phases' for details"));
    }
    let below = view.with_descendants(revs);
    let orphans = below.iter().filter(|rev| !revs.contains(rev)).count();
    if orphans > 0 && !config.evolution()?.unstable {
        return Err(Abort::input(format!(
            "cannot edit changeset, as that will orphan {orphans} descendants"
        ))
        .hint("see 'hg help evolution.instability'"));
    }
    Ok(())
}
