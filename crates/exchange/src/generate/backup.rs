//! The bundle that keeps changesets which are about to be stripped, as Mercurial makes it: bundle2
//! under bzip2, with a changegroup, the branches of the changesets, and their phases.

use super::changegroup::{SectionSizes, write_changegroup};
use super::part_payloads::{branches, own_phase_heads};
use super::selection::Selection;
use crate::ExchangeError;
use crate::format::bundle20::{BundleWriter, write_start};
use crate::format::changegroup::ChangegroupVersion;
use crate::format::part::{Part, PartHeader, PartType, changegroup};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use varve_base::{OpenMode, Storage, StorageFile};
use varve_codec::StreamEncoder;
use varve_repo::{Phase, RepoView, bundle_name};
use varve_revlog::{Node, Rev};

/// Stream parameter of a bundle whose parts are one bzip2 stream.
const BZIP2: &[u8] = b"Compression=BZ";

/// Bytes that are collected before the file grows.
const BUFFER: usize = 64 << 10;

/// A backup that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    /// The bundle, in the repository's storage.
    pub path: PathBuf,
    /// How large its sections are.
    pub sizes: SectionSizes,
}

/// Writes `revs` as [`write_backup`] to a new file below `.hg/strip-backup`, whose name tells
/// `first`, them and `purpose`.
///
/// # Errors
/// As of [`write_backup`]; there is no file then.
pub fn save_backup(
    view: &RepoView,
    storage: &dyn Storage,
    (first, revs): (&Node, &[Rev]),
    purpose: &str,
) -> Result<Backup, ExchangeError> {
    let directory = view.root().join(".hg/strip-backup");
    storage.create_directory(&directory)?;
    let mut nodes: Vec<Node> = revs.iter().map(|rev| view.changelog().node(*rev)).collect();
    // Mercurial counts the null revision where it was asked for.
    nodes.extend(
        first
            .is_null()
            .then_some(*first)
            .filter(|_| !revs.is_empty()),
    );
    let name = bundle_name(first, &nodes, purpose);
    let (path, beside) = (directory.join(&name), directory.join(name + ".new"));
    if storage.kind(&beside)?.is_some() {
        storage.remove(&beside)?;
    }
    let file = storage.open(&beside, OpenMode::CreateNew)?;
    let mut out = BufWriter::with_capacity(BUFFER, FileWriter(file.as_ref()));
    let sizes = write_backup(view, revs, &mut out)?;
    drop(out);
    file.sync()?;
    storage.rename(&beside, &path)?;
    storage.sync_directory(&directory)?;
    Ok(Backup { path, sizes })
}

/// Adds to a file.
pub(crate) struct FileWriter<'a>(pub(crate) &'a dyn StorageFile);

impl Write for FileWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.append(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes `revs`, which are all descendants of some of them and nothing else, oldest first. A
/// reader of the bundle must have their other parents.
///
/// # Errors
/// Damaged revisions; errors of the writer.
pub fn write_backup(
    view: &RepoView,
    revs: &[Rev],
    mut out: impl Write,
) -> Result<SectionSizes, ExchangeError> {
    write_start(&mut out, BZIP2)?;
    let mut bundle = BundleWriter::after_start(StreamEncoder::bzip2(out));
    let mut phases = revs.iter().map(|rev| view.phases().of(*rev));
    let has_secret = phases.any(|phase| phase == Phase::Secret);
    let secret = has_secret.then_some(Phase::Secret);
    let version = ChangegroupVersion::V3;
    let header = changegroup::header(version, Some(revs.len()), secret);
    let mut payload = bundle.start_part(header)?;
    let sizes = write_changegroup(view, &selection(view, revs), version, &mut payload)?;
    payload.end()?;
    bundle.write_part(&Part {
        header: PartHeader::advisory(PartType::BranchCache),
        payload: branches(view, revs)?,
    })?;
    bundle.write_part(&Part {
        header: PartHeader::mandatory(PartType::PhaseHeads),
        payload: own_phase_heads(view, revs),
    })?;
    bundle.finish()?.finish()?.flush()?;
    Ok(sizes)
}

/// How large the sections of a bundle of `revs` would be.
///
/// # Errors
/// Damaged revisions.
pub fn measure_bundle(view: &RepoView, revs: &[Rev]) -> Result<SectionSizes, ExchangeError> {
    let selection = selection(view, revs);
    write_changegroup(view, &selection, ChangegroupVersion::V3, &mut io::sink())
}

fn selection(view: &RepoView, revs: &[Rev]) -> Selection {
    Selection::exactly(view.changelog(), revs, &[])
}
