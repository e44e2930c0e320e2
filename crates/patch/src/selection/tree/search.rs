//! Finding items by their text.

use super::{ItemPath, SelectionTree};

impl SelectionTree {
    /// Moves the cursor to the next file whose name matches, or changed line whose text does; backwards to the one
    /// before. `false` if there is none.
    pub fn find(&mut self, backwards: bool, matches: impl Fn(&[u8]) -> bool) -> bool {
        let cursor = self.cursor;
        let is_match = |item: &ItemPath| self.text(*item).is_some_and(&matches);
        let found = match backwards {
            false => self
                .all_items()
                .filter(|item| *item > cursor)
                .find(is_match),
            true => self
                .all_items()
                .take_while(|item| *item < cursor)
                .filter(is_match)
                .last(),
        };
        found.is_some_and(|item| {
            self.show(item);
            if let Some(file) = self.files.get_mut(item.file) {
                file.is_folded = false;
                file.was_unfolded = true;
            }
            true
        })
    }

    /// The name of a file, or a line without its sign and its end.
    fn text(&self, item: ItemPath) -> Option<&[u8]> {
        let file = self.files.get(item.file)?;
        let Some(hunk) = item.hunk else {
            return file.paths().last().map(Vec::as_slice);
        };
        let text = &file.hunks.get(hunk)?.lines.get(item.line?)?.text[1..];
        Some(text.strip_suffix(b"\n").unwrap_or(text))
    }
}
