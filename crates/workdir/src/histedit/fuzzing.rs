//! Promises for any bytes in place of the state of a histedit, or of a plan.

use super::{HisteditState, parse_plan};
use varve_repo::Node;

/// Never panics; a state that is read is written and read again as the same.
pub fn histedit_state(data: &[u8]) {
    if let Some(state) = HisteditState::parse(data) {
        assert_eq!(HisteditState::parse(&state.encode()).as_ref(), Some(&state));
        state.result();
    }
    let rules = parse_plan(data, |_| Some(Node::NULL));
    drop(rules);
}

#[cfg(test)]
mod tests {
    use super::histedit_state;
    use crate::{HisteditAction, HisteditRule, HisteditState};
    use proptest::prelude::*;
    use varve_repo::Node;

    proptest! {
        #[test]
        fn any_bytes_and_changed_states_are_survived(
            bytes in proptest::collection::vec(any::<u8>(), 0..64),
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        ) {
            histedit_state(&bytes);
            let node = |byte| Node([byte; Node::LEN]);
            let mut state = HisteditState::new(node(1), node(2), true);
            let action = HisteditAction::Roll;
            state.rules.push(HisteditRule { action, node: node(3) });
            state.replacements.push((node(4), vec![node(5), node(6)]));
            state.replacements.push((node(5), vec![node(4)]));
            let mut changed = state.encode();
            for (at, byte) in &changes {
                let at = at.index(changed.len());
                changed[at] = *byte;
            }
            histedit_state(&changed);
        }
    }
}
