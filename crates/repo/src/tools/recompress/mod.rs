//! Writing all history anew, with other compression or other deltas.
//!
//! The new store is made beside the old one, as `.hg/store.new`: every revlog is written again and
//! read back, and the texts must be the same; every other file gets a hard link. Then both directories are
//! exchanged in one step: a reader sees the old store or the new one, whole. Revisions keep their numbers and names.

mod rewrite;
mod walk;

use crate::format::context::RepoContext;
use crate::format::journal::remove_if_exists;
use crate::format::lock::{Lock, LockOwner};
use crate::format::storage_settings::requirement_of;
use crate::format::store_path::encode_directories;
use crate::format::{RepoError, fncache};
use crate::read::Repository;
use crate::write::new_store::NEW_STORE;
use parking_lot::Mutex;
use rewrite::{Rewriter, Unchecked};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use varve_base::storage::{read_if_there, replace};
use varve_base::{Interrupt, OpenMode, Progress, Unit};
use varve_codec::CodecId;
use varve_revlog::WriteOptions;
use walk::{StoreFileKind, StoreTree};

/// How the history is written.
#[derive(Clone, Copy, Debug)]
pub struct RecompressOptions {
    /// Engine, level, and limits of deltas.
    pub write: WriteOptions,
    /// Whether deltas are sought anew; otherwise they stay and only their chunks change.
    pub redelta: bool,
}

/// Counts and sizes of a recompression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecompressReport {
    /// Number of revlogs.
    pub revlogs: usize,
    /// Number of revisions in all of them.
    pub revisions: usize,
    /// Bytes of all revlogs before.
    pub before: u64,
    /// Bytes of all revlogs after.
    pub after: u64,
}

impl Repository {
    /// Index and data file of each revlog of the store, the longest first. The data file is named also where an inline
    /// index has none: names that are too long are hashed with their ending, so that neither follows from the other.
    ///
    /// # Errors
    /// An unreadable directory; [`RepoError::CannotRecompress`] for an index that no name leads to.
    pub fn revlog_files(&self) -> Result<Vec<(PathBuf, PathBuf)>, RepoError> {
        let context = self.context();
        let store = context.store();
        let tree = StoreTree::walk(context)?;
        let files = tree.revlogs.into_iter();
        Ok(files
            .map(|log| (store.join(log.index), store.join(log.data)))
            .collect())
    }

    /// Rewrites the store under both locks, with a thread for every core.
    ///
    /// # Errors
    /// Damage; a failed write; [`RepoError::Interrupted`]. The repository is then as it was.
    pub fn recompress(
        &self,
        _working_copy: &Lock,
        _store: &Lock,
        how: &RecompressOptions,
        progress: &dyn Progress,
        stop: &Interrupt,
    ) -> Result<RecompressReport, RepoError> {
        if self.has_journal()? {
            return Err(RepoError::AbandonedTransaction);
        }
        let context = self.context();
        let new = context.hg().join(NEW_STORE);
        // An interrupted run may have left it.
        context.storage.remove_tree(&new)?;
        let made = make_beside(context, &new, how, progress, stop);
        let made = made.and_then(|report| {
            stop.check()?;
            swap(context, &new, how)?;
            Ok(report)
        });
        // After success this is the old store.
        let removed = context.storage.remove_tree(&new);
        let report = made?;
        removed?;
        Ok(report)
    }
}

/// Fills the directory `new`.
fn make_beside(
    context: &RepoContext,
    new: &Path,
    how: &RecompressOptions,
    progress: &dyn Progress,
    stop: &Interrupt,
) -> Result<RecompressReport, RepoError> {
    let tree = StoreTree::walk(context)?;
    for directory in &tree.directories {
        context.storage.create_directory(&new.join(directory))?;
    }
    for (path, kind) in &tree.files {
        if *kind == StoreFileKind::Other {
            context
                .storage
                .link(&context.store().join(path), &new.join(path))?;
        }
    }
    let total = tree.revlogs.iter().map(|log| log.len).sum();
    progress.begin("recompressing", Unit::Bytes, Some(total));
    let rewriter = Rewriter {
        context,
        new,
        how,
        progress,
        stop,
    };
    let split = rewrite_all(&rewriter, &tree)?;
    progress.end();
    write_list(context, new, &tree, &split.with_data)?;
    if context.requirements.has("share-safe") {
        let path = context.store().join("requires");
        let text = read_if_there(context.storage.as_ref(), &path)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let mut names: BTreeSet<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        change_engine(&mut names, how);
        write_new(context, &new.join("requires"), &lines(&names))?;
    }
    // A process that waits for the lock must find it in the new store too.
    let owner = LockOwner::this_process();
    context
        .storage
        .create_symlink(owner.as_str(), &new.join("lock"))?;
    context.storage.sync_tree(new)?;
    Ok(split.report)
}

