//! Random changes, exported and imported by either program.

use super::super::our_hg;
use super::make;
use crate::hgcli::merging::random::Random;
use std::path::Path;
use std::process::Command;
use varve_testkit::peers::{self, hg, hg_program};
use varve_testkit::repos;

const NAMES: &[&str] = &[
    "f",
    "g",
    "d/s",
    "crlf",
    "nonl",
    "bin",
    "exe",
    "new",
    "d/e/new",
    "with space",
];
const TEXTS: &[&str] = &["", "a\n", "b\r\n", "c", "\n", "line 7\n"];

/// Makes a change where it makes sense.
fn change(random: &mut Random, root: &Path) {
    let name = NAMES[random.below(NAMES.len())];
    let other = NAMES[random.below(NAMES.len())];
    let there = root.join(name);
    // What cannot be done is not: the target of a rename may be there, for instance.
    match random.below(10) {
        0..5 => {
            let before = std::fs::read(&there).unwrap_or_default();
            let mut lines: Vec<&[u8]> = before.split_inclusive(|byte| *byte == b'\n').collect();
            let at = random.below(lines.len() + 1);
            let gone = random.below(3).min(lines.len() - at);
            lines.splice(at..at + gone, [TEXTS[random.below(TEXTS.len())].as_bytes()]);
            let text = lines.concat();
            repos::write(root, name, if text.is_empty() { b"x" } else { &text });
        }
        5 => {
            let bytes: Vec<u8> = (0..=random.below(80))
                .map(|_| random.below(256) as u8)
                .collect();
            repos::write(root, name, &[&b"\0"[..], &bytes].concat());
        }
        6 => run(&hg_program(), root, &["mv", name, other]),
        7 => run(&hg_program(), root, &["cp", name, other]),
        8 => run(&hg_program(), root, &["rm", "-f", name]),
        _ => {
            let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            let _ = std::fs::set_permissions(there, executable);
        }
    }
}

fn command(program: &Path, root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root).env_clear();
    command
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HGRCPATH", "")
        .env("HGPLAIN", "1")
        .env("HGUSER", "Ada")
        .env("LC_ALL", "C.UTF-8");
    command
}

fn run(program: &Path, root: &Path, arguments: &[&str]) {
    peers::run(&mut command(program, root, arguments));
}

fn said(program: &Path, root: &Path, arguments: &[&str]) -> String {
    peers::run(&mut command(program, root, arguments)).success()
}

/// Makes changesets on the first one, none of them without differences.
fn make_series(random: &mut Random, root: &Path) {
    make(&hg(), root);
    for step in 0..=random.below(3) {
        for _ in 0..=random.below(4) {
            change(random, root);
        }
        run(&hg_program(), root, &["addremove", "-q", "-s", "0"]);
        if !said(&hg_program(), root, &["diff", "--git"]).is_empty() {
            run(
                &hg_program(),
                root,
                &["commit", "-m", &format!("step {step}"), "-d", "5 0"],
            );
        }
    }
}

#[test]
fn exported_changes_come_back() {
    for seed in 0..6 {
        let mut random = Random(seed);
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("source");
        make_series(&mut random, &root);
        let node = said(&hg_program(), &root, &["log", "-r", "tip", "-T", "{node}"]);
        if said(&hg_program(), &root, &["log", "-r", "tip", "-T", "{rev}"]) == "0" {
            continue;
        }
        let exporters = [hg_program(), our_hg()];
        let exported =
            exporters.map(|exporter| said(&exporter, &root, &["export", "--git", "-r", "1:"]));
        assert_eq!(exported[0], exported[1], "seed {seed}");
        said(
            &hg_program(),
            &root,
            &["export", "--git", "-r", "1:", "-o", "../series"],
        );
        for importer in [hg_program(), our_hg()] {
            for way in [&["--exact"][..], &["--exact", "--bypass"]] {
                let target = directory.path().join("target");
                said(
                    &hg_program(),
                    directory.path(),
                    &["clone", "-q", "-r", "0", "source", "target"],
                );
                let arguments = [&["import", "-q", "../series"][..], way].concat();
                said(&importer, &target, &arguments);
                let imported = said(
                    &hg_program(),
                    &target,
                    &["log", "-r", "tip", "-T", "{node}"],
                );
                assert_eq!(imported, node, "seed {seed}");
                assert_eq!(said(&hg_program(), &target, &["status"]), "", "seed {seed}");
                std::fs::remove_dir_all(&target).unwrap();
            }
        }
    }
}
