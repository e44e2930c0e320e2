//! `manifest`: the files of a changeset.

use crate::arguments::{Flag, Matches, TEMPLATE};
use crate::context::{Category, Command, Config, Context, Repo};
use crate::render::Formatter;
use crate::ui::{Abort, Ui};
use varve_repo::{FileKind, ManifestEntry, Rev};

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
    help: "Without a revision, the files of the first parent of the working directory are listed. \
           With -v, each file has its permissions, and * if it can be executed or @ if it is a \
           link; with --debug its file revision too.\n\nEnds with 0.",
    category: Some(Category::Maintenance),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let argument = matches.arguments().first().map(Vec::as_slice);
    let option = matches.value("rev").filter(|rev| !rev.is_empty());
    if matches.flag("all") {
        if argument.or(option).is_some() {
            return Err(Abort::input("can't specify a revision with --all"));
        }
        return all(repo, ui, config, matches);
    }
    if argument.is_some() && option.is_some() {
        return Err(Abort::input("please specify just one revision"));
    }
    let rev = repo.revision(ui, argument.or(option))?;
    let view = repo.view()?;
    let text = view.manifest_text(rev)?;
    let mut out = Formatter::new(ui, config, matches, "manifest")?.within(repo, config)?;
    for entry in view.manifest_entries(&text) {
        print(ui, &mut out, rev, &entry?)?;
    }
    out.end(ui)?;
    Ok(0)
}

fn all(repo: &mut Repo, ui: &mut Ui, config: &Config, matches: &Matches) -> Result<u8, Abort> {
    let files = repo.view()?.tracked_files()?;
    let mut out = Formatter::new(ui, config, matches, "manifest")?;
    for file in files {
        out.item(ui)?;
        out.field(ui, "path", &file, &file)?;
        out.plain(ui, "\n")?;
    }
    out.end(ui)?;
    Ok(0)
}

fn print(
    ui: &mut Ui,
    out: &mut Formatter,
    rev: Option<Rev>,
    entry: &ManifestEntry<'_>,
) -> Result<(), Abort> {
    let (kind, mode) = match entry.kind {
        FileKind::Plain => ("", "644"),
        FileKind::Executable => ("*", "755"),
        FileKind::Symlink => ("@", "644"),
    };
    out.item(ui)?;
    out.about_file(rev, entry.path);
    out.data("hash", entry.node);
    out.data("mode", mode);
    out.data("type", kind);
    if ui.verbosity.debug {
        let hex = ui.hex(&entry.node);
        out.plain(ui, format!("{hex} "))?;
    }
    if ui.verbosity.verbose {
        out.plain(ui, format!("{mode} {kind:1} "))?;
    }
    out.field(ui, "path", entry.path, entry.path)?;
    out.plain(ui, "\n")
}
