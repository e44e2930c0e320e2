//! Differences of known edits, applied to the text before, to one that has moved, and to others.

use super::{ApplyOptions, apply};
use crate::fuzzing::Files;
use crate::target::{LineEnds, PatchMode, TargetFile};
use proptest::prelude::*;

/// Lines of context around each edit.
const CONTEXT: usize = 3;

/// A line with a number that no other line has, so that it fits at one place only.
fn line(number: usize) -> String {
    format!("line {number}\n")
}

/// An edit: how many lines stay before it, how many go, and how many come.
type Edit = (usize, usize, usize);

/// The text before, the text after, and the patch between.
fn texts(edits: &[Edit]) -> (String, String, String) {
    let (mut old, mut new) = (Vec::new(), Vec::new());
    let mut patch = "--- a/f\n+++ b/f\n".to_owned();
    let mut number = 0;
    let mut next = || {
        number += 1;
        line(number)
    };
    for (stays, goes, comes) in edits {
        // Far enough from the edit before for a hunk of its own.
        let before: Vec<String> = (0..2 * CONTEXT + stays).map(|_| next()).collect();
        let gone: Vec<String> = (0..*goes).map(|_| next()).collect();
        let come: Vec<String> = (0..*comes).map(|_| next()).collect();
        old.extend(before.clone());
        new.extend(before.clone());
        let context = &before[before.len() - CONTEXT..];
        let (from, to) = (old.len() - CONTEXT + 1, new.len() - CONTEXT + 1);
        let (old_len, new_len) = (CONTEXT + goes, CONTEXT + comes);
        patch += &format!("@@ -{from},{old_len} +{to},{new_len} @@\n");
        let marked = |sign: &str, lines: &[String]| -> String {
            lines.iter().map(|line| format!("{sign}{line}")).collect()
        };
        patch += &(marked(" ", context) + &marked("-", &gone) + &marked("+", &come));
        old.extend(gone);
        new.extend(come);
    }
    (old.concat(), new.concat(), patch)
}

/// The file after the patch, and its rejects.
fn applied(content: &str, patch: &str, options: &ApplyOptions) -> (String, Option<String>) {
    let mut files = Files::default();
    let file = TargetFile {
        content: content.as_bytes().to_vec(),
        mode: PatchMode::default(),
    };
    files.0.insert(b"f".to_vec(), file);
    let outcome = apply(patch.as_bytes(), &mut files, options).unwrap();
    let text = |name: &[u8]| {
        let file = files.0.get(name)?;
        Some(String::from_utf8(file.content.clone()).unwrap())
    };
    let rejects = text(b"f.rej");
    assert_eq!(outcome.has_rejects, rejects.is_some());
    (text(b"f").unwrap(), rejects)
}

fn options(fuzz: usize, line_ends: LineEnds) -> ApplyOptions {
    ApplyOptions {
        strip: 1,
        prefix: Vec::new(),
        fuzz,
        line_ends,
    }
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    proptest::collection::vec((0_usize..4, 0_usize..4, 1_usize..4), 1..5)
}

proptest! {
    #[test]
    fn patches_lead_to_the_new_text(edits in edits(), above in 0_usize..9) {
        let (old, new, patch) = texts(&edits);
        let strict = options(0, LineEnds::Strict);
        prop_assert_eq!(applied(&old, &patch, &strict), (new.clone(), None));
        let more: String = (1000..1000 + above).map(line).collect();
        let moved = (more.clone() + &old, more + &new);
        prop_assert_eq!(applied(&moved.0, &patch, &strict), (moved.1, None));
    }

    #[test]
    fn hunks_fit_without_their_outer_context(edits in edits()) {
        let (old, new, patch) = texts(&edits);
        let first = CONTEXT + edits[0].0 + 1;
        let change = |text: &str| text.replacen(&line(first), "other\n", 1);
        let (text, rejects) = applied(&change(&old), &patch, &options(1, LineEnds::Strict));
        prop_assert_eq!((text, rejects), (change(&new), None));
        let (_, rejects) = applied(&change(&old), &patch, &options(0, LineEnds::Strict));
        prop_assert!(rejects.unwrap().starts_with("--- f\n+++ f\n@@ "));
    }

    #[test]
    fn line_ends_are_those_of_the_file(edits in edits()) {
        let (old, new, patch) = texts(&edits);
        let with_cr = |text: &str| text.replace('\n', "\r\n");
        let auto = options(0, LineEnds::Auto);
        prop_assert_eq!(applied(&with_cr(&old), &patch, &auto).0, with_cr(&new));
        prop_assert_eq!(applied(&with_cr(&old), &patch, &options(0, LineEnds::Lf)).0, new);
        let strict = applied(&with_cr(&old), &patch, &options(0, LineEnds::Strict));
        prop_assert!(strict.1.is_some());
    }
}
