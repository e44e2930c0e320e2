//! `update`: the working folder of another changeset.

use crate::arguments::{Category, Command, Flag, Matches};
use crate::commands::local::attend::Watcher;
use crate::context::Session;
use crate::ui::Abort;
use std::collections::BTreeMap;
use std::sync::Arc;
use varve_repo::{LockKind, Node, RepoView, Repository, Rev, ViewFilter};
use varve_workdir::{Dirstate, Local, UpdateRequest, Updated, WorkdirError};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["update", "up", "checkout", "co"],
    options: &[
        Flag::flag('C', "clean", "give up local changes, without a backup"),
        Flag::flag('c', "check", "only if there are no local changes"),
        Flag::flag('m', "merge", "merge local changes, wherever REV is"),
        Flag::value('d', "date", "DATE", "the newest changeset of that date"),
        Flag::value('r', "rev", "REV", "the changeset to go to"),
        Flag::value('t', "tool", "TOOL", "what merges files"),
    ],
    arguments: 0..=1,
    synopsis: "[-C|-c|-m] [-d DATE] [[-r] REV]",
    summary: "update working directory (or switch revisions)",
    help: "Makes the files of the working folder those of REV. Without REV that is the newest \
           changeset of the current branch that follows the present one.\n\n\
           Local changes are merged with those of REV if either changeset follows from the other; \
           else nothing is done, unless -m asks for it. With -C they are given up, with -c any \
           local change ends the command. commands.update.check says what happens without these \
           options: abort, none, linear or noconflict.\n\n\
           Files are merged line by line. Where both sides changed the same lines, both are left \
           in the file between marks, the file as it was gets .orig behind its name, and the \
           merge waits for 'hg resolve'. TOOL, HGMERGE or ui.merge may be :merge, :merge3, \
           :merge-local, :merge-other, :union, :union-other-first, :local, :other, :fail, :dump, \
           :forcedump or :prompt. Other programs are not started: with them, an update that \
           would need one is refused.\n\n\
           A REV that is a bookmark makes it the active one; any other REV leaves the active \
           bookmark.\n\nEnds with 0; with 1 if files are unresolved.",
    category: Some(Category::WorkingDirectory),
    run,
};

/// Where to, and what that means for bookmarks.
struct Target {
    rev: Option<Rev>,
    /// As typed; `None` if nothing was.
    typed: Option<Vec<u8>>,
    /// The active bookmark that goes along.
    moves: Option<Vec<u8>>,
}

fn run(session: &mut Session, matches: &Matches) -> Result<u8, Abort> {
    let given = ["clean", "check", "merge"].map(|name| (name, matches.flag(name)));
    let mut given = given.iter().filter(|(_, given)| *given);
    if let (Some((one, _)), Some((other, _))) = (given.next(), given.next()) {
        let message = format!("cannot specify both --{one} and --{other}");
        return Err(Abort::new(message));
    }
    let typed = match (matches.value("rev"), matches.arguments().first()) {
        (Some(_), Some(_)) => return Err(Abort::new("please specify just one revision")),
        (Some(typed), None) => Some(typed.to_vec()),
        (None, argument) => argument.cloned(),
    };
    let date = matches.value("date").filter(|date| !date.is_empty());
    if typed.is_some() && date.is_some() {
        return Err(Abort::new("you can't specify a revision and a date"));
    }
    let needs_rev = session
        .config
        .boolean("commands", "update.requiredest", false)?;
    if needs_rev && typed.is_none() && date.is_none() {
        return Err(
            Abort::new("you must specify a destination").hint("for example: hg update \".::\"")
        );
    }
    carry_out(session, matches, typed, date)
}

/// What `update` without arguments does, for commands that have brought changesets.
pub(crate) fn to_newest(session: &mut Session, matches: &Matches) -> Result<u8, Abort> {
    carry_out(session, matches, None, None)
}

fn carry_out(
    session: &mut Session,
    matches: &Matches,
    typed: Option<Vec<u8>>,
    date: Option<&[u8]>,
) -> Result<u8, Abort> {
    let local = local(session, matches);
    let repository = session.repository()?;
    let lock = session.lock(LockKind::WorkingCopy)?;
    session.tell_of_markers()?;
    let target = match date {
        Some(date) => of_date(session, date)?,
        None => target(session, &repository, typed)?,
    };
    let hidden = hidden_words(session, target.rev)?;
    let updated = go(session, matches, &repository, &target, local)?;
    let code = report(session, &updated)?;
    session.warn(hidden)?;
    bookmarks_after(session, &repository, &target)?;
    drop(lock);
    if target.typed.is_none() {
        tell_other_heads(session, &repository)?;
    }
    Ok(code)
}

