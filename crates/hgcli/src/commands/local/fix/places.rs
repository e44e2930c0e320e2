//! The changesets that are fixed, and refusals of those that must stay as they are.

use crate::arguments::{Flag, Matches};
use crate::commands::local::rewrite::refusal;
use crate::commands::local::{strip, unfinished};
use crate::context::{Config, Repo};
use crate::ui::{Abort, Ui};
use std::collections::BTreeSet;
use varve_repo::{Repository, Rev, ViewFilter};
use varve_workdir::{AmendRefusal, Dirstate, FixPlan};

/// Name of the command in messages.
const OPERATION: &str = "fix";
/// The revision of the working copy.
const WDIR: &[u8] = b"wdir()";

pub(super) const ALL: Flag = Flag::long_flag(
    "all",
    "fix all draft and secret changesets that are not obsolete, and the working directory",
);
pub(super) const BASE: Flag =
    Flag::long_list("base", "REV", "what all fixed revisions are compared with");
pub(super) const REV: Flag = Flag::list(
    'r',
    "rev",
    "REV",
    "fix this revision, and leave those that follow it (ADVANCED)",
);
pub(super) const SOURCE: Flag = Flag::list(
    's',
    "source",
    "REV",
    "fix this revision and all that follow it",
);
pub(super) const WORKING: Flag = Flag::flag(
    'w',
    "working-dir",
    "fix changed files of the working directory",
);

/// Refuses options that exclude each other.
pub(super) fn check_options(matches: &Matches) -> Result<(), Abort> {
    let (all, working) = (matches.flag("all"), matches.flag("working-dir"));
    let is_there = |name| !matches.list(name).is_empty();
    let pairs = [
        (is_there("source"), is_there("rev"), "--source and --rev"),
        (all, is_there("source"), "--all and --source"),
        (all, is_there("rev"), "--all and --rev"),
        (working, all, "--working-dir and --all"),
        (working, is_there("source"), "--working-dir and --source"),
    ];
    match pairs.iter().find(|(one, other, _)| *one && *other) {
        Some((_, _, names)) => Err(Abort::input(format!("cannot specify both {names}"))),
        None => Ok(()),
    }
}

/// The revisions that options name.
#[derive(Default)]
struct ChosenPlaces {
    revs: BTreeSet<Rev>,
    has_null: bool,
    has_working_copy: bool,
}

/// Finds the places to fix, and refuses what cannot be.
pub(super) fn plan(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    matches: &Matches,
    repository: &Repository,
    dirstate: &Dirstate,
) -> Result<FixPlan, Abort> {
    let bases = matches.list("base");
    let bases: Option<BTreeSet<Option<Rev>>> = match bases.is_empty() {
        true => None,
        false => {
            let found = repo.revisions_and_null(ui, &bases)?;
            Some(found.into_iter().collect()).filter(|bases: &BTreeSet<_>| !bases.is_empty())
        }
    };
    let chosen = chosen((repo, ui), matches, dirstate)?;
    if !chosen.revs.is_empty() || chosen.has_null {
        refuse((repo, ui, config), repository, dirstate, &chosen)?;
    }
    let is_nothing = chosen.revs.is_empty() && !chosen.has_working_copy;
    if is_nothing && !matches.flag("all") {
        return Err(Abort::new("no changesets specified").hint("use --source or --working-dir"));
    }
    if chosen.has_working_copy && varve_workdir::has_unresolved(repository)? {
        return Err(Abort::new("unresolved conflicts").hint("use 'hg resolve'"));
    }
    let view = repository.view_for(ViewFilter::Unfiltered)?;
    let parents = dirstate.parents().map(|node| view.changelog().rev(&node));
    let working = chosen.has_working_copy.then_some(parents);
    Ok(FixPlan::new(&view, &chosen.revs, working, bases.as_ref()))
}

fn chosen(
    (repo, ui): (&mut Repo, &mut Ui),
    matches: &Matches,
    dirstate: &Dirstate,
) -> Result<ChosenPlaces, Abort> {
    let (rev, source) = (matches.list("rev"), matches.list("source"));
    if matches.flag("all") {
        return Ok(ChosenPlaces {
            revs: visible(repo, ui, b"not public() and not obsolete()")?,
            has_null: false,
            has_working_copy: true,
        });
    }
    if source.is_empty() {
        let mut chosen = named((repo, ui), &rev)?;
        chosen.has_working_copy |= matches.flag("working-dir");
        return Ok(chosen);
    }
    let mut chosen = named((repo, ui), &source)?;
    if !chosen.revs.is_empty() {
        let text = format!("(({})::) and not obsolete()", joined(&chosen.revs));
        chosen.revs = visible(repo, ui, text.as_bytes())?;
        let view = repo.view()?;
        let parents = dirstate.parents();
        let mut parents = parents.iter().filter_map(|node| view.changelog().rev(node));
        chosen.has_working_copy |= parents.any(|parent| chosen.revs.contains(&parent));
    }
    Ok(chosen)
}

fn joined(revs: &BTreeSet<Rev>) -> String {
    let revs: Vec<String> = revs.iter().map(|rev| rev.0.to_string()).collect();
    revs.join("+")
}

fn visible(repo: &mut Repo, ui: &mut Ui, query: &[u8]) -> Result<BTreeSet<Rev>, Abort> {
    Ok(repo.revisions(ui, &[query])?.into_iter().collect())
}

/// The revisions of several options, of which one may be the working copy.
fn named((repo, ui): (&mut Repo, &mut Ui), specs: &[&[u8]]) -> Result<ChosenPlaces, Abort> {
    let mut chosen = ChosenPlaces::default();
    let mut others = Vec::new();
    for spec in specs {
        match *spec == WDIR {
            true => chosen.has_working_copy = true,
            false => others.push(*spec),
        }
    }
    if !others.is_empty() {
        for rev in repo.revisions_and_null(ui, &others)? {
            match rev {
                Some(rev) => _ = chosen.revs.insert(rev),
                None => chosen.has_null = true,
            }
        }
    }
    Ok(chosen)
}

/// Refuses to rewrite changesets that must stay, and to begin while another command waits.
fn refuse(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    repository: &Repository,
    dirstate: &Dirstate,
    chosen: &ChosenPlaces,
) -> Result<(), Abort> {
    unfinished::refuse(repository)?;
    if !dirstate.parents()[1].is_null() {
        return Err(Abort::state("outstanding uncommitted merge")
            .hint("use 'hg commit' or 'hg merge --abort'"));
    }
    let verbose = ui.verbosity.verbose;
    let words = |refusal: AmendRefusal| refusal::words(refusal.into(), OPERATION, verbose);
    if chosen.has_null {
        return Err(words(AmendRefusal::NullParent));
    }
    if !config.evolution()?.markers {
        repo.refuse_hooks(OPERATION, strip::UNCALLED_HOOKS)?;
    }
    refusal::check_all((repo, ui, config), &chosen.revs, OPERATION)
}
