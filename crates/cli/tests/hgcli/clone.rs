//! `clone` of local repositories.

use super::Twin;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use varve_testkit::peers::hg;
use varve_testkit::repos;

/// Verifies the clone `name` beside each copy, and compares both through the real program.
#[track_caller]
fn same_clone(twin: &Twin, name: &str) {
    let told = |root: &std::path::Path| {
        let (hg, path) = (hg(), root.parent().unwrap().join(name));
        let template = "{rev} {node} {phase} {bookmarks} {tags} {files}\n";
        let commands = [
            &["verify"][..],
            &["log", "-T", template],
            &["status", "-A"],
            &["bookmarks"],
            &["branch"],
            &["identify"],
            &["debugrequires"],
            &["paths", "default"],
        ];
        let said = hg.run_all(&path, &commands);
        assert_eq!(said[0].stderr, "");
        let mut said: Vec<String> = said.into_iter().map(|it| it.success()).collect();
        let source = said.pop().unwrap();
        assert_eq!(source.trim_end(), root.to_str().unwrap());
        said.split_off(1)
    };
    assert_eq!(told(twin.theirs()), told(twin.ours()), "{name}");
}

#[test]
fn clones_of_all_kinds_are_the_same() {
    let twin = Twin::writing(|hg, path| repos::make(hg, path, repos::DEFAULT));
    for (name, options) in [
        ("linked", ""),
        ("empty", "-U"),
        ("pulled", "--pull"),
        ("streamed", "--stream -q"),
        ("uncompressed", "--uncompressed"),
        ("tag", "-u v1.0"),
        ("bookmark", "-u feature"),
        ("branch", "-b stable"),
        ("part", "-r feature"),
        ("parts", "-r 3 -r v1.0 -u 2"),
        ("drafts", "--pull --config phases.publish=no"),
        ("verbose", "-v -r 0"),
    ] {
        let line = format!("clone {options} . ../{name}");
        let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
        if name == "verbose" {
            // The real program also counts the pulled bytes.
            twin.run(&words).ours.success();
        } else {
            twin.same(&words);
        }
        same_clone(&twin, name);
    }
    let links = |name: &str| {
        let path = twin.ours().parent().unwrap().join(name);
        let changelog = path.join(".hg/store/00changelog.d");
        std::fs::metadata(changelog).unwrap().nlink()
    };
    assert!(links("linked") > 1 && links("pulled") == 1);
}

#[test]
fn what_is_secret_stays_behind() {
    let twin = Twin::writing(|hg, path| {
        repos::make(hg, path, repos::DEFAULT);
        repos::add_secret(hg, path);
    });
    twin.same(&["clone", ".", "../open"]);
    same_clone(&twin, "open");
    assert!(
        !twin
            .ours()
            .parent()
            .unwrap()
            .join("open/secret.txt")
            .exists()
    );
}

#[test]
fn wrong_sources_and_destinations_are_refused() {
    let twin = Twin::writing(|hg, path| {
        std::fs::create_dir_all(path).unwrap();
        hg.ok(path, &["init"]);
        repos::write(path, "full/file", b"");
    });
    twin.all_same(&[
        "clone nowhere",
        "clone . full",
        "clone . full/file",
        "clone -U -u 0 . x",
        "clone -r 99 . y",
        "clone . ../nothing",
        "clone --pull . ../nothing2",
    ]);
    twin.same(&["clone", ".", ""]);
    twin.all_same(&[
        "clone -e false ssh://nobody@nowhere/x z",
        "clone --config ui.ssh=nosuchprogram ssh://nobody@nowhere/x z",
        "init http://nowhere/x",
    ]);
    twin.all_same(&[
        "clone -e false . ssh://nobody@nowhere/x",
        "clone . http://nowhere/x",
        "init -e false ssh://nobody@nowhere/x",
        "init ssh://a:b@nowhere/x",
    ]);
}

