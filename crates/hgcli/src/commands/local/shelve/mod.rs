//! `shelve`: local changes are put aside.

mod create;
mod list;

pub(crate) use create::{INTERNAL, UNCALLED_HOOKS, UNKNOWN_FILES, USER, commit_beside, save};

use super::commit::interactive::INTERACTIVE;
use super::commit::{metadata, options};
use crate::arguments::{EXCLUDE, Flag, INCLUDE, Matches};
use crate::context::{Category, Command, Config, Context, Repo};
use crate::ui::{Abort, Ui};
use varve_repo::LockKind;
use varve_workdir::{ShelfDirectory, ShelvedChanges};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["shelve"],
    options: &[
        options::ADDREMOVE,
        Flag::flag('u', "unknown", "shelve files that are not tracked too"),
        Flag::long_flag("cleanup", "delete all shelved changes"),
        Flag::long_value("date", "DATE", "the date of the shelved changeset"),
        Flag::flag('d', "delete", "delete the named shelved changes"),
        options::EDIT,
        Flag::flag(
            'k',
            "keep",
            "shelve the changes and leave them in the working directory too",
        ),
        Flag::flag('l', "list", "list shelved changes"),
        metadata::MESSAGE,
        Flag::value('n', "name", "NAME", "the name of the shelved change"),
        Flag::flag('p', "patch", "show the named shelved changes as patches"),
        INTERACTIVE,
        Flag::long_flag("stat", "show how much the named shelved changes change"),
        INCLUDE,
        EXCLUDE,
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION]... [FILE]...",
    summary: "save and set aside changes from the working directory",
    help: "Keeps what 'hg status' lists in a bundle below .hg/shelved, and makes the files as they are \
           in the parent of the working directory. 'hg unshelve' brings the changes back, also over \
           another parent. With FILE or patterns only those files are shelved.\n\n\
           The name is that of the active bookmark, or of the branch, with a number if it is taken. \
           If all changes are shelved while a new branch has been begun, unshelving begins it \
           again.\n\n\
           Ends with 0; with 1 if nothing changed.",
    category: Some(Category::WorkingDirectory),
    run,
};

/// Used shelves that are kept where it is not set.
const MOST_USED: i64 = 10;

/// The work that the options ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Cleanup,
    Delete,
    List,
    Patch,
    Stat,
    Create,
}

impl Action {
    fn of(matches: &Matches) -> Action {
        let first = [
            ("cleanup", Action::Cleanup),
            ("delete", Action::Delete),
            ("list", Action::List),
            ("patch", Action::Patch),
            ("stat", Action::Stat),
        ];
        let found = first.iter().find(|(name, _)| matches.flag(name));
        found.map_or(Action::Create, |(_, action)| *action)
    }

    fn name(self) -> &'static str {
        match self {
            Action::Cleanup => "cleanup",
            Action::Delete => "delete",
            Action::List => "list",
            Action::Patch => "patch",
            Action::Stat => "stat",
            Action::Create => "create",
        }
    }

    /// Refuses options that belong to another action.
    fn check(self, matches: &Matches) -> Result<(), Abort> {
        const OPTIONS: &[(&str, &[Action])] = &[
            ("addremove", &[Action::Create]),
            ("unknown", &[Action::Create]),
            ("cleanup", &[Action::Cleanup]),
            ("delete", &[Action::Delete]),
            ("edit", &[Action::Create]),
            ("keep", &[Action::Create]),
            ("list", &[Action::List]),
            ("message", &[Action::Create]),
            ("name", &[Action::Create]),
            ("patch", &[Action::Patch, Action::List]),
            ("stat", &[Action::Stat, Action::List]),
        ];
        let given = |name: &str| {
            matches.flag(name) || matches.value(name).is_some_and(|value| !value.is_empty())
        };
        let foreign = OPTIONS
            .iter()
            .find(|(name, actions)| given(name) && !actions.contains(&self));
        match foreign {
            Some((option, _)) => Err(Abort::input(format!(
                "options '--{}' and '--{option}' may not be used together",
                self.name()
            ))),
            None => Ok(()),
        }
    }
}

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let action = Action::of(matches);
    if action != Action::Create {
        action.check(matches)?;
    }
    match action {
        Action::Cleanup => cleanup(repo, ui, config, matches),
        Action::Delete => delete(repo, ui, config, matches),
        Action::List | Action::Patch | Action::Stat => {
            list::run(repo, ui, matches, action != Action::List)
        }
        Action::Create => create::run(repo, ui, config, matches),
    }
}

/// Puts away the files of a shelved change, and removes the oldest of those that were used.
pub(super) fn retire(
    config: &Config,
    directory: &ShelfDirectory,
    shelf: &ShelvedChanges<'_>,
) -> Result<(), Abort> {
    shelf.retire()?;
    Ok(directory.prune(most_used(config)?)?)
}

/// `shelve.maxbackups`.
fn most_used(config: &Config) -> Result<usize, Abort> {
    let most = config.integer("shelve", "maxbackups")?;
    Ok(usize::try_from(most.unwrap_or(MOST_USED)).unwrap_or_default())
}

fn cleanup(repo: &mut Repo, ui: &mut Ui, config: &Config, matches: &Matches) -> Result<u8, Abort> {
    if !matches.arguments().is_empty() {
        return Err(Abort::input("cannot specify names when using '--cleanup'"));
    }
    let repository = repo.repository()?;
    let _lock = repo.lock(ui, LockKind::WorkingCopy)?;
    let directory = ShelfDirectory::of(&repository);
    for listed in directory.list()? {
        retire(config, &directory, &directory.shelf(&listed.name))?;
    }
    Ok(0)
}

fn delete(repo: &mut Repo, ui: &mut Ui, config: &Config, matches: &Matches) -> Result<u8, Abort> {
    if matches.arguments().is_empty() {
        return Err(Abort::input("no shelved changes specified!"));
    }
    let repository = repo.repository()?;
    let _lock = repo.lock(ui, LockKind::WorkingCopy)?;
    let directory = ShelfDirectory::of(&repository);
    for name in matches.arguments() {
        retire(config, &directory, &existing(&directory, name)?)?;
    }
    Ok(0)
}

/// The shelved change of this name.
pub(super) fn existing<'a>(
    directory: &'a ShelfDirectory,
    name: &[u8],
) -> Result<ShelvedChanges<'a>, Abort> {
    let shelf = directory.shelf(name);
    match shelf.exists() {
        true => Ok(shelf),
        false => {
            let name = String::from_utf8_lossy(name);
            Err(Abort::input(format!("shelved change '{name}' not found")))
        }
    }
}
