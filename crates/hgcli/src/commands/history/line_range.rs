//! `--line-range FILE,FIRST:LAST` of `annotate` and `log`: some lines of tracked files of the working copy.

use crate::arguments::{Flag, Matches};
use crate::context::Repo;
use crate::ui::Abort;
use std::ops::Range;
use varve_lang::patterns::{PatternKind, relative_to_root};
use varve_workdir::Dirstate;

/// The option, which may be repeated.
pub(super) const LINE_RANGE: Flag = Flag::list(
    'L',
    "line-range",
    "FILE,RANGE",
    "only these lines of a file, such as FILE,5:7 (EXPERIMENTAL)",
);

/// Lines of one file.
pub(super) struct LineRange {
    pub(super) path: Vec<u8>,
    /// Counted from 0.
    pub(super) lines: Range<usize>,
}

impl LineRange {
    /// All that the options ask for.
    pub(super) fn all(repo: &mut Repo, matches: &Matches) -> Result<Vec<LineRange>, Abort> {
        let typed = matches.list("line-range").into_iter();
        typed.map(|typed| LineRange::parse(repo, typed)).collect()
    }

    fn parse(repo: &mut Repo, typed: &[u8]) -> Result<LineRange, Abort> {
        let Some(comma) = typed.iter().rposition(|byte| *byte == b',') else {
            let shown = String::from_utf8_lossy(typed);
            return Err(Abort::input(format!(
                "malformatted line-range pattern {shown}"
            )));
        };
        let pattern = &typed[..comma];
        let Some((first, last)) = bounds(&typed[comma + 1..]) else {
            let shown = String::from_utf8_lossy(pattern);
            return Err(Abort::input(format!("invalid line range for {shown}")));
        };
        let path = one_file(repo, pattern)?;
        if last < first {
            return Err(parse_error("line range must be positive"));
        }
        match (usize::try_from(first - 1), usize::try_from(last)) {
            (Ok(first), Ok(last)) => Ok(LineRange {
                path,
                lines: first..last,
            }),
            _ => Err(parse_error("fromline must be strictly positive")),
        }
    }
}

/// The two numbers of `FIRST:LAST`.
fn bounds(range: &[u8]) -> Option<(i64, i64)> {
    let (first, last) = std::str::from_utf8(range).ok()?.split_once(':')?;
    Some((first.trim().parse().ok()?, last.trim().parse().ok()?))
}

/// The path that a name means, tracked or not, or the only tracked file that matches a pattern.
fn one_file(repo: &mut Repo, pattern: &[u8]) -> Result<Vec<u8>, Abort> {
    let colon = pattern.iter().position(|byte| *byte == b':');
    let kind = colon.and_then(|colon| PatternKind::of_name(&pattern[..colon]));
    if kind.is_none() {
        return Ok(relative_to_root(repo.root()?, &repo.cwd, pattern)?);
    }
    let matcher = repo.working_matcher(&Matches::default(), &[pattern.to_vec()])?;
    let dirstate = Dirstate::read(&repo.repository()?)?;
    let tracked = dirstate.iter().filter(|(_, item)| item.is_tracked());
    let matching = tracked.filter(|(path, _)| matcher.matches(path));
    let mut found: Vec<Vec<u8>> = matching.map(|(path, _)| path.to_vec()).collect();
    match found.pop() {
        Some(only) if found.is_empty() => Ok(only),
        _ => {
            let shown = String::from_utf8_lossy(pattern);
            let words = format!("line range pattern '{shown}' must match exactly one file");
            Err(parse_error(words))
        }
    }
}

fn parse_error(words: impl Into<String>) -> Abort {
    Abort::Parse {
        message: words.into(),
        at: None,
        hint: None,
    }
}
