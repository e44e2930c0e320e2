//! Writing the changesets of a [`CommitBatch`], so that a reader sees all of it or nothing, and an
//! interruption can be undone.

use crate::format::context::RepoContext;
use crate::format::journal::BaseDir;
use crate::format::lock::Lock;
use crate::format::store_path::encode_directories;
use crate::format::{Phase, RepoError, fncache, pending};
use crate::read::caches::{self, AppendedChangeset, CacheDirectory};
use crate::read::{RepoView, ViewFilter, branches};
use crate::write::commit::CommitBatch;
use crate::write::transaction::{Transaction, WriteSteps};
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::Storage;
use varve_base::storage::read_if_there;
use varve_revlog::{Appender, Node, Rev};

pub(crate) const PHASEROOTS: &[u8] = b"phaseroots";

/// The revisions of a batch, on their way into the files.
struct Revisions {
    context: Arc<RepoContext>,
    /// Of files, then manifests.
    others: Vec<Appender>,
    changelog: Appender,
}

impl WriteSteps for Revisions {
    fn write_revisions(&mut self) -> Result<(), RepoError> {
        let (storage, store) = (self.context.storage.as_ref(), self.context.store());
        let mut directories = BTreeSet::from([store.clone()]);
        for revlog in self.others.drain(..) {
            directories.extend(directories_up_to(&store, revlog.path()));
            revlog.write()?;
        }
        // A new name is durable only when its directory is synced, and that directory's name in turn.
        for directory in directories.iter().rev() {
            if storage.kind(directory)?.is_some() {
                storage.sync_directory(directory)?;
            }
        }
        Ok(())
    }

    fn write_pending_changelog(&self) -> Result<(), RepoError> {
        let path = self.context.store().join(pending::CHANGELOG);
        Ok(self.changelog.write_pending_index(&path)?)
    }

    fn write_changelog(self) -> Result<(), RepoError> {
        self.changelog.write()?;
        let store = self.context.store();
        Ok(self.context.storage.sync_directory(&store)?)
    }
}

impl CommitBatch {
    /// Writes all changesets of the batch; returns the newest one, or [`Node::NULL`] for an empty
    /// batch in an empty repository.
    ///
    /// The order is files, manifests, hooks, phases, changelog, each synced before the next: a changeset
    /// outside the changelog exists for no reader. Files that [`CommitBatch::transaction`]
    /// was given are replaced even if there is no new changeset, and hooks hear of an empty batch
    /// too.
    ///
    /// # Errors
    /// Errors of the storage; all writes are then undone.
    pub fn finish(self) -> Result<Node, RepoError> {
        Ok(self.finish_locked()?.0)
    }

    /// As [`CommitBatch::finish`]; gives the store's lock back, for work that belongs together with
    /// the commit. `None` if there was nothing to write.
    ///
    /// # Errors
    /// As of [`CommitBatch::finish`].
    pub fn finish_locked(mut self) -> Result<(Node, Option<Lock>), RepoError> {
        let newest = (self.changelog.len() as u32).checked_sub(1).map(Rev);
        let tip = self.changelog.node_or_null(newest);
        if !self.changelog.has_new_revisions() {
            self.transaction.finish_without_revisions()?;
            return Ok((tip, None));
        }
        self.declare_files()?;
        let context = self.view.context.clone();
        let before = self.view.changelog().len();
        let added = self.changelog.len() - before;
        let single_commit = single_commit(&self.view, &self.changelog, &self.phases)?;
        let mut others: Vec<Appender> = self.filelogs.into_values().collect();
        others.push(self.manifest);
        let steps = Revisions {
            context: context.clone(),
            others,
            changelog: self.changelog,
        };
        let lock = self.transaction.run(before, steps)?;
        // The changesets are there, whatever becomes of the caches.
        let _ = update_branch_caches(&context, (before, added), single_commit);
        Ok((tip, Some(lock)))
    }

    /// The transaction, for files that are to be replaced together with the commit.
    pub fn transaction(&mut self) -> &mut Transaction {
        &mut self.transaction
    }

    /// Tells the transaction of all files that will be written.
    fn declare_files(&mut self) -> Result<(), RepoError> {
        let new_names = self.new_names();
        if !new_names.is_empty() {
            let context = &self.view.context;
            let bytes = fncache_with(context.storage.as_ref(), &context.store(), &new_names)?;
            let name = fncache::FILE.as_bytes();
            self.transaction.replace(BaseDir::Store, name, bytes);
        }
        if let Some(bytes) = self.phaseroots() {
            self.transaction.replace(BaseDir::Store, PHASEROOTS, bytes);
        }
        let filelogs = self.filelogs.iter();
        let named = filelogs.map(|(file, log)| ([b"data/", &file[..]].concat(), log));
        let others = [
            (b"00manifest".to_vec(), &self.manifest),
            (b"00changelog".to_vec(), &self.changelog),
        ];
        for (name, revlog) in named
            .chain(others)
            .filter(|(_, log)| log.has_new_revisions())
        {
            let (index, data) = ([&name[..], b".i"].concat(), [&name[..], b".d"].concat());
            let (index_len, data_len) = revlog.lengths_before();
            if revlog.will_be_split() {
                self.transaction.will_append(data, data_len);
            }
            if revlog.will_replace_index() {
                self.transaction.will_replace(&index);
            } else {
                self.transaction.will_append(index, index_len);
            }
        }
        Ok(())
    }

