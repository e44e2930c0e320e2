//! `debugpathcomplete`: tracked paths that begin as typed, for shells that complete them.

use crate::arguments::{Flag, Matches};
use crate::context::{Command, Context};
use crate::ui::Abort;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use varve_lang::patterns::relative_to_root;
use varve_workdir::{Dirstate, EntryState};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugpathcomplete"],
    options: &[
        Flag::flag(
            'f',
            "full",
            "whole paths, not only up to the next directory",
        ),
        Flag::flag(
            'n',
            "normal",
            "only files that are neither added nor removed",
        ),
        Flag::flag('a', "added", "only added files"),
        Flag::flag('r', "removed", "only removed files"),
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION]... [PATH]...",
    summary: "complete the names of tracked files",
    help: "Prints the tracked files and directories whose paths begin with one of the arguments, one per line.\n\n\
           Ends with 0.",
    category: None,
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context { repo, ui, .. } = context;
    let dirstate = Dirstate::read(&repo.repository()?)?;
    let states = states(matches);
    let everything = [Vec::new()];
    let typed = match matches.arguments() {
        [] => &everything[..],
        some => some,
    };
    let root = repo.root()?.to_owned();
    let mut found = BTreeSet::new();
    for typed in typed {
        // What leads out of the repository has no tracked files.
        let Ok(mut start) = relative_to_root(&root, &repo.cwd, typed) else {
            continue;
        };
        if !start.is_empty() && root.join(OsStr::from_bytes(&start)).is_dir() {
            start.push(b'/');
        }
        for (path, entry) in dirstate.iter() {
            if path.starts_with(&start) && states.contains(&entry.state()) {
                found.insert(shown(path, start.len(), matches.flag("full")).to_vec());
            }
        }
    }
    let mut lines = Vec::new();
    for path in &found {
        lines.push(repo.relative_path(path)?);
    }
    ui.write([&lines.join(&b'\n')[..], b"\n"].concat())?;
    Ok(0)
}

/// States of the files that the options mean; all if there are none.
fn states(matches: &Matches) -> Vec<EntryState> {
    use EntryState::{Added, Merged, Normal, Removed};
    let of_options: [(&str, &[EntryState]); 3] = [
        ("normal", &[Normal, Merged]),
        ("added", &[Added]),
        ("removed", &[Removed]),
    ];
    let asked = of_options.iter().filter(|(option, _)| matches.flag(option));
    let asked: Vec<EntryState> = asked.flat_map(|(_, states)| states.to_vec()).collect();
    match asked.is_empty() {
        true => vec![Normal, Merged, Added, Removed],
        false => asked,
    }
}

/// A path up to the next directory behind its first `typed` bytes.
fn shown(path: &[u8], typed: usize, full: bool) -> &[u8] {
    let rest = &path[typed..];
    match rest.iter().position(|byte| *byte == b'/') {
        Some(slash) if !full => &path[..typed + slash],
        _ => path,
    }
}
