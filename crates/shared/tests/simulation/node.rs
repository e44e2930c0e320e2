//! A node: registers in a file of shared storage, as a database would keep them.

use super::history::{Event, History, OperationKind};
use super::store::SimulatedStore;
use super::world::World;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use varve_base::{MemoryStorage, OpenMode, Storage, StorageError, StorageFile};
use varve_shared::{
    Clock, LogId, LogOptions, Membership, Placement, SharedError, SharedStorage, collect_garbage,
};

pub const LOG: &str = "db";
pub const DATA: &str = "d/data";
pub const KEYS: u8 = 3;
pub const OPTIONS_RETENTION: Duration = Duration::from_secs(4);
const STEPS: usize = 45;
/// A node without a heartbeat for so long counts as dead; pauses and partitions are longer.
const TAKEOVER: Duration = Duration::from_millis(400);
/// Microseconds after which another node is to own the log, if all are alive.
const MOVED_EVERY: u64 = 400_000;
/// Entries after which an owner rewrites the file, as a compaction does.
const COMPACT_AT: usize = 12;

/// One mechanism that is broken on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    None,
    AcknowledgesRefused,
    TwoCreatorsWin,
    ReadsUnchecked,
    ForgetsUnconfirmed,
    StoppedClock,
    CollectsTooSoon,
    KeepsReleased,
}

