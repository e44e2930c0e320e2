//! Several pushes at once, and programs that are killed in the middle.

use super::{PAIRS, Talk, apart_by_much};
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

fn start(talk: &Talk, below: &str, words: &[&str]) -> Child {
    let mut command = talk.command(talk.client, below, words);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn pushes_that_race_land_whole_or_not_at_all() {
    for pair in PAIRS {
        let talk = Talk::new(pair);
        talk.stock("", "init src");
        talk.commit("src", "base");
        let racers: Vec<String> = (0..4).map(|number| format!("racer{number}")).collect();
        for racer in &racers {
            talk.stock("", &format!("clone -q src {racer}"));
            for number in 0..3 {
                talk.commit(racer, &format!("{racer}-{number}"));
            }
        }
        let url = talk.url("src");
        let mut pushes: Vec<Child> = racers
            .iter()
            .map(|racer| start(&talk, racer, &["push", &url]))
            .collect();
        let codes: Vec<_> = pushes
            .iter_mut()
            .map(|push| push.wait().unwrap().code())
            .collect();
        talk.stock("src", "verify -q");
        let landed = codes.iter().filter(|code| **code == Some(0)).count();
        assert!(landed >= 1, "{pair:?}: {codes:?}");
        let count = talk.stock("src", "log -T .").len();
        assert_eq!(count, 1 + 3 * landed, "{pair:?}: {codes:?}");
    }
}

/// A client that was killed while it wrote down which of its changesets are public leaves an
/// abandoned transaction, which its next user is told to recover from.
fn recover(talk: &Talk, below: &str) {
    if talk.path(below).join(".hg/store/journal").exists() {
        let recovered = talk.run(below, &["recover"]);
        assert_eq!(recovered.code, Some(0), "{recovered}");
    }
}

#[test]
fn clients_that_are_killed_leave_nothing_behind() {
    for pair in PAIRS {
        let talk = Talk::new(pair);
        apart_by_much(&talk);
        let url = talk.url("src");
        for round in 0..6 {
            let mut push = start(&talk, "c", &["push", &url]);
            let mut clone = start(&talk, "", &["clone", &url, "half"]);
            thread::sleep(Duration::from_millis(60 + 90 * round));
            for child in [&mut push, &mut clone] {
                let _ = child.kill();
                child.wait().unwrap();
            }
            let _ = std::fs::remove_dir_all(talk.path("half"));
            recover(&talk, "c");
        }
        // The servers end when they notice; the next push waits for their locks.
        let last = talk.run("c", &["push", &url]);
        assert!(matches!(last.code, Some(0 | 1)), "{pair:?}: {last}");
        talk.stock("src", "verify -q");
        let count = |name: &str| talk.stock(name, "log -T .").len();
        assert_eq!(count("src"), count("c"), "{pair:?}");
    }
}
