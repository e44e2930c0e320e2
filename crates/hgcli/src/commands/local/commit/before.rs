//! Checks before a commit, and its messages afterwards.

use crate::arguments::Matches;
use crate::commands::local::change::warn_unportable;
use crate::context::{Config, Repo};
use crate::ui::{Abort, Ui, system_words};
use varve_lang::patterns::Matcher;
use varve_repo::{Node, Repository};
use varve_workdir::{
    CloseOptions, CloseRefusal, CommitBase, Dirstate, Status, UncommittableReason, WorkdirError,
};

/// Reads the state that the commit builds on, under the locks.
pub(crate) fn read_base(
    repo: &mut Repo,
    ui: &mut Ui,
    repository: &Repository,
    dirstate: &Dirstate,
) -> Result<CommitBase, Abort> {
    // Another process may have committed while this one waited for the lock.
    repo.refresh();
    repo.warn_of_disabled_markers(ui)?;
    Ok(CommitBase::read(repository, repo.view()?, dirstate)?)
}

/// Refuses to close a branch whose open head is not the parent.
pub(super) fn check_close(
    base: &CommitBase,
    matches: &Matches,
    amends: bool,
    nothing_changed: bool,
) -> Result<(), Abort> {
    let options = CloseOptions {
        forced: matches.flag("force-close-branch"),
        amends,
        nothing_changed,
    };
    base.check_close(options).map_err(|error| match error {
        WorkdirError::CannotClose(CloseRefusal::NoHeads) => {
            let branch = String::from_utf8_lossy(base.branch());
            Abort::input(format!("branch \"{branch}\" has no heads to close"))
        }
        WorkdirError::CannotClose(CloseRefusal::NotAHead) if !options.amends => {
            Abort::input(error.to_string())
                .hint("use --force-close-branch to close branch from a non-head changeset")
        }
        other => other.into(),
    })
}

/// Prints the changes of the branch's heads, and with `--verbose` the new changeset.
pub(crate) fn report(
    repo: &mut Repo,
    ui: &mut Ui,
    base: &CommitBase,
    (node, closes): (&Node, bool),
) -> Result<(), Abort> {
    // Also a changeset that was hidden changes the tip when it is seen again.
    let was_there = base.view().tip() == repo.view()?.tip();
    let changes = base.head_changes(closes)?;
    if was_there {
        ui.warn("warning: commit already existed in the repository!\n")?;
    } else if changes.created {
        ui.status("created new head\n")?;
    }
    for rev in changes.reopened {
        ui.status(format!("reopening closed branch head {}\n", rev.0))?;
    }
    print_committed(repo, ui, node)
}

/// Says with `--debug` that there are new changesets, in Mercurial's words about its cache.
pub(super) fn note_new_history(ui: &mut Ui) -> Result<(), Abort> {
    ui.debug("updating the branch cache\n")
}

/// Prints the new changeset with `--verbose`.
pub(super) fn print_committed(repo: &mut Repo, ui: &mut Ui, node: &Node) -> Result<(), Abort> {
    if !ui.verbosity.verbose {
        return Ok(());
    }
    let rev = repo.view()?.changelog().rev(node);
    let rev = rev.map_or(-1, |rev| i64::from(rev.0));
    let shown = ui.hex(node);
    ui.write(format!("committed changeset {rev}:{shown}\n"))
}

/// The word for a file that is tracked from now on.
const ADDING: &str = "adding";

/// `--addremove`: tracks new files, if their names are permitted, and stops tracking missing ones.
pub(super) fn add_and_remove(
    repo: &Repo,
    (ui, config): (&mut Ui, &Config),
    dirstate: &mut Dirstate,
    status: &mut Status,
    matcher: &Matcher,
) -> Result<(), Abort> {
    let with = |list: &[Vec<u8>], verb| -> Vec<(Vec<u8>, &str)> {
        list.iter().map(|path| (path.clone(), verb)).collect()
    };
    let mut files = with(&status.unknown, ADDING);
    files.extend(with(&status.deleted, "removing"));
    files.sort_unstable();
    let relative = repo.uses_relative_paths(false)?;
    for (path, verb) in files {
        if ui.verbosity.verbose || !matcher.is_exact(&path) {
            let shown = match relative {
                true => repo.relative_path(&path)?,
                false => path.clone(),
            };
            let label = match verb {
                ADDING => "ui.addremove.added",
                _ => "ui.addremove.removed",
            };
            ui.status_labelled(label, [verb.as_bytes(), b" ", &shown, b"\n"].concat())?;
        }
    }
    // Before anything is tracked: a name may be refused.
    for path in &status.unknown {
        warn_unportable(ui, config, path)?;
    }
    Ok(varve_workdir::add_and_remove(dirstate, status)?)
}

/// Refuses files among the arguments that cannot be committed.
pub(crate) fn check_named_files(
    repo: &Repo,
    repository: &Repository,
    dirstate: &Dirstate,
    matcher: &Matcher,
    status: &Status,
) -> Result<(), Abort> {
    let checked = varve_workdir::check_named_files(repository, dirstate, matcher, status);
    let Err(WorkdirError::Uncommittable { path, reason }) = checked else {
        return Ok(checked?);
    };
    let shown = repo.display_path(&path)?;
    let shown = String::from_utf8_lossy(&shown);
    let words = match reason {
        UncommittableReason::Io(error) => system_words(&error),
        other => other.to_string(),
    };
    Err(Abort::input(format!("{shown}: {words}")))
}
