//! `forget`: stop tracking files, and leave them where they are.

use crate::arguments::{Category, Command, EXCLUDE, INCLUDE, Matches};
use crate::commands::local::add::DRY_RUN;
use crate::commands::local::change::Change;
use crate::context::Session;
use crate::ui::Abort;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["forget"],
    options: &[INCLUDE, EXCLUDE, DRY_RUN],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION]... FILE...",
    summary: "stop tracking files from the next commit on",
    help: "The files stay in the working folder, and in the history.\n\n\
           Ends with 0; with 1 if a file was not tracked.",
    category: Some(Category::WorkingDirectory),
    run,
};

fn run(session: &mut Session, matches: &Matches) -> Result<u8, Abort> {
    if matches.arguments().is_empty()
        && matches.list("include").is_empty()
        && matches.list("exclude").is_empty()
    {
        return Err(Abort::new("no files specified"));
    }
    let matcher = session.working_matcher(matches, matches.arguments())?;
    let mut change = Change::begin(session)?;
    let missing = session.tell_missing(&matcher, &change.dirstate)?;
    let status = change.status(session, &matcher, false)?;
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
            let shown = session.shown_path(file)?;
            let words = b": file is already untracked\n";
            session.warn([b"not removing ", &shown[..], words].concat())?;
            failed = true;
        }
    }
    for file in &files {
        if session.verbosity.verbose || !matcher.is_exact(file) {
            let line = [b"removing ", &session.shown_path(file)?[..], b"\n"].concat();
            session.status(line)?;
        }
        change.dirstate.remove(file);
    }
    if !matches.flag("dry-run") {
        change.end()?;
    }
    Ok(u8::from(failed))
}
