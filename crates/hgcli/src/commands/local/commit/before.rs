//! Checks before a commit, and its messages afterwards.

use crate::arguments::Matches;
use crate::context::Repo;
use crate::ui::{Abort, Ui};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use varve_lang::patterns::Matcher;
use varve_repo::{Node, Repository};
use varve_workdir::{CloseOptions, CloseRefusal, CommitBase, Dirstate, Status, WorkdirError};

/// Reads the state that the commit builds on, under the locks.
pub(super) fn read_base(
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
pub(super) fn check_close(base: &CommitBase, matches: &Matches) -> Result<(), Abort> {
    let options = CloseOptions {
        forced: matches.flag("force-close-branch"),
        amends: matches.flag("amend"),
    };
    base.check_close(options).map_err(|error| match error {
        WorkdirError::CannotClose(CloseRefusal::NoHeads) => {
            let branch = String::from_utf8_lossy(base.branch());
            Abort::new(format!("branch \"{branch}\" has no heads to close"))
        }
        WorkdirError::CannotClose(CloseRefusal::NotAHead) if !options.amends => {
            Abort::new(error.to_string())
                .hint("use --force-close-branch to close branch from a non-head changeset")
        }
        other => other.into(),
    })
}

/// Prints the changes of the branch's heads, and with `--verbose` the new changeset.
pub(super) fn report(
    repo: &mut Repo,
    ui: &mut Ui,
    base: &CommitBase,
    (node, closes): (&Node, bool),
) -> Result<(), Abort> {
    let changes = base.head_changes(closes)?;
    if changes.created {
        ui.status("created new head\n")?;
    }
    for rev in changes.reopened {
        ui.status(format!("reopening closed branch head {}\n", rev.0))?;
    }
    tell_committed(repo, ui, node)
}

/// Prints the new changeset with `--verbose`.
pub(super) fn tell_committed(repo: &mut Repo, ui: &mut Ui, node: &Node) -> Result<(), Abort> {
    if !ui.verbosity.verbose {
        return Ok(());
    }
    let rev = repo.view()?.changelog().rev(node);
    let rev = rev.map_or(-1, |rev| i64::from(rev.0));
    let shown = ui.hex(node);
    ui.note(format!("committed changeset {rev}:{shown}\n"))
}

/// `--addremove`: tracks what is new and stops tracking what is missing.
pub(super) fn add_and_remove(
    repo: &Repo,
    ui: &mut Ui,
    dirstate: &mut Dirstate,
    status: &mut Status,
    matcher: &Matcher,
) -> Result<(), Abort> {
    let (new, gone) = (
        std::mem::take(&mut status.unknown),
        std::mem::take(&mut status.deleted),
    );
    let mut told: Vec<(&[u8], &str)> = new.iter().map(|path| (&path[..], "adding")).collect();
    told.extend(gone.iter().map(|path| (&path[..], "removing")));
    told.sort_unstable();
    for (path, verb) in told {
        if ui.verbosity.verbose || !matcher.is_exact(path) {
            let shown = repo.display_path(path)?;
            ui.status([verb.as_bytes(), b" ", &shown, b"\n"].concat())?;
        }
    }
    for path in &new {
        dirstate.add(path);
    }
    for path in &gone {
        let was_added = status.added.iter().position(|added| added == path);
        dirstate.remove(path);
        match was_added {
            Some(at) => drop(status.added.remove(at)),
            None => status.removed.push(path.clone()),
        }
    }
    status.added.extend(new);
    status.added.sort_unstable();
    status.removed.sort_unstable();
    Ok(())
}

/// Refuses what arguments name that is not tracked, or not there.
pub(super) fn check_named(
    repo: &Repo,
    repository: &Repository,
    dirstate: &Dirstate,
    matcher: &Matcher,
    status: &Status,
) -> Result<(), Abort> {
    if matcher.is_wild() {
        return Ok(());
    }
    for path in matcher.named() {
        let shown = String::from_utf8_lossy(&repo.display_path(path)?).into_owned();
        let fail = |words: &str| Err(Abort::new(format!("{shown}: {words}")));
        if path.is_empty() || status.removed.iter().any(|gone| gone == path) {
            continue;
        }
        if status.deleted.iter().any(|gone| gone == path) {
            return fail("file not found!");
        }
        if dirstate.is_tracked(path) {
            continue;
        }
        let found = repository
            .root()
            .join(OsStr::from_bytes(path))
            .symlink_metadata();
        let lists = [&status.modified, &status.added, &status.removed];
        let below = [&path[..], b"/"].concat();
        let any_below = lists
            .iter()
            .any(|list| list.iter().any(|file| file.starts_with(&below)));
        match found {
            _ if any_below => {}
            Ok(found) if found.is_dir() => return fail("no match under directory!"),
            Ok(_) => return fail("file not tracked!"),
            Err(error) => return fail(&crate::ui::system_words(&error)),
        }
    }
    Ok(())
}
