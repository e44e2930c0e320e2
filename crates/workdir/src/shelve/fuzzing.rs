//! Promises for any bytes in place of the state of an unshelve.

use super::UnshelveState;

/// Never panics; a state that is read is written and read again as the same.
pub fn unshelve_state(data: &[u8]) {
    if let Ok(state) = UnshelveState::parse(data) {
        assert_eq!(UnshelveState::parse(&state.encode()).ok(), Some(state));
    }
}
