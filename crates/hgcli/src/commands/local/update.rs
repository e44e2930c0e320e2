//! `update`: the working copy of another changeset.

use super::attend;
use crate::arguments::{Flag, Matches};
use crate::commands::local::attend::Watcher;
use crate::context::Context;
use crate::context::{Category, Command};
use crate::ui::Abort;
use std::collections::BTreeMap;
use std::sync::Arc;
use varve_repo::{LockKind, Node, RepoView, Repository, Rev, ViewFilter};
use varve_workdir::{Dirstate, LocalChanges, UpdateRequest, UpdateStats, WorkdirError};

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
    help: "Makes the files of the working directory those of REV. Without REV that is the newest \
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
struct UpdateTarget {
    rev: Option<Rev>,
    /// As typed; `None` if nothing was.
    typed: Option<Vec<u8>>,
    /// The active bookmark that goes along.
    moves: Option<Vec<u8>>,
}

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
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
    let needs_rev = context
        .config
        .boolean("commands", "update.requiredest", false)?;
    if needs_rev && typed.is_none() && date.is_none() {
        return Err(
            Abort::new("you must specify a destination").hint("for example: hg update \".::\"")
        );
    }
    carry_out(context, matches, typed, date)
}

/// What `update` without arguments does, for commands that have brought changesets.
pub(crate) fn to_newest(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    carry_out(context, matches, None, None)
}

fn carry_out(
    context: &mut Context,
    matches: &Matches,
    typed: Option<Vec<u8>>,
    date: Option<&[u8]>,
) -> Result<u8, Abort> {
    let local = local(context, matches);
    let repository = context.repo.repository()?;
    let lock = context.repo.lock(&mut context.ui, LockKind::WorkingCopy)?;
    context.repo.warn_of_disabled_markers(&mut context.ui)?;
    let target = match date {
        Some(date) => of_date(context, date)?,
        None => target(context, &repository, typed)?,
    };
    let hidden = hidden_words(context, target.rev)?;
    let updated = go(context, matches, &repository, &target, local)?;
    let code = report(context, &updated)?;
    context.ui.warn(hidden)?;
    bookmarks_after(context, &repository, &target)?;
    drop(lock);
    if target.typed.is_none() {
        tell_other_heads(context, &repository)?;
    }
    Ok(code)
}

