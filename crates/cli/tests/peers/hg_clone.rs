//! `hg` gets the same from Varve as from the same repository on the local disk, for
//! every format that stock `hg` makes.

use super::Site;
use std::path::{Path, PathBuf};
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::{self, VARIANTS, Variant};

/// One served repository and an empty directory to clone into.
struct Scene {
    hg: Hg,
    source: PathBuf,
    url: String,
    work: tempfile::TempDir,
}

impl Scene {
    /// Clones from Varve and from the local disk with the same options; returns where Varve's is.
    fn clone_both(&self, name: &str, options: &[&str]) -> PathBuf {
        let source = self.source.to_str().unwrap();
        let local = self.work.path().join(format!("{name}-local"));
        let remote = self.work.path().join(name);
        for (from, to) in [(source, &local), (self.url.as_str(), &remote)] {
            let arguments = [&["clone"], options, &[from, to.to_str().unwrap()]].concat();
            self.hg.ok(self.work.path(), &arguments);
        }
        self.same(&remote, &local);
        remote
    }

    /// Fails unless a clone is whole and has the history of another.
    fn same(&self, remote: &Path, local: &Path) {
        let log = ["log", "--debug", "-p", "--git"];
        let said = self.hg.run_all(remote, &[&["verify"], &log, &["status"]]);
        let said: Vec<String> = said.into_iter().map(|it| it.success()).collect();
        let [verified, ours, status] = &said[..] else {
            panic!("{said:?}");
        };
        assert!(!verified.contains("warning"), "{verified}");
        let theirs = &self.hg.ok(local, &log);
        if ours != theirs {
            let differing = ours.lines().zip(theirs.lines()).find(|(a, b)| a != b);
            panic!("histories differ, first in {differing:?}");
        }
        assert_eq!(status, "");
    }
}

/// Runs a check on a site that serves one repository.
fn with_repository(name: &str, make: impl Fn(&Hg, &Path), check: impl Fn(&Scene)) {
    let site = Site::new();
    let (hg, source) = (hg(), site.repository(name));
    make(&hg, &source);
    let server = site.serve();
    let scene = Scene {
        hg,
        source,
        url: server.url(&format!("/hg/{name}")),
        work: tempfile::tempdir().unwrap(),
    };
    check(&scene);
}

fn every_exchange(scene: &Scene) {
    scene.clone_both("pulled", &["--pull"]);
    let streamed = scene.clone_both("streamed", &["--stream"]);
    let store = |path: &Path| {
        std::fs::metadata(path.join(".hg/store/00manifest.i"))
            .unwrap()
            .len()
    };
    assert_eq!(store(&streamed), store(&scene.source), "not streamed");
    let part = scene.clone_both("part", &["-r", "v1.0"]);
    incoming(scene, &part);
    pull(scene, &part);
    identify(scene);
}

fn incoming(scene: &Scene, part: &Path) {
    let Scene {
        hg, source, url, ..
    } = scene;
    let list = |from: &str| {
        hg.ok(
            part,
            &["incoming", "-q", "-p", "-T", "{node} {desc}\n", from],
        )
    };
    let expected = list(source.to_str().unwrap());
    assert!(expected.lines().count() > 5, "{expected}");
    assert_eq!(list(url), expected);
}

/// The rest of the history arrives in a clone that has part of it.
fn pull(scene: &Scene, part: &Path) {
    let Scene {
        hg,
        source,
        url,
        work,
    } = scene;
    let local = work.path().join("part-local");
    hg.ok(part, &["pull", "--update", url]);
    hg.ok(&local, &["pull", "--update", source.to_str().unwrap()]);
    scene.same(part, &local);
    let nothing = hg.fails(part, &["incoming", url]);
    assert!(nothing.contains("no changes found"), "{nothing}");
    let pulled = hg.ok(part, &["pull", url]);
    assert!(pulled.contains("no changes found"), "{pulled}");
}

fn identify(scene: &Scene) {
    let Scene {
        hg,
        source,
        url,
        work,
    } = scene;
    for key in [
        "tip",
        "v1.0",
        "stable",
        "default",
        "@",
        "feature",
        "0",
        "br\u{e4}nch with spaces",
    ] {
        let expected = hg.ok(source, &["log", "-r", key, "-T", "{short(node)}\n"]);
        let found = hg.ok(work.path(), &["identify", "--id", "-r", key, url]);
        assert_eq!(found, expected, "{key}");
    }
    let node = hg.ok(source, &["log", "-r", "3", "-T", "{node}"]);
    for key in [&node[..], &node[..9]] {
        // Debug output has full ids, among lines about the requests.
        let said = hg.ok(
            work.path(),
            &["identify", "--debug", "--id", "-r", key, url],
        );
        assert!(said.lines().any(|line| line == node), "{said}");
    }
    let arguments = [
        "debugwireargs",
        url,
        "un",
        "d eux",
        "--three=%&=",
        "--five=5",
    ];
    assert_eq!(hg.ok(work.path(), &arguments), "un d eux %&= None None\n");
    let said = hg.fails(work.path(), &["identify", "-r", "nobody", url]);
    assert!(said.contains("unknown revision 'nobody'"), "{said}");
}

fn rich(variant: Variant) {
    let name = format!("team/{}", variant.name);
    with_repository(
        &name,
        |hg, path| repos::make(hg, path, variant),
        every_exchange,
    );
}

fn variant(name: &str) -> Variant {
    let found = VARIANTS.iter().find(|variant| variant.name == name);
    *found.expect("the variant is in the table")
}

#[test]
fn zstd_repositories() {
    rich(variant("zstd"));
}

#[test]
fn zlib_repositories() {
    rich(variant("zlib"));
}

#[test]
fn repositories_without_general_delta() {
    rich(variant("no-general-delta"));
}

#[test]
fn repositories_without_sparse_revlog() {
    rich(variant("no-sparse-revlog"));
}

#[test]
fn repositories_without_dotencode() {
    rich(variant("no-dotencode"));
}

#[test]
fn every_variant_of_the_table_has_a_test() {
    assert_eq!(VARIANTS.len(), 5);
}

#[test]
fn a_long_history_with_a_split_changelog() {
    with_repository("long", repos::make_long, |scene| {
        assert!(scene.source.join(".hg/store/00changelog.d").exists());
        scene.clone_both("pulled", &["--pull", "-U"]);
        scene.clone_both("streamed", &["--stream"]);
        let part = scene.clone_both("part", &["-r", "100"]);
        pull(scene, &part);
    });
}

#[test]
fn a_repository_that_does_not_publish_keeps_its_drafts() {
    // Included files are not read, so drafts are not published either.
    let said = "[phases]\npublish = no\n";
    let unsaid = "%include ../rc\n[ui]\nusername = Ada\n";
    for hgrc in [said, unsaid] {
        let make = |hg: &Hg, path: &Path| {
            repos::make(hg, path, repos::DEFAULT);
            repos::write(path, "rc", said.as_bytes());
            repos::write(path, ".hg/hgrc", hgrc.as_bytes());
        };
        with_repository("drafts", make, |scene| {
            let clone = scene.clone_both("pulled", &["--pull"]);
            let drafts = scene.hg.ok(&clone, &["log", "-r", "draft()", "-T", "x"]);
            assert_eq!(drafts.len(), 2);
        });
    }
}
