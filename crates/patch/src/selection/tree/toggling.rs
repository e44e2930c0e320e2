//! Selecting and unselecting.

use super::{FileNode, ItemPath, Selected, SelectionTree};

impl FileNode {
    fn select(&mut self, is_selected: bool) {
        self.is_selected = is_selected;
        for hunk in &mut self.hunks {
            hunk.select(is_selected);
        }
    }

    /// A file is selected with any of its lines, and unselected without any unless it changes all the same.
    pub(super) fn follow_lines(&mut self) {
        let mut hunks = self.hunks.iter();
        match hunks.any(|hunk| hunk.selected() != Selected::No) {
            true => self.is_selected = true,
            false if !self.changes_without_hunks => self.is_selected = false,
            false => {}
        }
    }
}

impl SelectionTree {
    /// Selects the item at the cursor, or unselects it if any of it is selected.
    pub fn toggle(&mut self) {
        let is_selected = self.selected(self.cursor) == Selected::No;
        self.select(self.cursor, is_selected);
        self.last_toggled = Some(self.cursor);
    }

    /// The same; then the cursor goes to the next item of this kind: another file, or one of this file.
    pub fn toggle_and_advance(&mut self) {
        self.toggle();
        let from = self.cursor;
        let is_like = |item: &ItemPath| {
            let kinds = [item, &from].map(|item| (item.hunk.is_some(), item.line.is_some()));
            kinds[0] == kinds[1] && (from.hunk.is_none() || item.file == from.file)
        };
        let next = self.all_items().find(|item| *item > from && is_like(item));
        if let Some(next) = next {
            self.show(next);
        }
    }

    /// Toggles the item at the cursor, and gives the items between it and the one that was toggled last its state.
    pub fn toggle_range(&mut self) {
        let Some(last) = self.last_toggled else {
            return self.toggle();
        };
        let is_selected = self.selected(self.cursor) == Selected::No;
        let (from, to) = (last.min(self.cursor), last.max(self.cursor));
        let range: Vec<ItemPath> = self
            .all_items()
            .filter(|item| (from..=to).contains(item))
            .collect();
        for item in range {
            self.select(item, is_selected);
        }
    }

    /// Unselects everything, or selects everything if that was done before.
    pub fn toggle_all(&mut self) {
        self.is_all_selected = !self.is_all_selected;
        for file in &mut self.files {
            file.select(self.is_all_selected);
        }
    }

    /// Selects the lines that are not, and unselects those that are. Files without lines stay as they are.
    pub fn invert(&mut self) {
        for file in &mut self.files {
            let lines = file.hunks.iter_mut().flat_map(|hunk| &mut hunk.lines);
            for line in lines {
                line.is_selected = !line.is_selected;
            }
            file.follow_lines();
        }
    }

    fn select(&mut self, item: ItemPath, is_selected: bool) {
        let Some(file) = self.files.get_mut(item.file) else {
            return;
        };
        let Some(hunk) = item.hunk.and_then(|hunk| file.hunks.get_mut(hunk)) else {
            if item.hunk.is_none() && (!file.hunks.is_empty() || file.changes_without_hunks) {
                file.select(is_selected);
            }
            return;
        };
        match item.line.and_then(|line| hunk.lines.get_mut(line)) {
            Some(line) => line.is_selected = is_selected,
            None => hunk.select(is_selected),
        }
        file.follow_lines();
    }
}
