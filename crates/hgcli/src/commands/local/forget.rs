//! `forget`: stop tracking files, and leave them where they are.

use crate::arguments::{EXCLUDE, INCLUDE, Matches};
use crate::commands::local::add::DRY_RUN;
use crate::commands::local::change::DirstateChange;
use crate::context::{Category, Command, Context};
use crate::ui::Abort;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["forget"],
    options: &[INCLUDE, EXCLUDE, DRY_RUN],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION]... FILE...",
    summary: "stop tracking files from the next commit on",
    help: "The files stay in the working directory, and in the history.\n\n\
           Ends with 0; with 1 if a file was not tracked.",
    category: Some(Category::WorkingDirectory),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    if matches.arguments().is_empty()
        && matches.list("include").is_empty()
        && matches.list("exclude").is_empty()
    {
        return Err(Abort::input("no files specified"));
    }
    let matcher = context.repo.working_matcher(matches, matches.arguments())?;
    let mut change = DirstateChange::begin(&mut context.repo, &mut context.ui)?;
    let missing =
        context
            .repo
            .warn_of_missing_files(&mut context.ui, &matcher, &change.dirstate)?;
    let status = change.status(&context.repo, &mut context.ui, &matcher, false)?;
    let mut files = [status.modified, status.added, status.deleted, status.clean].concat();
    files.sort_unstable();
    let mut failed = !missing.is_empty();
    for file in matcher.named() {
        let path = change.path(file);
        let is_untracked = !change.dirstate.is_tracked(file)
            && !path.is_dir()
            && path.symlink_metadata().is_ok()
            && !missing.contains(file);
        if is_untracked {
            let shown = context.repo.display_path(file)?;
            let words = b": file is already untracked\n";
            context
                .ui
                .warn([b"not removing ", &shown[..], words].concat())?;
            failed = true;
        }
    }
    for file in &files {
        if context.ui.verbosity.verbose || !matcher.is_exact(file) {
            let line = [b"removing ", &context.repo.display_path(file)?[..], b"\n"].concat();
            context.ui.status_labelled("ui.addremove.removed", line)?;
        }
        change.dirstate.remove(file);
    }
    if !matches.flag("dry-run") {
        change.end()?;
    }
    Ok(u8::from(failed))
}
