//! `import`: CouchDB's files become databases of a directory that Varve serves.

mod server;

use super::moving;
use super::moving::table::{Row, Table, by_form};
use std::path::{Path, PathBuf};
use varve_base::{DiskStorage, Silent, Storage};
use varve_btree::NodeCache;
use varve_docdb::DatabaseOptions;
use varve_hgcli::arguments::{Flag, Matches};
use varve_hgcli::context::{Category, Command, Context};
use varve_hgcli::ui::{Abort, Ui};
use varve_replicate::couch_file::CouchFile;
use varve_replicate::{Imported, ReplicateError, SourceDatabase, Sources, Watch, find, import};
use varve_server::couch::database::files::file_of;
use varve_server::couch::names::check_database_name;
use varve_server::directory::OfflineDirectory;

/// Memory for nodes that are looked up; an import looks up none.
const CACHE: usize = 1 << 20;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["import"],
    options: &[
        Flag::long_list("db", "NAME", "import this database only (can be repeated)"),
        Flag::long_flag(
            "skip-existing",
            "leave databases alone that are in DIR already",
        ),
        Flag::long_flag(
            "keep",
            "from a server: follow changes of all databases until Ctrl-C",
        ),
        Flag::long_value(
            "jobs",
            "N",
            "from a server: copy so many databases side by side (default: 4)",
        ),
        Flag::long_value(
            "retries",
            "N",
            "from a server: send a request so often again (default: 10)",
        ),
        Flag::long_value(
            "ssl-trusted-certificates-file",
            "FILE",
            "from a server: certificates of authorities to trust besides the usual ones, in PEM",
        ),
        Flag::long_flag("insecure", "from a server: do not verify its certificate"),
    ],
    arguments: 1..=2,
    synopsis: "[OPTION]... PATH|URL [DIR]",
    summary: "import the databases of a CouchDB from its files, or from the running server",
    help: "Makes databases of those of a CouchDB in DIR, a directory that 'varve serve' serves; without DIR it is the current \
           one. DIR must not be served meanwhile.\n\n\
           PATH is CouchDB's data directory (with shards/ or NAME.couch files in it), or one .couch file. No CouchDB is \
           needed, and one may run: of each file the newest state counts that was committed whole. Kept are documents \
           with all leaves, their revision ids and histories, deleted documents, attachments in their encoding, local \
           documents, security objects, limits of revisions, purges and partitions. As after a compaction, bodies of \
           older revisions go. Indexes are built anew when they are asked. Each database comes whole or not at all; \
           after an interruption, --skip-existing goes on with the next one. If a database of the same name is in DIR, \
           nothing is imported. What cannot be read of damaged files is left out, and each such part is a line with \
           the file and the place.\n\n\
           URL is that of a running server, such as https://admin@old.example.com:6984: all of its databases are copied, \
           or those that --db names. The password is asked for where the URL has none. Nothing is written to the \
           server. The same command goes on where an earlier one stopped, and then copies only what is new. At the end \
           counts and all leaf revisions of both sides are compared, and each difference is a line. With --keep \
           changes are followed, also those of new databases, until Ctrl-C; then both sides are compared. [replicator] \
           in DIR/varve.ini has timeouts, batches and hosts that may be reached.\n\n\
           Ends with 0; with 1 if anything is left out, or both sides differ.",
    category: Some(Category::Maintenance),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let [path, directory @ ..] = matches.arguments() else {
        return Err(COMMAND.usage_error("invalid arguments"));
    };
    if server::is_url(path) {
        return server::run(context, matches);
    }
    server::refuse_options(matches)?;
    let path = moving::path_of(path);
    let from = DiskStorage::new(&context.repo.cwd);
    let stop = context.ui.stop.clone();
    let sources = find(&from, &path, &stop).map_err(|error| moving::abort(error, None))?;
    let wanted = moving::names(matches.list("db"));
    let mut is_complete = report_sources(&mut context.ui, &sources)?;
    let chosen = choose(sources.databases, &wanted)?;
    let (chosen, refused) = by_legality(chosen);
    for source in refused {
        is_complete &= pass_over(&mut context.ui, &from, &source, &wanted)?;
    }
    let target = directory
        .first()
        .map_or(Path::new("."), |it| moving::as_path(it));
    let target = OfflineDirectory::open(&context.repo.cwd.join(target));
    let target = target.map_err(|error| Abort::new(error.to_string()))?;
    let (chosen, there) = by_place(chosen, &target)?;
    refuse_existing(
        &mut context.ui,
        &there,
        &target,
        matches.flag("skip-existing"),
    )?;
    let mut table = Table::of(["bodies before", "all chunks after"]);
    for source in chosen {
        let done = one(&mut context.ui, (&from, &source), &target)?;
        is_complete &= done.findings == 0;
        table.rows.push(row_of(&source.name, &done));
    }
    table.write(&mut context.ui)?;
    Ok(u8::from(!is_complete))
}

