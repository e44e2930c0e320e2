//! Bundles of the real `hg`, of every type, in repositories of both programs.

use super::Twin;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use varve_testkit::peers::{Hg, hg};

const TYPES: &[&str] = &[
    "none-v1", "gzip-v1", "bzip2-v1", "none-v2", "gzip-v2", "bzip2-v2", "zstd-v2", "none-v3",
    "zstd-v3",
];

/// A file of a bundle that lives as long as this.
struct Made {
    directory: TempDir,
}

impl Made {
    /// By `hg bundle` in `source`, with these arguments.
    fn by(source: &Path, arguments: &[&str]) -> Made {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("b.hg");
        let words = [&["bundle", "-q"], arguments, &[path.to_str().unwrap()]].concat();
        hg().ok(source, &words);
        Made { directory }
    }

    fn of(bytes: &[u8]) -> Made {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("b.hg"), bytes).unwrap();
        Made { directory }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("b.hg")
    }

    fn text(&self) -> String {
        self.path().to_str().unwrap().to_owned()
    }

    fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.path()).unwrap()
    }
}

fn empty(hg: &Hg, root: &Path) {
    hg.ok(root, &["init"]);
}

/// All that `hg` tells of a repository.
fn everything(root: &Path) -> String {
    let hg = hg();
    let log = hg.ok(root, &["log", "--debug", "-p", "--hidden"]);
    let phases = hg.ok(
        root,
        &[
            "log",
            "--hidden",
            "-T",
            "{rev} {phase} {bookmarks} {obsolete}\n",
        ],
    );
    // It ends with an error if there are none.
    let manifests = hg.run(root, &["debugindex", "-m"]);
    log + &phases + &manifests.stdout + &manifests.stderr
}

/// Both repositories are sound and alike.
#[track_caller]
fn check(twin: &Twin) {
    let said = hg().ok(twin.ours(), &["verify"]);
    assert!(!said.contains("warning"), "{said}");
    assert!(everything(twin.ours()) == everything(twin.theirs()));
    assert!(!twin.ours().join(".hg/store/journal").exists());
}

fn rich() -> PathBuf {
    Twin::reading().theirs().to_owned()
}

#[test]
fn bundles_of_every_type_bring_all() {
    for kind in TYPES {
        let made = Made::by(&rich(), &["-a", "-t", kind]);
        let twin = Twin::writing(empty);
        twin.same(&["unbundle", &made.text()]);
        check(&twin);
        twin.same(&["unbundle", &made.text()]);
        twin.same(&["log", "-G", "-T", "{rev} {phase} {desc}\n"]);
    }
}

/// Heads, a merge, a closed branch, and changesets of all phases.
fn branchy(hg: &Hg, root: &Path) {
    hg.ok(root, &["init"]);
    let commit = |file: &str, more: &[&str]| {
        std::fs::write(root.join(file), format!("{file}\n")).unwrap();
        hg.ok(root, &["add", "-q", file]);
        let words = ["commit", "-m", file, "-d", "0 0"];
        hg.ok(root, &[&words[..], more].concat());
    };
    commit("a", &[]);
    commit("b", &[]);
    hg.ok(root, &["update", "-q", "0"]);
    hg.ok(root, &["branch", "-q", "side"]);
    commit("c", &[]);
    commit("d", &["--close-branch"]);
    hg.ok(root, &["update", "-q", "0"]);
    commit("e", &[]);
    hg.ok(root, &["merge", "-q", "1"]);
    hg.ok(root, &["commit", "-m", "merge", "-d", "0 0"]);
    hg.ok(root, &["phase", "-p", "1"]);
    hg.ok(root, &["update", "-q", "1"]);
    commit("f", &["--secret"]);
}

