//! `diff`: differences between changesets, or changes in the working copy.

use crate::arguments::{EXCLUDE, Flag, INCLUDE, Matches};
use crate::context::revision::query;
use crate::context::{Category, Command, Context, Repo};
use crate::render::diff::{
    Comparison, DiffOptions, DiffSide, DiffedFile, GIT, IGNORE_ALL_SPACE, IGNORE_BLANK_LINES,
    IGNORE_SPACE_AT_EOL, IGNORE_SPACE_CHANGE, STAT, between, paint, undone, with_working,
};
use crate::ui::{Abort, Ui, columns};
use std::path::Path;
use varve_lang::patterns::{MatchRequest, Matcher, NameCheck, PatternKind, RegexEngine};
use varve_repo::Node;
use varve_revset::{Member, Syntax, WORKING_COPY};
use varve_workdir::Dirstate;
use varve_workdir::filesets::FilesetTarget;

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
        Flag::long_value(
            "root",
            "DIR",
            "only this directory, with names from there on",
        ),
        INCLUDE,
        EXCLUDE,
        Flag::flag('S', "subrepos", "include subrepositories"),
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION]... ([-c REV] | [--from REV1] [--to REV2]) [FILE]...",
    summary: "show what differs between changesets or in the working directory",
    help: "Without a revision, the working directory is compared with its first parent; with one, \
           with that.\n\nEnds with 0.",
    category: Some(Category::Contents),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let mut options = DiffOptions::new(&mut context.ui, &context.config, matches)?;
    context.repo.refuse_subrepositories(matches)?;
    let mut sides = sides(&mut context.repo, &mut context.ui, matches)?;
    if matches
        .value("change")
        .is_some_and(|change| !change.is_empty())
        && let DiffSide::Rev(rev) = sides.1
    {
        options.check_parents(&*context.repo.view()?, rev)?;
    }
    let is_working = sides.0 == DiffSide::Working || sides.1 == DiffSide::Working;
    if is_working
        && context.config.boolean("diff", "merge", false)?
        && is_merging(&mut context.repo)?
    {
        return Err(Abort::input("diff.merge is not supported during a merge"));
    }
    let at = match sides.1 {
        DiffSide::Rev(rev) => FilesetTarget::Rev(rev),
        DiffSide::Working => FilesetTarget::Working,
    };
    let mut matcher = context.repo.matcher_at(matches, at)?;
    if let Some(root) = matches.value("root").filter(|root| !root.is_empty()) {
        options.root = below(&context.repo, &mut context.ui, root, &mut matcher)?;
    }
    // Below another root files are named from there.
    if options.root.is_empty() && context.repo.uses_relative_paths(false)? {
        let root = context.repo.root()?.to_owned();
        options.stat_directory = Some((root, context.repo.cwd.clone()));
    }
    if is_working {
        let dirstate = Dirstate::read(&context.repo.repository()?)?;
        context
            .repo
            .warn_of_missing_files(&mut context.ui, &matcher, &dirstate)?;
    }
    let is_reverse = matches.flag("reverse");
    if is_reverse {
        sides = (sides.1, sides.0);
    }
    let view = context.repo.view()?;
    let git = options.git;
    let changes = changed_files(&mut context.repo, &context.ui, sides, (&matcher, git))?;
    let digits = if context.ui.verbosity.debug {
        2 * Node::LEN
    } else {
        12
    };
    let mut comparison = Comparison::new(&view, sides, &options, digits)?;
    if is_working && !options.root.is_empty() {
        comparison = comparison.with_dirstate(Dirstate::read(&context.repo.repository()?)?);
    }
    if matches.flag("stat") {
        let mut out = Vec::new();
        let width = columns::of_terminal();
        comparison.push_stat(&context.ui.painter, &changes, width, &mut out)?;
        context.ui.write(out)?;
    } else {
        comparison.write_all(&changes, |text| {
            let painted = paint::painted(&context.ui.painter, text.to_vec(), options.by_words);
            context.ui.write(painted)
        })?;
    }
    Ok(0)
}

/// The files that differ between two sides; `git` tells whether copies are looked for.
pub(super) fn changed_files(
    repo: &mut Repo,
    ui: &Ui,
    sides: (DiffSide, DiffSide),
    (matcher, git): (&Matcher, bool),
) -> Result<Vec<DiffedFile>, Abort> {
    let view = repo.view()?;
    Ok(match sides {
        (DiffSide::Rev(from), DiffSide::Rev(to)) => between(&view, from, to, matcher, git)?,
        (DiffSide::Rev(rev), _) => with_working(repo, ui, &view, rev, matcher, git)?,
        (_, DiffSide::Rev(rev)) if git => {
            let everything = Matcher::everything();
            let changes = with_working(repo, ui, &view, rev, &everything, true)?;
            let mut changes = undone(changes);
            changes.retain(|change| matcher.matches(&change.path));
            changes
        }
        (_, DiffSide::Rev(rev)) => undone(with_working(repo, ui, &view, rev, matcher, false)?),
        (DiffSide::Working, DiffSide::Working) => Vec::new(),
    })
}

