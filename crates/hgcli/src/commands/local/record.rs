//! `record`: `commit --interactive` by another name.

use super::commit::{self, metadata};
use crate::arguments::{EXCLUDE, Flag, INCLUDE};
use crate::context::{Category, Command, Context};
use crate::render::diff::{
    IGNORE_ALL_SPACE, IGNORE_BLANK_LINES, IGNORE_SPACE_AT_EOL, IGNORE_SPACE_CHANGE,
};
use crate::ui::Abort;

/// See [`Command`]. The extension `record` switches it on.
pub(crate) const COMMAND: Command = Command {
    names: &["record"],
    options: &[
        Flag::flag(
            'A',
            "addremove",
            "first add new files and remove missing ones",
        ),
        Flag::long_flag("close-branch", "mark this head of the branch as closed"),
        Flag::long_flag(
            "amend",
            "put a new changeset in the place of the working directory's parent",
        ),
        Flag::flag('s', "secret", "the changeset is secret"),
        Flag::long_flag("draft", "the changeset is a draft"),
        Flag::flag('e', "edit", "edit the description"),
        Flag::long_flag(
            "force-close-branch",
            "mark a changeset that is no head as closed too",
        ),
        INCLUDE,
        EXCLUDE,
        metadata::MESSAGE,
        metadata::LOGFILE,
        metadata::DATE,
        metadata::USER,
        Flag::flag('S', "subrepos", "also commit in subrepositories"),
        IGNORE_ALL_SPACE,
        IGNORE_SPACE_CHANGE,
        IGNORE_BLANK_LINES,
        IGNORE_SPACE_AT_EOL,
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION]... [FILE]...",
    summary: "interactively select changes to commit",
    help: "As 'hg commit --interactive'. Blanks that do not count are not offered.\n\n\
           Ends with 0; with 1 if nothing was chosen.",
    category: Some(Category::Committing),
    run: |context, matches| {
        let Context {
            repo, ui, config, ..
        } = context;
        if !ui.is_interactive()? {
            let words = "running non-interactively, use commit instead";
            return Err(Abort::new(words));
        }
        let matches = matches.clone().with_flag("interactive");
        commit::commit_working_copy((repo, ui, config), &matches)
    },
};
