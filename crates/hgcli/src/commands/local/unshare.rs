//! `unshare`: a working copy that shares a store gets its own.

use crate::arguments::Matches;
use crate::context::{Command, Context};
use crate::ui::Abort;
use varve_repo::LockKind;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["unshare"],
    options: &[],
    arguments: 0..=0,
    synopsis: "",
    summary: "convert a shared repository to a normal one",
    help: "Copies the common history into this repository, which then has a store of its own. Drafts become public \
           where phases.publish is on, as in a clone. Ends with 0.",
    category: None,
    run,
};

fn run(context: &mut Context, _matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let repository = repo.repository()?;
    if repository.share_source().is_none() {
        return Err(Abort::new("this is not a shared repo"));
    }
    let working_copy = repo.lock(ui, LockKind::WorkingCopy)?;
    let lock = repo.lock(ui, LockKind::Store)?;
    let phases = !config.is_publishing(repo, ui)?;
    repository.unshare(&lock, phases, ui.progress.as_ref(), &ui.stop)?;
    drop(lock);
    drop(working_copy);
    repo.reopen();
    Ok(0)
}
