//! Commands that rewrite history, killed at many moments: either program then recovers, both find the repository whole,
//! and no change is lost.

use super::our_hg;
use crate::killing::{is_caught, kill, looks, start_with_input};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use varve_testkit::peers::{Hg, Outcome, hg};
use varve_testkit::repos::write;

/// Moments at which each command is killed, spread over its work.
const USUAL: u32 = 3;
/// Changes how many there are.
const COUNT: &str = "VARVE_KILLS";

const SETTINGS: &str = "[extensions]\nrebase =\nhistedit =\nuncommit =\namend =\nsplit =\nabsorb =\nfix =\n[fix]\nletters:command = tr 0-9 a-j\nletters:pattern = glob:f?-0\n[ui]\ninteractive = yes\neditor = true\n";
const ANSWERS: &str = ".hg/answers";
const MARKERS: &str = "[experimental]\nevolution = createmarkers, allowunstable\n";

/// A command that is killed.
struct Victim {
    line: &'static [&'static str],
    /// The file that tells that it waits for the user, and what gives it up.
    unfinished: Option<(&'static str, &'static [&'static str])>,
}

const VICTIMS: &[Victim] = &[
    Victim {
        line: &["rebase", "-s", "2", "-d", "4"],
        unfinished: Some((".hg/rebasestate", &["rebase", "--abort"])),
    },
    Victim {
        line: &["graft", "2", "3"],
        unfinished: Some((".hg/graftstate", &["graft", "--abort"])),
    },
    Victim {
        line: &["histedit", "--commands", "plan", "2"],
        unfinished: Some((".hg/histedit-state", &["histedit", "--abort"])),
    },
    Victim {
        line: &["amend", "-m", "amended"],
        unfinished: None,
    },
    Victim {
        line: &["uncommit"],
        unfinished: None,
    },
    Victim {
        line: &["absorb", "-a"],
        unfinished: None,
    },
    Victim {
        line: &["fix", "-s", "1"],
        unfinished: None,
    },
    Victim {
        line: &["branch", "-r", "2::", "other"],
        unfinished: None,
    },
    Victim {
        line: &["copy", "-A", "--at-rev", "3", "f0-0", "f3-0"],
        unfinished: None,
    },
    Victim {
        line: &["split", "2"],
        unfinished: Some((".hg/rebasestate", &["rebase", "--abort"])),
    },
];

impl Victim {
    fn is(&self, name: &str) -> bool {
        self.line[0] == name
    }

    /// True of commands that write the dirstate within the transaction that makes the old changeset obsolete.
    fn replaces_parent(&self) -> bool {
        self.keeps_files() || self.is("fix")
    }

    /// True of commands that replace the parent of the working copy and leave all files alone.
    fn keeps_files(&self) -> bool {
        ["amend", "uncommit", "absorb", "branch", "copy"].contains(&self.line[0])
    }
}

/// Changesets 0 to 3 in a line, with a file each, and 4 beside them, which graft starts from.
fn history(path: &Path, settings: &str, victim: &Victim) {
    let hg = hg();
    hg.ok(path, &["init"]);
    write(path, ".hg/hgrc", [SETTINGS, settings].concat().as_bytes());
    write(path, ".hgignore", b"^plan\n");
    for number in 0..5 {
        if number == 4 {
            hg.ok(path, &["update", "-q", "1"]);
        }
        commit(&hg, path, number);
    }
    match victim.line[0] {
        "graft" => {}
        "histedit" => {
            hg.ok(path, &["update", "-q", "3"]);
            let template = "pick {node|short}\n";
            let plan = hg.ok(path, &["log", "-r", "3+2", "-T", template]);
            write(path, "plan", plan.as_bytes());
        }
        _ => drop(hg.ok(path, &["update", "-q", "3"])),
    }
    if victim.is("amend") {
        write(path, "f0", b"local\n");
    }
    if victim.is("absorb") {
        for number in [2, 3] {
            write(path, &corrected(number), correction(number).as_bytes());
        }
    }
    if victim.is("split") {
        write(path, ANSWERS, b"y\ny\nd\ny\ny\nd\na\n");
    }
}

/// Starts the command, which finds the answers to its questions in a file if there is one.
fn start(path: &Path, victim: &Victim) -> Child {
    let answers = std::fs::File::open(path.join(ANSWERS));
    let input = answers.map_or_else(|_| Stdio::null(), Stdio::from);
    start_with_input(&our_hg(), path, victim.line, input)
}

/// The file of a changeset that `absorb` is to correct.
fn corrected(number: usize) -> String {
    format!("f{number}-0")
}

fn correction(number: usize) -> String {
    format!("corrected\n{}", format!("{number} 0\n").repeat(49))
}

fn commit(hg: &Hg, path: &Path, number: usize) {
    for part in 0..8 {
        let text = format!("{number} {part}\n").repeat(50);
        write(path, &format!("f{number}-{part}"), text.as_bytes());
    }
    write(
        path,
        &format!("f{number}"),
        format!("{number}\n").as_bytes(),
    );
    let (description, date) = (format!("change {number}"), format!("{number} 0"));
    hg.ok(
        path,
        &["commit", "-q", "-A", "-d", &date, "-m", &description],
    );
}

fn run(program: &Path, directory: &Path, arguments: &[&str]) -> Outcome {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory);
    command.env("HGRCPATH", "").env("HGPLAIN", "1");
    command.env("HGUSER", "ada").env("LC_ALL", "C.UTF-8");
    varve_testkit::peers::run(&mut command)
}

