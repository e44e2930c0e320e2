//! `cat`: content of files as it was committed.

use super::output_name::{OutputContent, output_name};
use crate::arguments::{EXCLUDE, Flag, INCLUDE, Matches, TEMPLATE};
use crate::context::{Category, Command, Context, matching};
use crate::render::Formatter;
use crate::ui::Abort;
use std::ffi::OsString;
use varve_workdir::WorkingFiles;
use varve_workdir::filesets::FilesetTarget;

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
    let rev = context
        .repo
        .revision(&mut context.ui, matches.value("rev"))?;
    let view = context.repo.view()?;
    let matcher = context.repo.matcher_at(matches, FilesetTarget::Rev(rev))?;
    let text = view.manifest_text(rev)?;
    let node = view.changelog().node_or_null(rev);
    let entries = matching::files_of(&view, &text, &matcher, |name| {
        context
            .repo
            .warn_not_in_revision(&mut context.ui, name, &node)
    })?;
    let files = match matches.flag("decode") {
        true => WorkingFiles::of_view(&view),
        false => WorkingFiles::new(view.root()),
    };
    let output = matches
        .value("output")
        .filter(|form| !matches!(*form, b"" | b"-"));
    if let Some(form) = output {
        for entry in &entries {
            let content = view.file_content(entry.path, &entry.node)?;
            let content = files.decoded(entry.path, &content)?;
            let name = output_name(form, (&view, rev), &OutputContent::File(entry.path))?;
            write_file(&name, &content)?;
        }
        return Ok(u8::from(entries.is_empty()));
    }
    let mut out = Formatter::new(&mut context.ui, &context.config, matches, "cat")?;
    out = out.within(&mut context.repo, &context.config)?;
    for entry in &entries {
        let content = view.file_content(entry.path, &entry.node)?;
        let content = files.decoded(entry.path, &content)?;
        out.item(&mut context.ui)?;
        out.about_file(rev, entry.path);
        out.plain(&mut context.ui, &content)?;
        out.data("data", content.into_owned());
        out.data("path", entry.path);
    }
    out.end(&mut context.ui)?;
    Ok(u8::from(entries.is_empty()))
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
