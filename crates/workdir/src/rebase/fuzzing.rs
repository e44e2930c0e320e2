//! Promises for any bytes in place of the state of a rebase.

use super::RebaseState;

/// Never panics; a state that is read is written and read again as the same.
pub fn rebase_state(data: &[u8]) {
    if let Some(state) = RebaseState::parse(data) {
        assert_eq!(RebaseState::parse(&state.encode()), Some(state));
    }
}

#[cfg(test)]
mod tests {
    use super::rebase_state;
    use crate::{RebaseState, RebaseStep};
    use proptest::prelude::*;
    use varve_repo::Node;

    proptest! {
        #[test]
        fn any_bytes_and_changed_states_are_survived(
            bytes in proptest::collection::vec(any::<u8>(), 0..64),
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        ) {
            rebase_state(&bytes);
            let step = |new| RebaseStep {
                old: Node([1; Node::LEN]),
                new,
                destination: Node([2; Node::LEN]),
            };
            let state = RebaseState {
                original: Node([3; Node::LEN]),
                external: Node::NULL,
                collapses: false,
                keeps: true,
                keeps_branches: false,
                active_bookmark: Some(b"act".to_vec()),
                steps: vec![step(None), step(Some(Node([4; Node::LEN])))],
            };
            let mut changed = state.encode();
            for (at, byte) in &changes {
                let at = at.index(changed.len());
                changed[at] = *byte;
            }
            rebase_state(&changed);
        }
    }
}
