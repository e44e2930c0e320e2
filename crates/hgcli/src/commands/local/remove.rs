//! `remove`: remove files, and stop tracking them.

use crate::arguments::{EXCLUDE, Flag, INCLUDE, Matches};
use crate::commands::local::add::{DRY_RUN, refuse_subrepositories};
use crate::commands::local::change::DirstateChange;
use crate::context::{Category, Command, Context, Repo};
use crate::ui::{Abort, Ui};
use varve_base::Unit;
use varve_lang::patterns::Matcher;
use varve_workdir::WorkingFiles;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["remove", "rm"],
    options: &[
        Flag::flag('A', "after", "only files that are gone already"),
        Flag::flag(
            'f',
            "force",
            "added files are forgotten, modified ones removed",
        ),
        Flag::flag('S', "subrepos", "include subrepositories"),
        INCLUDE,
        EXCLUDE,
        DRY_RUN,
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION]... FILE...",
    summary: "remove files, and stop tracking them",
    help: "Files with changes, and files that were added since the last commit, are left alone \
           without -f. With -A only those stop being tracked that are gone; with both, all stop \
           being tracked and none is removed.\n\n\
           Ends with 0; with 1 if something was left alone.",
    category: Some(Category::WorkingDirectory),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    refuse_subrepositories(&context.repo, matches)?;
    let (after, force) = (matches.flag("after"), matches.flag("force"));
    let any = [matches.list("include"), matches.list("exclude")].concat();
    if matches.arguments().is_empty() && any.is_empty() && !after {
        return Err(Abort::input("no files specified"));
    }
    let matcher = context.repo.working_matcher(matches, matches.arguments())?;
    let mut change = DirstateChange::begin(&mut context.repo, &mut context.ui)?;
    let missing =
        context
            .repo
            .warn_of_missing_files(&mut context.ui, &matcher, &change.dirstate)?;
    let status = change.status(&context.repo, &mut context.ui, &matcher, false)?;
    let mut warnings = untracked(&context.repo, &context.ui, &matcher, &change)?;
    let counted = context.ui.progress.as_ref();
    let verbose = context.ui.verbosity.verbose;
    let mut left = |repo: &Repo, files: &[Vec<u8>], words: &str, always: bool| {
        counted.begin("skipping", Unit::Items, Some(files.len() as u64));
        for file in files {
            counted.advance(1);
            let shown = repo.display_path(file)?;
            let line = [b"not removing ", &shown[..], words.as_bytes()].concat();
            let told = always || verbose || matcher.is_exact(file);
            warnings.push(told.then_some(line));
        }
        counted.end();
        Ok::<(), Abort>(())
    };
    let mut files = if force {
        [
            status.modified,
            status.deleted.clone(),
            status.clean,
            status.added.clone(),
        ]
        .concat()
    } else if after {
        let still = [status.modified, status.added.clone(), status.clean].concat();
        left(&context.repo, &still, ": file still exists\n", false)?;
        status.deleted.clone()
    } else {
        let words = ": file is modified (use -f to force removal)\n";
        left(&context.repo, &status.modified, words, true)?;
        let words = ": file has been marked for add (use 'hg forget' to undo add)\n";
        left(&context.repo, &status.added, words, true)?;
        [status.deleted.clone(), status.clean].concat()
    };
    files.sort_unstable();
    let is_told = |file: &[u8]| verbose || !matcher.is_exact(file);
    print_removed(&context.repo, &mut context.ui, &files, is_told)?;
    if !matches.flag("dry-run") {
        let working = WorkingFiles::new(change.repository.root());
        for file in &files {
            // A file that was never committed is in no other place.
            if !after && status.added.binary_search(file).is_err() {
                working.audit(file)?;
                working.remove(file)?;
            }
            change.dirstate.remove(file);
        }
        change.end()?;
    }
    let failed = !warnings.is_empty() || !missing.is_empty();
    for line in warnings.into_iter().flatten() {
        context.ui.warn(line)?;
    }
    Ok(u8::from(failed))
}

/// A line for each file, unless it was named itself.
fn print_removed(
    repo: &Repo,
    ui: &mut Ui,
    files: &[Vec<u8>],
    is_told: impl Fn(&[u8]) -> bool,
) -> Result<(), Abort> {
    let total = Some(files.len() as u64);
    ui.progress.begin("deleting", Unit::Items, total);
    for file in files.iter().filter(|file| is_told(file)) {
        ui.progress.advance(1);
        let line = [b"removing ", &repo.display_path(file)?[..], b"\n"].concat();
        ui.status_labelled("ui.addremove.removed", line)?;
    }
    ui.progress.end();
    Ok(())
}

/// A line for each name of something that is there and not tracked.
fn untracked(
    repo: &Repo,
    ui: &Ui,
    matcher: &Matcher,
    change: &DirstateChange,
) -> Result<Vec<Option<Vec<u8>>>, Abort> {
    let mut lines = Vec::new();
    let named: Vec<_> = matcher
        .named()
        .iter()
        .filter(|file| !file.is_empty())
        .collect();
    ui.progress
        .begin("deleting", Unit::Items, Some(named.len() as u64));
    for file in named {
        ui.progress.advance(1);
        let dirstate = &change.dirstate;
        let tracked_below = dirstate.below(file).any(|(_, item)| item.is_tracked());
        if dirstate.get(file).is_some() || tracked_below {
            continue;
        }
        let Ok(metadata) = change.path(file).metadata() else {
            continue;
        };
        let words = match metadata.is_dir() {
            true => ": no tracked files\n",
            false => ": file is untracked\n",
        };
        let shown = repo.display_path(file)?;
        lines.push(Some(
            [b"not removing ", &shown[..], words.as_bytes()].concat(),
        ));
    }
    ui.progress.end();
    Ok(lines)
}
