//! Filters of `[encode]` and `[decode]` between the files on the disk and what is stored.

use super::Twin;
use std::os::unix::fs::symlink;
use std::path::Path;
use varve_testkit::peers::Hg;
use varve_testkit::repos::write;

const FILTERS: &str = "[encode]\n**.txt = tr a-z A-Z\n**.none = !\nl = pipe: cat\n[decode]\n\
                       **.txt = tempfile: tr A-Z a-z < INFILE > OUTFILE\n[ui]\nmerge = :merge\n";

/// Files whose stored letters are large, and a repository around them.
fn filtered(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    write(path, ".hg/hgrc", FILTERS.as_bytes());
    write(path, "a.txt", b"one\ntwo\nthree\nfour\nfive\nsix\n");
    write(path, "d/b.txt", b"World\n");
    write(path, "plain", b"plain\n");
    write(path, "c.none", b"none\n");
    symlink("a.txt", path.join("l")).unwrap();
    symlink("d.txt", path.join("l.txt")).unwrap();
}

/// The files as they are on the disk.
fn same_disk(twin: &Twin, names: &[&str]) {
    for name in names {
        let read = |root: &Path| std::fs::read(root.join(name)).ok();
        assert_eq!(read(twin.theirs()), read(twin.ours()), "{name}");
    }
}

#[test]
fn what_is_stored_is_encoded_and_what_is_written_is_decoded() {
    let twin = Twin::writing(filtered);
    twin.all_same(&[
        "commit -A -q -m one -d 1970-01-01",
        "log -r . -T {node}",
        "cat a.txt d/b.txt plain c.none l l.txt",
        "cat --decode a.txt d/b.txt l.txt",
        "cat --decode a.txt --config decode.a.txt=false",
        "status",
        "up -q null",
        "up -q 0",
        "status",
    ]);
    same_disk(&twin, &["a.txt", "d/b.txt", "plain", "c.none"]);
    twin.each(|path| {
        // Another length, and the same one with another time.
        write(path, "a.txt", b"one\nTWO\nthree\nfour\nfive\nsix\n");
        write(path, "d/b.txt", b"world!\n");
    });
    twin.all_same(&[
        "status",
        "diff --nodates",
        "annotate -r wdir() d/b.txt",
        "grep -a WORLD",
        "files -T {path}:{size};",
        "files set:grep('WORLD!')",
        "shelve -q --config extensions.shelve=",
        "unshelve -q --config extensions.shelve=",
        "status",
        "revert d/b.txt",
        "archive -q -t files ../archived -r 0",
    ]);
    same_disk(&twin, &["d/b.txt", "d/b.txt.orig"]);
}

#[test]
fn archives_have_decoded_files_unless_they_must_not() {
    let twin = Twin::writing(filtered);
    twin.all_same(&[
        "commit -A -q -m one -d 1970-01-01",
        "archive -q -t files out",
        "archive -q -t files raw --no-decode",
    ]);
    same_disk(
        &twin,
        &[
            "out/a.txt",
            "out/d/b.txt",
            "raw/a.txt",
            "out/.hg_archival.txt",
            "raw/.hg_archival.txt",
        ],
    );
}

#[test]
fn merges_are_of_what_is_stored() {
    let twin = Twin::writing(filtered);
    let change = |from: &'static str, to: &'static str| {
        move |path: &Path| {
            let text = std::fs::read_to_string(path.join("a.txt")).unwrap();
            write(path, "a.txt", text.replace(from, to).as_bytes());
        }
    };
    twin.all_same(&["commit -A -q -m one -d 1970-01-01"]);
    twin.each(change("one", "uno"));
    twin.all_same(&["commit -q -m uno -d 1970-01-01", "up -q 0"]);
    twin.each(change("six", "seis"));
    twin.all_same(&["commit -q -m seis -d 1970-01-01", "merge", "diff --nodates"]);
    same_disk(&twin, &["a.txt"]);
    twin.all_same(&[
        "commit -q -m merged -d 1970-01-01",
        "cat a.txt",
        "up -q -C 1",
    ]);
    twin.each(change("uno", "eins"));
    twin.all_same(&["up 2", "resolve -l", "diff --nodates"]);
    twin.all_same(&["up -q -C 1"]);
    twin.each(change("uno", "eins"));
    twin.all_same(&["commit -q -m eins -d 1970-01-01", "up -q -C 1"]);
    twin.each(change("uno", "eine"));
    twin.all_same(&[
        "up 4",
        "resolve -l",
        "resolve --re-merge --all --tool :local",
    ]);
    same_disk(&twin, &["a.txt", "a.txt.orig"]);
    let cat = "cat $local $base $other";
    let program = format!("--config=merge-tools.cat.args=-c '{cat} >&2; cat $local' --");
    let settings = [
        "--config",
        "merge-tools.cat.executable=sh",
        "--config",
        "merge-tools.cat.premerge=no",
    ];
    twin.all_same(&["up -q -C 1"]);
    twin.each(change("uno", "eine"));
    let call = [
        &["up", "4", "--tool", "cat"][..],
        &settings,
        &["--config", &program[9..]],
    ]
    .concat();
    twin.same(&call);
}

#[test]
fn tags_patches_and_copies_are_as_on_the_disk() {
    let twin = Twin::writing(filtered);
    twin.each(|path| {
        let more = "[encode]\n.hgtags = tr a-f A-F\n[decode]\n.hgtags = tr A-F a-f\n";
        write(path, ".hg/hgrc", [FILTERS, more].concat().as_bytes());
        let patch = "# HG changeset patch\n# Date 0 0\nl\n\ndiff -r 0 a.txt\n--- a/a.txt\n+++ b/a.txt\n\
                     @@ -1,2 +1,2 @@\n one\n-two\n+dOs\n";
        write(path, ".hg/fits.diff", patch.as_bytes());
    });
    twin.all_same(&[
        "commit -A -q -m one -d 1970-01-01",
        "tag x -d 1970-01-01",
        "cat .hgtags",
        "tags",
        "import .hg/fits.diff",
        "cat a.txt",
        "copy a.txt e.none",
        "status -C",
        "diff --nodates",
        "commit -m copied -d 1970-01-01",
        "log -T {node}\n",
    ]);
    same_disk(&twin, &[".hgtags", "a.txt", "e.none"]);
}

#[test]
fn a_filter_that_fails_ends_the_command_or_gives_nothing() {
    let twin = Twin::writing(filtered);
    twin.all_same(&[
        "add -q",
        "commit -q -m none -d 1970-01-01 --config encode.plain=false",
        "cat plain",
        "--config encode.a.txt=! cat a.txt",
    ]);
    let failing = [
        "--config",
        "decode.plain=tempfile:sh -c 'exit 7'",
        "cat",
        "--decode",
        "plain",
    ];
    let both = twin.run(&failing);
    for outcome in [&both.theirs, &both.ours] {
        assert_eq!(outcome.code, Some(255), "{outcome}");
        let words = "abort: command 'sh -c 'exit 7'' failed: exited with status 7";
        assert!(outcome.stderr.contains(words), "{outcome}");
    }
    let ours = twin
        .run(&["--config", "decode.**.c=cleverdecode:", "cat", "plain"])
        .ours;
    assert_eq!(ours.code, Some(255), "{ours}");
    assert!(
        ours.stderr
            .contains("filter cleverdecode: of the section decode is not supported")
    );
}
