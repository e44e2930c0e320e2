//! `archive`: the files of a changeset, in a directory or one file.

mod files;
mod prefix;

use super::output_name::{OutputContent, output_name};
use crate::arguments::{EXCLUDE, Flag, INCLUDE, Matches};
use crate::context::{Category, Command, Config, Context, Repo, matching};
use crate::render::changesets::{ChangesetFormat, Printer, PrinterStyle};
use crate::ui::{Abort, Ui};
use files::DirectoryWriter;
use std::io::{BufWriter, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use varve_archive::{ArchiveEntry, ArchiveKind, ArchiveWriter};
use varve_base::Unit;
use varve_lang::patterns::{Matcher, NameCheck};
use varve_repo::{FileKind, RepoView, Rev};
use varve_workdir::filesets::FilesetTarget;
use varve_workdir::{WorkdirError, WorkingFiles};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["archive"],
    options: &[
        Flag::long_flag("no-decode", "files as the repository has them"),
        Flag::value(
            'p',
            "prefix",
            "PREFIX",
            "the directory of the files in the archive",
        ),
        Flag::value('r', "rev", "REV", "the files of this changeset"),
        Flag::value('t', "type", "TYPE", "the kind of archive"),
        Flag::flag('S', "subrepos", "include subrepositories"),
        INCLUDE,
        EXCLUDE,
    ],
    arguments: 1..=1,
    synopsis: "[OPTION]... DEST",
    summary: "create an unversioned archive of a repository revision",
    help: "Writes the files of the working directory's parent, or of REV, into an archive. Its kind follows from the \
           ending of DEST, or is TYPE: files (a directory, as without any), tar, tbz2, tgz, uzip (a zip archive without \
           compression) or zip. txz is refused.\n\n\
           DEST is a file, a directory, or - for the standard output. In its name and in PREFIX %h and %H are \
           the short and the full id of the changeset, %b is the base name of the repository, %R its number. Without \
           PREFIX files lie in a directory with the name of the archive.\n\n\
           The file .hg_archival.txt names the changeset, unless ui.archivemeta is off.\n\n\
           Ends with 0.",
    category: Some(Category::Contents),
    run,
};

/// The name of the file that describes the changeset.
const METADATA: &[u8] = b".hg_archival.txt";

/// Where and how the files are written.
struct ArchiveTarget {
    /// As typed; `-` is the standard output.
    name: Vec<u8>,
    /// `None` for a directory.
    kind: Option<ArchiveKind>,
    /// Before each path.
    prefix: Vec<u8>,
}

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    context.repo.refuse_subrepositories(matches)?;
    let rev = context
        .repo
        .revision(&mut context.ui, matches.value("rev"))?;
    let Some(rev) = rev else {
        return Err(Abort::input(
            "no working directory: please specify a revision",
        ));
    };
    let view = context.repo.view()?;
    let target = target(&context.repo, matches, &view, rev)?;
    let at = FilesetTarget::Rev(Some(rev));
    let matcher = context.repo.matcher_with(matches, &[], &NameCheck, at)?;
    let text = view.manifest_text(Some(rev))?;
    let entries = matching::files_of(&view, &text, &matcher, |_| Ok(()))?;
    if entries.is_empty() {
        return Err(Abort::new("no files match the archive pattern"));
    }
    let Context {
        repo, ui, config, ..
    } = context;
    let metadata = match has_metadata(config, &matcher)? {
        true => Some(metadata((repo, ui, config), &view, rev)?),
        false => None,
    };
    let time = view.with_changeset(rev, |changeset| changeset.time)?;
    let files = match matches.flag("no-decode") {
        true => WorkingFiles::new(view.root()),
        false => WorkingFiles::of_view(&view),
    };
    let progress = std::mem::replace(&mut ui.progress, Box::new(varve_base::Silent));
    let stop = ui.stop.clone();
    let mut writer = FileWriter::begin(repo, ui, &target, time)?;
    if let Some(metadata) = metadata {
        let metadata = files.decoded(METADATA, &metadata)?;
        writer.add(METADATA, FileKind::Plain, &metadata)?;
    }
    progress.begin("archiving", Unit::Items, Some(entries.len() as u64));
    progress.advance(0);
    for entry in &entries {
        stop.check().map_err(WorkdirError::from)?;
        let content = view.file_content(entry.path, &entry.node)?;
        let content = files.decoded(entry.path, &content)?;
        writer.add(entry.path, entry.kind, &content)?;
        progress.item(entry.path);
        progress.advance(1);
    }
    progress.end();
    writer.finish()?;
    ui.progress = progress;
    Ok(0)
}

