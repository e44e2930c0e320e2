//! Lines of a file that its bases do not have.

use std::ops::Range;
use varve_delta::same_lines;

/// Runs of lines of `new`, counted from 0, that differ from one of the bases or more; a base without the file differs in
/// all. Runs that meet are one.
pub fn changed_lines(bases: &[Option<Vec<u8>>], new: &[u8]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for base in bases {
        let base = base.as_deref().unwrap_or_default();
        let mut next = 0;
        for block in same_lines(base, new) {
            if next < block.b {
                found.push(next..block.b);
            }
            next = block.b + block.len;
        }
    }
    found.sort_by_key(|lines| lines.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for lines in found {
        match merged.last_mut() {
            Some(last) if lines.start <= last.end => last.end = last.end.max(lines.end),
            _ => merged.push(lines),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// First lines and ends.
    fn changed(bases: &[Option<&str>], new: &str) -> Vec<(usize, usize)> {
        let bases = bases
            .iter()
            .map(|base| base.map(|text| text.as_bytes().to_vec()));
        let lines = changed_lines(&bases.collect::<Vec<_>>(), new.as_bytes());
        lines.iter().map(|lines| (lines.start, lines.end)).collect()
    }

    #[test]
    fn deleted_lines_are_none_and_runs_that_meet_are_one() {
        let new = "A\nB\nc\nD\n";
        let sides = [Some("a\nB\nc\nD\n"), Some("A\nb\nc\nD\n")];
        let apart = [Some("a\nB\nc\nD\n"), Some("A\nB\nc\nd\n")];
        for (bases, new, expected) in [
            (&[Some("a\nb\nc\n")][..], "a\nc\n", &[][..]),
            (&[Some("a\n")], "", &[]),
            (&[Some("a\nb\nc")], "a\nb\nc\n", &[(2, 3)]),
            (&sides, new, &[(0, 2)]),
            (&apart, new, &[(0, 1), (3, 4)]),
            (&[None], "a\nb", &[(0, 2)]),
        ] {
            assert_eq!(changed(bases, new), expected, "{bases:?} {new:?}");
        }
    }

    proptest! {
        /// Lines outside are a subsequence of each base.
        #[test]
        fn other_lines_are_those_of_each_base(
            bases in prop::collection::vec("[ab\n]{0,30}", 1..3),
            new in "[ab\n]{0,30}",
        ) {
            let texts: Vec<_> = bases.iter().map(|base| Some(base.clone().into_bytes())).collect();
            let changed = changed_lines(&texts, new.as_bytes());
            let rest = new.split_inclusive('\n').enumerate();
            let rest: Vec<&str> = rest
                .filter(|(number, _)| !changed.iter().any(|lines| lines.contains(number)))
                .map(|(_, line)| line)
                .collect();
            for base in &bases {
                let mut lines = base.split_inclusive('\n');
                prop_assert!(rest.iter().all(|line| lines.any(|other| other == *line)));
            }
        }
    }
}
