//! `debugp1copies` and `debugp2copies`: copies of a changeset by the parent that has the source.

use crate::arguments::{Flag, Matches};
use crate::context::{Command, Repo};
use crate::render::changesets::changed_files;
use crate::ui::{Abort, Ui};
use varve_workdir::Dirstate;

const REV: Flag = Flag::value(
    'r',
    "rev",
    "REV",
    "the changeset, instead of the next commit",
);

/// See [`Command`].
pub(crate) const FIRST: Command = Command {
    names: &["debugp1copies"],
    options: &[REV],
    arguments: 0..=0,
    synopsis: "[-r REV]",
    summary: "list the copies whose source is in the first parent",
    help: "Ends with 0.",
    category: None,
    run: |context, matches| list(&mut context.repo, &mut context.ui, matches, 0),
};

/// See [`Command`].
pub(crate) const SECOND: Command = Command {
    names: &["debugp2copies"],
    options: &[REV],
    arguments: 0..=0,
    synopsis: "[-r REV]",
    summary: "list the copies whose source is in the second parent alone",
    help: "Ends with 0.",
    category: None,
    run: |context, matches| list(&mut context.repo, &mut context.ui, matches, 1),
};

/// Lists the copies whose source is on one side, 0 for the first parent.
fn list(repo: &mut Repo, ui: &mut Ui, matches: &Matches, side: usize) -> Result<u8, Abort> {
    let view = repo.view()?;
    let asked = matches.value("rev").filter(|rev| !rev.is_empty());
    let (copies, parents) = match asked {
        None => {
            let dirstate = Dirstate::read(&repo.repository()?)?;
            let copies = dirstate.copies();
            let copies = copies.map(|(path, from)| (path.to_vec(), from.to_vec()));
            let copies: Vec<(Vec<u8>, Vec<u8>)> = copies.collect();
            let parents = dirstate.parents().map(|node| view.changelog().rev(&node));
            (copies, parents)
        }
        Some(spec) => match repo.revision(ui, Some(spec))? {
            None => (Vec::new(), [None; 2]),
            Some(rev) => {
                let copies = view.with_changeset(rev, |changeset| {
                    changed_files::copies(&view, rev, &changeset)
                })??;
                (copies, view.changelog().parents(rev))
            }
        },
    };
    let first = view.manifest_text(parents[0])?;
    for (path, source) in copies {
        let of_side = match view.find_in_manifest(&first, &source)? {
            Some(_) => 0,
            None => 1,
        };
        if of_side == side {
            ui.write([&source[..], b" -> ", &path, b"\n"].concat())?;
        }
    }
    Ok(0)
}
