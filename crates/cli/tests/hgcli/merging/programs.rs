//! Merging by programs: which one is run with which arguments and variables, and what becomes of its result.

use crate::hgcli::Twin;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::{commit, write};

/// Prints its arguments without directories, what it is told in variables, and its files; then does as `DOES` says.
const TOOL: &str = r#"#!/bin/sh
echo "tool $*" | sed 's#[^ ]*/##g'
env | grep '^HG_' | sort
for file in "$@"; do
    if [ -f "$file" ]; then echo "--- ${file##*/}"; cat "$file"; fi
done
eval "$DOES"
"#;

/// Two heads: `f` has a conflict, `g` has none, one side has deleted `gone`, and there are a link and a binary file.
fn heads(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    write(path, "f", b"a\nb\nc\n");
    write(path, "g.txt", b"1\n2\n3\n");
    write(path, "gone", b"gone\n");
    write(path, "d/b.bin", b"b\0\n");
    symlink("x", path.join("link")).unwrap();
    commit(hg, path, "base");
    let link = |to: &str| {
        std::fs::remove_file(path.join("link")).unwrap();
        symlink(to, path.join("link")).unwrap();
    };
    write(path, "f", b"a\nlocal\nc\n");
    write(path, "g.txt", b"1\n2\n3\n4\n");
    write(path, "gone", b"changed\n");
    write(path, "d/b.bin", b"l\0\n");
    link("y");
    commit(hg, path, "local");
    hg.ok(path, &["update", "0"]);
    write(path, "f", b"a\nother\nc\n");
    write(path, "g.txt", b"0\n1\n2\n3\n");
    write(path, "d/b.bin", b"o\0\n");
    hg.ok(path, &["remove", "gone"]);
    link("z");
    commit(hg, path, "other");
    hg.ok(path, &["update", "1"]);
}

/// The same without what is not text.
fn texts(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    write(path, "f", b"a\nb\nc\n");
    write(path, "g.txt", b"1\n2\n3\n");
    commit(hg, path, "base");
    write(path, "f", b"a\nlocal\nc\n");
    write(path, "g.txt", b"1\n2\n3\n4\n");
    commit(hg, path, "local");
    hg.ok(path, &["update", "0"]);
    write(path, "f", b"a\nother\nc\n");
    write(path, "g.txt", b"0\n1\n2\n3\n");
    commit(hg, path, "other");
    hg.ok(path, &["update", "1"]);
}

/// A twin with the tool on its path.
fn with_tool(make: fn(&Hg, &Path), does: &str) -> (Twin, tempfile::TempDir) {
    let programs = tempfile::tempdir().unwrap();
    let tool = programs.path().join("mytool");
    std::fs::write(&tool, TOOL).unwrap();
    std::fs::set_permissions(&tool, PermissionsExt::from_mode(0o755)).unwrap();
    let paths = format!("{}:/usr/bin:/bin", programs.path().display());
    let twin = Twin::writing(make).with("PATH", &paths).with("DOES", does);
    (twin, programs)
}

/// Both programs say the same about `line` and leave the same.
#[track_caller]
fn same(make: fn(&Hg, &Path), does: &str, line: &[&str]) {
    let (twin, _programs) = with_tool(make, does);
    twin.same(line);
    twin.all_same(&["status", "resolve -l", "resolve -l -T {path}{mergestatus}"]);
    let content = |root: &Path, name: &str| std::fs::read(root.join(name)).ok();
    for name in [
        "f",
        "f.orig",
        "g.txt",
        "g.txt.orig",
        "d/b.bin",
        "d/b.bin.orig",
    ] {
        let [theirs, ours] = [twin.theirs(), twin.ours()].map(|root| content(root, name));
        assert_eq!(ours, theirs, "{name} after {line:?}");
    }
    let left = hg().ok(twin.ours(), &["status", "-n", "-u"]);
    assert!(!left.contains("hgmerge"), "{left}");
}

