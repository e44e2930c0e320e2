//! `amend`: `commit --amend` that keeps the description.

use super::commit::amend::AmendOptions;
use super::commit::interactive::{self, INTERACTIVE};
use super::commit::{amend, metadata, options};
use super::unfinished;
use crate::arguments::{EXCLUDE, Flag, INCLUDE, Matches};
use crate::context::{Category, Command, Context};
use crate::ui::Abort;

/// See [`Command`]. The extension `amend` switches it on.
pub(crate) const COMMAND: Command = Command {
    names: &["amend"],
    options: &[
        options::ADDREMOVE,
        options::EDIT,
        INTERACTIVE,
        options::CLOSE_BRANCH,
        options::SECRET,
        options::DRAFT,
        Flag::value('n', "note", "TEXT", "a note for the obsolescence marker"),
        INCLUDE,
        EXCLUDE,
        metadata::MESSAGE,
        metadata::LOGFILE,
        metadata::DATE,
        metadata::USER,
        CURRENT_DATE,
        CURRENT_USER,
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION]... [FILE]...",
    summary: "amend the working copy parent with all or specified outstanding changes",
    help: "As 'hg commit --amend', but the description stays unless it is given or --edit asks for an \
           editor.\n\n\
           Ends with 0; with 1 if nothing changed.",
    category: Some(Category::Committing),
    run,
};

/// `-D`.
pub(crate) const CURRENT_DATE: Flag =
    Flag::flag('D', "currentdate", "the date of the changeset is now");
/// `-U`.
pub(crate) const CURRENT_USER: Flag =
    Flag::flag('U', "currentuser", "the user is the configured one");

/// Longest note, in bytes.
const LONGEST_NOTE: usize = 255;

/// `--note`, which must fit into a marker.
pub(crate) fn note(matches: &Matches) -> Result<Option<Vec<u8>>, Abort> {
    let note = matches.value("note").filter(|note| !note.is_empty());
    match note {
        Some(note) if note.len() > LONGEST_NOTE => {
            Err(Abort::input("cannot store a note of more than 255 bytes"))
        }
        Some(note) if note.contains(&b'\n') => Err(Abort::input("note cannot contain a newline")),
        note => Ok(note.map(<[u8]>::to_vec)),
    }
}

/// Refuses a date or a user together with the present ones.
pub(crate) fn check_current(matches: &Matches) -> Result<(), Abort> {
    for (name, current) in [("date", "currentdate"), ("user", "currentuser")] {
        let typed = matches.value(name).is_some_and(|value| !value.is_empty());
        if typed && matches.flag(current) {
            return Err(Abort::input(format!(
                "cannot specify both --{name} and --{current}"
            )));
        }
    }
    Ok(())
}

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    check_current(matches)?;
    let note = note(matches)?;
    if matches.flag("interactive") {
        interactive::check(ui)?;
    }
    unfinished::refuse_commit(&repo.repository()?)?;
    let user = match matches.flag("currentuser") {
        true => Some(ui.username()?),
        false => None,
    };
    let options = AmendOptions {
        phase: metadata::phase(matches)?,
        keeps_description: true,
        user,
        date: matches.flag("currentdate").then(metadata::now),
        note,
    };
    amend::run(repo, ui, config, matches, &options)
}
