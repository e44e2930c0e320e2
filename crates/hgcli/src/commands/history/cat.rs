//! `cat`: content of files as it was committed.

use super::output_name::{OutputContent, output_name};
use crate::arguments::{EXCLUDE, Flag, INCLUDE, Matches, TEMPLATE};
use crate::context::{Category, Command, Context, Repo, TypedRevision, matching};
use crate::render::Formatter;
use crate::ui::{Abort, Ui};
use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::rc::Rc;
use varve_repo::{Node, RepoView, Rev};
use varve_revset::WORKING_COPY;
use varve_workdir::filesets::FilesetTarget;
use varve_workdir::{Dirstate, WorkingFiles};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["cat"],
    options: &[
        Flag::value(
            'o',
            "output",
            "FORMAT",
            "write to files whose names have this form",
        ),
        Flag::value('r', "rev", "REV", "the content in this changeset"),
        Flag::long_flag("decode", "as the filters of [decode] write it"),
        INCLUDE,
        EXCLUDE,
        TEMPLATE,
    ],
    arguments: 1..=usize::MAX,
    synopsis: "[OPTION]... FILE...",
    summary: "print files as they are in a changeset",
    help: "Without -r, the first parent of the working directory is meant. Files are printed one \
           behind the other.\n\nIn the FORMAT of -o, %% is a percent sign; %b the base name of \
           the repository; %d the file's directory, %p its path, %s its name; %h and %H the short \
           and the full id of the changeset, %R and %r its number, \
           %m the first line of its description.\n\nEnds with 0 if a file was printed, else \
           with 1.",
    category: Some(Category::Contents),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let rev = match matches.value("rev").filter(|rev| !rev.is_empty()) {
        Some(typed) => repo.revision_or_working(ui, typed)?,
        None => TypedRevision::Stored(repo.revision(ui, None)?),
    };
    let view = repo.view()?;
    let contents = match rev {
        TypedRevision::Stored(rev) => FileContents::committed(repo, ui, matches, (&view, rev))?,
        TypedRevision::Working => FileContents::uncommitted(repo, ui, matches, &view)?,
    };
    let rev = match rev {
        TypedRevision::Stored(rev) => rev,
        TypedRevision::Working => Some(WORKING_COPY),
    };
    let output = matches
        .value("output")
        .filter(|form| !matches!(*form, b"" | b"-"));
    let Some(form) = output else {
        let mut out = Formatter::new(ui, config, matches, "cat")?.within(repo, config)?;
        for at in 0..contents.paths.len() {
            let (path, content) = contents.read(at)?;
            print(ui, &mut out, (rev, &path), &content)?;
        }
        out.end(ui)?;
        return Ok(u8::from(contents.paths.is_empty()));
    };
    for at in 0..contents.paths.len() {
        let (path, content) = contents.read(at)?;
        let written = captured(ui, |ui| {
            let mut out = Formatter::new(ui, config, matches, "cat")?.within(repo, config)?;
            print(ui, &mut out, (rev, &path), &content)?;
            out.end(ui)
        })?;
        let name = output_name(form, (&view, rev), &OutputContent::File(&path))?;
        write_file(&name, &written)?;
    }
    Ok(u8::from(contents.paths.is_empty()))
}

/// Files that are printed one by one.
struct FileContents<'a> {
    view: &'a RepoView,
    files: WorkingFiles,
    /// Paths, with the revision that is committed; without one the file is read as it is now.
    paths: Vec<(Vec<u8>, Option<Node>)>,
}

impl<'a> FileContents<'a> {
    /// Files of a changeset, or of the null revision.
    fn committed(
        repo: &mut Repo,
        ui: &mut Ui,
        matches: &Matches,
        (view, rev): (&'a RepoView, Option<Rev>),
    ) -> Result<FileContents<'a>, Abort> {
        let matcher = repo.matcher_at(matches, FilesetTarget::Rev(rev))?;
        let text = view.manifest_text(rev)?;
        let node = view.changelog().node_or_null(rev);
        let entries = matching::files_of(view, &text, &matcher, |name| {
            repo.warn_not_in_revision(ui, name, &node)
        })?;
        let paths = entries.iter();
        Ok(FileContents {
            view,
            files: match matches.flag("decode") {
                true => WorkingFiles::of_view(view),
                false => WorkingFiles::new(view.root()),
            },
            paths: paths
                .map(|entry| (entry.path.to_vec(), Some(entry.node)))
                .collect(),
        })
    }

    /// Tracked files as they are now.
    fn uncommitted(
        repo: &mut Repo,
        ui: &mut Ui,
        matches: &Matches,
        view: &'a RepoView,
    ) -> Result<FileContents<'a>, Abort> {
        let matcher = repo.matcher_at(matches, FilesetTarget::Working)?;
        let dirstate = Dirstate::read(&repo.repository()?)?;
        repo.warn_of_missing_files(ui, &matcher, &dirstate)?;
        let tracked = dirstate.iter().filter(|(_, item)| item.is_tracked());
        let matching = tracked.filter(|(path, _)| matcher.matches(path));
        Ok(FileContents {
            view,
            files: WorkingFiles::new(view.root()),
            paths: matching.map(|(path, _)| (path.to_vec(), None)).collect(),
        })
    }

    fn read(&self, at: usize) -> Result<(Vec<u8>, Vec<u8>), Abort> {
        let (path, node) = &self.paths[at];
        let content = match node {
            Some(node) => {
                let content = self.view.file_content(path, node)?;
                self.files.decoded(path, &content)?.into_owned()
            }
            None => {
                let on_disk = self.files.path(path);
                let found = on_disk.symlink_metadata();
                found.map_err(|error| Abort::file(&error, &on_disk))?;
                self.files.read(path)?.0
            }
        };
        Ok((path.clone(), content))
    }
}

fn print(
    ui: &mut Ui,
    out: &mut Formatter,
    (rev, path): (Option<Rev>, &[u8]),
    content: &[u8],
) -> Result<(), Abort> {
    out.item(ui)?;
    out.about_file(rev, path);
    out.plain(ui, content)?;
    out.data("data", content.to_vec());
    out.data("path", path);
    Ok(())
}

/// The output of `write`.
fn captured(
    ui: &mut Ui,
    write: impl FnOnce(&mut Ui) -> Result<(), Abort>,
) -> Result<Vec<u8>, Abort> {
    let captured = Captured::default();
    let memory: Box<dyn Write> = Box::new(captured.clone());
    let out = std::mem::replace(&mut ui.out, BufWriter::new(memory));
    let written = write(ui).and_then(|()| Ok(ui.out.flush()?));
    ui.out = out;
    written?;
    Ok(std::mem::take(&mut *captured.0.borrow_mut()))
}

/// Output that stays in memory; clones share it.
#[derive(Clone, Default)]
struct Captured(Rc<RefCell<Vec<u8>>>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_file(name: &OsString, content: &[u8]) -> Result<(), Abort> {
    let path = std::path::Path::new(name);
    if let Some(directory) = path
        .parent()
        .filter(|directory| !directory.as_os_str().is_empty())
    {
        std::fs::create_dir_all(directory).map_err(|error| Abort::file(&error, directory))?;
    }
    std::fs::write(path, content).map_err(|error| Abort::file(&error, path))
}
