//! Content of a changeset: its manifest, and the text of one file.

use crate::format::{FileText, ManifestEntries, ManifestEntry, RepoError};
use crate::read::RepoView;
use varve_revlog::{Node, ReaderState, Rev, Revlog};

impl RepoView {
    /// Text of a changeset's manifest; empty for the null revision.
    ///
    /// # Errors
    /// A damaged or missing changeset or manifest.
    pub fn manifest_text(&self, changeset: Option<Rev>) -> Result<Vec<u8>, RepoError> {
        let Some(changeset) = changeset else {
            return Ok(Vec::new());
        };
        let node = self.with_changeset(changeset, |changeset| changeset.manifest)?;
        if node.is_null() {
            return Ok(Vec::new());
        }
        let manifest = self.manifest()?;
        Ok(manifest.text(existing(manifest, "manifest", &node)?)?)
    }

    /// The entry of one path in the text of a manifest.
    ///
    /// # Errors
    /// A line that was looked at is damaged.
    pub fn find_in_manifest<'a>(
        &self,
        text: &'a [u8],
        path: &[u8],
    ) -> Result<Option<ManifestEntry<'a>>, RepoError> {
        ManifestEntries::find(text, path).map_err(|damage| self.damaged_manifest(damage))
    }

    /// All entries in the text of a manifest.
    pub fn manifest_entries<'a>(
        &self,
        text: &'a [u8],
    ) -> impl Iterator<Item = Result<ManifestEntry<'a>, RepoError>> + use<'a, '_> {
        ManifestEntries::new(text)
            .map(|entry| entry.map_err(|damage| self.damaged_manifest(damage)))
    }

    /// Content of a file, without the metadata that its filelog keeps in front of it.
    ///
    /// # Errors
    /// A damaged or missing filelog or revision.
    pub fn file_content(&self, path: &[u8], node: &Node) -> Result<Vec<u8>, RepoError> {
        self.file_content_with(path, node, &mut ReaderState::default())
    }

    /// As [`RepoView::file_content`], for many files: the buffers and contexts for reading go from
    /// one to the next.
    ///
    /// # Errors
    /// A damaged or missing filelog or revision.
    pub fn file_content_with(
        &self,
        path: &[u8],
        node: &Node,
        state: &mut ReaderState,
    ) -> Result<Vec<u8>, RepoError> {
        let filelog = self.filelog(path)?;
        let rev = existing(&filelog, "revision", node)?;
        let mut reader = filelog.reader_with(std::mem::take(state));
        let text = reader.text(rev);
        let content = text.map(|text| FileText::parse(text).content.to_vec());
        *state = reader.into_state();
        Ok(content?)
    }

    fn damaged_manifest(&self, (offset, reason): (usize, &'static str)) -> RepoError {
        RepoError::DamagedManifest {
            path: self.root().to_owned(),
            node: Node::NULL,
            offset,
            reason,
        }
    }
}

pub(crate) fn existing(revlog: &Revlog, what: &'static str, node: &Node) -> Result<Rev, RepoError> {
    revlog.rev(node).ok_or_else(|| RepoError::MissingNode {
        what,
        node: *node,
        path: revlog.path().to_owned(),
    })
}
