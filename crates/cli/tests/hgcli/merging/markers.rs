//! Lines around conflicts: the names of the sides, with and without their changesets, and conflicts as differences.

use crate::hgcli::Twin;
use crate::hgcli::state::same_state;
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::write;

/// Two heads with conflicts in `f` and `g`, one with names and a branch of its own, the other with a long description.
fn heads(hg: &Hg, path: &Path) {
    let commit = |message: &str, user: &str, date: &str| {
        hg.ok(
            path,
            &["commit", "-A", "-m", message, "-u", user, "-d", date],
        );
    };
    hg.ok(path, &["init"]);
    write(path, "f", b"a\nb\nc\nd\ne\nf\ng\n");
    write(path, "g", b"1\n2\n3\n4\n5\n6\n7\n");
    commit("base", "Al Bert <al@x>", "0 0");
    write(path, "f", b"a\nB1\nc\nd\ne\nF1\ng\n");
    write(path, "g", b"1\n2x\n3\n4\n5x\n6\n7\n");
    let long =
        "a first side with a long line, longer than fits beside a marker, more é é é\nsecond";
    commit(long, "Al Bert <al@x>", "1 0");
    hg.ok(path, &["bookmark", "bm"]);
    hg.ok(path, &["update", "0"]);
    hg.ok(path, &["branch", "stable"]);
    write(path, "f", b"a\nB2\nB3\nc\nd\ne\nF2\ng\n");
    write(path, "g", b"1\n2y\n3y\n4y\n5y\n6\n7\n");
    write(path, "both", b"here\n");
    commit("other", "bob", "2 0");
    hg.ok(path, &["tag", "-l", "v1"]);
}

const DETAILED: &str = "--config ui.mergemarkers=detailed";

#[track_caller]
fn same_files(twin: &Twin) {
    let read = |path: &Path| {
        ["f", "g", "both"].map(|name| {
            let text = std::fs::read(path.join(name)).unwrap_or_default();
            String::from_utf8_lossy(&text).into_owned()
        })
    };
    assert_eq!(read(twin.theirs()), read(twin.ours()));
    same_state(twin);
}

#[test]
fn sides_are_named_with_their_changesets() {
    let template =
        |text: &str| format!("merge 1 {DETAILED} --config command-templates.mergemarker={text}");
    let lines = [
        format!("merge 1 {DETAILED}"),
        format!("merge 1 {DETAILED} --tool :merge3"),
        format!("merge 1 {DETAILED} --tool :mergediff"),
        format!("merge 1 {DETAILED} --tool :union"),
        "merge 1 --tool :mergediff".to_owned(),
        "merge 1 --config ui.mergemarkers=BASIC".to_owned(),
        "merge 1 --config ui.mergemarkers=other".to_owned(),
        template("{rev}:{author}"),
        template("'{desc}'"),
        template("{desc}\n"),
        format!("merge 1 {DETAILED} --config ui.mergemarkertemplate={{rev}}"),
        format!("merge 1 {DETAILED} --config merge-tools.:merge.mergemarkertemplate=T{{rev}}"),
        format!("graft 1 {DETAILED} --tool :merge3"),
        format!("merge 1 {DETAILED} --encoding ascii"),
    ];
    for line in &lines {
        let twin = Twin::writing(heads);
        twin.all_same(&[line]);
        same_files(&twin);
        twin.all_same(&[&format!("resolve --all {DETAILED}")]);
        same_files(&twin);
    }
}

#[test]
fn every_command_names_its_sides() {
    let extensions =
        "--config extensions.rebase= --config extensions.histedit= --config extensions.shelve=";
    let courses: &[&[&str]] = &[
        &["up -C 2", "LOCAL", "up -m 1 DETAILED --tool :merge3"],
        &["rebase -r 2 -d 1 DETAILED --tool :merge3"],
        &["rebase -r 2 -d 1 DETAILED", "resolve --all DETAILED"],
        &[
            "up -C 2",
            "LOCAL",
            "commit -m three",
            "backout -m back 2 DETAILED --tool :merge3",
        ],
        &[
            "LOCAL",
            "shelve",
            "NEXT",
            "unshelve DETAILED --tool :merge3",
        ],
        &[
            "up -C 2",
            "graft 1 DETAILED --tool :mergediff",
            "resolve --all DETAILED",
        ],
    ];
    for course in courses {
        let twin = Twin::writing(heads);
        for line in *course {
            match *line {
                "LOCAL" => twin.each(|path| write(path, "f", b"a\nlocal\nc\n")),
                "NEXT" => twin.each(|path| {
                    write(path, "f", b"a\nnext\nc\n");
                    hg().ok(path, &["commit", "-m", "next", "-d", "5 0"]);
                }),
                line => {
                    let line = line.replace("DETAILED", DETAILED);
                    twin.all_same(&[&format!("{line} {extensions}")]);
                    same_files(&twin);
                }
            }
        }
    }
}

