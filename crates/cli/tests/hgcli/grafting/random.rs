//! Grafts and backouts in histories as chance has them.

use super::same_merge;
use crate::hgcli::Twin;
use crate::hgcli::merging::random::Random;
use std::path::Path;
use varve_testkit::peers::hg;
use varve_testkit::repos::write;

const FILES: &[&str] = &["a", "b", "d/a", "d/b"];
const NEW: &[&str] = &["n", "m", "d/n", "e/a", "e/b"];
const LINES: &[&str] = &["p\n", "q\n", "r\n", "s\n"];

fn one<'t>(random: &mut Random, of: &[&'t str]) -> &'t str {
    of[random.below(of.len())]
}

fn change(random: &mut Random, path: &Path) {
    let tracked = hg().ok(path, &["files"]);
    let tracked: Vec<&str> = tracked.lines().collect();
    let (file, new) = (one(random, &tracked), one(random, NEW));
    match random.below(8) {
        0..4 => {
            let text = std::fs::read_to_string(path.join(file)).unwrap();
            let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
            let place = random.below(lines.len() + 1);
            let gone = random.below(2).min(lines.len() - place);
            lines.splice(place..place + gone, [one(random, LINES)]);
            std::fs::write(path.join(file), lines.concat()).unwrap();
        }
        4 if tracked.len() > 2 => drop(hg().run(path, &["remove", "-f", file])),
        5 => drop(hg().run(path, &["copy", file, new])),
        6 if path.join(new).symlink_metadata().is_err() => {
            write(path, new, format!("new {new}\n").as_bytes());
            hg().run(path, &["add", new]);
        }
        _ => drop(hg().run(path, &["rename", file, new])),
    }
}

fn grafts_the_same(seed: u64) {
    let random = &mut Random(seed);
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        for file in FILES {
            let lines = (0..4 + random.below(4)).map(|_| one(random, LINES));
            write(path, file, lines.collect::<String>().as_bytes());
        }
        hg.ok(path, &["commit", "-q", "-A", "-d", "0 0", "-m", "0"]);
        for number in 1..7 {
            if random.below(3) == 0 {
                hg.ok(path, &["update", "-q", &random.below(number).to_string()]);
            }
            for _ in 0..1 + random.below(2) {
                change(random, path);
            }
            let number = number.to_string();
            let made = hg.run(path, &["commit", "-q", "-d", "0 0", "-m", &number]);
            if made.code != Some(0) {
                write(path, &format!("only in {number}"), b"\n");
                hg.ok(path, &["commit", "-q", "-A", "-d", "0 0", "-m", &number]);
            }
        }
    });
    let tool = one(random, &[":local", ":other", ":merge", ":union"]);
    for _ in 0..4 {
        let [from, to] = [(); 2].map(|()| random.below(7).to_string());
        let base = random.below(7).to_string();
        let line = match random.below(6) {
            0 => vec!["backout", &from, "-m", "backout", "-t", tool],
            1 => vec!["graft", &from, "--base", &base, "-t", tool],
            2 => vec!["graft", "-f", &from, "-t", tool],
            _ => vec!["graft", &from, &base, "-t", tool],
        };
        twin.same(&["update", "-q", "-C", &to]);
        twin.each(|path| drop(hg().run(path, &["--config", "extensions.purge=", "purge"])));
        twin.same(&line);
        same_merge(&twin);
    }
}

#[test]
fn grafts_end_with_the_same_hashes() {
    for seed in 0..16 {
        grafts_the_same(seed);
    }
}
