//! Working copies that share the history of another repository, made and used by both programs.

use super::{Twin, our_hg};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use varve_testkit::peers::{Hg, hg, hg_program};
use varve_testkit::repos::{commit, write};

const ON: &str = "--config extensions.share=";

/// A repository with two changesets in `src`, below the root of each copy.
fn history(hg: &Hg, root: &Path) {
    let path = &root.join("src");
    std::fs::create_dir_all(path).unwrap();
    hg.ok(path, &["init"]);
    write(path, "a", b"a\n");
    commit(hg, path, "zero");
    write(path, "a", b"A\n");
    commit(hg, path, "one");
    hg.ok(path, &["bookmark", "-r", "0", "mark"]);
}

/// Files that make a directory a share, by their names.
fn files(root: &Path) -> BTreeMap<PathBuf, String> {
    let names = [
        "requires",
        "sharedpath",
        "sharedpath.old",
        "shared",
        "hgrc",
        "bookmarks",
        "00changelog.i",
        "store/requires",
        "store/fncache",
        "store/phaseroots",
    ];
    let top = root.parent().unwrap().to_str().unwrap();
    let read = |name: &str| {
        let bytes = std::fs::read(root.join(".hg").join(name)).ok()?;
        let text = String::from_utf8_lossy(&bytes).replace(top, "TOP");
        Some((PathBuf::from(name), text))
    };
    names.into_iter().filter_map(read).collect()
}

#[track_caller]
fn same_files(twin: &Twin, name: &str) {
    let [theirs, ours] = [twin.theirs(), twin.ours()].map(|root| {
        let mut found = files(&root.join(name));
        let top = root.to_str().unwrap();
        for text in found.values_mut() {
            *text = text.replace(top, "TOP");
        }
        found
    });
    assert_eq!(theirs, ours, "{name}");
}

#[test]
fn shares_are_made_alike() {
    let twin = Twin::writing(history);
    for (options, name) in [
        ("", "s"),
        ("-U", "empty"),
        ("-B", "marks"),
        ("--relative", "near"),
        ("-B --relative -q", "both"),
    ] {
        twin.all_same(&[&format!("share {options} src {name} {ON}")]);
        same_files(&twin, name);
        twin.all_same(&[
            &format!("log -R {name} -p"),
            &format!("root -R {name} -T json"),
        ]);
        twin.all_same(&[
            &format!("debugrequires -R {name}"),
            &format!("bookmarks -R {name} {ON}"),
        ]);
    }
    twin.all_same(&[
        &format!("share src s {ON}"),
        &format!("share nosuch z {ON}"),
        &format!("share http://127.0.0.1:1/ z {ON}"),
        &format!("share s second {ON}"),
        &format!("share --relative s third {ON}"),
        "bookmarks -R marks",
    ]);
    same_files(&twin, "second");
    same_files(&twin, "third");
    twin.each(|root| {
        write(
            &root.join("src"),
            ".hg/hgrc",
            b"[paths]\ndefault = http://127.0.0.1:1/x\n[alias]\nhi = log -T hi\n",
        );
    });
    twin.all_same(&[
        &format!("share src named {ON}"),
        "hi -R named",
        "paths -R named",
    ]);
    same_files(&twin, "named");
}

#[test]
fn old_repositories_are_shared_without_their_configuration() {
    let twin = Twin::writing(|hg, root| {
        let path = &root.join("src");
        std::fs::create_dir_all(path).unwrap();
        hg.ok(path, &["init", "--config", "format.use-share-safe=no"]);
        write(path, "a", b"a\n");
        commit(hg, path, "zero");
        write(path, ".hg/hgrc", b"[alias]\nhi = log -T hi\n");
    });
    twin.all_same(&[&format!("share src s {ON}"), "log -R s", "hi -R s"]);
    same_files(&twin, "s");
}

