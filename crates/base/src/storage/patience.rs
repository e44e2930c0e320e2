//! Work that must not wait for the disk: a server's threads that look after connections do what can
//! be done from memory, and leave the rest to threads that may wait.

use std::cell::Cell;

/// How a thread is working.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Patience {
    /// As long as it takes.
    Waits,
    /// Only with what is in memory.
    AtOnce,
    /// Something would have to be waited for; what the work gives is of no use.
    GivenUp,
}

thread_local! {
    static PATIENCE: Cell<Patience> = const { Cell::new(Patience::Waits) };
}

/// Ends the state of a thread, also when its work panics.
struct Reset;

impl Drop for Reset {
    fn drop(&mut self) {
        PATIENCE.set(Patience::Waits);
    }
}

/// Does `work` unless something of it would have to wait; then, whatever it gives, the answer is
/// `None`, and the work is to be done again where it may wait. So it must change nothing.
pub fn at_once<T>(work: impl FnOnce() -> T) -> Option<T> {
    let _reset = Reset;
    PATIENCE.set(Patience::AtOnce);
    let done = work();
    (PATIENCE.get() == Patience::AtOnce).then_some(done)
}

/// Whether this thread is within [`at_once`].
pub fn must_not_wait() -> bool {
    PATIENCE.get() != Patience::Waits
}

/// Says within [`at_once`] that it cannot be done so.
pub fn give_up() {
    if must_not_wait() {
        PATIENCE.set(Patience::GivenUp);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_gives_up_gives_nothing_and_the_next_is_as_before() {
        assert_eq!(at_once(|| must_not_wait().then_some(1)), Some(Some(1)));
        assert_eq!(at_once(give_up), None);
        give_up();
        assert!(!must_not_wait());
        let panicked = std::panic::catch_unwind(|| at_once(|| panic!("on purpose")));
        assert!(panicked.is_err() && !must_not_wait());
        assert_eq!(at_once(|| 2), Some(2));
    }
}
