//! Pages of text that cover the tree.

use super::keys::KEYS;
use crate::ui::screen::{Row, Span, TextStyle};

const INTRODUCTION: &[&str] = &[
    "Here you choose among changes: by file, by hunk, or line by line. The command",
    "goes on with those that are taken; the others stay as they are.",
    "",
];

const REVIEW: &[&str] = &[
    "An editor is about to open with the changes that are taken, as one patch.",
    "The command goes on with the patch as you leave it there. If you add or",
    "remove lines, correct the numbers in the line with @@ above them as well.",
    "",
    "Open the editor? (y: yes, any other key: no)",
];

/// The meanings of all keys, in pages of this height.
pub(super) fn keys(height: usize) -> Vec<Vec<Row>> {
    let mut lines: Vec<String> = INTRODUCTION.iter().map(|line| (*line).to_owned()).collect();
    for (_, names, _, meaning) in KEYS {
        lines.push(format!("{names:>14}  {meaning}"));
    }
    let pages = lines.chunks(height.saturating_sub(1).max(1));
    let page = |lines: &[String]| {
        let rows = lines.iter().map(|line| row(line));
        rows.chain([row("Any key goes on.")]).collect()
    };
    pages.map(page).collect()
}

/// The question before the whole patch is edited.
pub(super) fn review() -> Vec<Row> {
    REVIEW.iter().map(|line| row(line)).collect()
}

fn row(text: &str) -> Row {
    vec![Span {
        style: TextStyle::Plain,
        text: text.to_owned(),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_screens_show_the_keys_on_several_pages() {
        assert_eq!(keys(40).len(), 1);
        for height in [1, 2, 10, 24, 40] {
            let pages = keys(height);
            let keys: usize = pages.iter().map(|page| page.len() - 1).sum();
            assert_eq!(keys, KEYS.len() + INTRODUCTION.len());
            assert!(pages.iter().all(|page| page.len() <= height.max(2)));
        }
    }
}
