//! Clones and pulls whose process is killed at any moment: all is there afterwards, or nothing.

use super::elsewhere::Origin;
use super::our_hg;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Moments at which one kind of command is killed.
const MOMENTS: u32 = 25;

fn start(folder: &Path, arguments: &[&str]) -> std::process::Child {
    let mut command = Command::new(our_hg());
    command.args(arguments).current_dir(folder);
    command.env("HGRCPATH", "").env("HGPLAIN", "1");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Undoes what was left half done, and tells how many changesets and bookmarks there are. Stock `hg`
/// finds nothing wrong.
fn left(origin: &Origin, repository: &Path) -> (usize, usize) {
    if repository.join(".hg/store/journal").exists() {
        let recovered = start(repository, &["recover"]).wait().unwrap();
        assert!(recovered.success());
    }
    let hg = origin.hg();
    hg.ok(repository, &["verify", "-q"]);
    let changesets = hg.ok(repository, &["log", "-T", "."]).len();
    let bookmarks = hg.ok(repository, &["bookmarks", "-T", "."]);
    (changesets, bookmarks.matches('.').count())
}

/// Kills what `begin` starts, each time a little later; `check` looks at what is left and tells
/// whether everything was done.
fn kill_at_all_moments(begin: impl Fn(u32) -> std::process::Child, check: impl Fn(u32) -> bool) {
    let began = Instant::now();
    assert!(begin(0).wait().unwrap().success());
    let whole = began.elapsed();
    assert!(check(0));
    let mut broken = 0;
    for moment in 1..=MOMENTS {
        let mut process = begin(moment);
        thread::sleep(whole * moment / (MOMENTS + 2));
        process.kill().unwrap();
        process.wait().unwrap();
        broken += u32::from(!check(moment));
    }
    assert!(broken > 0, "everything was done before it was killed");
    // The same command works afterwards, locks of the dead included.
    let mut again = begin(1);
    let deadline = Instant::now() + Duration::from_secs(120);
    while again.try_wait().unwrap().is_none() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(20));
    }
    let _ = again.kill();
}

#[test]
fn killed_pulls_bring_everything_or_nothing() {
    let origin = Origin::rich();
    origin.ok("bookmark -f -r 1 mark");
    let all = left(&origin, &origin.path());
    let server = origin.serve();
    let folder = tempfile::tempdir().unwrap();
    let place = |moment: u32| folder.path().join(format!("p{moment}"));
    let begin = |moment| {
        let place = place(moment);
        if !place.exists() {
            origin
                .hg()
                .ok(folder.path(), &["init".as_ref(), place.as_os_str()]);
        }
        start(&place, &["pull", server.url()])
    };
    kill_at_all_moments(begin, |moment| {
        let found = left(&origin, &place(moment));
        assert!(found == all || found == (0, 0), "{found:?} of {all:?}");
        found == all
    });
    assert_eq!(left(&origin, &place(1)), all);
}

#[test]
fn killed_clones_have_everything_or_nothing() {
    let origin = Origin::rich();
    origin.ok("bookmark -f -r 1 mark");
    let all = left(&origin, &origin.path());
    let server = origin.serve();
    let folder = tempfile::tempdir().unwrap();
    for stream in [&[][..], &["--stream"]] {
        let name = |moment: u32| format!("c{}-{moment}", stream.len());
        let begin = |moment| {
            let name = name(moment);
            let line = [&["clone", "-U"], stream, &[server.url(), &name]].concat();
            start(folder.path(), &line)
        };
        kill_at_all_moments(begin, |moment| {
            let clone = folder.path().join(name(moment));
            if !clone.join(".hg/requires").exists() {
                return false;
            }
            let found = left(&origin, &clone);
            assert!(found.0 == all.0 || found == (0, 0), "{found:?} of {all:?}");
            found == all
        });
    }
}
