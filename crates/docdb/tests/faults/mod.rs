//! A disk that refuses: each writer gets the error, everything can be read all the while, and when the
//! disk takes more, the database goes on by itself.

use crate::compaction::in_place;
use crate::verify::sample::{Documents, PATH, document, findings, noise};
use crate::{edit, options, try_attaching};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use varve_base::{Interrupt, MemoryStorage, Silent};
use varve_docdb::{Database, DatabaseOptions, DocdbError, Edit, Mode};
use varve_testkit::watched::{Call, Watched, Watcher};

/// Lets some of the calls through that change something, then refuses some.
#[derive(Debug, Default)]
struct Fuse(Mutex<FuseState>);

#[derive(Clone, Copy, Debug, Default)]
struct FuseState {
    pass: usize,
    refuse: usize,
    kind: Option<ErrorKind>,
    refused: usize,
}

impl Fuse {
    fn arm(&self, pass: usize, refuse: usize, kind: ErrorKind) {
        *self.0.lock().unwrap() = FuseState {
            pass,
            refuse,
            kind: Some(kind),
            refused: 0,
        };
    }

    /// Lets everything through; returns how many calls were refused.
    fn disarm(&self) -> usize {
        std::mem::take(&mut *self.0.lock().unwrap()).refused
    }
}

impl Watcher for Fuse {
    fn before(&self, call: Call, _: &Path) -> Result<(), ErrorKind> {
        if matches!(call, Call::Read(..) | Call::Open(_)) {
            return Ok(());
        }
        let mut state = self.0.lock().unwrap();
        match state.kind {
            Some(_) if state.pass > 0 => state.pass -= 1,
            Some(kind) if state.refuse > 0 => {
                state.refuse -= 1;
                state.refused += 1;
                return Err(kind);
            }
            _ => {}
        }
        Ok(())
    }
}

type Disk = Watched<MemoryStorage, Fuse>;

fn disk() -> Disk {
    Watched::new(MemoryStorage::default(), Fuse::default())
}

/// A database, and the documents acknowledged to its users.
struct Used {
    disk: Disk,
    db: Database,
    stored: Documents,
    failures: usize,
}

impl Used {
    fn new() -> Used {
        Used::with(&options())
    }

    fn with(options: &DatabaseOptions) -> Used {
        let disk = disk();
        let db = Database::create(Arc::new(disk.clone()), Path::new(PATH), options);
        Used {
            disk,
            db: db.unwrap(),
            stored: Documents::new(),
            failures: 0,
        }
    }

    /// Tries until it is done. After each failure everything that was stored is read.
    fn done<T>(&mut self, mut work: impl FnMut(&Database) -> Result<T, DocdbError>) -> T {
        for _ in 0..20 {
            match work(&self.db) {
                Ok(done) => return done,
                Err(error) => {
                    let told = error.to_string();
                    assert!(told.contains(PATH), "{told}");
                    self.failures += 1;
                    self.check(&self.db);
                }
            }
        }
        panic!("it does not go on by itself");
    }

    fn put(&mut self, texts: &[&str]) {
        let edits: Vec<Edit> = texts.iter().map(|text| edit(text)).collect();
        let ids: Vec<_> = edits.iter().map(|edit| edit.id().to_owned()).collect();
        // Had a failed try left anything, the next would be a conflict.
        let outcomes = self.done(|db| db.update(edits.clone(), Mode::Interactive));
        outcomes
            .into_iter()
            .for_each(|outcome| drop(outcome.unwrap()));
        self.note(&ids);
    }

    fn note(&mut self, ids: &[String]) {
        for id in ids {
            let text = document(&self.db.snapshot(), id).unwrap().unwrap();
            self.stored.insert(id.clone(), text);
        }
    }

    fn attach(&mut self, id: &str, data: &[u8]) {
        let data = Some(("application/x-data", data));
        let outcome = self.done(|db| {
            let found = db.snapshot().document(id)?;
            let rev = found.map(|found| found.winner().unwrap().0.clone());
            let edit = try_attaching(db, id, rev.as_ref(), "a", data)?;
            db.update_one(edit, Mode::Interactive)
        });
        outcome.unwrap();
        self.note(&[id.to_owned()]);
    }

    fn check(&self, db: &Database) {
        for (id, text) in &self.stored {
            let found = document(&db.snapshot(), id).unwrap();
            assert_eq!(found.as_ref(), Some(text), "{id:?}");
        }
    }