pub fn options() -> LogOptions {
    LogOptions {
        retention: OPTIONS_RETENTION,
        checkpoint_slots: 4,
        checkpoint_bytes: 200,
        inline_bytes: 30,
        segment_bytes: 40,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub sequence: u32,
    pub key: u8,
    pub value: u32,
}

impl Entry {
    fn encode(self) -> [u8; 9] {
        let mut out = [0; 9];
        out[..4].copy_from_slice(&self.sequence.to_le_bytes());
        out[4] = self.key;
        out[5..].copy_from_slice(&self.value.to_le_bytes());
        out
    }
}

/// Whole entries; a torn one at the end is left out, as that of a crashed commit is.
pub fn parse(bytes: &[u8]) -> Vec<Entry> {
    let entry = |bytes: &[u8]| Entry {
        sequence: u32::from_le_bytes(bytes[..4].try_into().unwrap()),
        key: bytes[4],
        value: u32::from_le_bytes(bytes[5..9].try_into().unwrap()),
    };
    bytes.chunks_exact(9).map(entry).collect()
}

#[derive(Debug)]
struct SimulatedClock {
    world: World,
    task: usize,
    is_stopped: bool,
}

impl Clock for SimulatedClock {
    fn monotonic(&self) -> Duration {
        match self.is_stopped {
            true => Duration::ZERO,
            false => Duration::from_micros(self.world.now()),
        }
    }

    fn wall(&self) -> Duration {
        self.monotonic()
    }

    fn sleep(&self, duration: Duration) {
        self.world.sleep(self.task, duration);
    }
}

pub struct Node {
    world: World,
    number: usize,
    history: Arc<Mutex<History>>,
    flaw: Flaw,
    clock: Arc<dyn Clock>,
}

/// One life of a node, from its start to a crash or to the loss of the log.
struct Life {
    storage: SharedStorage,
    membership: Membership,
    /// The committed entries, once this node owns the log.
    committed: Option<Committed>,
}

struct Committed {
    file: Arc<dyn StorageFile>,
    entries: Vec<Entry>,
}

/// The life is over.
struct Ended;

impl Node {
    pub fn new(world: &World, number: usize, history: &Arc<Mutex<History>>, flaw: Flaw) -> Node {
        let is_stopped = flaw == Flaw::StoppedClock;
        let clock = SimulatedClock {
            world: world.clone(),
            task: number,
            is_stopped,
        };
        Node {
            world: world.clone(),
            number,
            history: Arc::clone(history),
            flaw,
            clock: Arc::new(clock),
        }
    }

    pub fn run(&self) {
        let mut steps = 0;
        while steps < STEPS {
            steps += 1;
            let is_dead = Arc::new(AtomicBool::new(false));
            let Some(mut life) = self.open(&is_dead) else {
                self.idle(300_000);
                continue;
            };
            while steps < STEPS && !is_dead.load(Ordering::SeqCst) {
                steps += 1;
                self.idle(60_000);
                if self.step(&mut life).is_err() {
                    break;
                }
            }
        }
    }

    fn idle(&self, longest: u64) {
        let length = self.world.below(longest);
        self.world.sleep(self.number, Duration::from_micros(length));
    }

    fn open(&self, is_dead: &Arc<AtomicBool>) -> Option<Life> {
        let store = Arc::new(SimulatedStore::new(&self.world, self.number, is_dead));
        let id = LogId::new(LOG).unwrap();
        let local = Arc::new(MemoryStorage::default());
        let (clock, other) = (Arc::clone(&self.clock), Arc::clone(&self.clock));
        let node = varve_shared::Node {
            id: self.number.to_string(),
            address: String::new(),
        };
        let membership = Membership::new(store.clone(), other, node, TAKEOVER).unwrap();
        match SharedStorage::open(store, clock, id, options(), local) {
            Ok(storage) => Some(Life {
                storage,
                membership,
                committed: None,
            }),
            Err(error) => {
                self.note(&error);
                None
            }
        }
    }

    /// Damage is a violation; everything else may happen.
    fn note(&self, error: &SharedError) {
        match error {
            SharedError::Damaged { .. } => {
                self.history.lock().violations.push(error.to_string());
            }
            SharedError::Fenced { .. } => self.world.lock().faults.fenced += 1,
            SharedError::PositionCollected { .. } => {
                self.world.lock().faults.positions_collected += 1;
            }
            _ => {}
        }
    }

    fn step(&self, life: &mut Life) -> Result<(), Ended> {
        let key = u8::try_from(self.world.below(u64::from(KEYS))).unwrap();
        let drawn = self.world.below(100);
        if drawn < 45 && life.committed.is_some() {
            self.write(life, key)
        } else if drawn < 4 {
            // As one that sees the others wrongly.
            self.take_over(life)
        } else if drawn < 20 || (45..55).contains(&drawn) {
            self.attend(life)
        } else if drawn < 90 {
            self.read(life, key)
        } else {
            self.feed(life)
        }
    }

    /// An error ends the life if the log must be opened again, and only then.
    fn judge(&self, error: &SharedError) -> Result<(), Ended> {
        self.note(error);
        match error {
            SharedError::Store(_) => Ok(()),
            _ => Err(Ended),
        }
    }

    /// The bytes of a file of the copy; `None` if some are to be fetched and the store does not answer.
    fn bytes(&self, file: &Arc<dyn StorageFile>) -> Result<Option<Vec<u8>>, Ended> {
        match file.read_all() {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) => {
                let reason = shared_error(&error).unwrap_or_else(|| panic!("{error}"));
                self.judge(reason).map(|()| None)
            }
        }
    }

    /// Looks which nodes are alive, and takes the log over or gives it up as that says.
    fn attend(&self, life: &mut Life) -> Result<(), Ended> {
        let seen = life.membership.beat();
        let Ok(live) = seen.and_then(|()| Ok(life.membership.look()?)) else {
            return Ok(());
        };
        let placement = Placement::new(live.into_iter().map(|member| member.node));
        let database = format!("db-{}", self.world.now() / MOVED_EVERY);
        let owner = placement.owner_of(&database);
        let is_owner = owner.is_some_and(|node| node.id == self.number.to_string());
        match (is_owner, life.committed.is_some()) {
            (true, false) => self.take_over(life),
            (false, true) => self.release(life),
            (true, true) | (false, false) => Ok(()),
        }
    }

    fn release(&self, life: &mut Life) -> Result<(), Ended> {
        if let Err(error) = life.storage.release() {
            self.note(&error);
            return Err(Ended);
        }
        self.world.lock().faults.releases += 1;
        if self.flaw != Flaw::KeepsReleased {
            life.committed = None;
        }
        Ok(())
    }

    fn take_over(&self, life: &mut Life) -> Result<(), Ended> {
        let storage = &life.storage;
        if let Err(error) = storage.take_over() {
            return self.judge(&error);
        }
        self.world.lock().faults.take_overs += 1;
        let path = Path::new(DATA);
        let opened = match storage.file_len(path).unwrap() {
            Some(_) => storage.open(path, OpenMode::Append),
            None => {
                storage
                    .create_directory(path.parent().unwrap())
                    .map_err(|_| Ended)?;
                storage.open(path, OpenMode::CreateNew)
            }
        };
        let file = opened.map_err(|_| Ended)?;
        let Some(bytes) = self.bytes(&file)? else {
            return Ok(());
        };
        // An owner before may have died between two syncs.
        let whole = bytes.len() / 9 * 9;
        file.truncate(whole as u64).map_err(|_| Ended)?;
        life.committed = Some(Committed {
            file,
            entries: parse(&bytes),
        });
        Ok(())
    }

    fn write(&self, life: &mut Life, key: u8) -> Result<(), Ended> {
        let Some(committed) = life.committed.as_mut() else {
            return Ok(());
        };
        let (value, start) = (self.history.lock().next_value(), self.world.now());
        let last = committed.entries.last().map_or(0, |entry| entry.sequence);
        let entry = Entry {
            sequence: last + 1,
            key,
            value,
        };
        let mut event = Event {
            kind: OperationKind::Write,
            key,
            value,
            start,
            end: None,
        };
        let mut entries = committed.entries.clone();
        entries.push(entry);
        let done = if entries.len() > COMPACT_AT {
            entries = latest(&entries);
            compact(&life.storage, &entries).map(|file| committed.file = file)
        } else {
            self.append(&committed.file, entry)
        };
        let failed = done.err();
        let reason = failed.as_ref().and_then(shared_error);
        if let Some(reason) = reason {
            self.note(reason);
        }
        let is_refused = matches!(
            reason,
            Some(SharedError::Fenced { .. } | SharedError::Abandoned { .. })
        );
        let is_forgotten = self.flaw == Flaw::ForgetsUnconfirmed
            && matches!(reason, Some(SharedError::Unconfirmed { .. }));
        if failed.is_none() || is_refused && self.flaw == Flaw::AcknowledgesRefused {
            event.end = Some(self.world.now());
            committed.entries = entries;
            let mut history = self.history.lock();
            history.operations.push(event);
            history.assign(entry);
        } else if !is_refused && !is_forgotten {
            self.history.lock().operations.push(event);
        }
        failed.map_or(Ok(()), |_| Err(Ended))
    }

    /// In two parts, as a large commit comes.
    fn append(&self, file: &Arc<dyn StorageFile>, entry: Entry) -> Result<(), StorageError> {
        let bytes = entry.encode();
        file.append(&bytes[..5])?;
        file.append(&bytes[5..])?;
        if self.world.chance(100) {
            // The record becomes larger than what stays in it, and a later sync cuts the rest off.
            let len = file.append(&[7; 60])?;
            file.truncate(len)?;
        }
        file.sync()
    }

    /// The entries that a reader of this node sees.
    fn look(&self, life: &Life) -> Result<Option<Vec<Entry>>, Ended> {
        if self.flaw != Flaw::ReadsUnchecked
            && let Err(error) = life.storage.ensure_current()
        {
            return self.judge(&error).map(|()| None);
        }
        if let Some(committed) = &life.committed {
            return Ok(Some(committed.entries.clone()));
        }
        match life.storage.open(Path::new(DATA), OpenMode::Read) {
            Ok(file) => Ok(self.bytes(&file)?.map(|bytes| parse(&bytes))),
            Err(error) if error.is_not_found() => Ok(Some(Vec::new())),
            Err(error) => panic!("{error}"),
        }
    }

    fn read(&self, life: &Life, key: u8) -> Result<(), Ended> {
        let start = self.world.now();
        let Some(entries) = self.look(life)? else {
            return Ok(());
        };
        let found = entries.iter().rev().find(|entry| entry.key == key);
        let value = found.map_or(0, |entry| entry.value);
        let end = Some(self.world.now());
        let event = Event {
            kind: OperationKind::Read,
            key,
            value,
            start,
            end,
        };
        self.history.lock().operations.push(event);
        Ok(())
    }

    fn feed(&self, life: &Life) -> Result<(), Ended> {
        let Some(feed) = self.history.lock().begin_feed() else {
            return Ok(());
        };
        let looked = self.look(life);
        let mut history = self.history.lock();
        history.end_feed(feed);
        if let Some(entries) = looked? {
            history.observe_feed(feed, &entries);
        }
        Ok(())
    }
}