/// Prints what is passed over and what is missing; whether nothing is missing.
fn report_sources(ui: &mut Ui, sources: &Sources) -> Result<bool, Abort> {
    for (path, reason) in &sources.passed_over {
        ui.status(format!("{}: passed over: {reason}\n", path.display()))?;
    }
    for finding in &sources.findings {
        ui.write(format!("{finding}\n"))?;
    }
    Ok(sources.findings.is_empty())
}

fn choose(all: Vec<SourceDatabase>, wanted: &[String]) -> Result<Vec<SourceDatabase>, Abort> {
    for name in wanted {
        if !all.iter().any(|source| source.name == *name) {
            let error = ReplicateError::NoSuchDatabase(name.clone());
            return Err(Abort::new(error.to_string()));
        }
    }
    let is_wanted = |source: &SourceDatabase| wanted.is_empty() || wanted.contains(&source.name);
    Ok(all.into_iter().filter(is_wanted).collect())
}

/// Parts databases from those whose names Varve does not take.
fn by_legality(all: Vec<SourceDatabase>) -> (Vec<SourceDatabase>, Vec<SourceDatabase>) {
    let is_legal = |source: &SourceDatabase| check_database_name(&source.name).is_ok();
    all.into_iter().partition(is_legal)
}

/// Names a database that is not taken; whether that loses nothing.
fn pass_over(
    ui: &mut Ui,
    from: &DiskStorage,
    source: &SourceDatabase,
    wanted: &[String],
) -> Result<bool, Abort> {
    let mut documents = 0;
    for file in &source.files {
        let file = CouchFile::open(from, file, &ui.stop);
        documents += file.map_or(1, |file| file.documents());
    }
    let name = &source.name;
    ui.write(format!(
        "{name}: not imported: Varve takes no database of this name; documents: {documents}\n"
    ))?;
    Ok(documents == 0 && !wanted.contains(name))
}

/// Parts databases whose places in the directory are free from the names of those whose are not.
fn by_place(
    all: Vec<SourceDatabase>,
    target: &OfflineDirectory,
) -> Result<(Vec<SourceDatabase>, Vec<String>), Abort> {
    let (mut free, mut there) = (Vec::new(), Vec::new());
    for source in all {
        match target.storage.kind(&file_of(&source.name))? {
            None => free.push(source),
            Some(_) => there.push(source.name),
        }
    }
    Ok((free, there))
}

/// Refuses if databases are there already, or says that they are left alone.
fn refuse_existing(
    ui: &mut Ui,
    there: &[String],
    target: &OfflineDirectory,
    skips: bool,
) -> Result<(), Abort> {
    if !skips && !there.is_empty() {
        let path = target.path.display();
        let words = format!(
            "{path} has databases of these names already: {}",
            there.join(", ")
        );
        let advice = "--db chooses databases, --skip-existing leaves those alone that are there";
        return Err(Abort::new(words).hint(advice));
    }
    for name in there {
        let words = format!("{name}: left alone: it is there already\n");
        ui.status(words)?;
    }
    Ok(())
}

fn one(
    ui: &mut Ui,
    (from, source): (&DiskStorage, &SourceDatabase),
    target: &OfflineDirectory,
) -> Result<Imported, Abort> {
    let options = DatabaseOptions::new(target.compression, NodeCache::new(CACHE));
    let progress = std::mem::replace(&mut ui.progress, Box::new(Silent));
    let stop = ui.stop.clone();
    let path: PathBuf = file_of(&source.name);
    let done = moving::with_lines(ui, |report| {
        let watch = Watch {
            progress: progress.as_ref(),
            stop: &stop,
            report,
        };
        import((from, source), (&target.storage, &path), &options, watch)
    });
    ui.progress = progress;
    let (done, _) = done?;
    done.map_err(|error| moving::abort(error, Some(&source.name)))
}

fn row_of(name: &str, done: &Imported) -> Row {
    let before = done.source_bodies.iter();
    Row {
        name: name.to_owned(),
        documents: done.loaded.documents,
        revisions: done.loaded.revisions,
        attachments: done.loaded.attachments,
        bytes_before: done.source_bytes,
        bytes_after: done.loaded.file_bytes,
        before: before.map(|(form, bytes)| (form.name(), *bytes)).collect(),
        after: by_form(&done.loaded.chunks),
    }
}
