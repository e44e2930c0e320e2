//! Which threads go first where there is more work than processors.

/// How much less long work gets, in the steps of `nice`: about a tenth of what a thread beside it gets.
const STEPS: i32 = 10;

/// Lets others go first: the calling thread, and those it starts, get less of the processors while
/// other work wants them. There is no way back, so this is for threads that end with their work.
pub fn lower_priority() {
    // Where that is not allowed, the work is done all the same.
    let _ = rustix::process::nice(STEPS);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_thread_that_asks_for_it_has_a_lower_priority() {
        let steps = || rustix::process::nice(0).unwrap();
        let before = steps();
        let within = std::thread::spawn(move || {
            lower_priority();
            let started = std::thread::spawn(steps).join().unwrap();
            (steps(), started)
        });
        let after = (before + STEPS).min(19);
        assert_eq!(within.join().unwrap(), (after, after));
        assert_eq!(steps(), before);
    }
}
