//! The stats that the dirstate keeps: a change that leaves the same stat is found while it can be, and a known stat
//! is not computed again.

use super::model::{Files, WorkingCopy, file, letters};
use proptest::prelude::*;
use std::fs::{File, FileTimes};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, SystemTime};
use varve_repo::Node;
use varve_workdir::{
    Dirstate, EntryState, LocalChanges, MergeTool, Stat, StatMatch, Timestamp, Tracking,
    WorkingFiles,
};

/// A clean working copy of the file `a`.
fn with_one_file(content: &str) -> WorkingCopy {
    let copy = WorkingCopy::new();
    let files = Files::from([("a".to_owned(), file(content))]);
    let node = copy.commit(Node::NULL, &Files::new(), &files);
    copy.update(node, LocalChanges::Refuse, MergeTool::Fail)
        .unwrap();
    copy
}

fn set_time(copy: &WorkingCopy, path: &str, time: SystemTime) {
    let opened = File::options().write(true).open(copy.path(path)).unwrap();
    opened
        .set_times(FileTimes::new().set_modified(time))
        .unwrap();
}

fn letter(copy: &WorkingCopy) -> char {
    letters(&copy.status())["a"]
}

fn stat(copy: &WorkingCopy) -> Stat {
    let files = WorkingFiles::new(copy.directory.path());
    files.stat(b"a").unwrap().unwrap()
}

/// Length and time are those that the dirstate may have kept: the time must not have counted, since it was that of
/// the moment in which the dirstate was written.
#[test]
fn a_change_within_the_same_moment_is_found() {
    let copy = with_one_file("one\n");
    let before = stat(&copy);
    let mut dirstate = copy.dirstate();
    dirstate.set_clean(b"a", &before, before.mtime);
    dirstate.write(&copy.repository).unwrap();
    copy.write("a", &file("two\n"));
    let time =
        SystemTime::UNIX_EPOCH + Duration::new(before.mtime.seconds as u64, before.mtime.nanos);
    set_time(&copy, "a", time);
    assert_eq!(stat(&copy), before);
    assert_eq!(letter(&copy), 'M');
}

/// With the time of an older file the cache is believed: such a change is not looked for, as in Mercurial.
#[test]
fn a_time_that_counts_saves_reading_the_file() {
    let copy = with_one_file("one\n");
    let old = SystemTime::now() - Duration::from_secs(60);
    set_time(&copy, "a", old);
    let before = stat(&copy);
    let mut dirstate = copy.dirstate();
    dirstate.set_clean(b"a", &before, Dirstate::clock(&copy.repository).unwrap());
    dirstate.write(&copy.repository).unwrap();
    assert_eq!(
        copy.dirstate().get(b"a").unwrap().compare(&before),
        StatMatch::Same
    );
    copy.write("a", &file("two\n"));
    set_time(&copy, "a", old);
    assert_eq!(letter(&copy), 'C');
    // Any other time makes the file be read.
    set_time(&copy, "a", old + Duration::from_secs(1));
    assert_eq!(letter(&copy), 'M');
    let mut dirstate = copy.dirstate();
    dirstate.set_possibly_dirty(b"a");
    dirstate.write(&copy.repository).unwrap();
    set_time(&copy, "a", old);
    assert_eq!(
        letter(&copy),
        'M',
        "what is possibly dirty is read whatever its time"
    );
}

#[test]
fn a_time_of_the_future_never_counts() {
    let copy = with_one_file("one\n");
    let future = SystemTime::now() + Duration::from_secs(3600);
    set_time(&copy, "a", future);
    let mut dirstate = copy.dirstate();
    let seen = stat(&copy);
    dirstate.set_clean(b"a", &seen, Dirstate::clock(&copy.repository).unwrap());
    dirstate.write(&copy.repository).unwrap();
    assert_eq!(
        copy.dirstate().get(b"a").unwrap().compare(&seen),
        StatMatch::Unsure
    );
    copy.write("a", &file("two\n"));
    set_time(&copy, "a", future);
    assert_eq!(letter(&copy), 'M');
}

#[test]
fn modes_and_types_are_seen_at_once() {
    let copy = with_one_file("one\n");
    let set_mode = |mode: u32| {
        std::fs::set_permissions(copy.path("a"), PermissionsExt::from_mode(mode)).unwrap();
    };
    for (mode, expected) in [
        (0o755, 'M'),
        (0o644, 'C'),
        (0o744, 'M'),
        (0o600, 'C'),
        (0o655, 'C'),
    ] {
        set_mode(mode);
        assert_eq!(letter(&copy), expected, "{mode:o}");
    }
    set_mode(0o644);
    copy.remove("a");
    // A link whose target is as long as the file was, and reads as it did.
    symlink("one\n", copy.path("a")).unwrap();
    assert_eq!(letter(&copy), 'M');
    copy.remove("a");
    std::fs::create_dir(copy.path("a")).unwrap();
    assert_eq!(letter(&copy), '!');
}

