//! `annotate`.

mod random;

use super::Twin;
use std::path::Path;
use varve_testkit::peers::Hg;
use varve_testkit::repos;

/// A merge, a rename, a last line without its end, a file that is no text, one that is empty.
fn history(hg: &Hg, path: &Path) {
    let commit = |message: &str, user: &str, date: &str| {
        let words = ["commit", "-A", "-m", message, "-u", user, "-d", date];
        hg.ok(path, &words);
    };
    hg.ok(path, &["init"]);
    repos::write(path, "a", b"1\n2\n3\n4\n5\n");
    repos::write(path, "binary", b"x\0y\n");
    repos::write(path, "empty", b"");
    repos::write(path, "dir/n", b"no newline");
    commit("zero", "Ada Lovelace <ada@example.org>", "0 0");
    repos::write(path, "a", b"1\n2\nthree\n4\n5\n");
    commit("one", "bob", "1000000 -3600");
    hg.ok(path, &["update", "0"]);
    repos::write(path, "a", b"1\n2\n3\n4\n5\n6 six\n");
    hg.ok(path, &["branch", "stable"]);
    commit("two", "Carol C <c@example.org>", "2006-12-06 13:18");
    hg.ok(path, &["update", "1"]);
    hg.ok(path, &["merge", "2"]);
    commit("merge", "K\u{e4}the", "2007-01-01");
    hg.ok(path, &["rename", "a", "dir/b"]);
    repos::write(path, "dir/b", b"0\n1\n2\nthree\n4\n  5\n6 six\nseven");
    commit("renamed", "eve", "2008-01-01");
    for number in 5..12 {
        let text = format!("0\n1\n2\nthree {number}\n4\n  5\n6 six\nseven\n{number}\n");
        repos::write(path, "dir/b", text.as_bytes());
        commit(&format!("n {number}"), "mallory", "2009-01-01");
    }
}

#[test]
fn lines_are_annotated() {
    Twin::writing(history).all_same(&[
        "annotate dir/b",
        "blame dir/b -r 4",
        "annotate -unfdcl dir/b",
        "annotate -d -q dir/b",
        "annotate -v -u dir/b",
        "annotate --debug -c dir/b",
        "annotate -cl dir/b",
        "annotate -ul dir/b",
        "annotate --follow dir/b",
        "annotate --follow --no-follow dir/b",
        "annotate --no-follow -nf dir/b",
        "annotate --no-number dir/b",
        "annotate",
        "annotate -I dir",
        "annotate -r nosuch -ul dir/b",
        "annotate -r null dir/b",
        "annotate nosuch dir/b",
        "annotate zz nosuch",
        "annotate -r 3 dir/b",
        "annotate binary empty dir",
        "annotate -a binary",
        "annotate . -X dir/b -I glob:**/n",
        "annotate glob:* -r 2",
        "annotate glob:x*",
    ]);
    Twin::writing(history).same_in("dir", &["annotate", "-f", "b", "../binary", "../nosuch"]);
}

#[test]
fn blanks_and_changesets_can_be_left_out() {
    let twin = Twin::writing(history);
    twin.each(|path| {
        repos::write(
            path,
            "dir/b",
            b"\n0\n1 \n2\x0c\n three11\n\n5\n6   six\nseven  ",
        );
    });
    for option in ["-w", "-b", "-B", "-Z", "-wZ", "-bB", "-a"] {
        twin.same(&["annotate", option, "-r", "wdir()", "dir/b"]);
    }
    for option in ["-w", "-b", "-Z", "-wZ"] {
        twin.same(&["diff", option, "--nodates"]);
    }
    twin.each(|path| repos::write(path, "dir/n", b"\n  \nno newline\n"));
    for option in ["-B", "-Bw", "-BZ", "-Bb"] {
        twin.same(&["diff", option, "--nodates", "dir/n"]);
    }
    twin.all_same(&[
        "annotate dir/b -r wdir() --config annotate.ignorews=1",
        "annotate dir/b -r wdir() --config diff.ignorews=1",
        "annotate dir/b -r wdir() --config annotate.ignorewseol=1 --no-ignore-space-at-eol",
        "annotate dir/b --config annotate.ignorews=foo",
        "annotate dir/b --config annotate.showfunc=foo",
        "annotate dir/b --config annotate.unified=foo",
        "annotate dir/b --config annotate.git=foo",
        "diff --config diff.ignorews=foo",
        "annotate dir/b --skip 5 -ln",
        "annotate dir/b --skip 5 --skip 7:9 -ln",
        "annotate dir/b --skip all() -cl",
        "annotate dir/b --skip nosuch -T json",
    ]);
}

