//! `manifest`: the files of a changeset.

use crate::arguments::{Category, Command, Flag, Matches, TEMPLATE};
use crate::context::Session;
use crate::render::Formatter;
use crate::ui::Abort;
use varve_repo::{FileKind, ManifestEntry};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["manifest"],
    options: &[
        Flag::value('r', "rev", "REV", "show the files of this changeset"),
        Flag::long_flag("all", "show every file that was ever tracked"),
        TEMPLATE,
    ],
    arguments: 0..=1,
    synopsis: "[-r REV]",
    summary: "list the files of a changeset",
    help: "Without a revision, the files of the first parent of the working folder are listed. \
           With -v, each file has its permissions, and * if it can be executed or @ if it is a \
           link; with --debug its file revision too.\n\nEnds with 0.",
    category: Some(Category::Maintenance),
    run,
};

fn run(session: &mut Session, matches: &Matches) -> Result<u8, Abort> {
    let argument = matches.arguments().first().map(Vec::as_slice);
    let option = matches.value("rev").filter(|rev| !rev.is_empty());
    if matches.flag("all") {
        if argument.or(option).is_some() {
            return Err(Abort::new("can't specify a revision with --all"));
        }
        return all(session, matches);
    }
    if argument.is_some() && option.is_some() {
        return Err(Abort::new("please specify just one revision"));
    }
    let rev = session.revision(argument.or(option))?;
    let view = session.view()?;
    let text = view.manifest_text(rev)?;
    let mut out = Formatter::new(session, matches, "manifest")?;
    for entry in view.manifest_entries(&text) {
        print(session, &mut out, &entry?)?;
    }
    out.end(session)?;
    Ok(0)
}

fn all(session: &mut Session, matches: &Matches) -> Result<u8, Abort> {
    let files = session.view()?.tracked_files()?;
    let mut out = Formatter::new(session, matches, "manifest")?;
    for file in files {
        out.item(session)?;
        out.field(session, "path", &file, &file)?;
        out.plain(session, "\n")?;
    }
    out.end(session)?;
    Ok(0)
}

fn print(
    session: &mut Session,
    out: &mut Formatter,
    entry: &ManifestEntry<'_>,
) -> Result<(), Abort> {
    let (kind, mode) = match entry.kind {
        FileKind::Plain => ("", "644"),
        FileKind::Executable => ("*", "755"),
        FileKind::Symlink => ("@", "644"),
    };
    out.item(session)?;
    out.data("hash", entry.node);
    out.data("mode", mode);
    out.data("type", kind);
    if session.verbosity.debug {
        out.plain(session, format!("{} ", session.hex(&entry.node)))?;
    }
    if session.verbosity.verbose {
        out.plain(session, format!("{mode} {kind:1} "))?;
    }
    out.field(session, "path", entry.path, entry.path)?;
    out.plain(session, "\n")
}