/// Reads the destination, the kind and the prefix.
fn target(
    repo: &Repo,
    matches: &Matches,
    view: &RepoView,
    rev: Rev,
) -> Result<ArchiveTarget, Abort> {
    let named = |form: &[u8]| {
        let name = output_name(form, (view, Some(rev)), &OutputContent::Archive);
        name.map(std::ffi::OsString::into_vec)
    };
    let typed = matches.arguments().first();
    let name = named(typed.map(Vec::as_slice).unwrap_or_default())?;
    let path = repo.cwd.join(Path::new(std::ffi::OsStr::from_bytes(&name)));
    if path
        .canonicalize()
        .is_ok_and(|path| path == repo.root().unwrap_or(&path))
    {
        return Err(Abort::input("repository root cannot be destination"));
    }
    let given = |option| matches.value(option).filter(|value| !value.is_empty());
    let kind = match given("type") {
        Some(b"files") => None,
        Some(b"txz") => return Err(unsupported()),
        Some(kind) => match ArchiveKind::named(kind) {
            Some(kind) => Some(kind),
            None => {
                let kind = String::from_utf8_lossy(kind);
                return Err(Abort::new(format!("unknown archive type '{kind}'")));
            }
        },
        None if name.ends_with(b".txz") || name.ends_with(b".tar.xz") => {
            return Err(unsupported());
        }
        None => ArchiveKind::of_file(&name),
    };
    let mut prefix = given("prefix").map(<[u8]>::to_vec);
    if name == b"-" {
        if kind.is_none() {
            return Err(Abort::input("cannot archive plain files to stdout"));
        }
        let base = view.root().file_name().unwrap_or_default();
        prefix = prefix.or_else(|| Some([base.as_bytes(), b"-%h"].concat()));
    }
    let prefix = prefix.map(|form| named(&form)).transpose()?;
    let prefix = match (kind, prefix) {
        (None, Some(_)) => {
            return Err(Abort::new("cannot give prefix when archiving to files"));
        }
        (None, None) => Vec::new(),
        (Some(kind), prefix) => prefix::tidied(prefix, kind, &name)?,
    };
    Ok(ArchiveTarget { name, kind, prefix })
}

fn unsupported() -> Abort {
    Abort::new("archives of the type txz are not supported")
}

fn has_metadata(config: &Config, matcher: &Matcher) -> Result<bool, Abort> {
    let wanted = config.boolean("ui", "archivemeta", true);
    Ok(wanted.map_err(Abort::Setting)? && matcher.matches(METADATA))
}

/// The lines that describe a changeset.
fn metadata(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    view: &RepoView,
    rev: Rev,
) -> Result<Vec<u8>, Abort> {
    let local = view.local_tag_names()?;
    let node = view.changelog().node(rev);
    let tags = view.tags()?.into_iter();
    let tags = tags.filter(|(name, at)| *at == node && !local.contains(name));
    let mut tags: Vec<Vec<u8>> = tags.map(|(name, _)| name).collect();
    tags.sort_unstable();
    let template = match tags.is_empty() {
        false => "node: {node}\nbranch: {branch}\n",
        true => {
            "node: {node}\nbranch: {branch}\n{latesttag % 'latesttag: {latesttag}\\n'}latesttagdistance: \
             {latesttagdistance}\nchangessincelatesttag: {changessincelatesttag}\n"
        }
    };
    let style = PrinterStyle {
        form: ChangesetFormat::of_template(template.as_bytes())?,
        ..PrinterStyle::default()
    };
    let printer = Printer::new(repo, ui, config, style)?;
    let first = view.changelog().node(Rev(0));
    let mut out = format!("repo: {first}\n").into_bytes();
    out.append(&mut printer.text_of(rev)?);
    for tag in tags {
        out.extend_from_slice(&[b"tag: ", &tag[..], b"\n"].concat());
    }
    Ok(out)
}

/// A writer of one of both forms.
enum FileWriter<'a> {
    Archive(ArchiveWriter<Box<dyn Write + 'a>>, &'a [u8]),
    Directory(DirectoryWriter),
}

impl<'a> FileWriter<'a> {
    fn begin(
        repo: &Repo,
        ui: &'a mut Ui,
        target: &'a ArchiveTarget,
        time: i64,
    ) -> Result<FileWriter<'a>, Abort> {
        let typed = Path::new(std::ffi::OsStr::from_bytes(&target.name));
        let path = repo.cwd.join(typed);
        let Some(kind) = target.kind else {
            return Ok(FileWriter::Directory(DirectoryWriter::new(path, time)));
        };
        let out: Box<dyn Write> = match &target.name[..] {
            b"-" => Box::new(&mut ui.out),
            _ => {
                let file = std::fs::File::create(&path);
                Box::new(BufWriter::new(
                    file.map_err(|error| Abort::file(&error, typed))?,
                ))
            }
        };
        let base = match &target.name[..] {
            b"-" => &b""[..],
            _ => typed.file_name().unwrap_or_default().as_bytes(),
        };
        let writer = ArchiveWriter::begin(kind, out, time, base)?;
        Ok(FileWriter::Archive(writer, &target.prefix))
    }

    fn add(&mut self, path: &[u8], kind: FileKind, content: &[u8]) -> Result<(), Abort> {
        match self {
            FileWriter::Directory(directory) => directory.add(path, kind, content),
            FileWriter::Archive(archive, prefix) => Ok(archive.add(&ArchiveEntry {
                name: &[prefix, path].concat(),
                mode: files::mode(kind),
                is_link: kind == FileKind::Symlink,
                content,
            })?),
        }
    }

    fn finish(self) -> Result<(), Abort> {
        match self {
            FileWriter::Directory(_) => Ok(()),
            FileWriter::Archive(archive, _) => Ok(archive.finish()?),
        }
    }
}
