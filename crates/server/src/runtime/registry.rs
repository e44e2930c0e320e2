//! Open databases and repositories: opened on first use, shared from then on, closed when long unused.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::Arc;

/// A resource that a [`Registry`] keeps open.
pub trait Resource {
    /// Its part of the registry's capacity, such as its number of open files.
    fn weight(&self) -> usize {
        1
    }

    /// Called before the registry closes it because it has long been unused.
    fn close(&self) {}
}

/// Open resources by key.
///
/// A resource is opened once, however many threads ask for it at the same time; other keys are not held up.
/// When the weight of all reaches the capacity, the least recently used ones that are idle are closed. A resource
/// is idle while the registry has the only reference to it.
#[derive(Debug)]
pub struct Registry<V> {
    entries: Mutex<Entries<V>>,
    capacity: usize,
}

#[derive(Debug)]
struct Entries<V> {
    by_key: HashMap<String, Entry<V>>,
    /// Number of uses so far.
    clock: u64,
}

#[derive(Debug)]
struct Entry<V> {
    /// None while it is opened, removed or closed.
    value: Option<Arc<V>>,
    /// Held by the thread that opens, removes or closes the resource. An entry is removed only by the holder, or
    /// while no thread has or waits for the gate.
    gate: Arc<Mutex<()>>,
    /// Time of the last use, by the clock of the entries.
    last_use: u64,
}

impl<V> Entry<V> {
    fn is_idle(&self) -> bool {
        let is_unused = |value: &Arc<V>| Arc::strong_count(value) == 1;
        self.value.as_ref().is_some_and(is_unused) && Arc::strong_count(&self.gate) == 1
    }
}

impl<V> Entries<V> {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }
}

impl<V: Resource> Registry<V> {
    /// Keeps idle resources open while the weight of all is below the capacity; those in use are never closed.
    pub fn new(capacity: usize) -> Self {
        Registry {
            entries: Mutex::new(Entries {
                by_key: HashMap::new(),
                clock: 0,
            }),
            capacity,
        }
    }

    /// The resource, if it is open; that counts as a use.
    pub fn get(&self, key: &str) -> Option<Arc<V>> {
        let mut entries = self.entries.lock();
        let now = entries.tick();
        let entry = entries.by_key.get_mut(key)?;
        entry.last_use = now;
        entry.value.clone()
    }

    /// The resource, if it is open; that does not count as a use.
    pub fn peek(&self, key: &str) -> Option<Arc<V>> {
        let entries = self.entries.lock();
        entries.by_key.get(key)?.value.clone()
    }

    /// All open resources, in no order.
    pub fn values(&self) -> Vec<Arc<V>> {
        let entries = self.entries.lock();
        let values = entries.by_key.values();
        values.filter_map(|entry| entry.value.clone()).collect()
    }

    /// The resource; `open` makes it if it is not open.
    ///
    /// # Errors
    /// That of `open`; the next caller tries again.
    pub fn get_or_open<E>(
        &self,
        key: &str,
        open: impl FnOnce() -> Result<V, E>,
    ) -> Result<Arc<V>, E> {
        if let Some(value) = self.get(key) {
            return Ok(value);
        }
        self.exclusively(key, || match self.get(key) {
            Some(value) => Ok(value),
            None => Ok(self.insert(key, open()?)),
        })
    }

    /// Does work for a key, during which no other thread opens, closes or does exclusive work for it. The work may call
    /// [`Registry::insert`] and [`Registry::forget`] with the key; others still get the open value.
    pub fn exclusively<R>(&self, key: &str, work: impl FnOnce() -> R) -> R {
        loop {
            let gate = self.gate(key);
            let holding = gate.lock();
            if !self.is_current(key, &gate) {
                // The entry was removed while this thread waited.
                continue;
            }
            let done = work();
            let mut entries = self.entries.lock();
            let entry = entries.by_key.get(key);
            if entry.is_some_and(|entry| entry.value.is_none()) {
                entries.by_key.remove(key);
            }
            drop((entries, holding));
            return done;
        }
    }

    /// Adds a resource that was opened by [`Registry::exclusively`] done work, and closes idle ones to make room.
    pub fn insert(&self, key: &str, value: V) -> Arc<V> {
        let value = Arc::new(value);
        let mut entries = self.entries.lock();
        self.make_room(&mut entries);
        let now = entries.tick();
        if let Some(entry) = entries.by_key.get_mut(key) {
            entry.value = Some(Arc::clone(&value));
            entry.last_use = now;
        }
        value
    }

    /// Closes a resource if it is idle.
    pub fn close_idle(&self, key: &str) {
        let mut entries = self.entries.lock();
        if entries.by_key.get(key).is_some_and(Entry::is_idle) {
            Registry::close_entry(&mut entries, key);
        }
    }