/// What is said of a target that only `--hidden` shows.
fn hidden_words(session: &mut Session, target: Option<Rev>) -> Result<String, Abort> {
    let Some(rev) = target.filter(|_| session.hidden) else {
        return Ok(String::new());
    };
    let view = session.view()?;
    if !view.hidden_changesets()?.contains(&rev) {
        return Ok(String::new());
    }
    let hex = &view.changelog().node(rev).to_string()[..12];
    let fate = view.obsfate_text(rev)?;
    Ok(format!(
        "updated to hidden changeset {hex}\n(hidden revision '{hex}'{fate})\n"
    ))
}

/// What becomes of local changes.
fn local(session: &Session, matches: &Matches) -> Local {
    if matches.flag("clean") {
        return Local::Discard;
    }
    if matches.flag("check") {
        return Local::Refuse;
    }
    if matches.flag("merge") {
        return Local::Merge;
    }
    match session.config.get("commands", "update.check") {
        Some(b"abort") => Local::Refuse,
        Some(b"none") => Local::Merge,
        Some(b"noconflict") => Local::KeepApart,
        _ => Local::Keep,
    }
}

/// The newest changeset of a date.
fn of_date(session: &mut Session, date: &[u8]) -> Result<Target, Abort> {
    let rev = session.tipmost_of_date(date)?;
    Ok(Target {
        rev: Some(rev),
        typed: Some(rev.0.to_string().into_bytes()),
        moves: None,
    })
}

fn target(
    session: &mut Session,
    repository: &Repository,
    typed: Option<Vec<u8>>,
) -> Result<Target, Abort> {
    if let Some(typed) = typed {
        return Ok(Target {
            rev: session.revision(Some(&typed))?,
            typed: Some(typed),
            moves: None,
        });
    }
    let view = session.view()?;
    let from = working_parent(&view)?;
    let active = varve_workdir::active_bookmark(repository)?;
    let active = active.and_then(|name| Some((view.bookmarks().get(&name).copied()?, name)));
    let mut moves = None;
    if let Some((node, name)) = active {
        let at = view.changelog().rev(&node);
        if at != from {
            let line = [b"updating to active bookmark ", &name[..], b"\n"].concat();
            session.status(line)?;
            return Ok(Target {
                rev: at,
                typed: None,
                moves: None,
            });
        }
        moves = Some(name);
    }
    let branch = varve_workdir::branch(repository)?;
    Ok(Target {
        rev: varve_workdir::destination(&view, &branch, from)?,
        typed: None,
        moves,
    })
}

/// The first parent of the working folder.
fn working_parent(view: &RepoView) -> Result<Option<Rev>, Abort> {
    let parents = view.working_parents()?;
    Ok(parents.first().and_then(|node| view.changelog().rev(node)))
}

fn go(
    session: &mut Session,
    matches: &Matches,
    repository: &Repository,
    target: &Target,
    local: Local,
) -> Result<Updated, Abort> {
    let view = session.view()?;
    if local != Local::Discard && varve_workdir::has_unresolved(repository)? {
        if local == Local::Refuse && !session.working_changes()?.is_unchanged() {
            return Err(WorkdirError::UncommittedChanges.into());
        }
        return Err(Abort::new("outstanding merge conflicts").hint("use 'hg resolve' to resolve"));
    }
    let mut dirstate = Dirstate::read(repository)?;
    if local == Local::Refuse && session.asks_before_update() {
        let found = session.working_changes()?;
        let lists = [
            &found.modified,
            &found.added,
            &found.removed,
            &found.deleted,
        ];
        if lists.iter().any(|list| !list.is_empty()) {
            return Err(WorkdirError::UncommittedChanges.into());
        }
    }
    let parents = [view.changelog().node_or_null(target.rev), Node::NULL];
    session.before_update(&parents)?;
    let updated = go_to(
        session,
        matches,
        (repository, &view),
        &mut dirstate,
        target.rev,
        local,
    )?;
    let branch = match target.rev {
        Some(rev) => view.with_changeset(rev, |changeset| changeset.branch().into_owned())?,
        None => varve_repo::DEFAULT_BRANCH.to_vec(),
    };
    varve_workdir::set_branch(repository, &branch)?;
    session.after_update(&parents, updated.unresolved)?;
    Ok(updated)
}

