//! `cat`: content of files as it was committed.

use crate::arguments::{EXCLUDE, Flag, INCLUDE, Matches, TEMPLATE};
use crate::context::{Category, Command, Context, matching};
use crate::render::Formatter;
use crate::ui::{Abort, short_hex};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use varve_repo::{RepoView, Rev};
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
        Flag::long_flag(
            "decode",
            "as filters of [decode] would write it; there may be none",
        ),
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
    if matches.flag("decode") && !context.config.section("decode").is_empty() {
        return Err(Abort::new(
            "filters of the section decode are not supported",
        ));
    }
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
    let output = matches
        .value("output")
        .filter(|form| !matches!(*form, b"" | b"-"));
    if let Some(form) = output {
        for entry in &entries {
            let content = view.file_content(entry.path, &entry.node)?;
            write_file(&file_name(form, entry.path, &view, rev)?, &content)?;
        }
        return Ok(u8::from(entries.is_empty()));
    }
    let mut out = Formatter::new(&mut context.ui, &context.config, matches, "cat")?;
    for entry in &entries {
        let content = view.file_content(entry.path, &entry.node)?;
        out.item(&mut context.ui)?;
        out.plain(&mut context.ui, &content)?;
        out.data("data", content);
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

/// The name that a form gives to a file.
fn file_name(
    form: &[u8],
    path: &[u8],
    view: &RepoView,
    rev: Option<Rev>,
) -> Result<OsString, Abort> {
    let node = view.changelog().node_or_null(rev);
    let slash = path.iter().rposition(|byte| *byte == b'/');
    let number = rev.map_or(-1, |rev| i64::from(rev.0));
    let mut out = Vec::new();
    let mut bytes = form.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let letter = bytes.next();
        let letter =
            letter.ok_or_else(|| Abort::new("incomplete format spec in output filename"))?;
        match letter {
            b'%' => out.push(b'%'),
            b'b' => {
                let base = view.root().file_name().unwrap_or_default();
                out.extend_from_slice(base.as_bytes());
            }
            b'd' => out.extend_from_slice(slash.map_or(&b"."[..], |slash| &path[..slash])),
            b's' => out.extend_from_slice(slash.map_or(path, |slash| &path[slash + 1..])),
            b'p' => out.extend_from_slice(path),
            b'h' => out.extend_from_slice(short_hex(&node).as_bytes()),
            b'H' => out.extend_from_slice(&node.to_hex()),
            // For series of files `%r` has leading zeros; here each is alone.
            b'R' | b'r' => out.extend_from_slice(number.to_string().as_bytes()),
            b'm' => out.extend_from_slice(&first_line(view, rev)?),
            other => {
                let other = char::from(other);
                return Err(Abort::new(format!(
                    "invalid format spec '%{other}' in output filename"
                )));
            }
        }
    }
    Ok(OsString::from_vec(out))
}

/// The first line of a description, with `_` for all but letters, digits and `_`.
pub(super) fn first_line(view: &RepoView, rev: Option<Rev>) -> Result<Vec<u8>, Abort> {
    let Some(rev) = rev else {
        return Ok(Vec::new());
    };
    let line = view.with_changeset(rev, |changeset| {
        let text = changeset.description.trim_ascii();
        text.split(|byte| *byte == b'\n').next().map(<[u8]>::to_vec)
    })?;
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let line = line.unwrap_or_default();
    Ok(line
        .iter()
        .map(|byte| if is_word(byte) { *byte } else { b'_' })
        .collect())
}
