//! Places where hunks fit: moved texts, context that has changed, and what is told of it.

use super::drawn::unified;
use super::laws::numbered;
use super::store::Store;
use proptest::prelude::*;
use varve_patch::LineEnds;

const CONTEXT: usize = 3;
/// The changed line of [`one_edit`], from 0 on.
const EDITED: usize = 20;

/// A text of forty lines, the same with one line changed, and the patch.
fn one_edit() -> (Vec<String>, Vec<String>, String) {
    let old = numbered(40);
    let mut new = old.clone();
    new[EDITED] = "changed\n".to_owned();
    let patch = unified(&old.concat(), &new.concat(), CONTEXT);
    (old, new, patch)
}

proptest! {
    /// Lines of context may differ at either end, as many as the fuzz allows; the report says how many.
    #[test]
    fn outer_context_may_differ_up_to_the_fuzz(start in 0..=CONTEXT, end in 0..=CONTEXT, fuzz in 0..5_usize, moved in 0..9_usize) {
        let (old, new, patch) = one_edit();
        let damage = |text: &[String]| {
            let mut text = text.to_vec();
            for at in (EDITED - CONTEXT..EDITED - CONTEXT + start).chain(EDITED + CONTEXT + 1 - end..=EDITED + CONTEXT) {
                text[at] = format!("damaged {at}\n");
            }
            let above: String = (0..moved).map(|number| format!("above {number}\n")).collect();
            above + &text.concat()
        };
        let mut store = Store::of(damage(&old));
        let has_rejects = store.patch(&patch, fuzz, LineEnds::Strict).unwrap();
        let needed = start.max(end);
        prop_assert_eq!(has_rejects, needed > fuzz);
        let expected = if has_rejects { damage(&old) } else { damage(&new) };
        prop_assert_eq!(store.content("f"), Some(expected.as_bytes()));
        let first = EDITED - CONTEXT;
        let told = match (has_rejects, needed, moved) {
            (true, ..) => vec![format!("1 failed at {first}"), "1 of 1 rejected".to_owned()],
            (false, 0, 0) => Vec::new(),
            // Only lines at the start that are passed over move the place itself.
            _ => {
                let skipped = if start == 0 && end == 0 { 0 } else { needed };
                vec![format!("1 at {} fuzz {needed} offset {moved}", first + moved + skipped + 1)]
            }
        };
        prop_assert_eq!(store.notices, told);
    }

    /// Of several places the nearest one is taken; hunks that follow start from where the last one was found.
    #[test]
    fn the_nearest_place_is_taken(gap in 1..6_usize, above in 0..12_usize, below in 0..12_usize) {
        prop_assume!(above != below);
        // The same three lines twice, and neither where the patch says.
        let filler = |name: &str, count: usize| -> String { (0..count).map(|n| format!("{name} {n}\n")).collect() };
        let piece = |middle: &str| format!("top\n{middle}\nbottom\n");
        let old = filler("x", 15) + &piece("old");
        let new = filler("x", 15) + &piece("new");
        let patch = unified(&old, &new, 1);
        let text = |first: &str, second: &str| {
            filler("y", 15 - 3 - above) + &piece(first) + &filler("z", above + gap + below) + &piece(second) + &filler("w", 20)
        };
        let distances = [(3 + above) as isize, (gap + below) as isize];
        prop_assume!(distances[0] != distances[1]);
        let mut store = Store::of(text("old", "old"));
        prop_assert_eq!(store.patch(patch, 0, LineEnds::Strict), Ok(false));
        let (expected, offset) = match distances[0] < distances[1] {
            true => (text("new", "old"), -distances[0]),
            false => (text("old", "new"), distances[1]),
        };
        prop_assert_eq!(store.content("f"), Some(expected.as_bytes()));
        prop_assert_eq!(store.notices, vec![format!("1 at {} fuzz 0 offset {offset}", 16 + offset)]);
    }
}

#[test]
fn later_hunks_follow_the_offset_of_earlier_ones() {
    let old = numbered(60);
    let mut new = old.clone();
    for at in [10, 30, 50] {
        new[at] = format!("changed {at}\n");
    }
    let patch = unified(&old.concat(), &new.concat(), CONTEXT);
    let above = "above\n".repeat(4);
    let mut store = Store::of(above.clone() + &old.concat());
    assert_eq!(store.patch(&patch, 0, LineEnds::Strict), Ok(false));
    assert_eq!(store.content("f"), Some((above + &new.concat()).as_bytes()));
    let told = [(1, 12), (2, 32), (3, 52)]
        .map(|(number, line)| format!("{number} at {line} fuzz 0 offset 4"));
    assert_eq!(store.notices, told);
}

#[test]
fn a_hunk_without_lines_before_it_goes_to_its_place_or_the_end() {
    for (old, patch, new) in [
        ("", "@@ -0,0 +1,2 @@\n+a\n+b\n", "a\nb\n"),
        ("1\n2\n", "@@ -1,0 +2 @@\n+a\n", "1\na\n2\n"),
        ("1\n2\n", "@@ -2,0 +3 @@\n+a\n", "1\n2\na\n"),
        ("1\n2\n", "@@ -9,0 +9 @@\n+a\n", "1\n2\na\n"),
        (
            "1\n2",
            "@@ -2 +2 @@\n-2\n\\ No newline at end of file\n+2\n",
            "1\n2\n",
        ),
        (
            "1\n2\n",
            "@@ -2 +2 @@\n-2\n+2\n\\ No newline at end of file\n",
            "1\n2",
        ),
        ("1\n2\n", "@@ -1,2 +0,0 @@\n-1\n-2\n", ""),
    ] {
        let mut store = Store::of(old);
        let patch = format!("--- a/f\n+++ b/f\n{patch}");
        assert_eq!(
            store.patch(&patch, 0, LineEnds::Strict),
            Ok(false),
            "{patch}"
        );
        assert_eq!(store.content("f"), Some(new.as_bytes()), "{patch}");
    }
}

/// A text that differs from the patch in its last line end alone does not fit.
#[test]
fn a_missing_line_end_is_a_difference() {
    let patch = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n";
    let mut store = Store::of("1\n2");
    assert_eq!(store.patch(patch, 0, LineEnds::Strict), Ok(true));
    assert_eq!(store.content("f"), Some(&b"1\n2"[..]));
    assert_eq!(store.patch(patch, 1, LineEnds::Strict), Ok(false));
    assert_eq!(store.content("f"), Some(&b"one\n2"[..]));
}
