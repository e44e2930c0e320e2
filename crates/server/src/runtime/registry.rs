//! Things that are opened when somebody first asks for them, and shared from then on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Open databases, repositories or indexes by name; at most a given number of idle ones are kept.
///
/// Two requests for one name that is not open yet wait for a single opening, while other names
/// are not held up.
#[derive(Debug)]
pub struct Registry<V> {
    slots: Mutex<HashMap<String, Arc<Slot<V>>>>,
    keep: usize,
}

#[derive(Debug)]
struct Slot<V> {
    value: Mutex<Option<Arc<V>>>,
    /// Tick of the last use, for choosing what to close.
    used: std::sync::atomic::AtomicU64,
}

impl<V> Registry<V> {
    /// Keeps at most `keep` idle things open; those in use are never closed.
    pub fn new(keep: usize) -> Self {
        Registry {
            slots: Mutex::new(HashMap::new()),
            keep,
        }
    }

    /// The thing called `name`; `open` makes it if it is not open.
    ///
    /// # Errors
    /// That of `open`; the next caller tries again.
    pub fn get_or_open<E>(
        &self,
        name: &str,
        open: impl FnOnce() -> Result<V, E>,
    ) -> Result<Arc<V>, E> {
        let slot = self.slot(name);
        let mut value = lock(&slot.value);
        if let Some(value) = &*value {
            return Ok(Arc::clone(value));
        }
        let opened = Arc::new(open()?);
        *value = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// The thing called `name`, if it is open.
    pub fn get(&self, name: &str) -> Option<Arc<V>> {
        let slot = lock(&self.slots).get(name).cloned()?;
        let value = lock(&slot.value);
        value.clone()
    }

    /// Forgets `name`; who still holds the thing keeps it. To be called when it is deleted.
    pub fn forget(&self, name: &str) -> Option<Arc<V>> {
        let slot = lock(&self.slots).remove(name)?;
        lock(&slot.value).take()
    }

    fn slot(&self, name: &str) -> Arc<Slot<V>> {
        use std::sync::atomic::{AtomicU64, Ordering};
        static TICK: AtomicU64 = AtomicU64::new(0);
        let now = TICK.fetch_add(1, Ordering::Relaxed);
        let mut slots = lock(&self.slots);
        if let Some(slot) = slots.get(name) {
            slot.used.store(now, Ordering::Relaxed);
            return Arc::clone(slot);
        }
        if slots.len() >= self.keep {
            close_oldest_idle(&mut slots);
        }
        let slot = Arc::new(Slot {
            value: Mutex::new(None),
            used: AtomicU64::new(now),
        });
        slots.insert(name.to_owned(), Arc::clone(&slot));
        slot
    }
}

/// Drops the least recently used thing that nobody holds.
fn close_oldest_idle<V>(slots: &mut HashMap<String, Arc<Slot<V>>>) {
    let idle = slots.iter().filter(|(_, slot)| is_idle(slot));
    let oldest = idle.min_by_key(|(_, slot)| slot.used.load(std::sync::atomic::Ordering::Relaxed));
    let name = oldest.map(|(name, _)| name.clone());
    if let Some(name) = name {
        slots.remove(&name);
    }
}

fn is_idle<V>(slot: &Arc<Slot<V>>) -> bool {
    if Arc::strong_count(slot) > 1 {
        return false; // somebody is about to open or use it
    }
    let value = lock(&slot.value);
    value.as_ref().is_none_or(|v| Arc::strong_count(v) == 1)
}

/// A panic while holding the lock leaves the map whole: every change of it is one call.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn open(registry: &Registry<u32>, name: &str, value: u32) -> Arc<u32> {
        registry
            .get_or_open(name, || Ok::<_, Infallible>(value))
            .unwrap()
    }

    #[test]
    fn the_oldest_idle_thing_is_closed_and_one_in_use_is_not() {
        let registry = Registry::new(2);
        let held = open(&registry, "held", 1);
        open(&registry, "idle", 2);
        open(&registry, "new", 3);
        assert!(registry.get("idle").is_none());
        assert_eq!(registry.get("held"), Some(held));
        assert_eq!(registry.get("new").as_deref(), Some(&3));
    }

    #[test]
    fn a_failed_opening_is_tried_again() {
        let registry = Registry::new(2);
        assert_eq!(registry.get_or_open("a", || Err("no")), Err("no"));
        assert_eq!(*open(&registry, "a", 7), 7);
        assert_eq!(*open(&registry, "a", 8), 7, "it is open already");
        assert_eq!(registry.forget("a").as_deref(), Some(&7));
        assert_eq!(*open(&registry, "a", 9), 9);
    }
}