/// Updates, and says on the way what happens.
pub(crate) fn go_to(
    session: &mut Session,
    matches: &Matches,
    (repository, view): (&Repository, &RepoView),
    dirstate: &mut Dirstate,
    target: Option<Rev>,
    local: Local,
) -> Result<Updated, Abort> {
    let tool = session.tool_choice(matches.value("tool"));
    let progress = std::mem::replace(&mut session.progress, Box::new(varve_base::Silent));
    let stop = session.stop.clone();
    let request = UpdateRequest {
        repository,
        view,
        target,
        local,
        tool: &tool,
        progress: progress.as_ref(),
        stop: &stop,
    };
    let mut watcher = Watcher::new(session, matches)?;
    let updated = varve_workdir::update(&request, dirstate, &mut watcher);
    let told = watcher.finish();
    session.progress = progress;
    told?;
    if let Err(WorkdirError::UntrackedDiffer(files)) = &updated {
        for file in files {
            session.warn(format!("{file}: untracked file differs\n"))?;
        }
    }
    Ok(updated?)
}

/// The exit code when files are left with conflicts.
const UNRESOLVED: u8 = 1;

/// Tells what an update did; gives the code to end with.
pub(crate) fn report(session: &mut Session, updated: &Updated) -> Result<u8, Abort> {
    let Updated {
        updated,
        merged,
        removed,
        unresolved,
    } = *updated;
    session.status(format!(
        "{updated} files updated, {merged} files merged, {removed} files removed, {unresolved} \
         files unresolved\n"
    ))?;
    if unresolved == 0 {
        return Ok(0);
    }
    session.status("use 'hg resolve' to retry unresolved file merges\n")?;
    Ok(UNRESOLVED)
}

/// Moves, activates or leaves the active bookmark.
fn bookmarks_after(
    session: &mut Session,
    repository: &Repository,
    target: &Target,
) -> Result<(), Abort> {
    let view = session.view()?;
    if let Some(name) = &target.moves {
        let node = view.changelog().node_or_null(target.rev);
        if view.bookmarks().get(name) != Some(&node) {
            session.status([b"updating bookmark ", &name[..], b"\n"].concat())?;
            move_bookmark(session, repository, name, node)?;
        }
    }
    let Some(typed) = &target.typed else {
        return Ok(());
    };
    let active = varve_workdir::active_bookmark(repository)?;
    let active = active.filter(|name| view.bookmarks().contains_key(name));
    if view.bookmarks().contains_key(typed) {
        if active.as_ref() != Some(typed) {
            session.status([b"(activating bookmark ", &typed[..], b")\n"].concat())?;
            varve_workdir::set_active_bookmark(repository, Some(typed))?;
        }
    } else if let Some(active) = active {
        session.status([b"(leaving bookmark ", &active[..], b")\n"].concat())?;
        varve_workdir::set_active_bookmark(repository, None)?;
    }
    Ok(())
}

fn move_bookmark(
    session: &mut Session,
    repository: &Repository,
    name: &[u8],
    node: Node,
) -> Result<(), Abort> {
    let lock = session.lock(LockKind::Store)?;
    let all = repository.view_for(ViewFilter::Unfiltered)?;
    let mut bookmarks: BTreeMap<Vec<u8>, Node> = all.bookmarks().clone();
    bookmarks.insert(name.to_vec(), node);
    let mut transaction = repository.transaction(lock, "bookmark")?;
    transaction.set_bookmarks(&bookmarks)?;
    transaction.finish()?;
    session.forget_view();
    Ok(())
}

/// After an update without a revision: what else it could have gone to.
fn tell_other_heads(session: &mut Session, repository: &Repository) -> Result<(), Abort> {
    let view: Arc<RepoView> = session.view()?;
    let active = varve_workdir::active_bookmark(repository)?;
    if active.is_some_and(|name| view.bookmarks().contains_key(&name)) {
        return Ok(());
    }
    let (Some(at), branch) = (working_parent(&view)?, varve_workdir::branch(repository)?) else {
        return Ok(());
    };
    let branches = view.branchmap()?;
    let Some(heads) = branches.get(&branch) else {
        return Ok(());
    };
    let others = heads.heads.iter().filter(|head| **head != at);
    let others = others.filter(|head| !heads.closed.contains(head)).count();
    let branch = String::from_utf8_lossy(&branch).into_owned();
    if heads.closed.contains(&at) {
        session.warn(format!(
            "no open descendant heads on branch \"{branch}\", updating to a closed head\n"
        ))?;
        return session.warn(if others == 0 {
            format!("(committing will reopen branch \"{branch}\")\n")
        } else {
            format!(
                "(committing will reopen the head, use 'hg heads .' to see {others} other heads)\n"
            )
        });
    }
    if others > 0 {
        let short = &view.changelog().node(at).to_string()[..12];
        let first = view.with_changeset(at, |changeset| {
            let line = changeset.description.split(|byte| *byte == b'\n').next();
            String::from_utf8_lossy(line.unwrap_or_default()).into_owned()
        })?;
        session.status(format!("updated to \"{short}: {first}\"\n"))?;
        session.status(format!("{others} other heads for branch \"{branch}\"\n"))?;
    }
    Ok(())
}
