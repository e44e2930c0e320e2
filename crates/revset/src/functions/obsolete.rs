//! Obsolete changesets, their successors, and instabilities.

use super::arguments;
use crate::bitset::BitSet;
use crate::tree::Expr;
use crate::{Engine, RevsetError, Set, WORKING_COPY};
use std::collections::BTreeSet;
use varve_repo::Rev;

fn shown(engine: &Engine<'_>, revs: impl IntoIterator<Item = Rev>) -> Set {
    engine.shown(BitSet::of(revs.into_iter().map(Some)))
}

/// `obsolete()`, and the kinds of instability.
pub(super) fn kind(
    engine: &Engine<'_>,
    name: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    arguments::none(name, arguments)?;
    let found = engine.view().instabilities()?;
    let revs: BTreeSet<Rev> = match name {
        "obsolete" => found.obsolete,
        "phasedivergent" => found.phase_divergent,
        "contentdivergent" => found.content_divergent,
        "orphan" => found.orphans,
        _ => [
            found.orphans,
            found.phase_divergent,
            found.content_divergent,
        ]
        .into_iter()
        .flatten()
        .collect(),
    };
    Ok(shown(engine, revs))
}

/// Obsolete changesets on which nothing builds but others.
pub(super) fn extinct(
    engine: &Engine<'_>,
    name: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    arguments::none(name, arguments)?;
    Ok(shown(engine, engine.view().extinct()?))
}

/// Changesets that only `--hidden` shows.
pub(super) fn hidden(
    engine: &Engine<'_>,
    name: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    arguments::none(name, arguments)?;
    Ok(shown(engine, engine.view().hidden_changesets()?))
}

/// Changesets and their successors.
pub(super) fn successors(
    engine: &Engine<'_>,
    _: &str,
    arguments: &[Expr],
) -> Result<Set, RevsetError> {
    let set = arguments::set(engine, arguments)?;
    let mut revs = Vec::new();
    for member in set.all_members(engine) {
        match member? {
            Some(WORKING_COPY) => return Err(RevsetError::WorkingCopy),
            stored => revs.extend(stored),
        }
    }
    Ok(shown(engine, engine.view().with_successors(&revs)?))
}
