//! The destination of a rebase, and the changesets that move.

use super::each_source;
use super::run::RebaseRun;
use crate::context::found_destination;
use crate::ui::{Abort, short_hex};
use std::collections::BTreeSet;
use varve_repo::{Node, RepoView, Rev};
use varve_revset::ChosenDestination;
use varve_workdir::{Dirstate, rebase_destination};

/// Sets the destinations; returns the changesets that move, `None` after a message if there are none.
pub(super) fn select(run: &mut RebaseRun<'_>) -> Result<Option<Vec<Rev>>, Abort> {
    let matches = run.matches;
    let typed = matches.value("dest").filter(|dest| !dest.is_empty());
    let requires = run
        .config
        .boolean("commands", "rebase.requiredest", false)?;
    if typed.is_none() && requires {
        return Err(Abort::input("you must specify a destination").hint("use: hg rebase -d REV"));
    }
    if let Some(orphans) = matches
        .value("auto-orphans")
        .filter(|spec| !spec.is_empty())
    {
        let revs = each_source::orphans(run, orphans)?;
        if revs.is_empty() {
            return nothing(run, "empty \"rev\" revision set - nothing to rebase\n");
        }
        return each_source::go_to_successors(run, revs);
    }
    let named = |name: &str| !matches.list(name).is_empty();
    if let Some(name) = ["rev", "source"].into_iter().find(|name| named(name)) {
        return of_named(run, typed, name);
    }
    let bases = match named("base") {
        true => listed(run, "base")?,
        false => vec![run.repo.revision(run.ui, Some(b"."))?],
    };
    if bases.is_empty() {
        let words = "empty \"base\" revision set - can't compute rebase set\n";
        return nothing(run, words);
    }
    let sources: Vec<Rev> = bases.iter().copied().flatten().collect();
    let destination = destination(run, typed, named("base").then_some(&sources[..]))?;
    let view = run.repo.view()?;
    let revs = below_branching(&view, &sources, destination);
    if !revs.is_empty() {
        let all = revs.iter().map(|rev| (*rev, destination));
        run.targets.destinations = all.collect();
        return Ok(Some(revs));
    }
    let words = nothing_below(run, &view, &bases, &destination);
    nothing(run, &words)
}

/// The changesets of `-r`, or those of `-s` with all that follow them.
fn of_named(
    run: &mut RebaseRun<'_>,
    typed: Option<&[u8]>,
    name: &str,
) -> Result<Option<Vec<Rev>>, Abort> {
    let revs = listed(run, name)?;
    if revs.is_empty() {
        let words = format!("empty \"{name}\" revision set - nothing to rebase\n");
        return nothing(run, &words);
    }
    let sources: Vec<Rev> = revs.iter().copied().flatten().collect();
    let moved = match name {
        "source" => run.repo.view()?.with_descendants(&sources),
        _ => sources,
    };
    if let Some(typed) = typed
        && each_source::is_needed(run, typed)?
    {
        return match revs.contains(&None) {
            true => Err(Abort::input("source and destination form a cycle")),
            false => each_source::go_to_typed(run, typed, moved),
        };
    }
    let destination = destination(run, typed, Some(&moved))?;
    refuse_null(revs)?;
    let moved: BTreeSet<Rev> = moved.into_iter().collect();
    let all = moved.iter().map(|rev| (*rev, destination));
    run.targets.destinations = all.collect();
    Ok(Some(moved.into_iter().collect()))
}

fn nothing(run: &mut RebaseRun<'_>, words: &str) -> Result<Option<Vec<Rev>>, Abort> {
    run.ui.status(words)?;
    Ok(None)
}

fn listed(run: &mut RebaseRun<'_>, name: &str) -> Result<Vec<Option<Rev>>, Abort> {
    let specs: Vec<&[u8]> = run.matches.list(name).to_vec();
    run.repo.revisions_and_null(run.ui, &specs)
}

/// The null changeset is an ancestor of every destination.
fn refuse_null(revs: Vec<Option<Rev>>) -> Result<Vec<Rev>, Abort> {
    let revs: Option<BTreeSet<Rev>> = revs.into_iter().collect();
    let revs = revs.ok_or_else(|| Abort::input("source is ancestor of destination"))?;
    Ok(revs.into_iter().collect())
}

/// The destination: what was typed, or the other head of the branch.
fn destination(
    run: &mut RebaseRun<'_>,
    typed: Option<&[u8]>,
    sources: Option<&[Rev]>,
) -> Result<Node, Abort> {
    let rev = match typed {
        Some(typed) => run.repo.revision(run.ui, Some(typed))?,
        None => {
            let view = run.repo.view()?;
            let dirstate = Dirstate::read(run.repository)?;
            let found = rebase_destination(run.repository, &view, &dirstate, sources)?;
            Some(found_destination(ChosenDestination::Rebase, found)?)
        }
    };
    Ok(run.repo.view()?.changelog().node_or_null(rev))
}

/// The lines of development of `bases`, from where each parts from the destination.
fn below_branching(view: &RepoView, bases: &[Rev], destination: Node) -> Vec<Rev> {
    let Some(destination) = view.changelog().rev(&destination) else {
        return Vec::new();
    };
    let mut roots = BTreeSet::new();
    for base in bases {
        let points = view.common_ancestor_heads(*base, destination);
        // As in Mercurial, one base without a common ancestor keeps all where they are.
        if points.is_empty() {
            return Vec::new();
        }
        for rev in view.missing_ancestors(&[*base], &points) {
            let mut parents = view.changelog().parents(rev).into_iter().flatten();
            if parents.any(|parent| points.contains(&parent)) {
                roots.insert(rev);
            }
        }
    }
    let roots: Vec<Rev> = roots.into_iter().collect();
    view.with_descendants(&roots)
}

/// Why no changeset moves from `bases`.
fn nothing_below(
    run: &RebaseRun<'_>,
    view: &RepoView,
    bases: &[Option<Rev>],
    destination: &Node,
) -> String {
    let at = view.changelog().rev(destination);
    let shown = short_hex(destination);
    let is_typed = !run.matches.list("base").is_empty();
    let of_bases = bases
        .iter()
        .map(|base| short_hex(&view.changelog().node_or_null(*base)));
    let of_bases = of_bases.collect::<Vec<String>>().join("+");
    let is_above = |base: &Option<Rev>| match (base, at) {
        (Some(base), Some(at)) => *base == at || view.is_descendant(at, *base),
        (None, _) => false,
        (Some(_), None) => false,
    };
    if bases == [at] {
        return match is_typed {
            true => format!("nothing to rebase - {of_bases} is both \"base\" and destination\n"),
            false => {
                "nothing to rebase - working directory parent is also destination\n".to_owned()
            }
        };
    }
    if bases.iter().all(is_above) {
        return match is_typed {
            true => format!(
                "nothing to rebase - \"base\" {of_bases} is already an ancestor of destination \
                 {shown}\n"
            ),
            false => format!(
                "nothing to rebase - working directory parent is already an ancestor of \
                 destination {shown}\n"
            ),
        };
    }
    format!("nothing to rebase from {of_bases} to {shown}\n")
}