/// `hg merge` with settings of the tool.
#[track_caller]
fn same_merge(does: &str, options: &[&str], settings: &[&str]) {
    let mut line = [&["merge"], options].concat();
    for setting in settings {
        line.extend(["--config", setting]);
    }
    same(texts, does, &line);
}

#[test]
fn a_program_gets_the_versions_of_a_file_and_its_result_counts() {
    for does in ["exit 0", "exit 1", "printf 'x\\ny\\n' > f", "rm f; exit 1"] {
        same_merge(does, &["--tool", "mytool"], &[]);
        same_merge(does, &[], &["ui.merge=mytool"]);
    }
    same_merge(
        "",
        &["-v", "--tool", "mytool"],
        &["merge-tools.mytool.gui=yes"],
    );
    let arguments =
        "merge-tools.mytool.args=$base $local $other -o $output $labellocal $labelbase $labelother";
    same_merge("", &["--tool", "mytool"], &[arguments]);
    same_merge(
        "",
        &["--tool", "mytool"],
        &["merge-tools.mytool.args='$HG_FILE' \"$local\""],
    );
}

#[test]
fn lines_are_merged_before_as_the_tool_wants_it() {
    for value in ["true", "false", "keep", "keep-merge3", "KEEP"] {
        let setting = format!("merge-tools.mytool.premerge={value}");
        let output = "merge-tools.mytool.args=$output";
        same_merge("", &["--tool", "mytool"], &[&setting, output]);
        same_merge("exit 1", &["--tool", "mytool"], &[&setting, output]);
    }
}

#[test]
fn results_are_checked() {
    let keep = "merge-tools.mytool.premerge=keep";
    for check in [
        "conflicts",
        "changed",
        "prompt",
        "prompt,conflicts",
        "changed conflicts",
    ] {
        let setting = format!("merge-tools.mytool.check={check}");
        same_merge("", &["--tool", "mytool"], &[&setting, keep]);
        same_merge("", &["--tool", "mytool"], &[&setting]);
        same_merge("printf 'x\\r\\n' > f", &["--tool", "mytool"], &[&setting]);
    }
    for check in ["checkconflicts", "checkchanged"] {
        let setting = format!("merge-tools.mytool.{check}=yes");
        same_merge("", &["--tool", "mytool"], &[&setting, keep]);
    }
    let fix = "merge-tools.mytool.fixeol=yes";
    same_merge("printf 'x\\r\\ny\\r\\n' > f", &["--tool", "mytool"], &[fix]);
}

#[test]
fn tools_are_chosen_as_the_configuration_says() {
    for settings in [
        &[][..],
        &["ui.merge=nothing-there"],
        &["ui.merge=internal:other"],
        &["ui.merge=zz", "merge-tools.zz.executable=mytool"],
        &["ui.merge=zz", "merge-tools.zz.executable=/nothing/there"],
        &["ui.merge=mytool", "merge-tools.mytool.gui=yes"],
        &[
            "merge-tools.zz.executable=mytool",
            "merge-tools.zz.args=zz",
            "merge-tools.zz.priority=5",
            "merge-tools.yy.executable=mytool",
            "merge-tools.yy.args=yy",
        ],
        &[
            "merge-tools.zz.executable=mytool",
            "merge-tools.zz.priority=-5",
        ],
        &[
            "merge-tools.zz.executable=mytool",
            "merge-tools.zz.disabled=yes",
        ],
        &["merge-patterns.f=mytool", "merge-patterns.*=:other"],
        &["merge-patterns.none=mytool", "merge-patterns.re:f$=:local"],
        &["merge-patterns.f=nothing-there", "ui.merge=:other"],
        &["merge-patterns.f=:nothing-there"],
    ] {
        same_merge("", &[], settings);
        same_merge("", &["-v"], settings);
    }
    same_merge("", &["--tool", "nothing-there"], &[]);
    same_merge(
        "",
        &["--tool", "zz"],
        &[
            "merge-tools.zz.executable=mytool",
            "merge-tools.zz.disabled=1",
        ],
    );
    for variable in ["mytool", "mytool -x", ":other", "nothing-there"] {
        let (twin, _programs) = with_tool(texts, "");
        let twin = twin.with("HGMERGE", variable);
        twin.same(&["merge"]);
        twin.all_same(&["status", "resolve -l", "debugpickmergetool -v"]);
    }
}

