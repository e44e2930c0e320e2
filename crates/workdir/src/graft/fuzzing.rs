//! Promises for any bytes in place of the state of a graft.

use super::GraftState;

/// Never panics; a state that is read is written and read again as the same.
pub fn graft_state(data: &[u8]) {
    if let Some(state) = GraftState::parse(data) {
        assert_eq!(GraftState::parse(&state.encode()), Some(state));
    }
}

#[cfg(test)]
mod tests {
    use super::graft_state;
    use crate::GraftState;
    use proptest::prelude::*;
    use varve_repo::Node;

    proptest! {
        #[test]
        fn any_bytes_and_changed_states_are_survived(
            bytes in proptest::collection::vec(any::<u8>(), 0..64),
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        ) {
            graft_state(&[b"1\n", &bytes[..]].concat());
            let state = GraftState {
                nodes: vec![Node([1; Node::LEN]); 2],
                new_nodes: vec![Node([2; Node::LEN])],
                date: Some(b"0 0".to_vec()),
                no_commit: true,
                ..GraftState::default()
            };
            let mut changed = state.encode();
            for (at, byte) in &changes {
                let at = at.index(changed.len());
                changed[at] = *byte;
            }
            graft_state(&changed);
        }
    }
}
