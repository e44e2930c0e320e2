//! `add`: track files from the next commit on.

use crate::arguments::{EXCLUDE, Flag, INCLUDE, Matches};
use crate::commands::local::change::{DirstateChange, Portability, portability};
use crate::context::{Category, Command, Config, Context, Repo};
use crate::ui::{Abort, Ui};
use std::collections::{BTreeSet, HashSet};

/// `-n`, of all commands that change the set of tracked files.
pub(crate) const DRY_RUN: Flag =
    Flag::flag('n', "dry-run", "say what would be done, and do nothing");

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["add"],
    options: &[
        INCLUDE,
        EXCLUDE,
        Flag::flag('S', "subrepos", "include subrepositories"),
        DRY_RUN,
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION]... [FILE]...",
    summary: "track files from the next commit on",
    help: "Without names, all files are added that are neither tracked nor ignored. An ignored \
           file is added if it is named.\n\n\
           Ends with 0; with 1 if a file could not be added.",
    category: Some(Category::WorkingDirectory),
    run,
};

/// Refuses `-S` where there is something that it would mean.
pub(crate) fn refuse_subrepositories(repo: &Repo, matches: &Matches) -> Result<(), Abort> {
    if matches.flag("subrepos") && repo.root()?.join(".hgsub").exists() {
        return Err(Abort::input("subrepositories are not supported"));
    }
    Ok(())
}

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    refuse_subrepositories(repo, matches)?;
    let matcher = repo.working_matcher(matches, matches.arguments())?;
    let mut change = DirstateChange::begin(repo, ui)?;
    let mut rejected = repo.warn_of_missing_files(ui, &matcher, &change.dirstate)?;
    let status = change.status(repo, ui, &matcher, true)?;
    let mut candidates: BTreeSet<Vec<u8>> = change
        .unknown_or_named(&matcher, &status)
        .into_iter()
        .collect();
    for file in &status.removed {
        if change.has_file(file)? {
            candidates.insert(file.clone());
        }
    }
    let named = matcher.named().iter();
    let named = named.filter(|file| change.dirstate.get(file).is_some() && matcher.matches(file));
    candidates.extend(named.cloned());
    let mut collisions = Collisions::default();
    let mut files = Vec::new();
    for file in candidates {
        collisions.check(ui, config, &change, &file)?;
        if ui.verbosity.verbose || !matcher.is_exact(&file) {
            let line = [b"adding ", &repo.display_path(&file)?[..], b"\n"].concat();
            ui.status_labelled("ui.addremove.added", line)?;
        }
        files.push(file);
    }
    if !matches.flag("dry-run") {
        let refused = change.add(repo, ui, config, &files)?;
        rejected.extend(refused.into_iter().filter(|file| matcher.is_exact(file)));
        change.end()?;
    }
    Ok(u8::from(!rejected.is_empty()))
}

/// Finds names that differ from others only in the case of letters.
#[derive(Default)]
struct Collisions {
    /// All names so far in lower case; read when the first is looked for.
    lower: Option<HashSet<Vec<u8>>>,
}

impl Collisions {
    fn check(
        &mut self,
        ui: &mut Ui,
        config: &Config,
        change: &DirstateChange,
        file: &[u8],
    ) -> Result<(), Abort> {
        let all = self.lower.get_or_insert_with(|| {
            let entries = change.dirstate.iter();
            entries.map(|(path, _)| path.to_ascii_lowercase()).collect()
        });
        let is_new = all.insert(file.to_ascii_lowercase());
        if is_new || change.dirstate.get(file).is_some() {
            return Ok(());
        }
        let shown = String::from_utf8_lossy(file);
        let message = format!("possible case-folding collision for {shown}");
        match portability(config)? {
            Portability::Ignore => Ok(()),
            Portability::Warn => ui.warn(format!("warning: {message}\n")),
            Portability::Abort => Err(Abort::input(message)),
        }
    }
}
