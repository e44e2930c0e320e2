//! The rows that show a tree. Nothing here knows of the terminal or of keys.

use super::shown_text::Wrapped;
use crate::ui::screen::{Row, Span, TextStyle};
use varve_patch::{FileNode, HunkNode, ItemPath, LineNode, Selected, SelectionTree};

/// Columns before the texts of files, hunks and lines.
const INDENT: [usize; 3] = [7, 11, 11];

/// Properties of the screen as a whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct ViewOptions {
    /// Columns and rows.
    pub(super) size: (usize, usize),
    /// The terminal shows all characters of Unicode.
    pub(super) is_utf8: bool,
    /// The fate of the changes that are selected.
    pub(super) verb: &'static str,
}

/// Rows that belong together.
struct Block {
    /// `None` for rows that are no item.
    item: Option<ItemPath>,
    rows: Vec<Row>,
}

/// Draws a tree.
#[derive(Debug)]
pub(super) struct View {
    options: ViewOptions,
    /// The row of the whole tree that stands at the top.
    top: usize,
}

impl View {
    pub(super) fn new(options: ViewOptions) -> View {
        View { options, top: 0 }
    }

    pub(super) fn resize(&mut self, size: (usize, usize)) {
        self.options.size = size;
    }

    /// All rows of the screen, with a message in the last one if there is any.
    pub(super) fn rows(&mut self, tree: &SelectionTree, message: Option<&str>) -> Vec<Row> {
        let (_, height) = self.options.size;
        let mut rows = self.bar(tree);
        // A screen that has no room for both shows the tree.
        if rows.len() >= height {
            rows.clear();
        }
        let room = height - rows.len();
        let blocks = self.blocks(tree);
        self.scroll(tree, &blocks, room);
        let body = blocks.into_iter().flat_map(|block| block.rows);
        rows.extend(body.skip(self.top).take(room));
        if let Some(message) = message {
            rows.resize(height, Row::new());
            if let (Some(last), Some(row)) = (
                rows.last_mut(),
                self.wrapped(message.as_bytes(), 0).into_iter().next_back(),
            ) {
                *last = span(TextStyle::Bar, row);
            }
        }
        rows
    }

    /// Makes the item at the cursor the first row.
    pub(super) fn scroll_to_cursor(&mut self, tree: &SelectionTree) {
        let blocks = self.blocks(tree);
        if let Some((start, _)) = extent(&blocks, tree.cursor()) {
            self.top = start;
        }
    }

    /// Moves as little as shows the item at the cursor.
    fn scroll(&mut self, tree: &SelectionTree, blocks: &[Block], room: usize) {
        let Some((start, end)) = extent(blocks, tree.cursor()) else {
            return;
        };
        if self.top + room < end {
            self.top = end - room;
        }
        let rows: usize = blocks.iter().map(|block| block.rows.len()).sum();
        self.top = self.top.min(rows.saturating_sub(room));
        // The begin of an item that is higher than the screen.
        self.top = self.top.min(start);
    }

    /// The lines at the top.
    fn bar(&self, tree: &SelectionTree) -> Vec<Row> {
        let action = match tree.selected(tree.cursor()) {
            Selected::No => "take",
            _ => "leave",
        };
        let first = format!(
            "What to {}: [x] taken, [~] partly taken, ** folded. c goes on, q gives up",
            self.options.verb
        );
        let second = format!("Arrows: move, fold, unfold. Space or Enter: {action}. ?: all keys");
        let rows = [first, second];
        let rows = rows
            .iter()
            .flat_map(|text| self.wrapped(text.as_bytes(), 0));
        rows.map(|row| span(TextStyle::Bar, row)).collect()
    }

    fn blocks(&self, tree: &SelectionTree) -> Vec<Block> {
        let mut blocks = Vec::new();
        for (at, file) in tree.files().iter().enumerate() {
            let item = ItemPath::of_file(at);
            if at > 0 && !file.is_folded() {
                blocks.push(Block {
                    item: None,
                    rows: vec![span(TextStyle::Plain, "_".repeat(self.options.size.0))],
                });
            }
            blocks.push(self.file(tree, file, item));
            if file.is_folded() {
                continue;
            }
            for (hunk_at, hunk) in file.hunks().iter().enumerate() {
                if hunk_at > 0 {
                    blocks.push(Block {
                        item: None,
                        rows: vec![Row::new()],
                    });
                }
                self.push_hunk(tree, hunk, ItemPath::of_hunk(at, hunk_at), &mut blocks);
            }
        }
        blocks
    }

