//! `forget`: stop tracking files, and leave them where they are.

use crate::arguments::{EXCLUDE, Flag, INCLUDE, Matches};
use crate::commands::local::add::DRY_RUN;
use crate::commands::local::change::DirstateChange;
use crate::context::{Category, Command, Context, Repo};
use crate::ui::{Abort, Ui};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["forget"],
    options: &[
        Flag::flag('i', "interactive", "ask about each file"),
        INCLUDE,
        EXCLUDE,
        DRY_RUN,
    ],
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
    let asks = matches.flag("interactive");
    if asks && matches.flag("dry-run") {
        return Err(Abort::input(
            "cannot specify both --dry-run and --interactive",
        ));
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
    if asks {
        files = chosen(&context.repo, &mut context.ui, files)?;
    }
    for file in &files {
        if context.ui.verbosity.verbose || asks || !matcher.is_exact(file) {
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

/// Meanings of the answers to the question about a file.
const ANSWERS: &str = "y - yes, forget this file\nn - no, skip this file\ns - skip remaining files\n\
                       a - include all remaining files\n? - ? (display help)\n";

/// The files that the user wants to be forgotten.
fn chosen(repo: &Repo, ui: &mut Ui, files: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Abort> {
    let mut chosen = Vec::new();
    let mut files = files.into_iter();
    while let Some(file) = files.next() {
        match ask(ui, &repo.display_path(&file)?)? {
            b'y' => chosen.push(file),
            b's' => break,
            b'a' => {
                chosen.push(file);
                chosen.extend(files);
                break;
            }
            _ => {}
        }
    }
    Ok(chosen)
}

/// Asks about a file until the answer is y, n, s or a.
fn ask(ui: &mut Ui, shown: &[u8]) -> Result<u8, Abort> {
    loop {
        ui.print_question([b"forget ", shown, b" [Ynsa?]"].concat())?;
        if !ui.is_interactive()? {
            ui.write("y\n")?;
            return Ok(b'y');
        }
        match &ui.read_answer(b"y")?.to_ascii_lowercase()[..] {
            [answer @ (b'y' | b'n' | b's' | b'a')] => return Ok(*answer),
            b"?" => ui.write(ANSWERS)?,
            _ => ui.write("unrecognized response\n")?,
        }
    }
}
