//! `recover`: undo an interrupted transaction.

use crate::arguments::{Flag, Matches};
use crate::commands::local::verify;
use crate::context::{Category, Command, Context};
use crate::ui::Abort;
use varve_repo::LockKind;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["recover"],
    options: &[Flag::long_flag(
        "verify",
        "check the repository once it is recovered",
    )],
    arguments: 0..=0,
    synopsis: "",
    summary: "roll back an interrupted transaction",
    help: "Brings a repository back to the state before a commit or pull that was interrupted. \
           Other commands ask for it where it is needed.\n\n\
           Ends with 0; with 1 if there was nothing to recover, or if the check found damage.",
    category: Some(Category::Maintenance),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let repository = context.repo.repository()?;
    let working_copy = context.repo.lock(&mut context.ui, LockKind::WorkingCopy)?;
    let lock = context.repo.lock(&mut context.ui, LockKind::Store)?;
    if !repository.has_journal()? {
        context.ui.warn("no interrupted transaction available\n")?;
        return Ok(1);
    }
    context
        .ui
        .status("rolling back interrupted transaction\n")?;
    repository.recover(&lock)?;
    drop((lock, working_copy));
    if matches.flag("verify") {
        return verify::verify_repository(&mut context.repo, &mut context.ui, false);
    }
    context
        .ui
        .warn("(verify step skipped, run `hg verify` to check your repository content)\n")?;
    Ok(0)
}