/// What is said of a target that only `--hidden` shows.
fn hidden_words(context: &mut Context, target: Option<Rev>) -> Result<String, Abort> {
    let Some(rev) = target.filter(|_| context.repo.hidden) else {
        return Ok(String::new());
    };
    let view = context.repo.view()?;
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
fn local(context: &Context, matches: &Matches) -> LocalChanges {
    if matches.flag("clean") {
        return LocalChanges::Discard;
    }
    if matches.flag("check") {
        return LocalChanges::Refuse;
    }
    if matches.flag("merge") {
        return LocalChanges::Merge;
    }
    match context.config.get("commands", "update.check") {
        Some(b"abort") => LocalChanges::Refuse,
        Some(b"none") => LocalChanges::Merge,
        Some(b"noconflict") => LocalChanges::KeepApart,
        _ => LocalChanges::Keep,
    }
}

/// The newest changeset of a date.
fn of_date(context: &mut Context, date: &[u8]) -> Result<UpdateTarget, Abort> {
    let rev = context.repo.tipmost_of_date(&mut context.ui, date)?;
    Ok(UpdateTarget {
        rev: Some(rev),
        typed: Some(rev.0.to_string().into_bytes()),
        moves: None,
    })
}

fn target(
    context: &mut Context,
    repository: &Repository,
    typed: Option<Vec<u8>>,
) -> Result<UpdateTarget, Abort> {
    if let Some(typed) = typed {
        return Ok(UpdateTarget {
            rev: context.repo.revision(&mut context.ui, Some(&typed))?,
            typed: Some(typed),
            moves: None,
        });
    }
    let view = context.repo.view()?;
    let from = working_parent(&view)?;
    let active = varve_workdir::active_bookmark(repository)?;
    let active = active.and_then(|name| Some((view.bookmarks().get(&name).copied()?, name)));
    let mut moves = None;
    if let Some((node, name)) = active {
        let at = view.changelog().rev(&node);
        if at != from {
            let line = [b"updating to active bookmark ", &name[..], b"\n"].concat();
            context.ui.status(line)?;
            return Ok(UpdateTarget {
                rev: at,
                typed: None,
                moves: None,
            });
        }
        moves = Some(name);
    }
    let branch = varve_workdir::branch(repository)?;
    Ok(UpdateTarget {
        rev: varve_workdir::destination(&view, &branch, from)?,
        typed: None,
        moves,
    })
}

/// The first parent of the working copy.
fn working_parent(view: &RepoView) -> Result<Option<Rev>, Abort> {
    let parents = view.working_parents()?;
    Ok(parents.first().and_then(|node| view.changelog().rev(node)))
}

fn go(
    context: &mut Context,
    matches: &Matches,
    repository: &Repository,
    target: &UpdateTarget,
    local: LocalChanges,
) -> Result<UpdateStats, Abort> {
    let view = context.repo.view()?;
    if local != LocalChanges::Discard && varve_workdir::has_unresolved(repository)? {
        if local == LocalChanges::Refuse && !context.repo.working_changes()?.is_unchanged() {
            return Err(WorkdirError::UncommittedChanges.into());
        }
        return Err(Abort::new("outstanding merge conflicts").hint("use 'hg resolve' to resolve"));
    }
    let mut dirstate = Dirstate::read(repository)?;
    if local == LocalChanges::Refuse && context.repo.asks_before_update() {
        let found = context.repo.working_changes()?;
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
    context.repo.before_update(&mut context.ui, &parents)?;
    let updated = go_to(
        context,
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
    context
        .repo
        .after_update(&mut context.ui, &parents, updated.unresolved)?;
    Ok(updated)
}

/// Updates, and says on the way what happens.
pub(crate) fn go_to(
    context: &mut Context,
    matches: &Matches,
    (repository, view): (&Repository, &RepoView),
    dirstate: &mut Dirstate,
    target: Option<Rev>,
    local: LocalChanges,
) -> Result<UpdateStats, Abort> {
    let tool = attend::tool_choice(&context.config, matches.value("tool"));
    let progress = std::mem::replace(&mut context.ui.progress, Box::new(varve_base::Silent));
    let stop = context.ui.stop.clone();
    let request = UpdateRequest {
        repository,
        view,
        target,
        local,
        tool: &tool,
        progress: progress.as_ref(),
        stop: &stop,
    };
    let mut watcher = Watcher::new(context, matches)?;
    let updated = varve_workdir::update(&request, dirstate, &mut watcher);
    let told = watcher.finish();
    context.ui.progress = progress;
    told?;
    if let Err(WorkdirError::UntrackedDiffer(files)) = &updated {
        for file in files {
            context
                .ui
                .warn(format!("{file}: untracked file differs\n"))?;
        }
    }
    Ok(updated?)
}

/// The exit code when files are left with conflicts.
const UNRESOLVED: u8 = 1;

/// Tells what an update did; gives the code to end with.
pub(crate) fn report(context: &mut Context, updated: &UpdateStats) -> Result<u8, Abort> {
    let UpdateStats {
        updated,
        merged,
        removed,
        unresolved,
    } = *updated;
    context.ui.status(format!(
        "{updated} files updated, {merged} files merged, {removed} files removed, {unresolved} \
         files unresolved\n"
    ))?;
    if unresolved == 0 {
        return Ok(0);
    }
    context
        .ui
        .status("use 'hg resolve' to retry unresolved file merges\n")?;
    Ok(UNRESOLVED)
}

/// Moves, activates or leaves the active bookmark.
fn bookmarks_after(
    context: &mut Context,
    repository: &Repository,
    target: &UpdateTarget,
) -> Result<(), Abort> {
    let view = context.repo.view()?;
    if let Some(name) = &target.moves {
        let node = view.changelog().node_or_null(target.rev);
        if view.bookmarks().get(name) != Some(&node) {
            context
                .ui
                .status([b"updating bookmark ", &name[..], b"\n"].concat())?;
            move_bookmark(context, repository, name, node)?;
        }
    }
    let Some(typed) = &target.typed else {
        return Ok(());
    };
    let active = varve_workdir::active_bookmark(repository)?;
    let active = active.filter(|name| view.bookmarks().contains_key(name));
    if view.bookmarks().contains_key(typed) {
        if active.as_ref() != Some(typed) {
            context
                .ui
                .status([b"(activating bookmark ", &typed[..], b")\n"].concat())?;
            varve_workdir::set_active_bookmark(repository, Some(typed))?;
        }
    } else if let Some(active) = active {
        context
            .ui
            .status([b"(leaving bookmark ", &active[..], b")\n"].concat())?;
        varve_workdir::set_active_bookmark(repository, None)?;
    }
    Ok(())
}

fn move_bookmark(
    context: &mut Context,
    repository: &Repository,
    name: &[u8],
    node: Node,
) -> Result<(), Abort> {
    let lock = context.repo.lock(&mut context.ui, LockKind::Store)?;
    let all = repository.view_for(ViewFilter::Unfiltered)?;
    let mut bookmarks: BTreeMap<Vec<u8>, Node> = all.bookmarks().clone();
    bookmarks.insert(name.to_vec(), node);
    let mut transaction = repository.transaction(lock, "bookmark")?;
    transaction.set_bookmarks(&bookmarks)?;
    transaction.finish()?;
    context.repo.refresh();
    Ok(())
}

/// After an update without a revision: what else it could have gone to.
fn tell_other_heads(context: &mut Context, repository: &Repository) -> Result<(), Abort> {
    let view: Arc<RepoView> = context.repo.view()?;
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
        context.ui.warn(format!(
            "no open descendant heads on branch \"{branch}\", updating to a closed head\n"
        ))?;
        return context.ui.warn(if others == 0 {
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
        context
            .ui
            .status(format!("updated to \"{short}: {first}\"\n"))?;
        context
            .ui
            .status(format!("{others} other heads for branch \"{branch}\"\n"))?;
    }
    Ok(())
}