/// A step in the life of one entry.
#[derive(Clone, Copy, Debug)]
enum Step {
    Add,
    Remove,
    Forget,
    Clean,
    PossiblyDirty,
    Track(Tracking),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let tracking = any::<[bool; 3]>().prop_map(|[working, p1, p2_info]| {
        Step::Track(Tracking {
            working,
            p1,
            p2_info,
        })
    });
    let plain = prop::sample::select(vec![
        Step::Add,
        Step::Remove,
        Step::Forget,
        Step::Clean,
        Step::PossiblyDirty,
    ]);
    proptest::collection::vec(prop_oneof![3 => plain, 1 => tracking], 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The entry of one file against a model of three bits, written and read after every step.
    #[test]
    fn an_entry_follows_its_steps(steps in steps()) {
        let copy = WorkingCopy::new();
        let seen = Stat { mode: 0o100_644, size: 3, mtime: Timestamp { seconds: 5, nanos: 0 } };
        let boundary = Timestamp { seconds: 9, nanos: 0 };
        let mut model = Tracking::default();
        let mut is_known = false;
        for step in steps {
            let mut dirstate = copy.dirstate();
            match step {
                Step::Add => {
                    dirstate.add(b"a");
                    is_known &= model.working;
                    model.working = true;
                }
                Step::Remove => {
                    dirstate.remove(b"a");
                    (model.working, is_known) = (false, false);
                }
                Step::Forget => {
                    dirstate.forget(b"a");
                    (model, is_known) = (Tracking::default(), false);
                }
                Step::Clean => {
                    dirstate.set_clean(b"a", &seen, boundary);
                    (model, is_known) = (Tracking { working: true, p1: true, p2_info: false }, true);
                }
                Step::PossiblyDirty => {
                    dirstate.set_possibly_dirty(b"a");
                    is_known = false;
                }
                Step::Track(tracking) => {
                    dirstate.set_tracking(b"a", tracking);
                    (model, is_known) = (tracking, false);
                }
            }
            dirstate.write(&copy.repository).unwrap();
            let found = copy.dirstate();
            let Some(entry) = found.get(b"a") else {
                prop_assert_eq!(model, Tracking::default(), "{:?}", step);
                continue;
            };
            let state = match (model.working, model.p1, model.p2_info) {
                (false, ..) => EntryState::Removed,
                (true, true, true) => EntryState::Merged,
                (true, false, false) => EntryState::Added,
                _ => EntryState::Normal,
            };
            prop_assert_eq!(entry.state(), state, "{:?}", step);
            prop_assert_eq!(found.is_tracked(b"a"), model.working);
            if entry.is_tracked() && !model.p2_info {
                let expected = if is_known { StatMatch::Same } else { StatMatch::Unsure };
                prop_assert_eq!(entry.compare(&seen), expected, "{:?}", step);
            }
        }
    }

    /// A copy is known as long as its file is tracked, and never comes back with a later file of that name.
    #[test]
    fn copies_go_with_their_files(removes: bool, forgets: bool, cleans: bool) {
        let copy = WorkingCopy::new();
        let mut dirstate = copy.dirstate();
        dirstate.add(b"new");
        dirstate.copy(b"new", Some(b"old"));
        dirstate.write(&copy.repository).unwrap();
        let mut dirstate = copy.dirstate();
        prop_assert_eq!(dirstate.copy_source(b"new"), Some(&b"old"[..]));
        prop_assert!(!dirstate.is_changed());
        if removes {
            dirstate.remove(b"new");
        }
        if forgets {
            dirstate.forget(b"new");
        }
        if cleans {
            let seen = Stat { mode: 0o100_644, size: 3, mtime: Timestamp::default() };
            dirstate.set_clean(b"new", &seen, Timestamp { seconds: 1, nanos: 0 });
        }
        dirstate.add(b"new");
        dirstate.write(&copy.repository).unwrap();
        let kept = !(removes || forgets || cleans);
        let again = copy.dirstate();
        prop_assert_eq!(again.copy_source(b"new").is_some(), kept);
        prop_assert_eq!(again.copies().count(), usize::from(kept));
    }
}