#[test]
fn binary_files_links_and_deletions_need_tools_that_can() {
    for options in [
        &["--tool", "mytool"][..],
        &["--config", "ui.merge=mytool"],
        &["--config", "ui.merge=:local"],
        &[
            "--config",
            "ui.merge=:local",
            "--config",
            "merge.strict-capability-check=yes",
        ],
        &["--config", "merge-tools.mytool.args=x"],
        &[
            "--config",
            "merge-tools.mytool.binary=yes",
            "--config",
            "merge-tools.mytool.symlink=yes",
        ],
        &["--config", "merge-patterns.**=mytool"],
        &[
            "--config",
            "merge-patterns.**.bin=mytool",
            "--config",
            "merge-patterns.**=:local",
        ],
        &[
            "--config",
            "merge-patterns.**=mytool",
            "--config",
            "merge.strict-capability-check=yes",
        ],
    ] {
        let line = [&["merge"], options].concat();
        same(heads, "", &line);
        let (twin, _programs) = with_tool(heads, "");
        for more in [
            &[][..],
            &["--changedelete"],
            &["--debug", "d/b.bin"],
            &["-r", "0", "glob:d/*"],
        ] {
            twin.same(&[&["debugpickmergetool"], more, options].concat());
        }
    }
}

#[test]
fn all_commands_that_merge_run_programs() {
    let labels = "merge-tools.mytool.args=$local $labellocal $labelbase $labelother";
    let tool = ["--tool", "mytool", "--config", labels];
    for does in ["", "exit 1"] {
        for words in [
            &["graft", "2"][..],
            &[
                "rebase",
                "-r",
                "2",
                "-d",
                "1",
                "--config",
                "extensions.rebase=",
            ],
        ] {
            let (twin, _programs) = with_tool(texts, does);
            twin.same(&[words, &tool].concat());
            twin.all_same(&["status", "log -GT {node|short}", "resolve -l"]);
        }
        let (twin, _programs) = with_tool(texts, does);
        twin.each(|path| write(path, "f", b"a\nmine\nc\n"));
        twin.same(&[&["update", "-m", "2"], &tool[..]].concat());
        twin.all_same(&["status", "resolve -l"]);
        let (twin, _programs) = with_tool(texts, does);
        twin.all_same(&[
            "merge --tool :fail",
            "resolve f --tool mytool",
            "resolve -l",
        ]);
        twin.all_same(&[
            "resolve f --re-merge --tool mytool -v",
            "resolve -l",
            "status",
        ]);
    }
}

#[test]
fn wrong_settings_are_refused_before_anything_changes() {
    for setting in ["premerge=nothing", "gui=nothing", "disabled=nothing"] {
        let (twin, _programs) = with_tool(texts, "");
        let setting = format!("merge-tools.mytool.{setting}");
        let ours = twin.run(&["merge", "--config", &setting]).ours;
        assert_eq!(ours.code, Some(30), "{setting}: {}", ours.stderr);
        assert!(ours.stderr.starts_with("config error: "), "{}", ours.stderr);
        assert_eq!(hg().ok(twin.ours(), &["status"]), "");
    }
    let (twin, _programs) = with_tool(texts, "");
    let python = "merge-tools.zz.executable=python:x.py:merge";
    let ours = twin
        .run(&["merge", "--tool", "zz", "--config", python])
        .ours;
    assert!(
        ours.stderr.contains("in Python is not supported"),
        "{}",
        ours.stderr
    );
    assert_eq!(hg().ok(twin.ours(), &["status"]), "");
}

