//! Combining a changeset with the one above: first it is committed by itself, then both are committed as one.

use super::run::HisteditRun;
use crate::ui::{Abort, short_hex};
use std::collections::BTreeSet;
use varve_repo::{Node, Rev};
use varve_workdir::{ChangesetMetadata, Dirstate, HisteditAction, HisteditRule};

/// Between the descriptions of combined changesets.
const SEPARATOR: &[u8] = b"\n***\n";

/// Commits the changeset to be combined by itself; `None` if it brings nothing.
pub(super) fn commit_part(
    run: &mut HisteditRun<'_>,
    rule: &HisteditRule,
) -> Result<Option<Node>, Abort> {
    let mut new = run.copy_of(&rule.node)?;
    new.metadata.description = format!("fold-temp-revision {}", short_hex(&rule.node)).into_bytes();
    run.commit(&new)
}

/// Commits the current parent and what follows it, up to `part`, as one changeset; the working copy is at `part`.
pub(super) fn combine(
    run: &mut HisteditRun<'_>,
    rule: &HisteditRule,
    part: Node,
    next: Option<HisteditAction>,
) -> Result<(), Abort> {
    let view = run.view()?;
    let changelog = view.changelog();
    let above = run.state.parent;
    let first = run.known(&view, &above)?;
    let last = run.known(&view, &part)?;
    let between: Vec<Rev> = view
        .missing_ancestors(&[last], &[first])
        .into_iter()
        .filter(|rev| *rev != last)
        .collect();
    let old = run.known(&view, &rule.node)?;
    let folded = ChangesetMetadata::read(&view, old)?;
    let mut new = run.copy_of(&above)?;
    new.phase = new.phase.max(view.phases().of(old));
    new.set_sources(&[above, rule.node]);
    if rule.action == HisteditAction::Fold {
        let mut texts = vec![new.metadata.description.clone()];
        for rev in &between {
            texts.push(ChangesetMetadata::read(&view, *rev)?.description);
        }
        texts.push(folded.description);
        new.metadata.description = [&texts.join(SEPARATOR)[..], b"\n"].concat();
        new.metadata.date = new.metadata.date.max(folded.date);
        // The last of several asks for the description of all.
        new.edits_as = (next != Some(HisteditAction::Fold)).then_some("histedit.fold");
    }
    let parent = changelog.parents(first)[0];
    let mut dirstate = Dirstate::read(run.repository)?;
    let place = (run.repository, &*view);
    let revs = [parent, Some(last)];
    varve_workdir::show_as_local_changes(place, &mut dirstate, revs, &BTreeSet::new())?;
    let (mut dirstate, status) = run.changes()?;
    let made = run.commit_status(&new, &mut dirstate, &status)?;
    let mut steps = vec![
        (rule.node, vec![part]),
        (above, vec![made]),
        (part, vec![made]),
    ];
    steps.extend(between.iter().map(|rev| (changelog.node(*rev), vec![made])));
    run.state.replacements.extend(steps);
    run.state.parent = made;
    Ok(())
}
