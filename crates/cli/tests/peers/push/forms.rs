//! All forms of `hg push`.

use super::{OPEN, Pair, hg};

const DRAFTS: &str = "[web]\npush_ssl = no\nallow-push = *\n[phases]\npublish = no\n";

#[test]
fn changesets_are_pushed() {
    let pair = Pair::new(OPEN);
    assert_eq!(pair.push("").code, Some(1), "nothing to push");
    pair.commit("d");
    let told = pair.push("").success();
    assert!(
        told.contains("remote: added 1 changesets with 1 changes to 1 files\n"),
        "{told}"
    );
    pair.same();
    pair.commit("e");
    pair.commit("f");
    pair.both("update -q 1");
    pair.commit("g");
    pair.push("-r 4");
    pair.same();
    assert_eq!(pair.push("").code, Some(255), "a new head");
    pair.push("-f");
    pair.same();
    pair.both("branch -q other");
    pair.commit("h");
    assert_eq!(pair.push("").code, Some(255), "a new branch");
    pair.push("--new-branch");
    pair.both("commit --close-branch -m closed");
    pair.push("");
    pair.same();
    pair.push("-f -r 3");
}

#[test]
fn an_empty_repository_is_filled() {
    let pair = Pair::of(hg(), OPEN, |_, _| {});
    pair.commit("a");
    pair.commit("b");
    pair.push("");
    pair.same();
}

#[test]
fn merges_and_many_files_are_pushed() {
    let pair = Pair::new(OPEN);
    for name in 0..30 {
        pair.commit(&format!("dir{}/file{name}", name % 4));
    }
    pair.both("update -q 1");
    pair.commit("x");
    pair.both("merge -q");
    pair.both("commit -m merge");
    pair.push("");
    pair.same();
}

#[test]
fn bookmarks_are_pushed_moved_and_deleted() {
    let pair = Pair::new(OPEN);
    pair.both("bookmark -r 1 mark");
    pair.push("-B mark");
    pair.same();
    pair.commit("d");
    pair.both("bookmark -f -r tip mark");
    pair.push("");
    pair.same();
    pair.both("bookmark -r 0 other");
    pair.commit("e");
    pair.push("-B other -r tip");
    pair.same();
    pair.both("bookmark -d mark");
    pair.push("-B mark");
    pair.same();
    pair.push("-B nothing");
    // Moved there meanwhile, to a changeset that the client does not have.
    pair.both("bookmark -r 3 raced");
    for server in pair.servers() {
        pair.hg.ok(&server, &["update", "-q", "0"]);
        super::commit(&pair.hg, &server, "meanwhile");
        pair.hg.ok(&server, &["bookmark", "raced"]);
    }
    pair.push("-B raced");
    pair.push("-B other");
    pair.same();
}

#[test]
fn phases_alone_are_pushed() {
    let pair = Pair::new(DRAFTS);
    pair.commit("d");
    pair.commit("e");
    pair.push("");
    pair.same();
    let drafts = |path: &std::path::Path| pair.hg.ok(path, &["log", "-r", "draft()", "-T", "x"]);
    assert_eq!(drafts(&pair.servers()[0]), "xx");
    pair.both("phase -p 3");
    pair.push("");
    pair.same();
    assert_eq!(drafts(&pair.servers()[0]), "x");
    pair.both("phase -f -s 4");
    pair.push("");
    pair.same();
}

#[test]
fn pushing_to_a_publishing_repository_publishes_what_is_there() {
    let mut pair = Pair::new(DRAFTS);
    pair.commit("d");
    pair.push("");
    pair.configure(OPEN);
    pair.push("");
    pair.same();
    pair.both("phase -f -d 3");
    pair.commit("e");
    pair.push("");
    pair.same();
}

#[test]
fn secret_changesets_stay() {
    let pair = Pair::new(OPEN);
    pair.commit("d");
    pair.commit("e");
    pair.both("phase -f -s 4");
    pair.push("");
    pair.push("-r 4");
    pair.same();
}

#[test]
fn obsolescence_markers_are_pushed() {
    let evolution = "[experimental]\nevolution = all\n";
    let hg = hg().with_config(&["experimental.evolution=all"]);
    let pair = Pair::of(hg, &format!("{DRAFTS}{evolution}"), |hg, path| {
        super::commit(hg, path, "a");
    });
    pair.commit("b");
    pair.commit("c");
    pair.push("");
    pair.both("commit --amend -m changed");
    pair.push("");
    pair.same();
    pair.both("update -q 1");
    pair.both("commit --amend -m below");
    pair.push("-f");
    pair.same();
    pair.push("");
    pair.both("debugobsolete aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb");
    pair.push("");
    pair.same();
    let markers = pair.urls().map(|url| {
        let directory = tempfile::tempdir().unwrap();
        pair.hg
            .ok(directory.path(), &["clone", "-U", "--pull", &url, "r"]);
        pair.hg.ok(&directory.path().join("r"), &["debugobsolete"])
    });
    assert_eq!(markers[0].lines().count(), markers[1].lines().count());
    assert_eq!(markers[0], markers[1]);
}

#[test]
fn old_clients_push() {
    for old in ["bundle1", "phases,bookmarks", "bundle1,phases,bookmarks"] {
        let hg = hg().with_config(&[&format!("devel.legacy.exchange={old}")]);
        let mut pair = Pair::of(hg, OPEN, |hg, path| {
            super::commit(hg, path, "a");
            super::commit(hg, path, "b");
        });
        pair.commit("c");
        pair.both("bookmark -r 2 mark");
        pair.push("-B mark");
        pair.same();
        pair.commit("d");
        pair.both("bookmark -f -r 3 mark");
        pair.push("");
        pair.both("bookmark -d mark");
        pair.push("-B mark");
        pair.same();
        pair.configure(DRAFTS);
        pair.commit("e");
        pair.push("");
        pair.same();
        pair.both("phase -p 4");
        pair.push("");
        pair.same();
    }
}

#[test]
fn old_clients_are_refused_where_the_server_says_so() {
    let hg = hg().with_config(&["devel.legacy.exchange=bundle1"]);
    let mut pair = Pair::of(hg, OPEN, |hg, path| super::commit(hg, path, "a"));
    pair.commit("b");
    for line in ["bundle1 = no", "bundle1.push = no", "bundle1gd.push = no"] {
        pair.configure(&format!("{OPEN}[server]\n{line}\n"));
        let told = pair.push("");
        assert!(told.stderr.contains("bundle2 required\n"), "{told}");
    }
    pair.same();
    for (name, lines) in [
        ("c", "bundle1gd.push = yes\nbundle1.push = no"),
        ("d", "bundle1 = no\nbundle1.push = yes"),
    ] {
        pair.configure(&format!("{OPEN}[server]\n{lines}\n"));
        pair.commit(name);
        assert_eq!(pair.push("").code, Some(0), "{lines}");
    }
    pair.same();
}