#[test]
fn conflicts_are_shown_as_differences() {
    for (ours, theirs) in [
        ("1a\n2\n3\n4\n5a\n", "1b\n2b\n3b\n4b\n5b\n"),
        ("1b\n2b\n3b\n4b\n5b\n", "1a\n2\n3\n4\n5a\n"),
        ("x\n2\n3\n4\n5\n", "y1\ny2\n"),
        ("1a\n2\n3a\n3b\n3c\n3d\n4a\n5\n", "1b\n2b\n3\n4b\n5\n"),
        ("1a\n2b\n3\n4b\n5\n", "1b\n2\nq\nw\ne\n3c\n4\n5\n"),
        ("1\n2\n3\n4\n5\nadd", "1\n2\n3\n4\n5\nother"),
        ("", "1\n2\n3x\n4\n5\n"),
        ("1\r\n2a\r\n3\r\n", "1\r\n2b\r\n3\r\n"),
    ] {
        let twin = Twin::writing_with(|hg, path| {
            hg.ok(path, &["init"]);
            for (name, text) in [
                ("base", "1\n2\n3\n4\n5\n"),
                ("ours", ours),
                ("theirs", theirs),
            ] {
                write(path, "f", text.as_bytes());
                hg.ok(path, &["commit", "-A", "-m", name, "-d", "0 0"]);
                if name == "ours" {
                    hg.ok(path, &["update", "0"]);
                }
            }
        });
        twin.all_same(&["merge 1 --tool :mergediff"]);
        same_files(&twin);
    }
}

#[test]
fn programs_get_the_names_as_their_settings_say() {
    let tool = "merge 1 --tool x --config merge-tools.x.executable=/bin/sh \
                --config merge-tools.x.args=TOOL";
    let script = "-c 'printf \"%s|\" \"$0\" \"$@\"; env | grep _LABEL | sort; exit 1' $labellocal $labelother $labelbase";
    for settings in [
        "",
        "--config merge-tools.x.mergemarkers=detailed",
        "--config merge-tools.x.mergemarkers=detailed --config merge-tools.x.premerge=keep \
         --config merge-tools.x.mergemarkertemplate=T{rev}",
        "--config ui.mergemarkers=detailed --config merge-tools.x.premerge=keep-mergediff \
         --config merge-tools.x.mergemarkertemplate=T{rev}",
        "--config merge-tools.x.premerge=keep-mergediff",
        "--config ui.mergemarkers=detailed --config merge-tools.x.premerge=keep-merge3",
    ] {
        let twin = Twin::writing(heads);
        let line = format!("{tool} {settings}");
        let words = line.split(' ').filter(|word| !word.is_empty());
        let args = format!("merge-tools.x.args={script}");
        let words: Vec<&str> = words
            .map(|word| match word {
                "merge-tools.x.args=TOOL" => &args[..],
                word => word,
            })
            .collect();
        twin.same(&words);
        same_files(&twin);
    }
}

#[test]
fn markers_are_recognized_by_their_labels() {
    let twin = Twin::writing(heads);
    twin.all_same(&["merge 1 --tool :fail"]);
    for line in [
        "<<<<<<<",
        "<<<<<<< x",
        "<<<<<<<x",
        "=======",
        "======= x",
        "------- x",
        "+++++++ x",
        "||||||| x",
        ">>>>>>>",
        ">>>>>>> x",
        " <<<<<<< x",
        "-------",
    ] {
        twin.each(|path| write(path, "f", format!("{line}\n").as_bytes()));
        twin.all_same(&[
            "resolve -m f --config commands.resolve.mark-check=warn",
            "resolve -u f",
            "resolve -m f --config commands.resolve.mark-check=abort",
            "resolve -u f",
        ]);
    }
}

#[test]
fn ready_made_settings_of_programs_are_there() {
    let twin = Twin::reading()
        .with("HGRCPATH", "")
        .with("PATH", "/nowhere");
    let shown = twin.run(&["config", "merge-tools", "--source"]);
    shown.same(&["config", "merge-tools"]);
    assert!(
        shown
            .ours
            .stdout
            .contains("merge-tools.vimdiff.priority=-10")
    );
    twin.all_same(&["config merge-tools.kdiff3", "config merge-tools.meld.args"]);
    for tool in ["meld", "vimdiff", "merge", "kdiff3"] {
        let directory = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/bin/true", directory.path().join(tool)).unwrap();
        let path = directory.path().to_str().unwrap();
        for display in ["", ":0"] {
            let twin = Twin::reading().with("HGRCPATH", "").with("PATH", path);
            let twin = twin.with("DISPLAY", display);
            twin.all_same(&["debugpickmergetool -v", "debugpickmergetool"]);
        }
    }
    let twin = Twin::reading().with("PATH", "/nowhere");
    twin.all_same(&["config merge-tools"]);
}
