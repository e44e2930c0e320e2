//! `--edit-lines`: the user says which lines belong to which changesets.

use crate::commands::local::commit::editor;
use crate::context::Repo;
use crate::ui::{Abort, Ui, short_hex};
use varve_lang::patterns::Matcher;
use varve_repo::{RepoView, Rev, ViewFilter};
use varve_workdir::{AbsorbedFile, Dirstate, Status};

/// The files that were named and have no changes.
pub(super) fn named_unchanged(
    matcher: &Matcher,
    dirstate: &Dirstate,
    status: &Status,
) -> Vec<Vec<u8>> {
    let is_changed = |path: &Vec<u8>| status.added.contains(path) || status.deleted.contains(path);
    let named = matcher.named().iter();
    let named = named.filter(|path| dirstate.is_tracked(path) && !is_changed(path));
    named.cloned().collect()
}

/// Opens the editor on each of the files.
pub(super) fn edit(
    (repo, ui): (&mut Repo, &mut Ui),
    files: &mut [AbsorbedFile],
) -> Result<(), Abort> {
    let view = repo.repository()?.view_for(ViewFilter::Unfiltered)?;
    for file in files {
        let revs = file.edited_revs().into_iter();
        let titles = revs.map(|rev| title(ui, &view, rev));
        let titles = titles.collect::<Result<Vec<Vec<u8>>, Abort>>()?;
        let shown = file.editable_lines(&titles);
        let edited = editor::edit_as(ui, &shown, "absorb")?;
        file.take_edited_lines(&shown, &edited)?;
    }
    Ok(())
}

/// Name and first line of a changeset.
fn title(ui: &Ui, view: &RepoView, rev: Rev) -> Result<Vec<u8>, Abort> {
    let node = short_hex(&view.changelog().node(rev));
    let first = view.with_changeset(rev, |changeset| {
        let line = changeset.description.split(|byte| *byte == b'\n').next();
        line.unwrap_or_default().to_vec()
    })?;
    Ok([node.as_bytes(), b" ", &ui.local(&first)].concat())
}
