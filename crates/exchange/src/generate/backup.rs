//! The bundle that keeps changesets which are about to be stripped, as Mercurial makes it: bundle2
//! under bzip2, with a changegroup, the branches of the changesets, the obsolescence markers
//! that led to them, and their phases.

use super::changegroup::{SectionSizes, write_changegroup};
use super::part_payloads::{branches, own_phase_heads};
use super::selection::Selection;
use crate::ExchangeError;
use crate::format::bundle20::{BundleWriter, write_start};
use crate::format::changegroup::ChangegroupVersion;
use crate::format::part::{Part, PartHeader, PartType, changegroup};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
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
    let mut nodes: Vec<Node> = revs.iter().map(|rev| view.changelog().node(*rev)).collect();
    // Mercurial counts the null revision where it was asked for.
    nodes.extend(
        first
            .is_null()
            .then_some(*first)
            .filter(|_| !revs.is_empty()),
    );
    save_backup_as(view, storage, &bundle_name(first, &nodes, purpose), revs)
}

/// The same with a given name of the file.
///
/// # Errors
/// As of [`write_backup`]; there is no file then.
pub fn save_backup_as(
    view: &RepoView,
    storage: &dyn Storage,
    name: &str,
    revs: &[Rev],
) -> Result<Backup, ExchangeError> {
    let directory = view.root().join(".hg/strip-backup");
    storage.create_directory(&directory)?;
    let path = directory.join(name);
    let sizes = save(storage, &path, |out| write_backup(view, revs, out))?;
    Ok(Backup { path, sizes })
}

/// Writes the changeset `rev` and those of its ancestors that are not public to a new file, as Mercurial keeps a
/// shelved change: bundle2 under bzip2 with nothing but a changegroup.
///
/// # Errors
/// As of [`write_backup`]; there is no file then.
pub fn save_shelf(
    view: &RepoView,
    storage: &dyn Storage,
    rev: Rev,
    path: &Path,
) -> Result<(usize, SectionSizes), ExchangeError> {
    let mut revs = view.missing_ancestors(&[rev], &[]);
    revs.retain(|ancestor| *ancestor == rev || view.phases().of(*ancestor) != Phase::Public);
    let version = ChangegroupVersion::V2;
    let sizes = save(storage, path, |mut out| {
        write_start(&mut out, BZIP2)?;
        let mut bundle = BundleWriter::after_start(StreamEncoder::bzip2(out));
        let mut payload =
            bundle.start_part(changegroup::header(version, Some(revs.len()), None))?;
        let sizes = write_changegroup(view, &selection(view, &revs), version, &mut payload)?;
        payload.end()?;
        bundle.finish()?.finish()?.flush()?;
        Ok(sizes)
    })?;
    Ok((revs.len(), sizes))
}

/// Writes a file beside its place, and moves it there once it is whole.
fn save<T>(
    storage: &dyn Storage,
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<T, ExchangeError>,
) -> Result<T, ExchangeError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let beside = path.with_file_name(name);
    if storage.kind(&beside)?.is_some() {
        storage.remove(&beside)?;
    }
    let file = storage.open(&beside, OpenMode::CreateNew)?;
    let mut out = BufWriter::with_capacity(BUFFER, FileWriter(file.as_ref()));
    let written = write(&mut out)?;
    out.flush()?;
    drop(out);
    file.sync()?;
    storage.rename(&beside, path)?;
    storage.sync_directory(path.parent().unwrap_or(path))?;
    Ok(written)
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
    let nodes: Vec<Node> = revs.iter().map(|rev| view.changelog().node(*rev)).collect();
    let markers = view.relevant_markers(&nodes)?;
    if !markers.is_empty() {
        bundle.write_part(&Part {
            header: PartHeader::mandatory(PartType::Obsmarkers),
            payload: markers,
        })?;
    }
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
