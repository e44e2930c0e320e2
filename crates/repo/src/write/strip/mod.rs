//! Removing changesets with all revisions that only they brought.
//!
//! Renumbering leaves no gaps: a revision that stays above the oldest removed changeset is
//! stored again behind the cut, with new numbers. Every file that changes is replaced whole, its
//! old self kept under a second name until the end, so that an interruption is undone by the
//! journal like any other.

mod hooks;
mod kept;
mod names;
mod renumbering;

use crate::format::journal::BaseDir;
use crate::format::lock::Lock;
use crate::format::{RepoError, fncache};
use crate::read::{RepoView, Repository, ViewFilter};
use crate::write::transaction::{Transaction, WriteSteps, remove_undo};
use crate::write::transaction_hooks::TransactionHooks;
use kept::{Cut, KeptRevisions};
pub use names::bundle_name;
use renumbering::Renumbering;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use varve_base::Interrupt;
use varve_base::storage::read_if_there;
use varve_revlog::{
    Appender, Content, NewRevision, Node, Rev, RevisionHints, Revlog, RevlogError, WriteOptions,
    flag,
};

/// How changesets are removed.
#[derive(Clone, Copy, Debug)]
pub struct StripOptions {
    /// For revisions that are stored again.
    pub storage: WriteOptions,
    /// Obsolescence markers stay, even those that speak of removed changesets only.
    pub keeps_markers: bool,
}

impl<T: Into<WriteOptions>> From<T> for StripOptions {
    fn from(storage: T) -> Self {
        StripOptions {
            storage: storage.into(),
            keeps_markers: false,
        }
    }
}

impl Repository {
    /// Removes changesets and all that follow them, with the obsolescence markers that spoke of nothing else any more;
    /// returns how many changesets those were. Bookmarks on them move to the newest changeset below that stays, or else to the working copy's parent. A backup is for the caller to make.
    ///
    /// # Errors
    /// [`RepoError::Strip`] if the working copy is at one of them; [`RepoError::MissingNode`];
    /// [`RepoError::Hook`]; damage; a failed write: everything is then as it was.
    pub fn strip(
        &self,
        lock: Lock,
        nodes: &[Node],
        options: impl Into<StripOptions>,
        stop: &Interrupt,
    ) -> Result<usize, RepoError> {
        let context = Arc::clone(self.context());
        let view = RepoView::read(
            Arc::clone(&context),
            &context.stamp()?,
            ViewFilter::Unfiltered,
        )?;
        let numbers = Renumbering::without(&view, nodes)?;
        if numbers.removed() == 0 {
            return Ok(0);
        }
        refuse_working_parents(&view, &numbers)?;
        let mut transaction = self.transaction(lock, "strip")?;
        let asked = transaction.hooks.take();
        let asked = asked.map(|first| hooks::ask(first, &view, &numbers));
        let asked = asked.transpose()?;
        let options = options.into();
        let mut stripper = Stripper {
            view: &view,
            numbers: &numbers,
            options: options.storage,
            stop,
            appenders: Vec::new(),
            removed_names: Vec::new(),
            added_names: Vec::new(),
        };
        stripper.gather(&mut transaction)?;
        stripper.name_files(&mut transaction)?;
        move_phases_and_bookmarks(&view, &numbers, &mut transaction)?;
        if !options.keeps_markers {
            remove_markers(&view, &numbers, &mut transaction)?;
        }
        let steps = Rewriting {
            appenders: stripper.appenders,
            stop,
        };
        transaction.run(view.changelog().len(), steps)?;
        // The undo files no longer fit the store.
        remove_undo(&context)?;
        asked
            .into_iter()
            .flatten()
            .for_each(TransactionHooks::run_txnclose);
        Ok(numbers.removed())
    }
}

/// The revlogs on their way into the files.
struct Rewriting<'a> {
    appenders: Vec<Appender>,
    stop: &'a Interrupt,
}

