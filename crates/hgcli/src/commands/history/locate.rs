//! `locate`: tracked files whose names match, in any directory.

use crate::arguments::{EXCLUDE, Flag, INCLUDE, Matches};
use crate::context::{Command, Context, Repo, matching};
use crate::ui::Abort;
use std::os::unix::ffi::OsStrExt;
use varve_lang::patterns::{Matcher, NameCheck, PatternKind};
use varve_repo::Rev;
use varve_workdir::Dirstate;
use varve_workdir::filesets::FilesetTarget;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["locate"],
    options: &[
        Flag::value('r', "rev", "REV", "the files of this changeset"),
        Flag::flag(
            '0',
            "print0",
            "end each name with a zero byte instead of a newline",
        ),
        Flag::flag('f', "fullpath", "print absolute paths"),
        INCLUDE,
        EXCLUDE,
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION]... [PATTERN]...",
    summary: "list tracked files that match patterns",
    help: "A pattern without a kind is a glob for names in all directories. Without patterns, all \
           tracked files are listed. The command `files` can do more.\n\n\
           Ends with 0 if there is a file, else with 1.",
    category: None,
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context { repo, ui, .. } = context;
    let rev = match matches.value("rev").filter(|rev| !rev.is_empty()) {
        Some(rev) => Some(repo.revision(ui, Some(rev))?),
        None => None,
    };
    let patterns = matches.arguments();
    let at = rev.map_or(FilesetTarget::Working, FilesetTarget::Rev);
    let matcher = repo.matcher_of_kind(matches, patterns, &NameCheck, at, PatternKind::RelGlob)?;
    let found = match rev {
        Some(rev) => of_changeset(repo, rev, &matcher)?,
        None => of_working_directory(repo, &matcher)?,
    };
    let end: &[u8] = if matches.flag("print0") { b"\0" } else { b"\n" };
    let is_relative = repo.uses_relative_paths(!patterns.is_empty())?;
    for path in &found {
        let shown = if matches.flag("fullpath") {
            [repo.root()?.as_os_str().as_bytes(), b"/", path].concat()
        } else if is_relative {
            repo.relative_path(path)?
        } else {
            path.clone()
        };
        ui.write([&shown[..], end].concat())?;
    }
    Ok(u8::from(found.is_empty()))
}

fn of_changeset(
    repo: &mut Repo,
    rev: Option<Rev>,
    matcher: &Matcher,
) -> Result<Vec<Vec<u8>>, Abort> {
    let view = repo.view()?;
    let text = view.manifest_text(rev)?;
    // Names that are not there are no mistake here.
    let entries = matching::files_of(&view, &text, matcher, |_| Ok(()))?;
    Ok(entries.iter().map(|entry| entry.path.to_vec()).collect())
}

/// Files of the dirstate, removed ones too.
fn of_working_directory(repo: &mut Repo, matcher: &Matcher) -> Result<Vec<Vec<u8>>, Abort> {
    let dirstate = Dirstate::read(&repo.repository()?)?;
    let paths = dirstate.iter().map(|(path, _)| path);
    let matching = paths.filter(|path| matcher.matches(path));
    Ok(matching.map(<[u8]>::to_vec).collect())
}
