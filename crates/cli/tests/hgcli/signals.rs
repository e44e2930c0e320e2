//! Ctrl-C at many moments: the real process stops, and leaves nothing half done.

use super::our_hg;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use varve_testkit::peers::{hg, hg_program};
use varve_testkit::repos::{commit, write};

/// Files that make a command take long enough to be interrupted.
const FILES: usize = 1000;
/// Moments at which the signal is sent, in milliseconds; the last ones may come too late.
const MOMENTS: &[u64] = &[2, 5, 10, 20, 35, 60, 120];

/// On a busy machine all signals may come too early or too late; then they are sent again.
const MOST_ROUNDS: usize = 10 * MOMENTS.len();

fn program(directory: &Path) -> Command {
    let mut command = Command::new(our_hg());
    command
        .current_dir(directory)
        .env("HGRCPATH", "")
        .env("HGPLAIN", "1")
        .env("HGUSER", "ada")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn signal(process: u32, name: &str) {
    let mut kill = Command::new("kill");
    kill.args(["-s", name, &process.to_string()]);
    // The process may have ended already.
    kill.stderr(Stdio::null()).status().unwrap();
}

/// Runs a command and sends it a signal; says whether that ended it.
fn interrupt(directory: &Path, arguments: &[&str], name: &str, after: u64) -> bool {
    let mut child = program(directory).args(arguments).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(after));
    signal(child.id(), name);
    let mut said = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    let status = child.wait().unwrap();
    match status.code() {
        Some(255) => {
            let words = if name == "INT" {
                "interrupted!\n"
            } else {
                "killed!\n"
            };
            assert!(
                said.ends_with(words),
                "{arguments:?} after {after} ms: {said}"
            );
            true
        }
        // Before the first look at signals the system ends the process.
        None => true,
        Some(0) => false,
        code => panic!("{arguments:?} after {after} ms: {code:?} {said}"),
    }
}

fn fill(path: &Path, text: &str) {
    for number in 0..FILES {
        write(
            path,
            &format!("d{}/f{number}", number % 20),
            format!("{text} {number}\n").as_bytes(),
        );
    }
}

fn no_lock_is_left(path: &Path, what: &str) {
    for name in [".hg/wlock", ".hg/store/lock", ".hg/store/journal"] {
        assert!(
            path.join(name).symlink_metadata().is_err(),
            "{what} left {name}"
        );
    }
}

fn tip(path: &Path) -> String {
    hg().ok(path, &["log", "-r", "tip", "-T", "{rev}"])
}

/// A repository with a changeset of many files, in a directory that has room for others beside it.
fn repository_in(directory: &Path) -> PathBuf {
    let path = directory.join("repository");
    std::fs::create_dir(&path).unwrap();
    hg().ok(&path, &["init"]);
    fill(&path, "first");
    commit(&hg(), &path, "first");
    path
}

#[test]
fn commits_are_whole_or_not_there() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    hg().ok(path, &["init"]);
    fill(path, "first");
    hg().ok(path, &["addremove", "-q"]);
    let mut ended = 0;
    for (round, after) in MOMENTS.iter().cycle().take(MOST_ROUNDS).enumerate() {
        if round >= MOMENTS.len() && ended > 0 {
            break;
        }
        fill(path, &format!("round {round}"));
        let before = tip(path);
        let name = if round % 2 == 0 { "INT" } else { "TERM" };
        let stopped = interrupt(path, &["commit", "-m", "all", "-d", "0 0"], name, *after);
        ended += usize::from(stopped);
        no_lock_is_left(path, "commit");
        let changed = hg().ok(path, &["status", "-mard", "-n"]).lines().count();
        let committed = tip(path) != before;
        assert_eq!(
            changed,
            if committed { 0 } else { FILES },
            "after {after} ms"
        );
        assert!(committed || stopped, "after {after} ms");
    }
    assert!(ended > 0, "no signal came in time");
    hg().ok(path, &["verify", "-q"]);
}

