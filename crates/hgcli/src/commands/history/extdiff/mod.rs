//! `extdiff`: differences shown by another program, which gets copies of the files.

mod per_file;
mod snapshot;
mod substitution;
mod tools;

pub(crate) use tools::with_tool_aliases;

use super::diff;
use super::export;
use crate::arguments::{EXCLUDE, Flag, INCLUDE, Matches};
use crate::context::files::is_known;
use crate::context::{Category, Command, Config, Context, Repo};
use crate::render::diff::{DiffOptions, DiffSide, DiffedFile};
use crate::ui::{Abort, Ui, short_hex};
use snapshot::{Copies, Side};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process;
use substitution::Substitutions;
use tools::DiffTool;
use varve_lang::patterns::Matcher;
use varve_repo::{RepoView, Rev, python_repr};
use varve_workdir::filesets::FilesetTarget;
use varve_workdir::{Dirstate, ScratchDirectory};

/// The exit code when the program has run, whatever it says.
const SHOWN: u8 = 1;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["extdiff"],
    options: &[
        Flag::value('p', "program", "CMD", "the program"),
        Flag::list('o', "option", "OPT", "an argument for the program"),
        Flag::list('r', "rev", "REV", "compare this changeset (deprecated)"),
        Flag::long_value("from", "REV1", "compare from this changeset"),
        Flag::long_value("to", "REV2", "compare to this changeset"),
        Flag::value('c', "change", "REV", "the change that this changeset made"),
        Flag::long_flag("per-file", "run the program for each file"),
        Flag::long_flag("confirm", "ask before each run of the program"),
        Flag::long_flag("patch", "compare the patches of two changesets"),
        INCLUDE,
        EXCLUDE,
        Flag::flag('S', "subrepos", "include subrepositories"),
        tools::NAMED,
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[OPT]... [FILE]...",
    summary: "show differences by another program",
    help: "The program gets two directories with copies of the files that differ, or the two versions if one file \
           differs. Without -p it is diff -Npru. What it changes in copies of the working directory's files is copied \
           back.\n\nIn [extdiff], NAME = COMMAND LINE makes a command of this name, in whose line $parent, $child, \
           $plabel1, $clabel and $root stand for the directories, their labels and the repository.\n\n\
           Ends with 1 if the program was run, else with 0.",
    category: Some(Category::Contents),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    context.repo.refuse_subrepositories(matches)?;
    let tool = DiffTool::of_call(&context.config, matches)?;
    let Context {
        repo, ui, config, ..
    } = context;
    let sides = sides(repo, ui, matches)?;
    if matches.flag("patch") {
        return compare_patches((repo, ui, config), matches, &tool, sides);
    }
    let at = match sides.1 {
        DiffSide::Rev(rev) => FilesetTarget::Rev(rev),
        DiffSide::Working => FilesetTarget::Working,
    };
    let matcher = repo.matcher_at(matches, at)?;
    if sides.1 == DiffSide::Working {
        warn_of_missing(repo, ui, sides.0, &matcher)?;
    }
    let files = diff::changed_files(repo, ui, sides, (&matcher, false))?;
    if files.is_empty() {
        return Ok(0);
    }
    let scratch = ScratchDirectory::new("extdiff")?;
    let view = repo.view()?;
    let copies = Copies::make(repo, ui, &view, (sides, &files), scratch.path())?;
    let shown = match matches.flag("per-file") {
        true => per_file::show(ui, repo, (&tool, &copies, &files), matches.flag("confirm")),
        false => show(ui, repo, (&tool, &copies, &files)),
    };
    copies.take_back(ui, repo)?;
    shown?;
    ui.note("cleaning up temp directory\n")?;
    Ok(SHOWN)
}

/// Names that neither the working directory nor the other side has.
fn warn_of_missing(
    repo: &mut Repo,
    ui: &mut Ui,
    from: DiffSide,
    matcher: &Matcher,
) -> Result<(), Abort> {
    let dirstate = Dirstate::read(&repo.repository()?)?;
    let view = repo.view()?;
    let text = match from {
        DiffSide::Rev(rev) => view.manifest_text(rev)?,
        DiffSide::Working => view.manifest_text(None)?,
    };
    let is_there = |path: &[u8]| {
        let below = [path, b"/"].concat();
        view.manifest_entries(&text)
            .flatten()
            .any(|entry| entry.path == path || entry.path.starts_with(&below))
    };
    repo.warn_of_unknown_files(ui, matcher, &|path| {
        is_known(&dirstate, path) || is_there(path)
    })?;
    Ok(())
}

