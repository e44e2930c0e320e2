//! A repository at one moment.

use crate::format::bookmarks::BookmarksFile;
use crate::format::context::RepoContext;
use crate::format::obsstore;
use crate::format::{
    Changeset, Phase, Phases, RepoError, Requirements, bookmarks, fncache, pending,
};
use crate::hooks::FileFilters;
use crate::read::branches::{self, Branches};
use crate::read::caches::CacheDirectory;
use crate::read::stamp::Stamp;
use crate::read::tags;
use crate::read::unlisted::{Unlisted, tracked};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use varve_base::Storage;
use varve_base::storage::read_if_there;
use varve_revlog::{Node, Rev, Revlog, RevlogError};

/// Which changesets a view shows; the names are those of Mercurial's repository filters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ViewFilter {
    /// For clients: neither secret changesets nor hidden ones.
    #[default]
    Served,
    /// For the local user: all but those that are hidden because they are obsolete.
    Visible,
    /// All that is stored.
    Unfiltered,
}

/// A repository as it was when [`crate::Repository::view`] was called: the changelog does not
/// grow, and of the other revlogs only the revisions of its changesets count.
///
/// "Visible" are the changesets that its [`ViewFilter`] shows.
#[derive(Debug)]
pub struct RepoView {
    pub(crate) context: Arc<RepoContext>,
    filter: ViewFilter,
    changelog: Revlog,
    manifest: OnceLock<Revlog>,
    phases: Phases,
    bookmarks: BookmarksFile,
    /// One per changeset; empty if all are visible.
    hidden: Vec<bool>,
    heads: OnceLock<Vec<Rev>>,
    branches: OnceLock<Branches>,
    tags: OnceLock<BTreeMap<Vec<u8>, Node>>,
    unlisted: Unlisted,
}

impl RepoView {
    /// Reads the files that must be of one moment; the caller makes sure that they are.
    pub(crate) fn read(
        context: Arc<RepoContext>,
        stamp: &Stamp,
        filter: ViewFilter,
    ) -> Result<RepoView, RepoError> {
        let (storage, store) = (&context.storage, context.store());
        let path = store.join("00changelog.i");
        let seen =
            context.opening.pending && storage.kind(&store.join(pending::CHANGELOG))?.is_some();
        let committed = if seen {
            None
        } else if stamp.journal {
            journaled_len(storage.as_ref(), &store, b"00changelog.i")?
        } else {
            None
        };
        let changelog = match committed {
            Some(len) => Revlog::open_up_to(storage, &path, len)?,
            None if seen => {
                Revlog::open_with_index(storage, &path, &store.join(pending::CHANGELOG))?
            }
            None => {
                refuse_lost_changelog(storage.as_ref(), &store, stamp)?;
                Revlog::open_or_empty(storage, &path)?
            }
        };
        let phases = Phases::read(&context, &changelog)?;
        let bookmarks = bookmarks::read(&context, &changelog)?;
        let mut view = RepoView {
            filter,
            changelog,
            manifest: OnceLock::new(),
            phases,
            bookmarks,
            hidden: Vec::new(),
            heads: OnceLock::new(),
            branches: OnceLock::new(),
            tags: OnceLock::new(),
            unlisted: Unlisted::default(),
            context,
        };
        view.hidden = view.hidden_from(filter)?;
        view.bookmarks.by_name.retain(|_, node| {
            let rev = view.changelog.rev(node);
            node.is_null() || rev.is_some_and(|rev| is_shown(&view.hidden, rev))
        });
        Ok(view)
    }

    /// The same moment with all that is stored. The caller makes sure that it is not over.
    pub(crate) fn unfiltered(&self) -> Result<RepoView, RepoError> {
        let context = Arc::clone(&self.context);
        Ok(RepoView {
            filter: ViewFilter::Unfiltered,
            changelog: self.changelog.share(),
            manifest: OnceLock::new(),
            phases: self.phases.clone(),
            // Some may be hidden here.
            bookmarks: bookmarks::read(&context, &self.changelog)?,
            hidden: Vec::new(),
            heads: OnceLock::new(),
            branches: OnceLock::new(),
            tags: OnceLock::new(),
            unlisted: Unlisted::default(),
            context,
        })
    }

