//! `update`: the working folder of another changeset.

use crate::face::{Abort, Category, Command, Flag, Matches, Session};
use std::collections::BTreeMap;
use std::sync::Arc;
use varve_repo::{Audience, Locked, Node, RepoView, Repository, Rev};
use varve_workdir::{Dirstate, Local, Updated, WorkdirError};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["update", "up", "checkout", "co"],
    options: &[
        Flag::flag('C', "clean", "give up local changes, without a backup"),
        Flag::flag('c', "check", "only if there are no local changes"),
        Flag::flag('m', "merge", "keep local changes"),
        Flag::value('r', "rev", "REV", "the changeset to go to"),
    ],
    arguments: 0..=1,
    synopsis: "[-C|-c|-m] [[-r] REV]",
    summary: "update working directory (or switch revisions)",
    help: "Makes the files of the working folder those of REV. Without REV that is the newest \
           changeset of the current branch that follows the present one.\n\n\
           Local changes stay if REV leaves the same files alone and either changeset follows \
           from the other; else nothing is done. With -C they are given up, with -c any local \
           change ends the command.\n\n\
           A REV that is a bookmark makes it the active one; any other REV leaves the active \
           bookmark.\n\nEnds with 0.",
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
    let local = if matches.flag("clean") {
        Local::Discard
    } else if matches.flag("check") {
        Local::Refuse
    } else {
        Local::Keep
    };
    let repository = session.repository()?;
    let lock = session.lock(Locked::WorkingCopy)?;
    let target = target(session, &repository, typed)?;
    let updated = go(session, &repository, &target, local)?;
    report(session, &updated)?;
    bookmarks_after(session, &repository, &target)?;
    drop(lock);
    if target.typed.is_none() {
        tell_other_heads(session, &repository)?;
    }
    Ok(0)
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
    repository: &Repository,
    target: &Target,
    local: Local,
) -> Result<Updated, Abort> {
    let view = session.view()?;
    if local != Local::Discard && varve_workdir::has_unresolved(repository)? {
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
    let (progress, stop) = (session.progress.as_ref(), &session.stop);
    let updated = varve_workdir::update(
        repository,
        &view,
        &mut dirstate,
        target.rev,
        local,
        (progress, stop),
    );
    if let Err(WorkdirError::UntrackedDiffer(files)) = &updated {
        for file in files {
            session.warn(format!("{file}: untracked file differs\n"))?;
        }
    }
    let updated = updated?;
    varve_workdir::clear_merge(repository)?;
    let branch = match target.rev {
        Some(rev) => view.with_changeset(rev, |changeset| changeset.branch().into_owned())?,
        None => varve_repo::DEFAULT_BRANCH.to_vec(),
    };
    varve_workdir::set_branch(repository, &branch)?;
    session.after_update(&parents, 0)?;
    Ok(updated)
}

/// Tells what an update did.
pub(super) fn report(session: &mut Session, updated: &Updated) -> Result<(), Abort> {
    session.note("resolving manifests\n")?;
    let verbs = [
        ("removing", &updated.removed),
        ("getting", &updated.updated),
    ];
    for (verb, files) in verbs {
        for file in files {
            session.note([verb.as_bytes(), b" ", file, b"\n"].concat())?;
        }
    }
    let (updated, removed) = (updated.updated.len(), updated.removed.len());
    session.status(format!(
        "{updated} files updated, 0 files merged, {removed} files removed, 0 files unresolved\n"
    ))
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
    let lock = session.lock(Locked::Store)?;
    let all = repository.view_for(Audience::Everything)?;
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
