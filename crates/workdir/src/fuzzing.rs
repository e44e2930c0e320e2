//! Bodies of the fuzz targets; also run by plain tests.

pub use crate::dirstate::fuzzing::{dirstate_v1, dirstate_v2};
pub use crate::graft::fuzzing::graft_state;
pub use crate::histedit::fuzzing::histedit_state;
pub use crate::rebase::fuzzing::rebase_state;
pub use crate::shelve::fuzzing::unshelve_state;

/// Never panics on any text of an ignore file.
pub fn ignore_file(data: &[u8]) {
    crate::ignore::fuzz(data);
}

/// Never panics on any text in place of the lines that a user of `absorb` edits.
pub fn edited_lines(data: &[u8]) {
    crate::absorb::edited::fuzz(data);
}

/// Never panics on any drawing of history, nor on its order.
pub fn drawing(data: &[u8]) {
    let _ = crate::Drawing::parse(data).order();
}

/// Never panics on any description of history; parents come before their children.
pub fn dag_text(data: &[u8]) {
    // A long run of changesets only takes memory.
    if data
        .split(|byte| !byte.is_ascii_digit())
        .any(|digits| digits.len() > 4)
    {
        return;
    }
    let mut count = 0;
    for step in crate::parse_dag(data).unwrap_or_default() {
        if let crate::DagStep::Changeset(parents) = step {
            assert!(parents.into_iter().flatten().all(|parent| parent < count));
            count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn made_up_history_is_read_or_refused(
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        ) {
            let changed = |golden: &[u8]| {
                let mut bytes = golden.to_vec();
                for (at, byte) in &changes {
                    let at = at.index(bytes.len());
                    bytes[at] = *byte;
                }
                bytes
            };
            super::drawing(&changed(b"o  d # d/x = 1\n|\\\n+--o c\n| |/ # split: d -> a, b\nb |\n|/\na"));
            super::dag_text(&changed(b"+2:f +3:\"p 2\" @temp <f+2 @default /f *2/1 $. #x\n."));
        }
    }
}