    /// One per changeset, whether the filter hides it; empty if it hides none.
    pub(crate) fn hidden_from(&self, filter: ViewFilter) -> Result<Vec<bool>, RepoError> {
        if filter == ViewFilter::Unfiltered {
            return Ok(Vec::new());
        }
        let old = obsstore::read(self.storage(), &self.context.store())?;
        let secret_too = filter == ViewFilter::Served && self.phases.any_secret();
        if old.is_empty() && !secret_too {
            return Ok(Vec::new());
        }
        let mut hidden = vec![false; self.changelog.len()];
        let mutable = |rev: Rev| self.phases.of(rev) > Phase::Public;
        for rev in old
            .iter()
            .filter_map(|marker| self.changelog.rev(&marker.old))
        {
            hidden[rev.index()] = mutable(rev);
        }
        // The ancestors of visible changesets, bookmarks, local tags and the working copy's parents are visible.
        let mut pinned = self.working_parents()?;
        pinned.extend(tags::locally_tagged(self)?);
        for node in self.bookmarks.by_name.values().chain(&pinned) {
            if let Some(rev) = self.changelog.rev(node) {
                hidden[rev.index()] = false;
            }
        }
        for rev in self.changelog.revs().rev() {
            if !hidden[rev.index()] && mutable(rev) {
                for parent in self.changelog.parents(rev).into_iter().flatten() {
                    hidden[parent.index()] = false;
                }
            }
        }
        if secret_too {
            for rev in self.changelog.revs() {
                hidden[rev.index()] |= self.phases.of(rev) == Phase::Secret;
            }
        }
        Ok(hidden)
    }

    /// Changesets that the filter "visible" leaves out.
    ///
    /// # Errors
    /// If the markers are damaged.
    pub fn hidden_changesets(&self) -> Result<Vec<Rev>, RepoError> {
        let hidden = self.hidden_from(ViewFilter::Visible)?;
        let revs = self.changelog.revs().zip(hidden);
        Ok(revs
            .filter_map(|(rev, hidden)| hidden.then_some(rev))
            .collect())
    }

    /// Whether anything was ever said to be obsolete.
    ///
    /// # Errors
    /// If the markers are damaged.
    pub fn has_obsolete(&self) -> Result<bool, RepoError> {
        Ok(!obsstore::read(self.storage(), &self.context.store())?.is_empty())
    }

    /// One per changeset; empty if all are visible.
    pub(crate) fn hidden(&self) -> &[bool] {
        &self.hidden
    }

