//! Destinations that depend on the changeset that moves.

use super::run::RebaseRun;
use crate::context::revision;
use crate::ui::{Abort, short_hex};
use std::collections::{BTreeMap, BTreeSet};
use varve_repo::{LookupError, Node, Rev};
use varve_revset::RevsetError;
use varve_workdir::orphan_destinations;

/// Stands for the changeset that moves.
const SOURCE: &[u8] = b"SRC";
/// Stands for all of them.
const ALL_SOURCES: &[u8] = b"ALLSRC";

/// True if a query means something only for each changeset that moves.
pub(super) fn is_needed(run: &mut RebaseRun<'_>, query: &[u8]) -> Result<bool, Abort> {
    let mut pieces = pieces(query).into_iter();
    if !pieces.any(|piece| piece == SOURCE || piece == ALL_SOURCES) {
        return Ok(false);
    }
    let view = run.repo.view()?;
    let engine = run.repo.engine(&view)?;
    Ok(match engine.single(query) {
        Err(RevsetError::Lookup(LookupError::Unknown(name))) => {
            [SOURCE, ALL_SOURCES].contains(&name.as_bytes())
        }
        _ => false,
    })
}

/// Names, quoted texts, and what is between them.
fn pieces(query: &[u8]) -> Vec<&[u8]> {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"._@$".contains(byte) || *byte > 127;
    let mut pieces = Vec::new();
    let mut rest = query;
    while let Some(first) = rest.first() {
        let len = match first {
            quote @ (b'"' | b'\'') => {
                let end = rest[1..].iter().position(|byte| byte == quote);
                end.map_or(rest.len(), |end| end + 2)
            }
            first if is_name(first) => rest.iter().take_while(|byte| is_name(byte)).count(),
            _ => 1,
        };
        let (piece, after) = rest.split_at(len);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// Numbers as a query, runs of them as ranges.
fn numbers(revs: &BTreeSet<Rev>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for rev in revs {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == rev.0 => *last = rev.0,
            _ => ranges.push((rev.0, rev.0)),
        }
    }
    let ranges = ranges
        .into_iter()
        .map(|(first, last)| format!("{first}:{last}"));
    format!("({})", ranges.collect::<Vec<_>>().join("+"))
}

/// Evaluates the destination for each changeset; those without one do not move.
pub(super) fn go_to_typed(
    run: &mut RebaseRun<'_>,
    typed: &[u8],
    moved: Vec<Rev>,
) -> Result<Option<Vec<Rev>>, Abort> {
    let view = run.repo.view()?;
    let moved: BTreeSet<Rev> = moved.into_iter().collect();
    let all = numbers(&moved);
    let engine = run.repo.engine(&view)?;
    let mut destinations = BTreeMap::new();
    for rev in &moved {
        let one = rev.0.to_string();
        let spec = pieces(typed).into_iter().map(|piece| match piece {
            SOURCE => one.as_bytes(),
            ALL_SOURCES => all.as_bytes(),
            piece => piece,
        });
        let spec: Vec<u8> = spec.collect::<Vec<_>>().concat();
        let set = revision::query(&engine, &[&spec])?;
        let found = set.members(&engine);
        let found: Vec<Option<Rev>> = found.collect::<Result<_, _>>()?;
        destinations.insert(*rev, found);
    }
    let mut unique = BTreeMap::new();
    for (rev, found) in destinations {
        let shown = short_hex(&view.changelog().node(rev));
        match found[..] {
            [] => run
                .ui
                .note(format!("skipping {shown} - empty destination\n"))?,
            [only] => drop(unique.insert(rev, view.changelog().node_or_null(only))),
            _ => {
                let message = format!("rebase destination for {shown} is not unique");
                return Err(Abort::input(message));
            }
        }
    }
    assign(run, unique)
}

fn assign(
    run: &mut RebaseRun<'_>,
    destinations: BTreeMap<Rev, Node>,
) -> Result<Option<Vec<Rev>>, Abort> {
    if destinations.is_empty() {
        run.ui.status("nothing to rebase - empty destination\n")?;
        return Ok(None);
    }
    let moved = destinations.keys().copied().collect();
    run.targets.destinations = destinations;
    Ok(Some(moved))
}

/// The orphans that a query has.
pub(super) fn orphans(run: &mut RebaseRun<'_>, query: &[u8]) -> Result<Vec<Rev>, Abort> {
    let revs = run.repo.revisions(run.ui, &[query])?;
    let orphans = run.repo.view()?.orphans()?;
    Ok(revs
        .into_iter()
        .filter(|rev| orphans.contains(rev))
        .collect())
}

/// Sends orphans to the successors of their parents.
pub(super) fn go_to_successors(
    run: &mut RebaseRun<'_>,
    moved: Vec<Rev>,
) -> Result<Option<Vec<Rev>>, Abort> {
    let view = run.repo.view()?;
    let mut destinations = BTreeMap::new();
    for rev in moved {
        let mut found: Vec<Rev> = orphan_destinations(&view, rev)?.into_iter().collect();
        if let [_, _, ..] = found[..] {
            // The order of a small set of numbers in Python.
            found.sort_by_key(|rev| (rev.0 % 8, rev.0));
            let found: Vec<String> = found.iter().map(|rev| rev.0.to_string()).collect();
            return Err(Abort::state(format!(
                "ambiguous automatic rebase: {} could end up on any of {{{}}}",
                rev.0,
                found.join(", ")
            )));
        }
        destinations.extend(found.first().map(|at| (rev, view.changelog().node(*at))));
    }
    assign(run, destinations)
}
