//! The entries of a directory.

use super::{PageReader, Text};
use crate::hg::pages::error::PageError;
use hyper::StatusCode;
use varve_repo::{FileKind, Node, ReaderState, Rev};

/// A directory of a changeset.
#[derive(Clone, Debug)]
pub(in crate::hg::pages) struct Directory {
    /// Without slashes at its ends; empty for the root.
    pub(in crate::hg::pages) path: Text,
    pub(in crate::hg::pages) directories: Vec<Subdirectory>,
    pub(in crate::hg::pages) files: Vec<TreeFile>,
}

/// A directory in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::hg::pages) struct Subdirectory {
    pub(in crate::hg::pages) name: Text,
    /// The directories below it, as far as each is all that the one above has.
    pub(in crate::hg::pages) only: Text,
}

/// A file in a directory.
#[derive(Clone, Debug)]
pub(in crate::hg::pages) struct TreeFile {
    pub(in crate::hg::pages) name: Text,
    pub(in crate::hg::pages) kind: FileKind,
    pub(in crate::hg::pages) node: Node,
    /// In bytes.
    pub(in crate::hg::pages) size: u64,
}

impl PageReader<'_> {
    /// The directory of this path.
    ///
    /// # Errors
    /// 404 without a file below it.
    pub(in crate::hg::pages) fn directory(
        &self,
        rev: Option<Rev>,
        path: &[u8],
    ) -> Result<Directory, PageError> {
        let manifest = self.view.manifest_text(rev)?;
        let prefix = match path {
            b"" => Vec::new(),
            path => [path, b"/"].concat(),
        };
        let mut directory = Directory {
            path: path.to_vec(),
            directories: Vec::new(),
            files: Vec::new(),
        };
        for entry in self.view.manifest_entries(&manifest) {
            let entry = entry?;
            let Some(rest) = entry.path.strip_prefix(prefix.as_slice()) else {
                continue;
            };
            match rest.iter().position(|byte| *byte == b'/') {
                None => directory.files.push(TreeFile {
                    name: rest.to_vec(),
                    kind: entry.kind,
                    node: entry.node,
                    size: 0,
                }),
                Some(end) => directory.add_below(&rest[..end], &rest[end + 1..]),
            }
        }
        if directory.files.is_empty() && directory.directories.is_empty() && rev.is_some() {
            return Err(PageError::told(StatusCode::NOT_FOUND, "path not found"));
        }
        // A manifest has `a-b/f` before `a/f`.
        directory.directories.sort_by(|a, b| a.name.cmp(&b.name));
        self.measure(&prefix, &mut directory.files)?;
        Ok(directory)
    }

    fn measure(&self, prefix: &[u8], files: &mut [TreeFile]) -> Result<(), PageError> {
        let mut state = ReaderState::default();
        for file in files {
            self.check_stop()?;
            let path = [prefix, &file.name].concat();
            let content = self.view.file_content_with(&path, &file.node, &mut state)?;
            file.size = content.len() as u64;
        }
        Ok(())
    }
}

impl Directory {
    /// Adds a file somewhere below a directory in it; the paths come in order.
    fn add_below(&mut self, name: &[u8], rest: &[u8]) {
        let end = rest.iter().rposition(|byte| *byte == b'/');
        let below = &rest[..end.unwrap_or(0)];
        match self.directories.last_mut() {
            Some(directory) if directory.name == name => {
                directory.only = shared(&directory.only, below)
            }
            _ => self.directories.push(Subdirectory {
                name: name.to_vec(),
                only: below.to_vec(),
            }),
        }
    }
}

/// The directories that both paths begin with.
fn shared(one: &[u8], other: &[u8]) -> Text {
    let parts = |path: &[u8]| -> Vec<Text> {
        let parts = path.split(|byte| *byte == b'/');
        let parts = parts.filter(|part| !part.is_empty());
        parts.map(<[u8]>::to_vec).collect()
    };
    let (one, other) = (parts(one), parts(other));
    let both = one.into_iter().zip(other);
    let both = both.take_while(|(one, other)| one == other);
    both.map(|(one, _)| one).collect::<Vec<_>>().join(&b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_that_hold_only_one_are_one_line() {
        let mut directory = Directory {
            path: Vec::new(),
            directories: Vec::new(),
            files: Vec::new(),
        };
        for (name, rest) in [("a", "b/c/f"), ("a", "b/d/f"), ("e", "f"), ("g", "h/i/f")] {
            directory.add_below(name.as_bytes(), rest.as_bytes());
        }
        let shown = directory.directories.iter().map(|found| {
            let text = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
            format!("{}:{}", text(&found.name), text(&found.only))
        });
        assert_eq!(shown.collect::<Vec<_>>(), ["a:b", "e:", "g:h/i"]);
    }
}