    fn file(&self, tree: &SelectionTree, file: &FileNode, item: ItemPath) -> Block {
        let style = self.style(tree, item, TextStyle::Bold);
        let mark = mark(tree.selected(item), file.is_folded());
        if file.is_folded() {
            let name = file.paths().last().map_or(&[][..], Vec::as_slice);
            let rows = self.marked(&format!("{mark}  "), style, style, name);
            let item = Some(item);
            return Block { item, rows };
        }
        let mut rows = Vec::new();
        for (at, line) in file.title().split_inclusive(|b| *b == b'\n').enumerate() {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            let before = match at {
                0 => format!("{mark}  "),
                _ => " ".repeat(INDENT[0]),
            };
            rows.extend(self.marked(&before, style, style, line));
        }
        rows.push(span(style, " ".to_owned()));
        Block {
            item: Some(item),
            rows,
        }
    }

    fn push_hunk(
        &self,
        tree: &SelectionTree,
        hunk: &HunkNode,
        item: ItemPath,
        blocks: &mut Vec<Block>,
    ) {
        let style = self.style(tree, item, TextStyle::Bold);
        let mark = mark(tree.selected(item), hunk.is_folded());
        let before = format!("   {mark}   ");
        blocks.push(Block {
            item: Some(item),
            rows: self.marked(&before, TextStyle::Plain, style, &hunk.heading()),
        });
        if hunk.is_folded() {
            return;
        }
        let [before, after] = hunk.context();
        blocks.extend(before.iter().map(|line| self.context(line)));
        for (at, line) in hunk.lines().iter().enumerate() {
            let item = ItemPath {
                line: Some(at),
                ..item
            };
            blocks.push(self.line(tree, line, item));
        }
        blocks.extend(after.iter().map(|line| self.context(line)));
    }

    fn line(&self, tree: &SelectionTree, line: &LineNode, item: ItemPath) -> Block {
        let style = match line.text().first() {
            Some(b'+') => TextStyle::Added,
            Some(b'-') => TextStyle::Removed,
            _ => TextStyle::Plain,
        };
        let style = self.style(tree, item, style);
        let mark = mark(tree.selected(item), false);
        let text = line.text().strip_suffix(b"\n").unwrap_or(line.text());
        let before = format!("      {}  ", &mark[..3]);
        let mut rows = self.marked(&before, TextStyle::Plain, style, text);
        if let Some(note) = line.note() {
            let before = " ".repeat(INDENT[2]);
            let note = note.strip_suffix(b"\n").unwrap_or(note);
            rows.extend(self.marked(&before, TextStyle::Plain, style, note));
        }
        Block {
            item: Some(item),
            rows,
        }
    }

    fn context(&self, line: &[u8]) -> Block {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let before = " ".repeat(INDENT[2]);
        Block {
            item: None,
            rows: self.marked(&before, TextStyle::Plain, TextStyle::Plain, line),
        }
    }

    fn style(&self, tree: &SelectionTree, item: ItemPath, usual: TextStyle) -> TextStyle {
        match item == tree.cursor() {
            true => TextStyle::Cursor,
            false => usual,
        }
    }

    /// The rows of a text behind a mark.
    fn marked(&self, before: &str, mark: TextStyle, style: TextStyle, text: &[u8]) -> Vec<Row> {
        let (width, _) = self.options.size;
        // Where there is no room for both, the text stands below.
        let column = before.len().min(width);
        let mark = Span {
            style: mark,
            text: before[..column].to_owned(),
        };
        let mut rows = self.wrapped(text, column).into_iter();
        let first = rows.next().unwrap_or_default();
        let first = vec![mark, Span { style, text: first }];
        let rest = rows.map(|row| span(style, row));
        std::iter::once(first).chain(rest).collect()
    }