    /// Everything that was stored is there when the file is opened once more, and it is whole.
    fn check_again(&self) {
        let memory = self.disk.inner();
        let again = Database::open(Arc::new(memory.clone()), Path::new(PATH), &options()).unwrap();
        self.check(&again);
        assert_eq!(again.ignored_tail(), 0);
        assert_eq!(findings(memory, PATH).unwrap().1, []);
    }
}

/// Commits of every kind.
fn work(used: &mut Used) {
    used.put(&[r#"{"_id":"a"}"#, r#"{"_id":"b"}"#]);
    used.put(&[r#"{"_id":"_local/a","x":1}"#]);
    used.attach("c", noise(2_300_000, 7).as_bytes());
    let security = varve_json::parse_object(br#"{"members":{"roles":["r"]}}"#).unwrap();
    used.done(|db| db.set_security(&security));
    used.put(&[&format!(r#"{{"_id":"long","text":"{}"}}"#, noise(5000, 3))]);
    used.put(&[r#"{"_id":"gone"}"#]);
    let rev = used.db.snapshot().document("gone").unwrap().unwrap();
    let rev = rev.winner().unwrap().0.clone();
    used.done(|db| db.purge([("gone".to_owned(), vec![rev.clone()])].into()));
    used.stored.remove("gone");
    used.put(&[r#"{"_id":"d"}"#]);
}

#[test]
fn refused_at_any_call_a_commit_answers_an_error_and_the_next_one_works() {
    let mut calls = 0;
    for kind in [ErrorKind::StorageFull, ErrorKind::Other] {
        for refuse in [1, 3] {
            for pass in 0.. {
                let mut used = Used::new();
                used.disk.watcher().arm(pass, refuse, kind);
                work(&mut used);
                used.check_again();
                assert!(used.failures <= refuse);
                if used.disk.watcher().disarm() == 0 {
                    break;
                }
                // Not each refusal fails an edit: files left behind may be removed later.
                calls += used.failures.min(1);
            }
        }
    }
    assert!(calls > 60, "{calls}");
}

#[test]
fn refused_at_any_call_a_compaction_leaves_a_database_that_goes_on() {
    let mut failures = 0;
    for kind in [ErrorKind::StorageFull, ErrorKind::Other] {
        for pass in 0.. {
            let mut used = Used::new();
            work(&mut used);
            used.disk.watcher().arm(pass, 1, kind);
            let done = used.db.compact(&Silent, &Interrupt::default());
            failures += usize::from(done.is_err());
            used.check(&used.db);
            let was_refused = used.disk.watcher().disarm() > 0;
            used.put(&[r#"{"_id":"after"}"#]);
            used.check_again();
            used.db.compact(&Silent, &Interrupt::default()).unwrap();
            used.put(&[r#"{"_id":"later"}"#]);
            used.check_again();
            if !was_refused {
                break;
            }
        }
    }
    assert!(failures >= 16, "{failures}");
}

#[test]
fn refused_at_any_call_a_compaction_in_place_leaves_a_database_that_goes_on() {
    let (mut failures, mut done) = (0, 0);
    for kind in [ErrorKind::StorageFull, ErrorKind::Other] {
        for pass in 0.. {
            let mut used = Used::with(&in_place::options(512));
            work(&mut used);
            let cold: Vec<_> = (0..30)
                .map(|number| in_place::document("cold", number))
                .collect();
            used.put(&cold.iter().map(String::as_str).collect::<Vec<_>>());
            in_place::hot(&used.db, "hot", 12);
            used.note(&["hot".to_owned()]);
            let run = |used: &Used| used.db.compact_in_place(&Silent, &Interrupt::default());
            used.disk.watcher().arm(pass, 1, kind);
            failures += usize::from(run(&used).is_err());
            used.check(&used.db);
            let was_refused = used.disk.watcher().disarm() > 0;
            used.put(&[r#"{"_id":"after"}"#]);
            used.check_again();
            let compacted = run(&used).unwrap().expect("most of it stays");
            done += usize::from(compacted.after < compacted.before);
            used.put(&[r#"{"_id":"later"}"#]);
            used.check_again();
            if !was_refused {
                break;
            }
        }
    }
    assert!(failures >= 16 && done > 4, "{failures}, {done}");
}
