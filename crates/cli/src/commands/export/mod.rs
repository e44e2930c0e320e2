//! `export`: databases of a directory as lines of JSON.

use super::moving;
use super::moving::table::{Row, Table, by_form};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use varve_base::storage::OpenMode;
use varve_base::{DiskStorage, Silent, Storage};
use varve_btree::NodeCache;
use varve_codec::EngineSetting;
use varve_docdb::{Database, DatabaseOptions, Snapshot};
use varve_hgcli::arguments::{Flag, Matches};
use varve_hgcli::context::{Category, Command, Context};
use varve_hgcli::ui::{Abort, Ui};
use varve_replicate::{Exported, ReplicateError, Watch, export, export_document};
use varve_server::couch::database::files::{file_of, name_of};
use varve_server::directory::DATABASES;

/// Memory for nodes that are looked up.
const CACHE: usize = 32 << 20;
/// Bytes that are written at once.
const BUFFER: usize = 256 << 10;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["export"],
    options: &[
        Flag::long_list("db", "NAME", "export this database only (can be repeated)"),
        Flag::long_value(
            "doc",
            "ID",
            "export this document of one database only, with all of its conflicts",
        ),
    ],
    arguments: 1..=2,
    synopsis: "[OPTION]... FILE [DIR]",
    summary: "export databases as lines of JSON",
    help: "Writes the databases of DIR, a directory that 'varve serve' serves, into FILE; without DIR it is the current \
           one, and - is the standard output. The directory may be served meanwhile: of each database, one commit is \
           exported, the newest when its turn comes.\n\n\
           Each line is a JSON value with a type: the database with its security object and limits, its purges, its \
           local documents, and its documents in the order of their last changes, each with all leaves and their \
           histories as CouchDB shows them with revs=true. Before a document stand its attachments, as they are stored, \
           in pieces. The same commit gives the same bytes, and 'varve load' makes the same database of them. As after \
           a compaction, bodies of older revisions are not there.\n\n\
           FILE comes whole or not at all, and must not be there before.\n\n\
           Ends with 0.",
    category: Some(Category::Maintenance),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let [file, directory @ ..] = matches.arguments() else {
        return Err(COMMAND.usage_error("invalid arguments"));
    };
    let directory = directory
        .first()
        .map_or(Path::new("."), |it| moving::as_path(it));
    let directory = context.repo.cwd.join(directory);
    let storage = DiskStorage::new(&directory);
    let names = chosen(&storage, &directory, moving::names(matches.list("db")))?;
    let document = matches
        .value("doc")
        .map(|id| String::from_utf8_lossy(id).into_owned());
    let databases = (&storage, names.as_slice());
    if file == b"-" {
        let mut out = BufWriter::with_capacity(BUFFER, context.ui.streams.out());
        let table = all(&mut context.ui, databases, document.as_deref(), &mut out)?;
        let flushed = out.flush();
        drop(out);
        flushed.map_err(|error| moving::abort(ReplicateError::Output(error), None))?;
        // The standard output has the lines.
        if !context.ui.verbosity.quiet {
            table.map_or(Ok(()), |table| table.warn(&mut context.ui))?;
        }
        return Ok(0);
    }
    let path = context.repo.cwd.join(moving::as_path(file));
    let new = Unfinished::create(&path)?;
    let mut out = BufWriter::with_capacity(BUFFER, new.file()?);
    let table = all(&mut context.ui, databases, document.as_deref(), &mut out)?;
    let done = out.into_inner().map_err(|error| error.into_error());
    new.finish(done)?;
    table.map_or(Ok(()), |table| table.write(&mut context.ui))?;
    Ok(0)
}

