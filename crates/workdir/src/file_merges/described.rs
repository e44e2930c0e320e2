//! The names of the sides of a merge, with their changesets where that is asked for.

use super::{DescribedSide, MergeFile, Merger};
use crate::{MarkerStyle, MergeLabels, MergeTool};
use varve_repo::Node;

impl Merger<'_, '_> {
    /// The names for the lines around conflicts that an internal tool leaves.
    pub(super) fn marker_labels(&mut self, file: &MergeFile, tool: MergeTool) -> MergeLabels {
        match self.settings.tool.markers {
            MarkerStyle::Basic => self.settings.labels.clone(),
            MarkerStyle::Detailed => self.aligned_labels(file, tool.name().as_bytes(), tool),
        }
    }

    /// The names with changesets, aligned as far as `tool` shows them; `owner` is the tool whose template counts.
    pub(super) fn aligned_labels(
        &mut self,
        file: &MergeFile,
        owner: &[u8],
        tool: MergeTool,
    ) -> MergeLabels {
        let MergeLabels { ours, theirs, base } = self.settings.labels;
        let mut width = ours.len().max(theirs.len());
        if matches!(tool, MergeTool::Merge3 | MergeTool::Mergediff) {
            width = width.max(base.len());
        }
        self.described_labels(file, owner, width)
    }

    /// The names with changesets, each padded to `width` bytes.
    pub(super) fn described_labels(
        &mut self,
        file: &MergeFile,
        owner: &[u8],
        width: usize,
    ) -> MergeLabels {
        let [local, other] = self.parents;
        let names = self.settings.labels;
        let repository = self.settings.repository;
        let mut describe = |name, node| {
            self.observer.describe(&DescribedSide {
                repository,
                node,
                name,
                width,
                tool: owner,
            })
        };
        MergeLabels {
            ours: describe(&names.ours, local),
            theirs: describe(&names.theirs, other),
            base: describe(&names.base, base_node(file)),
        }
    }
}

/// The changeset of the base, if the file has one.
pub(super) fn base_node(file: &MergeFile) -> Node {
    match file.base {
        Some(_) => file.ancestor,
        None => Node::NULL,
    }
}