/// A revision of a file, and one of the manifest, that several changesets introduce.
#[test]
fn a_part_of_the_history_has_what_it_shares_with_the_rest() {
    let twin = Twin::writing(|hg, root| {
        hg.run(root.parent().unwrap(), &["init", root.to_str().unwrap()]);
        let write = |name: &str, text: &str| std::fs::write(root.join(name), text).unwrap();
        let commit = |words: &[&str]| {
            hg.run(
                root,
                &[&["commit", "-q", "-A", "-d", "0 0", "-m"], words].concat(),
            );
        };
        write("base", "base\n");
        commit(&["base"]);
        write("shared", "same\n");
        commit(&["one"]);
        hg.run(root, &["update", "-q", "0"]);
        write("shared", "same\n");
        commit(&["the manifest of one", "-u", "another"]);
        hg.run(root, &["update", "-q", "0"]);
        write("shared", "same\n");
        write("more", "more\n");
        commit(&["three"]);
        write("shared", "changed\n");
        commit(&["four"]);
    });
    for rev in ["1", "2", "3", "4"] {
        let name = format!("clone-{rev}");
        twin.same(&["clone", "-U", "-r", rev, ".", &name]);
        for words in [
            &["verify"][..],
            &["log", "-T", "{rev} {node} {files}\n"],
            &["debugindex", "-m"],
            &["debugindex", "shared"],
        ] {
            twin.same_in(&name, words);
        }
    }
}

#[test]
fn a_branch_or_changeset_stands_behind_the_hash() {
    let twin = Twin::writing(|hg, path| {
        let source = path.join("source");
        std::fs::create_dir(&source).unwrap();
        hg.ok(&source, &["init"]);
        for (branch, name) in [("default", "a"), ("default", "b"), ("other", "c")] {
            hg.ok(&source, &["branch", "-f", branch]);
            repos::write(&source, name, b"text\n");
            repos::commit(hg, &source, name);
        }
        hg.ok(&source, &["update", "0"]);
        repos::write(&source, "d", b"text\n");
        repos::commit(hg, &source, "d");
        hg.ok(&source, &["bookmark", "-r", "0", "mark"]);
    });
    for (name, line) in [
        ("one", "clone source#other one"),
        ("two", "clone -q source#mark two"),
        ("three", "clone source#1 three"),
        ("four", "clone -b other source#default four"),
        ("five", "clone source#nosuch five"),
        ("six", "clone --pull source#other six"),
        ("source", "clone source#other"),
    ] {
        twin.all_same(&[line]);
        twin.same(&["-R", name, "log", "-T", "{rev} {branch} {bookmarks}\\n"]);
        twin.same(&["-R", name, "identify"]);
        twin.same(&["-R", name, "paths"]);
    }
    twin.same_in("one", &["pull"]);
    twin.same_in("one", &["incoming"]);
    twin.same_in("one", &["outgoing"]);
}

#[test]
fn a_clone_by_copying_has_the_same_files_around_its_store() {
    let twin = Twin::writing(|hg, path| {
        for (name, is_empty) in [("empty", true), ("some", false)] {
            let source = path.join(name);
            std::fs::create_dir(&source).unwrap();
            hg.ok(&source, &["init"]);
            if !is_empty {
                repos::write(&source, "a", b"text\n");
                repos::commit(hg, &source, "a");
            }
        }
    });
    let names = [
        "00changelog.i",
        "branch",
        "cache",
        "hgrc",
        "requires",
        "store",
        "wcache",
    ];
    for line in ["clone empty one", "clone -U some two", "clone some three"] {
        twin.all_same(&[line]);
        let target = line.rsplit(' ').next().unwrap();
        twin.each(|path| {
            let hg = path.join(target).join(".hg");
            for name in names {
                assert!(
                    hg.join(name).exists(),
                    "{}/{name} after {line}",
                    hg.display()
                );
            }
            assert_eq!(std::fs::read(hg.join("branch")).unwrap(), b"default\n");
        });
    }
    let settings = |root: &Path, name: &str| {
        let text = std::fs::read_to_string(root.join(name).join(".hg/hgrc")).unwrap();
        text.replace(root.to_str().unwrap(), "ROOT")
    };
    let [theirs, ours] = [twin.theirs(), twin.ours()].map(|root| settings(root, "three"));
    assert_eq!(ours, theirs);
    twin.all_same(&["clone --pull some four"]);
    twin.each(|path| assert!(path.join("four/.hg/wcache").is_dir()));
}
