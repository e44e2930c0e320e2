//! `commit`: what changed in the working folder becomes a changeset.

mod amend;
mod before;
mod editor;
pub(crate) mod words;

use crate::arguments::{Category, Command, EXCLUDE, Flag, INCLUDE, Matches};
use crate::context::Session;
use crate::ui::Abort;
use before::Before;
use varve_lang::patterns::Matcher;
use varve_repo::{Lock, LockKind, Node, Repository};
use varve_workdir::filesets::FilesAt;
use varve_workdir::{
    CommitPlace, Dirstate, Ignore, Listing, PathAuditor, Status, StatusRequest, Words, message,
    working_status,
};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["commit", "ci"],
    options: &[
        Flag::flag(
            'A',
            "addremove",
            "first add new files and remove missing ones",
        ),
        Flag::long_flag("close-branch", "mark this head of the branch as closed"),
        Flag::long_flag(
            "amend",
            "put a new changeset in the place of the working folder's parent",
        ),
        Flag::flag('s', "secret", "the changeset is secret"),
        Flag::long_flag("draft", "the changeset is a draft"),
        Flag::flag('e', "edit", "edit the description"),
        Flag::long_flag(
            "force-close-branch",
            "mark a changeset that is no head as closed too",
        ),
        Flag::flag(
            'i',
            "interactive",
            "choose changes one by one (not there yet)",
        ),
        INCLUDE,
        EXCLUDE,
        words::MESSAGE,
        words::LOGFILE,
        words::DATE,
        words::USER,
        Flag::flag('S', "subrepos", "also commit in subrepositories"),
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION]... [FILE]...",
    summary: "commit the specified files or all outstanding changes",
    help: "Names and patterns choose files; without any, all that changed are committed. A merge \
           can only be committed whole.\n\n\
           Without a description an editor asks for one. If the commit fails, the description is \
           kept in .hg/last-message.txt.\n\n\
           With --amend the new changeset has what the working folder's parent did and what changed \
           since, and that parent is removed; a bundle in .hg/strip-backup keeps it. If \
           experimental.evolution allows createmarkers, it is marked as obsolete instead. \
           Description, user and date stay unless they are given. Public changesets and those with \
           children are not amended.\n\n\
           Ends with 0; with 1 if nothing changed.",
    category: Some(Category::Committing),
    run,
};

/// The exit code when there is nothing to commit.
const NOTHING: u8 = 1;

/// What a changeset says that closes its branch.
const CLOSING: &[(&[u8], &[u8])] = &[(b"close", b"1")];

fn closes(matches: &Matches) -> bool {
    matches.flag("close-branch") || matches.flag("force-close-branch")
}

/// Refuses options that are not there, by name.
fn refuse(session: &Session, matches: &Matches) -> Result<(), Abort> {
    if matches.flag("subrepos") {
        if matches.flag("amend") {
            return Err(Abort::new("cannot specify both --subrepos and --amend"));
        }
        if session.root()?.join(".hgsub").symlink_metadata().is_ok() {
            return Err(Abort::new("subrepositories are not supported"));
        }
    }
    match matches.flag("interactive") {
        false => Ok(()),
        true if !session.is_interactive()? => Err(Abort::new("running non-interactively")),
        true => Err(Abort::new("commit --interactive is not supported")),
    }
}

fn run(session: &mut Session, matches: &Matches) -> Result<u8, Abort> {
    let phase = words::phase(matches)?;
    refuse(session, matches)?;
    if matches.flag("amend") {
        return amend::run(session, matches, phase);
    }
    let phase = match phase {
        Some(phase) => phase,
        None => words::new_phase(session)?,
    };
    words::check(matches)?;
    let date = words::date(session, matches)?;
    let typed = words::typed_message(session, matches)?;
    let repository = session.repository()?;
    let working_copy = session.lock(LockKind::WorkingCopy)?;
    let lock = session.lock(LockKind::Store)?;
    let mut dirstate = Dirstate::read(&repository)?;
    let before = Before::look(session, &repository, &dirstate)?;
    let close = closes(matches);
    let status = changes(session, matches, (&repository, &before), &mut dirstate)?;
    let is_new = before.is_merge() || before.changes_branch() || close;
    if is_empty(&status) && !is_new && !session.config.boolean("ui", "allowemptycommit", false)? {
        dirstate.write(&repository)?;
        return nothing_changed(session, &status);
    }
    let user = words::user(session, matches)?;
    let notes = message::Notes {
        user: &user,
        branch: &before.branch,
        is_merge: before.is_merge(),
        bookmark: before.bookmark.as_deref(),
        status: &status,
    };
    let edited = typed.is_none() || matches.flag("edit");
    let description = words::description(session, matches, typed, &notes)?;
    let words = Words {
        user: &user,
        date,
        branch: &before.branch,
        extras: if close { CLOSING } else { &[] },
        description: &description,
        phase,
    };
    let parents = dirstate.parents();
    // For the user, should the commit fail.
    let _ = std::fs::write(repository.root().join(".hg/last-message.txt"), &description);
    let made = make(session, lock, (&before, &mut dirstate), &status, &words);
    if made.is_err() && edited {
        session.warn(
            "note: commit message saved in .hg/last-message.txt\n\
             note: use 'hg commit --logfile .hg/last-message.txt --edit' to reuse it\n",
        )?;
    }
    let node = made?;
    session.after_commit(&node, &parents);
    drop(working_copy);
    session.forget_view();
    before.report(session, &node, close)?;
    Ok(0)
}

