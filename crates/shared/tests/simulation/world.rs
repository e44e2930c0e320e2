//! Simulated time, and the store's objects. One thread runs at a time; which one follows from the seed.

use parking_lot::{Condvar, Mutex, MutexGuard};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::AddAssign;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use varve_shared::CreateOutcome;

/// Counts of each kind of fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    pub requests_lost: u64,
    pub answers_lost: u64,
    pub arrived_late: u64,
    pub partitions: u64,
    pub pauses: u64,
    pub crashes: u64,
    pub fenced: u64,
    pub positions_collected: u64,
    pub records_collected: u64,
    pub take_overs: u64,
    pub releases: u64,
}

impl Faults {
    pub fn named(&self) -> [(&'static str, u64); 11] {
        [
            ("a lost request", self.requests_lost),
            ("a lost answer", self.answers_lost),
            ("a late arrival", self.arrived_late),
            ("a partition", self.partitions),
            ("a pause", self.pauses),
            ("a crash", self.crashes),
            ("a fence", self.fenced),
            ("a position that is gone", self.positions_collected),
            ("a collected record", self.records_collected),
            ("a take-over", self.take_overs),
            ("a release", self.releases),
        ]
    }
}

impl AddAssign for Faults {
    fn add_assign(&mut self, other: Faults) {
        self.requests_lost += other.requests_lost;
        self.answers_lost += other.answers_lost;
        self.arrived_late += other.arrived_late;
        self.partitions += other.partitions;
        self.pauses += other.pauses;
        self.crashes += other.crashes;
        self.fenced += other.fenced;
        self.positions_collected += other.positions_collected;
        self.records_collected += other.records_collected;
        self.take_overs += other.take_overs;
        self.releases += other.releases;
    }
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Wake(usize),
    /// A request that was on its way.
    Arrive(String, Vec<u8>),
}

#[derive(Debug)]
pub struct Inner {
    /// Microseconds.
    pub now: u64,
    order: u64,
    due: BinaryHeap<Reverse<(u64, u64, Due)>>,
    running: Option<usize>,
    random: u64,
    /// Bytes, and when they came.
    pub objects: BTreeMap<String, (Vec<u8>, u64)>,
    lets_two_win: bool,
    pub faults: Faults,
    /// Until when each task is cut off from the store.
    pub cut_off_until: Vec<u64>,
}

#[derive(Clone, Debug)]
pub struct World(Arc<(Mutex<Inner>, Condvar)>);

impl Inner {
    /// SplitMix64.
    pub fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn create(&mut self, key: &str, bytes: &[u8]) -> CreateOutcome {
        if self.objects.contains_key(key) && !self.lets_two_win {
            return CreateOutcome::AlreadyThere;
        }
        self.objects
            .insert(key.to_owned(), (bytes.to_vec(), self.now));
        CreateOutcome::Created
    }

    pub fn arrive_later(&mut self, after: u64, key: &str, bytes: &[u8]) {
        let due = Due::Arrive(key.to_owned(), bytes.to_vec());
        self.push(after, due);
    }

    fn push(&mut self, after: u64, due: Due) {
        self.order += 1;
        self.due.push(Reverse((self.now + after, self.order, due)));
    }

    /// Lets time go on to the next task that wakes.
    fn dispatch(&mut self) {
        self.running = None;
        while let Some(Reverse((time, _, due))) = self.due.pop() {
            self.now = time;
            match due {
                Due::Wake(task) => {
                    self.running = Some(task);
                    return;
                }
                Due::Arrive(key, bytes) => {
                    if self.create(&key, &bytes) == CreateOutcome::Created {
                        self.faults.arrived_late += 1;
                    }
                }
            }
        }
    }
}

impl World {
    pub fn new(seed: u64, lets_two_win: bool) -> World {
        let inner = Inner {
            // Clocks begin late enough for a retention time before.
            now: 1_000_000_000,
            order: 0,
            due: BinaryHeap::new(),
            running: None,
            random: seed,
            objects: BTreeMap::new(),
            lets_two_win,
            faults: Faults::default(),
            cut_off_until: vec![0; 16],
        };
        World(Arc::new((Mutex::new(inner), Condvar::new())))
    }

    pub fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.0.lock()
    }

    pub fn now(&self) -> u64 {
        self.lock().now
    }

    pub fn faults(&self) -> Faults {
        self.lock().faults
    }

    /// A number below `bound`.
    pub fn below(&self, bound: u64) -> u64 {
        self.lock().random() % bound
    }

    pub fn chance(&self, per_thousand: u64) -> bool {
        self.below(1000) < per_thousand
    }

    pub fn sleep(&self, task: usize, duration: Duration) {
        let micros = u64::try_from(duration.as_micros()).unwrap();
        let mut inner = self.lock();
        inner.push(micros, Due::Wake(task));
        inner.dispatch();
        if inner.running != Some(task) {
            self.0.1.notify_all();
            self.wait_for(task, &mut inner);
        }
    }

    fn wait_for(&self, task: usize, inner: &mut MutexGuard<'_, Inner>) {
        while inner.running != Some(task) {
            self.0.1.wait(inner);
        }
    }

    /// Runs all tasks to their ends.
    pub fn run(&self, tasks: Vec<Box<dyn FnOnce() + Send>>) {
        {
            let mut inner = self.lock();
            for task in 0..tasks.len() {
                let after = inner.random() % 5000;
                inner.push(after, Due::Wake(task));
            }
            inner.dispatch();
        }
        let mut ended = Vec::new();
        thread::scope(|scope| {
            let run = |(number, task): (usize, Box<dyn FnOnce() + Send>)| {
                scope.spawn(move || {
                    self.wait_for(number, &mut self.lock());
                    let result = catch_unwind(AssertUnwindSafe(task));
                    self.lock().dispatch();
                    self.0.1.notify_all();
                    result
                })
            };
            let threads: Vec<_> = tasks.into_iter().enumerate().map(run).collect();
            ended.extend(threads.into_iter().map(|thread| thread.join().unwrap()));
        });
        for result in ended {
            if let Err(panic) = result {
                resume_unwind(panic);
            }
        }
    }
}
