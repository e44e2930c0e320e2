//! `diff`: what differs between changesets, or was changed in the working folder.

use crate::face::diff::{Comparison, GIT, Options, STAT, Side, between, with_working};
use crate::face::{Abort, Category, Command, EXCLUDE, Flag, INCLUDE, Matches, Session};
use varve_repo::Node;

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
        Flag::long_flag("nodates", "without dates behind the names"),
        Flag::long_flag("noprefix", "without a/ and b/ before the names"),
        Flag::flag(
            'p',
            "show-function",
            "show the function that each change is in",
        ),
        Flag::long_flag("reverse", "show how to undo the change"),
        Flag::flag('w', "ignore-all-space", "blanks do not count"),
        Flag::flag(
            'b',
            "ignore-space-change",
            "the number of blanks does not count",
        ),
        Flag::flag('B', "ignore-blank-lines", "blank lines do not count"),
        Flag::flag(
            'Z',
            "ignore-space-at-eol",
            "blanks at the end of lines do not count",
        ),
        Flag::value(
            'U',
            "unified",
            "NUM",
            "lines to show around each difference",
        ),
        STAT,
        INCLUDE,
        EXCLUDE,
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION]... ([-c REV] | [--from REV1] [--to REV2]) [FILE]...",
    summary: "show what differs between changesets or in the working folder",
    help: "Without a revision, the working folder is compared with its first parent; with one, \
           with that.\n\nEnds with 0.",
    category: Some(Category::Contents),
    run,
};

/// Columns of the picture of `--stat`.
const WIDTH: usize = 80;

fn run(session: &mut Session, matches: &Matches) -> Result<u8, Abort> {
    let options = Options::new(session, matches)?;
    let mut sides = sides(session, matches)?;
    let view = session.view()?;
    let matcher = session.matcher(matches)?;
    let mut changes = match sides {
        (Side::Rev(from), Side::Rev(to)) => between(&view, from, to, &matcher)?,
        (Side::Rev(rev), Side::Working) | (Side::Working, Side::Rev(rev)) => {
            with_working(session, &view, rev, &matcher)?
        }
        (Side::Working, Side::Working) => Vec::new(),
    };
    if matches.flag("reverse") {
        sides = (sides.1, sides.0);
    }
    if matches.flag("reverse") || sides.0 == Side::Working {
        for change in &mut changes {
            (change.old, change.new) = (change.new, change.old);
            change.source = None;
        }
    }
    let digits = if session.verbosity.debug {
        2 * Node::LEN
    } else {
        12
    };
    let comparison = Comparison::new(&view, sides, &options, digits)?;
    let mut out = Vec::new();
    if matches.flag("stat") {
        comparison.push_stat(&changes, WIDTH, &mut out)?;
    } else {
        comparison.push_all(&changes, &mut out)?;
    }
    session.write(out)?;
    Ok(0)
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
            None => None,
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
        let start = Side::Rev(session.revision(from)?);
        let end = match to {
            Some(to) => Side::Rev(session.revision(Some(to))?),
            None => Side::Working,
        };
        return Ok((start, end));
    }
    pair(session, &revs)
}

/// What one or two `-r` mean; one may be a range.
fn pair(session: &mut Session, revs: &[Vec<u8>]) -> Result<(Side, Side), Abort> {
    match revs {
        [] => Ok((Side::Rev(session.revision(None)?), Side::Working)),
        [one] => {
            let view = session.view()?;
            let engine = session.engine(&view)?;
            let set = crate::face::revision::query(&engine, &[one])?;
            let empty = || Abort::new("empty revision range");
            let first = set.first(&engine)?.ok_or_else(empty)?;
            let last = set.last(&engine)?.ok_or_else(empty)?;
            let is_range = one.contains(&b':') || one.windows(2).any(|two| two == b"..");
            if first == last && !is_range {
                return Ok((Side::Rev(first), Side::Working));
            }
            Ok((Side::Rev(first), Side::Rev(last)))
        }
        [first, second] => {
            let first = session.revision(Some(first))?;
            Ok((Side::Rev(first), Side::Rev(session.revision(Some(second))?)))
        }
        _ => Err(Abort::new("too many revisions specified")),
    }
}
