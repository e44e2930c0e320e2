//! Three texts into one: many at once, with every tool.

use crate::hgcli::Twin;
use crate::hgcli::merging::random::Random;
use std::path::Path;
use varve_testkit::repos::{commit, write};

/// Files of one update.
const FILES: usize = 150;

/// Some lines, of few different ones, ended in some way.
fn text(random: &mut Random) -> Vec<Vec<u8>> {
    let end: &[u8] = if random.below(8) == 0 { b"\r\n" } else { b"\n" };
    let line = |random: &mut Random| [&[b'a' + random.below(7) as u8][..], end].concat();
    (0..random.below(14)).map(|_| line(random)).collect()
}

/// The same with some lines changed, removed and added.
fn edited(random: &mut Random, lines: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut lines = lines.to_vec();
    for _ in 0..random.below(4) {
        let at = random.below(lines.len() + 1);
        let gone = random.below(3).min(lines.len() - at);
        let new = (0..random.below(3)).map(|_| vec![b'a' + random.below(9) as u8, b'\n']);
        let new: Vec<Vec<u8>> = new.collect();
        lines.splice(at..at + gone, new);
    }
    if random.below(6) == 0
        && let Some(last) = lines.last_mut()
    {
        last.pop();
    }
    lines
}

fn name(number: usize) -> String {
    format!("d{}/f{number}", number % 7)
}

fn three(seed: u64) -> Vec<[Vec<u8>; 3]> {
    let mut random = Random(seed);
    let one = |_| {
        let base = text(&mut random);
        let (ours, theirs) = (edited(&mut random, &base), edited(&mut random, &base));
        [base, ours, theirs].map(|lines| lines.concat())
    };
    (0..FILES).map(one).collect()
}

fn merges_the_same(seed: u64, tool: &str) {
    let texts = three(seed);
    let fill = |path: &Path, side: usize| {
        for (number, text) in texts.iter().enumerate() {
            write(path, &name(number), &text[side]);
        }
    };
    let twin = Twin::writing_with(|hg, path| {
        hg.ok(path, &["init"]);
        fill(path, 0);
        commit(hg, path, "base");
        fill(path, 2);
        write(path, "other", b"other");
        commit(hg, path, "theirs");
        hg.ok(path, &["update", "0"]);
    });
    twin.each(|path| fill(path, 1));
    twin.same(&["update", "--tool", tool, "1"]);
    for (number, three) in texts.iter().enumerate() {
        for suffix in ["", ".orig", ".base", ".local", ".other"] {
            let read = |path: &Path| std::fs::read(path.join(name(number) + suffix)).ok();
            let (theirs, ours) = (read(twin.theirs()), read(twin.ours()));
            let shown = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
            assert!(
                theirs == ours,
                "{tool} {suffix}\n--- texts\n{}\n--- theirs\n{}\n--- ours\n{}",
                three.each_ref().map(|text| shown(text)).join("\n---\n"),
                shown(&theirs.unwrap_or_default()),
                shown(&ours.unwrap_or_default()),
            );
        }
    }
    super::random::same_state_of_merge(&twin);
}

#[test]
fn texts_are_merged_the_same_with_every_tool() {
    for (seed, tool) in [
        ":merge",
        ":merge",
        "internal:merge3",
        ":union",
        ":union-other-first",
        ":merge-local",
        ":merge-other",
        ":local",
        ":other",
        ":fail",
        ":dump",
        ":forcedump",
    ]
    .into_iter()
    .enumerate()
    {
        merges_the_same(seed as u64, tool);
    }
}
