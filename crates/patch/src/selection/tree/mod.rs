//! The files, hunks and changed lines of a patch as a tree with a cursor, in which each item is selected or not.
//!
//! Lines that stay are shown, but are no items: there is nothing to select.

mod chosen;
mod movement;
mod search;
#[cfg(test)]
mod tests;
mod toggling;

pub use chosen::PatchBase;
pub use movement::Movement;

use super::file::{OfferedFile, OfferedHunk};

/// An item of a [`SelectionTree`], by the positions of its ancestors and its own. They sort as in the patch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ItemPath {
    /// Position of the file.
    pub file: usize,
    /// Position of the hunk in its file; `None` for the file itself.
    pub hunk: Option<usize>,
    /// Position among the changed lines of the hunk; `None` for the hunk itself.
    pub line: Option<usize>,
}

impl ItemPath {
    /// A file.
    pub fn of_file(file: usize) -> ItemPath {
        ItemPath {
            file,
            ..ItemPath::default()
        }
    }

    /// A hunk.
    pub fn of_hunk(file: usize, hunk: usize) -> ItemPath {
        ItemPath {
            file,
            hunk: Some(hunk),
            line: None,
        }
    }

    /// A changed line.
    pub fn of_line(file: usize, hunk: usize, line: usize) -> ItemPath {
        ItemPath {
            file,
            hunk: Some(hunk),
            line: Some(line),
        }
    }

    /// The hunk of a line, the file of a hunk.
    fn parent(self) -> Option<ItemPath> {
        match (self.hunk, self.line) {
            (None, _) => None,
            (Some(_), None) => Some(ItemPath::of_file(self.file)),
            (Some(hunk), Some(_)) => Some(ItemPath::of_hunk(self.file, hunk)),
        }
    }
}

/// How much of an item is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selected {
    /// Nothing.
    No,
    /// Some of its lines.
    Partly,
    /// All of it.
    Yes,
}

/// A changed line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineNode {
    /// With its sign and its line end.
    text: Vec<u8>,
    /// The note behind it that it has no line end.
    note: Option<Vec<u8>>,
    is_selected: bool,
}

impl LineNode {
    /// With its sign and its line end.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// The note behind it that it has no line end.
    pub fn note(&self) -> Option<&[u8]> {
        self.note.as_deref()
    }
}

/// A hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HunkNode {
    offered: OfferedHunk,
    lines: Vec<LineNode>,
    is_folded: bool,
}

impl HunkNode {
    fn new(offered: OfferedHunk) -> HunkNode {
        let mut lines: Vec<LineNode> = Vec::new();
        for text in &offered.lines {
            match lines.last_mut() {
                Some(line) if text[0] == b'\\' => line.note = Some(text.clone()),
                _ => lines.push(LineNode {
                    text: text.clone(),
                    note: None,
                    is_selected: true,
                }),
            }
        }
        HunkNode {
            offered,
            lines,
            is_folded: true,
        }
    }

    /// Hides its lines.
    pub fn is_folded(&self) -> bool {
        self.is_folded
    }

    /// The changed lines.
    pub fn lines(&self) -> &[LineNode] {
        &self.lines
    }

    /// The line `@@`, without its end.
    pub fn heading(&self) -> Vec<u8> {
        self.offered.heading()
    }

    /// The lines that stay, before the changed ones and behind them.
    pub fn context(&self) -> [&[Vec<u8>]; 2] {
        [&self.offered.before, &self.offered.after]
    }

    fn selected(&self) -> Selected {
        match self.lines.iter().filter(|line| line.is_selected).count() {
            0 => Selected::No,
            some if some < self.lines.len() => Selected::Partly,
            _ => Selected::Yes,
        }
    }

    fn select(&mut self, is_selected: bool) {
        for line in &mut self.lines {
            line.is_selected = is_selected;
        }
    }
}

