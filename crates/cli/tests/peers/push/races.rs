//! Several pushes at once.

use super::{OPEN, Pair, commit, copy};
use std::thread;

/// Clients that each have a changeset of their own on top of the same one.
fn clients(pair: &Pair, count: usize) -> Vec<std::path::PathBuf> {
    let paths = (0..count).map(|number| {
        let path = pair.site.path().join(format!("racer{number}"));
        copy(&pair.clients()[0], &path);
        for more in 0..3 {
            commit(&pair.hg, &path, &format!("by{number}-{more}"));
        }
        path
    });
    paths.collect()
}

#[test]
fn each_push_lands_whole_or_is_told_that_it_raced() {
    let pair = Pair::new(OPEN);
    let url = &pair.urls()[0];
    let racers = clients(&pair, 5);
    let (mut landed, mut raced) = (0, 0);
    for round in 0..3 {
        let told: Vec<_> = thread::scope(|scope| {
            let pushes: Vec<_> = racers
                .iter()
                .map(|path| scope.spawn(|| pair.hg.run(path, &["push", url])))
                .collect();
            pushes
                .into_iter()
                .map(|push| push.join().unwrap())
                .collect()
        });
        for (number, told) in told.into_iter().enumerate() {
            let all = format!("{}{}", told.stdout, told.stderr);
            match told.code {
                Some(0) => landed += 1,
                Some(1) => {}
                _ => {
                    let of_race = all.contains("remote repository changed while pushing");
                    let of_heads = all.contains("push creates new remote head");
                    let of_news = all.contains("abort: push creates") || all.contains("unsynced");
                    assert!(of_race || of_heads || of_news, "{all}");
                    raced += usize::from(of_race);
                    let path = &racers[number];
                    pair.hg.ok(path, &["pull", url]);
                    if pair.hg.run(path, &["merge", "--tool", ":local"]).code == Some(0) {
                        pair.hg
                            .ok(path, &["commit", "-m", &format!("merge {round}")]);
                    }
                }
            }
        }
    }
    assert!(landed >= 3, "{landed} landed, {raced} raced");
    pair.hg.ok(&pair.servers()[0], &["verify"]);
}

#[test]
fn pushes_to_heads_of_their_own_all_land() {
    let pair = Pair::new(OPEN);
    let url = &pair.urls()[0];
    let racers = clients(&pair, 6);
    thread::scope(|scope| {
        for path in &racers {
            scope.spawn(|| pair.hg.ok(path, &["push", "-f", url]));
        }
    });
    let server = &pair.servers()[0];
    assert_eq!(pair.hg.ok(server, &["log", "-T", "."]).len(), 3 + 18);
    assert_eq!(pair.hg.ok(server, &["heads", "-T", "."]).len(), 6);
    pair.hg.ok(server, &["verify"]);
}

#[test]
fn a_lock_is_waited_for_as_long_as_is_configured() {
    let pair = Pair::new(&format!("{OPEN}[ui]\ntimeout = 1\n"));
    pair.commit("d");
    let lock = pair.servers()[0].join(".hg/store/lock");
    // It is unknown here whether that process still runs.
    std::os::unix::fs::symlink(format!("elsewhere:{}", std::process::id()), &lock).unwrap();
    let [ours, _] = pair.push_each("");
    let said = ours.0.failure();
    assert!(
        said.contains("timed out waiting for lock held by 'elsewhere:"),
        "{said}"
    );
    std::fs::remove_file(&lock).unwrap();
    pair.push_each("");
    pair.same();
}
