//! `debugobsolete`, `debugbuilddag` and `debugdrawdag`: history that is made up.

use super::state::same_state;
use super::{Twin, our_hg};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::{commit, write};

fn line_of_four(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    std::fs::write(
        path.join(".hg/hgrc"),
        "[experimental]\nevolution = all\n[devel]\nuser.obsmarker = marker\n",
    )
    .unwrap();
    for name in ["a", "b", "c", "d"] {
        write(path, name, name.as_bytes());
        commit(hg, path, name);
    }
    hg.ok(path, &["update", "-q", "1"]);
    write(path, "e", b"e");
    commit(hg, path, "e");
}

fn nodes(path: &Path) -> Vec<String> {
    let said = hg().ok(path, &["log", "--hidden", "-r", "all()", "-T", "{node} "]);
    said.split(' ').map(str::to_owned).collect()
}

#[test]
fn markers_are_made_listed_and_removed() {
    let twin = Twin::writing(line_of_four);
    let nodes = nodes(twin.theirs());
    let (two, three, four) = (&nodes[2][..], &nodes[3][..], &nodes[4][..]);
    let unknown = "1234567890123456789012345678901234567890";
    twin.same(&["debugobsolete"]);
    twin.same(&["debugobsolete", two, four, "-d", "0 0"]);
    twin.same(&["debugobsolete", two, four, "-d", "0 0"]);
    twin.same(&[
        "debugobsolete",
        three,
        "-d",
        "1 3600",
        "-u",
        "me",
        "--record-parents",
    ]);
    twin.same(&[
        "debugobsolete",
        unknown,
        two,
        four,
        "--flags",
        "1",
        "-d",
        "2 0",
    ]);
    twin.same(&["debugobsolete", "abc"]);
    twin.same(&["debugobsolete", unknown, "--record-parents"]);
    twin.same(&["debugobsolete", two, "-r", "0"]);
    twin.all_same(&[
        "debugobsolete",
        "debugobsolete --index",
        "debugobsolete -r 4",
        "debugobsolete -r 3 --hidden",
        "debugobsolete -T {prednode|short}>{succnodes}:{flag}:{date|hgdate}:{metadata}\\n",
        "log -G --hidden -T {rev}:{desc}:{obsolete}\\n",
        "debugobsolete --delete 1 --delete 7",
        "debugobsolete --delete x",
        "debugobsolete",
    ]);
    same_state(&twin);
    twin.same(&["debugobsolete", four, "--config", "experimental.evolution="]);
}

#[test]
fn json_has_all_of_a_marker() {
    let twin = Twin::writing(line_of_four);
    let nodes = nodes(twin.theirs());
    twin.same(&[
        "debugobsolete",
        &nodes[3],
        &nodes[4],
        "-d",
        "0 0",
        "--record-parents",
    ]);
    twin.same(&["debugobsolete", "-T", "json"]);
}

fn empty(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
}

#[test]
fn history_is_built_from_descriptions() {
    for files in ["", "-m", "-o", "-n", "-mon"] {
        let twin = Twin::writing(empty);
        let text = "+2:f +3:p2 @temp <f+2 @default /p2 +1";
        let mut words = vec!["debugbuilddag", text];
        words.extend((!files.is_empty()).then_some(files));
        twin.same(&words);
        same_state(&twin);
        twin.all_same(&["log -p -T {node}\\n", "tags", "debugbuilddag +1"]);
        twin.same(&["debugbuilddag", "--from-existing", "+2"]);
        twin.same(&["log", "-T", "{node}\n"]);
    }
    let twin = Twin::writing(empty);
    twin.all_same(&["debugbuilddag x", "debugbuilddag", "log"]);
}

/// Nodes, parents by number and descriptions of what the peer's tests make of the same drawing by `me`.
const DRAWN: &str = "57d9be6956ab A -1 -1
445007e8bc1d B 0 -1
c5e8d039936e C 1 -1
b1d234205af1 X 1 -1
1028744f441b D 2 -1
5c8d60333ebf Y 3 -1
6533bcac36de E 4 5
84ad975d1af9 Z 5 -1
";

#[test]
fn drawings_are_committed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    hg().ok(path, &["init"]);
    let draw = |drawing: &str| {
        let mut child = Command::new(our_hg())
            .args([
                "debugdrawdag",
                "--config",
                "extensions.drawdag=/nowhere/drawdag.py",
            ])
            .args(["--config", "experimental.evolution=all"])
            .current_dir(path)
            .env("HGRCPATH", "")
            .env("HGUSER", "me")
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(drawing.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(draw("E Z\n|\\|\nD Y\n| |\nC X\n|/\nB\n|\nA"), "");
    let template = "{node|short} {desc} {p1rev} {p2rev}\n";
    assert_eq!(
        hg().ok(path, &["log", "-r", "all()", "-T", template]),
        DRAWN
    );
    let said = draw("F  C  # F/dir/x = text\\n\n|     # amend: C -> F\ndesc(B)");
    assert_eq!(said, "2 new orphan changesets\n");
    assert_eq!(hg().ok(path, &["cat", "-r", "F", "dir/x"]), "text\n");
    assert_eq!(draw("A1\n|\nA1"), "abort: the graph has cycles\n");
}

#[test]
fn successors_are_keywords_of_templates() {
    let twin = Twin::writing(line_of_four);
    let nodes = nodes(twin.theirs());
    let (one, two, three, four) = (&nodes[1][..], &nodes[2][..], &nodes[3][..], &nodes[4][..]);
    for words in [
        &["debugobsolete", "-d", "0 0", two, three, four][..],
        &[
            "debugobsolete",
            "-d",
            "1 0",
            "1234567890123456789012345678901234567890",
            two,
        ],
        &[
            "debugobsolete",
            "-d",
            "2 0",
            one,
            "1234567890123456789012345678901234567890",
        ],
    ] {
        twin.same(words);
    }
    let shown =
        "{rev}:{predecessors}|{predecessors % '{node} '}|{successorssets}|{join(obsfate,',')}\n";
    for hidden in [&[][..], &["--hidden"]] {
        let words = [&["log", "-T", shown][..], hidden].concat();
        twin.same(&words);
        let words = [&["debugsuccessorssets", "all()"][..], hidden].concat();
        twin.same(&words);
        for rev in ["0", "1", "2"] {
            let words = [&["debugsuccessorssets", "--closest", rev][..], hidden].concat();
            twin.same(&words);
        }
    }
}

#[test]
fn local_tags_keep_obsolete_changesets_visible() {
    let twin = Twin::writing(line_of_four);
    let nodes = nodes(twin.theirs());
    twin.same(&["debugobsolete", "-d", "0 0", &nodes[3], &nodes[4]]);
    twin.same(&["log", "-q"]);
    twin.each(|path| drop(hg().ok(path, &["tag", "--hidden", "--local", "-r", "3", "kept"])));
    twin.all_same(&["log -q", "log -G -T {rev}"]);
}
