//! `config`, aliases and defaults; `identify`.

use super::Twin;
use std::path::Path;
use varve_testkit::repos;

const FILE: &str = "[ui]\nusername = A\n[alias]\nr = root\nrr = r -q\nn = nope\nlo = root --nope\n\
    e = !echo $1 \"$@\" x\nfail = !exit 3\nm = manifest -r $1\nempty =\nother = other2\n\
    other2 = other\n[a]\nm = x\n  y\nn = 1\n[zz]\nk =\n\
    [defaults]\nmanifest = -v\n";

/// A repository with two files of configuration.
fn configured() -> Twin {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        std::fs::write(path.join("f"), "x\n").unwrap();
        hg.ok(path, &["commit", "-A", "-m", "one"]);
        std::fs::write(path.join(".hg/hgrc"), "[a]\nlocal = 1\n%include more\n").unwrap();
        std::fs::write(path.join(".hg/more"), "[a]\nincluded = 2\n%unset n\n").unwrap();
    });
    twin.each(|path| std::fs::write(path.join("../user.rc"), FILE).unwrap());
    twin.with("HGRCPATH", "../user.rc").with("HGPLAIN", "")
}

#[test]
fn files_of_a_repository_are_passed_over_on_request() {
    let twin = configured().with("HGRCSKIPREPO", "1");
    twin.all_same(&["config --source a"]);
    // Not even looked at.
    twin.each(|path| std::fs::write(path.join(".hg/hgrc"), "[broken\n").unwrap());
    twin.all_same(&["config a", "manifest"]);
}

#[test]
fn values_are_shown_with_their_places() {
    configured().all_same(&[
        "config",
        "config ui.username",
        "config ui.nope",
        "config ui.username a.m nope.x",
        "config --source a",
        "config --source a.m",
        "config --debug zz",
        "config -T json a.m",
        "config -T json nope",
        "config -v",
        "config -y --config x.y=1 --source",
        "showconfig a",
    ]);
}

#[test]
fn bad_configuration_is_refused_in_the_same_words() {
    let twin = configured();
    for text in ["x\n", "[a\n", "[a]\n  b\n", "%include .\n", "[a]\n=1\n"] {
        twin.each(|path: &Path| std::fs::write(path.join(".hg/more"), text).unwrap());
        twin.same(&["root"]);
    }
}

#[test]
fn aliases_and_defaults_count_unless_plain() {
    let twin = configured();
    twin.all_same(&[
        "rr", "n", "e 1 2", "fail", "m 0", "m", "empty", "manifest", "oth",
    ]);
    twin.same_but_output(&["lo"]);
    let plain = configured().with("HGPLAIN", "1");
    plain.all_same(&["rr", "manifest"]);
    let except = configured()
        .with("HGPLAIN", "1")
        .with("HGPLAINEXCEPT", "alias");
    except.all_same(&["rr", "manifest"]);
}

#[test]
fn directories_and_changesets_are_identified_alike() {
    let lines = [
        "id",
        "id -n",
        "id -i",
        "id -b",
        "id -t",
        "id -B",
        "id -nibtB",
        "id -T json",
    ];
    let twin = Twin::reading();
    twin.all_same(&lines);
    twin.all_same(&[
        "id -r v1.0",
        "id -r null",
        "id -r 3 -T json",
        "id -r nope",
        "id .",
    ]);
    let twin = Twin::writing(|hg, path| {
        varve_testkit::repos::make(hg, path, varve_testkit::repos::DEFAULT);
        hg.ok(path, &["update", "--clean", "-r", "tip"]);
    });
    twin.each(|path| std::fs::write(path.join("README"), "changed\n").unwrap());
    twin.all_same(&["id", "id -n", "id -T json", "id --debug -q"]);
}

#[test]
fn settings_of_another_type_are_refused() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        varve_testkit::repos::write(path, "a", b"a\n");
    });
    twin.all_same(&[
        "status --config ui.verbose=x",
        "status --config ui.statuscopies=zz",
        "status --config ui.relative-paths=foo",
        "status --config ui.tweakdefaults=maybe",
        "commit -m x --config phases.new-commit=nosuch",
    ]);
}

#[test]
fn another_algorithm_of_differences_is_refused() {
    let twin = Twin::reading();
    let both = twin.run(&["diff", "-c", "1", "--config", "experimental.xdiff=yes"]);
    assert_eq!(both.ours.code, Some(255));
    assert_eq!(
        both.ours.stderr,
        "abort: experimental.xdiff is not supported\n"
    );
    twin.same(&["log", "--config", "experimental.xdiff=yes"]);
}

#[test]
fn the_file_to_be_edited_is_chosen() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(
            path,
            &["init", "--config=format.use-share-safe=yes", "safe"],
        );
        hg.ok(path, &["init", "--config=format.use-share-safe=no", "old"]);
        let share = "--config=extensions.share=";
        for name in ["safe", "old"] {
            let named = format!("{name}/.hg/hgrc");
            repos::write(path, &named, format!("# {name}\n").as_bytes());
            hg.ok(
                path,
                &["share", "-q", share, name, &format!("{name}-share")],
            );
        }
        repos::write(path, "safe/.hg/hgrc-not-shared", b"# not shared\n");
    });
    let twin = twin.with("HGEDITOR", "cat");
    for below in ["safe", "safe-share", "old-share"] {
        for level in ["--shared", "--local", "--non-shared"] {
            twin.same_in(below, &["config", level]);
        }
    }
    twin.same_in("safe", &["config", "--local", "--shared"]);
    twin.same_in("safe", &["config", "--edit", "--global", "--non-shared"]);
    twin.same_in("safe", &["config", "--local", "--config=ui.editor=false"]);
    twin.same(&["config", "--shared"]);
}
