//! Any two texts: a patch between them leads from one to the other, in each form, and what is rejected is a patch again.

use super::drawn::{Hunk, Line, difference, hunks, in_context, lines, unified};
use super::store::Store;
use proptest::prelude::*;
use varve_patch::{FilePatches, LineEnds};

/// Texts of few different lines, so that most lines are at several places; the last line may have no end.
pub fn texts() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "a\n", "b\n", "c\n", "\n", "--- d\n", "+++ e\n", "@@ f\n",
    ]);
    let last = prop::sample::select(vec!["", "", "a", "+b", "@@ -1 +1 @@"]);
    (proptest::collection::vec(line, 0..14), last).prop_map(|(lines, last)| lines.concat() + last)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_patch_leads_from_its_old_text_to_its_new_one(old in texts(), new in texts(), context in 0..5_usize) {
        prop_assume!(old != new);
        let mut store = Store::of(old.as_str());
        prop_assert_eq!(store.patch(unified(&old, &new, context), 0, LineEnds::Strict), Ok(false));
        prop_assert_eq!(store, Store::of(new.as_str()));
    }

    /// Both forms say the same. Without context a side without lines has no place in the context form.
    #[test]
    fn the_context_form_leads_there_too(old in texts(), new in texts(), context in 1..5_usize) {
        prop_assume!(old != new);
        let mut store = Store::of(old.as_str());
        prop_assert_eq!(store.patch(in_context(&old, &new, context), 0, LineEnds::Strict), Ok(false));
        prop_assert_eq!(store, Store::of(new.as_str()));
    }

    /// There and back again.
    #[test]
    fn the_reversed_patch_leads_back(old in texts(), new in texts(), context in 0..5_usize) {
        prop_assume!(old != new);
        let mut store = Store::of(old.as_str());
        for patch in [unified(&old, &new, context), unified(&new, &old, context)] {
            prop_assert_eq!(store.patch(patch, 0, LineEnds::Strict), Ok(false));
        }
        prop_assert_eq!(store, Store::of(old.as_str()));
    }

    /// One after the other in one text, as a series is applied.
    #[test]
    fn patches_of_one_file_build_on_each_other(states in proptest::collection::vec(texts(), 2..5)) {
        prop_assume!(states.windows(2).all(|pair| pair[0] != pair[1]));
        let patches: String = states.windows(2).map(|pair| unified(&pair[0], &pair[1], 3)).collect();
        let mut store = Store::of(states[0].as_str());
        prop_assert_eq!(store.patch(patches, 0, LineEnds::Strict), Ok(false));
        prop_assert_eq!(store, Store::of(states[states.len() - 1].as_str()));
    }

    /// Words before, between and behind files are skipped.
    #[test]
    fn words_around_a_patch_change_nothing(old in texts(), new in texts(), words in "([a-z ]{0,9}\n){0,4}") {
        prop_assume!(old != new);
        let patch = unified(&old, &new, 3);
        let plain: Vec<_> = FilePatches::new(patch.as_bytes()).collect();
        let with_words = format!("{words}{patch}{words}");
        prop_assume!(!patch.ends_with("@@\n"));
        let read: Vec<_> = FilePatches::new(with_words.as_bytes()).collect();
        prop_assert_eq!(read, plain);
    }

    /// A patch that is cut anywhere applies up to a whole hunk, or names its fault; never anything else.
    #[test]
    fn a_cut_patch_is_a_beginning_or_a_fault(old in texts(), new in texts(), cut in any::<prop::sample::Index>()) {
        prop_assume!(old != new);
        let patch = unified(&old, &new, 1);
        let text = &patch[..cut.index(patch.len())];
        let mut store = Store::of(old.as_str());
        let outcome = store.patch(text, 0, LineEnds::Strict);
        if let Err(error) = outcome {
            prop_assert!(error.is_malformed(), "{}", error);
            prop_assert_eq!(store.content("f"), Some(old.as_bytes()));
        }
    }
}

/// A text in which each line is at one place only.
pub fn numbered(count: usize) -> Vec<String> {
    (1..=count)
        .map(|number| format!("line {number}\n"))
        .collect()
}

