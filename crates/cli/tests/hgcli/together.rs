//! Both programs at work on one repository, in turns, at once, and killed.

use super::our_hg;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use varve_testkit::peers::{hg, hg_program};
use varve_testkit::repos;

const ROUNDS: usize = 6;

fn command(program: &Path, directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory).env_clear();
    command
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", directory.parent().unwrap())
        .env("HGRCPATH", "")
        .env("HGPLAIN", "1")
        .env("HGUSER", "Ada Lovelace <ada@example.org>")
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

/// A repository with the files `a` and `b`.
fn repository() -> (tempfile::TempDir, std::path::PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("both");
    std::fs::create_dir(&path).unwrap();
    hg().ok(&path, &["init"]);
    for name in ["a", "b"] {
        repos::write(&path, name, b"begin\n");
    }
    repos::commit(&hg(), &path, "Begin");
    (directory, path)
}

fn commit_often(program: &Path, directory: &Path, file: &str) {
    for round in 0..ROUNDS {
        repos::write(directory, file, format!("{file} {round}\n").as_bytes());
        let message = format!("{file} {round}");
        let ran = command(program, directory, &["commit", "-m", &message, file]).output();
        let ran = ran.unwrap();
        assert!(ran.status.success(), "{message}: {ran:?}");
    }
}

fn verified(directory: &Path) -> usize {
    for program in [hg_program(), our_hg()] {
        let ran = command(&program, directory, &["verify"]).output().unwrap();
        assert!(ran.status.success() && ran.stderr.is_empty(), "{ran:?}");
    }
    hg().ok(directory, &["log", "-T", "x"]).len()
}

#[test]
fn both_commit_read_and_are_pulled_from_at_once() {
    let (keep, path) = repository();
    let other = keep.path().join("other");
    hg().ok(&path, &["clone", "-U", ".", other.to_str().unwrap()]);
    std::thread::scope(|scope| {
        scope.spawn(|| commit_often(&hg_program(), &path, "a"));
        scope.spawn(|| commit_often(&our_hg(), &path, "b"));
        scope.spawn(|| {
            for _ in 0..ROUNDS {
                for program in [hg_program(), our_hg()] {
                    let log = command(&program, &path, &["log", "-l", "2"]).output();
                    let log = log.unwrap();
                    assert!(log.status.success(), "{}: {log:?}", program.display());
                }
                hg().ok(&other, &["pull", path.to_str().unwrap()]);
            }
        });
    });
    assert_eq!(verified(&path), 1 + 2 * ROUNDS);
    assert_eq!(hg().ok(&path, &["status"]), "");
    hg().ok(&other, &["pull"]);
    assert_eq!(verified(&other), 1 + 2 * ROUNDS);
}

#[test]
fn what_a_kill_leaves_is_brought_back_by_either() {
    let (_keep, path) = repository();
    let mut known = 1;
    for round in 0..24_u32 {
        let noise = repos::noise(40_000, round + 1);
        repos::write(&path, &format!("new {round}"), &noise);
        let message = format!("round {round}");
        let mut child = command(&our_hg(), &path, &["commit", "-A", "-m", &message]);
        let mut child = child.spawn().unwrap();
        std::thread::sleep(Duration::from_micros(u64::from(round) * 700));
        let _ = child.kill();
        child.wait().unwrap();
        if path.join(".hg/store/journal").exists() {
            let program = if round % 2 == 0 {
                hg_program()
            } else {
                our_hg()
            };
            let ran = command(&program, &path, &["recover"]).output().unwrap();
            assert!(ran.status.success(), "{ran:?}");
        }
        if round % 6 == 5 {
            let count = verified(&path);
            assert!(count >= known, "{count} changesets of {known}");
            known = count;
        }
    }
    // Also if the last round got through before it was killed.
    repos::write(&path, "last", b"last\n");
    repos::commit(&hg(), &path, "All that is left");
    verified(&path);
}