    /// Directory of Mercurial's caches.
    pub(crate) fn caches(&self) -> CacheDirectory<'_> {
        CacheDirectory::of(&self.context)
    }

    pub(crate) fn storage(&self) -> &dyn Storage {
        self.context.storage.as_ref()
    }

    /// The filters of the working copy's files.
    pub fn file_filters(&self) -> Option<&Arc<dyn FileFilters>> {
        self.context.opening.filters.as_ref()
    }

    /// The directory that holds `.hg`.
    pub fn root(&self) -> &Path {
        &self.context.root
    }

    /// Features that a program must support to work on this repository.
    pub fn requirements(&self) -> &Requirements {
        &self.context.requirements
    }

    /// The changesets, visible or not.
    pub fn changelog(&self) -> &Revlog {
        &self.changelog
    }

    /// The manifests; may have revisions that belong to later changesets than this view has.
    ///
    /// # Errors
    /// A damaged manifest log.
    pub fn manifest(&self) -> Result<&Revlog, RepoError> {
        if let Some(manifest) = self.manifest.get() {
            return Ok(manifest);
        }
        let path = self.context.store().join("00manifest.i");
        let opened = Revlog::open_or_empty(&self.context.storage, &path);
        let manifest = self.without_torn_end(opened, b"00manifest.i", &path)?;
        Ok(self.manifest.get_or_init(|| manifest))
    }

    /// The history of one file; may have revisions that belong to later changesets.
    ///
    /// # Errors
    /// A file that was never tracked is a storage error "not found"; else a damaged filelog.
    pub fn filelog(&self, file: &[u8]) -> Result<Revlog, RepoError> {
        let path = self.context.filelog_path(file);
        let opened = Revlog::open(&self.context.storage, &path);
        let log = self.without_torn_end(opened, &[b"data/", file, b".i"].concat(), &path)?;
        Ok(log.with_data(self.context.filelog_data_path(file)))
    }

    /// Where the history of one file lies.
    pub(crate) fn filelog_path(&self, file: &[u8]) -> PathBuf {
        self.context.filelog_path(file)
    }

    /// An index that ends in half an entry, because a writer is at work or was interrupted, is
    /// read up to where the transaction began.
    fn without_torn_end(
        &self,
        opened: Result<Revlog, RevlogError>,
        name: &[u8],
        path: &Path,
    ) -> Result<Revlog, RepoError> {
        if let Err(RevlogError::DamagedIndex { .. }) = &opened
            && let Some(len) = journaled_len(self.storage(), &self.context.store(), name)?
        {
            return Ok(Revlog::open_up_to(&self.context.storage, path, len)?);
        }
        Ok(opened?)
    }

    /// Every file that was ever tracked, sorted bytewise.
    ///
    /// # Errors
    /// If the list is damaged.
    pub fn tracked_files(&self) -> Result<Vec<Vec<u8>>, RepoError> {
        Ok(tracked(&self.store_names()?))
    }

    pub(super) fn unlisted(&self) -> &Unlisted {
        &self.unlisted
    }

    /// The path of a file of the store, which is named without any encoding.
    pub(super) fn store_path(&self, name: &[u8]) -> PathBuf {
        self.context.store().join(self.context.layout.path(name))
    }

    /// Names of the store's files below `data/` that are listed, without any encoding, sorted.
    pub(crate) fn store_names(&self) -> Result<Vec<Vec<u8>>, RepoError> {
        if self.requirements().has("fncache") {
            fncache::read(self.storage(), &self.context.store())
        } else {
            crate::read::store_files::walk(self.storage(), &self.context.store())
        }
    }

    /// Phases of all changesets.
    pub fn phases(&self) -> &Phases {
        &self.phases
    }

    /// Visible bookmarks.
    pub fn bookmarks(&self) -> &BTreeMap<Vec<u8>, Node> {
        &self.bookmarks.by_name
    }

    /// Lines of the file of bookmarks that are none.
    pub fn malformed_bookmarks(&self) -> &[Vec<u8>] {
        &self.bookmarks.malformed
    }

    /// The filter that the view was read with.
    pub fn filter(&self) -> ViewFilter {
        self.filter
    }

    /// Whether the filter shows a changeset.
    pub fn is_visible(&self, rev: Rev) -> bool {
        is_shown(&self.hidden, rev)
    }

    /// Whether the filter hides any changeset.
    pub fn hides_anything(&self) -> bool {
        self.hidden.contains(&true)
    }

    /// Visible changesets without visible children, newest first. None in an empty repository.
    pub fn heads(&self) -> Vec<Rev> {
        // A server keeps the view, and every client asks.
        self.heads.get_or_init(|| self.find_heads()).clone()
    }

    fn find_heads(&self) -> Vec<Rev> {
        let mut has_child = vec![false; self.changelog.len()];
        let mut heads = Vec::new();
        for rev in self.changelog.revs().rev() {
            if !self.is_visible(rev) {
                continue;
            }
            if !has_child[rev.index()] {
                heads.push(rev);
            }
            for parent in self.changelog.parents(rev).into_iter().flatten() {
                has_child[parent.index()] = true;
            }
        }
        heads
    }

    /// The newest visible changeset.
    pub fn tip(&self) -> Option<Rev> {
        self.changelog
            .revs()
            .rev()
            .find(|rev| self.is_visible(*rev))
    }

    /// Named branches of visible changesets. The first call reads the changesets that
    /// the caches lack.
    ///
    /// # Errors
    /// A damaged changeset.
    pub fn branchmap(&self) -> Result<&Branches, RepoError> {
        if let Some(branches) = self.branches.get() {
            return Ok(branches);
        }
        let branches = branches::read(self)?;
        Ok(self.branches.get_or_init(|| branches))
    }

    /// Tags of all visible heads and local ones, whose changesets are visible.
    ///
    /// # Errors
    /// A damaged changeset, manifest or file of tags.
    pub fn tags(&self) -> Result<BTreeMap<Vec<u8>, Node>, RepoError> {
        if let Some(tags) = self.tags.get() {
            return Ok(tags.clone());
        }
        let tags = tags::read(self)?;
        Ok(self.tags.get_or_init(|| tags).clone())
    }

    /// Whether a tracked tag of this name was removed, and none is there any more.
    ///
    /// # Errors
    /// A damaged changeset, manifest or file of tags.
    pub fn is_removed_tag(&self, name: &[u8]) -> Result<bool, RepoError> {
        tags::is_removed(self, name)
    }

    /// Names of tags that only this repository has, sorted; they may be of changesets that are not
    /// shown.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn local_tag_names(&self) -> Result<Vec<Vec<u8>>, RepoError> {
        tags::local_names(self)
    }

    /// Takes a changeset's text apart and gives it to `read`.
    ///
    /// # Errors
    /// A damaged changeset.
    pub fn with_changeset<T>(
        &self,
        rev: Rev,
        read: impl FnOnce(Changeset<'_>) -> T,
    ) -> Result<T, RepoError> {
        let text = self.changelog.text(rev)?;
        Ok(read(self.parse_changeset(rev, &text)?))
    }

    /// Takes the text of changeset `rev` apart.
    ///
    /// # Errors
    /// If it is damaged.
    pub fn parse_changeset<'a>(
        &self,
        rev: Rev,
        text: &'a [u8],
    ) -> Result<Changeset<'a>, RepoError> {
        self.context.parse_changeset(rev, text)
    }

    /// Parents of the working copy, by `.hg/dirstate`.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn working_parents(&self) -> Result<Vec<Node>, RepoError> {
        let path = self.context.hg().join("dirstate");
        let bytes =
            pending::read_with_pending(self.storage(), &path, self.context.opening.pending)?;
        // Version 2 has a magic line and room for 32 bytes per node.
        let (start, width) = if bytes.starts_with(b"dirstate-v2\n") {
            (12, 32)
        } else {
            (0, Node::LEN)
        };
        let parents = [start, start + width].into_iter().filter_map(|at| {
            let mut node = Node::NULL;
            node.0.copy_from_slice(bytes.get(at..at + Node::LEN)?);
            (!node.is_null()).then_some(node)
        });
        Ok(parents.collect())
    }
}