#[test]
fn what_is_known_is_passed_over_and_heads_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    branchy(&hg(), directory.path());
    let all = |kind| Made::by(directory.path(), &["-a", "-t", kind]);
    let some = |revs: &str, base: &str| {
        let revs = ["-r", revs, "--base", base, "-t", "none-v2"];
        Made::by(directory.path(), &revs)
    };
    let steps = [
        some("1", "null"),
        some("2", "0"),
        some("3", "0"),
        some("5", "1"),
        all("none-v1"),
        all("zstd-v3"),
    ];
    let twin = Twin::writing(empty);
    for step in &steps {
        twin.same(&["unbundle", &step.text()]);
        check(&twin);
    }
    let twin = Twin::writing(empty);
    twin.same(&["unbundle", &steps[1].text()]);
    twin.same(&["unbundle", "-q", &steps[0].text()]);
    let two = [steps[2].text(), steps[5].text()];
    twin.same(&["unbundle", &two[0], &two[1]]);
    check(&twin);
    twin.same(&["unbundle", "-u", &two[0]]);
    twin.same(&["id"]);
}

#[test]
fn phases_bookmarks_and_markers_come_along() {
    let directory = tempfile::tempdir().unwrap();
    let evolving = hg().with_config(&["experimental.evolution=all"]);
    branchy(&evolving, directory.path());
    std::fs::write(directory.path().join("f"), "other\n").unwrap();
    evolving.ok(
        directory.path(),
        &["commit", "--amend", "-m", "g", "-d", "0 0"],
    );
    evolving.ok(directory.path(), &["bookmark", "-r", "5", "here"]);
    for spec in [
        "none-v2;phases=true",
        "none-v2;obsolescence=true;phases=true",
        "none-v3;bookmarks=true",
    ] {
        let path = directory.path().join("b.hg");
        let path = path.to_str().unwrap();
        evolving.ok(
            directory.path(),
            &["bundle", "-q", "--hidden", "-a", "-t", spec, path],
        );
        let twin = Twin::writing(empty);
        let on = "experimental.evolution=all";
        twin.same(&["unbundle", "--config", on, path]);
        twin.same(&[
            "log",
            "--config",
            on,
            "-G",
            "-T",
            "{rev} {phase} {bookmarks} {desc}\n",
        ]);
        check(&twin);
        let twin = Twin::writing(empty);
        twin.same(&["unbundle", path]);
        twin.same(&["log", "-T", "{rev} {phase}\n"]);
    }
}

#[test]
fn public_changesets_publish_what_was_draft() {
    let directory = tempfile::tempdir().unwrap();
    branchy(&hg(), directory.path());
    let early = Made::by(directory.path(), &["-a", "-t", "none-v2"]);
    hg().ok(directory.path(), &["phase", "-p", "5"]);
    let late = Made::by(directory.path(), &["-a", "-t", "none-v3"]);
    let twin = Twin::writing(empty);
    twin.same(&["unbundle", &early.text()]);
    twin.same(&["unbundle", &late.text()]);
    check(&twin);
}

#[test]
fn what_cannot_be_used_is_refused_in_the_same_words() {
    let made = Made::by(&rich(), &["-a", "-t", "none-v2"]);
    let twin = Twin::writing(empty);
    let part = |name: &str, params: &[(&str, &str)]| {
        let mut head = vec![name.len() as u8];
        head.extend(name.as_bytes());
        head.extend([0, 0, 0, 0, params.len() as u8, 0]);
        params
            .iter()
            .for_each(|(k, v)| head.extend([k.len() as u8, v.len() as u8]));
        params
            .iter()
            .for_each(|(k, v)| head.extend([k.as_bytes(), v.as_bytes()].concat()));
        let len = (head.len() as u32).to_be_bytes();
        [b"HG20\0\0\0\0", &len[..], &head, &[0; 8]].concat()
    };
    let cases: &[Vec<u8>] = &[
        b"hello".to_vec(),
        b"".to_vec(),
        b"HG30".to_vec(),
        b"HG10XX".to_vec(),
        b"HG20\0\0\0\x05Foo=1\0\0\0\0".to_vec(),
        b"HG20\0\0\0\x0eCompression=XX\0\0\0\0".to_vec(),
        part("NEVER:HEARD", &[]),
        part(
            "CHANGEGROUP",
            &[("version", "02"), ("odd", "1"), ("and", "2")],
        ),
        part("error:abort", &[("message", "no"), ("hint", "never")]),
        part("never:heard", &[]),
    ];
    for bytes in cases {
        twin.same(&["unbundle", &Made::of(bytes).text()]);
    }
    twin.same(&["unbundle", "missing.hg"]);
    let packed = Made::of(&made.bytes());
    hg().ok(&rich(), &["debugcreatestreamclonebundle", &packed.text()]);
    twin.same(&["unbundle", &packed.text()]);
    let refused = twin.run(&["unbundle", "http://localhost:1/x.hg"]).ours;
    let words = "cannot read a bundle from http://localhost:1/x.hg";
    assert!(refused.stderr.contains(words), "{}", refused.stderr);
    assert_eq!(hg().ok(twin.ours(), &["log"]), "");
}

