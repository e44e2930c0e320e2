//! Warnings about changesets that have become unstable.

use crate::ui::{Abort, Ui};
use std::collections::BTreeSet;
use varve_repo::{Evolution, Instabilities, Node, Repository, Rev, ViewFilter};

/// Warns of changesets that have become unstable since `before`.
pub(crate) fn report(
    ui: &mut Ui,
    repository: &Repository,
    before: &Instabilities,
) -> Result<(), Abort> {
    if !is_wanted(ui)? {
        return Ok(());
    }
    let after = repository
        .view_for(ViewFilter::Unfiltered)?
        .instabilities()?;
    let count = |of: fn(&Instabilities) -> &BTreeSet<Rev>| {
        of(&after).len().saturating_sub(of(before).len())
    };
    let counts = [
        (count(|of| &of.orphans), "orphan"),
        (count(|of| &of.content_divergent), "content-divergent"),
        (count(|of| &of.phase_divergent), "phase-divergent"),
    ];
    counts
        .into_iter()
        .try_for_each(|(count, name)| warn(ui, count, name))
}

/// Warns of those of the `new` changesets that build on obsolete ones. Nothing else can make a plain commit unstable.
pub(crate) fn report_orphans(
    ui: &mut Ui,
    repository: &Repository,
    new: &[Node],
) -> Result<(), Abort> {
    if !is_wanted(ui)? || repository.count_markers()? == 0 {
        return Ok(());
    }
    let view = repository.view_for(ViewFilter::Unfiltered)?;
    let orphans = view.orphans()?;
    let revs = new.iter().filter_map(|node| view.changelog().rev(node));
    warn(
        ui,
        revs.filter(|rev| orphans.contains(rev)).count(),
        "orphan",
    )
}

/// True if a changeset that is made on `parent` is an orphan of which the user is to be warned.
pub(crate) fn makes_orphans(
    ui: &Ui,
    repository: &Repository,
    parent: &Node,
) -> Result<bool, Abort> {
    if !is_wanted(ui)? || repository.count_markers()? == 0 {
        return Ok(false);
    }
    let view = repository.view_for(ViewFilter::Unfiltered)?;
    Ok(match view.changelog().rev(parent) {
        Some(rev) => view.obsolete()?.contains(&rev) || view.orphans()?.contains(&rev),
        None => false,
    })
}

/// Warns of `count` changesets that have become unstable.
pub(crate) fn warn(ui: &mut Ui, count: usize, instability: &str) -> Result<(), Abort> {
    match count {
        0 => Ok(()),
        _ => ui.warn(format!("{count} new {instability} changesets\n")),
    }
}

/// Mercurial reports instabilities where markers can be made and `experimental.evolution.report-instabilities` is on.
fn is_wanted(ui: &Ui) -> Result<bool, Abort> {
    let evolution = Evolution::read(&ui.config).map_err(Abort::Setting)?;
    let key = "evolution.report-instabilities";
    Ok(evolution.markers && ui.config.boolean("experimental", key, true)?)
}
