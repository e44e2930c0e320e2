//! `phase-heads` and `check:phases`: changesets with their phases.
//!
//! ```text
//! +-----------+---------+----
//! | u32 phase | node 20 | …      phases: 0 public, 1 draft, 2 secret
//! +-----------+---------+----
//! ```
//! In `phase-heads`, ancestors of a changeset get at most its phase.

use super::{PartType, damaged};
use crate::ExchangeError;
use varve_repo::{Node, Phase};

/// Bytes of the phase, and of a record.
const PHASE_LEN: usize = 4;
const RECORD_LEN: usize = PHASE_LEN + Node::LEN;

/// Changesets of each phase, in the order public, draft, secret.
pub type PhaseHeads = [(Phase, Vec<Node>); 3];

/// One record per changeset, in the order given.
pub(crate) fn encode(heads: impl IntoIterator<Item = (Phase, Node)>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (phase, node) in heads {
        bytes.extend_from_slice(&u32::from(phase.number()).to_be_bytes());
        bytes.extend_from_slice(&node.0);
    }
    bytes
}

/// # Errors
/// [`ExchangeError::DamagedBundle`] for an unknown phase or a cut record.
pub fn decode(bytes: &[u8]) -> Result<PhaseHeads, ExchangeError> {
    let mut heads = [Phase::Public, Phase::Draft, Phase::Secret].map(|phase| (phase, Vec::new()));
    let (records, rest) = bytes.as_chunks::<RECORD_LEN>();
    if !rest.is_empty() {
        return Err(damaged(PartType::PhaseHeads));
    }
    for record in records {
        let fields = record.split_first_chunk::<PHASE_LEN>();
        let fields = fields.and_then(|(phase, node)| Some((phase, node.first_chunk()?)));
        let (phase, node) = fields.ok_or_else(|| damaged(PartType::PhaseHeads))?;
        let number = u32::from_be_bytes(*phase);
        let place = heads
            .iter_mut()
            .find(|(phase, _)| u32::from(phase.number()) == number);
        let (_, nodes) = place.ok_or_else(|| damaged(PartType::PhaseHeads))?;
        nodes.push(Node(*node));
    }
    Ok(heads)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn golden_records() {
        let heads = [
            (Phase::Draft, Node([7; 20])),
            (Phase::Public, Node([8; 20])),
        ];
        let bytes = encode(heads);
        let mut expected = b"\0\0\0\x01".to_vec();
        expected.extend([7; 20]);
        expected.extend(b"\0\0\0\0");
        expected.extend([8; 20]);
        assert_eq!(bytes, expected);
        let decoded = decode(&bytes).unwrap();
        assert_eq!(decoded[0], (Phase::Public, vec![Node([8; 20])]));
        assert_eq!(decoded[1], (Phase::Draft, vec![Node([7; 20])]));
        assert_eq!(decoded[2], (Phase::Secret, Vec::new()));
    }

    #[test]
    fn cut_records_and_unknown_phases_are_refused() {
        let bytes = encode([
            (Phase::Secret, Node([1; 20])),
            (Phase::Draft, Node([2; 20])),
        ]);
        for len in 0..=bytes.len() {
            assert_eq!(
                decode(&bytes[..len]).is_ok(),
                len % RECORD_LEN == 0,
                "{len}"
            );
        }
        for phase in [3_u32, 32, 96, u32::MAX] {
            let record = [&phase.to_be_bytes()[..], &[1; 20]].concat();
            assert!(decode(&record).is_err(), "{phase}");
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_decodes(heads in proptest::collection::vec((0_usize..3, any::<[u8; 20]>()), 0..20)) {
            let phases = [Phase::Public, Phase::Draft, Phase::Secret];
            let given = heads.iter().map(|(at, node)| (phases[*at], Node(*node)));
            let decoded = decode(&encode(given.clone())).unwrap();
            for (phase, nodes) in decoded {
                let of_phase = given.clone().filter(|(of, _)| *of == phase);
                let expected: Vec<Node> = of_phase.map(|(_, node)| node).collect();
                prop_assert_eq!(nodes, expected);
            }
        }

        #[test]
        fn hostile_bytes_give_at_most_as_many_records(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(heads) = decode(&bytes) {
                let count: usize = heads.iter().map(|(_, nodes)| nodes.len()).sum();
                prop_assert_eq!(count * RECORD_LEN, bytes.len());
            }
        }
    }
}
