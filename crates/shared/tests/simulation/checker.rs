//! Linearizability of one register, by search: Wing and Gong, with the memory of Lowe.

use super::history::{Event, OperationKind};
use std::collections::HashSet;

/// True if there is one order of all operations, each within its time, in which every read has the value of the last write
/// before it.
pub fn is_linearizable(events: &[&Event]) -> bool {
    assert!(
        events.len() <= 128,
        "{} operations of one register",
        events.len()
    );
    let must = events.iter().enumerate().filter(|(_, it)| it.end.is_some());
    let must = must.fold(0_u128, |mask, (at, _)| mask | 1 << at);
    let mut seen = HashSet::new();
    let mut waiting = vec![(0_u128, 0_u32)];
    while let Some((done, value)) = waiting.pop() {
        if done & must == must {
            return true;
        }
        if !seen.insert((done, value)) {
            continue;
        }
        let open = || (0..events.len()).filter(|at| done & (1 << at) == 0);
        let first_end = open()
            .filter_map(|at| events[at].end)
            .min()
            .unwrap_or(u64::MAX);
        for at in open().filter(|at| events[*at].start <= first_end) {
            let event = events[at];
            match event.kind {
                OperationKind::Write => waiting.push((done | 1 << at, event.value)),
                OperationKind::Read if event.value == value => {
                    waiting.push((done | 1 << at, value))
                }
                OperationKind::Read => {}
            }
        }
    }
    false
}

fn event(kind: OperationKind, value: u32, start: u64, end: Option<u64>) -> Event {
    Event {
        kind,
        key: 0,
        value,
        start,
        end,
    }
}

fn check(events: &[Event]) -> bool {
    is_linearizable(&events.iter().collect::<Vec<_>>())
}

#[test]
fn the_checker_knows_right_from_wrong() {
    use OperationKind::{Read, Write};
    let write = |value, start, end| event(Write, value, start, Some(end));
    let read = |value, start, end| event(Read, value, start, Some(end));
    assert!(check(&[write(1, 0, 1), read(1, 2, 3)]));
    assert!(!check(&[write(1, 0, 1), read(0, 2, 3)]), "a stale read");
    assert!(check(&[write(1, 0, 9), read(0, 2, 3), read(1, 4, 5)]));
    assert!(
        !check(&[write(1, 0, 9), read(1, 2, 3), read(0, 4, 5)]),
        "a read goes back"
    );
    assert!(
        !check(&[write(1, 0, 1), write(2, 2, 3), read(1, 4, 5)]),
        "a lost write"
    );
    let unknown = event(Write, 2, 2, None);
    assert!(check(&[
        write(1, 0, 1),
        unknown.clone(),
        read(1, 4, 5),
        read(2, 6, 7)
    ]));
    assert!(!check(&[
        write(1, 0, 1),
        unknown,
        read(2, 4, 5),
        read(1, 6, 7)
    ]));
    assert!(!check(&[read(7, 0, 1)]), "a value from nowhere");
}