fn is_merging(repo: &mut Repo) -> Result<bool, Abort> {
    Ok(repo.working_parents()?.len() > 1)
}

/// Lets only files in the directory `root` match, and warns of names outside; gives the prefix of
/// the names of its files.
fn below(repo: &Repo, ui: &mut Ui, root: &[u8], matcher: &mut Matcher) -> Result<Vec<u8>, Abort> {
    let request = |patterns, root: &Path, cwd: &Path| {
        let request = MatchRequest {
            root,
            cwd,
            patterns,
            include: &[],
            exclude: &[],
            default: PatternKind::RelPath,
            engine: RegexEngine::Backtracking,
            files: None,
        };
        Matcher::new(&request, &NameCheck)
    };
    let directory = request(&[root.to_vec()], repo.root()?, &repo.cwd)?;
    let directory = directory.named().first().cloned().unwrap_or_default();
    if directory.is_empty() {
        return Ok(directory);
    }
    let shown = repo.relative_path(&directory)?;
    let prefix = [&directory[..], b"/"].concat();
    for path in matcher.named() {
        if *path != directory && !path.starts_with(&prefix) {
            let name = repo.relative_path(path)?;
            let line = [
                b"warning: ",
                &name[..],
                b" not inside relative root ",
                &shown,
                b"\n",
            ];
            ui.warn(line.concat())?;
        }
    }
    matcher.keep_below(directory);
    Ok(prefix)
}

/// Both sides, from all options that name one.
pub(super) fn sides(
    repo: &mut Repo,
    ui: &mut Ui,
    matches: &Matches,
) -> Result<(DiffSide, DiffSide), Abort> {
    let revs: Vec<Vec<u8>> = matches.list("rev").iter().map(|rev| rev.to_vec()).collect();
    let (from, to) = (matches.value("from"), matches.value("to"));
    if let Some(change) = matches.value("change").filter(|change| !change.is_empty()) {
        for (given, name) in [
            (!revs.is_empty(), "rev"),
            (from.is_some(), "from"),
            (to.is_some(), "to"),
        ] {
            if given {
                return Err(Abort::input(format!(
                    "cannot specify both --{name} and --change"
                )));
            }
        }
        let rev = repo.revision(ui, Some(change))?;
        let parent = match rev {
            Some(rev) => repo.view()?.changelog().parents(rev)[0],
            None => repo.working_parents()?.first().copied(),
        };
        return Ok((DiffSide::Rev(parent), DiffSide::Rev(rev)));
    }
    if from.is_some() || to.is_some() {
        if !revs.is_empty() {
            let name = if from.is_some() { "from" } else { "to" };
            return Err(Abort::input(format!(
                "cannot specify both --{name} and --rev"
            )));
        }
        let start = match from {
            Some(from) => DiffSide::Rev(repo.revision(ui, Some(from))?),
            None => DiffSide::Working,
        };
        let end = match to {
            Some(to) => DiffSide::Rev(repo.revision(ui, Some(to))?),
            None => DiffSide::Working,
        };
        return Ok((start, end));
    }
    pair(repo, ui, &revs)
}

/// Both sides for any number of `-r`: the first of the changesets and the last.
pub(crate) fn pair(
    repo: &mut Repo,
    ui: &mut Ui,
    revs: &[Vec<u8>],
) -> Result<(DiffSide, DiffSide), Abort> {
    if revs.is_empty() {
        return Ok((DiffSide::Rev(repo.revision(ui, None)?), DiffSide::Working));
    }
    let specs: Vec<&[u8]> = revs.iter().map(Vec::as_slice).collect();
    repo.warn_of_disabled_markers_for(ui, &specs)?;
    let view = repo.view()?;
    let engine = repo.engine(&view)?;
    let set = query(&engine, &specs)?;
    let empty = || Abort::input("empty revision range");
    let first = set.first(&engine)?.ok_or_else(empty)?;
    let last = set.last(&engine)?.ok_or_else(empty)?;
    if let [one] = specs[..]
        && first == last
        && !is_range(&engine.written(one)?)
    {
        return Ok((side(first), DiffSide::Working));
    }
    for spec in &specs {
        if specs.len() > 1 && query(&engine, &[spec])?.first(&engine)?.is_none() {
            return Err(Abort::input("empty revision on one side of range"));
        }
    }
    Ok((side(first), side(last)))
}

fn side(member: Member) -> DiffSide {
    match member {
        Some(WORKING_COPY) => DiffSide::Working,
        stored => DiffSide::Rev(stored),
    }
}

/// A query that is a range as a whole has two ends, even if they are the same changeset.
fn is_range(written: &Syntax) -> bool {
    let ranges = ["range", "rangepre", "rangepost", "rangeall"];
    matches!(written, Syntax::Node(name, _) if ranges.contains(name))
}
