//! The changeset that each line of a file comes from.

use super::changesets::ChangesetEntry;
use super::diff::lines;
use super::file::FileVersion;
use super::{PageReader, Text};
use crate::hg::pages::error::PageError;
use std::collections::HashMap;
use std::rc::Rc;
use varve_delta::Blanks;
use varve_repo::{AnnotateOptions, AnnotateStart, Rev, StoredFile};

/// A line and its origin.
#[derive(Clone, Debug)]
pub(in crate::hg::pages) struct AnnotatedLine {
    pub(in crate::hg::pages) text: Text,
    pub(in crate::hg::pages) origin: Rc<ChangesetEntry>,
    /// The file's name there.
    pub(in crate::hg::pages) path: Text,
    /// The line's number there, from 1.
    pub(in crate::hg::pages) line: usize,
}

impl PageReader<'_> {
    /// Annotates a file; one that is no text has a single line.
    ///
    /// # Errors
    /// 413 if it is too long.
    pub(in crate::hg::pages) fn annotation(
        &self,
        file: &FileVersion,
        blanks: Blanks,
    ) -> Result<Vec<AnnotatedLine>, PageError> {
        let text = self.lines_of(file)?;
        let content = self.content(file)?;
        let Some(changeset) = file.changeset else {
            return Ok(Vec::new());
        };
        if super::file::is_binary(&content) {
            let origin = self.entry(self.introduced(file)?)?;
            return Ok(vec![AnnotatedLine {
                text,
                origin: Rc::new(origin),
                path: file.path.clone(),
                line: 1,
            }]);
        }
        let start = AnnotateStart::Stored(StoredFile {
            changeset,
            path: file.path.clone(),
            node: file.node,
        });
        let how = AnnotateOptions {
            follow: true,
            blanks,
            skip: &|_| false,
            stop: self.stop,
        };
        let annotated = self.view.annotate(&start, &content, &how)?;
        let mut known: HashMap<Option<Rev>, Rc<ChangesetEntry>> = HashMap::new();
        let mut found = Vec::with_capacity(annotated.lines.len());
        for (line, text) in annotated.lines.iter().zip(lines(&content)) {
            let version = annotated.versions.get(line.version);
            let rev = version.and_then(|version| version.changeset);
            let origin = match known.get(&rev) {
                Some(origin) => Rc::clone(origin),
                None => {
                    let origin = Rc::new(self.entry(rev)?);
                    known.insert(rev, Rc::clone(&origin));
                    origin
                }
            };
            found.push(AnnotatedLine {
                text: text.to_vec(),
                origin,
                path: version.map_or_else(|| file.path.clone(), |version| version.path.clone()),
                line: line.line + 1,
            });
        }
        Ok(found)
    }
}