fn is_shown(hidden: &[bool], rev: Rev) -> bool {
    hidden.get(rev.index()).is_none_or(|hidden| !hidden)
}

/// Length of a file of the store before the transaction in `store/journal`; `None` if
/// that has not touched the file.
fn journaled_len(
    storage: &dyn Storage,
    store: &Path,
    name: &[u8],
) -> Result<Option<u64>, RepoError> {
    let journal = read_if_there(storage, &store.join("journal"))?.unwrap_or_default();
    // A line that is not ended is torn, and its number may lack digits.
    let mut lines = journal.split_inclusive(|byte| *byte == b'\n');
    let len = lines.find_map(|line| {
        let rest = line.strip_prefix(name)?.strip_prefix(b"\0")?;
        rest.strip_suffix(b"\n")
    });
    let len = len.and_then(|digits| std::str::from_utf8(digits).ok());
    Ok(len.and_then(|digits| digits.parse().ok()))
}

/// A store without changelog is empty only if it has no manifests either: a commit writes the changelog last, and undoes
/// the rest by its journal.
fn refuse_lost_changelog(
    storage: &dyn Storage,
    store: &Path,
    stamp: &Stamp,
) -> Result<(), RepoError> {
    let path = store.join("00changelog.i");
    if stamp.journal || storage.kind(&path)?.is_some() {
        return Ok(());
    }
    match storage.file_len(&store.join("00manifest.i"))? {
        None | Some(0) => Ok(()),
        Some(_) => Err(RepoError::LostChangelog { path }),
    }
}
