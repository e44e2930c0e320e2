//! `commit`: what changed in the working folder becomes a changeset.

mod before;
mod editor;
pub(crate) mod words;

use crate::face::{Abort, Category, Command, EXCLUDE, Flag, INCLUDE, Matches, Session};
use before::Before;
use varve_repo::{Lock, Locked, Node, Repository};
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
        Flag::flag('s', "secret", "the changeset is secret"),
        Flag::long_flag("draft", "the changeset is a draft"),
        Flag::flag('e', "edit", "edit the description"),
        INCLUDE,
        EXCLUDE,
        words::MESSAGE,
        words::LOGFILE,
        words::DATE,
        words::USER,
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION]... [FILE]...",
    summary: "commit the specified files or all outstanding changes",
    help: "Names and patterns choose files; without any, all that changed are committed. A merge \
           can only be committed whole.\n\n\
           Without a description an editor asks for one. If the commit fails, the description is \
           kept in .hg/last-message.txt.\n\n\
           Ends with 0; with 1 if nothing changed.",
    category: Some(Category::Committing),
    run,
};

/// The exit code when there is nothing to commit.
const NOTHING: u8 = 1;

fn run(session: &mut Session, matches: &Matches) -> Result<u8, Abort> {
    let phase = words::phase(session, matches)?;
    words::check(matches)?;
    let date = words::date(session, matches)?;
    let typed = words::typed_message(session, matches)?;
    let repository = session.repository()?;
    let working_copy = session.lock(Locked::WorkingCopy)?;
    let lock = session.lock(Locked::Store)?;
    let mut dirstate = Dirstate::read(&repository)?;
    let before = Before::look(session, &repository, &dirstate)?;
    let close = matches.flag("close-branch");
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
    let closing: &[(&[u8], &[u8])] = &[(b"close", b"1")];
    let words = Words {
        user: &user,
        date,
        branch: &before.branch,
        extras: if close { closing } else { &[] },
        description: &description,
        phase,
    };
    let parents = dirstate.parents();
    // For the user, should the commit fail.
    let _ = std::fs::write(repository.root().join(".hg/last-message.txt"), &description);
    let made = make(session, lock, (&repository, &mut dirstate), &status, &words);
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
    (repository, dirstate): (&Repository, &mut Dirstate),
    status: &Status,
    words: &Words<'_>,
) -> Result<Node, Abort> {
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
    if matches.flag("close-branch") {
        before.check_close()?;
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
    if varve_workdir::is_interrupted(repository)? {
        return Err(Abort::new("last update was interrupted")
            .hint("use 'hg update' to get a consistent checkout"));
    }
    let adds = matches.flag("addremove");
    let ignore = match adds {
        true => session.ignore()?,
        false => Ignore::default(),
    };
    let looked = working_status(&StatusRequest {
        repository,
        dirstate,
        matcher: &matcher,
        ignore: &ignore,
        listing: Listing {
            unknown: adds,
            ..Listing::default()
        },
        stop: &session.stop,
    });
    let mut status = looked?.status;
    if adds {
        before::add_and_remove(session, dirstate, &mut status, &matcher)?;
    }
    before::check_named(session, repository, dirstate, &matcher, &status)?;
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
    session.note("committing files:\n")?;
    for file in files {
        session.note([&file[..], b"\n"].concat())?;
    }
    session.note("committing manifest\ncommitting changelog\n")
}
