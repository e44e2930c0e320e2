//! Whichever lines of a patch are selected: what is left fits the text that it is for, and makes the change of just those
//! lines.

use super::drawn::unified;
use super::laws::texts;
use super::store::Store;
use proptest::prelude::*;
use varve_patch::{
    ItemPath, LineEnds, Movement, OfferedFile, PatchBase, Selected, SelectionTree, reversed_hunks,
};

fn tree_of(old: &str, new: &str, context: usize) -> SelectionTree {
    let patch = ["diff --git a/f b/f\n", &unified(old, new, context)].concat();
    let files = OfferedFile::read_all(patch.as_bytes());
    SelectionTree::new(files, OfferedFile::shown_header)
}

/// All lines that can be selected.
fn lines_of(tree: &SelectionTree) -> Vec<ItemPath> {
    let hunks = tree.files()[0].hunks().iter().enumerate();
    let lines = hunks.map(|(hunk, of)| (0..of.lines().len()).map(move |line| (hunk, line)));
    lines
        .flatten()
        .map(|(hunk, line)| ItemPath::of_line(0, hunk, line))
        .collect()
}

/// Unselects the lines at which `kept` has `false`.
fn select_only(tree: &mut SelectionTree, kept: &[bool]) {
    tree.move_cursor(Movement::Child);
    let lines = lines_of(tree);
    for (at, line) in lines.into_iter().enumerate() {
        tree.move_cursor(Movement::First);
        while tree.cursor() < line {
            tree.move_cursor(Movement::Next);
        }
        assert_eq!(tree.cursor(), line);
        if !kept[at % kept.len()] {
            tree.toggle();
        }
        let is_selected = tree.selected(line) == Selected::Yes;
        assert_eq!(is_selected, kept[at % kept.len()]);
    }
}

/// The old text with the selected lines changed, by going through the lines of a whole difference.
fn expected(old: &str, new: &str, kept: &[bool]) -> String {
    let whole = unified(old, new, 1000);
    let mut result: Vec<String> = Vec::new();
    let mut at = 0;
    let mut was_taken = false;
    for line in whole.lines().skip(3) {
        if line.starts_with('\\') {
            if let Some(last) = result.last_mut().filter(|_| was_taken) {
                last.pop();
            }
            continue;
        }
        let mut is_kept = || {
            at += 1;
            kept[(at - 1) % kept.len()]
        };
        was_taken = match line.as_bytes()[0] {
            b'-' => !is_kept(),
            b'+' => is_kept(),
            _ => true,
        };
        if was_taken {
            result.push(format!("{}\n", &line[1..]));
        }
    }
    let last = result.len().saturating_sub(1);
    for line in result.iter_mut().take(last) {
        if !line.ends_with('\n') {
            line.push('\n');
        }
    }
    result.concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_lines_make_their_change(
        old in texts(), new in texts(), context in 1..5_usize,
        kept in proptest::collection::vec(any::<bool>(), 1..12),
    ) {
        prop_assume!(old != new);
        let mut tree = tree_of(&old, &new, context);
        select_only(&mut tree, &kept);
        let expected = expected(&old, &new, &kept);
        let patch = tree.chosen_patch(PatchBase::Old);
        let mut store = Store::of(old.as_str());
        prop_assert_eq!(store.patch(&patch, 0, LineEnds::Strict), Ok(false));
        prop_assert_eq!(store.content("f").unwrap(), expected.as_bytes(), "{}", String::from_utf8_lossy(&patch));
    }

    /// Taking back the lines that are selected leaves what selecting the others would have made.
    #[test]
    fn any_lines_are_taken_back(
        old in texts(), new in texts(), context in 1..5_usize,
        kept in proptest::collection::vec(any::<bool>(), 1..12),
    ) {
        prop_assume!(old != new);
        let mut tree = tree_of(&old, &new, context);
        select_only(&mut tree, &kept);
        let others: Vec<bool> = kept.iter().map(|kept| !kept).collect();
        let expected = expected(&old, &new, &others);
        let patch = reversed_hunks(&tree.chosen_patch(PatchBase::New));
        let mut store = Store::of(new.as_str());
        prop_assert_eq!(store.patch(&patch, 0, LineEnds::Strict), Ok(false));
        prop_assert_eq!(store.content("f").unwrap(), expected.as_bytes(), "{}", String::from_utf8_lossy(&patch));
    }

    #[test]
    fn everything_is_the_whole_patch_and_nothing_is_none(old in texts(), new in texts(), context in 1..5_usize) {
        prop_assume!(old != new);
        let mut tree = tree_of(&old, &new, context);
        for base in [PatchBase::Old, PatchBase::New] {
            let patch = tree.chosen_patch(base);
            let mut store = Store::of(old.as_str());
            prop_assert_eq!(store.patch(&patch, 0, LineEnds::Strict), Ok(false));
            prop_assert_eq!(store.content("f").unwrap(), new.as_bytes());
        }
        tree.toggle_all();
        prop_assert_eq!(tree.chosen_patch(PatchBase::Old), b"");
        tree.invert();
        prop_assert_eq!(tree.selected(ItemPath::of_file(0)), Selected::Yes);
        tree.invert();
        prop_assert_eq!(tree.chosen_patch(PatchBase::New), b"");
    }

    /// No keys lead to an item that is not there, or lose an item that is shown.
    #[test]
    fn the_cursor_stays_on_an_item(old in texts(), new in texts(), keys in proptest::collection::vec(0..16_u8, 0..60)) {
        prop_assume!(old != new);
        let mut tree = tree_of(&old, &new, 1);
        for key in keys {
            match key {
                0 => tree.move_cursor(Movement::Next),
                1 => tree.move_cursor(Movement::Previous),
                2 => tree.move_cursor(Movement::NextSibling),
                3 => tree.move_cursor(Movement::PreviousSibling),
                4 | 5 => tree.move_cursor(Movement::Child),
                6 => tree.move_cursor(Movement::Parent),
                7 => tree.move_cursor(Movement::File),
                8 => tree.move_cursor(Movement::Last),
                9 => tree.toggle_fold(),
                10 => tree.toggle_parent_fold(),
                11 => tree.toggle(),
                12 => tree.toggle_and_advance(),
                13 => tree.toggle_range(),
                14 => tree.invert(),
                _ => {
                    let edited = tree.hunk_patch(PatchBase::Old).unwrap_or_default();
                    tree.replace_hunk(&edited);
                }
            }
            let cursor = tree.cursor();
            let file = &tree.files()[cursor.file];
            prop_assert!(!file.is_folded() || cursor.hunk.is_none());
            if let Some(hunk) = cursor.hunk {
                prop_assert!(!file.hunks()[hunk].is_folded() || cursor.line.is_none());
                prop_assert!(cursor.line.is_none_or(|line| line < file.hunks()[hunk].lines().len()));
            }
        }
    }
}
