//! The store as one node reaches it.

use super::world::{Inner, World};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use varve_shared::{CreateOutcome, ObjectInfo, ObjectStore, StoreError};

/// A request on its way arrives within this time or never; well below the retention time.
const LATEST_ARRIVAL: u64 = 800_000;
const TIMEOUT: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: u64 = 12_000_000;
const LONGEST_PARTITION: u64 = 6_000_000;

#[derive(Debug)]
pub struct SimulatedStore {
    world: World,
    /// `None` for the observer after the end: no delays, no faults.
    task: Option<usize>,
    /// Set once the node has crashed: nothing it does reaches the store any more.
    is_dead: Arc<AtomicBool>,
}

/// Fate of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Fine,
    RequestLost,
    AnswerLost,
    ArrivesLate,
    PauseBefore,
    PauseAfter,
    CrashBefore,
    CrashAfter,
    Partition,
}

impl SimulatedStore {
    pub fn new(world: &World, task: usize, is_dead: &Arc<AtomicBool>) -> SimulatedStore {
        let (world, is_dead) = (world.clone(), Arc::clone(is_dead));
        SimulatedStore {
            world,
            task: Some(task),
            is_dead,
        }
    }

    pub fn faultless(world: &World) -> SimulatedStore {
        let (world, is_dead) = (world.clone(), Arc::default());
        SimulatedStore {
            world,
            task: None,
            is_dead,
        }
    }

    fn draw(&self) -> Fate {
        match self.world.below(1000) {
            0..20 => Fate::RequestLost,
            20..45 => Fate::AnswerLost,
            45..60 => Fate::ArrivesLate,
            60..68 => Fate::PauseBefore,
            68..76 => Fate::PauseAfter,
            76..80 => Fate::CrashBefore,
            80..84 => Fate::CrashAfter,
            84..88 => Fate::Partition,
            _ => Fate::Fine,
        }
    }

    fn pause(&self, task: usize) {
        self.world.lock().faults.pauses += 1;
        let length = 200_000 + self.world.below(LONGEST_PAUSE);
        self.world.sleep(task, Duration::from_micros(length));
    }

    fn delay(&self, task: usize) {
        let length = 500 + self.world.below(8000);
        self.world.sleep(task, Duration::from_micros(length));
    }

    /// `late` is what a request that is under way does later.
    fn request<T>(
        &self,
        op: &'static str,
        key: &str,
        effect: impl FnOnce(&mut Inner) -> T,
        late: Option<&[u8]>,
    ) -> Result<T, StoreError> {
        let failed = |reason: &str| Err(StoreError::new(op, key, reason));
        let Some(task) = self.task else {
            return Ok(effect(&mut self.world.lock()));
        };
        if self.is_dead.load(Ordering::SeqCst) {
            return failed("crashed");
        }
        let fate = self.draw();
        self.delay(task);
        if fate == Fate::Partition {
            let length = self.world.below(LONGEST_PARTITION);
            let mut inner = self.world.lock();
            inner.cut_off_until[task] = inner.now + length;
            inner.faults.partitions += 1;
        }
        let is_cut_off = {
            let inner = self.world.lock();
            inner.cut_off_until[task] > inner.now
        };
        if is_cut_off || fate == Fate::RequestLost {
            self.world.lock().faults.requests_lost += u64::from(!is_cut_off);
            self.world.sleep(task, TIMEOUT);
            return failed("no answer");
        }
        if fate == Fate::PauseBefore {
            self.pause(task);
        }
        if matches!(fate, Fate::CrashBefore | Fate::CrashAfter) {
            self.world.lock().faults.crashes += 1;
            self.is_dead.store(true, Ordering::SeqCst);
            if fate == Fate::CrashAfter {
                effect(&mut self.world.lock());
            }
            return failed("crashed");
        }
        if let (Fate::ArrivesLate, Some(bytes)) = (fate, late) {
            let after = self.world.below(LATEST_ARRIVAL);
            self.world.lock().arrive_later(after, key, bytes);
            self.world.sleep(task, TIMEOUT);
            return failed("no answer");
        }
        let answer = effect(&mut self.world.lock());
        match fate {
            Fate::AnswerLost => {
                self.world.lock().faults.answers_lost += 1;
                self.world.sleep(task, TIMEOUT);
                return failed("no answer");
            }
            Fate::PauseAfter => self.pause(task),
            _ => self.delay(task),
        }
        Ok(answer)
    }
}

impl ObjectStore for SimulatedStore {
    fn address(&self) -> String {
        "simulation".to_owned()
    }

    fn create(&self, key: &str, bytes: &[u8]) -> Result<CreateOutcome, StoreError> {
        self.request("create", key, |inner| inner.create(key, bytes), Some(bytes))
    }

    fn read(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let read = |inner: &mut Inner| inner.objects.get(key).map(|it| it.0.clone());
        self.request("read", key, read, None)
    }

    fn object_len(&self, key: &str) -> Result<Option<u64>, StoreError> {
        let len = |inner: &mut Inner| inner.objects.get(key).map(|it| it.0.len() as u64);
        self.request("look at", key, len, None)
    }

    fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>, StoreError> {
        let list = |inner: &mut Inner| {
            let from = inner.objects.range(prefix.to_owned()..);
            let inside = from.take_while(|(key, _)| key.starts_with(prefix));
            let info = |(key, (bytes, came)): (&String, &(Vec<u8>, u64))| ObjectInfo {
                key: key.clone(),
                len: bytes.len() as u64,
                modified: Duration::from_micros(*came),
            };
            inside.map(info).collect()
        };
        self.request("list", prefix, list, None)
    }

    fn remove(&self, key: &str) -> Result<(), StoreError> {
        let remove = |inner: &mut Inner| {
            inner.objects.remove(key);
        };
        self.request("remove", key, remove, None)
    }
}
