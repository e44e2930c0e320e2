//! Copies, as far as a replay without the working copy can follow them.

use crate::WorkdirError;
use crate::tree::{Difference, Tree, differences};
use std::collections::HashMap;
use varve_repo::{FileText, Node, RepoView};

/// Reads where files come from, and remembers it.
pub(super) struct CopySources<'a> {
    view: &'a RepoView,
    /// Whether a revision of a file is a copy or follows from one.
    is_copied: HashMap<(Vec<u8>, Node), bool>,
}

impl<'a> CopySources<'a> {
    pub(super) fn new(view: &'a RepoView) -> Self {
        CopySources {
            view,
            is_copied: HashMap::new(),
        }
    }

    /// The file that this very revision was copied from.
    pub(super) fn source(&self, path: &[u8], node: Node) -> Result<Option<Vec<u8>>, WorkdirError> {
        let filelog = self.view.filelog(path)?;
        let rev = filelog.rev(&node);
        let Some(rev) = rev.filter(|rev| filelog.parents(*rev)[0].is_none()) else {
            return Ok(None);
        };
        let text = filelog.text(rev)?;
        let copied = FileText::parse(&text).copied_from;
        Ok(copied.map(|(source, _)| source.to_vec()))
    }

    /// Whether no copy has to be followed: our side has none since the base, and the sources of theirs are with us as
    /// they are in the base.
    pub(super) fn are_clear(
        &mut self,
        [base, ours, theirs]: [&Tree<'_>; 3],
        changed: &[Difference<'_>],
    ) -> Result<bool, WorkdirError> {
        let mut left = Vec::new();
        for (path, before, after) in changed {
            let (None, Some((node, _))) = (before, after) else {
                continue;
            };
            let Some(source) = self.source(path, *node)? else {
                continue;
            };
            let of_base = base.get(&source)?;
            if of_base.is_none() || ours.get(&source)? != of_base {
                return Ok(false);
            }
            if theirs.get(&source)?.is_none() {
                // A file that we have added there may have to follow.
                let slash = source.iter().rposition(|byte| *byte == b'/');
                left.extend(slash.map(|slash| source[..=slash].to_vec()));
            }
        }
        for (path, before, after) in differences(base, ours)? {
            let (None, Some((node, _))) = (before, after) else {
                continue;
            };
            let follows = left.iter().any(|directory| path.starts_with(directory));
            if follows || self.may_be_copied(path, node)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a file was copied at any time, or is too new to tell.
    fn may_be_copied(&mut self, path: &[u8], node: Node) -> Result<bool, WorkdirError> {
        let key = (path.to_vec(), node);
        if let Some(known) = self.is_copied.get(&key) {
            return Ok(*known);
        }
        let filelog = self.view.filelog(path)?;
        let mut found = true;
        if let Some(mut rev) = filelog.rev(&node) {
            while let [Some(parent), None] = filelog.parents(rev) {
                rev = parent;
            }
            let is_merge = filelog.parents(rev)[1].is_some();
            let text = filelog.text(rev)?;
            found = is_merge || FileText::parse(&text).copied_from.is_some();
        }
        self.is_copied.insert(key, found);
        Ok(found)
    }
}
