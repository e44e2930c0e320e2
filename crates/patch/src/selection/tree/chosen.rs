//! The patch that a selection leaves, and hunks that the user rewrites.

use super::{FileNode, HunkNode, ItemPath, LineNode, Selected, SelectionTree};
use crate::selection::file::{OfferedFile, OfferedHunk, push_chosen};

/// The version of the files that the chosen patch has to fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchBase {
    /// The old one: the patch is applied.
    Old,
    /// The new one: the patch is taken back.
    New,
}

impl PatchBase {
    /// Signs of the lines that the base has, and of those that the result has instead.
    fn signs(self) -> (u8, u8) {
        match self {
            PatchBase::Old => (b'-', b'+'),
            PatchBase::New => (b'+', b'-'),
        }
    }
}

/// A line of a hunk that is left.
struct ChosenLine<'a> {
    node: &'a LineNode,
    sign: u8,
}

impl HunkNode {
    /// The hunk with its selected lines: an unselected one stays if the base has it, and is left out if not. `None` if no
    /// line is selected.
    fn chosen(&self, base: PatchBase) -> Option<OfferedHunk> {
        match self.selected() {
            Selected::No => None,
            Selected::Yes => Some(self.offered.clone()),
            Selected::Partly => Some(self.selected_lines(base)),
        }
    }

    fn selected_lines(&self, base: PatchBase) -> OfferedHunk {
        let (base_sign, result_sign) = base.signs();
        let chosen = |node: &'_ LineNode| match (node.is_selected, node.text[0] == base_sign) {
            (true, _) => Some(node.text[0]),
            (false, true) => Some(b' '),
            (false, false) => None,
        };
        let chosen = |node| {
            Some(ChosenLine {
                node,
                sign: chosen(node)?,
            })
        };
        let chosen: Vec<ChosenLine<'_>> = self.lines.iter().filter_map(chosen).collect();
        let last = chosen.iter().rposition(|line| line.sign != base_sign);
        let mut lines = Vec::new();
        for (at, line) in chosen.iter().enumerate() {
            let signed = |sign: u8| [&[sign], &line.node.text[1..]].concat();
            let Some(note) = &line.node.note else {
                lines.push(signed(line.sign));
                continue;
            };
            // In the result, a line before others has a line end.
            let gets_end = last.is_some_and(|last| at < last);
            match (line.sign, gets_end) {
                (b' ', true) => {
                    lines.extend([signed(base_sign), note.clone(), signed(result_sign)]);
                }
                (sign, true) if sign == result_sign => lines.push(signed(sign)),
                (sign, _) => lines.extend([signed(sign), note.clone()]),
            }
        }
        OfferedHunk {
            lines,
            ..self.offered.clone()
        }
    }
}

impl FileNode {
    fn chosen_hunks(&self, base: PatchBase) -> Vec<OfferedHunk> {
        // Lines by which the numbers behind are off, because of what is not chosen.
        let mut shift = 0;
        let mut hunks = Vec::new();
        for hunk in &self.hunks {
            let chosen = hunk.chosen(base);
            let growth = chosen.as_ref().map_or(0, OfferedHunk::growth);
            let own_shift = growth - hunk.offered.growth();
            hunks.extend(chosen.map(|mut chosen| {
                match base {
                    PatchBase::Old => {
                        chosen.new_start = chosen.new_start.saturating_add_signed(shift);
                    }
                    PatchBase::New => {
                        chosen.old_start = chosen.old_start.saturating_add_signed(-shift);
                    }
                }
                chosen
            }));
            shift += own_shift;
        }
        hunks
    }

    fn push_chosen(&self, base: PatchBase, patch: &mut Vec<u8>) {
        let hunks = self.chosen_hunks(base);
        if self.is_selected && (self.changes_without_hunks || !hunks.is_empty()) {
            push_chosen(&self.offered, &hunks, patch);
        }
    }
}

impl SelectionTree {
    /// The selected changes as a patch; empty if nothing is selected.
    pub fn chosen_patch(&self, base: PatchBase) -> Vec<u8> {
        let mut patch = Vec::new();
        for file in &self.files {
            file.push_chosen(base, &mut patch);
        }
        patch
    }

    /// The hunk at the cursor, of which only the selected lines change anything, as a patch to be edited. `None` at a
    /// file.
    pub fn hunk_patch(&self, base: PatchBase) -> Option<Vec<u8>> {
        let file = self.files.get(self.cursor.file)?;
        let hunk = file.hunks.get(self.cursor.hunk?)?;
        let mut patch = Vec::new();
        let hunk = [hunk.selected_lines(base)];
        push_chosen(&file.offered, &hunk, &mut patch);
        Some(patch)
    }

    /// Puts the hunks of an edited patch in the place of the hunk at the cursor, all of them selected.
    pub fn replace_hunk(&mut self, edited: &[u8]) {
        let item = self.cursor;
        let Some(at) = item.hunk else {
            return;
        };
        let Some(file) = self.files.get_mut(item.file) else {
            return;
        };
        let edited = OfferedFile::read_all(edited);
        let edited = edited.into_iter().flat_map(|file| file.hunks);
        let edited = edited.map(|hunk| HunkNode {
            is_folded: false,
            ..HunkNode::new(hunk)
        });
        let edited: Vec<HunkNode> = edited.collect();
        // Each hunk has a line.
        let last_line = edited.first().map(|hunk| hunk.lines.len() - 1);
        file.hunks.splice(at..=at, edited);
        file.follow_lines();
        self.last_toggled = None;
        self.cursor = ItemPath {
            file: item.file,
            hunk: file.hunks.len().checked_sub(1).map(|last| at.min(last)),
            line: item.line.and_then(|line| Some(line.min(last_line?))),
        };
    }
}
