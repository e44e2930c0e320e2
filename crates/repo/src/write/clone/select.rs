//! A clone of some changesets with all their ancestors: revisions are read and appended in
//! their order, with new numbers, and with their deltas where the bases come along.

use crate::format::store_path::encode_directories;
use crate::format::{RepoError, Requirements, fncache};
use crate::read::changed_files::{OutgoingRevisions, OutgoingSet};
use crate::read::{RepoView, Repository};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use varve_base::{Interrupt, Progress, Unit};
use varve_revlog::{
    Appender, Content, NewRevision, ReaderState, Rev, RevisionHints, Revlog, WriteOptions, flag,
};

/// Number of changesets, revisions and files of a clone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CloneCounts {
    /// Number of changesets.
    pub changesets: usize,
    /// Revisions of files.
    pub revisions: usize,
    /// Files that have revisions.
    pub files: usize,
}

struct Copier<'a> {
    source: &'a RepoView,
    target: &'a Repository,
    write: WriteOptions,
    /// New number of each changeset that comes along.
    renumbered: Vec<Option<Rev>>,
    /// Revisions shared with the changesets that stay behind.
    outgoing_files: OutgoingRevisions,
    stop: &'a Interrupt,
}

impl Repository {
    /// Makes a repository in the directory `root`, with these requirements, with the changesets `heads` of `source`, which is a
    /// view of this one, and all that those build on.
    ///
    /// # Errors
    /// Damage; a failed write; [`RepoError::Interrupted`].
    pub fn clone_revisions(
        &self,
        source: &RepoView,
        (root, requirements): (&Path, &Requirements),
        heads: &[Rev],
        write: WriteOptions,
        (progress, stop): (&dyn Progress, &Interrupt),
    ) -> Result<(Repository, CloneCounts), RepoError> {
        self.create_clone(root, requirements)?;
        let target = Repository::open(Arc::clone(self.storage()), root)?;
        let renumbered = renumber(source, heads);
        let all = source.changelog().revs();
        let (outgoing, excluded): (Vec<Rev>, Vec<Rev>) =
            all.partition(|rev| renumbered[rev.index()].is_some());
        // Without excluded changesets no revision is shared with one.
        let outgoing_files = match excluded[..] {
            [] => OutgoingRevisions::default(),
            _ => source.changed_files(&OutgoingSet {
                outgoing: &outgoing,
                excluded: &excluded,
            })?,
        };
        let copier = Copier {
            source,
            target: &target,
            write,
            renumbered,
            outgoing_files,
            stop,
        };
        let pulled = copier.copy_all(progress)?;
        Ok((target, pulled))
    }
}

/// New numbers of `heads` and their ancestors.
fn renumber(source: &RepoView, heads: &[Rev]) -> Vec<Option<Rev>> {
    let changelog = source.changelog();
    let mut wanted = vec![false; changelog.len()];
    for head in heads {
        wanted[head.index()] = true;
    }
    for rev in changelog.revs().rev().filter(|_| !heads.is_empty()) {
        if wanted[rev.index()] {
            for parent in changelog.parents(rev).into_iter().flatten() {
                wanted[parent.index()] = true;
            }
        }
    }
    let mut next = 0;
    let number = |wanted: &bool| {
        wanted.then(|| {
            next += 1;
            Rev(next - 1)
        })
    };
    wanted.iter().map(number).collect()
}

impl Copier<'_> {
    fn copy_all(&self, progress: &dyn Progress) -> Result<CloneCounts, RepoError> {
        let context = self.target.context();
        let (storage, store) = (&context.storage, context.store());
        let (mut pulled, mut names) = (CloneCounts::default(), Vec::new());
        let mut state = ReaderState::default();
        let tracked = self.source.files_with_history()?;
        progress.begin(
            "adding file changes",
            Unit::Items,
            Some(tracked.len() as u64),
        );
        for file in tracked {
            progress.advance(1);
            let log = self.source.filelog(&file)?;
            let path = context.filelog_path(&file);
            let appender = Appender::open(storage, &path, Content::File, self.write)?;
            let mut appender = appender.with_data(context.filelog_data_path(&file));
            let context = self.outgoing_files.shared_files.get(&file);
            let context = context.into_iter().flatten().copied().collect();
            let added = self.copy(&log, &mut appender, &context, &mut state)?;
            if added == 0 {
                continue;
            }
            pulled.revisions += added;
            pulled.files += 1;
            for end in [Some(&b".i"[..]), appender.will_be_split().then_some(b".d")] {
                let name = end.map(|end| [b"data/", &file[..], end].concat());
                names.extend(
                    name.iter()
                        .flat_map(|name| encode_directories(name).into_owned()),
                );
                names.extend(name.map(|_| b'\n'));
            }
            appender.write()?;
        }
        progress.end();
        if !names.is_empty() && context.requirements.has("fncache") {
            super::write_new(storage.as_ref(), &store.join(fncache::FILE), &names)?;
        }
        let others = [
            ("00manifest.i", Content::Manifest, self.source.manifest()?),
            // Last: before it nothing is there for any reader.
            ("00changelog.i", Content::Changelog, self.source.changelog()),
        ];
        for (name, content, log) in others {
            let mut appender = Appender::open(storage, &store.join(name), content, self.write)?;
            let context = match content {
                Content::Manifest => self.outgoing_files.shared_manifests.clone(),
                _ => BTreeMap::new(),
            };
            let added = self.copy(log, &mut appender, &context, &mut state)?;
            if content == Content::Changelog {
                pulled.changesets = added;
            }
            appender.write()?;
        }
        Ok(pulled)
    }

    /// Appends those revisions of `log` whose changesets come along, and those of `context`, which
    /// has other changesets for them; returns how many.
    fn copy(
        &self,
        log: &Revlog,
        appender: &mut Appender,
        context: &BTreeMap<Rev, Rev>,
        state: &mut ReaderState,
    ) -> Result<usize, RepoError> {
        let mut numbers: Vec<Option<Rev>> = vec![None; log.len()];
        let mut reader = log.reader_with(std::mem::take(state));
        let mut deltas = log.reader();
        let (mut added, mut patch) = (0, Vec::new());
        for rev in log.revs() {
            self.stop.check()?;
            let link = self.source.changelog().rev_at(log.linkrev(rev));
            let link = context.get(&rev).copied().or(link);
            let link = link.and_then(|link| self.renumbered[link.index()]);
            let Some(link) = link else {
                continue;
            };
            let entry = log.entry(rev);
            let base = log.delta_parent(rev).and_then(|base| numbers[base.index()]);
            if base.is_some() {
                deltas.stored_delta(rev, &mut patch)?;
            }
            let flags = entry.flags & !flag::HINTS;
            let text = if flags == 0 {
                reader.text(rev)?
            } else {
                reader.unchecked_text(rev)?
            };
            let [p1, p2] = [entry.p1, entry.p2].map(|p| p.and_then(|p| numbers[p.index()]));
            if (p1.is_none(), p2.is_none()) != (entry.p1.is_none(), entry.p2.is_none()) {
                return Err(RepoError::NotInClone {
                    path: log.path().to_owned(),
                    rev,
                });
            }
            let new = NewRevision { text, p1, p2, link };
            let given = RevisionHints {
                node: Some(entry.node),
                flags,
                delta: base.map(|base| (Some(base), &patch[..])),
            };
            numbers[rev.index()] = Some(appender.add_with_hints(&new, &given)?.0);
            added += 1;
        }
        *state = reader.into_state();
        Ok(added)
    }
}
