//! Storing indexes for other servers: behind builds, when a database is handed over, and at the end of a server.

use super::{FEW_CHANGES, StoredCopy, copy_of, is_much, warn};
use crate::couch::database::registry::OpenDatabase;
use crate::runtime::scheduler::JobKind;
use crate::{CouchContext, Failure};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;
use tokio::time::sleep;
use varve_base::Interrupt;
use varve_docdb::{DESIGN_PREFIX, Snapshot};
use varve_shared::SharedError;
use varve_views::ViewIndex;

/// Name of the task.
const TASK: &str = "view_index_store";
/// Key of the job.
const KEY: &str = "indexed";
/// Time after a build before its index is looked at: many builds behind each other are one look.
const WAIT: Duration = Duration::from_secs(1);

/// How far a copy may be behind its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Occasion {
    /// The index goes on here.
    Build,
    /// Another server builds the next changes.
    HandOver,
}

/// Stores indexes behind their builds for ever.
pub(crate) async fn store_regularly(app: Arc<CouchContext>) {
    let indexed = app.databases.indexed();
    while app.databases.is_shared() {
        indexed.wait().await;
        sleep(WAIT).await;
        let (of, names) = (Arc::clone(&app), indexed.take());
        let work = move |stop: &Interrupt| store_marked(&of, &names, stop);
        // What is not done, because the server stops, is done at its end.
        let _ = app
            .server()
            .scheduler
            .run(JobKind::IndexCopy, KEY, work)
            .await;
    }
}

fn store_marked(app: &CouchContext, names: &BTreeSet<String>, stop: &Interrupt) {
    for name in names {
        let Some(database) = app.databases.if_open(name) else {
            continue;
        };
        database.to_store.clear();
        let was_handed_over = database.is_handed_over.swap(false, Ordering::AcqRel);
        let occasion = match was_handed_over {
            true => Occasion::HandOver,
            false if database.documents.is_following() => continue,
            false => Occasion::Build,
        };
        store_indexes(app, &database, occasion, stop);
    }
}

/// Stores the indexes of all databases that this server has written. To be called when no request is answered any more; takes not
/// much longer than `limit`.
pub(crate) fn store_at_end(app: &CouchContext, limit: Duration) {
    if !app.databases.is_shared() {
        return;
    }
    let (stop, (done, is_done)) = (Interrupt::default(), channel::<()>());
    thread::scope(|scope| {
        let stop = &stop;
        scope.spawn(move || {
            for database in app.databases.written_here() {
                store_indexes(app, &database, Occasion::HandOver, stop);
            }
            drop(done);
        });
        if is_done.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            stop.raise();
        }
    });
}

/// Stores those indexes of a database of which the store has not enough. One that fails leaves the others as they are to be.
fn store_indexes(
    app: &CouchContext,
    database: &Arc<OpenDatabase>,
    occasion: Occasion,
    stop: &Interrupt,
) {
    for (design, index) in database.indexes.all() {
        let Err(failure) = store_index(app, database, (&design, &index, occasion), stop) else {
            continue;
        };
        if stop.is_raised() || database.documents.is_deleted() {
            return;
        }
        let failed = format!("the index {DESIGN_PREFIX}{design} is not copied to the store");
        warn(app, &database.name, &failed, &failure);
    }
}

fn store_index(
    app: &CouchContext,
    database: &Arc<OpenDatabase>,
    (design, index, occasion): (&str, &ViewIndex, Occasion),
    stop: &Interrupt,
) -> Result<(), Failure> {
    let signature = index.group().signature();
    let snapshot = database.documents.snapshot();
    let all = snapshot.count_changes(0)?;
    let unindexed = snapshot.count_changes(index.current(&snapshot)?.update_seq())?;
    if all.saturating_sub(unindexed) < FEW_CHANGES {
        return Ok(());
    }
    let known = database
        .indexes
        .copies
        .0
        .lock()
        .stored
        .get(&signature)
        .copied();
    let known = match known {
        Some(known) => known,
        None => find_stored(app, database, index)?,
    };
    let uncopied = snapshot.count_changes(known.map_or(0, |known| known.seq))?;
    let missing = uncopied.saturating_sub(unindexed);
    let is_due = match occasion {
        Occasion::Build => is_much(missing, all),
        Occasion::HandOver => missing >= FEW_CHANGES,
    };
    let fits = match known {
        Some(known) => database.documents.contains_commit(&known.commit)?,
        None => true,
    };
    if fits && !is_due {
        return Ok(());
    }
    // A server that stood still while another one took over would put its copy in the place of a better one.
    app.databases.follow(database);
    if database.is_over() {
        return Ok(());
    }
    let Some(export) = index.export()? else {
        return Ok(());
    };
    let Some(copy) = copy_of(app, &database.name, &signature.to_string())? else {
        return Ok(());
    };
    // Its commit has come of all states that were indexed here.
    let newest: Snapshot = database.documents.snapshot();
    let stored = StoredCopy {
        seq: export.seq,
        commit: newest.commit_id()?,
    };
    let document = format!("{DESIGN_PREFIX}{design}");
    let fields = [
        ("database", database.name.as_str()),
        ("design_document", &document),
    ];
    let task = app.tasks().start(TASK, &fields);
    let (file, label) = ((export.file.as_ref(), export.len), stored.commit.encode());
    let done = copy.store(file, (stored.seq, &label), (&task, stop))?;
    let counters = &app.server().metrics.index_copies;
    counters.stored_bytes.inc_by(done.stored);
    database.indexes.copies.note(signature, stored);
    Ok(())
}

/// The copy that is in the store, if it is of use for this database.
fn find_stored(
    app: &CouchContext,
    database: &OpenDatabase,
    index: &ViewIndex,
) -> Result<Option<StoredCopy>, Failure> {
    let signature = index.group().signature();
    let Some(copy) = copy_of(app, &database.name, &signature.to_string())? else {
        return Ok(None);
    };
    let versions = match copy.versions() {
        // It is replaced.
        Err(SharedError::Damaged { .. }) => Vec::new(),
        found => found?,
    };
    let mut fitting = None;
    for stored in versions.iter().filter_map(StoredCopy::of) {
        if database.documents.contains_commit(&stored.commit)? {
            fitting = Some(stored);
            break;
        }
    }
    match fitting {
        Some(stored) => database.indexes.copies.note(signature, stored),
        None => database.indexes.copies.distrust(signature),
    }
    Ok(fitting)
}