#[test]
fn updates_and_clones_stop_without_a_lock() {
    let directory = tempfile::tempdir().unwrap();
    let path = &repository_in(directory.path());
    let mut ended = 0;
    for (round, after) in MOMENTS.iter().cycle().take(MOST_ROUNDS).enumerate() {
        if round >= MOMENTS.len() && ended > 0 {
            break;
        }
        hg().ok(path, &["update", "-q", "-C", "null"]);
        ended += usize::from(interrupt(path, &["update", "0"], "INT", *after));
        no_lock_is_left(path, "update");
        // The half-done update can be looked at, and a second one completes it.
        hg().ok(path, &["status"]);
        hg().ok(path, &["update", "-q", "-C", "0"]);
        assert_eq!(hg().ok(path, &["status", "-mard"]), "");

        let clone = directory.path().join(format!("clone{round}"));
        let target = clone.to_str().unwrap();
        interrupt(
            directory.path(),
            &["clone", "--pull", "-q", "repository", target],
            "INT",
            *after,
        );
        no_lock_is_left(path, "clone");
        if clone.join(".hg").exists() {
            no_lock_is_left(&clone, "clone");
            hg().ok(&clone, &["verify", "-q"]);
        }
    }
    assert!(ended > 0, "no signal came in time");
    hg().ok(path, &["verify", "-q"]);
}

/// How long a command may take to end after its second signal.
const DEADLINE: Duration = Duration::from_secs(60);

/// Runs a command and sends it two signals; gives its exit code.
fn interrupt_twice(directory: &Path, arguments: &[&str], after: u64, between: u64) -> Option<i32> {
    let mut child = program(directory)
        .args(arguments)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(after));
    signal(child.id(), "INT");
    std::thread::sleep(Duration::from_millis(between));
    signal(child.id(), "INT");
    let until = Instant::now() + DEADLINE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if Instant::now() > until {
            child.kill().unwrap();
            panic!("{arguments:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_clone_that_is_interrupted_twice_is_whole_or_gone() {
    let directory = tempfile::tempdir().unwrap();
    let path = &repository_in(directory.path());
    let clones = [
        &["clone", "-q", "--pull", "-U", "repository", "clone"][..],
        &["clone", "-q", "-U", "repository", "clone"],
    ];
    let mut ended = 0;
    for (round, after) in MOMENTS.iter().cycle().take(MOST_ROUNDS).enumerate() {
        if round >= MOMENTS.len() && ended > 0 {
            break;
        }
        for (arguments, between) in clones.iter().zip([0, 3]) {
            let what = format!("{arguments:?} after {after} ms");
            let code = interrupt_twice(directory.path(), arguments, *after, between);
            let clone = directory.path().join("clone");
            if code == Some(0) {
                hg().ok(&clone, &["verify", "-q"]);
                std::fs::remove_dir_all(&clone).unwrap();
                continue;
            }
            assert!(matches!(code, Some(255) | None), "{what}: {code:?}");
            assert!(!clone.exists(), "{what} leaves something");
            ended += 1;
        }
        // The lock of a process that is gone is broken by the next one.
        hg().ok(path, &["verify", "-q"]);
    }
    assert!(ended > 0, "no signal came in time");
}

#[test]
fn a_pull_that_is_interrupted_twice_can_be_recovered() {
    let directory = tempfile::tempdir().unwrap();
    repository_in(directory.path());
    for (round, after) in MOMENTS.iter().enumerate() {
        let target = directory.path().join(format!("target{round}"));
        std::fs::create_dir(&target).unwrap();
        hg().ok(&target, &["init"]);
        let between = round as u64 % 3;
        interrupt_twice(&target, &["pull", "-q", "../repository"], *after, between);
        if target.join(".hg/store/journal").exists() {
            let recovered = program(&target).arg("recover").output().unwrap();
            assert!(recovered.status.success(), "{recovered:?}");
        }
        // A lock of a process that is gone is broken by the next one.
        hg().ok(&target, &["verify", "-q"]);
        hg().ok(&target, &["pull", "-q", "../repository"]);
    }
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_output_quietly() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    hg().ok(path, &["init"]);
    fill(path, "first");
    commit(&hg(), path, "first");
    let codes: Vec<_> = [hg_program(), our_hg()]
        .iter()
        .map(|program| {
            let script = format!("{{ '{}' log -p; echo $? >&2; }} | true", program.display());
            let mut shell = Command::new("sh");
            shell
                .args(["-c", &script])
                .current_dir(path)
                .env("HGRCPATH", "");
            let said = shell.output().unwrap().stderr;
            String::from_utf8_lossy(&said).into_owned()
        })
        .collect();
    assert_eq!(codes, ["255\n", "255\n"]);
}
