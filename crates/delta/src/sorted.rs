//! Patches between texts of sorted lines, such as manifests, in one pass over both.

use crate::diff::common_start;
use crate::patch::push_hunk;
use std::cmp::Ordering;

/// Appends to `out` a patch that makes `new` of `old`, hunks at lines only. Both are shorter than
/// 4 GiB.
///
/// Lines are expected in ascending order of their bytes before the first zero byte; the patch is right for any text,
/// but small only for such.
pub fn diff_sorted(old: &[u8], new: &[u8], out: &mut Vec<u8>) {
    // Where the lines begin that are compared next, and where the hunk at work began.
    let (mut a, mut b) = (0, 0);
    let mut hunk = (0, 0);
    loop {
        let same = common_start(&old[a..], &new[b..]);
        let at_end = a + same == old.len() && b + same == new.len();
        let same = if at_end {
            same
        } else {
            memchr::memrchr(b'\n', &old[a..a + same]).map_or(0, |newline| newline + 1)
        };
        if same > 0 || at_end {
            push(old, new, hunk, (a, b), out);
            (a, b) = (a + same, b + same);
            hunk = (a, b);
        }
        if at_end {
            return;
        }
        let (old_line, new_line) = (line(&old[a..]), line(&new[b..]));
        let order = match (old_line, new_line) {
            ([], _) => Ordering::Greater,
            (_, []) => Ordering::Less,
            (old_line, new_line) => key(old_line).cmp(key(new_line)),
        };
        if order.is_le() {
            a += old_line.len();
        }
        if order.is_ge() {
            b += new_line.len();
        }
    }
}

fn push(old: &[u8], new: &[u8], from: (usize, usize), to: (usize, usize), out: &mut Vec<u8>) {
    if from == to {
        return;
    }
    let place = |at: usize| u32::try_from(at.min(old.len())).unwrap_or(u32::MAX);
    push_hunk(out, place(from.0), place(to.0), &new[from.1..to.1]);
}

/// The first line with its newline.
fn line(text: &[u8]) -> &[u8] {
    let end = memchr::memchr(b'\n', text).map_or(text.len(), |newline| newline + 1);
    &text[..end]
}

fn key(line: &[u8]) -> &[u8] {
    let end = memchr::memchr(0, line).unwrap_or(line.len());
    &line[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Hunks, apply};
    use proptest::prelude::*;

    fn check(old: &[u8], new: &[u8]) -> usize {
        let (mut patch, mut text) = (Vec::new(), Vec::new());
        diff_sorted(old, new, &mut patch);
        apply(&patch, old, &mut text).unwrap();
        assert!(text == new, "{old:?} to {new:?}");
        Hunks::new(&patch).count()
    }

    fn manifest(files: &[(u16, u8)]) -> Vec<u8> {
        let mut text = Vec::new();
        for (name, value) in files {
            text.extend_from_slice(format!("dir/{name:05}\0{value:040x}\n").as_bytes());
        }
        text
    }

    #[test]
    fn each_change_is_one_hunk() {
        let old: Vec<_> = (0..900).map(|n| (n * 2, 1)).collect();
        let mut new = old.clone();
        new[7].1 = 2;
        new.remove(300);
        new.insert(600, (new[600].0 - 1, 5));
        new.push((9_999, 1));
        assert_eq!(check(&manifest(&old), &manifest(&new)), 4);
        assert_eq!(check(&manifest(&old), &manifest(&old)), 0);
        assert_eq!(check(b"", &manifest(&old)), 1);
        assert_eq!(check(&manifest(&old), b""), 1);
        assert_eq!(check(b"a\nb", b"a\nb\n"), 1);
    }

    proptest! {
        #[test]
        fn sorted_lines(
            old in proptest::collection::btree_map(0_u16..300, 0_u8..3, 0..80),
            new in proptest::collection::btree_map(0_u16..300, 0_u8..3, 0..80),
        ) {
            let [old, new] = [old, new].map(|m| manifest(&m.into_iter().collect::<Vec<_>>()));
            check(&old, &new);
        }

        #[test]
        fn any_two_texts(
            old in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(0), b'a'..b'c'], 0..80),
            new in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(0), b'a'..b'c'], 0..80),
        ) {
            check(&old, &new);
        }
    }
}