fn make(
    session: &mut Session,
    lock: Lock,
    (before, dirstate): (&Before, &mut Dirstate),
    status: &Status,
    words: &Words<'_>,
) -> Result<Node, Abort> {
    let repository = &session.repository()?;
    session.before_commit(&dirstate.parents())?;
    tell_files(session, status)?;
    let (user, description) = words::texts(session, words)?;
    let words = &Words {
        user: &user,
        description: &description,
        ..*words
    };
    let place = CommitPlace {
        repository,
        lock,
        seen: before.view(),
        options: words::write_options(session, repository)?,
        stop: &session.stop,
    };
    Ok(varve_workdir::commit(place, dirstate, status, words)?)
}

/// What will be committed, if it may be.
fn changes(
    session: &mut Session,
    matches: &Matches,
    (repository, before): (&Repository, &Before),
    dirstate: &mut Dirstate,
) -> Result<Status, Abort> {
    if closes(matches) {
        before.check_close(matches)?;
    }
    let auditor = PathAuditor::new(session.root()?);
    let matcher = session.matcher_with(matches, matches.arguments(), &auditor, FilesAt::Working)?;
    if before.is_merge() && !matcher.is_everything() {
        let message = "cannot partially commit a merge (do not specify files or patterns)";
        return Err(Abort::new(message));
    }
    if varve_workdir::has_unresolved(repository)? {
        let message = "unresolved merge conflicts (see 'hg help resolve')";
        return Err(Abort::new(message));
    }
    refuse_interrupted(repository)?;
    let status = look(session, matches, (repository, &matcher), dirstate)?;
    before::check_named(session, repository, dirstate, &matcher, &status)?;
    Ok(status)
}

fn refuse_interrupted(repository: &Repository) -> Result<(), Abort> {
    if varve_workdir::is_interrupted(repository)? {
        return Err(Abort::new("last update was interrupted")
            .hint("use 'hg update' to get a consistent checkout"));
    }
    Ok(())
}

/// What has changed, after `--addremove` if that is asked for.
fn look(
    session: &mut Session,
    matches: &Matches,
    (repository, matcher): (&Repository, &Matcher),
    dirstate: &mut Dirstate,
) -> Result<Status, Abort> {
    let adds = matches.flag("addremove");
    let ignore = match adds {
        true => session.ignore()?,
        false => Ignore::default(),
    };
    let looked = working_status(&StatusRequest {
        repository,
        dirstate,
        matcher,
        ignore: &ignore,
        listing: Listing {
            unknown: adds,
            ..Listing::default()
        },
        stop: &session.stop,
    })?;
    looked.teach(dirstate);
    let mut status = looked.status;
    if adds {
        before::add_and_remove(session, dirstate, &mut status, matcher)?;
    }
    Ok(status)
}

fn is_empty(status: &Status) -> bool {
    [&status.modified, &status.added, &status.removed]
        .iter()
        .all(|list| list.is_empty())
}

fn nothing_changed(session: &mut Session, status: &Status) -> Result<u8, Abort> {
    let missing = status.deleted.len();
    session.status(if missing == 0 {
        "nothing changed\n".to_owned()
    } else {
        format!("nothing changed ({missing} missing files, see 'hg status')\n")
    })?;
    Ok(NOTHING)
}

fn tell_files(session: &mut Session, status: &Status) -> Result<(), Abort> {
    let mut files: Vec<_> = status.modified.iter().chain(&status.added).collect();
    files.sort_unstable();
    tell_written(session, &files)
}

fn tell_written(session: &mut Session, files: &[&Vec<u8>]) -> Result<(), Abort> {
    session.note("committing files:\n")?;
    for file in files {
        session.note([&file[..], b"\n"].concat())?;
    }
    session.note("committing manifest\ncommitting changelog\n")
}