    /// Removes a resource without closing it; references to it stay good. To be called when it was deleted.
    pub fn forget(&self, key: &str) -> Option<Arc<V>> {
        let mut entries = self.entries.lock();
        let entry = entries.by_key.get_mut(key)?;
        let value = entry.value.take();
        if Arc::strong_count(&entry.gate) == 1 {
            entries.by_key.remove(key);
        }
        value
    }

    fn gate(&self, key: &str) -> Arc<Mutex<()>> {
        let mut entries = self.entries.lock();
        if let Some(entry) = entries.by_key.get(key) {
            return Arc::clone(&entry.gate);
        }
        let entry = Entry {
            value: None,
            gate: Arc::default(),
            last_use: entries.tick(),
        };
        let gate = Arc::clone(&entry.gate);
        entries.by_key.insert(key.to_owned(), entry);
        gate
    }

    fn is_current(&self, key: &str, gate: &Arc<Mutex<()>>) -> bool {
        let entries = self.entries.lock();
        let entry = entries.by_key.get(key);
        entry.is_some_and(|entry| Arc::ptr_eq(&entry.gate, gate))
    }

    /// Closes idle resources, least recently used first, until the weight is below the capacity.
    fn make_room(&self, entries: &mut MutexGuard<'_, Entries<V>>) {
        while weight(entries) >= self.capacity {
            let idle = entries.by_key.iter().filter(|(_, entry)| entry.is_idle());
            let oldest = idle.min_by_key(|(_, entry)| entry.last_use);
            let Some(key) = oldest.map(|(key, _)| key.clone()) else {
                return;
            };
            Registry::close_entry(entries, &key);
        }
    }

    fn close_entry(entries: &mut MutexGuard<'_, Entries<V>>, key: &str) {
        let Some(entry) = entries.by_key.get_mut(key) else {
            return;
        };
        let (value, gate) = (entry.value.take(), Arc::clone(&entry.gate));
        // The entry is idle, so this does not wait. Threads that ask for the key do, until it is closed.
        let closing = gate.lock();
        MutexGuard::unlocked(entries, || {
            value.iter().for_each(|value| value.close());
            drop(value);
        });
        entries.by_key.remove(key);
        drop(closing);
    }
}