/// The last entry of each key, in the order of sequences.
fn latest(entries: &[Entry]) -> Vec<Entry> {
    let by_key: BTreeMap<u8, Entry> = entries.iter().map(|entry| (entry.key, *entry)).collect();
    let mut latest: Vec<Entry> = by_key.into_values().collect();
    latest.sort_by_key(|entry| entry.sequence);
    latest
}

fn compact(
    storage: &SharedStorage,
    entries: &[Entry],
) -> Result<Arc<dyn StorageFile>, StorageError> {
    let (path, beside) = (Path::new(DATA), Path::new("d/data.new"));
    if storage.kind(beside)?.is_some() {
        storage.remove(beside)?;
    }
    let file = storage.open(beside, OpenMode::CreateNew)?;
    for entry in entries {
        file.append(&entry.encode())?;
    }
    storage.rename(beside, path)?;
    storage.sync_directory(Path::new("d"))?;
    Ok(file)
}

fn shared_error(error: &StorageError) -> Option<&SharedError> {
    match error {
        StorageError::Io { source, .. } => source.get_ref()?.downcast_ref(),
        _ => None,
    }
}

/// Collects garbage while the nodes work.
pub fn collector(world: &World, task: usize, flaw: Flaw) {
    let id = LogId::new(LOG).unwrap();
    let mut options = options();
    if flaw == Flaw::CollectsTooSoon {
        options.retention = Duration::ZERO;
    }
    for _ in 0..14 {
        let length = world.below(2_500_000);
        world.sleep(task, Duration::from_micros(length));
        let is_dead = Arc::default();
        let store: Arc<dyn varve_shared::ObjectStore> =
            Arc::new(SimulatedStore::new(world, task, &is_dead));
        let clock = SimulatedClock {
            world: world.clone(),
            task,
            is_stopped: false,
        };
        if let Ok(collected) = collect_garbage(&store, Some(Arc::new(clock)), &id, &options) {
            world.lock().faults.records_collected += collected.records;
        }
    }
}