/// Shortens the texts it gets as `DOES` says, and tells their names without directories.
const SETTLES: &str = r#"#!/bin/sh
echo "settle $*" | sed 's#/[^ ]*/##g'
for file in "$@"; do head -n 1 "$file" > "$file.short"; mv "$file.short" "$file"; done
eval "$DOES"
"#;

#[test]
fn programs_settle_a_part_of_the_conflicts_before_the_lines_are_merged() {
    let programs = tempfile::tempdir().unwrap();
    let tool = programs.path().join("settle.sh");
    std::fs::write(&tool, SETTLES).unwrap();
    std::fs::set_permissions(&tool, PermissionsExt::from_mode(0o755)).unwrap();
    let executable = format!("partial-merge-tools.settle.executable={}", tool.display());
    let merges = |does: &str, tool: &str, settings: &[&str]| {
        let twin = Twin::writing(texts).with("DOES", does);
        let mut line = vec!["merge", "2", "--tool", tool, "--config", &executable];
        for setting in settings {
            line.extend(["--config", setting]);
        }
        twin.same(&line);
        // Mercurial has made its backup before a program that fails.
        if does != "exit 0" {
            return;
        }
        twin.all_same(&["status", "resolve -l"]);
        for name in ["f", "g.txt", "f.local", "f.base", "f.other"] {
            let read = |root: &Path| std::fs::read(root.join(name)).ok();
            assert_eq!(read(twin.ours()), read(twin.theirs()), "{name} {line:?}");
        }
    };
    for tool in [
        ":merge3",
        ":union",
        ":merge-local",
        ":merge-other",
        ":mergediff",
        ":dump",
        ":forcedump",
        ":other",
        "false",
    ] {
        merges("exit 0", tool, &[]);
    }
    merges("exit 3", ":merge3", &[]);
    for settings in [
        &["partial-merge-tools.settle.disable=yes"][..],
        &["merge.disable-partial-tools=yes"],
    ] {
        merges("exit 0", ":merge3", settings);
    }
}

#[test]
fn touching_changes_are_merged_if_they_may_be() {
    let sides = [
        ("a\nb\nX\n", "a\nb\nc\nd\n"),
        ("a\nb\nX\n", "a\nY\nc\n"),
        ("a\nc\n", "X\nb\nc\n"),
        ("a\nc\n", "a\nX\nb\nc\n"),
        ("b\nc\n", "a\nc\n"),
        ("a\nb\nX\n", "a\nb\nY\nc\nd\n"),
        ("a\nX\nc\n", "a\nb\nY\nc\n"),
        ("a\nX\nb\nc\n", "a\nY\nb\nc\n"),
        ("a\nb\nc\nX\n", "a\nb\nc\nY\n"),
        ("X\na\nb\nc\n", "Y\nb\nc\n"),
        ("a\nb\nX\nY\n", "a\nb\nc\nZ\n"),
        ("a\nX\nY\nc\n", "a\nZ\nc\n"),
    ];
    for (ours, theirs) in sides {
        for (ours, theirs) in [(ours, theirs), (theirs, ours)] {
            let twin = Twin::writing_with(|hg, path| {
                hg.ok(path, &["init"]);
                write(path, "f", b"a\nb\nc\n");
                commit(hg, path, "base");
                write(path, "f", theirs.as_bytes());
                commit(hg, path, "theirs");
                hg.ok(path, &["update", "-q", "0"]);
                write(path, "f", ours.as_bytes());
                commit(hg, path, "ours");
            });
            let setting = "experimental.relaxed-block-sync-merge=yes";
            twin.same(&["merge", "1", "-t", ":merge3", "--config", setting]);
            let read = |root: &Path| std::fs::read_to_string(root.join("f")).unwrap();
            assert_eq!(
                read(twin.ours()),
                read(twin.theirs()),
                "{ours:?} {theirs:?}"
            );
        }
    }
}

