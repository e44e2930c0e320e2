//! Promises for any bytes in place of the state of a rebase.

use super::RebaseState;

/// Never panics; a state that is read is written and read again as the same.
pub fn rebase_state(data: &[u8]) {
    if let Some(state) = RebaseState::parse(data) {
        assert_eq!(RebaseState::parse(&state.encode()), Some(state));
    }
}
