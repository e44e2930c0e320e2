//! `diff`: what differs between changesets, or was changed in the working folder.

use crate::arguments::{Category, Command, EXCLUDE, Flag, INCLUDE, Matches};
use crate::context::Session;
use crate::context::revision::query;
use crate::render::diff::{
    Comparison, GIT, IGNORE_ALL_SPACE, IGNORE_BLANK_LINES, IGNORE_SPACE_AT_EOL,
    IGNORE_SPACE_CHANGE, Options, STAT, Side, between, undone, with_working,
};
use crate::ui::{Abort, columns};
use std::path::Path;
use varve_lang::patterns::{MatchRequest, Matcher, NameCheck, PatternKind};
use varve_repo::Node;
use varve_workdir::Dirstate;
use varve_workdir::filesets::FilesAt;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["diff"],
    options: &[
        Flag::list('r', "rev", "REV", "compare this changeset"),
        Flag::long_value("from", "REV", "compare from this changeset"),
        Flag::long_value("to", "REV", "compare to this changeset"),
        Flag::value('c', "change", "REV", "the change that this changeset made"),
        Flag::flag('a', "text", "show all files as text"),
        GIT,
        Flag::long_flag("binary", "binary files with their contents, in git's form"),
        Flag::long_flag("nodates", "without dates behind the names"),
        Flag::long_flag("noprefix", "without a/ and b/ before the names"),
        Flag::flag(
            'p',
            "show-function",
            "show the function that each change is in",
        ),
        Flag::long_flag("reverse", "show how to undo the change"),
        IGNORE_ALL_SPACE,
        IGNORE_SPACE_CHANGE,
        IGNORE_BLANK_LINES,
        IGNORE_SPACE_AT_EOL,
        Flag::value(
            'U',
            "unified",
            "NUM",
            "lines to show around each difference",
        ),
        STAT,
        Flag::long_value("root", "DIR", "only this folder, with names from there on"),
        INCLUDE,
        EXCLUDE,
        Flag::flag('S', "subrepos", "include subrepositories"),
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION]... ([-c REV] | [--from REV1] [--to REV2]) [FILE]...",
    summary: "show what differs between changesets or in the working folder",
    help: "Without a revision, the working folder is compared with its first parent; with one, \
           with that.\n\nEnds with 0.",
    category: Some(Category::Contents),
    run,
};

fn run(session: &mut Session, matches: &Matches) -> Result<u8, Abort> {
    let mut options = Options::new(session, matches)?;
    session.refuse_subrepositories(matches)?;
    let mut sides = sides(session, matches)?;
    let is_working = sides.0 == Side::Working || sides.1 == Side::Working;
    if is_working && session.config.boolean("diff", "merge", false)? && is_merging(session)? {
        return Err(Abort::new("diff.merge is not supported during a merge"));
    }
    let at = match sides.1 {
        Side::Rev(rev) => FilesAt::Rev(rev),
        Side::Working => FilesAt::Working,
    };
    let mut matcher = session.matcher_at(matches, at)?;
    if let Some(root) = matches.value("root").filter(|root| !root.is_empty()) {
        options.root = below(session, root, &mut matcher)?;
    }
    if is_working {
        let dirstate = Dirstate::read(&session.repository()?)?;
        session.tell_missing(&matcher, &dirstate)?;
    }
    let is_reverse = matches.flag("reverse");
    if is_reverse {
        sides = (sides.1, sides.0);
    }
    let view = session.view()?;
    let changes = match sides {
        (Side::Rev(from), Side::Rev(to)) => between(&view, from, to, &matcher, options.git)?,
        (Side::Rev(rev), _) => with_working(session, &view, rev, &matcher, options.git)?,
        (_, Side::Rev(rev)) if options.git => {
            let everything = Matcher::everything();
            let changes = with_working(session, &view, rev, &everything, true)?;
            let mut changes = undone(changes);
            changes.retain(|change| matcher.matches(&change.path));
            changes
        }
        (_, Side::Rev(rev)) => undone(with_working(session, &view, rev, &matcher, false)?),
        (Side::Working, Side::Working) => Vec::new(),
    };
    let digits = if session.verbosity.debug {
        2 * Node::LEN
    } else {
        12
    };
    let mut comparison = Comparison::new(&view, sides, &options, digits)?;
    if is_working && !options.root.is_empty() {
        comparison = comparison.with_dirstate(Dirstate::read(&session.repository()?)?);
    }
    if matches.flag("stat") {
        let mut out = Vec::new();
        comparison.push_stat(&changes, columns::of_terminal(), &mut out)?;
        session.write(out)?;
    } else {
        comparison.write_all(&changes, |text| session.write(text))?;
    }
    Ok(0)
}