/// As `diff` chooses them, but for `--change`, which counts before all others.
fn sides(repo: &mut Repo, ui: &mut Ui, matches: &Matches) -> Result<(DiffSide, DiffSide), Abort> {
    if let Some(change) = matches.value("change").filter(|change| !change.is_empty()) {
        let rev = repo.revision(ui, Some(change))?;
        let parent = match rev {
            Some(rev) => repo.view()?.changelog().parents(rev)[0],
            None => None,
        };
        return Ok((DiffSide::Rev(parent), DiffSide::Rev(rev)));
    }
    diff::sides(repo, ui, matches)
}

/// Runs the program once: over two directories, or two versions of a file.
fn show(
    ui: &mut Ui,
    repo: &Repo,
    (tool, copies, files): (&DiffTool, &Copies, &[DiffedFile]),
) -> Result<(), Abort> {
    let root = repo.root()?;
    let substitutions = match files {
        [one] => Substitutions {
            parent: copies.place_of_one(&copies.before, one.old.is_some(), &one.path, true),
            child: copies.place_of_one(&copies.after, one.new.is_some(), &one.path, false),
            parent_label: copies.before.label_of(&one.path),
            child_label: copies.after.label_of(&one.path),
            root: root.as_os_str().as_bytes().to_vec(),
        },
        _ => Substitutions {
            parent: copies.before.name.clone(),
            child: copies.after.name.clone(),
            parent_label: copies.before.label.clone(),
            child_label: copies.after.label.clone(),
            root: root.as_os_str().as_bytes().to_vec(),
        },
    };
    execute(ui, &substitutions.line(&tool.line), &copies.directory)
}

/// Runs a line of the shell in a directory, and waits for its end.
fn execute(ui: &mut Ui, line: &[u8], directory: &Path) -> Result<(), Abort> {
    let shown = directory.as_os_str().as_bytes();
    let line_shown = python_repr(line);
    ui.debug([b"running ", line_shown.as_bytes(), b" in ", shown, b"\n"].concat())?;
    std::io::Write::flush(&mut ui.out)?;
    let mut shell = shell(line, directory);
    // Its exit code says only that there are differences.
    ui.streams.run(&mut shell)?;
    Ok(())
}

fn shell(line: &[u8], directory: &Path) -> process::Command {
    let mut shell = process::Command::new("/bin/sh");
    shell
        .arg("-c")
        .arg(OsStr::from_bytes(line))
        .current_dir(directory);
    shell
}

/// `--patch`: the program compares two patches.
fn compare_patches(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    matches: &Matches,
    tool: &DiffTool,
    sides: (DiffSide, DiffSide),
) -> Result<u8, Abort> {
    let (DiffSide::Rev(Some(from)), DiffSide::Rev(Some(to))) = sides else {
        return Err(Abort::new("--patch requires two revisions"));
    };
    let view = repo.view()?;
    let options = DiffOptions::new(ui, config, matches)?;
    let matcher = repo.matcher_at(matches, FilesetTarget::Rev(Some(to)))?;
    let scratch = ScratchDirectory::new("extdiff")?;
    let write = |rev: Rev| -> Result<Vec<u8>, Abort> {
        let name = format!("hg-{}.patch", short_hex(&view.changelog().node(rev)));
        let path = scratch.path().join(name);
        let patch = export::patch_of_files(&view, rev, &options, &matcher)?;
        std::fs::write(&path, patch).map_err(|error| Abort::file(&error, &path))?;
        Ok(path.into_os_string().into_encoded_bytes())
    };
    let (parent, child) = (write(from)?, write(to)?);
    for path in [&parent, &child] {
        ui.note([&path[..], b"\n"].concat())?;
    }
    let substitutions = Substitutions {
        parent,
        child,
        parent_label: label(Some(from)),
        child_label: label(Some(to)),
        root: repo.root()?.as_os_str().as_bytes().to_vec(),
    };
    execute(ui, &substitutions.line(&tool.line), scratch.path())?;
    ui.note("cleaning up temp directory\n")?;
    Ok(SHOWN)
}

/// `@` and the number of a changeset; -1 is the null revision.
fn label(rev: Option<Rev>) -> Vec<u8> {
    let number = rev.map_or(-1, |rev| i64::from(rev.0));
    format!("@{number}").into_bytes()
}

/// The words for a side in messages.
fn described(view: &RepoView, side: &Side) -> String {
    match side.rev {
        DiffSide::Rev(rev) => {
            let node = view.changelog().node_or_null(rev);
            format!("rev {}", short_hex(&node))
        }
        DiffSide::Working => "working directory".to_owned(),
    }
}
