//! A whole changegroup: changesets, then manifests, then one group per file.

use super::framing::{Version, write_chunk, write_end};
use super::group::{GroupWriter, Sent};
use super::selection::Selection;
use super::touched::Touched;
use crate::ExchangeError;
use std::io::Write;
use varve_repo::{RepoError, RepoView};
use varve_revlog::{Rev, Revlog, RevlogError};

/// Writes the selected changesets and everything that they need.
pub(crate) fn write_changegroup(
    view: &RepoView,
    selection: &Selection,
    version: Version,
    out: &mut impl Write,
) -> Result<(), ExchangeError> {
    let mut writer = ChangegroupWriter {
        view,
        selection,
        group: GroupWriter::new(version),
        out,
    };
    writer.changesets()?;
    // In a clone of everything each link is right, and the list of files is at hand.
    let (touched, files) = if selection.is_everything() {
        (Touched::default(), view.tracked_files()?)
    } else {
        let mut touched = Touched::read(view, selection)?;
        let files = std::mem::take(&mut touched.files).into_keys().collect();
        (touched, files)
    };
    writer.manifests(&touched)?;
    if version == Version::V3 {
        // No tree manifests.
        write_end(writer.out)?;
    }
    for path in &files {
        writer.file(path, &touched)?;
    }
    Ok(write_end(writer.out)?)
}

struct ChangegroupWriter<'a, W> {
    view: &'a RepoView,
    selection: &'a Selection,
    group: GroupWriter,
    out: &'a mut W,
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
        self.group.write(changelog, &sent, client_has, self.out)
    }

    fn manifests(&mut self, touched: &Touched) -> Result<(), ExchangeError> {
        let manifest = self.view.manifest()?;
        let sent = self.linked(manifest, &touched.shared_manifests);
        self.below(manifest, &sent)
    }

    /// A file without a filelog was listed but never stored: there is nothing to send.
    fn file(&mut self, path: &[u8], touched: &Touched) -> Result<(), ExchangeError> {
        let filelog = match self.view.filelog(path) {
            Err(RepoError::Revlog(RevlogError::Storage(error))) if error.is_not_found() => {
                return Ok(());
            }
            other => other?,
        };
        let shared = touched.shared_files.get(path);
        let sent = self.linked(&filelog, shared.map_or(&[], Vec::as_slice));
        if sent.is_empty() {
            return Ok(());
        }
        write_chunk(path, self.out)?;
        self.below(&filelog, &sent)
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
        self.group.write(revlog, sent, client_has, self.out)
    }
}
