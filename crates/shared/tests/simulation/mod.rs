//! Many nodes over one store, with faults, in time that is simulated: a seed gives the same run again.

mod checker;
mod history;
mod node;
mod store;
mod world;

use checker::is_linearizable;
use history::{Event, History};
use node::{Flaw, Node, OPTIONS_RETENTION, collector, options};
use std::collections::BTreeMap;
use std::sync::Arc;
use store::SimulatedStore;
use varve_base::{MemoryStorage, OpenMode, Storage};
use varve_shared::{LogId, RestorePoint, restore, verify};
use world::{Faults, World};

const NODES: usize = 3;

/// Result of one run.
struct Run {
    faults: Faults,
    history: History,
    /// The first rule that was broken.
    violation: Option<String>,
}

fn run(seed: u64, flaw: Flaw) -> Run {
    let world = World::new(seed, flaw == Flaw::TwoCreatorsWin);
    let history = Arc::new(parking_lot::Mutex::new(History::default()));
    let mut tasks: Vec<Box<dyn FnOnce() + Send>> = Vec::new();
    for number in 0..NODES {
        let node = Node::new(&world, number, &history, flaw);
        tasks.push(Box::new(move || node.run()));
    }
    let of_collector = world.clone();
    tasks.push(Box::new(move || collector(&of_collector, NODES, flaw)));
    world.run(tasks);
    let faults = world.faults();
    let mut history = std::mem::take(&mut *history.lock());
    let violation = judge(&world, &mut history);
    Run {
        faults,
        history,
        violation,
    }
}

/// Reads the final state without faults, and checks the whole history.
fn judge(world: &World, history: &mut History) -> Option<String> {
    let store: Arc<dyn varve_shared::ObjectStore> = Arc::new(SimulatedStore::faultless(world));
    let id = LogId::new(node::LOG).unwrap();
    let local = Arc::new(MemoryStorage::default());
    let restored = restore(&store, &id, &options(), (RestorePoint::End, local.clone()));
    if let Err(error) = restored {
        return Some(format!("the end cannot be restored: {error}"));
    }
    let entries = match local.open(node::DATA.as_ref(), OpenMode::Read) {
        Ok(file) => node::parse(&file.read_all().unwrap()),
        Err(_) => Vec::new(),
    };
    let state: BTreeMap<u8, u32> = entries.iter().map(|it| (it.key, it.value)).collect();
    let end = world.now() + 1;
    for key in 0..node::KEYS {
        let value = state.get(&key).copied().unwrap_or(0);
        history.operations.push(Event::read(key, value, end));
    }
    for feed in 0..history::FEEDS {
        history.observe_feed(feed, &entries);
    }
    match verify(&store, &id, &options()) {
        Ok(report) if report.findings.is_empty() => {}
        Ok(report) => history
            .violations
            .push(format!("verify: {:?}", report.findings)),
        Err(error) => history.violations.push(format!("verify: {error}")),
    }
    if let Some(first) = history.violations.first() {
        return Some(first.clone());
    }
    for key in 0..node::KEYS {
        let of_key: Vec<&Event> = history
            .operations
            .iter()
            .filter(|it| it.key == key)
            .collect();
        if !is_linearizable(&of_key) {
            return Some(format!(
                "register {key} is not linearizable:\n{}",
                lines(&of_key)
            ));
        }
    }
    None
}

fn lines(events: &[&Event]) -> String {
    let line = |it: &&Event| {
        let (kind, value, start, end) = (it.kind, it.value, it.start, it.end);
        format!("{kind:?} {value} from {start} to {end:?}\n")
    };
    events.iter().map(line).collect()
}

/// `VARVE_SIMULATION_SEEDS=N` runs more.
fn seeds() -> u64 {
    let wanted = std::env::var("VARVE_SIMULATION_SEEDS").ok();
    wanted.map_or(1500, |text| text.parse().unwrap())
}

#[test]
fn what_is_acknowledged_holds_through_all_faults() {
    let (mut faults, mut acknowledged, mut unknown) = (Faults::default(), 0, 0);
    for seed in 0..seeds() {
        let run = run(seed, Flaw::None);
        if let Some(violation) = run.violation {
            panic!("seed {seed}: {violation}");
        }
        faults += run.faults;
        acknowledged += run.history.acknowledged_writes();
        unknown += run.history.unknown_writes();
    }
    println!(
        "{} seeds, {acknowledged} writes acknowledged, {unknown} unknown: {faults:?}",
        seeds()
    );
    // Every kind of fault must really happen, and writes must get through between them.
    let floor = seeds() / 10;
    assert!(acknowledged > seeds() * 10, "{acknowledged} writes");
    assert!(unknown > floor, "{unknown} writes without an answer");
    for (name, count) in faults.named() {
        assert!(count > floor, "{name} happened {count} times only");
    }
}

#[test]
fn a_seed_gives_the_same_run_again() {
    for seed in [3, 77, 400] {
        let (one, other) = (run(seed, Flaw::None), run(seed, Flaw::None));
        assert_eq!(one.history.operations, other.history.operations);
        assert_eq!(one.faults, other.faults);
    }
}

/// Runs seeds until the checker finds the flaw.
fn find(flaw: Flaw) {
    let found = (0..seeds()).find_map(|seed| run(seed, flaw).violation.map(|it| (seed, it)));
    let Some((seed, violation)) = found else {
        panic!("{flaw:?} was not found in {} seeds", seeds());
    };
    println!(
        "{flaw:?}: seed {seed}: {}",
        violation.lines().next().unwrap_or_default()
    );
}

#[test]
fn a_node_that_acknowledges_refused_writes_is_found() {
    find(Flaw::AcknowledgesRefused);
}

#[test]
fn a_store_that_lets_two_creators_win_is_found() {
    find(Flaw::TwoCreatorsWin);
}

#[test]
fn reads_without_a_check_are_found() {
    find(Flaw::ReadsUnchecked);
}

#[test]
fn a_lost_answer_that_is_taken_for_a_failure_is_found() {
    find(Flaw::ForgetsUnconfirmed);
}

/// Without elapsed time, a paused node believes that its position is still there.
#[test]
fn a_clock_that_stands_still_is_found() {
    assert!(OPTIONS_RETENTION.as_secs() < 10, "pauses must be longer");
    find(Flaw::StoppedClock);
}

/// Retention times must be the same everywhere.
#[test]
fn a_collector_that_keeps_too_little_is_found() {
    find(Flaw::CollectsTooSoon);
}

/// A node that has given the log up has to look what others write.
#[test]
fn a_node_that_keeps_what_it_released_is_found() {
    find(Flaw::KeepsReleased);
}