#[test]
fn words_of_a_line_are_quoted_where_mercurial_quotes_them() {
    let make = |hg: &Hg, path: &Path| {
        hg.ok(path, &["init"]);
        for (content, message) in [("base", "0"), ("ours", "1"), ("theirs", "2")] {
            if message == "2" {
                hg.ok(path, &["update", "-q", "0"]);
            }
            for name in ["a@b'c", "a@b", "plain-1", "of,two:=words x"] {
                write(path, name, content.as_bytes());
            }
            commit(hg, path, message);
        }
    };
    let twin = Twin::writing_with(make);
    let program = [
        "--config=ui.merge=t",
        "--config=merge-tools.t.executable=/bin/true",
    ];
    let arguments = "--config=merge-tools.t.args=$output $labellocal";
    twin.same(&[&["merge", "1", "--debug", arguments][..], &program].concat());
}

#[test]
fn a_template_announces_the_program() {
    let twin = Twin::writing(texts);
    let one = |line: &str, template: &str| {
        let mut words: Vec<&str> = line.split(' ').collect();
        let setting = format!("--config=command-templates.pre-merge-tool-output={template}");
        words.push(&setting);
        twin.same(&words);
    };
    let side = "{name} {label} {node|short} {rev} {path} {islink}";
    let sides: String = ["local", "base", "other"]
        .map(|name| side.replace('{', &format!("{{{name}.")))
        .join("\\n");
    for template in [
        "{path} {toolpath} {node} {rev} {local|json} {base|json}\\n",
        &format!("{sides}\\n"),
        "{other.desc} {base % '{desc} {name}'} {revset(other.node) % '{rev}:{shortest(node, 4)}'}\\n",
        "'quoted {path}\\n'",
        "",
    ] {
        one("merge 2 -t true", template);
        twin.all_same(&["update -q -C 1"]);
    }
    one("merge 2 -t :merge", "{wrong");
    twin.all_same(&["update -q -C 1"]);
    one("merge -q 2 -t true", "quiet {path}\\n");
    twin.all_same(&["update -q -C 1"]);
    let older = "--config=ui.pre-merge-tool-output-template=older {path}\\n";
    twin.same(&["merge", "2", "-t", "false", older]);
    one(
        "resolve f -t true",
        "again {path} {if(toolargs, 'args')}\\n",
    );
    twin.all_same(&["update -q -C 1"]);
    let wrong = "--config=command-templates.pre-merge-tool-output={wrong";
    let both = twin.run(&["merge", "2", "-t", "true", wrong]);
    assert_eq!(both.ours.code, both.theirs.code);
    assert!(both.ours.stderr.contains("unterminated template expansion"));
    assert!(
        both.theirs
            .stderr
            .contains("unterminated template expansion")
    );
    twin.all_same(&["resolve -l f", "update -q -C 1"]);
    // The directory is made for the first backup.
    let kept = "-v -t :merge --config ui.origbackuppath=.hg/o/p";
    let line = format!("merge 2 {kept}");
    twin.all_same(&[&line, "update -q -C 1", &line]);
}

#[test]
fn queries_know_where_a_merge_goes() {
    let twin = Twin::writing(texts);
    for query in [
        "_destmerge()",
        "_destmerge(2)",
        "_destmerge(0)",
        "_destmerge(null)",
        "_destmerge(none())",
        "0 + _destmerge(1)",
        "_destmerg()",
    ] {
        twin.same(&["log", "-r", query, "-T", "{rev}\n"]);
    }
    twin.each(|path| drop(hg().ok(path, &["update", "-q", "0"])));
    twin.same(&["log", "-r", "_destmerge()", "-T", "{rev}\n"]);
    twin.all_same(&[
        "update -q 1",
        "merge -q 2 -t :local",
        "phase",
        "phase -s -f",
        "phase",
    ]);
}

#[test]
fn queries_know_where_a_rebase_goes() {
    let twin = Twin::writing(texts);
    for query in [
        "_destrebase()",
        "_destrebase(2)",
        "_destrebase(0)",
        "_destrebase(none())",
    ] {
        let rebase = "--config=extensions.rebase=";
        twin.same(&["log", "-r", query, "-T", "{rev}\n", rebase]);
    }
}
