//! `unshelve`: shelved changes come back.

mod finish;
mod in_store;
mod interrupted;
mod merged;
mod restore;

use super::{commit, shelve, unfinished};
use crate::arguments::{Flag, Matches};
use crate::context::{Category, Command, Config, Context, Repo};
use crate::ui::{Abort, Ui};
use varve_repo::{LockKind, Repository};
use varve_workdir::{Dirstate, ShelfDirectory};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["unshelve"],
    options: &[
        Flag::flag('a', "abort", "give up the unshelve that is under way"),
        Flag::flag('c', "continue", "go on with the unshelve that is under way"),
        Flag::flag('i', "interactive", "choose changes one by one"),
        Flag::flag('k', "keep", "keep the shelved change"),
        Flag::value('n', "name", "NAME", "the shelved change"),
        Flag::value('t', "tool", "TOOL", "what merges files"),
        Flag::long_value(
            "date",
            "DATE",
            "the date of changesets that do not stay (DEPRECATED)",
        ),
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION]... [[-n] SHELVED]",
    summary: "restore a shelved change to the working directory",
    help: "Brings back the changes that 'hg shelve' has put aside: the newest, or those that are named. \
           They are merged with local changes, and with those of another parent.\n\n\
           With conflicts the command stops: settle them, mark the files with 'hg resolve -m', and \
           go on with 'hg unshelve --continue'; --abort brings everything back as it was. Files of \
           changes that were brought back stay in .hg/shelve-backup, the newest shelve.maxbackups of \
           them.\n\n\
           --interactive asks about the changes once they are merged; those that are not taken stay \
           shelved.\n\n\
           Ends with 0; with 1 if files are unresolved.",
    category: Some(Category::WorkingDirectory),
    run,
};

/// A call of the command.
struct Unshelve<'a> {
    repo: &'a mut Repo,
    ui: &'a mut Ui,
    config: &'a Config,
    matches: &'a Matches,
    repository: &'a Repository,
}

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let (aborts, continues) = (matches.flag("abort"), matches.flag("continue"));
    let repository = repo.repository()?;
    if !aborts && !continues {
        unfinished::refuse(&repository)?;
    }
    if matches.flag("interactive") && matches.flag("keep") {
        return Err(Abort::input("--keep on --interactive is not yet supported"));
    }
    let mut names = matches.arguments().to_vec();
    let option = matches.value("name").filter(|name| !name.is_empty());
    names.extend(option.map(<[u8]>::to_vec));
    if (aborts || continues) && aborts == continues {
        return Err(Abort::input("cannot use both abort and continue"));
    }
    if (aborts || continues) && !names.is_empty() {
        return Err(Abort::input(
            "cannot combine abort/continue with naming a shelved change",
        ));
    }
    let _lock = repo.lock(ui, LockKind::WorkingCopy)?;
    repo.refresh();
    let mut unshelve = Unshelve {
        repo,
        ui,
        config,
        matches,
        repository: &repository,
    };
    if aborts || continues {
        return interrupted::run(&mut unshelve);
    }
    unfinished::refuse(&repository)?;
    commit::refuse_interrupted(&repository)?;
    if names.len() > 1 {
        return Err(Abort::input("can only unshelve one change at a time"));
    }
    let directory = ShelfDirectory::of(&repository);
    let name = match names.pop() {
        Some(name) => name,
        None => {
            let newest = directory.list()?.into_iter().next();
            let newest = newest.ok_or_else(|| Abort::state("no shelved changes to apply!"))?;
            let line = [b"unshelving change '", &newest.name[..], b"'\n"].concat();
            unshelve.ui.status(line)?;
            newest.name
        }
    };
    let shelf = shelve::existing(&directory, &name)?;
    if !Dirstate::read(&repository)?.parents()[1].is_null() {
        return Err(Abort::state("outstanding uncommitted merge")
            .hint("use 'hg commit' or 'hg merge --abort'"));
    }
    restore::run(&mut unshelve, &shelf)
}
