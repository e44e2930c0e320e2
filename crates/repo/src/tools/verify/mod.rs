//! Checking a repository: the hashes of all texts, and that changesets, manifests and files speak
//! of each other. Findings are reported in Mercurial's words and order.
//!
//! As in Mercurial, manifests are not put together: the additions of each of them stand in its stored
//! patch, and a wrong byte in there names a file's revision that does not exist. `full` puts them
//! together all the same. Changesets and manifests are read by one thread each, files by all.

mod changesets;
mod entries;
mod files;
mod findings;
mod manifests;

use crate::format::context::RepoContext;
use crate::format::lock::Lock;
use crate::format::{RepoError, fncache};
use crate::read::{Repository, store_files};
use changesets::Changesets;
use findings::Findings;
use manifests::Manifests;
use std::collections::{BTreeSet, HashSet};
use varve_base::{Interrupt, OpenMode, Progress, Unit};
use varve_revlog::{Revlog, RevlogError};

/// Progress and findings of a verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifyEvent<'a> {
    /// A part of the work begins, `checking files` for instance.
    Step(&'static str),
    /// Something is wrong; a whole line without its end.
    Problem(&'a [u8]),
}

/// Counts of verified items and of the damage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Number of changesets.
    pub changesets: usize,
    /// Revisions of all files.
    pub revisions: usize,
    /// Files that were ever tracked.
    pub files: usize,
    /// Oddities that lose nothing.
    pub warnings: usize,
    /// Damages.
    pub errors: usize,
    /// The oldest changeset that a damage belongs to.
    pub first_damaged: Option<i64>,
    /// The list of the store's files lacks some.
    pub incomplete_list: bool,
}

/// Parameters of all parts.
#[derive(Clone, Copy)]
struct Check<'a> {
    context: &'a RepoContext,
    progress: &'a dyn Progress,
    stop: &'a Interrupt,
    full: bool,
}

impl Repository {
    /// Checks everything. `_lock` is that of the store, so that no other process writes meanwhile.
    ///
    /// # Errors
    /// A revlog that cannot be opened; [`RepoError::Interrupted`]. Damage is reported and is no error.
    pub fn verify(
        &self,
        _lock: &Lock,
        full: bool,
        on_event: &mut dyn FnMut(VerifyEvent<'_>),
        progress: &dyn Progress,
        stop: &Interrupt,
    ) -> Result<VerifyReport, RepoError> {
        let context = self.context();
        let check = Check {
            context,
            progress,
            stop,
            full,
        };
        let open =
            |name: &str| Revlog::open_or_empty(&context.storage, &context.store().join(name));
        let (changelog, manifest) = (open("00changelog.i")?, open("00manifest.i")?);
        let mut report = VerifyReport::default();

        on_event(VerifyEvent::Step("checking changesets"));
        let mut found = Findings::default();
        if changelog.is_empty() && !(manifest.is_empty() && store_names(context)?.is_empty()) {
            found.error(Some(0), b"empty or missing changelog", None);
        }
        data_must_be_there(context, &changelog)?;
        let (mut changesets, mut manifests) = read_both(check, &changelog, &manifest)?;
        found.append(&mut changesets.found);
        found.report(&mut report, on_event);

        on_event(VerifyEvent::Step("checking manifests"));
        let mut found = Findings::default();
        manifests.link(&changelog, &manifest, &mut changesets, &mut found);
        found.report(&mut report, on_event);

        let step = "crosschecking files in changesets and manifests";
        on_event(VerifyEvent::Step(step));
        let mut found = Findings::default();
        manifests.cross_check(check, &changelog, &manifest, &changesets, &mut found);
        found.report(&mut report, on_event);

        on_event(VerifyEvent::Step("checking files"));
        let listed: HashSet<Vec<u8>> = store_names(context)?.into_iter().collect();
        let links = files::Links {
            changelog: &changelog,
            manifests: &manifests,
            has_manifests: !manifest.is_empty(),
            listed: &listed,
        };
        let (checked, mut found) = files::check_all(check, &links)?;
        let orphans: BTreeSet<&Vec<u8>> = listed.difference(&checked.stored).collect();
        for name in orphans {
            found.warn([b"warning: orphan data file '", &name[..], b"'"].concat());
        }
        found.report(&mut report, on_event);
        report.changesets = changelog.len();
        report.files = manifests.names.len();
        report.revisions = checked.revisions;
        report.incomplete_list = checked.incomplete_list;
        Ok(report)
    }
}

/// Names of all files below `data/`.
fn store_names(context: &RepoContext) -> Result<Vec<Vec<u8>>, RepoError> {
    if context.requirements.has("fncache") {
        fncache::read(context.storage.as_ref(), &context.store())
    } else {
        store_files::walk(context.storage.as_ref(), &context.store())
    }
}

/// Reads the changesets on a thread of its own while this one reads the manifests.
fn read_both(
    check: Check<'_>,
    changelog: &Revlog,
    manifest: &Revlog,
) -> Result<(Changesets, Manifests), RepoError> {
    let total = changelog.len() + manifest.len();
    let step = "checking changesets and manifests";
    check.progress.begin(step, Unit::Items, Some(total as u64));
    let both = std::thread::scope(|scope| {
        let changesets = scope.spawn(|| Changesets::read(check, changelog));
        let manifests = Manifests::read(check, manifest);
        // A panic of the thread goes on in this one.
        let changesets = changesets
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok((changesets?, manifests?))
    });
    check.progress.end();
    both
}

/// Without its data file nothing can be said about any changeset.
fn data_must_be_there(context: &RepoContext, log: &Revlog) -> Result<(), RepoError> {
    if !log.is_empty() && !log.header().inline {
        let open = context.storage.open(log.data_path(), OpenMode::Read);
        open.map_err(RevlogError::from)?;
    }
    Ok(())
}

/// Bytes of the data file beyond those that the index covers; 0 for a missing file, whose
/// revisions cannot be read anyway.
fn data_off_by(context: &RepoContext, log: &Revlog) -> Result<i64, RepoError> {
    if log.is_empty() || log.header().inline {
        return Ok(0);
    }
    let found = context.storage.file_len(log.data_path())?;
    let signed = |len: u64| i64::try_from(len).unwrap_or(i64::MAX);
    Ok(found.map_or(0, |len| signed(len) - signed(log.data_len())))
}