    fn wrapped(&self, text: &[u8], column: usize) -> Vec<String> {
        Wrapped::new(self.options.size.0, column, self.options.is_utf8).rows(text)
    }
}

fn span(style: TextStyle, text: String) -> Row {
    vec![Span { style, text }]
}

/// Five columns: how much is selected, and whether more is hidden.
fn mark(selected: Selected, is_folded: bool) -> String {
    let sign = match selected {
        Selected::No => ' ',
        Selected::Partly => '~',
        Selected::Yes => 'x',
    };
    let folded = if is_folded { "**" } else { "  " };
    format!("[{sign}]{folded}")
}

/// The rows of an item, counted through the whole tree.
fn extent(blocks: &[Block], item: ItemPath) -> Option<(usize, usize)> {
    let mut row = 0;
    for block in blocks {
        if block.item == Some(item) {
            return Some((row, row + block.rows.len()));
        }
        row += block.rows.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use varve_patch::{Movement, OfferedFile};

    const PATCH: &[u8] = b"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n 1\n-2\n+two \xff\x1b words\n 3\n\
        diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1,1 @@\n+n\n\\ No newline at end of file\n";

    fn tree() -> SelectionTree {
        SelectionTree::new(OfferedFile::read_all(PATCH), OfferedFile::shown_header)
    }

    fn view_of(size: (usize, usize)) -> View {
        View::new(ViewOptions {
            size,
            is_utf8: true,
            verb: "record",
        })
    }

    fn texts(rows: &[Row]) -> Vec<String> {
        let text = |row: &Row| row.iter().map(|span| &span.text[..]).collect::<String>();
        rows.iter().map(text).collect()
    }

    fn marked(rows: &[Row]) -> Vec<usize> {
        let is_marked = |row: &Row| row.iter().any(|span| span.style == TextStyle::Cursor);
        (0..rows.len()).filter(|at| is_marked(&rows[*at])).collect()
    }

    #[test]
    fn folded_files_show_their_names() {
        let rows = view_of((80, 10)).rows(&tree(), None);
        assert_eq!(texts(&rows)[2..], ["[x]**  a", "[x]**  new"]);
        assert_eq!(marked(&rows), [2]);
    }

    #[test]
    fn unfolded_items_show_what_is_selected() {
        let mut tree = tree();
        for _ in 0..2 {
            tree.move_cursor(Movement::Child);
        }
        tree.toggle();
        let rows = view_of((80, 24)).rows(&tree, None);
        let expected = [
            "[~]    diff --git a/a b/a",
            "       1 hunks, 1 lines changed",
            " ",
            "   [~]     @@ -1,3 +1,3 @@",
            "            1",
            "      [ ]  -2",
            "      [x]  +two \\xff^[ words",
            "            3",
            "[x]**  new",
        ];
        assert_eq!(texts(&rows)[2..], expected);
        assert_eq!(marked(&rows), [7]);
    }

    #[test]
    fn the_item_at_the_cursor_is_always_shown() {
        for size in [(80, 8), (80, 3), (80, 1), (20, 9), (7, 9), (1, 1), (2, 40)] {
            let mut view = view_of(size);
            let mut tree = tree();
            for key in 0..40 {
                match key % 4 {
                    0 => tree.move_cursor(Movement::Child),
                    3 => tree.toggle_fold(),
                    _ => tree.move_cursor(Movement::Next),
                }
                let rows = view.rows(&tree, (key == 9).then_some("message"));
                assert!(rows.len() <= size.1, "{size:?}");
                assert!(!marked(&rows).is_empty() || key == 9, "{size:?} {key}");
            }
        }
    }

    #[test]
    fn the_cursor_comes_to_the_top() {
        let mut view = view_of((80, 8));
        let mut tree = tree();
        tree.move_cursor(Movement::Child);
        assert_eq!(marked(&view.rows(&tree, None)), [5]);
        view.scroll_to_cursor(&tree);
        // No further than to the last row.
        assert_eq!(marked(&view.rows(&tree, None)), [2]);
        let mut view = view_of((80, 24));
        view.scroll_to_cursor(&tree);
        assert_eq!(marked(&view.rows(&tree, None)), [5]);
    }
}
