//! `verify` of the file of a database.

use super::target::EXTENSION;
use std::path::{Path, PathBuf};
use varve_base::storage::EntryKind;
use varve_base::{DiskStorage, Silent, Storage};
use varve_btree::{NodeCache, TreeFile};
use varve_codec::EngineSetting;
use varve_docdb::verify::{Finding, Verified, Watch, verify};
use varve_docdb::{
    ChunkForm, DatabaseOptions, DocdbError, KIND, cut_off_tail, is_cut_short, salvage,
};
use varve_hgcli::ui::{Abort, Ui};

/// Memory for nodes that are looked up.
const CACHE: usize = 64 << 20;

/// The file of a database, and the storage with it.
pub(super) struct Database {
    storage: DiskStorage,
    path: PathBuf,
}

impl Database {
    /// `None` for a file that is no database.
    pub(super) fn open(storage: &DiskStorage, path: &Path) -> Result<Option<Database>, Abort> {
        if storage.kind(path)? != Some(EntryKind::File) {
            return Ok(None);
        }
        let kind = TreeFile::kind_of(storage, path);
        let kind = kind.map_err(|error| Abort::new(error.to_string()))?;
        let is_one = match kind {
            Some((kind, _)) => kind == KIND,
            None => is_unwritten(storage, path)?,
        };
        Ok(is_one.then(|| Database {
            storage: storage.clone(),
            path: path.to_owned(),
        }))
    }

    /// As [`Database::open`], with an error for a file that is no database.
    pub(super) fn require(storage: &DiskStorage, path: &Path) -> Result<Database, Abort> {
        Database::open(storage, path)?.ok_or_else(|| {
            Abort::new(format!("'{}' is no database", path.display())).hint(
                "expected the file of a database (NAME.varve), a repository, or a directory that Varve serves",
            )
        })
    }
}

/// Whether a file with a database's name has no bytes because a power cut took them before anything was written to it.
fn is_unwritten(storage: &DiskStorage, path: &Path) -> Result<bool, Abort> {
    if !path
        .as_os_str()
        .as_encoded_bytes()
        .ends_with(EXTENSION.as_bytes())
    {
        return Ok(false);
    }
    is_cut_short(storage, path, &options()).map_err(|error| Abort::new(error.to_string()))
}

fn options() -> DatabaseOptions {
    DatabaseOptions::new(EngineSetting::ZSTD, NodeCache::new(CACHE))
}

/// Checks a database's file; 1 if anything is wrong with it.
pub(super) fn check(ui: &mut Ui, database: &Database) -> Result<u8, Abort> {
    let report = watched(ui, |watch| {
        verify(&database.storage, &database.path, &options(), watch)
    })?;
    summary(ui, &report)?;
    Ok(u8::from(report.findings > 0))
}

/// Writes the readable part of a database into a new file.
pub(super) fn save(ui: &mut Ui, database: &Database, to: &[u8]) -> Result<(), Abort> {
    let named = String::from_utf8_lossy(to).into_owned();
    let paths = (database.path.as_path(), Path::new(&named));
    let done = watched(ui, |watch| {
        salvage(&database.storage, paths, &options(), watch)
    })?;
    ui.status(format!(
        "wrote {} documents with {} leaves, {} attachments, {} local documents to '{named}'\n",
        done.documents, done.leaves, done.attachments, done.local_documents,
    ))
}

/// Cuts off what stands behind the newest whole commit.
pub(super) fn cut_off(ui: &mut Ui, database: &Database) -> Result<(), Abort> {
    let done = cut_off_tail(&database.storage, &database.path, &options());
    let bytes = done.map_err(|error| Abort::new(error.to_string()))?;
    ui.status(format!(
        "cut off {bytes} bytes behind the newest whole commit\n"
    ))
}

/// Does something long, of which each finding is a line.
fn watched<T>(
    ui: &mut Ui,
    work: impl FnOnce(&mut Watch<'_>) -> Result<T, DocdbError>,
) -> Result<T, Abort> {
    let progress = std::mem::replace(&mut ui.progress, Box::new(Silent));
    let stop = ui.stop.clone();
    let mut told = Ok(());
    let mut report = |finding: &Finding| {
        let line = ui.write(format!("{finding}\n"));
        if told.is_ok() {
            told = line;
        }
    };
    let done = work(&mut Watch {
        report: &mut report,
        progress: progress.as_ref(),
        stop: &stop,
    });
    ui.progress = progress;
    told?;
    done.map_err(|error| match error {
        DocdbError::Interrupted => Abort::Stopped("interrupted!"),
        other => Abort::new(other.to_string()),
    })
}

fn summary(ui: &mut Ui, report: &Verified) -> Result<(), Abort> {
    ui.status(format!(
        "checked {} documents with {} revisions and {} bodies, {} attachments, \
         {} local documents, {} purges\n",
        report.documents,
        report.revisions,
        report.bodies,
        report.attachments,
        report.local_documents,
        report.purges,
    ))?;
    if report.is_unwritten {
        ui.status(
            "the file has no commit, as a power cut may leave a database to which nothing was written; opening makes \
             it again\n",
        )?;
    }
    if report.cut_short > 0 {
        ui.status(format!(
            "the last {} bytes are of a write that was cut short and never acknowledged; opening leaves them out\n",
            report.cut_short
        ))?;
    }
    for form in ChunkForm::ALL {
        let count = report.chunks.of(form);
        if count.chunks > 0 {
            ui.status(format!(
                "{}: {} chunks, {} bytes\n",
                form.name(),
                count.chunks,
                count.bytes
            ))?;
        }
    }
    match report.findings {
        0 => Ok(()),
        findings => ui.status(format!("{findings} findings\n")),
    }
}
