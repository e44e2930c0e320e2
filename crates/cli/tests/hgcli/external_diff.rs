//! Differences by other programs, with the extension `extdiff`.

use super::Twin;
use super::state::same_state;
use std::path::Path;
use varve_testkit::peers::Hg;
use varve_testkit::repos::{commit, write};

fn two_changesets(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    for (name, content) in [
        ("a", "a\n"),
        ("d/b", "b\n"),
        ("gone", "gone\n"),
        ("same", "same\n"),
    ] {
        write(path, name, content.as_bytes());
    }
    commit(hg, path, "0");
    write(path, "a", b"a\na2\n");
    write(path, "d/b", b"b\nb2\n");
    write(path, "new file", b"new\n");
    std::fs::remove_file(path.join("gone")).unwrap();
    commit(hg, path, "1");
}

/// Calls both with the extension on.
#[track_caller]
fn same(twin: &Twin, arguments: &[&str]) {
    twin.same(&[arguments, &["--config=extensions.extdiff="]].concat());
}

#[test]
fn programs_get_both_sides() {
    let twin = Twin::writing(two_changesets);
    for line in [
        "extdiff -c 1",
        "extdiff -p cat -c 1 a",
        "extdiff -p echo -c 1",
        "extdiff -p echo -o -x -o -y\\ z -c 1",
        "extdiff -p echo --from 0 --to 1 -v",
        "extdiff -p echo --from 0 --to 1 -X a",
        "extdiff -p echo -c 1 --from 0",
        "extdiff -p echo -r 0 -r 1",
        "extdiff -p echo",
        "extdiff -p echo nosuch",
        "extdiff -p cat -c 1 gone",
        "extdiff -p echo --patch",
        "extdiff -p cat --patch -c 1",
        "extdiff -p cat --patch -r 0 -r 1 -X d",
        "extdiff -p nosuchprogram -c 1",
        "extdiff -p false -c 1",
    ] {
        same(&twin, &line.split(' ').collect::<Vec<_>>());
    }
}

#[test]
fn programs_of_the_configuration_are_commands() {
    let twin = Twin::writing(two_changesets);
    for (line, settings) in [
        (
            "foo -c 1",
            &["extdiff.cmd.foo=echo", "extdiff.opts.foo=-a -b"][..],
        ),
        (
            "foo -c 1",
            &["extdiff.cmd.foo=", "merge-tools.foo.executable=echo"],
        ),
        (
            "foo -c 1",
            &[
                "extdiff.foo=echo \"x  y\" $parent $child $plabel1 $clabel $parent1 $parent2 | sed 's,/.*/,,'",
            ],
        ),
        (
            "foo -c 1 a",
            &["extdiff.foo=echo --L1=$plabel1 '--L2=$clabel'"],
        ),
        ("echo -c 1", &["extdiff.echo="]),
        (
            "echo -c 1",
            &[
                "extdiff.echo=",
                "diff-tools.echo.diffargs=--$plabel1 $child",
            ],
        ),
        (
            "echo -c 1 a",
            &[
                "extdiff.echo=",
                "merge-tools.echo.diffargs=--$plabel1 $child",
            ],
        ),
        (
            "echo -c 1 -o -z",
            &["extdiff.echo=", "diff-tools.echo.diffargs=$child"],
        ),
        ("nope -c 1", &["extdiff.nope="]),
        (
            "nope -c 1",
            &["extdiff.nope=", "merge-tools.nope.executable=echo"],
        ),
    ] {
        let settings: Vec<String> = settings
            .iter()
            .map(|one| format!("--config={one}"))
            .collect();
        let words = line.split(' ').chain(settings.iter().map(String::as_str));
        same(&twin, &words.collect::<Vec<_>>());
    }
    twin.same(&["extdiff"]);
}

#[test]
fn what_a_program_changes_comes_back() {
    let twin = Twin::writing(two_changesets);
    twin.each(|path| {
        write(path, "a", b"local\n");
        write(path, "d/b", b"local\n");
    });
    let edit = "--config=extdiff.edit=for f in $child/a $child/d/b; do echo edited >> $f; done; find $child -type f | sort; cat $parent/a";
    same(&twin, &["edit", edit]);
    same_state(&twin);
    let one = "--config=extdiff.one=echo edited >> $child; cat $child $parent";
    same(&twin, &["one", "--per-file", one, "-v"]);
    same_state(&twin);
    same(&twin, &["one", one, "a"]);
    same_state(&twin);
    let each = "--config=extdiff.each=echo $plabel1 $clabel; cat $parent $child";
    same(
        &twin,
        &[
            "each",
            "--per-file",
            each,
            "--from",
            "0",
            "same",
            "a",
            "gone",
            "d",
        ],
    );
    let answers = ["--confirm", "--config=ui.interactive=yes"];
    let words = [
        &["each", "--per-file", each, "--config=extensions.extdiff="][..],
        &answers,
    ]
    .concat();
    twin.same_answering(&words, "?\nn\nx\ny\n");
    same_state(&twin);
}
