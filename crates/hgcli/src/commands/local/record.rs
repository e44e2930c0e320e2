//! `record`: `commit --interactive` by another name.

use super::commit::{self, metadata, options};
use crate::arguments::{EXCLUDE, INCLUDE};
use crate::context::{Category, Command, Context};
use crate::render::diff::{
    IGNORE_ALL_SPACE, IGNORE_BLANK_LINES, IGNORE_SPACE_AT_EOL, IGNORE_SPACE_CHANGE,
};
use crate::ui::Abort;

/// See [`Command`]. The extension `record` switches it on.
pub(crate) const COMMAND: Command = Command {
    names: &["record"],
    options: &[
        options::ADDREMOVE,
        options::CLOSE_BRANCH,
        options::AMEND,
        options::SECRET,
        options::DRAFT,
        options::EDIT,
        options::FORCE_CLOSE_BRANCH,
        INCLUDE,
        EXCLUDE,
        metadata::MESSAGE,
        metadata::LOGFILE,
        metadata::DATE,
        metadata::USER,
        options::SUBREPOS,
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
