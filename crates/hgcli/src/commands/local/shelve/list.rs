//! `--list`, `--patch` and `--stat`: shelved changes, as their patches show them.

use crate::arguments::Matches;
use crate::context::Repo;
use crate::render::diff;
use crate::render::templates::brief_age;
use crate::ui::{Abort, Ui, columns};
use std::time::UNIX_EPOCH;
use varve_workdir::{ShelfDirectory, ShelfFile};

/// Columns of the name.
const NAME_WIDTH: usize = 16;
/// Columns of the age.
const AGE_WIDTH: usize = 12;

/// Lists the shelved changes that the arguments name, or all; `is_chosen` without `--list`: the named ones must be
/// there, and without a name the newest is meant.
pub(super) fn run(
    repo: &mut Repo,
    ui: &mut Ui,
    matches: &Matches,
    is_chosen: bool,
) -> Result<u8, Abort> {
    if matches.flag("patch") && matches.flag("stat") {
        let message = "options '--patch' and '--stat' may not be used together";
        return Err(Abort::input(message));
    }
    let repository = repo.repository()?;
    let directory = ShelfDirectory::of(&repository);
    let mut names = matches.arguments().to_vec();
    let mut list = directory.list()?;
    if is_chosen {
        let is_there = |name: &&Vec<u8>| list.iter().any(|shelf| shelf.name == **name);
        if let Some(name) = names.iter().find(|name| !is_there(name)) {
            let name = String::from_utf8_lossy(name);
            return Err(Abort::new(format!("cannot find shelf {name}")));
        }
        if names.is_empty() {
            let newest = list.first();
            let newest = newest.ok_or_else(|| Abort::new("there are no shelves to show"))?;
            names.push(newest.name.clone());
        }
    }
    if !names.is_empty() {
        list.retain(|shelf| names.contains(&shelf.name));
    }
    for shelf in list {
        if ui.verbosity.quiet {
            ui.write([&shelf.name[..], b"\n"].concat())?;
            continue;
        }
        let seconds = shelf.modified.duration_since(UNIX_EPOCH);
        let seconds = seconds.map_or(0, |passed| passed.as_secs());
        let age = format!(
            "({})",
            brief_age(i64::try_from(seconds).unwrap_or_default())
        );
        let padding = columns::padding(&shelf.name, NAME_WIDTH);
        ui.write([&shelf.name[..], padding.as_bytes()].concat())?;
        ui.write(format!("{age:AGE_WIDTH$}"))?;
        let path = directory.shelf(&shelf.name).path(ShelfFile::Patch);
        let text = std::fs::read(&path).map_err(|error| Abort::file(&error, &path))?;
        print(ui, matches, &text)?;
    }
    Ok(0)
}

/// Prints the first line of a patch's description, and what the options ask for.
fn print(ui: &mut Ui, matches: &Matches, patch: &[u8]) -> Result<(), Abort> {
    let mut rest = patch;
    let mut first: &[u8] = b"";
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n');
        let (line, below) = rest.split_at(end.map_or(rest.len(), |end| end + 1));
        rest = below;
        if !line.starts_with(b"#") {
            first = line.trim_ascii_end();
            break;
        }
    }
    let room = columns::of_terminal().saturating_sub(NAME_WIDTH + AGE_WIDTH);
    match ui.streams.has_terminal_output() {
        true => ui.write(columns::shortened(first, room))?,
        false => ui.write(first)?,
    }
    ui.write("\n")?;
    if matches.flag("patch") {
        ui.write(rest)?;
    }
    if matches.flag("stat") {
        let mut out = Vec::new();
        diff::push_stat_of_patch(&ui.painter, rest, columns::of_terminal(), &mut out);
        ui.write(out)?;
    }
    Ok(())
}
