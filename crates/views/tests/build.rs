//! How an index comes to be up to date.

use crate::common::*;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use varve_base::{Interrupt, MemoryStorage, Progress, Silent, Storage, Unit};
use varve_js::{Compilation, Limits};
use varve_views::{
    BuildContext, BuildLog, BuildThrottle, IndexKind, NoLog, ViewError, ViewIndex, remove_stale,
};

const DESIGN: &str = r#"{"views":{"v":{"map":"function(d){emit(d.n)}","reduce":"_count"}}}"#;

fn memory() -> Arc<dyn Storage> {
    Arc::new(MemoryStorage::default())
}

fn document(n: usize) -> String {
    format!(r#"{{"_id":"d{n:04}","n":{n}}}"#)
}

#[test]
fn changes_come_in_and_old_rows_go() {
    let storage = memory();
    let db = database(Arc::clone(&storage));
    let index = open(storage, DESIGN);
    assert_eq!(short(&refresh(&index, &db), "v?reduce=false"), "[]");
    replicate(
        &db,
        &[
            r#"{"_id":"a","_rev":"1-a","n":1}"#,
            r#"{"_id":"b","_rev":"1-a","n":2}"#,
        ],
    );
    assert_eq!(
        short(&refresh(&index, &db), "v"),
        r#"[{"key":null,"value":2}]"#
    );
    replicate(
        &db,
        &[r#"{"_id":"a","_rev":"2-a","n":7,"_revisions":{"start":2,"ids":["a","a"]}}"#],
    );
    let view = refresh(&index, &db);
    assert_eq!(
        short(&view, "v?reduce=false"),
        r#"[{"id":"b","key":2,"value":null},{"id":"a","key":7,"value":null}]"#
    );
    let gone =
        r#"{"_id":"b","_rev":"2-b","_deleted":true,"_revisions":{"start":2,"ids":["b","a"]}}"#;
    replicate(&db, &[gone]);
    assert_eq!(
        short(&refresh(&index, &db), "v?reduce=false"),
        r#"[{"id":"a","key":7,"value":null}]"#
    );
    // A moment of the index stays as it was.
    assert_eq!(view.row_count("v").unwrap(), 2);
}

#[test]
fn purged_documents_are_forgotten() {
    let storage = memory();
    let db = database(Arc::clone(&storage));
    let index = open(storage, DESIGN);
    replicate(
        &db,
        &[
            r#"{"_id":"a","_rev":"1-a","n":1}"#,
            r#"{"_id":"a","_rev":"1-b","n":2}"#,
            r#"{"_id":"b","_rev":"1-a","n":3}"#,
            r#"{"_id":"c","_rev":"1-a","n":4}"#,
        ],
    );
    let purge = |id: &str, rev: &str| {
        let wanted = [(id.to_owned(), vec![rev.parse().unwrap()])];
        db.purge(wanted.into()).unwrap();
    };
    let rows = |index: &ViewIndex| {
        let view = refresh(index, &db);
        assert_eq!(view.purge_seq(), db.snapshot().purge_seq());
        short(&view, "v?reduce=false").replace(r#","value":null"#, "")
    };
    assert_eq!(rows(&index).matches("id").count(), 3);
    purge("a", "1-b");
    purge("b", "1-a");
    assert_eq!(rows(&index), r#"[{"id":"a","key":1},{"id":"c","key":4}]"#);
    // Purged and there again, before any query.
    purge("c", "1-a");
    replicate(&db, &[r#"{"_id":"c","_rev":"1-a","n":5}"#]);
    assert_eq!(rows(&index), r#"[{"id":"a","key":1},{"id":"c","key":5}]"#);
    // Of more purges than the database remembers, the index cannot learn.
    db.set_purges_limit(1).unwrap();
    purge("a", "1-a");
    purge("x", "1-a");
    assert_eq!(rows(&index), r#"[{"id":"c","key":5}]"#);
}

#[test]
fn documents_show_attachments_and_conflicts_do_not_count() {
    let storage = memory();
    let db = database(Arc::clone(&storage));
    replicate(
        &db,
        &[
            r#"{"_id":"a","_rev":"1-b","n":"winner","_attachments":{"f":{"data":"aGk=","content_type":"x/y"}}}"#,
            r#"{"_id":"a","_rev":"1-a","n":"loser"}"#,
        ],
    );
    let design = r#"{"views":{"v":{"map":"function(d){emit([d._id, d._rev, d.n], d._attachments.f.length)}"}}}"#;
    let index = open(storage, design);
    assert_eq!(
        short(&refresh(&index, &db), "v"),
        r#"[{"id":"a","key":["a","1-b","winner"],"value":2}]"#
    );
}

#[test]
fn design_documents_have_rows_only_if_asked_for() {
    let documents = [
        r#"{"_id":"_design/x","_rev":"1-a"}"#,
        r#"{"_id":"y","_rev":"1-a"}"#,
    ];
    let views = r#""views":{"v":{"map":"function(d){emit(1)}"}}"#;
    let without = view_of(&documents, &format!("{{{views}}}"));
    assert_eq!(without.row_count("v").unwrap(), 1);
    let with = view_of(
        &documents,
        &format!(r#"{{"options":{{"include_design":true}},{views}}}"#),
    );
    assert_eq!(with.row_count("v").unwrap(), 2);
}

#[test]
fn an_index_outlives_the_process_and_knows_its_database() {
    let storage = memory();
    let db = database(Arc::clone(&storage));
    put(&db, &(0..450).map(document).collect::<Vec<_>>());
    refresh(&open(Arc::clone(&storage), DESIGN), &db);
    let again = open(Arc::clone(&storage), DESIGN);
    let stale = again.current(&db.snapshot()).unwrap();
    assert_eq!(
        (stale.row_count("v").unwrap(), stale.update_seq()),
        (450, 450)
    );
    // A database of the same name that was made anew has other documents.
    db.delete().unwrap();
    let other = database(Arc::clone(&storage));
    put(&other, &[document(1)]);
    assert_eq!(
        again
            .current(&other.snapshot())
            .unwrap()
            .row_count("v")
            .unwrap(),
        0
    );
    assert_eq!(refresh(&again, &other).row_count("v").unwrap(), 1);
}

#[test]
fn many_queries_share_one_build() {
    let storage = memory();
    let db = database(Arc::clone(&storage));
    put(&db, &(0..900).map(document).collect::<Vec<_>>());
    let index = open(storage, DESIGN);
    let documents = Counter::default();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let context = BuildContext {
                    throttle: &never_throttled(),
                    workers: 2,
                    limits: Limits::default(),
                    compilation: Compilation::default(),
                    skips_failed: true,
                    progress: &documents,
                    interrupt: &Interrupt::default(),
                    log: &NoLog,
                };
                let view = index.update_to(&db.snapshot(), &context).unwrap();
                assert_eq!(view.row_count("v").unwrap(), 900);
            });
        }
    });
    let seen = documents.0.lock().unwrap();
    assert_eq!(*seen, (vec![Some(900)], 900));
}

/// Totals of the steps that began, and the sum of their progress.
#[derive(Default)]
struct Counter(Mutex<(Vec<Option<u64>>, u64)>);

impl Progress for Counter {
    fn begin(&self, _step: &str, _unit: Unit, total: Option<u64>) {
        self.0.lock().unwrap().0.push(total);
    }

    fn advance(&self, amount: u64) {
        self.0.lock().unwrap().1 += amount;
    }
}

#[derive(Default)]
struct Messages(Mutex<Vec<String>>);

impl BuildLog for Messages {
    fn message(&self, document: &str, text: &str) {
        self.0.lock().unwrap().push(format!("{document}: {text}"));
    }

    fn failure(&self, document: &str, view: Option<&str>, reason: &str) {
        let line = format!("{document} {}: {reason}", view.unwrap_or("failed"));
        self.0.lock().unwrap().push(line);
    }
}

/// Builds an index of these documents with tight limits; returns the log messages and the rows.
fn told(documents: &[&str], map: &str) -> (Vec<String>, String) {
    let storage = memory();
    let db = database(Arc::clone(&storage));
    put(&db, documents);
    let messages = Messages::default();
    let context = BuildContext {
        throttle: &never_throttled(),
        workers: 1,
        limits: Limits {
            time: std::time::Duration::from_millis(500),
            memory: 8 << 20,
            ..Limits::default()
        },
        compilation: Compilation::default(),
        skips_failed: true,
        progress: &Silent,
        interrupt: &Interrupt::default(),
        log: &messages,
    };
    let design = format!(r#"{{"views":{{"v":{{"map":"{map}"}}}}}}"#);
    let index = open(storage, &design);
    let view = index.update_to(&db.snapshot(), &context).unwrap();
    (messages.0.into_inner().unwrap(), short(&view, "v"))
}

#[test]
fn what_functions_say_is_told() {
    let documents = [r#"{"_id":"a","bad":true}"#, r#"{"_id":"b"}"#];
    let map = "function(d){ if (d.bad) throw 'no'; log('hi'); emit(1) }";
    let (messages, rows) = told(&documents, map);
    assert_eq!(messages, [r#"a v: "no""#, r#"b: "hi""#]);
    assert_eq!(rows, r#"[{"id":"b","key":1,"value":null}]"#);
}

#[test]
fn a_document_whose_functions_pass_a_limit_has_no_rows_and_the_others_have_theirs() {
    let documents = [
        r#"{"_id":"a"}"#,
        r#"{"_id":"b","bad":true}"#,
        r#"{"_id":"c"}"#,
        r#"{"_id":"d","bad":true}"#,
        r#"{"_id":"e"}"#,
    ];
    for (bad, expected) in [
        ("while (true) {}", "longer than 500ms"),
        (
            "(async function f() { await 0; f(); })(); return",
            "longer than 500ms",
        ),
        (
            "var a = []; while (true) a.push(a.join())",
            "bytes of memory",
        ),
        ("while (true) emit('x'.repeat(100000))", "bytes of memory"),
        ("(function f() { f() })()", "call stack"),
    ] {
        let map = format!("function(d){{ if (d.bad) {{ {bad} }} emit(1) }}");
        let (messages, rows) = told(&documents, &map);
        assert_eq!(messages.len(), 2, "{bad}: {messages:?}");
        assert!(messages[0].starts_with("b ") && messages[1].starts_with("d "));
        let named = messages.iter().all(|line| line.contains(expected));
        assert!(named, "{bad}: {messages:?}");
        let ids = ["a", "c", "e"].map(|id| format!(r#"{{"id":"{id}","key":1,"value":null}}"#));
        assert_eq!(rows, format!("[{}]", ids.join(",")), "{bad}");
    }
}

#[test]
fn a_document_that_takes_long_does_not_let_the_rows_of_all_others_wait_in_memory() {
    let storage = memory();
    let db = database(Arc::clone(&storage));
    put(&db, &(0..20_000).map(document).collect::<Vec<_>>());
    let log = Blocked::default();
    let context = BuildContext {
        throttle: &never_throttled(),
        workers: 2,
        limits: Limits::default(),
        compilation: Compilation::default(),
        skips_failed: true,
        progress: &Silent,
        interrupt: &Interrupt::default(),
        log: &log,
    };
    let design = r#"{"views":{"v":{"map":"function(d){ log('here'); emit(d.n) }"}}}"#;
    let index = open(storage, design);
    let view = index.update_to(&db.snapshot(), &context).unwrap();
    assert_eq!(view.row_count("v").unwrap(), 20_000);
    assert_eq!(log.ahead.load(Ordering::Relaxed), MOST_AHEAD);
}

/// Documents that two workers map while the first one is not done: 16 batches of 200 for each worker,
/// but for the batch of the first.
const MOST_AHEAD: usize = (2 * 16 - 1) * 200;

/// Holds the first document back until as many others are mapped as may be; more than these would
/// come at once.
#[derive(Default)]
struct Blocked {
    others: AtomicUsize,
    ahead: AtomicUsize,
}

impl BuildLog for Blocked {
    fn message(&self, document: &str, _text: &str) {
        if document != "d0000" {
            self.others.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let deadline = Instant::now() + Duration::from_secs(60);
        let others = || self.others.load(Ordering::Relaxed);
        while others() < MOST_AHEAD && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(50));
        self.ahead.store(others(), Ordering::Relaxed);
    }

    fn failure(&self, _document: &str, _view: Option<&str>, _reason: &str) {}
}

#[test]
fn a_function_that_does_not_compile_is_named() {
    let storage = memory();
    let db = database(Arc::clone(&storage));
    let index = open(storage, r#"{"views":{"bad":{"map":"function("}}}"#);
    let error = with_context(|context| index.update_to(&db.snapshot(), context)).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("Compilation of the map function in the 'bad' view failed: ")
    );
}

#[test]
fn an_interrupted_build_ends_within_a_call_and_gives_way_within_it() {
    let storage = memory();
    let db = database(Arc::clone(&storage));
    // So many that builds give way to requests.
    put(&db, &(0..600).map(document).collect::<Vec<_>>());
    let design = r#"{"views":{"v":{"map":"function(d) { while (d.n == 300) {} emit(d.n) }"}}}"#;
    let index = open(storage, design);
    let interrupt = Interrupt::default();
    let (pauses, raised) = (AtomicUsize::new(0), interrupt.clone());
    let throttle: BuildThrottle = Arc::new(move || {
        // More than there are documents: the endless call makes them.
        if pauses.fetch_add(1, Ordering::Relaxed) == 1000 {
            raised.raise();
        }
    });
    let context = BuildContext {
        throttle: &throttle,
        workers: 2,
        limits: Limits {
            time: Duration::from_secs(600),
            ..Limits::default()
        },
        compilation: Compilation::Off,
        skips_failed: true,
        progress: &Silent,
        interrupt: &interrupt,
        log: &NoLog,
    };
    let error = index.update_to(&db.snapshot(), &context).unwrap_err();
    assert!(matches!(error, ViewError::Interrupted(_)), "{error:?}");
}

#[test]
fn an_interrupted_build_ends_and_the_next_one_is_whole() {
    let storage = memory();
    let db = database(Arc::clone(&storage));
    put(&db, &(0..3000).map(document).collect::<Vec<_>>());
    let index = open(storage, DESIGN);
    let interrupt = Interrupt::default();
    let raise = Raise(interrupt.clone());
    let context = BuildContext {
        throttle: &never_throttled(),
        workers: 2,
        limits: Limits::default(),
        compilation: Compilation::default(),
        skips_failed: true,
        progress: &Silent,
        interrupt: &interrupt,
        log: &raise,
    };
    let design =
        r#"{"views":{"v":{"map":"function(d){ if (d.n == 1000) log('stop'); emit(d.n) }"}}}"#;
    let loud = ViewIndex::open(
        Arc::new(MemoryStorage::default()),
        Path::new(DIRECTORY),
        group(design),
        index_options(),
    )
    .unwrap();
    let error = loud.update_to(&db.snapshot(), &context).unwrap_err();
    assert!(matches!(error, ViewError::Interrupted(_)), "{error:?}");
    let reached = loud.current(&db.snapshot()).unwrap();
    assert!(reached.update_seq() < 3000);
    assert_eq!(reached.row_count("v").unwrap(), reached.update_seq());
    assert_eq!(refresh(&loud, &db).row_count("v").unwrap(), 3000);
    assert_eq!(refresh(&index, &db).row_count("v").unwrap(), 3000);
}

struct Raise(Interrupt);

impl BuildLog for Raise {
    fn message(&self, _document: &str, _text: &str) {
        self.0.raise();
    }

    fn failure(&self, _document: &str, _view: Option<&str>, _reason: &str) {}
}

#[test]
fn stale_files_are_removed_and_only_those() {
    let storage = memory();
    let other = r#"{"views":{"v":{"map":"function(d){}"}}}"#;
    open(Arc::clone(&storage), DESIGN);
    open(Arc::clone(&storage), other);
    let kept = [group(other).signature()];
    let directory = Path::new(DIRECTORY);
    assert_eq!(
        remove_stale(&*storage, directory, IndexKind::Views, &kept).unwrap(),
        1
    );
    assert_eq!(
        remove_stale(&*storage, directory, IndexKind::Views, &kept).unwrap(),
        0
    );
    assert_eq!(storage.list(directory).unwrap().len(), 1);
    assert_eq!(
        remove_stale(&*storage, Path::new("nowhere"), IndexKind::Views, &kept).unwrap(),
        0
    );
}

#[test]
fn an_index_is_the_same_whether_its_functions_are_compiled_or_not() {
    let design = r#"{"views":{
        "coords":{"map":"function (doc) { emit([doc.type, doc.level, doc.ratio], doc.nested.coords); }"},
        "tags":{"map":"function (doc) { for (var i in doc.tags) emit(doc.tags[i], doc); }"},
        "upper":{"map":"doc => emit(doc.type.toUpperCase(), {_id: doc.other})","reduce":"_count"}}}"#;
    let documents: Vec<String> = (0..500)
        .map(|n| {
            let kind = ["alert", "straße", "\\\"\\n", "stop"][n % 4];
            let ratio = n as f64 / 7.0;
            format!(
                r#"{{"_id":"d{n:03}","type":"{kind}","level":{n},"ratio":{ratio},"nested":{{"coords":[[{n}.50,1e{}]]}},
                "tags":["t{}",{n}.0,null,{{"10":1,"b":[],"9":{{}}}}]}}"#,
                n % 30,
                n % 3,
            )
        })
        .collect();
    let storage = memory();
    let db = database(Arc::clone(&storage));
    put(&db, &documents);
    put(
        &db,
        &[
            r#"{"_id":"short"}"#,
            r#"{"_id":"odd","nested":null,"type":7,"tags":"ab"}"#,
        ],
    );
    let rows = |compilation| {
        let index = open(memory(), design);
        let view = with_context(|context| {
            let context = BuildContext {
                compilation,
                ..*context
            };
            index.update_to(&db.snapshot(), &context).unwrap()
        });
        ["coords", "tags", "upper"].map(|name| ask(&view, &format!("{name}?reduce=false")).unwrap())
    };
    let compiled = rows(Compilation::Simple);
    assert_eq!(compiled, rows(Compilation::Off));
    assert_eq!(group(design).compiled(Compilation::Simple).count(), 3);
    assert!(compiled[2].contains("STRASSE"), "{}", compiled[2]);
}

#[test]
fn a_build_that_fails_ends_the_calls_of_its_other_workers() {
    let storage = memory();
    let db = database(Arc::clone(&storage));
    // One batch for each of two workers.
    put(&db, &(0..400).map(document).collect::<Vec<_>>());
    let map = "function(d){ if (d.n == 200) while (true) {} var a = []; while (d.n == 0) a.push(a.join()) }";
    let index = open(
        storage,
        &format!(r#"{{"views":{{"v":{{"map":"{map}"}}}}}}"#),
    );
    let (ended, ends) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let limits = Limits {
            time: Duration::from_secs(86_400),
            ..Limits::default()
        };
        let built = with_context(|context| {
            let context = BuildContext {
                limits,
                skips_failed: false,
                ..*context
            };
            index.update_to(&db.snapshot(), &context).map(drop)
        });
        ended.send(built)
    });
    // The endless call has a day.
    let built = ends.recv_timeout(Duration::from_secs(120)).unwrap();
    assert!(matches!(built, Err(ViewError::Function { id, .. }) if id == "d0000"));
}

/// Counts the builds that begin.
#[derive(Default)]
struct Builds(AtomicUsize);

impl Progress for Builds {
    fn begin(&self, _label: &str, _unit: Unit, _total: Option<u64>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
    fn advance(&self, _by: u64) {}
    fn end(&self) {}
}

#[test]
fn a_build_is_not_begun_again_while_the_document_that_ended_it_is_the_same() {
    let storage = memory();
    let db = database(Arc::clone(&storage));
    put(&db, &[r#"{"_id":"a","bad":true}"#, r#"{"_id":"b"}"#]);
    let map = "function(d){ if (d.bad) while (true) {} emit(1) }";
    let index = open(
        storage,
        &format!(r#"{{"views":{{"v":{{"map":"{map}"}}}}}}"#),
    );
    let builds = Builds::default();
    let build = |milliseconds, skips_failed| {
        let built = with_context(|context| {
            let limits = Limits {
                time: Duration::from_millis(milliseconds),
                ..Limits::default()
            };
            let context = BuildContext {
                limits,
                skips_failed,
                progress: &builds,
                ..*context
            };
            index.update_to(&db.snapshot(), &context)
        });
        let rows = built.map(|view| view.row_count("v").unwrap());
        let rows = rows.map_err(|error| error.to_string());
        (rows, builds.0.load(Ordering::Relaxed))
    };
    let failed = |limit: &str| {
        let words = "the map functions failed for document \"a\": a script ran longer than";
        Err(format!("{words} {limit}"))
    };
    assert_eq!(build(50, false), (failed("50ms"), 1));
    assert_eq!(build(50, false), (failed("50ms"), 1));
    // Another document does not mend it, another limit may.
    put(&db, &[r#"{"_id":"c"}"#]);
    assert_eq!(build(50, false), (failed("50ms"), 1));
    assert_eq!(build(60, false), (failed("60ms"), 2));
    let rev = db.snapshot().document("a").unwrap().unwrap();
    let rev = rev.winner().unwrap().0.to_string();
    put(&db, &[format!(r#"{{"_id":"a","_rev":"{rev}","bad":1}}"#)]);
    assert_eq!(build(60, false), (failed("60ms"), 3));
    assert_eq!(build(60, true), (Ok(2), 4));
}