/// The names of the databases to export, sorted.
pub(super) fn chosen(
    storage: &DiskStorage,
    directory: &Path,
    wanted: Vec<String>,
) -> Result<Vec<String>, Abort> {
    let entries = storage.list(Path::new(DATABASES)).map_err(|error| {
        Abort::new(error.to_string()).hint(format!(
            "expected a directory that 'varve serve' serves, and not {}",
            directory.display()
        ))
    })?;
    let names = entries
        .iter()
        .filter_map(|entry| name_of(entry.name.to_str()?));
    let mut names: Vec<String> = names.collect();
    for name in &wanted {
        if !names.contains(name) {
            return Err(moving::abort(
                ReplicateError::NoSuchDatabase(name.clone()),
                None,
            ));
        }
    }
    names.retain(|name| wanted.is_empty() || wanted.contains(name));
    names.sort();
    Ok(names)
}

/// Exports databases, or one document of one; the table is of databases.
fn all(
    ui: &mut Ui,
    (storage, names): (&DiskStorage, &[String]),
    document: Option<&str>,
    out: &mut dyn Write,
) -> Result<Option<Table>, Abort> {
    if let Some(id) = document {
        let [name] = names else {
            return Err(Abort::new("--doc needs one --db"));
        };
        let snapshot = open(storage, name)?;
        let found = export_document(&snapshot, id, out);
        return match found.map_err(|error| moving::abort(error, Some(name)))? {
            true => Ok(None),
            false => Err(Abort::new(format!("{name} has no document {id:?}"))),
        };
    }
    let progress = std::mem::replace(&mut ui.progress, Box::new(Silent));
    let stop = ui.stop.clone();
    let mut table = Table::of(["all chunks before", "after"]);
    let mut work = || -> Result<(), Abort> {
        for name in names {
            let snapshot = open(storage, name)?;
            let watch = Watch {
                progress: progress.as_ref(),
                stop: &stop,
                // Damage ends an export.
                report: &|_| {},
            };
            let done = export(&snapshot, name, out, watch);
            let done = done.map_err(|error| moving::abort(error, Some(name)))?;
            let file_bytes = storage.open(&file_of(name), OpenMode::Read)?.len()?;
            table
                .rows
                .push(row_of(name, &done, (&snapshot, file_bytes)));
        }
        Ok(())
    };
    let done = work();
    ui.progress = progress;
    done.map(|()| Some(table))
}

fn row_of(name: &str, done: &Exported, (snapshot, file_bytes): (&Snapshot, u64)) -> Row {
    Row {
        name: name.to_owned(),
        documents: done.documents,
        revisions: done.revisions,
        attachments: done.attachments,
        bytes_before: file_bytes,
        bytes_after: done.bytes,
        before: snapshot
            .chunk_stats()
            .as_ref()
            .map(by_form)
            .unwrap_or_default(),
        after: vec![("lines of JSON", done.bytes)],
    }
}

/// The newest commit of a database, which may be served.
pub(super) fn open(storage: &DiskStorage, name: &str) -> Result<Snapshot, Abort> {
    let options = DatabaseOptions::new(EngineSetting::ZSTD, NodeCache::new(CACHE));
    let opened = Database::read_only(storage, &file_of(name), &options);
    opened.map_err(|error| Abort::new(error.to_string()))
}

/// A file that gets its name when it is complete.
struct Unfinished {
    path: PathBuf,
    beside: PathBuf,
}

impl Unfinished {
    fn create(path: &Path) -> Result<Unfinished, Abort> {
        if path.exists() {
            return Err(Abort::new(format!("{} is there already", path.display())));
        }
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".unfinished");
        Ok(Unfinished {
            beside: path.with_file_name(name),
            path: path.to_owned(),
        })
    }

    fn file(&self) -> Result<File, Abort> {
        File::create(&self.beside).map_err(|error| {
            Abort::new(format!("cannot create {}: {error}", self.beside.display()))
        })
    }

    fn finish(self, written: io::Result<File>) -> Result<(), Abort> {
        let done = written.and_then(|file| file.sync_all());
        let done = done.and_then(|()| std::fs::rename(&self.beside, &self.path));
        done.map_err(|error| Abort::new(format!("cannot write {}: {error}", self.path.display())))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // It is not there any more if it was finished.
        let _ = std::fs::remove_file(&self.beside);
    }
}
