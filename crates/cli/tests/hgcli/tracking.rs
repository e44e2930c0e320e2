//! Commands that change which files are tracked, beside the real ones: their output, and the
//! working copies as the real program then sees them.

use super::Twin;
use std::fs;
use std::path::Path;
use varve_testkit::peers::{Hg, hg};

/// A committed working copy with files that are not tracked, a link and another repository.
fn plain(hg: &Hg, root: &Path) {
    hg.ok(root, &["init", "."]);
    fs::create_dir_all(root.join("d/e")).unwrap();
    let numbers = |last: u32| -> String { (1..=last).map(|n| format!("{n}\n")).collect() };
    for (path, text) in [
        ("a", numbers(30)),
        ("b", numbers(12).replace('1', "x")),
        ("d/b", "c".to_owned()),
        ("d/e/f", "f".to_owned()),
        ("r", "r".to_owned()),
        (".hgignore", "glob:*.o\n".to_owned()),
    ] {
        fs::write(root.join(path), text).unwrap();
    }
    hg.ok(root, &["commit", "-qAm", "one"]);
    for path in ["n", "d/n", "i.o"] {
        fs::write(root.join(path), "").unwrap();
    }
    hg.ok(root, &["init", "sub"]);
    fs::write(root.join("sub/x"), "").unwrap();
    std::os::unix::fs::symlink("d", root.join("lnk")).unwrap();
}

/// The lines run one after the other; then both dirstates must say the same.
#[track_caller]
fn check(prepare: impl Fn(&Path), lines: &[&str]) {
    let twin = Twin::writing(plain);
    twin.each(prepare);
    twin.all_same(lines);
    let found = |root: &Path| {
        let hg = hg();
        // Sizes and times depend on the second in which something was written.
        let state = hg.ok(root, &["debugstate", "--nodates"]);
        let mut lines: Vec<String> = Vec::new();
        for line in state.lines() {
            let path = line.rsplit("set ").next().unwrap_or(line);
            lines.push(format!("{} {}", &line[..1], path.trim_start()));
        }
        // Copies come in the order in which they were made, which is not kept here.
        lines.sort_unstable();
        lines.push(hg.ok(root, &["status", "-AC"]));
        lines.join("\n")
    };
    assert_eq!(found(twin.theirs()), found(twin.ours()), "{lines:?}");
}

#[test]
fn files_are_added_and_forgotten() {
    check(|_| (), &["add -n", "add", "forget -v d", "forget n nope"]);
    check(
        |root| fs::remove_file(root.join("r")).unwrap(),
        &[
            "add n i.o -v",
            "add a n nope",
            "add -X d",
            "add r",
            "add lnk/b",
            "add sub/x",
            "add .hg/x",
            "add d/nope/x a/b",
            "forget",
            "forget n",
            "forget n",
            "forget -n b",
            "forget -v glob:d/*",
        ],
    );
    check(
        |root| {
            for name in ["aux", "c:d", "x.", "A"] {
                fs::write(root.join(name), "").unwrap();
            }
            fs::write(root.join("big"), vec![0; 11_000_000]).unwrap();
        },
        &["add aux c:d x. big", "add A"],
    );
}

#[test]
fn files_are_removed() {
    let change = |root: &Path| {
        fs::write(root.join("b"), "changed").unwrap();
        fs::remove_file(root.join("r")).unwrap();
    };
    check(
        change,
        &[
            "remove",
            "remove -n d",
            "remove d n nope sub",
            "remove b",
            "add -q n",
            "remove n",
            "remove -f n",
            "remove a",
            "remove a",
            "remove -A",
            "remove -v -f b",
        ],
    );
    check(change, &["remove -A b r a", "remove -Av", "remove -Af a"]);
}

#[test]
fn files_are_copied() {
    check(
        |_| (),
        &[
            "copy",
            "copy a",
            "copy a a2",
            "copy a a2",
            "copy a b",
            "copy -f a b",
            "copy a n",
            "copy a2 a3",
            "copy d dd",
            "copy -v a b d",
            "copy a d/b nope",
            "copy n x",
            "copy nope x",
            "copy a lnk/q",
            "copy a sub/q",
            "copy a q/",
            "copy -n a q",
            "copy --forget a2 r",
        ],
    );
    check(
        |root| {
            fs::copy(root.join("a"), root.join("z")).unwrap();
            fs::remove_file(root.join("r")).unwrap();
        },
        &[
            "copy -A a z",
            "copy -A a zz",
            "copy -A a b",
            "copy -Af a b",
            "copy r s",
            "add -q n",
            "copy n n2",
            "copy glob:d/** sub",
            "copy glob:d/** lnk",
        ],
    );
}

#[test]
fn files_are_renamed() {
    check(
        |_| (),
        &[
            "rename a a2",
            "rename a2 a3",
            "rename a3 a",
            "rename d dd",
            "rename a b",
            "rename -f a b",
            "rename nope q",
            "rename n q",
            "rename a q",
            "rename r dd/",
            "rename dd/e dd/e2",
        ],
    );
    check(
        |root| {
            fs::rename(root.join("d"), root.join("moved")).unwrap();
            fs::rename(root.join("a"), root.join("z")).unwrap();
        },
        &["rename -A a z", "rename -A d moved", "rename -A b nope"],
    );
}

#[test]
fn what_came_and_what_is_gone_is_told_and_matched() {
    check(|_| (), &["addremove -n", "addremove -v"]);
    check(
        |root| {
            fs::rename(root.join("a"), root.join("a2")).unwrap();
            fs::rename(root.join("d"), root.join("d2")).unwrap();
        },
        &[
            "addremove -s x",
            "addremove -s 101",
            "addremove nope",
            "addremove",
        ],
    );
    check(
        |root| {
            let text = fs::read_to_string(root.join("a")).unwrap();
            fs::rename(root.join("a"), root.join("d/same")).unwrap();
            fs::write(root.join("like"), text.clone() + "x\n").unwrap();
            fs::write(root.join("less"), &text[..51]).unwrap();
            fs::remove_file(root.join("b")).unwrap();
        },
        &["addremove -s 98 -n", "addremove -s 50"],
    );
}
