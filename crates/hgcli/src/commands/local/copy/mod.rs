//! `copy` and `rename`: files under other names, with where they come from.

mod at_revision;
mod target;

use crate::arguments::{EXCLUDE, Flag, INCLUDE, Matches};
use crate::commands::local::add::DRY_RUN;
use crate::commands::local::change::{DirstateChange, warn_unportable};
use crate::context::{Category, Command, Config, Context, Repo};
use crate::ui::{Abort, Ui};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use target::Targets;
use varve_lang::patterns::{PathCheck, relative_to_root};
use varve_workdir::{PathAuditor, WorkingFiles};

const AFTER: Flag = Flag::flag('A', "after", "record what was done with the files already");
const FORGET: Flag = Flag::long_flag("forget", "a file is no copy after all");
const AT_REV: Flag = Flag::long_value(
    "at-rev",
    "REV",
    "record or forget it in this changeset, which is replaced (EXPERIMENTAL)",
);
const FORCE: Flag = Flag::flag('f', "force", "replace files that are there");

/// `copy`; see [`Command`].
pub(crate) const COPY: Command = Command {
    names: &["copy", "cp"],
    options: &[FORGET, AFTER, AT_REV, FORCE, INCLUDE, EXCLUDE, DRY_RUN],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION]... SOURCE... DEST",
    summary: "copy files, and record where they come from",
    help: "Several sources, or a pattern, need a directory as the destination. The copies are \
           committed by the next commit. With -A nothing is copied: a copy that was made is \
           recorded.\n\n\
           With --at-rev and --after, a changeset that was committed is replaced by one in which DEST is a copy \
           of SOURCE, a file of its first parent.\n\n\
           Ends with 0; with 1 if a file could not be copied.",
    category: Some(Category::WorkingDirectory),
    run: |context, matches| {
        let Context {
            repo, ui, config, ..
        } = context;
        run(repo, ui, config, matches, false)
    },
};

/// `rename`; see [`Command`].
pub(crate) const RENAME: Command = Command {
    names: &["rename", "move", "mv"],
    options: &[FORGET, AFTER, AT_REV, FORCE, INCLUDE, EXCLUDE, DRY_RUN],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION]... SOURCE... DEST",
    summary: "rename files, and record where they come from",
    help: "As a copy, after which the sources are removed; with --at-rev and --after, only the copy \
           is recorded.\n\n\
           Ends with 0; with 1 if a file could not be renamed.",
    category: Some(Category::WorkingDirectory),
    run: |context, matches| {
        let Context {
            repo, ui, config, ..
        } = context;
        run(repo, ui, config, matches, true)
    },
};

/// One file that is to be copied.
struct CopiedFile {
    path: Vec<u8>,
    /// Whether an argument names it.
    exact: bool,
}

struct Copying<'a> {
    repo: &'a mut Repo,
    ui: &'a mut Ui,
    config: &'a Config,
    change: DirstateChange,
    auditor: PathAuditor,
    files: WorkingFiles,
    rename: bool,
    after: bool,
    force: bool,
    dry_run: bool,
    /// Destinations so far, with their sources.
    done: BTreeMap<Vec<u8>, Vec<u8>>,
}

fn run(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    rename: bool,
) -> Result<u8, Abort> {
    if let Some(rev) = matches.value("at-rev").filter(|rev| !rev.is_empty()) {
        return at_revision::run((repo, ui, config), matches, rev);
    }
    if matches.flag("forget") {
        return forget(repo, ui, matches);
    }
    let mut sources = matches.arguments().to_vec();
    let Some(destination) = sources.pop() else {
        return Err(Abort::input("no source or destination specified"));
    };
    if sources.is_empty() {
        return Err(Abort::input("no destination specified"));
    }
    let root = repo.root()?.to_owned();
    let mut copying = Copying {
        change: DirstateChange::begin(repo, ui)?,
        repo,
        ui,
        config,
        auditor: PathAuditor::new(&root),
        files: WorkingFiles::new(&root),
        rename,
        after: matches.flag("after"),
        force: matches.flag("force"),
        dry_run: matches.flag("dry-run"),
        done: BTreeMap::new(),
    };
    let targets = Targets::new(&root, &copying.repo.cwd, &destination, &sources)?;
    let mut work = Vec::new();
    for pattern in &sources {
        let found = copying.sources(matches, pattern)?;
        if !found.is_empty() {
            work.push((pattern, found));
        }
    }
    if work.is_empty() {
        let abort = Abort::input("no files to copy");
        return Err(match rename {
            true => abort.hint("maybe you meant to use --after --at-rev=."),
            false => abort,
        });
    }
    let mut failed = false;
    for (pattern, found) in work {
        let first = found[0].path.clone();
        let way = targets.of(pattern, &first, copying.after, &found)?;
        for source in &found {
            failed |= !copying.copy(source, &way.target(&source.path))?;
        }
    }
    copying.change.end()?;
    Ok(u8::from(failed))
}