proptest! {
    /// Hunks that do not fit are kept as a patch, which applies once its lines are there; all others are applied.
    #[test]
    fn rejects_are_a_patch_of_what_is_left(
        changed in proptest::collection::btree_set(0..12_usize, 1..6), damaged in any::<[bool; 12]>(),
    ) {
        const APART: usize = 10;
        let old = numbered(12 * APART);
        let edit = |text: &mut Vec<String>, word: &str, is_wanted: &dyn Fn(usize) -> bool| {
            for at in changed.iter().filter(|at| is_wanted(**at)) {
                text[at * APART + 5] = format!("{word} {at}\n");
            }
        };
        let mut new = old.clone();
        edit(&mut new, "new", &|_| true);
        let mut there = old.clone();
        edit(&mut there, "odd", &|at| damaged[at]);
        let all = hunks(&difference(&old, &new), 3);
        prop_assert_eq!(all.len(), changed.len());
        let mut store = Store::of(there.concat());
        let has_rejects = store.patch(unified(&old.concat(), &new.concat(), 3), 2, LineEnds::Strict).unwrap();
        let mut expected = new.clone();
        edit(&mut expected, "odd", &|at| damaged[at]);
        prop_assert_eq!(store.content("f").map(<[u8]>::to_vec), Some(expected.concat().into_bytes()));
        let left: Vec<&Hunk> = all.iter().zip(&changed).filter(|(_, at)| damaged[**at]).map(|(hunk, _)| hunk).collect();
        prop_assert_eq!(has_rejects, !left.is_empty());
        let Some(rejects) = store.rejects.get("f").cloned() else {
            prop_assert!(left.is_empty() && store.notices.is_empty());
            return Ok(());
        };
        let printed: String = left.iter().map(|hunk| hunk.unified()).collect();
        prop_assert_eq!(&rejects, &format!("--- f\n+++ f\n{printed}"));
        let summary = format!("{} of {} rejected", left.len(), all.len());
        prop_assert_eq!(store.notices.last(), Some(&summary));
        prop_assert_eq!(store.notices.len(), left.len() + 1);
        // The lines come back, and the rest applies.
        let mut mended = expected.clone();
        for (at, line) in old.iter().enumerate() {
            if mended[at].starts_with("odd") {
                mended[at].clone_from(line);
            }
        }
        let mut store = Store::of(mended.concat());
        let rest = rejects.replace("--- f", "--- a/f").replace("+++ f", "+++ b/f");
        prop_assert_eq!(store.patch(rest, 0, LineEnds::Strict), Ok(false));
        prop_assert_eq!(store, Store::of(new.concat()));
    }
}

/// A hunk with fewer or more lines than it announces is refused, and the text stays as it is.
#[test]
fn hunks_of_another_length_are_refused() {
    let (old, new) = (numbered(9), {
        let mut new = numbered(9);
        new[4] = "other\n".to_owned();
        new
    });
    let patch = unified(&old.concat(), &new.concat(), 3);
    assert!(patch.contains("@@ -2,7 +2,7 @@"));
    for (heading, is_read) in [
        ("@@ -2,7 +2,7 @@", true),
        ("@@ -2,8 +2,7 @@", false),
        ("@@ -2,7 +2,8 @@", false),
        ("@@ -2,6 +2,6 @@", true),
        ("@@ -2,1 +2,1 @@", true),
        ("@@ -2,7 +2,99999999999999999999 @@", false),
        ("@@ -2,18446744073709551615 +2,7 @@", false),
        ("@@ -18446744073709551615,7 +2,7 @@", true),
    ] {
        let mut store = Store::of(old.concat());
        let outcome = store.patch(
            patch.replace("@@ -2,7 +2,7 @@", heading),
            0,
            LineEnds::Strict,
        );
        match outcome {
            Ok(false) => assert!(is_read, "{heading}"),
            Ok(true) => assert!(is_read && store.content("f") == Some(old.concat().as_bytes())),
            Err(error) => {
                assert!(error.is_malformed(), "{heading}: {error}");
                assert_eq!(store.content("f"), Some(old.concat().as_bytes()));
            }
        }
    }
    // The naive differ itself: its hunks have all changes, and its lines are those of the texts.
    let all = difference(&old, &new);
    let of = |side: fn(&Line) -> Option<&String>| -> Vec<String> {
        all.iter().filter_map(side).cloned().collect()
    };
    let old_side = of(|line| match line {
        Line::Both(text) | Line::Old(text) => Some(text),
        Line::New(_) => None,
    });
    assert_eq!((old_side, lines(&new.concat())), (old, new));
}