/// The results of all threads.
#[derive(Debug, Default)]
struct Done {
    report: RecompressReport,
    /// Index files of revlogs that now have a data file.
    with_data: BTreeSet<PathBuf>,
    /// Revlogs that are so long that all threads together read them back.
    long: Vec<Unchecked>,
}

fn rewrite_all(rewriter: &Rewriter<'_>, tree: &StoreTree) -> Result<Done, RepoError> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Done::default());
    let work = || -> Result<(), RepoError> {
        let mut tools = rewriter.tools()?;
        while let Some(log) = tree.revlogs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let written = rewriter.rewrite(log, &mut tools).inspect_err(|_| {
                // The other threads need not go on.
                next.store(usize::MAX / 2, Ordering::Relaxed);
            })?;
            let mut done = done.lock();
            done.report.revlogs += 1;
            done.report.revisions += written.revisions;
            done.report.before += log.len;
            done.report.after += written.bytes;
            done.long.extend(written.unchecked);
            if written.has_data {
                done.with_data.insert(log.index.clone());
            }
        }
        Ok(())
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut outcome = work();
        for helper in helpers {
            // A panic of a helper goes on in this thread.
            let helped = helper.join();
            let helped = helped.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            outcome = outcome.and(helped);
        }
        outcome
    })?;
    let done = done.into_inner();
    for unchecked in &done.long {
        rewriter.check_long(unchecked, threads)?;
    }
    Ok(done)
}

/// Writes the list of the store's files: data files have come and gone.
fn write_list(
    context: &RepoContext,
    new: &Path,
    tree: &StoreTree,
    with_data: &BTreeSet<PathBuf>,
) -> Result<(), RepoError> {
    if !context.requirements.has("fncache") {
        return Ok(());
    }
    let rewritten: HashMap<&Path, bool> = tree
        .revlogs
        .iter()
        .map(|log| (log.index.as_path(), with_data.contains(&log.index)))
        .collect();
    let mut text = Vec::new();
    let mut push = |name: &[u8]| {
        text.extend_from_slice(&encode_directories(name));
        text.push(b'\n');
    };
    for name in fncache::read(context.storage.as_ref(), &context.store())? {
        let stem = name.strip_suffix(b".d").or(name.strip_suffix(b".i"));
        let Some(stem) = stem else {
            push(&name);
            continue;
        };
        let index = [stem, b".i"].concat();
        match rewritten.get(context.layout.path(&index).as_path()) {
            None => push(&name),
            Some(true) if name == index => {
                push(&name);
                push(&[stem, b".d"].concat());
            }
            Some(false) if name == index => push(&name),
            Some(_) => {}
        }
    }
    write_new(context, &new.join(fncache::FILE), &text)
}

/// Exchanges the stores. Where the requirements stand outside of them, both engines are required
/// while it cannot be said which store will be there.
fn swap(context: &RepoContext, new: &Path, how: &RecompressOptions) -> Result<(), RepoError> {
    let storage = context.storage.as_ref();
    let outside = !context.requirements.has("share-safe");
    let requires = context.hg().join("requires");
    let mut names: BTreeSet<&str> = context.requirements.iter().collect();
    if outside {
        let both = requirement_of(how.write.engine.codec());
        names.extend(both);
        replace(storage, &requires, &lines(&names))?;
    }
    storage.exchange(new, &context.store())?;
    storage.sync_directory(&context.hg())?;
    // They tell where the files of the old store ended.
    remove_if_exists(context, &context.hg().join("undo.desc"))?;
    if outside {
        change_engine(&mut names, how);
        replace(storage, &requires, &lines(&names))?;
    }
    Ok(())
}

fn change_engine(names: &mut BTreeSet<&str>, how: &RecompressOptions) {
    for engine in [CodecId::Zlib, CodecId::Zstd, CodecId::None] {
        if let Some(name) = requirement_of(engine) {
            names.remove(name);
        }
    }
    names.extend(requirement_of(how.write.engine.codec()));
}

fn lines(names: &BTreeSet<&str>) -> Vec<u8> {
    let lines: String = names.iter().map(|name| format!("{name}\n")).collect();
    lines.into_bytes()
}

fn write_new(context: &RepoContext, path: &Path, bytes: &[u8]) -> Result<(), RepoError> {
    let file = context.storage.open(path, OpenMode::CreateNew)?;
    file.append(bytes)?;
    Ok(())
}
