//! Files in memory that record what they are told.

use std::collections::BTreeMap;
use varve_patch::{
    ApplyOptions, LineEnds, PatchError, PatchMode, PatchNotice, PatchTarget, TargetFile, apply,
};

/// The files, and all that a patch did besides writing them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Store {
    pub files: BTreeMap<String, TargetFile>,
    /// Source and copy.
    pub copies: Vec<(String, String)>,
    pub rejects: BTreeMap<String, String>,
    /// All notices but those that a file is begun.
    pub notices: Vec<String>,
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

impl Store {
    /// With one plain file `f`.
    pub fn of(content: impl Into<Vec<u8>>) -> Store {
        let mut store = Store::default();
        store.put("f", content);
        store
    }

    pub fn put(&mut self, path: &str, content: impl Into<Vec<u8>>) {
        let file = TargetFile {
            content: content.into(),
            mode: PatchMode::default(),
        };
        self.files.insert(path.to_owned(), file);
    }

    pub fn content(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(|file| &file.content[..])
    }

    /// Applies a patch whose paths have one directory to strip; returns whether hunks were rejected.
    pub fn patch(
        &mut self,
        patch: impl AsRef<[u8]>,
        fuzz: usize,
        line_ends: LineEnds,
    ) -> Result<bool, PatchError> {
        let options = ApplyOptions {
            strip: 1,
            prefix: Vec::new(),
            fuzz,
            line_ends,
        };
        apply(patch.as_ref(), self, &options).map(|outcome| outcome.has_rejects)
    }
}

impl PatchTarget for Store {
    type Error = PatchError;

    fn read(&mut self, path: &[u8]) -> Result<Option<TargetFile>, PatchError> {
        Ok(self.files.get(&text(path)).cloned())
    }

    fn exists(&mut self, path: &[u8]) -> Result<bool, PatchError> {
        Ok(self.files.contains_key(&text(path)))
    }

    fn write(
        &mut self,
        path: &[u8],
        content: Option<&[u8]>,
        mode: Option<PatchMode>,
        copied_from: Option<&[u8]>,
    ) -> Result<(), PatchError> {
        let file = self.files.entry(text(path)).or_default();
        if let Some(content) = content {
            file.content = content.to_vec();
        }
        file.mode = mode.unwrap_or(file.mode);
        let copies = copied_from.map(|source| (text(source), text(path)));
        self.copies.extend(copies);
        Ok(())
    }

    fn remove(&mut self, path: &[u8]) -> Result<(), PatchError> {
        self.files.remove(&text(path));
        Ok(())
    }

    fn keep_rejects(&mut self, path: &[u8], rejects: &[u8]) -> Result<(), PatchError> {
        self.rejects.insert(text(path), text(rejects));
        Ok(())
    }

    fn notice(&mut self, notice: &PatchNotice<'_>) -> Result<(), PatchError> {
        self.notices.extend(match notice {
            PatchNotice::File { .. } => None,
            PatchNotice::Moved {
                number,
                line,
                fuzz,
                offset,
            } => Some(format!("{number} at {line} fuzz {fuzz} offset {offset}")),
            PatchNotice::Failed { number, line } => Some(format!("{number} failed at {line}")),
            PatchNotice::Rejects {
                rejected, hunks, ..
            } => Some(format!("{rejected} of {hunks} rejected")),
            other => Some(format!("{other:?}")),
        });
        Ok(())
    }
}
