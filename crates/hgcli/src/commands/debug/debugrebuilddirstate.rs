//! `debugrebuilddirstate`: the dirstate as right after an update.

use crate::arguments::{Flag, Matches};
use crate::context::{Command, Context};
use crate::ui::Abort;
use std::collections::BTreeSet;
use varve_repo::LockKind;
use varve_workdir::{Dirstate, Tracking};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugrebuilddirstate", "debugrebuildstate"],
    options: &[
        Flag::value('r', "rev", "REV", "the files of this changeset"),
        Flag::long_flag(
            "minimal",
            "leave alone what the dirstate and the changeset agree about",
        ),
    ],
    arguments: 0..=0,
    synopsis: "[-r REV]",
    summary: "make the dirstate anew from a changeset",
    help: "The files of the working directory stay as they are; what was added, removed or copied is \
           forgotten.\n\nEnds with 0.",
    category: None,
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context { repo, ui, .. } = context;
    let _lock = repo.lock(ui, LockKind::WorkingCopy)?;
    let repository = repo.repository()?;
    let rev = repo.revision(ui, matches.value("rev"))?;
    let view = repo.view()?;
    let text = view.manifest_text(rev)?;
    let entries = view.manifest_entries(&text);
    let files = entries.map(|entry| entry.map(|entry| entry.path.to_vec()));
    let mut files = files.collect::<Result<BTreeSet<Vec<u8>>, _>>()?;
    let mut dirstate = Dirstate::read(&repository)?;
    let known: Vec<(Vec<u8>, bool)> = dirstate
        .iter()
        .map(|(path, entry)| (path.to_vec(), entry.tracking().p1))
        .collect();
    if matches.flag("minimal") {
        // What was added stays added, and what both know stays as it is.
        for (path, in_parent) in known {
            match files.remove(&path) {
                true => {}
                false if in_parent => dirstate.forget(&path),
                false => {}
            }
        }
    } else {
        dirstate.clear();
        dirstate.set_parents([view.changelog().node_or_null(rev), varve_repo::Node::NULL]);
    }
    for path in &files {
        dirstate.set_tracking(
            path,
            Tracking {
                working: true,
                p1: true,
                p2_info: false,
            },
        );
        dirstate.set_possibly_dirty(path);
    }
    dirstate.write(&repository)?;
    Ok(0)
}
