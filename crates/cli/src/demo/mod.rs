//! Something to look at: a repository and a database that a first start makes.

mod notes;
mod random;
mod repository;
mod stations;

use crate::context::Context;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::{DiskStorage, Interrupted, Storage, StorageError, Unit};
use varve_docdb::{Database, DatabaseOptions, DocdbError, Edit, EditError, Mode};
use varve_repo::RepoError;
use varve_server::couch::database::files::file_of;
use varve_server::directory::{DATABASES, DEFAULT_COMPRESSION, REPOSITORIES};

use stations::NAME as DATABASE;

/// Documents of one commit.
const BATCH: usize = 500;
/// Memory for decoded tree nodes while the demo is made.
const CACHE: usize = 16 << 20;

/// The demo could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DemoError {
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error("cannot make the repository {name}: {0}", name = notes::NAME)]
    Repository(#[from] RepoError),
    #[error("cannot make the database {DATABASE}: {0}")]
    Database(#[from] DocdbError),
    #[error("cannot make a document of the database {DATABASE}: {0}")]
    Document(#[from] EditError),
    #[error("cannot move {from} to {to}: {source}", from = from.display(), to = to.display())]
    Move {
        from: PathBuf,
        to: PathBuf,
        source: std::io::Error,
    },
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

/// Makes a directory with the demo in it. It is built beside and moved into place when it is
/// complete, so that an interrupted start leaves no half of it.
pub(crate) fn make(directory: &Path, context: &mut Context<'_>) -> Result<(), DemoError> {
    let mut name = directory.file_name().unwrap_or_default().to_owned();
    name.push(".making");
    let making = directory.with_file_name(name);
    if making.exists() {
        let removed = std::fs::remove_dir_all(&making);
        removed.map_err(|source| moved(&making, directory, source))?;
    }
    let storage: Arc<dyn Storage> = Arc::new(DiskStorage::new(&making));
    repository::make(&storage, context)?;
    make_database(&storage, context)?;
    std::fs::rename(&making, directory).map_err(|source| moved(&making, directory, source))
}

/// Whether a served directory has the demo's repository and database.
pub(crate) fn is_there(storage: &dyn Storage) -> bool {
    let repository = Path::new(REPOSITORIES).join(notes::NAME);
    let there = |path: &Path| matches!(storage.kind(path), Ok(Some(_)));
    there(&file_of(DATABASE)) && there(&repository)
}

/// Three commands to try, for a user who has the demo before them. `login` is a name, with a
/// password behind a colon if it is known.
pub(crate) fn commands(base: &str, login: &str) -> [String; 3] {
    let view = "_design/lakes/_view/temperature?group_level=1";
    [
        format!("hg clone {base}/hg/{}", notes::NAME),
        format!("curl -u {login} '{base}/{DATABASE}/{view}'"),
        format!("curl -u {login} '{base}/{DATABASE}/_changes?limit=3&include_docs=true'"),
    ]
}

fn moved(from: &Path, to: &Path, source: std::io::Error) -> DemoError {
    DemoError::Move {
        from: from.to_owned(),
        to: to.to_owned(),
        source,
    }
}

fn make_database(storage: &Arc<dyn Storage>, context: &mut Context<'_>) -> Result<(), DemoError> {
    storage.create_directory(Path::new(DATABASES))?;
    let options = DatabaseOptions::new(DEFAULT_COMPRESSION, varve_btree::NodeCache::new(CACHE));
    let file = file_of(DATABASE);
    let database = Database::create(Arc::clone(storage), &file, &options)?;
    let mut documents = stations::documents();
    documents.push(stations::DESIGN.to_owned());
    let total = documents.len() as u64;
    context
        .progress
        .begin("writing the demo's documents", Unit::Items, Some(total));
    for batch in documents.chunks(BATCH) {
        context.stop.check()?;
        let edits = batch.iter().map(|text| Edit::parse(None, text.as_bytes()));
        let outcomes = database.update(edits.collect::<Result<_, _>>()?, Mode::Interactive)?;
        for outcome in outcomes {
            outcome?;
        }
        context.progress.advance(batch.len() as u64);
    }
    context.progress.end();
    Ok(())
}