impl WriteSteps for Rewriting<'_> {
    fn write_changelog(self) -> Result<(), RepoError> {
        for appender in self.appenders {
            self.stop.check()?;
            appender.rewrite()?;
        }
        Ok(())
    }
}

struct Stripper<'a> {
    view: &'a RepoView,
    numbers: &'a Renumbering,
    options: WriteOptions,
    stop: &'a Interrupt,
    appenders: Vec<Appender>,
    /// Names that the list of files loses and gets, without encoding.
    removed_names: Vec<Vec<u8>>,
    added_names: Vec<Vec<u8>>,
}

impl Stripper<'_> {
    /// Stores again in memory the kept revisions above the cuts: files, manifests, changesets.
    fn gather(&mut self, transaction: &mut Transaction) -> Result<(), RepoError> {
        let stays = KeptRevisions::find(self.view, self.numbers, self.stop)?;
        for (file, cut) in &stays.files {
            let name = [b"data/", &file[..]].concat();
            let log = self.view.filelog(file)?;
            self.cut(transaction, &name, (&log, Content::File), cut)?;
        }
        let manifest = (self.view.manifest()?, Content::Manifest);
        if let Some(cut) = &stays.manifests {
            self.cut(transaction, b"00manifest", manifest, cut)?;
        }
        let changelog = (self.view.changelog(), Content::Changelog);
        let cut = self.numbers.cut();
        self.cut(transaction, b"00changelog", changelog, &cut)
    }

    fn cut(
        &mut self,
        transaction: &mut Transaction,
        name: &[u8],
        (log, content): (&Revlog, Content),
        cut: &Cut,
    ) -> Result<(), RepoError> {
        let storage = &self.view.context.storage;
        let mut appender =
            Appender::open_truncated(storage, log.path(), content, self.options, cut.kept)?;
        appender = appender.with_data(log.data_path().to_owned());
        self.add_again(log, &mut appender, cut)?;
        let (index, data) = ([name, b".i"].concat(), [name, b".d"].concat());
        let (was_split, is_split) = (!log.header().inline, appender.will_be_split());
        // Mercurial keeps the logs of changesets and manifests, also without any entry.
        let keeps_empty = appender.is_empty() && content != Content::File;
        match appender.is_empty() {
            true if keeps_empty => transaction.replace(BaseDir::Store, &index, Vec::new()),
            true => {
                transaction.remove(BaseDir::Store, &index);
                self.removed_names.push(index);
            }
            false => transaction.will_replace(&index),
        }
        match (was_split, is_split && !appender.is_empty()) {
            (true, true) => transaction.will_replace(&data),
            (true, false) if keeps_empty => {
                transaction.replace(BaseDir::Store, &data, Vec::new());
            }
            (true, false) => {
                transaction.remove(BaseDir::Store, &data);
                self.removed_names.push(data);
            }
            (false, true) => {
                transaction.will_append(data.clone(), 0);
                self.added_names.push(data);
            }
            (false, false) => {}
        }
        if !appender.is_empty() {
            self.appenders.push(appender);
        }
        Ok(())
    }

    fn add_again(&self, log: &Revlog, appender: &mut Appender, cut: &Cut) -> Result<(), RepoError> {
        let mut numbers: BTreeMap<Rev, Rev> = BTreeMap::new();
        let mut reader = log.reader();
        for (rev, link) in &cut.again {
            self.stop.check()?;
            let entry = log.entry(*rev);
            let flags = entry.flags & !flag::HINTS;
            let text = match flags {
                0 => reader.text(*rev)?,
                _ => reader.unchecked_text(*rev)?,
            };
            let number = |parent: Option<Rev>| match parent {
                Some(parent) if parent.index() >= cut.kept => match numbers.get(&parent) {
                    Some(parent) => Ok(Some(*parent)),
                    None => Err(self.cannot(format!(
                        "revision {rev} of {} builds on what would be removed",
                        log.path().display()
                    ))),
                },
                kept => Ok(kept),
            };
            let (p1, p2) = (number(entry.p1)?, number(entry.p2)?);
            let link = *link;
            let given = RevisionHints {
                node: Some(entry.node),
                flags,
                delta: None,
            };
            let new = NewRevision { text, p1, p2, link };
            numbers.insert(*rev, appender.add_with_hints(&new, &given)?.0);
        }
        Ok(())
    }

    fn cannot(&self, reason: String) -> RepoError {
        RepoError::Strip {
            path: self.view.root().to_owned(),
            reason,
        }
    }

    /// Brings the list of files up to date.
    fn name_files(&self, transaction: &mut Transaction) -> Result<(), RepoError> {
        let is_listed = |name: &&Vec<u8>| name.starts_with(b"data/");
        let removed: Vec<_> = self.removed_names.iter().filter(is_listed).collect();
        let added: Vec<_> = self.added_names.iter().filter(is_listed).collect();
        if removed.is_empty() && added.is_empty() || !self.view.requirements().has("fncache") {
            return Ok(());
        }
        let path = self.view.context.store().join(fncache::FILE);
        let bytes = read_if_there(self.view.storage(), &path)?.unwrap_or_default();
        let bytes = names::changed(&bytes, &removed, &added);
        transaction.replace(BaseDir::Store, fncache::FILE.as_bytes(), bytes);
        Ok(())
    }
}