#[track_caller]
fn succeeds(program: &Path, directory: &Path, arguments: &[&str]) -> String {
    let outcome = run(program, directory, arguments);
    assert_eq!(
        outcome.code,
        Some(0),
        "{program:?} {arguments:?}: {outcome:?}"
    );
    outcome.stdout
}

/// One program ends what is unfinished; nothing is lost then.
fn recover(program: &Path, path: &Path, victim: &Victim) {
    // With nothing to recover it fails, which is fine.
    run(program, path, &["recover"]);
    let exists = |name: &str| path.join(name).exists();
    if let Some((state, abort)) = victim.unfinished
        && exists(state)
    {
        succeeds(program, path, abort);
    }
    // Neither program's `--abort` redoes an update to where the working copy is already.
    if exists(".hg/updatestate") {
        succeeds(program, path, &["update", "-q", "-C", "."]);
    }
    for each in [&our_hg(), &varve_testkit::peers::hg_program()] {
        succeeds(each, path, &["verify", "-q"]);
    }
    if victim.replaces_parent() {
        let hidden = succeeds(program, path, &["log", "-r", ". and obsolete()"]);
        assert_eq!(hidden, "", "the working copy is at an obsolete changeset");
    }
    let shown = "not obsolete() or .";
    let template = ["log", "-r", shown, "-T", "{files % '{file}\n'}"];
    let mut known: BTreeSet<String> = succeeds(program, path, &template)
        .lines()
        .map(str::to_owned)
        .collect();
    let local = succeeds(program, path, &["status", "-m", "-a", "-n"]);
    known.extend(local.lines().map(str::to_owned));
    for number in 0..5 {
        for file in std::iter::once(format!("f{number}"))
            .chain((0..8).map(|part| format!("f{number}-{part}")))
        {
            assert!(known.contains(&file), "{file} is lost: {known:?}");
        }
    }
    // These never touch the working copy.
    if victim.keeps_files() {
        let text = if victim.is("amend") { "local\n" } else { "0\n" };
        assert_eq!(std::fs::read_to_string(path.join("f0")).unwrap(), text);
        assert_eq!(std::fs::read_to_string(path.join("f3")).unwrap(), "3\n");
    }
    if victim.is("absorb") {
        for number in [2, 3] {
            let text = std::fs::read_to_string(path.join(corrected(number)));
            assert_eq!(text.unwrap(), correction(number));
        }
    }
    if victim.is("fix") {
        for number in 1..4 {
            let text = std::fs::read_to_string(path.join(format!("f{number}-0"))).unwrap();
            let (before, after) = (number.to_string(), "abcd"[number..][..1].to_owned());
            let lines = [format!("{before} 0\n"), format!("{after} a\n")];
            assert!(lines.iter().any(|line| text == line.repeat(50)), "{text}");
        }
    }
    // The repository takes new changesets.
    write(path, "afterwards", b"afterwards\n");
    succeeds(program, path, &["commit", "-q", "-A", "-m", "afterwards"]);
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(copied.unwrap().success());
}

fn killed_at_many_moments(victim: &Victim) {
    let moments = std::env::var(COUNT)
        .ok()
        .and_then(|count| count.parse().ok());
    let moments: u32 = moments.unwrap_or(USUAL);
    let mut killed = 0;
    for settings in [MARKERS, ""] {
        let directory = tempfile::tempdir().unwrap();
        let whole = directory.path().join("whole");
        std::fs::create_dir(&whole).unwrap();
        history(&whole, settings, victim);
        let is_locked = |path: &Path| path.join(".hg/wlock").symlink_metadata().is_ok();
        let undisturbed = directory.path().join("undisturbed");
        copy(&whole, &undisturbed);
        let mut worker = start(&undisturbed, victim);
        let all = looks(&mut worker, || is_locked(&undisturbed));
        assert!(worker.wait().unwrap().success(), "{:?}", victim.line);
        for moment in 0..moments {
            let path = directory.path().join(format!("killed{moment}"));
            copy(&whole, &path);
            let mut worker = start(&path, victim);
            is_caught(&mut worker, || is_locked(&path), all * moment / moments);
            killed += u32::from(kill(worker));
            let programs = [our_hg(), varve_testkit::peers::hg_program()];
            println!("{:?} at {moment}", victim.line);
            recover(&programs[moment as usize % 2], &path, victim);
            std::fs::remove_dir_all(&path).unwrap();
        }
    }
    assert!(killed > 0, "nothing was killed");
}

fn victim(name: &str) -> &'static Victim {
    VICTIMS.iter().find(|victim| victim.is(name)).unwrap()
}

#[test]
fn a_killed_rebase_loses_nothing() {
    killed_at_many_moments(victim("rebase"));
}

#[test]
fn a_killed_graft_loses_nothing() {
    killed_at_many_moments(victim("graft"));
}

#[test]
fn a_killed_histedit_loses_nothing() {
    killed_at_many_moments(victim("histedit"));
}

#[test]
fn a_killed_amend_loses_nothing() {
    killed_at_many_moments(victim("amend"));
}

#[test]
fn a_killed_split_loses_nothing() {
    killed_at_many_moments(victim("split"));
}

#[test]
fn a_killed_uncommit_loses_nothing() {
    killed_at_many_moments(victim("uncommit"));
}

#[test]
fn a_killed_absorb_loses_nothing() {
    killed_at_many_moments(victim("absorb"));
}

#[test]
fn a_killed_fix_loses_nothing() {
    killed_at_many_moments(victim("fix"));
}

#[test]
fn a_killed_change_of_branch_loses_nothing() {
    killed_at_many_moments(victim("branch"));
}

#[test]
fn a_killed_record_of_a_copy_loses_nothing() {
    killed_at_many_moments(victim("copy"));
}