fn is_merging(session: &mut Session) -> Result<bool, Abort> {
    Ok(session.working_parents()?.len() > 1)
}

/// Lets only files in the folder `root` match, and warns of names outside; gives what the names
/// of its files begin with.
fn below(session: &mut Session, root: &[u8], matcher: &mut Matcher) -> Result<Vec<u8>, Abort> {
    let request = |patterns, root: &Path, cwd: &Path| {
        let request = MatchRequest {
            root,
            cwd,
            patterns,
            include: &[],
            exclude: &[],
            default: PatternKind::RelPath,
            files: None,
        };
        Matcher::new(&request, &NameCheck)
    };
    let folder = request(&[root.to_vec()], session.root()?, &session.cwd)?;
    let folder = folder.named().first().cloned().unwrap_or_default();
    if folder.is_empty() {
        return Ok(folder);
    }
    let shown = session.relative(&folder)?;
    let prefix = [&folder[..], b"/"].concat();
    for path in matcher.named() {
        if *path != folder && !path.starts_with(&prefix) {
            let name = session.relative(path)?;
            let line = [
                b"warning: ",
                &name[..],
                b" not inside relative root ",
                &shown,
                b"\n",
            ];
            session.warn(line.concat())?;
        }
    }
    matcher.keep_below(folder);
    Ok(prefix)
}

fn sides(session: &mut Session, matches: &Matches) -> Result<(Side, Side), Abort> {
    let revs: Vec<Vec<u8>> = matches.list("rev").iter().map(|rev| rev.to_vec()).collect();
    let (from, to) = (matches.value("from"), matches.value("to"));
    if let Some(change) = matches.value("change").filter(|change| !change.is_empty()) {
        for (given, name) in [
            (!revs.is_empty(), "rev"),
            (from.is_some(), "from"),
            (to.is_some(), "to"),
        ] {
            if given {
                return Err(Abort::new(format!(
                    "cannot specify both --{name} and --change"
                )));
            }
        }
        let rev = session.revision(Some(change))?;
        let parent = match rev {
            Some(rev) => session.view()?.changelog().parents(rev)[0],
            None => session.working_parents()?.first().copied(),
        };
        return Ok((Side::Rev(parent), Side::Rev(rev)));
    }
    if from.is_some() || to.is_some() {
        if !revs.is_empty() {
            let name = if from.is_some() { "from" } else { "to" };
            return Err(Abort::new(format!(
                "cannot specify both --{name} and --rev"
            )));
        }
        let start = match from {
            Some(from) => Side::Rev(session.revision(Some(from))?),
            None => Side::Working,
        };
        let end = match to {
            Some(to) => Side::Rev(session.revision(Some(to))?),
            None => Side::Working,
        };
        return Ok((start, end));
    }
    pair(session, &revs)
}

/// What any number of `-r` mean: from the first of the changesets to the last.
fn pair(session: &mut Session, revs: &[Vec<u8>]) -> Result<(Side, Side), Abort> {
    if revs.is_empty() {
        return Ok((Side::Rev(session.revision(None)?), Side::Working));
    }
    let specs: Vec<&[u8]> = revs.iter().map(Vec::as_slice).collect();
    session.tell_of_markers_for(&specs)?;
    let view = session.view()?;
    let engine = session.engine(&view)?;
    let set = query(&engine, &specs)?;
    let empty = || Abort::new("empty revision range");
    let first = set.first(&engine)?.ok_or_else(empty)?;
    let last = set.last(&engine)?.ok_or_else(empty)?;
    if let [one] = specs[..] {
        let is_range = one.contains(&b':') || one.windows(2).any(|two| two == b"..");
        if first == last && !is_range {
            return Ok((Side::Rev(first), Side::Working));
        }
    }
    for spec in &specs {
        if specs.len() > 1 && query(&engine, &[spec])?.first(&engine)?.is_none() {
            return Err(Abort::new("empty revision on one side of range"));
        }
    }
    Ok((Side::Rev(first), Side::Rev(last)))
}
