//! Real processes over one directory, of which owners are killed under load of acknowledged writes.

use crate::common::contents;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
use varve_base::{DiskStorage, MemoryStorage, OpenMode, Storage, StorageFile};
use varve_shared::{
    DirectoryStore, LogId, LogOptions, RestorePoint, SharedError, SharedStorage, SystemClock,
    restore, verify,
};

const STORE: &str = "VARVE_TEST_SHARED_STORE";
const NAME: &str = "VARVE_TEST_SHARED_NAME";
const KILLS: usize = 6;

fn options() -> LogOptions {
    LogOptions {
        checkpoint_slots: 50,
        inline_bytes: 200,
        ..LogOptions::default()
    }
}

fn open(store: &Path, local: Arc<dyn Storage>) -> Result<SharedStorage, SharedError> {
    let store = Arc::new(DirectoryStore::new(store)?);
    let clock = Arc::new(SystemClock::default());
    SharedStorage::open(store, clock, LogId::new("db").unwrap(), options(), local)
}

/// One life of a process that owns the log: writes lines and prints each that is acknowledged.
fn own(
    storage: &SharedStorage,
    name: &str,
    next: &mut u64,
) -> Result<(), varve_base::StorageError> {
    let path = Path::new("lines");
    let file: Arc<dyn StorageFile> = match storage.kind(path)? {
        Some(_) => storage.open(path, OpenMode::Append)?,
        None => storage.open(path, OpenMode::CreateNew)?,
    };
    loop {
        let line = format!("{name} {next}\n");
        *next += 1;
        // Some are large, so that segments are in play.
        let padding = " ".repeat(if next.is_multiple_of(9) { 300 } else { 0 });
        file.append(padding.as_bytes())?;
        file.append(line.as_bytes())?;
        file.sync()?;
        print!("acknowledged {line}");
        std::io::stdout().flush().unwrap();
    }
}

/// The body of a process, if this is one: takes the log over when no record came for a while.
#[test]
fn process() {
    let (Ok(store), Ok(name)) = (std::env::var(STORE), std::env::var(NAME)) else {
        return;
    };
    let scratch = tempfile::tempdir().unwrap();
    let mut next = 0;
    loop {
        let local = Arc::new(DiskStorage::new(scratch.path()));
        let storage = open(Path::new(&store), local).unwrap();
        let (mut slot, mut changed) = (storage.slot(), Instant::now());
        while changed.elapsed() < Duration::from_millis(200) {
            thread::sleep(Duration::from_millis(20));
            storage.ensure_current().unwrap();
            if storage.slot() != slot {
                (slot, changed) = (storage.slot(), Instant::now());
            }
        }
        if storage.take_over().is_ok() {
            // Ends once another process has taken over.
            let _ = own(&storage, &name, &mut next);
        }
    }
}

fn start(store: &Path, name: String, acknowledged: &mpsc::Sender<(String, String)>) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::process", "--nocapture"])
        .env(STORE, store)
        .env(NAME, &name)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let acknowledged = acknowledged.clone();
    thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            // The test harness may have begun the line.
            if let Some((_, line)) = line.split_once("acknowledged ") {
                let _ = acknowledged.send((name.clone(), line.to_owned()));
            }
        }
    });
    child
}

#[test]
fn killed_owners_lose_no_acknowledged_write() {
    let scratch = tempfile::tempdir().unwrap();
    let store = scratch.path().join("store");
    let (sender, receiver) = mpsc::channel();
    let name = |number: usize| format!("p{number}");
    let mut processes: Vec<(String, Child)> = Vec::new();
    for number in 0..3 {
        processes.push((name(number), start(&store, name(number), &sender)));
    }
    let mut acknowledged: Vec<String> = Vec::new();
    let mut longest = Duration::ZERO;
    for kill in 0..KILLS {
        let (wanted, waiting) = (acknowledged.len() + 40, Instant::now());
        let mut owner = String::new();
        while acknowledged.len() < wanted {
            let (name, line) = receiver.recv_timeout(Duration::from_secs(60)).unwrap();
            if owner.is_empty() {
                longest = longest.max(waiting.elapsed());
            }
            (owner, _) = (name, acknowledged.push(line));
        }
        let at = processes
            .iter()
            .position(|(name, _)| *name == owner)
            .unwrap();
        let (_, mut killed) = processes.swap_remove(at);
        killed.kill().unwrap();
        killed.wait().unwrap();
        acknowledged.extend(receiver.try_iter().map(|(_, line)| line));
        processes.push((name(3 + kill), start(&store, name(3 + kill), &sender)));
    }
    for (_, process) in &mut processes {
        process.kill().unwrap();
        process.wait().unwrap();
    }
    drop(sender);
    acknowledged.extend(receiver.iter().map(|(_, line)| line));
    println!(
        "{} acknowledged, longest wait {longest:?}",
        acknowledged.len()
    );
    check(&store, &acknowledged);
}

fn check(store: &Path, acknowledged: &[String]) {
    let store: Arc<dyn varve_shared::ObjectStore> = Arc::new(DirectoryStore::new(store).unwrap());
    let (id, local) = (
        LogId::new("db").unwrap(),
        Arc::new(MemoryStorage::default()),
    );
    let report = verify(&store, &id, &options()).unwrap();
    assert_eq!(report.findings, [] as [String; 0]);
    assert!(report.checkpoints > 0 && report.segments > 0, "{report:?}");
    restore(&store, &id, &options(), (RestorePoint::End, local.clone())).unwrap();
    let text = String::from_utf8(contents(local.as_ref(), "lines")).unwrap();
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    // Pipes of different processes are read in any order, so only the order of each one's lines is known.
    let position = |line: &String| lines.iter().position(|it| it == line);
    let mut last: BTreeMap<&str, usize> = BTreeMap::new();
    for line in acknowledged {
        let position = position(line).unwrap_or_else(|| panic!("{line} is lost"));
        let name = line.split_once(' ').unwrap().0;
        let before = last.insert(name, position);
        assert!(
            before.is_none_or(|before| before < position),
            "{line} is out of order"
        );
    }
    let distinct: BTreeSet<_> = lines.iter().collect();
    assert_eq!(distinct.len(), lines.len(), "a line is there twice");
    assert!(acknowledged.len() >= KILLS * 40);
}