#[test]
fn the_working_directory_is_annotated() {
    let twin = Twin::writing(history);
    let touch = |path: &Path| {
        let file = std::fs::File::options()
            .append(true)
            .open(path.join("dir/b"));
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_580_702_706);
        file.unwrap().set_modified(time).unwrap();
    };
    twin.each(|path| {
        repos::write(path, "dir/b", b"0\n1\nnew\n4\n");
        repos::write(path, "unknown", b"u\n");
        repos::write(path, ".hgignore", b"ignored\n");
        repos::write(path, "ignored", b"i\n");
        touch(path);
    });
    let twin = twin.with("TZ", "UTC-3");
    twin.all_same(&[
        "annotate -r wdir() dir/b -d",
        "annotate -r wdir() dir/b -un",
        "annotate -r wdir() dir/b -ncl",
        "annotate -r wdir() dir/b -c --debug",
        "annotate -r 2147483647 dir",
        "annotate -r wdir() unknown ignored",
        "annotate -r wdir() nosuch dir/b",
        "annotate -r wdir() dir/b -T json -nucdfl",
        "annotate -r wdir() dir/b -T {lines}",
        "annotate -r wdir() dir/b -T {lines%'{desc}|{branch}|{date|isodate}|{line}'}",
    ]);
    twin.each(|path| {
        std::fs::rename(path.join("dir/b"), path.join("moved")).unwrap();
    });
    twin.same(&["annotate", "-r", "wdir()", "dir/b"]);
    twin.same(&["rename", "--after", "dir/b", "moved"]);
    twin.all_same(&[
        "annotate -r wdir() moved -nf",
        "annotate -r wdir() moved -nf --no-follow",
        "annotate -r wdir() .",
    ]);
}

#[test]
fn programs_read_annotations_too() {
    Twin::writing(history).all_same(&[
        "annotate -T json dir binary",
        "annotate -T json -nucdfl dir/b",
        "annotate -T json -l -q dir/n empty",
        "annotate -T json nosuch dir/b",
        "annotate -T {path}:{lines|count}\\n dir binary",
        "annotate -T {lines} dir/b",
        "annotate -T {join(lines,'-')} dir/b",
        "annotate -T {lines|json} dir/b",
        "annotate -T {path}{lines|json}{user} dir/b",
        "annotate -T {lines%'{rev}:{node|short}:{lineno}:{path}:{user|user}:{date|shortdate}:{line}'} dir/b",
        "annotate -T {lines%'{desc}:{branch}:{author}:{parents}:{nosuch}:{index}:{line}'} dir/b",
    ]);
}

/// The filelog names one changeset of those that made the same change.
#[test]
fn the_same_change_on_several_branches_is_found_on_its_own() {
    let twin = Twin::writing(|hg, path| {
        let mut number = 0;
        let mut commit = |a: &[u8], other: &[u8]| {
            repos::write(path, "a", a);
            repos::write(path, "other", other);
            hg.ok(
                path,
                &["commit", "-A", "-m", &number.to_string(), "-d", "0 0"],
            );
            number += 1;
        };
        hg.ok(path, &["init"]);
        commit(b"a\n", b"");
        commit(b"a\nX\n", b"");
        hg.ok(path, &["update", "0"]);
        commit(b"a\nX\n", b"2");
        commit(b"a\nX\nY\n", b"2");
        hg.ok(path, &["update", "1"]);
        commit(b"a\nX\n", b"4");
        hg.ok(path, &["merge", "3", "--tool", ":other"]);
        commit(b"a\nX\nY\n", b"4");
        hg.ok(path, &["update", "0"]);
        commit(b"a\nX\n", b"6");
        hg.ok(path, &["merge", "2", "--tool", ":local"]);
        commit(b"a\nX\n", b"6");
        commit(b"a\nX\nY\n", b"8");
        hg.ok(path, &["bookmark", "-r", "3", "three"]);
        hg.ok(path, &["bookmark", "-r", "7", "seven"]);
        hg.ok(path, &["bookmark", "-r", "8", "eight"]);
    });
    for rev in ["3", "5", "7", "8"] {
        twin.same(&["annotate", "-r", rev, "a"]);
        twin.same(&["log", "-f", "-r", rev, "-q", "a"]);
    }
    twin.all_same(&[
        "log -q -B eight",
        "log -q -B seven -B eight",
        "log -q -B three",
        "log -q -B eight a",
        "log -B nosuch",
    ]);
}
