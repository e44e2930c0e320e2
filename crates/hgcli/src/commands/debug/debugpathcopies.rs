//! `debugpathcopies`: copies and renames between two changesets.

use crate::arguments::{EXCLUDE, INCLUDE, Matches};
use crate::context::{Command, Context};
use crate::ui::Abort;
use varve_lang::patterns::NameCheck;
use varve_workdir::filesets::FilesetTarget;
use varve_workdir::path_copies;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugpathcopies"],
    options: &[INCLUDE, EXCLUDE],
    arguments: 2..=usize::MAX,
    synopsis: "REV1 REV2 [FILE]",
    summary: "print the copies and renames between two changesets",
    help: "One per line: the file of REV1, and the file of REV2 that comes from it.\n\nEnds with 0.",
    category: None,
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context { repo, ui, .. } = context;
    let [one, other, patterns @ ..] = matches.arguments() else {
        return Err(COMMAND.usage_error("invalid arguments"));
    };
    let one = repo.revision(ui, Some(one))?;
    let other = repo.revision(ui, Some(other))?;
    let matcher = repo.matcher_with(matches, patterns, &NameCheck, FilesetTarget::Rev(one))?;
    for (path, source) in path_copies(&*repo.view()?, one, other)? {
        if matcher.matches(&path) {
            ui.write([&source[..], b" -> ", &path, b"\n"].concat())?;
        }
    }
    Ok(0)
}
