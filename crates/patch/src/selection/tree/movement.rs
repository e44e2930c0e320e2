//! The cursor, and folding: which items are shown.

use super::{ItemPath, SelectionTree};

/// A way for the cursor to go. Where there is no such item, it stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Movement {
    /// To the next item that is shown.
    Next,
    /// To the item before that is shown.
    Previous,
    /// To the next item of the same parent, or else the one behind the parent.
    NextSibling,
    /// To the item before of the same parent, or else the parent.
    PreviousSibling,
    /// To the first child, which is unfolded for it.
    Child,
    /// From a line to its hunk. A file or a hunk is folded first.
    Parent,
    /// To the file of the item. A file is folded.
    File,
    /// To the first item.
    First,
    /// To the last item that is shown.
    Last,
}

impl SelectionTree {
    /// Moves the cursor.
    pub fn move_cursor(&mut self, movement: Movement) {
        let to = match movement {
            Movement::Next => self.shown().find(|item| *item > self.cursor),
            Movement::Previous => self.shown().take_while(|item| *item < self.cursor).last(),
            Movement::NextSibling => {
                let behind = |item: ItemPath| self.sibling(item, 1);
                let parent = self.cursor.parent();
                behind(self.cursor).or_else(|| behind(parent?))
            }
            Movement::PreviousSibling => {
                let before = self.sibling(self.cursor, -1);
                before.or_else(|| self.cursor.parent())
            }
            Movement::Child => return self.go_down(),
            Movement::Parent => return self.go_up(),
            Movement::File => return self.go_to_file(),
            Movement::First => self.shown().next(),
            Movement::Last => self.shown().last(),
        };
        if let Some(to) = to {
            self.show(to);
        }
    }

    /// Folds or unfolds the item; a line has nothing to fold.
    pub fn toggle_fold(&mut self) {
        let item = self.cursor;
        if item.line.is_some() {
            return;
        }
        if item.hunk.is_some() {
            if let Some(hunk) = self.hunk_mut() {
                hunk.is_folded = !hunk.is_folded;
            }
        } else if let Some(file) = self.file_mut() {
            match file.is_folded {
                true => file.unfold(),
                false => file.is_folded = true,
            }
        }
    }

    /// Folds the parent of the item, or folds or unfolds a file.
    pub fn toggle_parent_fold(&mut self) {
        match self.cursor.parent() {
            None => self.toggle_fold(),
            Some(parent) => {
                self.cursor = parent;
                self.fold();
            }
        }
    }

    /// Every item that is shown, in order.
    fn shown(&self) -> impl Iterator<Item = ItemPath> {
        self.items(|is_folded| !is_folded)
    }

    /// Every item, in order.
    pub(super) fn all_items(&self) -> impl Iterator<Item = ItemPath> {
        self.items(|_| true)
    }

    /// Every item, without the children of those about which `is_open` says no, given that they are folded or not.
    fn items(&self, is_open: impl Fn(bool) -> bool + Copy) -> impl Iterator<Item = ItemPath> {
        self.files.iter().enumerate().flat_map(move |(at, file)| {
            let hunks = match is_open(file.is_folded) {
                true => &file.hunks[..],
                false => &[],
            };
            let hunks = hunks.iter().enumerate().flat_map(move |(hunk_at, hunk)| {
                let lines = match is_open(hunk.is_folded) {
                    true => hunk.lines.len(),
                    false => 0,
                };
                let lines = (0..lines).map(move |line| ItemPath::of_line(at, hunk_at, line));
                std::iter::once(ItemPath::of_hunk(at, hunk_at)).chain(lines)
            });
            std::iter::once(ItemPath::of_file(at)).chain(hunks)
        })
    }

    /// The item of the same parent that is `step` further.
    fn sibling(&self, item: ItemPath, step: isize) -> Option<ItemPath> {
        let file = self.files.get(item.file)?;
        let moved = |at: usize, len: usize| at.checked_add_signed(step).filter(|at| *at < len);
        Some(match (item.hunk, item.line) {
            (None, _) => ItemPath::of_file(moved(item.file, self.files.len())?),
            (Some(hunk), None) => ItemPath::of_hunk(item.file, moved(hunk, file.hunks.len())?),
            (Some(hunk), Some(line)) => {
                let len = file.hunks.get(hunk)?.lines.len();
                ItemPath::of_line(item.file, hunk, moved(line, len)?)
            }
        })
    }

    fn go_down(&mut self) {
        let item = self.cursor;
        if item.line.is_some() {
            return;
        }
        if let Some(at) = item.hunk {
            if let Some(hunk) = self.hunk_mut().filter(|hunk| !hunk.lines.is_empty()) {
                hunk.is_folded = false;
                self.cursor = ItemPath::of_line(item.file, at, 0);
            }
            return;
        }
        if let Some(file) = self.file_mut() {
            file.unfold();
            if !file.hunks.is_empty() {
                self.cursor = ItemPath::of_hunk(item.file, 0);
            }
        }
    }

    fn go_up(&mut self) {
        let is_unfolded = match self.cursor.hunk {
            _ if self.cursor.line.is_some() => false,
            Some(_) => self.hunk_mut().is_some_and(|hunk| !hunk.is_folded),
            None => true,
        };
        match self.cursor.parent() {
            Some(parent) if !is_unfolded => self.cursor = parent,
            _ => self.fold(),
        }
    }

    fn go_to_file(&mut self) {
        match self.cursor.hunk {
            Some(_) => self.cursor = ItemPath::of_file(self.cursor.file),
            None => self.fold(),
        }
    }

    /// Folds the file or the hunk at the cursor.
    fn fold(&mut self) {
        if self.cursor.hunk.is_some() {
            if let Some(hunk) = self.hunk_mut() {
                hunk.is_folded = true;
            }
        } else if let Some(file) = self.file_mut() {
            file.is_folded = true;
        }
    }

    /// Moves the cursor to an item, whose parents are unfolded.
    pub(super) fn show(&mut self, item: ItemPath) {
        self.cursor = item;
        let Some(file) = self.files.get_mut(item.file) else {
            return;
        };
        let Some(hunk) = item.hunk else {
            return;
        };
        file.is_folded = false;
        file.was_unfolded = true;
        if item.line.is_some() {
            file.hunks[hunk].is_folded = false;
        }
    }
}
