//! `addremove`: track new files, and stop tracking missing ones.

use crate::arguments::{EXCLUDE, Flag, INCLUDE, Matches};
use crate::commands::local::add::{DRY_RUN, refuse_subrepositories};
use crate::commands::local::change::DirstateChange;
use crate::context::{Category, Command, Context, Repo};
use crate::ui::{Abort, Ui};
use std::collections::BTreeMap;
use varve_lang::patterns::Matcher;
use varve_workdir::{Rename, RenameCandidate, WorkingFiles, detect_renames};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["addremove"],
    options: &[
        Flag::value(
            's',
            "similarity",
            "SIMILARITY",
            "how alike a renamed file is, in percent",
        ),
        Flag::flag('S', "subrepos", "include subrepositories"),
        INCLUDE,
        EXCLUDE,
        DRY_RUN,
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION]... [FILE]...",
    summary: "track all new files, and stop tracking all that are gone",
    help: "Ignored files are not added. A file that is gone and a new one that is alike to the \
           percentage of -s are recorded as a rename; without -s only if they are the same, with \
           -s 0 never.\n\n\
           Ends with 0; with 1 if a name is not there.",
    category: Some(Category::WorkingDirectory),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    refuse_subrepositories(repo, matches)?;
    let similarity = similarity(matches)?;
    let matcher = repo.working_matcher(matches, matches.arguments())?;
    let mut change = DirstateChange::begin(repo, ui)?;
    let missing = repo.warn_of_missing_files(ui, &matcher, &change.dirstate)?;
    let status = change.status(repo, ui, &matcher, true)?;
    let (mut back, mut removed) = (Vec::new(), Vec::new());
    for file in &status.removed {
        let list = match change.has_file(file)? {
            true => &mut back,
            false => &mut removed,
        };
        list.push(file.clone());
    }
    let mut new = change.unknown_or_named(&matcher, &status);
    let unknown = new.clone();
    new.extend(back);
    let lists = [matches.list("include"), matches.list("exclude")];
    let chosen = !matches.arguments().is_empty() || lists.iter().any(|list| !list.is_empty());
    let names = ShownNames {
        relative: repo.uses_relative_paths(chosen)?,
    };
    print_changes(repo, ui, &names, &matcher, &new, &status.deleted)?;
    let found = if similarity > 0.0 {
        let gone = [removed, status.deleted.clone()].concat();
        let came = [status.added, unknown].concat();
        find_renames(repo, &change, &gone, &came, similarity)?
    } else {
        Vec::new()
    };
    let mut sources = BTreeMap::new();
    for rename in found {
        let exact = matcher.is_exact(&rename.from) && matcher.is_exact(&rename.to);
        if ui.verbosity.verbose || !exact {
            print_rename(repo, ui, &names, &rename)?;
        }
        sources.insert(rename.to, rename.from);
    }
    if !matches.flag("dry-run") {
        for file in &status.deleted {
            change.dirstate.remove(file);
        }
        new.sort_unstable();
        change.add(repo, ui, config, &new)?;
        for (to, from) in sources {
            change.dirstate.copy(&to, Some(&from));
        }
        change.end()?;
    }
    Ok(u8::from(!missing.is_empty()))
}

/// A share from 0 to 1.
fn similarity(matches: &Matches) -> Result<f64, Abort> {
    let text = match matches.value("similarity") {
        None | Some(b"") => return Ok(1.0),
        Some(text) => String::from_utf8_lossy(text).into_owned(),
    };
    let number: f64 = text
        .trim()
        .parse()
        .map_err(|_| Abort::input("similarity must be a number"))?;
    if !(0.0..=100.0).contains(&number) {
        return Err(Abort::input("similarity must be between 0 and 100"));
    }
    Ok(number / 100.0)
}

/// How paths are shown: from the root on if none was named.
struct ShownNames {
    relative: bool,
}

impl ShownNames {
    fn show(&self, repo: &Repo, path: &[u8]) -> Result<Vec<u8>, Abort> {
        match self.relative {
            true => repo.relative_path(path),
            false => Ok(path.to_vec()),
        }
    }
}

fn print_changes(
    repo: &Repo,
    ui: &mut Ui,
    names: &ShownNames,
    matcher: &Matcher,
    new: &[Vec<u8>],
    deleted: &[Vec<u8>],
) -> Result<(), Abort> {
    let mut lines: Vec<(&[u8], &str)> = Vec::new();
    lines.extend(new.iter().map(|file| (&file[..], "adding ")));
    lines.extend(deleted.iter().map(|file| (&file[..], "removing ")));
    lines.sort_unstable();
    for (file, word) in lines {
        if ui.verbosity.verbose || !matcher.is_exact(file) {
            let shown = names.show(repo, file)?;
            let label = match word {
                "adding " => "ui.addremove.added",
                _ => "ui.addremove.removed",
            };
            ui.status_labelled(label, [word.as_bytes(), &shown[..], b"\n"].concat())?;
        }
    }
    Ok(())
}

fn print_rename(
    repo: &Repo,
    ui: &mut Ui,
    names: &ShownNames,
    rename: &Rename,
) -> Result<(), Abort> {
    let percent = (rename.score * 100.0) as u32;
    let (from, to) = (
        names.show(repo, &rename.from)?,
        names.show(repo, &rename.to)?,
    );
    let score = format!(" ({percent}% similar)\n");
    let line = [
        b"recording removal of ",
        &from[..],
        b" as rename to ",
        &to,
        score.as_bytes(),
    ];
    ui.status(line.concat())
}

fn find_renames(
    repo: &mut Repo,
    change: &DirstateChange,
    gone: &[Vec<u8>],
    came: &[Vec<u8>],
    least: f64,
) -> Result<Vec<Rename>, Abort> {
    if gone.is_empty() || came.is_empty() {
        return Ok(Vec::new());
    }
    let view = repo.view()?;
    let first = view.changelog().rev(&change.dirstate.parents()[0]);
    let text = view.manifest_text(first)?;
    let mut removed = Vec::new();
    for path in gone {
        if let Some(entry) = view.find_in_manifest(&text, path)? {
            let (path, content) = (path.clone(), view.file_content(path, &entry.node)?);
            removed.push(RenameCandidate { path, content });
        }
    }
    let working = WorkingFiles::of(&change.repository);
    let mut added = Vec::new();
    for path in came {
        let (path, (content, _)) = (path.clone(), working.read(path)?);
        added.push(RenameCandidate { path, content });
    }
    removed.sort_by(|a, b| a.path.cmp(&b.path));
    added.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(detect_renames(&removed, &added, least))
}
