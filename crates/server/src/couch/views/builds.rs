//! Builds of one database's indexes that are under way, so that those that are needed no more end.

use parking_lot::{Mutex, MutexGuard};
use varve_base::Interrupt;
use varve_views::Signature;

/// Running index builds of one database.
#[derive(Debug, Default)]
pub struct Builds(Mutex<List>);

#[derive(Debug, Default)]
struct List {
    running: Vec<(u64, Signature, Interrupt)>,
    next: u64,
    /// Whether the database is gone, or the server has no more time.
    is_over: bool,
}

/// One build; the list forgets it when this is dropped.
#[derive(Debug)]
pub struct RunningBuild<'b> {
    builds: &'b Builds,
    number: u64,
    /// Raised when the build is to end.
    pub interrupt: Interrupt,
}

impl Builds {
    fn list(&self) -> MutexGuard<'_, List> {
        self.0.lock()
    }

    /// Lists a build that begins, or waits for another one of the same index.
    pub fn begin(&self, index: Signature, interrupt: Interrupt) -> RunningBuild<'_> {
        let mut list = self.list();
        let number = list.next;
        list.next += 1;
        if list.is_over {
            interrupt.raise();
        }
        list.running.push((number, index, interrupt.clone()));
        RunningBuild {
            builds: self,
            number,
            interrupt,
        }
    }

    /// Ends the running build of this index.
    pub fn end(&self, index: Signature) {
        let list = self.list();
        let of_index = list.running.iter().filter(|(_, built, _)| *built == index);
        of_index.for_each(|(_, _, interrupt)| interrupt.raise());
    }

    /// Ends all builds, and those that begin later.
    pub fn end_all(&self) {
        let mut list = self.list();
        list.is_over = true;
        list.running
            .iter()
            .for_each(|(_, _, interrupt)| interrupt.raise());
    }

    /// Whether all builds were ended.
    pub fn is_over(&self) -> bool {
        self.list().is_over
    }
}

impl Drop for RunningBuild<'_> {
    fn drop(&mut self) {
        let mut list = self.builds.list();
        list.running.retain(|(number, _, _)| *number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_are_ended_by_index_and_all_together() {
        let builds = Builds::default();
        let begin = |index| builds.begin(index, Interrupt::default());
        let [one, two] = [1, 2].map(|byte| Signature([byte; 16]));
        let (first, second, other) = (begin(one), begin(one), begin(two));
        builds.end(one);
        let raised = |build: &RunningBuild<'_>| build.interrupt.is_raised();
        assert!(raised(&first) && raised(&second) && !raised(&other));
        drop((first, second));
        assert!(!raised(&begin(one)));
        builds.end_all();
        assert!(raised(&other) && raised(&begin(one)) && builds.is_over());
        drop(other);
        assert!(builds.list().running.is_empty());
    }
}
