//! A whole changegroup: changesets, then manifests, then one group per file.

use super::changed_files::Prerequisites;
use super::group::{GroupWriter, Sent};
use super::selection::Selection;
use crate::ExchangeError;
use crate::format::changegroup::{ChangegroupVersion, write_chunk, write_end};
use std::io::{self, Write};
use varve_repo::{RepoError, RepoView};
use varve_revlog::{Rev, Revlog, RevlogError};

/// Bytes that the sections of a changegroup have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SectionSizes {
    /// Length in bytes of the section of changesets.
    pub changesets: u64,
    /// Length in bytes of the section of manifests.
    pub manifests: u64,
    /// Of each file with new revisions, in order.
    pub files: Vec<(Vec<u8>, u64)>,
    /// Number of revisions of all files.
    pub file_revisions: usize,
}

/// Writes the selected changesets and everything that they need.
pub(crate) fn write_changegroup(
    view: &RepoView,
    selection: &Selection,
    version: ChangegroupVersion,
    out: &mut impl Write,
) -> Result<SectionSizes, ExchangeError> {
    let mut writer = ChangegroupWriter {
        view,
        selection,
        group: GroupWriter::new(version),
        out: Counting { out, written: 0 },
    };
    let mut sizes = SectionSizes::default();
    writer.changesets()?;
    sizes.changesets = writer.out.take();
    // In a clone of everything each link is right, and the list of files is at hand.
    let (changed, files) = if selection.is_everything() {
        (Prerequisites::default(), view.files_with_history()?)
    } else {
        let mut changed = Prerequisites::read(view, selection)?;
        let files = std::mem::take(&mut changed.files).into_keys().collect();
        (changed, files)
    };
    writer.manifests(&changed)?;
    sizes.manifests = writer.out.take();
    if version == ChangegroupVersion::V3 {
        // No tree manifests.
        write_end(writer.out.out)?;
    }
    for path in files {
        sizes.file_revisions += writer.file(&path, &changed)?;
        match writer.out.take() {
            0 => {}
            size => sizes.files.push((path, size)),
        }
    }
    write_end(writer.out.out)?;
    Ok(sizes)
}

fn lossy(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

/// Counts the bytes written.
struct Counting<'a, W> {
    out: &'a mut W,
    written: u64,
}

impl<W> Counting<'_, W> {
    /// Bytes since the last call.
    fn take(&mut self) -> u64 {
        std::mem::take(&mut self.written)
    }
}

impl<W: Write> Write for Counting<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

struct ChangegroupWriter<'a, W> {
    view: &'a RepoView,
    selection: &'a Selection,
    group: GroupWriter,
    out: Counting<'a, W>,
}

impl<W: Write> ChangegroupWriter<'_, W> {
    fn changesets(&mut self) -> Result<(), ExchangeError> {
        let changelog = self.view.changelog();
        let sent = self.selection.sent().map(|rev| Sent {
            rev,
            changeset: changelog.node(rev),
        });
        let sent: Vec<Sent> = sent.collect();
        let client_has = |rev: Rev| self.selection.client_has_link(rev.0.into());
        self.group
            .write(changelog, &sent, client_has, &mut self.out)
    }

    fn manifests(&mut self, changed: &Prerequisites) -> Result<(), ExchangeError> {
        let manifest = self.view.manifest()?;
        let sent = self.linked(manifest, &changed.shared_manifests);
        self.below(manifest, &sent)
    }

    /// Returns how many revisions were sent. A file that the store lists, has no filelog for and no changeset names was
    /// never stored: there is nothing to send.
    fn file(&mut self, path: &[u8], changed: &Prerequisites) -> Result<usize, ExchangeError> {
        let filelog = match self.view.filelog(path) {
            Err(RepoError::Revlog(RevlogError::Storage(error))) if error.is_not_found() => {
                return match self.view.is_named(path) {
                    true => Err(RepoError::MissingFileData(lossy(path)).into()),
                    false => Ok(0),
                };
            }
            other => other?,
        };
        let shared = changed.shared_files.get(path);
        let sent = self.linked(&filelog, shared.map_or(&[], Vec::as_slice));
        if sent.is_empty() {
            return Ok(0);
        }
        write_chunk(path, &mut self.out)?;
        self.below(&filelog, &sent)?;
        Ok(sent.len())
    }

    /// Revisions that sent changesets introduced, and those that they share.
    fn linked(&self, revlog: &Revlog, shared: &[Sent]) -> Vec<Sent> {
        let changelog = self.view.changelog();
        let own = revlog.revs().filter_map(|rev| {
            let link = self.selection.sent_link(revlog.linkrev(rev))?;
            let changeset = changelog.node(link);
            Some(Sent { rev, changeset })
        });
        let mut sent: Vec<Sent> = own.chain(shared.iter().copied()).collect();
        if !shared.is_empty() {
            sent.sort_unstable_by_key(|sent| sent.rev);
        }
        sent
    }

    fn below(&mut self, revlog: &Revlog, sent: &[Sent]) -> Result<(), ExchangeError> {
        let client_has = |rev| self.selection.client_has_link(revlog.linkrev(rev));
        self.group.write(revlog, sent, client_has, &mut self.out)
    }
}
