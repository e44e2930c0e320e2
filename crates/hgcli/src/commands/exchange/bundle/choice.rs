//! Which changesets go into the bundle.

use crate::arguments::Matches;
use crate::context::revision::query;
use crate::context::{Config, Repo};
use crate::remote::outgoing::{self, branch_heads, print_nothing};
use crate::remote::peers;
use crate::ui::{Abort, Ui};
use std::collections::BTreeSet;
use varve_exchange::generate::OutgoingChangesets;
use varve_repo::{RepoView, Rev};

/// Changesets chosen for the bundle.
pub(super) struct Choice {
    pub(super) outgoing: OutgoingChangesets,
}

/// The changesets that `--rev` names; `None` without it.
pub(super) fn asked(repo: &mut Repo, matches: &Matches) -> Result<Option<Vec<Rev>>, Abort> {
    let specs = matches.list("rev");
    if specs.is_empty() {
        return Ok(None);
    }
    let named = named(repo, &specs)?;
    if named.is_empty() {
        return Err(Abort::input("no commits to bundle"));
    }
    Ok(Some(named.into_iter().flatten().collect()))
}

/// The changesets of some queries, with the null revision.
fn named(repo: &mut Repo, specs: &[&[u8]]) -> Result<Vec<Option<Rev>>, Abort> {
    let view = repo.view()?;
    let engine = repo.engine(&view)?;
    let set = query(&engine, specs)?;
    let mut named = Vec::new();
    for member in set.members(&engine) {
        named.push(member?);
    }
    Ok(named)
}

/// Chooses the changesets; `None` if there is nothing to do, after a message that says so.
pub(super) fn choose(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    asked: Option<Vec<Rev>>,
) -> Result<Option<Choice>, Abort> {
    let [_, destinations @ ..] = matches.arguments() else {
        return Ok(None);
    };
    let base = match base(repo, ui, matches, asked.as_deref(), destinations)? {
        Base::Known(base) => base,
        Base::OfDestinations => {
            return to_destinations(repo, ui, config, matches, asked, destinations);
        }
    };
    let view = repo.view()?;
    let heads = asked.unwrap_or_else(|| view.heads());
    let revs = view.missing_ancestors(&heads, &base);
    if revs.is_empty() {
        print_nothing(ui, 0)?;
        return Ok(None);
    }
    let outgoing = OutgoingChangesets {
        revs,
        heads: heads_among(&view, &heads),
        common: base,
    };
    Ok(Some(Choice { outgoing }))
}

enum Base {
    Known(Vec<Rev>),
    /// The changesets that the destinations have.
    OfDestinations,
}

fn base(
    repo: &mut Repo,
    ui: &mut Ui,
    matches: &Matches,
    asked: Option<&[Rev]>,
    destinations: &[Vec<u8>],
) -> Result<Base, Abort> {
    let given = matches.list("base");
    let option = match (matches.flag("all"), matches.flag("exact")) {
        (true, _) => "--all",
        (_, true) => "--exact",
        _ if !given.is_empty() => "--base",
        _ => return Ok(Base::OfDestinations),
    };
    if !destinations.is_empty() {
        let words = format!("{option} is incompatible with specifying destinations");
        return Err(Abort::input(words));
    }
    if option != "--base" && !given.is_empty() {
        ui.warn(format!("ignoring --base because {option} was specified\n"))?;
    }
    if option == "--all" && matches.flag("exact") {
        ui.warn("ignoring --exact because --all was specified\n")?;
    }
    Ok(Base::Known(match option {
        "--all" => Vec::new(),
        "--exact" => below(&*repo.view()?, asked.unwrap_or_default()),
        _ => named(repo, &given)?.into_iter().flatten().collect(),
    }))
}

/// The parents of `revs` that are none of them.
fn below(view: &RepoView, revs: &[Rev]) -> Vec<Rev> {
    let inside: BTreeSet<Rev> = revs.iter().copied().collect();
    let parents = |rev: &Rev| view.changelog().parents(*rev).into_iter().flatten();
    let below = revs.iter().flat_map(parents);
    below.filter(|rev| !inside.contains(rev)).collect()
}

/// Those of `revs` that no other one of them builds on.
fn heads_among(view: &RepoView, revs: &[Rev]) -> Vec<Rev> {
    let parents = |rev: &Rev| view.changelog().parents(*rev).into_iter().flatten();
    let roots: Vec<Rev> = revs.iter().flat_map(parents).collect();
    let covered: BTreeSet<Rev> = view.missing_ancestors(&roots, &[]).into_iter().collect();
    let chosen: BTreeSet<Rev> = revs.iter().copied().collect();
    chosen.difference(&covered).copied().collect()
}

/// Changesets that at least one of the destinations lacks. As in Mercurial, all their
/// descendants go along, even if they are secret.
fn to_destinations(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    asked: Option<Vec<Rev>>,
    destinations: &[Vec<u8>],
) -> Result<Option<Choice>, Abort> {
    let view = repo.view()?;
    let peers = peers::destinations(repo, ui, config, destinations)?;
    let (mut missing, mut secret) = (BTreeSet::new(), 0);
    let mut wanted = asked;
    if view.tip().is_some() {
        for peer in &peers {
            if let Some(branch) = &peer.branch {
                let heads = branch_heads(repo, ui, &view, branch)?;
                wanted.get_or_insert_default().extend(heads);
            }
            let mut remote = peers::connect(repo, ui, config, peer)?;
            let force = matches.flag("force");
            let found =
                outgoing::find(repo, (ui, config), &mut remote, (wanted.as_deref(), force))?;
            missing.extend(found.missing);
            secret = found.secret;
        }
    }
    if missing.is_empty() {
        print_nothing(ui, secret)?;
        return Ok(None);
    }
    let heads = wanted.unwrap_or_else(|| view.heads());
    let all = view.missing_ancestors(&heads, &[]);
    let missing: Vec<Rev> = missing.into_iter().collect();
    let revs = view.descendants_among(&all, &missing);
    let outgoing = OutgoingChangesets {
        common: below(&view, &revs),
        heads: heads_among(&view, &revs),
        revs,
    };
    Ok(Some(Choice { outgoing }))
}
