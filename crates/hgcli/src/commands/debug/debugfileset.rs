//! `debugfileset`: the files that a fileset means.

use crate::arguments::{Flag, Matches};
use crate::context::{Command, Context, Repo, TypedRevision};
use crate::ui::{Abort, Ui};
use std::collections::BTreeSet;
use varve_lang::patterns::{Matcher, NameCheck};
use varve_repo::Rev;
use varve_workdir::filesets::FilesetTarget;
use varve_workdir::{Dirstate, StatusLists, StatusRequest, working_status};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugfileset"],
    options: &[
        Flag::value('r', "rev", "REV", "evaluate it in this changeset"),
        Flag::long_flag(
            "all-files",
            "test all files of the history and of the working directory",
        ),
    ],
    arguments: 1..=1,
    synopsis: "[-r REV] [--all-files] FILESPEC",
    summary: "print the files that a fileset means",
    help: "Of the working directory, also those that are unknown or ignored; with -r, of those that the \
           changeset changed.\n\nEnds with 0.",
    category: None,
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context { repo, ui, .. } = context;
    let rev = match matches.value("rev").filter(|rev| !rev.is_empty()) {
        Some(rev) => repo.revision_or_working(ui, rev)?,
        None => TypedRevision::Working,
    };
    let target = match rev {
        TypedRevision::Stored(rev) => FilesetTarget::Rev(rev),
        TypedRevision::Working => FilesetTarget::Working,
    };
    let written = matches.arguments().first().map_or(&b""[..], Vec::as_slice);
    let patterns = [[b"set:", written].concat()];
    let matcher = repo.matcher_with(&Matches::default(), &patterns, &NameCheck, target)?;
    let mut files = BTreeSet::new();
    let all = matches.flag("all-files");
    if all {
        let view = repo.view()?;
        for rev in view.changelog().revs() {
            add_changed(repo, rev, &mut files)?;
        }
    }
    match rev {
        TypedRevision::Stored(Some(rev)) if !all => add_changed(repo, rev, &mut files)?,
        TypedRevision::Stored(None) if !all => {}
        _ => add_working(repo, ui, &mut files)?,
    }
    for path in files.iter().filter(|path| matcher.matches(path)) {
        ui.write([&path[..], b"\n"].concat())?;
    }
    Ok(0)
}

/// The files that a changeset changed.
fn add_changed(repo: &mut Repo, rev: Rev, files: &mut BTreeSet<Vec<u8>>) -> Result<(), Abort> {
    let view = repo.view()?;
    view.with_changeset(rev, |changeset| {
        files.extend(changeset.files().map(<[u8]>::to_vec));
    })?;
    Ok(())
}

/// All files of the working directory, and those that are tracked.
fn add_working(repo: &mut Repo, ui: &mut Ui, files: &mut BTreeSet<Vec<u8>>) -> Result<(), Abort> {
    let repository = repo.repository()?;
    let dirstate = Dirstate::read(&repository)?;
    let ignore = repo.ignore(ui)?;
    let status = working_status(&StatusRequest {
        repository: &repository,
        dirstate: &dirstate,
        matcher: &Matcher::everything(),
        ignore: &ignore,
        listing: StatusLists {
            unknown: true,
            ignored: true,
            clean: false,
        },
        stop: &ui.stop,
    })?
    .status;
    files.extend(dirstate.iter().map(|(path, _)| path.to_vec()));
    files.extend([status.unknown, status.ignored].into_iter().flatten());
    Ok(())
}
