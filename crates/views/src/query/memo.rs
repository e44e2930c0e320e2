//! Reduced values that were asked for: until the index changes, the next query that groups in the same way finds them.
//! Summaries in inner nodes of the tree are quickly found anyhow; this saves reducing the rows at both ends of each
//! group.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Values are kept for so many groups.
const MOST: usize = 2_048;
/// Longer values are not kept.
const LONGEST: usize = 256;

/// A state of the index: sequence and purge sequence of its database.
pub(crate) type IndexVersion = (u64, u64);

/// A group of rows, and which reduce of which map function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Reduce {
    pub(super) tree: usize,
    pub(super) part: usize,
    pub(super) run: Range<u64>,
}

/// Values of one state of an index, as JSON text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memo {
    state: Arc<Mutex<MemoState>>,
}

#[derive(Debug, Default)]
struct MemoState {
    /// Whether there was ever a value to keep.
    is_used: bool,
    version: IndexVersion,
    values: HashMap<Reduce, Vec<u8>>,
}

impl Memo {
    pub(super) fn get(&self, version: IndexVersion, reduce: &Reduce) -> Option<Vec<u8>> {
        let state = self.state.lock();
        let value = state
            .values
            .get(reduce)
            .filter(|_| state.version == version);
        value.cloned()
    }

    /// Whether a query asked for reduced values.
    pub(crate) fn is_used(&self) -> bool {
        self.state.lock().is_used
    }

    /// Keeps a value; an older state never takes the place of a newer one.
    pub(super) fn put(&self, version: IndexVersion, reduce: Reduce, value: &[u8]) {
        let mut state = self.state.lock();
        state.is_used = true;
        if value.len() > LONGEST || version < state.version {
            return;
        }
        if version > state.version || state.values.len() == MOST {
            state.values.clear();
            state.version = version;
        }
        state.values.insert(reduce, value.to_vec());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_newest_state() {
        let memo = Memo::default();
        let reduce = |run| Reduce {
            tree: 1,
            part: 0,
            run,
        };
        memo.put((5, 0), reduce(0..9), b"1");
        assert_eq!(memo.get((5, 0), &reduce(0..9)), Some(b"1".to_vec()));
        assert_eq!(memo.get((4, 0), &reduce(0..9)), None);
        assert_eq!(memo.get((5, 0), &reduce(0..8)), None);
        memo.put((5, 1), reduce(0..9), b"2");
        memo.put((5, 0), reduce(0..9), b"3");
        assert_eq!(memo.get((5, 1), &reduce(0..9)), Some(b"2".to_vec()));
        assert_eq!(memo.get((5, 0), &reduce(0..9)), None);
        memo.put((5, 1), reduce(0..7), &[b'1'; LONGEST + 1]);
        assert_eq!(memo.get((5, 1), &reduce(0..7)), None);
    }

    #[test]
    fn the_number_of_values_is_bounded() {
        let memo = Memo::default();
        for end in 0..3 * MOST as u64 {
            let run = 0..end;
            memo.put(
                (1, 0),
                Reduce {
                    tree: 1,
                    part: 0,
                    run,
                },
                b"1",
            );
        }
        assert!(memo.state.lock().values.len() <= MOST);
    }
}