fn weight<V: Resource>(entries: &Entries<V>) -> usize {
    let values = entries.by_key.values();
    let values = values.filter_map(|entry| entry.value.as_ref());
    values.map(|value| value.weight()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::convert::Infallible;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A resource that counts how many of its kind are open and were closed.
    #[derive(Debug)]
    struct Counted {
        weight: usize,
        open: Arc<AtomicUsize>,
        closed: Arc<AtomicUsize>,
    }

    impl Resource for Counted {
        fn weight(&self) -> usize {
            self.weight
        }

        fn close(&self) {
            assert_eq!(self.open.load(Ordering::SeqCst), 1);
            self.closed.fetch_add(1, Ordering::SeqCst);
        }
    }

    impl Drop for Counted {
        fn drop(&mut self) {
            self.open.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Counters of one key.
    #[derive(Clone, Debug, Default)]
    struct Counters {
        open: Arc<AtomicUsize>,
        closed: Arc<AtomicUsize>,
    }

    impl Counters {
        fn open(&self, weight: usize) -> Counted {
            let before = self.open.fetch_add(1, Ordering::SeqCst);
            assert_eq!(before, 0, "it is open twice");
            Counted {
                weight,
                open: Arc::clone(&self.open),
                closed: Arc::clone(&self.closed),
            }
        }

        fn is_open(&self) -> bool {
            self.open.load(Ordering::SeqCst) == 1
        }

        fn closed(&self) -> usize {
            self.closed.load(Ordering::SeqCst)
        }
    }

    fn open(registry: &Registry<Counted>, key: &str, counters: &Counters) -> Arc<Counted> {
        let opened = registry.get_or_open(key, || Ok::<_, Infallible>(counters.open(1)));
        opened.unwrap()
    }

    #[test]
    fn the_oldest_idle_resource_is_closed_and_one_in_use_is_not() {
        let registry = Registry::new(3);
        let counters = [(); 4].map(|()| Counters::default());
        let held = open(&registry, "held", &counters[0]);
        open(&registry, "old", &counters[1]);
        open(&registry, "used", &counters[2]);
        assert!(registry.peek("old").is_some() && registry.get("old").is_some());
        assert!(registry.get("used").is_some());
        open(&registry, "new", &counters[3]);
        assert!(registry.peek("old").is_none());
        assert!(registry.peek("used").is_some() && registry.peek("new").is_some());
        assert_eq!(counters.each_ref().map(Counters::closed), [0, 1, 0, 0]);
        assert!(counters[0].is_open() && !counters[1].is_open());
        drop(held);
    }

    #[test]
    fn a_resource_is_closed_by_its_key_once_it_is_idle() {
        let registry = Registry::new(3);
        let counters = Counters::default();
        let held = open(&registry, "a", &counters);
        registry.close_idle("a");
        registry.close_idle("none");
        assert!(registry.peek("a").is_some());
        drop(held);
        registry.close_idle("a");
        assert!(registry.peek("a").is_none() && counters.closed() == 1);
    }

    #[test]
    fn a_failed_opening_is_tried_again_and_leaves_nothing() {
        let registry = Registry::new(2);
        let counters = Counters::default();
        let failed = registry.get_or_open("a", || Err::<Counted, _>("no"));
        assert_eq!(failed.unwrap_err(), "no");
        assert!(registry.entries.lock().by_key.is_empty());
        let opened = open(&registry, "a", &counters);
        assert!(Arc::ptr_eq(&opened, &open(&registry, "a", &counters)));
        let forgotten = registry.forget("a").unwrap();
        assert!(Arc::ptr_eq(&opened, &forgotten));
        assert_eq!(counters.closed(), 0);
        assert!(registry.entries.lock().by_key.is_empty());
    }

    #[test]
    fn a_resource_that_is_deleted_and_made_again_is_never_open_twice() {
        let registry = Registry::<Counted>::new(1);
        let counters = Counters::default();
        let rounds = 200;
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (registry, counters) = (&registry, &counters);
                scope.spawn(move || {
                    for round in 0..rounds {
                        if (thread + round) % 3 == 0 {
                            registry.exclusively("a", || drop(registry.forget("a")));
                        } else if (thread + round) % 3 == 1 {
                            // Makes room, for which the other key may be closed.
                            let other = Counters::default();
                            let key = format!("{thread} {round}");
                            drop(open(registry, &key, &other));
                        } else {
                            registry.exclusively("a", || {
                                // Open, or forgotten by a thread that has yet to drop it.
                                if !counters.is_open() {
                                    registry.insert("a", counters.open(1));
                                }
                            });
                        }
                    }
                });
            }
        });
        registry.forget("a");
        assert!(!counters.is_open());
    }

    #[test]
    fn threads_that_ask_for_one_key_wait_for_one_opening_and_other_keys_do_not() {
        let registry = Registry::<Counted>::new(8);
        let counters = Counters::default();
        let barrier = Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let opened = registry.get_or_open("slow", || {
                    barrier.wait();
                    // Another key is opened meanwhile, or this never ends.
                    barrier.wait();
                    Ok::<_, Infallible>(counters.open(1))
                });
                drop(opened);
            });
            barrier.wait();
            assert!(registry.get("slow").is_none());
            let waiting = scope.spawn(|| open(&registry, "slow", &counters));
            drop(open(&registry, "quick", &Counters::default()));
            barrier.wait();
            drop(waiting.join().unwrap());
        });
        assert!(counters.is_open());
    }

    proptest! {
        /// However resources are opened, held, released and forgotten: none is open twice, held ones are never
        /// closed, and beyond the capacity only held ones and the newest are open.
        #[test]
        fn the_weight_is_bounded_but_for_resources_in_use(
            capacity in 1_usize..12,
            steps in prop::collection::vec((0_usize..6, 0_u8..4), 1..80),
        ) {
            let registry = Registry::new(capacity);
            let counters = [(); 6].map(|()| Counters::default());
            let mut held: [Option<Arc<Counted>>; 6] = Default::default();
            for (number, step) in steps {
                let (key, weight) = (number.to_string(), number % 3 + 1);
                match step {
                    0 => held[number] = None,
                    1 if held[number].is_none() => drop(registry.forget(&key)),
                    _ => {
                        let is_new = registry.peek(&key).is_none();
                        let opened = registry
                            .get_or_open(&key, || Ok::<_, Infallible>(counters[number].open(weight)))
                            .unwrap();
                        let others = registry.values();
                        let others = others.iter().filter(|other| !Arc::ptr_eq(other, &opened));
                        let others: usize = others.map(|other| other.weight).sum();
                        let in_use: usize = held.iter().flatten().map(|held| held.weight).sum();
                        prop_assert!(!is_new || others < capacity || others <= in_use);
                        if step == 3 {
                            held[number] = Some(opened);
                        }
                    }
                }
                for (number, held) in held.iter().enumerate() {
                    if let Some(held) = held {
                        let open = registry.peek(&number.to_string()).unwrap();
                        prop_assert!(Arc::ptr_eq(held, &open));
                    }
                }
            }
        }
    }
}
