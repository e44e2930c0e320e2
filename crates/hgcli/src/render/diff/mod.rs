//! Differences between changesets, or of the working copy, in Mercurial's two forms.

mod changes;
mod comparison;
mod hunk_lines;
mod options;
pub(crate) mod paint;
mod stat;
mod words;

use crate::ui::Abort;
pub(crate) use changes::{DiffSide, DiffedFile, between, undone, with_dirstate, with_working};
pub(crate) use comparison::Comparison;
pub(crate) use options::{
    DiffOptions, GIT, IGNORE_ALL_SPACE, IGNORE_BLANK_LINES, IGNORE_SPACE_AT_EOL,
    IGNORE_SPACE_CHANGE, STAT, of_annotate,
};
pub(crate) use stat::{FileStat, push_of_patch as push_stat_of_patch};
use varve_repo::{RepoView, Rev};

/// The change that one changeset made, against its first parent. The null revision is compared with
/// `beside`, as Mercurial compares it with the parent of the working copy.
pub(crate) fn of_changeset<'a>(
    view: &'a RepoView,
    rev: Option<Rev>,
    beside: Option<Rev>,
    options: &'a DiffOptions,
    digits: usize,
    matcher: &varve_lang::patterns::Matcher,
) -> Result<(Comparison<'a>, Vec<DiffedFile>), Abort> {
    let parent = match rev {
        Some(rev) => view.changelog().parents(rev)[0],
        None => beside,
    };
    let sides = (DiffSide::Rev(parent), DiffSide::Rev(rev));
    let comparison = Comparison::new(view, sides, options, digits)?;
    Ok((
        comparison,
        between(view, parent, rev, matcher, options.git)?,
    ))
}
