//! `log` and `annotate` with `--line-range`, and histories that begin in the working copy.

use super::Twin;
use std::path::Path;
use varve_testkit::peers::Hg;
use varve_testkit::repos::{commit, write};

/// A file whose parts change one after the other, copied and then changed without a commit.
fn history(hg: &Hg, path: &Path) {
    let numbered = |changed: &[(usize, &str)]| -> Vec<u8> {
        let line = |at: usize| match changed.iter().find(|(line, _)| *line == at) {
            Some((_, text)) => format!("{text}\n"),
            None => format!("{at}\n"),
        };
        (1..=20).map(line).collect::<String>().into_bytes()
    };
    hg.ok(path, &["init"]);
    write(path, "a", &numbered(&[]));
    write(path, "beside", b"x\n");
    commit(hg, path, "all lines");
    write(path, "a", &numbered(&[(3, "three")]));
    write(path, "beside", b"y\n");
    commit(hg, path, "line 3");
    write(path, "a", &numbered(&[(3, "three"), (18, "eighteen")]));
    commit(hg, path, "line 18");
    hg.ok(path, &["copy", "a", "d/b"]);
    let both = [(3, "third"), (18, "eighteen")];
    write(path, "d/b", &numbered(&both));
    commit(hg, path, "a copy with another line 3");
    hg.ok(path, &["remove", "beside"]);
    hg.ok(path, &["copy", "d/b", "c"]);
    write(path, "c", &numbered(&[both[0], (19, "nineteen")]));
    write(path, "a", &numbered(&[(3, "three"), (17, "17+")]));
}

#[test]
fn lines_are_followed_up_to_the_working_copy() {
    let twin = Twin::writing(history);
    twin.all_same(&[
        "log -f -L a,2:4 -p",
        "log -f -L a,17:19 -p -T {rev}\\n",
        "log -f -L a,2:3 -L d/b,18:18 --stat",
        "log -f -L d/b,2:4 -p --git",
        "log -f -L c,18:20 -G -T {rev}",
        "log -r wdir() -f -L c,18:20 -p --git -T {rev}\\n",
        "log -r wdir()+1 -f -L a,1:20 -T {rev}\\n",
        "log -f -L path:a,3:3 -T {rev}\\n",
        "log -f -L glob:d*/b,3:3 -T json -p",
        "log -f -L a,3:3 -p --config diff.unified=0 -T {rev}\\n",
    ]);
    twin.same_in("d", &["log", "-f", "-L", "b,3:3", "-p"]);
}

#[test]
fn wrong_ranges_of_lines_are_refused() {
    let twin = Twin::writing(history);
    twin.all_same(&[
        "log -L a,2:4",
        "log -f -L a,2:4 a",
        "log -f -L a",
        "log -f -L a,x:4",
        "log -f -L a,4",
        "log -f -L a,4:2",
        "log -f -L a,0:2",
        "log -f -L a,2:200",
        "log -f -L glob:?,2:4",
        "log -f -L beside,1:1",
        "log -f -L nosuch,1:1",
        "annotate -L a,2:4 a",
        "annotate -L a,2:4 --no-follow",
        "annotate -L a,0:4",
        "annotate",
    ]);
}

#[test]
fn ranges_of_lines_are_annotated() {
    let twin = Twin::writing(history);
    twin.all_same(&[
        "annotate -L a,2:4",
        "annotate -l -L a,19:40",
        "annotate -r 1 -L a,2:4",
        "annotate -r wdir() -L a,16:18",
        "annotate -L a,2:3 -L d/b,3:3 -u",
        "annotate -L a,2:3 -T json",
        "annotate -L a,30:40",
    ]);
}

#[test]
fn histories_begin_in_the_working_copy() {
    let twin = Twin::writing(history);
    twin.all_same(&[
        "log -f -r wdir() -T {rev}\\n",
        "log -f -r wdir() -T {rev}\\n c",
        "log -f -r wdir() -T {rev}\\n --stat a",
        "log -f -r wdir() -T {rev}\\n --stat d/b",
        "log -f -r wdir() -T {rev}\\n d",
        "log -f -r wdir() -T {rev}\\n nosuch",
        "log -f -r wdir() -T {rev}\\n glob:*",
        "log --follow-first -r wdir() -T {rev}\\n",
        "identify -r wdir()",
        "identify -r wdir() -n",
    ]);
}
