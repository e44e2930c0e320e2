//! Promises for any bytes in place of the state of an unshelve.

use super::UnshelveState;

/// Never panics; a state that is read is written and read again as the same.
pub fn unshelve_state(data: &[u8]) {
    if let Ok(state) = UnshelveState::parse(data) {
        assert_eq!(UnshelveState::parse(&state.encode()).ok(), Some(state));
    }
}

#[cfg(test)]
mod tests {
    use super::unshelve_state;
    use crate::UnshelveState;
    use proptest::prelude::*;
    use varve_repo::Node;

    proptest! {
        #[test]
        fn any_bytes_and_changed_states_are_survived(
            bytes in proptest::collection::vec(any::<u8>(), 0..64),
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        ) {
            unshelve_state(&bytes);
            let state = UnshelveState {
                name: b"default-01".to_vec(),
                original: Node([1; Node::LEN]),
                pending: Node([2; Node::LEN]),
                shelved: Node([3; Node::LEN]),
                temporary: vec![Node([2; Node::LEN])],
                branch: Some(b"other".to_vec()),
                keeps: true,
                active_bookmark: Some(b"act".to_vec()),
                is_interactive: true,
            };
            let mut changed = state.encode();
            for (at, byte) in &changes {
                let at = at.index(changed.len());
                changed[at] = *byte;
            }
            unshelve_state(&changed);
        }
    }
}
