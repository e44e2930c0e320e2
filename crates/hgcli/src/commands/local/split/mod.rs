//! `split`: several changesets in the place of one, as answers to questions divide its changes.

mod permission;
mod run;

use super::commit::metadata;
use super::unfinished;
use crate::arguments::{Flag, Matches};
use crate::context::{Category, Command, Context};
use crate::ui::Abort;
use run::SplitRun;
use varve_repo::LockKind;

/// See [`Command`]. The extension `split` switches it on.
pub(crate) const COMMAND: Command = Command {
    names: &["split"],
    options: &[
        Flag::value('r', "rev", "REV", "the changeset to split"),
        Flag::long_flag(
            "rebase",
            "rebase the descendants afterwards, which is the default",
        ),
        metadata::DATE,
        metadata::USER,
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[--no-rebase] [[-r] REV]",
    summary: "split a changeset into smaller ones",
    help: "Asks which changes of REV the first new changeset has, lets an editor change its description, \
           and goes on until no change is left. Without REV the parent of the working directory is split.\n\n\
           Descendants are rebased onto the last new changeset. --no-rebase leaves them as orphans, if \
           experimental.evolution allows these.\n\n\
           Bookmarks go to the last new changeset. If experimental.evolution allows createmarkers, REV is \
           marked as obsolete; else it is removed, and a bundle in .hg/strip-backup keeps it. \
           If the user quits or the editor fails, all is as before.\n\n\
           Ends with 0; with 1 if REV is the null revision or names nothing.",
    category: Some(Category::Committing),
    run,
};

/// The exit code when there is nothing to split.
const NOTHING: u8 = 1;

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let repository = repo.repository()?;
    let working_copy = repo.lock(ui, LockKind::WorkingCopy)?;
    repo.refresh();
    unfinished::refuse(&repository)?;
    let typed = matches.value("rev").filter(|typed| !typed.is_empty());
    let mut specs: Vec<&[u8]> = typed.into_iter().collect();
    specs.extend(matches.arguments().iter().map(Vec::as_slice));
    if specs.is_empty() {
        specs.push(b".");
    }
    if repo.names_working_copy(&specs)? {
        return Err(Abort::input("cannot split working directory"));
    }
    let revs = repo.revisions_and_null(ui, &specs)?;
    if revs.len() > 1 {
        return Err(Abort::input("cannot split multiple revisions"));
    }
    let Some(rev) = revs.into_iter().flatten().next() else {
        ui.status("nothing to split\n")?;
        return Ok(NOTHING);
    };
    let rebases = matches.switch("rebase").unwrap_or(true);
    permission::check((repo, ui, config), &repository, (rev, rebases))?;
    let date = metadata::typed_date(matches)?;
    let mut run = SplitRun::new((repo, ui, config), matches, &repository, (rev, date))?;
    let code = run.carry_out(rebases)?;
    drop(working_copy);
    Ok(code)
}