#[test]
fn a_cut_or_damaged_bundle_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    branchy(&hg(), directory.path());
    let half = Made::by(
        directory.path(),
        &["-r", "1", "--base", "null", "-t", "none-v2"],
    );
    for kind in ["none-v1", "none-v2", "none-v3"] {
        let whole = Made::by(directory.path(), &["-a", "-t", kind]).bytes();
        let twin = Twin::writing(empty);
        twin.same(&["unbundle", "-q", &half.text()]);
        let before = everything(twin.ours());
        for at in (0..whole.len()).step_by(whole.len() / 40) {
            let made = Made::of(&whole[..at]);
            let words = ["unbundle", &made.text()];
            if kind == "none-v1" {
                twin.same(&words);
                continue;
            }
            // Of a bundle2, hg takes whole chunks, and its output lags behind.
            let said = twin.run(&words).ours;
            let is_cut = said.stderr.contains("abort: stream ended unexpectedly (");
            let is_cut = is_cut || said.stderr.contains("abort: stream ended unexpectedly  (");
            assert!(said.code == Some(255) && is_cut, "{said}");
        }
        assert!(before == everything(twin.ours()));
        check(&twin);
    }
    // One bit in the text of a changeset.
    let mut flipped = Made::by(directory.path(), &["-a", "-t", "none-v1"]).bytes();
    flipped[6 + 4 + 80 + 50] ^= 1;
    let twin = Twin::writing(empty);
    twin.same(&["unbundle", &Made::of(&flipped).text()]);
}

#[test]
fn hooks_learn_what_comes_and_may_refuse() {
    const KINDS: &[&str] = &[
        "pretxnopen",
        "prechangegroup",
        "pretxnchangegroup",
        "pretxnclose-phase",
        "pretxnclose",
        "txnclose-phase",
        "txnclose",
        "txnabort",
        "changegroup",
        "incoming",
    ];
    const TELL: &str =
        "env | grep ^HG_ | grep -v ^HG_TXNID | sort; $HG log -T '{rev} {phase},'; echo";
    let directory = tempfile::tempdir().unwrap();
    branchy(&hg(), directory.path());
    for kind in ["none-v1", "none-v2"] {
        let made = Made::by(directory.path(), &["-a", "-t", kind]);
        for refusing in ["", "prechangegroup", "pretxnchangegroup", "pretxnclose"] {
            let twin = Twin::writing(empty);
            let line = |kind: &&str| match *kind == refusing {
                true => format!("{kind} = false\n"),
                false => format!("{kind} = {TELL}\n"),
            };
            let lines: String = KINDS.iter().map(line).collect();
            let text = format!("[hooks]\n{lines}");
            twin.each(|root| std::fs::write(root.join(".hg/hgrc"), &text).unwrap());
            twin.same(&["unbundle", &made.text()]);
            twin.each(|root| std::fs::remove_file(root.join(".hg/hgrc")).unwrap());
            check(&twin);
        }
    }
}
