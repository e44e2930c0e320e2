//! A file of a changeset, and its history.

use super::{LONGEST_FILE, PageReader, Text};
use crate::hg::pages::error::PageError;
use varve_repo::{Ancestors, FileKind, FileRevision, FileText, Node, Rev, Revlog};

/// A file as a changeset has it.
#[derive(Clone, Debug)]
pub(in crate::hg::pages) struct FileVersion {
    pub(in crate::hg::pages) path: Text,
    /// The changeset that was asked for; `None` is the null revision.
    pub(in crate::hg::pages) changeset: Option<Rev>,
    /// Revision of the filelog.
    pub(in crate::hg::pages) node: Node,
    pub(in crate::hg::pages) kind: FileKind,
}

/// Changesets beside a file's.
#[derive(Clone, Debug, Default)]
pub(in crate::hg::pages) struct FileRelatives {
    /// Of the versions before, or the one that brought this version if the changeset did not touch the file.
    pub(in crate::hg::pages) parents: Vec<Node>,
    pub(in crate::hg::pages) children: Vec<Node>,
    /// The file that it was copied from with this version, as it is in the first of the parents.
    pub(in crate::hg::pages) source: Option<Text>,
}

impl PageReader<'_> {
    /// The file of this path, if the changeset has it.
    ///
    /// # Errors
    /// A damaged repository.
    pub(in crate::hg::pages) fn find_file(
        &self,
        changeset: Option<Rev>,
        path: &[u8],
    ) -> Result<Option<FileVersion>, PageError> {
        let manifest = self.view.manifest_text(changeset)?;
        let entry = self.view.find_in_manifest(&manifest, path)?;
        Ok(entry.map(|entry| FileVersion {
            path: path.to_vec(),
            changeset,
            node: entry.node,
            kind: entry.kind,
        }))
    }

    /// [`PageReader::find_file`] for one that has to be there.
    ///
    /// # Errors
    /// 404.
    pub(in crate::hg::pages) fn file(
        &self,
        changeset: Option<Rev>,
        path: &[u8],
    ) -> Result<FileVersion, PageError> {
        if path.is_empty() {
            return Err(PageError::no_file());
        }
        let found = self.find_file(changeset, path)?;
        found.ok_or_else(|| PageError::not_in_manifest(path, &self.node(changeset)))
    }

    /// The bytes of a file.
    ///
    /// # Errors
    /// A damaged repository.
    pub(in crate::hg::pages) fn content(&self, file: &FileVersion) -> Result<Text, PageError> {
        Ok(self.view.file_content(&file.path, &file.node)?)
    }

    /// The bytes of a file that is to be shown in lines.
    ///
    /// # Errors
    /// 413 if it is longer than [`LONGEST_FILE`].
    pub(in crate::hg::pages) fn lines_of(&self, file: &FileVersion) -> Result<Text, PageError> {
        let content = self.content(file)?;
        if content.len() > LONGEST_FILE {
            return Err(PageError::too_long("the file"));
        }
        if is_binary(&content) {
            return Ok(format!("(binary:{})", media_type(&file.path)).into_bytes());
        }
        Ok(content)
    }

    /// The changeset that brought this version of the file.
    ///
    /// # Errors
    /// A damaged repository.
    pub(in crate::hg::pages) fn introduced(
        &self,
        file: &FileVersion,
    ) -> Result<Option<Rev>, PageError> {
        let filelog = self.view.filelog(&file.path)?;
        let Some(rev) = filelog.rev(&file.node) else {
            return Ok(file.changeset);
        };
        self.introduced_at((&file.path, &filelog, rev), file.changeset)
    }

    fn introduced_at(
        &self,
        (path, filelog, rev): (&[u8], &Revlog, Rev),
        from: Option<Rev>,
    ) -> Result<Option<Rev>, PageError> {
        let Some(from) = from else { return Ok(None) };
        let mut history = Ancestors::new(self.view.changelog(), &[from]);
        let revision = FileRevision { path, filelog, rev };
        Ok(self
            .view
            .introducing_changeset(revision, &mut history, from)?)
    }

    /// The changesets beside a file's.
    ///
    /// # Errors
    /// A damaged repository.
    pub(in crate::hg::pages) fn relatives(
        &self,
        file: &FileVersion,
    ) -> Result<FileRelatives, PageError> {
        let filelog = self.view.filelog(&file.path)?;
        let Some(rev) = filelog.rev(&file.node) else {
            return Ok(FileRelatives::default());
        };
        let text = filelog.text(rev)?;
        let source = FileText::parse(&text)
            .copied_from
            .map(|(path, node)| (path.to_vec(), node));
        let introduced = self.introduced_at((&file.path, &filelog, rev), file.changeset)?;
        let mut relatives = FileRelatives {
            children: self.file_children(&filelog, rev),
            source: None,
            parents: Vec::new(),
        };
        if introduced != file.changeset {
            relatives.parents = vec![self.node(introduced)];
            return Ok(relatives);
        }
        if let Some((path, node)) = source {
            relatives.source = Some(path.clone());
            let before = FileVersion {
                path,
                node,
                ..file.clone()
            };
            relatives.parents.push(self.node(self.introduced(&before)?));
        }
        for parent in filelog.parents(rev).into_iter().flatten() {
            let introduced = self.introduced_at((&file.path, &filelog, parent), file.changeset)?;
            relatives.parents.push(self.node(introduced));
        }
        Ok(relatives)
    }

    fn file_children(&self, filelog: &Revlog, rev: Rev) -> Vec<Node> {
        let later = (rev.0 + 1..filelog.len() as u32).map(Rev);
        let children = later.filter(|child| filelog.parents(*child).contains(&Some(rev)));
        let changesets = children.filter_map(|child| self.linked(filelog, child));
        changesets
            .map(|changeset| self.view.changelog().node(changeset))
            .collect()
    }

    /// The changeset that a filelog names for a revision, if clients see it.
    fn linked(&self, filelog: &Revlog, rev: Rev) -> Option<Rev> {
        let changelog = self.view.changelog();
        let linked = changelog.rev_at(filelog.linkrev(rev))?;
        self.view.is_visible(linked).then_some(linked)
    }

    /// Changesets that brought versions of a file up to one, newest first.
    ///
    /// # Errors
    /// A damaged repository.
    pub(in crate::hg::pages) fn file_log(
        &self,
        file: &FileVersion,
        limit: usize,
    ) -> Result<Vec<FileVersion>, PageError> {
        let filelog = self.view.filelog(&file.path)?;
        let Some(newest) = filelog.rev(&file.node) else {
            return Ok(Vec::new());
        };
        let versions = (0..=newest.0).rev().map(Rev);
        let versions = versions.filter_map(|rev| {
            Some(FileVersion {
                changeset: Some(self.linked(&filelog, rev)?),
                node: filelog.node(rev),
                ..file.clone()
            })
        });
        Ok(versions.take(limit).collect())
    }

    /// The newest version of a file up to a changeset that does not have it, because one of them removed it.
    ///
    /// # Errors
    /// 404 if there is none.
    pub(in crate::hg::pages) fn file_with_history(
        &self,
        changeset: Option<Rev>,
        path: &[u8],
    ) -> Result<FileVersion, PageError> {
        let missing = match self.file(changeset, path) {
            Ok(file) => return Ok(file),
            Err(missing) => missing,
        };
        if path.is_empty() {
            return Err(missing);
        }
        if !self.view.is_named(path) {
            return Err(missing);
        }
        let filelog = self.view.filelog(path)?;
        let newest = filelog.revs().rev().find_map(|rev| {
            let linked = self.linked(&filelog, rev)?;
            (Some(linked) <= changeset).then(|| (linked, filelog.node(rev)))
        });
        match newest {
            Some((linked, node)) => Ok(FileVersion {
                path: path.to_vec(),
                changeset: Some(linked),
                node,
                kind: FileKind::Plain,
            }),
            None => Err(missing),
        }
    }
}

