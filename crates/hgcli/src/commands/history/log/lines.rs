//! `log --line-range`: the changesets that changed some lines of files.

use crate::arguments::Matches;
use crate::commands::history::line_range::LineRange;
use crate::context::Repo;
use crate::render::changesets::ShownFiles;
use crate::ui::Abort;
use varve_revset::{Engine, LineHistory, Set, WorkingCopyFile};
use varve_workdir::{Dirstate, WorkingFiles};

/// Refuses options that do not go with `--line-range`.
pub(super) fn check(matches: &Matches) -> Result<(), Abort> {
    if matches.list("line-range").is_empty() {
        return Ok(());
    }
    if !matches.flag("follow") {
        return Err(Abort::input("--line-range requires --follow"));
    }
    match matches.arguments().is_empty() {
        true => Ok(()),
        false => Err(Abort::input(
            "FILE arguments are not compatible with --line-range option",
        )),
    }
}

/// Those of `selected` that changed the lines, newest first, and the hunks to be shown.
pub(super) fn changing(
    repo: &mut Repo,
    matches: &Matches,
    engine: &Engine<'_>,
    selected: &Set,
) -> Result<(Set, ShownFiles), Abort> {
    let view = engine.view();
    let dirstate = Dirstate::read(&repo.repository()?)?;
    let mut history = LineHistory::new();
    for range in LineRange::all(repo, matches)? {
        if !dirstate.is_tracked(&range.path) {
            let path = String::from_utf8_lossy(&range.path);
            let words = format!("cannot follow file not in parent revision: \"{path}\"");
            return Err(Abort::state(words));
        }
        let origins = repo.origins_of_working_file(view, &range.path)?;
        let parents = origins.into_iter();
        let file = WorkingCopyFile {
            content: WorkingFiles::of_view(view).read(&range.path)?.0,
            parents: parents.map(|it| (it.changeset, it.path, it.node)).collect(),
            path: range.path,
        };
        engine.follow_lines(&file, range.lines, &mut history)?;
    }
    let mut members = Vec::new();
    for rev in history.keys().rev().copied().map(Some) {
        if selected.contains(engine, rev)? {
            members.push(rev);
        }
    }
    Ok((Set::list(members), ShownFiles::Lines(history)))
}
