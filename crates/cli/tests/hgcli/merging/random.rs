//! Repositories, local changes and updates as chance has it.

use crate::hgcli::Twin;
use crate::hgcli::state::same_state_and;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use varve_testkit::peers::hg;
use varve_testkit::repos::write;

/// Numbers that are the same in every run.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as usize % end.max(1)
    }

    fn one<'t, T: ?Sized>(&mut self, of: &[&'t T]) -> &'t T {
        of[self.below(of.len())]
    }
}

/// Compares both merges as stock Mercurial reads them.
#[track_caller]
pub fn same_state_of_merge(twin: &Twin) {
    same_state_and(twin, &[&["debugmergestate"], &["resolve", "--list"]]);
}

const FILES: &[&str] = &["a", "b", "c", "d/a", "d/b", "e/c", "f"];
const NEW: &[&str] = &["n1", "n2", "a", "c", "d/n", "g/h"];

fn change(random: &mut Random, path: &Path) {
    let tracked = hg().ok(path, &["files"]);
    let tracked: Vec<&str> = tracked
        .lines()
        .filter(|file| path.join(file).is_file())
        .collect();
    let (file, new) = (random.one(&tracked), random.one(NEW));
    let at = path.join(file);
    match random.below(10) {
        0..4 => {
            let text = std::fs::read_to_string(&at).unwrap();
            let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
            let place = random.below(lines.len() + 1);
            let gone = random.below(2).min(lines.len() - place);
            lines.splice(place..place + gone, [random.one(&["x\n", "y\n", "z\n"])]);
            std::fs::write(&at, lines.concat()).unwrap();
        }
        4 => drop(hg().run(path, &["remove", "-f", file])),
        5 => {
            let mode = at.metadata().unwrap().permissions().mode() ^ 0o111;
            std::fs::set_permissions(&at, PermissionsExt::from_mode(mode)).unwrap();
        }
        6 => drop(hg().run(path, &["copy", file, new])),
        7 if path.join(new).symlink_metadata().is_err() => {
            write(path, new, b"new\nfile\n");
            hg().run(path, &["add", new]);
        }
        _ => drop(hg().run(path, &["rename", file, new])),
    }
}

fn updates_the_same(seed: u64) {
    let random = &mut Random(seed);
    let twin = Twin::writing_with(|hg, path| {
        hg.ok(path, &["init"]);
        for file in FILES {
            let lines = (0..3 + random.below(6)).map(|_| random.one(&["p\n", "q\n", "r\n", "s\n"]));
            write(path, file, lines.collect::<String>().as_bytes());
        }
        hg.ok(path, &["commit", "-q", "-A", "-d", "0 0", "-m", "0"]);
        for number in ["1", "2", "3"] {
            if number == "3" {
                hg.ok(path, &["update", "-q", "0"]);
            }
            for _ in 0..1 + random.below(3) {
                change(random, path);
            }
            hg.run(path, &["commit", "-q", "-d", "0 0", "-m", number]);
        }
        let from = ["0", "1", "2"][random.below(3)];
        hg.run(path, &["update", "-q", "-C", from]);
        for _ in 0..1 + random.below(4) {
            change(random, path);
        }
        if random.below(4) == 0 {
            let _ = std::fs::remove_file(path.join(random.one(FILES)));
        }
    });
    let option = random.one::<[&str]>(&[
        &[],
        &["-m"],
        &["-m"],
        &["-c"],
        &["-v", "-m"],
        &["-t", ":other"],
        &["--config", "commands.update.check=noconflict"],
        &["--config", "commands.update.check=none"],
    ]);
    let target = random.one(&["0", "1", "2", "tip", "null"]);
    twin.same(&[&["update"], option, &[target]].concat());
    same_state_of_merge(&twin);
}

#[test]
fn updates_with_local_changes_are_the_same() {
    for seed in 0..12 {
        updates_the_same(seed);
    }
}