/// Returns whether a file is no text: it has a NUL byte.
pub(in crate::hg::pages) fn is_binary(content: &[u8]) -> bool {
    content.contains(&0)
}

/// The media type that the ending of a name suggests.
pub(in crate::hg::pages) fn media_type(path: &[u8]) -> &'static str {
    let ending = path.rsplit(|byte| matches!(byte, b'.' | b'/')).next();
    let ending = ending.map(<[u8]>::to_ascii_lowercase).unwrap_or_default();
    match ending.as_slice() {
        _ if !path.contains(&b'.') => "application/octet-stream",
        b"txt" | b"c" | b"h" | b"bat" | b"ksh" | b"pl" => "text/plain",
        b"html" | b"htm" => "text/html",
        b"css" => "text/css",
        b"csv" => "text/csv",
        b"py" => "text/x-python",
        b"xml" => "text/xml",
        b"js" | b"mjs" => "text/javascript",
        b"json" => "application/json",
        b"png" => "image/png",
        b"gif" => "image/gif",
        b"jpg" | b"jpeg" | b"jpe" => "image/jpeg",
        b"svg" => "image/svg+xml",
        b"ico" => "image/vnd.microsoft.icon",
        b"bmp" => "image/bmp",
        b"tif" | b"tiff" => "image/tiff",
        b"webp" => "image/webp",
        b"pdf" => "application/pdf",
        b"ps" | b"eps" | b"ai" => "application/postscript",
        b"zip" => "application/zip",
        b"tar" => "application/x-tar",
        b"doc" => "application/msword",
        b"xls" => "application/vnd.ms-excel",
        b"ppt" => "application/vnd.ms-powerpoint",
        b"mp3" => "audio/mpeg",
        b"wav" => "audio/x-wav",
        b"mp4" => "video/mp4",
        b"mov" | b"qt" => "video/quicktime",
        b"avi" => "video/x-msvideo",
        b"wasm" => "application/wasm",
        b"sh" => "application/x-sh",
        _ => "application/octet-stream",
    }
}
