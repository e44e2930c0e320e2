//! `files`: tracked files that match.

use crate::arguments::{EXCLUDE, Flag, INCLUDE, Matches, TEMPLATE};
use crate::context::{Category, Command, Context, Repo, matching};
use crate::render::Formatter;
use crate::ui::{Abort, Ui};
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use varve_repo::{FileKind, Rev};
use varve_revset::WORKING_COPY;
use varve_workdir::Dirstate;
use varve_workdir::filesets::FilesetTarget;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["files"],
    options: &[
        Flag::value('r', "rev", "REV", "the files of this changeset"),
        Flag::flag(
            '0',
            "print0",
            "end each name with a zero byte instead of a newline",
        ),
        Flag::flag('S', "subrepos", "include subrepositories"),
        INCLUDE,
        EXCLUDE,
        TEMPLATE,
    ],
    arguments: 0..=usize::MAX,
    synopsis: "[OPTION]... [FILE]...",
    summary: "list tracked files",
    help: "Lists the files of the working directory, or with -r those of a changeset, that match \
           the patterns; all of them if there are none. With -v, sizes and flags are printed \
           too.\n\nEnds with 0 if there is a file, else with 1.",
    category: Some(Category::WorkingDirectory),
    run,
};

/// One file to print.
struct Listed {
    path: Vec<u8>,
    /// Size and flag, if they are printed.
    details: Option<(u64, &'static str)>,
}

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    context.repo.refuse_subrepositories(matches)?;
    let rev = match matches.value("rev").filter(|rev| !rev.is_empty()) {
        Some(rev) => Some(context.repo.revision(&mut context.ui, Some(rev))?),
        None => None,
    };
    let matcher = context.repo.matcher_at(
        matches,
        rev.map_or(FilesetTarget::Working, FilesetTarget::Rev),
    )?;
    let verbose = context.ui.verbosity.verbose;
    let mut out = Formatter::new(&mut context.ui, &context.config, matches, "files")?;
    out = out.within(&mut context.repo, &context.config)?;
    let names = out.names();
    let shows = |name| names.contains(name) || !out.is_template() && !out.is_plain();
    let details = verbose || shows("size") || shows("flags");
    let listed = match rev {
        Some(rev) => of_changeset(&mut context.repo, &mut context.ui, rev, &matcher, details)?,
        None => of_working_directory(&mut context.repo, &matcher, details)?,
    };
    let end = if matches.flag("print0") { "\0" } else { "\n" };
    for file in &listed {
        out.item(&mut context.ui)?;
        out.about_file(rev.unwrap_or(Some(WORKING_COPY)), &file.path);
        if let Some((size, flag)) = file.details
            && (verbose || out.is_template())
        {
            out.data("size", size as i64);
            out.data("flags", flag);
            out.plain(&mut context.ui, format!("{size:10} {flag:1} "))?;
        }
        let shown = context.repo.display_path(&file.path)?;
        out.field(&mut context.ui, "path", &file.path, &shown)?;
        out.plain(&mut context.ui, end)?;
    }
    out.end(&mut context.ui)?;
    Ok(u8::from(listed.is_empty()))
}

fn of_changeset(
    repo: &mut Repo,
    ui: &mut Ui,
    rev: Option<Rev>,
    matcher: &varve_lang::patterns::Matcher,
    details: bool,
) -> Result<Vec<Listed>, Abort> {
    let view = repo.view()?;
    let text = view.manifest_text(rev)?;
    let node = view.changelog().node_or_null(rev);
    let entries = matching::files_of(&view, &text, matcher, |name| {
        repo.warn_not_in_revision(ui, name, &node)
    })?;
    let listed = entries.iter().map(|entry| {
        let flag = match entry.kind {
            FileKind::Plain => "",
            FileKind::Executable => "x",
            FileKind::Symlink => "l",
        };
        let size = || -> Result<_, Abort> {
            let content = view.file_content(entry.path, &entry.node)?;
            Ok((content.len() as u64, flag))
        };
        Ok(Listed {
            path: entry.path.to_vec(),
            details: details.then(size).transpose()?,
        })
    });
    listed.collect()
}

fn of_working_directory(
    repo: &mut Repo,
    matcher: &varve_lang::patterns::Matcher,
    details: bool,
) -> Result<Vec<Listed>, Abort> {
    let dirstate = Dirstate::read(&repo.repository()?)?;
    let root = repo.root()?;
    let tracked = dirstate.iter().filter(|(_, item)| item.is_tracked());
    let matching = tracked.filter(|(path, _)| matcher.matches(path));
    let listed = matching.map(|(path, _)| {
        let on_disk = || -> Result<_, Abort> {
            let file = root.join(OsStr::from_bytes(path));
            let metadata = file.symlink_metadata();
            let metadata = metadata.map_err(|error| Abort::file(&error, file))?;
            Ok((metadata.len(), flag_of(&metadata)))
        };
        Ok(Listed {
            path: path.to_vec(),
            details: details.then(on_disk).transpose()?,
        })
    });
    listed.collect()
}

fn flag_of(metadata: &Metadata) -> &'static str {
    if metadata.is_symlink() {
        "l"
    } else if metadata.permissions().mode() & 0o100 != 0 {
        "x"
    } else {
        ""
    }
}