    /// Names that the list of files lacks, without encoding.
    fn new_names(&self) -> Vec<Vec<u8>> {
        let mut names = Vec::new();
        for (file, filelog) in self
            .filelogs
            .iter()
            .filter(|(_, log)| log.has_new_revisions())
        {
            let (index_len, data_len) = filelog.lengths_before();
            if index_len == 0 {
                names.push([b"data/", &file[..], b".i"].concat());
            }
            if data_len == 0 && filelog.will_be_split() {
                names.push([b"data/", &file[..], b".d"].concat());
            }
        }
        names
    }

    /// The file of phases as it will be; `None` if it stays as it is.
    fn phaseroots(&self) -> Option<Vec<u8>> {
        let old = self.view.phases().roots().to_vec();
        let first = self.view.changelog().len();
        let new: Vec<_> = (first..self.changelog.len())
            .map(|rev| Rev(rev as u32))
            .filter(|rev| self.phase(*rev) > self.highest_above(*rev))
            .map(|rev| (self.phase(rev), rev))
            .collect();
        if new.is_empty() {
            return None;
        }
        let mut lines: Vec<_> = old.into_iter().chain(new).collect();
        lines.sort_unstable();
        let line = |(phase, rev): &(Phase, Rev)| {
            let node = self.changelog.node_or_null(Some(*rev));
            format!("{} {node}\n", phase.number())
        };
        Some(lines.iter().map(line).collect::<String>().into_bytes())
    }

    fn highest_above(&self, rev: Rev) -> Phase {
        let parents = self.changelog.parents(rev).into_iter().flatten();
        parents
            .map(|parent| self.phase(parent))
            .max()
            .unwrap_or_default()
    }
}

/// The only changeset of a batch, for the caches; `None` if there are several or any changeset is
/// hidden from clients.
fn single_commit(
    view: &RepoView,
    changelog: &Appender,
    phases: &[Phase],
) -> Result<Option<AppendedChangeset>, RepoError> {
    let (Some(last), true) = (view.changelog().tip(), phases.len() == 1) else {
        return Ok(None);
    };
    let rev = Rev(last.0 + 1);
    let ([Some(parent), None], false) = (
        changelog.parents(rev),
        phases.contains(&Phase::Secret) || view.phases().any_secret() || view.has_obsolete()?,
    ) else {
        return Ok(None);
    };
    let text = changelog.text(rev)?;
    let changeset = view.parse_changeset(rev, &text)?;
    Ok(Some(AppendedChangeset {
        rev,
        node: changelog.node_or_null(Some(rev)),
        parent: (parent, changelog.node_or_null(Some(parent))),
        branch: changeset.branch().into_owned(),
        closes: changeset.closes_branch(),
        before: changelog.node_or_null(Some(last)),
    }))
}

/// Adds the new changesets to the caches of the "served" filter, as Mercurial does.
pub(crate) fn update_branch_caches(
    context: &Arc<RepoContext>,
    (older, added): (usize, usize),
    single_commit: Option<AppendedChangeset>,
) -> Result<(), RepoError> {
    let directory = CacheDirectory::of(context);
    let done = single_commit.is_some_and(|new| caches::extend(directory, &new));
    if done || older > 0 && !caches::has_branch_cache(directory) {
        return Ok(());
    }
    let stamp = context.stamp()?;
    let view = RepoView::read(Arc::clone(context), &stamp, ViewFilter::Served)?;
    // Another writer may be at work already, and will do the same.
    if context.stamp()? == stamp {
        branches::update_caches(&view, added)?;
    }
    Ok(())
}

/// The list of files with new names at its end.
pub(crate) fn fncache_with(
    storage: &dyn Storage,
    store: &Path,
    new_names: &[Vec<u8>],
) -> Result<Vec<u8>, RepoError> {
    let path = store.join(fncache::FILE);
    let mut bytes = read_if_there(storage, &path)?.unwrap_or_default();
    let there: HashSet<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    let mut added = Vec::new();
    for name in new_names {
        let name = encode_directories(name);
        if !there.contains(&name[..]) {
            added.extend_from_slice(&name);
            added.push(b'\n');
        }
    }
    bytes.append(&mut added);
    Ok(bytes)
}

/// The directories that lead from the store to a file in it.
fn directories_up_to<'a>(store: &'a Path, file: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
    file.ancestors()
        .skip(1)
        .take_while(move |directory| directory.starts_with(store))
        .map(Path::to_owned)
}
