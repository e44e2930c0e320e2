//! Promises for any bytes in place of the state of a graft.

use super::GraftState;

/// Never panics; a state that is read is written and read again as the same.
pub fn graft_state(data: &[u8]) {
    if let Some(state) = GraftState::parse(data) {
        assert_eq!(GraftState::parse(&state.encode()), Some(state));
    }
}
