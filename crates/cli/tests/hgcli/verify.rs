//! `verify` and `recover`: the same words about the same damage.

use super::Twin;
use std::path::Path;
use std::process::Command;
use varve_testkit::peers::Hg;
use varve_testkit::repos::{self, noise};

/// Six changesets with inline files, a copy, and one split file.
fn history(hg: &Hg, path: &Path) {
    std::fs::create_dir_all(path).unwrap();
    hg.ok(path, &["init"]);
    let mut lines = String::new();
    for round in 1..=5_u32 {
        lines += &format!("line {round}\n");
        let text: String = (0..60)
            .map(|n| format!("text {round} {n} {:?}\n", noise(6, round * 100 + n)))
            .collect();
        repos::write(path, "a", lines.as_bytes());
        repos::write(path, "b", text.as_bytes());
        repos::write(path, "D/c", round.to_string().as_bytes());
        if round == 3 {
            hg.ok(path, &["copy", "a", "copied"]);
        }
        repos::commit(hg, path, &format!("c {round}"));
    }
    repos::write(path, "big", &noise(200_000, 5));
    repos::commit(hg, path, "big");
}

/// Damage to a file of the store.
enum Damage {
    Remove,
    /// To so many bytes, or by so many.
    Cut(i64),
    Flip(usize),
    Append(&'static str),
    Replace(&'static str, &'static str),
    /// Four bytes of the entry of a revision, from a place in it.
    Field(usize, usize, i32),
}
use Damage::{Append, Cut, Field, Flip, Remove, Replace};

/// Places of fields in an entry.
const LINK: usize = 20;
const P1: usize = 24;

fn damage(store: &Path, name: &str, how: &Damage) {
    let path = store.join(name);
    let mut bytes = std::fs::read(&path).unwrap();
    match how {
        Remove => return std::fs::remove_file(path).unwrap(),
        Cut(len) if *len < 0 => bytes.truncate(bytes.len() - len.unsigned_abs() as usize),
        Cut(len) => bytes.truncate(*len as usize),
        Flip(at) => bytes[*at] ^= 0xff,
        Append(text) => bytes.extend_from_slice(text.as_bytes()),
        Replace(old, new) => {
            let text = String::from_utf8(bytes).unwrap();
            assert!(text.contains(old));
            bytes = text.replace(old, new).into_bytes();
        }
        Field(rev, at, value) => {
            let inline = bytes[1] & 1 == 1;
            let mut start = 0;
            for _ in 0..*rev {
                let len = &bytes[start + 8..start + 12];
                let len = u32::from_be_bytes(len.try_into().unwrap()) as usize;
                start += 64 + if inline { len } else { 0 };
            }
            bytes[start + at..start + at + 4].copy_from_slice(&value.to_be_bytes());
        }
    }
    std::fs::write(path, bytes).unwrap();
}

const DAMAGES: &[(&str, Damage)] = &[
    ("data/b.i", Cut(-10)),
    ("data/b.i", Cut(700)),
    ("data/b.i", Cut(0)),
    ("data/b.i", Flip(100)),
    ("data/b.i", Flip(40)),
    ("data/b.i", Flip(3)),
    ("data/b.i", Flip(1)),
    ("data/b.i", Remove),
    ("data/b.i", Append("xx")),
    ("data/b.i", Field(2, LINK, 4)),
    ("data/b.i", Field(2, LINK, -1)),
    ("data/b.i", Field(2, LINK, 250)),
    ("data/b.i", Field(3, P1, 1)),
    ("data/a.i", Remove),
    ("data/big.d", Remove),
    ("data/big.d", Cut(100)),
    ("data/big.d", Append("xx")),
    ("data/big.d", Flip(3000)),
    ("data/big.i", Field(0, LINK, 2)),
    ("data/big.i", Flip(6)),
    ("data/big.i", Flip(7)),
    ("data/big.i", Field(0, 12, 200_127)),
    ("00manifest.i", Remove),
    ("00manifest.i", Cut(-10)),
    ("00manifest.i", Flip(100)),
    ("00manifest.i", Field(2, LINK, 4)),
    ("00manifest.i", Field(2, LINK, 77)),
    ("00manifest.i", Field(2, 32, 0x1111_1111)),
    ("00changelog.d", Flip(3)),
    ("00changelog.d", Cut(300)),
    ("00changelog.d", Remove),
    ("00changelog.i", Cut(320)),
    ("00changelog.i", Cut(330)),
    ("00changelog.i", Remove),
    ("00changelog.i", Field(3, LINK, 4)),
    ("00changelog.i", Field(3, 32, 0x1111_1111)),
    ("00changelog.i", Field(3, P1, 0)),
    ("fncache", Append("data/zzz.i\n")),
    ("fncache", Replace("data/b.i\n", "")),
    ("fncache", Replace("data/big.d\n", "")),
    ("fncache", Remove),
    ("fncache", Cut(-1)),
];

#[test]
fn every_damage_is_told_in_the_same_words() {
    let twin = Twin::writing(history);
    twin.all_same(&["verify", "verify -v", "verify -q", "verify --full"]);
    twin.same_but_output(&["verify", "x"]);
    let copy = |from: &Path, to: &Path| {
        let copied = Command::new("cp").arg("-a").args([from, to]).status();
        assert!(copied.unwrap().success());
    };
    twin.each(|root| copy(&root.join(".hg"), &root.join("kept")));
    for (name, how) in DAMAGES {
        twin.each(|root| damage(&root.join(".hg/store"), name, how));
        twin.same(&["verify"]);
        twin.each(|root| {
            std::fs::remove_dir_all(root.join(".hg")).unwrap();
            copy(&root.join("kept"), &root.join(".hg"));
        });
    }
}

#[test]
fn wrong_dirstates_are_told_in_the_same_words() {
    let twin = Twin::writing(history);
    // The first parent becomes unknown: none of the files is in its manifest.
    twin.each(|root| {
        let mut bytes = std::fs::read(root.join(".hg/dirstate")).unwrap();
        bytes.truncate(40);
        bytes[2] ^= 0xff;
        bytes.extend_from_slice(&[b'n', 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 1]);
        bytes.extend_from_slice(b"a");
        std::fs::write(root.join(".hg/dirstate"), bytes).unwrap();
    });
    twin.same(&["verify"]);
}

#[test]
fn an_interrupted_transaction_of_hg_is_undone() {
    let twin = Twin::writing(history);
    twin.all_same(&["recover", "recover --verify"]);
    twin.each(|root| {
        // Everything is written when the hook kills its parent; `b` was split on the way.
        repos::write(root, "b", &noise(140_000, 9));
        repos::write(root, "new", b"new\n");
        let hg = varve_testkit::peers::hg();
        let killed = hg.run(
            root,
            &[
                "commit",
                "-A",
                "-m",
                "killed",
                "--config",
                "hooks.pretxnclose=kill -9 $PPID",
            ],
        );
        assert_eq!(killed.code, None, "{killed}");
    });
    twin.all_same(&["verify", "recover", "verify", "recover"]);
    for name in ["00changelog.i", "00manifest.i", "data/b.i", "fncache"] {
        let read = |root: &Path| std::fs::read(root.join(".hg/store").join(name)).unwrap();
        assert_eq!(read(twin.theirs()), read(twin.ours()), "{name}");
    }
    assert!(!twin.ours().join(".hg/store/data/new.i").exists());
}

#[test]
fn a_lock_is_waited_for_and_named() {
    let twin = Twin::writing(history);
    twin.each(|root| {
        let lock = root.join(".hg/store/lock");
        std::os::unix::fs::symlink("elsewhere/1f:77", lock).unwrap();
    });
    twin.all_same(&[
        "verify --config ui.timeout=0",
        "verify --config ui.timeout=1",
        "verify --config ui.timeout=1 --config ui.timeout.warn=5",
        "verify --config ui.timeout=soon",
    ]);
}