/// A file.
#[derive(Clone, Debug)]
pub struct FileNode {
    /// Its hunks are moved to `hunks`.
    offered: OfferedFile,
    title: Vec<u8>,
    hunks: Vec<HunkNode>,
    is_selected: bool,
    /// Marks a file that changes even without any hunk.
    changes_without_hunks: bool,
    is_folded: bool,
    /// Set once its hunks have been shown: the first time they are shown with their lines.
    was_unfolded: bool,
}

impl FileNode {
    fn new(mut offered: OfferedFile, title: Vec<u8>) -> FileNode {
        let changes_without_hunks = offered.changes_without_hunks() || offered.is_indivisible();
        let hunks = std::mem::take(&mut offered.hunks);
        FileNode {
            offered,
            title,
            hunks: hunks.into_iter().map(HunkNode::new).collect(),
            is_selected: true,
            changes_without_hunks,
            is_folded: true,
            was_unfolded: false,
        }
    }

    /// The old name, if it is copied or renamed, and the name.
    pub fn paths(&self) -> &[Vec<u8>] {
        self.offered.paths()
    }

    /// The lines that introduce it.
    pub fn title(&self) -> &[u8] {
        &self.title
    }

    /// Hides its hunks.
    pub fn is_folded(&self) -> bool {
        self.is_folded
    }

    /// Its hunks, in order.
    pub fn hunks(&self) -> &[HunkNode] {
        &self.hunks
    }

    fn selected(&self) -> Selected {
        let is_whole = self
            .hunks
            .iter()
            .all(|hunk| hunk.selected() == Selected::Yes);
        match self.is_selected {
            false => Selected::No,
            true if is_whole => Selected::Yes,
            true => Selected::Partly,
        }
    }

    fn unfold(&mut self) {
        self.is_folded = false;
        if !self.was_unfolded {
            self.was_unfolded = true;
            for hunk in &mut self.hunks {
                hunk.is_folded = false;
            }
        }
    }
}

/// A patch whose changes are being selected; all of them are at first.
#[derive(Clone, Debug)]
pub struct SelectionTree {
    files: Vec<FileNode>,
    cursor: ItemPath,
    /// The item that was toggled last by itself.
    last_toggled: Option<ItemPath>,
    /// The state that [`SelectionTree::toggle_all`] gave last.
    is_all_selected: bool,
}

impl SelectionTree {
    /// The files of a patch; `title` gives the lines that introduce each.
    pub fn new(files: Vec<OfferedFile>, title: impl Fn(&OfferedFile) -> Vec<u8>) -> SelectionTree {
        let node = |file: OfferedFile| {
            let title = title(&file);
            FileNode::new(file, title)
        };
        SelectionTree {
            files: files.into_iter().map(node).collect(),
            cursor: ItemPath::default(),
            last_toggled: None,
            is_all_selected: true,
        }
    }

    /// The files, in order.
    pub fn files(&self) -> &[FileNode] {
        &self.files
    }

    /// The item that keys act on. In a tree without files it leads nowhere.
    pub fn cursor(&self) -> ItemPath {
        self.cursor
    }

    /// How much of an item is selected.
    pub fn selected(&self, item: ItemPath) -> Selected {
        let Some(file) = self.files.get(item.file) else {
            return Selected::No;
        };
        let Some(hunk) = item.hunk.and_then(|hunk| file.hunks.get(hunk)) else {
            return file.selected();
        };
        match item.line.and_then(|line| hunk.lines.get(line)) {
            None => hunk.selected(),
            Some(line) if line.is_selected => Selected::Yes,
            Some(_) => Selected::No,
        }
    }

    fn file_mut(&mut self) -> Option<&mut FileNode> {
        self.files.get_mut(self.cursor.file)
    }

    fn hunk_mut(&mut self) -> Option<&mut HunkNode> {
        let hunk = self.cursor.hunk?;
        self.file_mut()?.hunks.get_mut(hunk)
    }
}