/// `--forget`.
fn forget(repo: &mut Repo, ui: &mut Ui, matches: &Matches) -> Result<u8, Abort> {
    let matcher = repo.working_matcher(matches, matches.arguments())?;
    let mut change = DirstateChange::begin(repo, ui)?;
    repo.warn_of_missing_files(ui, &matcher, &change.dirstate)?;
    let entries = change.dirstate.iter().map(|(path, _)| path.to_vec());
    let files: Vec<Vec<u8>> = entries.filter(|path| matcher.matches(path)).collect();
    for file in files {
        if change.dirstate.copy_source(&file).is_some() {
            change.dirstate.copy(&file, None);
        } else if matcher.is_exact(&file) {
            let shown = repo.display_path(&file)?;
            let words = b": not unmarking as copy - file is not marked as copied\n";
            ui.warn([&shown[..], words].concat())?;
        }
    }
    if !matches.flag("dry-run") {
        change.end()?;
    }
    Ok(0)
}

impl Copying<'_> {
    fn warn(&mut self, path: &[u8], words: &str) -> Result<(), Abort> {
        let shown = self.repo.display_path(path)?;
        self.ui.warn([&shown[..], words.as_bytes()].concat())
    }

    /// Warns of a destination.
    fn warn_of_target(&mut self, path: &[u8], words: &str) -> Result<(), Abort> {
        let shown = self.repo.relative_path(path)?;
        self.ui.warn([&shown[..], words.as_bytes()].concat())
    }

    fn relative(&self, path: &[u8]) -> Result<String, Abort> {
        let shown = self.repo.relative_path(path)?;
        Ok(String::from_utf8_lossy(&shown).into_owned())
    }

    fn shown(&self, path: &[u8]) -> Result<String, Abort> {
        let shown = self.repo.display_path(path)?;
        Ok(String::from_utf8_lossy(&shown).into_owned())
    }

    /// The tracked files that one argument means.
    fn sources(&mut self, matches: &Matches, pattern: &[u8]) -> Result<Vec<CopiedFile>, Abort> {
        let matcher = self.repo.working_matcher(matches, &[pattern.to_vec()])?;
        self.repo
            .warn_of_missing_files(self.ui, &matcher, &self.change.dirstate)?;
        for named in matcher.named() {
            let tracked = self.change.dirstate.is_tracked(named);
            let metadata = self.change.path(named).symlink_metadata();
            let is_directory = metadata.is_ok_and(|found| found.is_dir());
            if tracked || is_directory || !matcher.matches(named) {
                continue;
            }
            if self.change.dirstate.get(named).is_some() {
                self.warn(named, ": not copying - file has been marked for remove\n")?;
            } else if self.change.exists(named) {
                self.warn(named, ": not copying - file is not managed\n")?;
            }
        }
        let entries = self.change.dirstate.iter();
        let tracked = entries.filter(|(path, item)| item.is_tracked() && matcher.matches(path));
        let sources = tracked.map(|(path, _)| CopiedFile {
            path: path.to_vec(),
            exact: matcher.is_exact(path),
        });
        Ok(sources.collect())
    }

    /// Copies one file to `target`, which is as the user wrote it; says whether that went well.
    fn copy(&mut self, source: &CopiedFile, target: &[u8]) -> Result<bool, Abort> {
        let root = self.change.repository.root().to_owned();
        let to = relative_to_root(&root, &self.repo.cwd, target)?;
        self.auditor.check(&to)?;
        warn_unportable(self.ui, self.config, &to)?;
        if let Some(earlier) = self.done.get(&to) {
            let (from, earlier) = (self.shown(&source.path)?, self.shown(earlier)?);
            let words = format!(": not overwriting - {from} collides with {earlier}\n");
            self.warn(&to, &words)?;
            return Ok(false);
        }
        if !self.may_replace(&to)? {
            return Ok(false);
        }
        let mut source_is_there = true;
        if self.after {
            if !self.change.exists(&to) {
                let what = if self.rename { "move" } else { "copy" };
                let shown = self.shown(&to)?;
                let words = format!(": not recording {what} - {shown} does not exist\n");
                self.warn(&source.path, &words)?;
                return Ok(false);
            }
        } else if !self.dry_run {
            match self.copy_content(&source.path, &to) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    self.warn(&source.path, ": deleted in working directory\n")?;
                    source_is_there = false;
                }
                Err(error) => {
                    let words = format!(": cannot copy - {}\n", crate::ui::system_words(&error));
                    self.warn(&source.path, &words)?;
                    return Ok(false);
                }
            }
        }
        self.report(source, &to)?;
        self.done.insert(to.clone(), source.path.clone());
        if self.dry_run {
            return Ok(true);
        }
        self.record(&source.path, &to)?;
        if self.rename {
            if !self.after && source_is_there && source.path != to {
                self.files.remove(&source.path)?;
            }
            self.change.dirstate.remove(&source.path);
        }
        Ok(true)
    }

    fn report(&mut self, source: &CopiedFile, to: &[u8]) -> Result<(), Abort> {
        if !self.ui.verbosity.verbose && source.exact {
            return Ok(());
        }
        let word = if self.rename { "moving" } else { "copying" };
        let (from, to) = (
            self.repo.display_path(&source.path)?,
            self.repo.relative_path(to)?,
        );
        let line = [word.as_bytes(), b" ", &from, b" to ", &to, b"\n"].concat();
        self.ui.status(line)
    }

    /// Whether nothing of value stands at the destination.
    fn may_replace(&mut self, to: &[u8]) -> Result<bool, Abort> {
        let committed = self.change.is_committed(to);
        let in_the_way = match self.after {
            true => committed,
            false => self.change.exists(to),
        };
        if !in_the_way || self.force {
            return Ok(true);
        }
        let (command, record) = match self.rename {
            true => ("rename", "rename"),
            false => ("copy", "copy"),
        };
        let words = if committed {
            let after = if self.after {
                "--after --force"
            } else {
                "--force"
            };
            format!(
                ": not overwriting - file already committed\n\
                 ('hg {command} {after}' to replace the file by recording a {record})\n"
            )
        } else {
            format!(
                ": not overwriting - file exists\n\
                 ('hg {command} --after' to record the {record})\n"
            )
        };
        self.warn_of_target(to, &words)?;
        Ok(false)
    }

    fn copy_content(&self, from: &[u8], to: &[u8]) -> std::io::Result<()> {
        let (from, to) = (self.change.path(from), self.change.path(to));
        let metadata = from.symlink_metadata()?;
        if to.symlink_metadata().is_ok() {
            std::fs::remove_file(&to)?;
        }
        if let Some(directory) = to.parent() {
            std::fs::create_dir_all(directory)?;
        }
        if metadata.is_symlink() {
            return std::os::unix::fs::symlink(std::fs::read_link(&from)?, &to);
        }
        // The copy must not look older than it is: its time is that of now.
        std::fs::copy(&from, &to).map(|_| ())
    }

    /// Records a copy; one of a copy comes from where that came from.
    fn record(&mut self, from: &[u8], to: &[u8]) -> Result<(), Abort> {
        let dirstate = &mut self.change.dirstate;
        let origin = dirstate.copy_source(from).unwrap_or(from).to_vec();
        if origin == to {
            // Back to where it came from.
            dirstate.check_clash(to)?;
            dirstate.add(to);
            return Ok(());
        }
        let item = dirstate.get(&origin);
        let only_added = item.is_some_and(|item| item.state() == varve_workdir::EntryState::Added);
        if only_added && origin == from {
            let (origin, shown) = (self.relative(&origin)?, self.relative(to)?);
            if !self.ui.verbosity.quiet {
                self.ui.warn(format!(
                    "{origin} has not been committed yet, so no copy data will be stored for \
                     {shown}.\n"
                ))?;
            }
            if !self.change.dirstate.is_tracked(to) {
                self.change
                    .add(self.repo, self.ui, self.config, &[to.to_vec()])?;
            }
            return Ok(());
        }
        if !self.change.exists(to) {
            return self.warn_of_target(to, " does not exist!\n");
        }
        self.change.dirstate.check_clash(to)?;
        self.change.dirstate.add(to);
        self.change.dirstate.copy(to, Some(&origin));
        Ok(())
    }
}

/// A path in bytes.
fn joined(directory: &[u8], name: &[u8]) -> Vec<u8> {
    if directory.is_empty() || directory.ends_with(b"/") {
        return [directory, name].concat();
    }
    [directory, b"/", name].concat()
}

/// Whether something stands at a name as the user wrote it.
fn is_there(cwd: &std::path::Path, name: &[u8]) -> bool {
    cwd.join(OsStr::from_bytes(name)).symlink_metadata().is_ok()
}