/// The dirstate must always name a changeset that is there.
fn refuse_working_parents(view: &RepoView, numbers: &Renumbering) -> Result<(), RepoError> {
    for parent in view.working_parents()? {
        if let Some(rev) = view.changelog().rev(&parent)
            && numbers.after(rev).is_none()
        {
            return Err(RepoError::Strip {
                path: view.root().to_owned(),
                reason: format!("the working directory is at {parent}"),
            });
        }
    }
    Ok(())
}

fn remove_markers(
    view: &RepoView,
    numbers: &Renumbering,
    transaction: &mut Transaction,
) -> Result<(), RepoError> {
    let changelog = view.changelog();
    let removed = changelog.revs().filter(|rev| numbers.after(*rev).is_none());
    let removed: Vec<Node> = removed.map(|rev| changelog.node(rev)).collect();
    let markers = view.exclusive_markers(&removed)?;
    if !markers.is_empty() {
        transaction.remove_markers(&markers)?;
    }
    Ok(())
}

/// Phases and bookmarks of the kept changesets.
fn move_phases_and_bookmarks(
    view: &RepoView,
    numbers: &Renumbering,
    transaction: &mut Transaction,
) -> Result<(), RepoError> {
    let is_gone = |node: &Node| {
        let rev = view.changelog().rev(node);
        rev.is_some_and(|rev| numbers.after(rev).is_none())
    };
    let name = crate::write::commit::finish::PHASEROOTS;
    let path = view.context.store().join(Path::new("phaseroots"));
    if let Some(bytes) = read_if_there(view.storage(), &path)? {
        let left = names::phases_without(&bytes, is_gone);
        transaction.replace(BaseDir::Store, name, left);
    }
    let mut bookmarks = view.bookmarks().clone();
    let below = match numbers.newest_below(view) {
        Some(rev) => view.changelog().node(rev),
        None => view
            .working_parents()?
            .first()
            .copied()
            .unwrap_or(Node::NULL),
    };
    for node in bookmarks.values_mut().filter(|node| is_gone(node)) {
        *node = below;
    }
    // Without a changeset below they stay, at the null revision. Mercurial writes the file even if there are none.
    transaction.set_bookmarks(&bookmarks)
}

/// A file that was listed but never stored has nothing to lose.
fn filelog(view: &RepoView, file: &[u8]) -> Result<Option<Revlog>, RepoError> {
    match view.filelog(file) {
        Err(RepoError::Revlog(RevlogError::Storage(error))) if error.is_not_found() => Ok(None),
        other => other.map(Some),
    }
}
