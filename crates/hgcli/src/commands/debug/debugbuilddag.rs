//! `debugbuilddag`: builds a repository from a description of its history.

use crate::arguments::{Flag, Matches};
use crate::commands::local::commit::metadata::write_options;
use crate::context::{Command, Context};
use crate::ui::Abort;
use std::io::Read;
use varve_repo::{LockKind, ViewFilter};
use varve_workdir::{BuiltFiles, build_dag, parse_dag, replace_local_tags};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugbuilddag"],
    options: &[
        Flag::flag(
            'm',
            "mergeable-file",
            "a file of which each changeset changes one line",
        ),
        Flag::flag(
            'o',
            "overwritten-file",
            "a file that each changeset writes anew",
        ),
        Flag::flag('n', "new-file", "a new file in each changeset"),
        Flag::long_flag("from-existing", "also in a repository that is not empty"),
    ],
    arguments: 0..=1,
    synopsis: "[OPTION]... [TEXT]",
    summary: "build an empty repository's history from a description",
    help: "TEXT, or the standard input, has these elements, with blanks between them as one likes: \
           +n for n changesets one above the other, . for one, $ for a next one without parent, <p \
           for a next one that follows p, *p1/p2 for one that follows both, /p2 for a merge of the \
           newest one with p2, :tag for a local tag of the newest one, @branch for the branch of all \
           that follow, # for a comment up to the end of the line. A parent is a tag or how far it is \
           back, or nothing for the newest one.\n\nEnds with 0.",
    category: None,
    run,
};

/// Most bytes of a description.
const MOST: u64 = 16 << 20;

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let text = match matches.arguments() {
        [text] => text.clone(),
        _ => {
            ui.status("reading DAG from stdin\n")?;
            let mut text = Vec::new();
            ui.streams.input().take(MOST).read_to_end(&mut text)?;
            text
        }
    };
    let repository = repo.repository()?;
    let view = repository.view_for(ViewFilter::Unfiltered)?;
    if !view.changelog().is_empty() && !matches.flag("from-existing") {
        return Err(Abort::new("repository is not empty"));
    }
    let steps = parse_dag(&text).map_err(|error| Abort::new(error.to_string()))?;
    let _working_copy = repo.lock(ui, LockKind::WorkingCopy)?;
    let lock = repo.lock(ui, LockKind::Store)?;
    let options = write_options(config, &repository)?;
    let mut batch = repository.begin_named(lock, options, "builddag")?;
    let files = BuiltFiles {
        mergeable: matches.flag("mergeable-file"),
        overwritten: matches.flag("overwritten-file"),
        new: matches.flag("new-file"),
    };
    let tags = build_dag(&mut batch, &steps, files)?;
    batch.finish()?;
    if !tags.is_empty() {
        replace_local_tags(&repository, &tags)?;
    }
    repo.refresh();
    Ok(0)
}