#[test]
fn what_is_done_in_one_is_in_the_other() {
    let twin = Twin::writing(history);
    twin.all_same(&[&format!("share -B src s {ON}")]);
    let programs = [hg_program(), our_hg()];
    for (number, program) in programs.iter().cycle().take(4).enumerate() {
        let words = |root: &Path, below: &str, words: &[&str]| {
            let mut command = Command::new(program);
            command.args(words).args(["--config", "extensions.share="]);
            command
                .current_dir(root.join(below))
                .env("HGRCPATH", "")
                .env("HGUSER", "u");
            let output = command.output().unwrap();
            assert!(output.status.success(), "{words:?} {output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        let below = if number < 2 { "s" } else { "src" };
        let root = twin.ours();
        std::fs::write(root.join(below).join("b"), format!("{number}\n")).unwrap();
        let date = format!("{number} 0");
        words(root, below, &["commit", "-A", "-m", "more", "-d", &date]);
        words(root, below, &["bookmark", &format!("m{number}")]);
        for other in ["s", "src"] {
            let there = words(root, other, &["log", "-T", "{node} {phase} {bookmarks}\n"]);
            assert!(there.contains(&format!("m{number}")), "{there}");
            assert_eq!(hg().ok(&root.join(other), &["verify", "-q"]), "");
        }
        words(root, "src", &["update", "-q", "-C", "tip"]);
        words(root, "s", &["update", "-q", "-C", "tip"]);
    }
}

#[test]
fn a_share_gets_its_own_store() {
    for publish in ["yes", "no"] {
        let twin = Twin::writing(history);
        let setting = format!("--config phases.publish={publish}");
        twin.all_same(&[&format!("share src s {ON}")]);
        twin.each(|root| write(&root.join("s"), "a", b"local\n"));
        twin.all_same(&[
            &format!("unshare -R s {ON} {setting}"),
            &format!("unshare -R s {ON}"),
            &format!("unshare -R src {ON}"),
            "status -R s",
            "log -R s -T {rev}{phase}{bookmarks}\\n",
            "verify -R s -q",
        ]);
        same_files(&twin, "s");
        twin.each(|root| std::fs::remove_dir_all(root.join("src")).unwrap());
        twin.all_same(&["log -R s -p"]);
    }
}

#[test]
fn what_does_not_fit_is_told_alike() {
    let twin = Twin::writing(history);
    twin.all_same(&[&format!("share src s {ON}"), "share src x", "unshare -R s"]);
    twin.each(|root| std::fs::rename(root.join("src"), root.join("gone")).unwrap());
    twin.all_same(&["log -R s", "status -R s"]);
    twin.each(|root| std::fs::rename(root.join("gone"), root.join("src")).unwrap());
    let requires = |text: &'static str| {
        move |root: &Path| std::fs::write(root.join("s/.hg/requires"), text).unwrap()
    };
    twin.each(requires(
        "dotencode\nfncache\ngeneraldelta\nrevlogv1\nshared\nsparserevlog\nstore\n",
    ));
    twin.all_same(&["log -R s"]);
    let refused = [
        "log",
        "-R",
        "s",
        "--config",
        "share.safe-mismatch.source-safe=allow",
    ];
    let ours = twin.run(&refused).ours;
    assert!(
        ours.stderr.contains("source-safe=allow is not supported"),
        "{}",
        ours.stderr
    );
}

#[test]
fn clones_of_shares_are_whole() {
    let twin = Twin::writing(history);
    twin.all_same(&[
        &format!("share src s {ON}"),
        "clone -q s copy",
        "clone -q --pull s pulled",
    ]);
    for name in ["copy", "pulled"] {
        twin.all_same(&[
            &format!("debugrequires -R {name}"),
            &format!("log -R {name} -T {{node}}\\n"),
        ]);
        // Mercurial's file has comments for the user.
        twin.each(|root| std::fs::remove_file(root.join(name).join(".hg/hgrc")).unwrap());
        // Mercurial leaves a file without roots behind where all phases have become public.
        twin.each(|root| {
            let roots = root.join(name).join(".hg/store/phaseroots");
            if std::fs::read(&roots).is_ok_and(|text| text.is_empty()) {
                std::fs::remove_file(roots).unwrap();
            }
        });
        same_files(&twin, name);
    }
}

#[test]
fn pools_are_refused_by_name() {
    let twin = Twin::writing(history);
    let pool = ["--config", "share.pool=pool"];
    let clone = |more: &[&str], target| {
        let words = [&["clone", "-q", "src", target][..], &pool, more].concat();
        twin.run(&words).ours
    };
    let refused = clone(&["--config", "extensions.share="], "pooled");
    assert_eq!(refused.code, Some(255));
    assert!(refused.stderr.contains("share.pool is not supported"));
    // Without the extension the setting means nothing.
    assert_eq!(clone(&[], "plain").code, Some(0));
}

#[test]
fn the_source_of_a_share_has_a_root() {
    let twin = Twin::writing(history);
    twin.all_same(&[
        &format!("share -q src s {ON}"),
        &format!("share -q src relative --relative {ON}"),
        "-R s root --share-source",
        "-R s root --share-source -T json",
        "-R relative root --share-source -T json",
        "-R s root -T json",
        "-R src root --share-source",
        "-R src root --share-source -T json",
    ]);
}
