//! `strip` and `debugstrip`: the same words, the same history, the same bundles.

use super::Twin;
use super::state::same_state;
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::write;

fn change(hg: &Hg, path: &Path, name: &str) {
    write(path, name, format!("{name}\n").as_bytes());
    let mut all = std::fs::read_to_string(path.join("all")).unwrap_or_default();
    all.push_str(&format!("{name}\n"));
    write(path, "all", all.as_bytes());
    hg.ok(path, &["commit", "-qAm", name, "-d", "0 0"]);
}

/// Two lines of history over changeset 0: 1, 2 and 5, where the working copy is, and 3 and 4.
fn two_lines(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    let settings = "[extensions]\nstrip =\n";
    std::fs::write(path.join(".hg/hgrc"), settings).unwrap();
    for name in ["a", "b", "c"] {
        change(hg, path, name);
    }
    hg.ok(path, &["update", "-q", "0"]);
    for name in ["d", "e"] {
        change(hg, path, name);
    }
    hg.ok(path, &["update", "-q", "2"]);
    change(hg, path, "f");
}

pub(super) fn twin() -> Twin {
    Twin::writing(two_lines)
}

/// Changes both copies with the real program.
pub(super) fn each_hg(twin: &Twin, lines: &[&str]) {
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        twin.each(|path| drop(hg().ok(path, &words)));
    }
}

fn names(path: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(path).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    names
}

/// Same history and working copy, same files in `.hg` and its store, and same backups.
#[track_caller]
pub(super) fn same(twin: &Twin) {
    same_state(twin);
    let hg = hg();
    let described = |root: &Path| {
        let mut all = names(&root.join(".hg"));
        all.extend(names(&root.join(".hg/store")));
        // The first to look makes caches of the working copy. Which files a transaction keeps is not about strips,
        // and Mercurial makes a directory of backups for a moment also if there is none.
        let passed_over = ["wcache", "last-message.txt", "strip-backup"];
        all.retain(|name| !passed_over.contains(&&name[..]) && !name.contains(".backup."));
        for small in [
            "bookmarks",
            "bookmarks.current",
            "branch",
            "store/phaseroots",
        ] {
            let text = std::fs::read_to_string(root.join(".hg").join(small));
            all.push(format!("{small}: {:?}", text.ok()));
        }
        for name in names(&root.join(".hg/strip-backup")) {
            let bundle = root.join(".hg/strip-backup").join(&name);
            let said = hg.ok(root, &["debugbundle", "--all", bundle.to_str().unwrap()]);
            // The cache of tags is only in Mercurial's.
            let is_content = |line: &&str| !line.starts_with("hgtagsfnodes");
            let mut lines: Vec<_> = said.lines().filter(is_content).collect();
            lines.sort_unstable();
            all.push(format!("{name}\n{}", lines.join("\n")));
        }
        all
    };
    assert_eq!(described(twin.theirs()), described(twin.ours()));
}

/// Runs lines in fresh copies, and compares what they leave.
#[track_caller]
fn strip_alike(before: &[&str], lines: &[&str]) {
    let twin = twin();
    each_hg(&twin, before);
    twin.all_same(lines);
    same(&twin);
}

#[test]
fn changesets_and_their_descendants_go() {
    strip_alike(&[], &["strip 3"]);
    strip_alike(&[], &["strip 1", "strip ."]);
    strip_alike(&[], &["strip -v 3", "strip -v 1", "strip -q 0"]);
    strip_alike(&[], &["strip --no-backup -v 1", "log -G -T {rev}"]);
    strip_alike(
        &[],
        &["debugstrip --no-backup 4", "strip -n --nobackup -r 3"],
    );
    strip_alike(&[], &["strip -r 3 -r 2"]);
    strip_alike(&["update -q 4"], &["strip -r 5 -r 4 -r 2"]);
    strip_alike(&[], &["strip -r 5 -r 3"]);
    strip_alike(&[], &["strip tip 4::"]);
    strip_alike(&[], &["strip 0", "verify"]);
    // Mercurial counts the null revision among those in the bundle.
    let twin = twin();
    twin.all_same(&["strip null", "log"]);
    same_state(&twin);
    strip_alike(&["phase -p 4", "phase -sf 5"], &["strip 4", "strip 2"]);
    strip_alike(
        &["tag -l -r 4 local", "tag -r 1 global"],
        &["tags", "strip 4", "tags", "strip .", "tags"],
    );
}

#[test]
fn backups_bring_back_what_went() {
    let twin = twin();
    let before = hg().ok(
        twin.ours(),
        &["log", "-T", "{node}\n", "-r", "sort(all(), node)"],
    );
    twin.all_same(&["strip 1"]);
    let backup = names(&twin.ours().join(".hg/strip-backup")).remove(0);
    let backup = format!(".hg/strip-backup/{backup}");
    twin.same(&["unbundle", &backup]);
    let after = hg().ok(
        twin.ours(),
        &["log", "-T", "{node}\n", "-r", "sort(all(), node)"],
    );
    assert_eq!(before, after);
    same(&twin);
}

#[test]
fn what_cannot_be_removed_is_refused_alike() {
    let twin = twin();
    twin.all_same(&[
        "strip",
        "strip nope",
        "strip none()",
        "strip --permit-empty-revset none()",
        "strip -r 9",
        "strip -B nope",
        "strip -B nope -B aaa -B nope 3",
        "strip nope -B nope",
        "debugstrip none()",
        "strip 3 --config extensions.strip=!",
        "strip 3 --config extensions.strip=! --config extensions.mq=",
        "stri -r hidden()",
        "-R / strip 0",
    ]);
    twin.each(|path| write(path, "f", b"changed\n"));
    twin.all_same(&["strip 1", "strip 3::", "status"]);
    same(&twin);
}

#[test]
fn local_changes_are_given_up_or_kept() {
    let local = |line: &str| {
        let twin = twin();
        twin.each(|path| write(path, "f", b"changed\n"));
        twin.each(|path| write(path, "new", b"new\n"));
        each_hg(&twin, &["add new", "remove a", "copy b b2", "rename c c2"]);
        twin.all_same(&["strip 5", line, "status -C", "id", "parents", "branch"]);
        same(&twin);
    };
    local("strip -f 5");
    local("strip -k 5");
    local("strip -k 1");
    local("strip -f 1");
    local("strip -k 0");
    local("strip -k -f .");
    strip_alike(&[], &["strip -k 3", "strip -k 1", "status"]);
}

#[test]
fn merges_that_are_under_way_are_given_up_or_kept() {
    let merge: &[&str] = &["update -q 4", "merge -q 5 -t :local"];
    strip_alike(merge, &["strip 3", "strip -f 3", "status"]);
    strip_alike(merge, &["strip -k 3", "id", "status"]);
    strip_alike(merge, &["strip -f 2", "id", "status"]);
    strip_alike(merge, &["strip -k 2", "id", "status"]);
    let committed = [merge, &["commit -m merge"]].concat();
    strip_alike(&committed, &["strip 3", "status"]);
    strip_alike(&committed, &["strip -k 3", "status"]);
    strip_alike(&committed, &["strip 3 5", "id"]);
    let twin = twin();
    each_hg(&twin, &["update -q 4"]);
    twin.each(|path| drop(hg().run(path, &["graft", "5"])));
    twin.all_same(&["strip 3", "strip -f 3", "strip -k 3", "status", "strip 1"]);
}

#[test]
fn the_branch_of_the_next_commit_chooses_the_parent() {
    strip_alike(
        &["branch foo"],
        &["strip 4", "strip .", "branch", "strip -k ."],
    );
    let foo: &[&str] = &["branch foo", "rename f g", "commit -m on-foo"];
    let with = |more: &[&'static str]| [foo, more].concat();
    strip_alike(foo, &["strip .", "branch", "id"]);
    strip_alike(foo, &["strip -k .", "branch", "id", "status"]);
    strip_alike(&with(&["branch -f default"]), &["strip .", "branch", "id"]);
    let elsewhere = with(&["update -q 4", "branch -f foo"]);
    strip_alike(&elsewhere, &["strip 4", "branch", "id"]);
    let first: &[&str] = &[
        "update -q 0",
        "branch foo",
        "rename a g",
        "commit -m on-foo",
        "update -q 4",
    ];
    let second = [
        first,
        &["merge -q foo -t :local", "branch -f foo", "commit -m m"],
    ]
    .concat();
    strip_alike(&second, &["strip .", "branch", "id"]);
    let below = [
        first,
        &["branch -f foo", "merge -q 6 -t :local", "commit -m m"],
    ]
    .concat();
    strip_alike(&below, &["strip 4", "branch", "id"]);
}

#[test]
fn bookmarks_go_or_move_alike() {
    strip_alike(&["bookmark act"], &["strip .", "bookmarks", "strip 2"]);
    let two: &[&str] = &["bookmark -r 4 bm", "bookmark -r 4 other"];
    strip_alike(
        two,
        &[
            "strip -B bm -v",
            "bookmarks",
            "strip -B bm",
            "strip -B other",
        ],
    );
    strip_alike(two, &["strip -B bm -B other -q", "bookmarks"]);
    strip_alike(two, &["strip -B bm --permit-empty-revset", "strip 3"]);
    let all: &[&str] = &[
        "bookmark -r 4 b1",
        "bookmark -r 3 b2",
        "bookmark -r 4 z",
        "bookmark -r 5 b3",
    ];
    strip_alike(
        all,
        &["strip -B z -B b1 -B b3", "bookmarks", "strip 1 -B b2"],
    );
    strip_alike(&["bookmark b1"], &["strip -B b1", "bookmarks", "id"]);
    strip_alike(&["bookmark b1"], &["strip -k -B b1", "bookmarks", "status"]);
    strip_alike(
        &["bookmark -r 4 b1", "update -q b1"],
        &["strip -B b1", "id"],
    );
}

/// Without a parent below, bookmarks have nowhere to go.
#[test]
fn bookmarks_of_roots_move_alike() {
    let twin = twin();
    each_hg(&twin, &["update -q null"]);
    twin.each(|path| change(&hg(), path, "root"));
    each_hg(&twin, &["bookmark -r 6 b", "update -q 4"]);
    twin.all_same(&["strip 6", "bookmarks"]);
    same(&twin);
}

#[test]
fn hooks_are_called_alike() {
    let twin = twin();
    twin.each(|path| {
        let mut text = std::fs::read_to_string(path.join(".hg/hgrc")).unwrap();
        text.push_str("[hooks]\n");
        for (name, facts) in [
            ("preupdate", "$HG_PARENT1 $HG_PARENT2"),
            ("update", "$HG_PARENT1 $HG_ERROR"),
            ("pretxnopen", "$HG_TXNNAME"),
            ("pretxnclose", "$HG_TXNNAME"),
            ("txnclose", "$HG_TXNNAME"),
        ] {
            text.push_str(&format!("{name} = echo {name} {facts}\n"));
        }
        std::fs::write(path.join(".hg/hgrc"), text).unwrap();
    });
    twin.all_same(&[
        "strip 4",
        "strip 2",
        "strip 1 --config hooks.preupdate=false",
    ]);
    same(&twin);
    let refused = twin
        .run(&["strip", "1", "--config", "hooks.pretxnopen=false"])
        .ours;
    assert!(
        refused
            .stderr
            .contains("abort: pretxnopen hook exited with status 1")
    );
    let refused = twin
        .run(&["strip", "0", "--config", "hooks.changegroup=true"])
        .ours;
    let words = "abort: strip does not run the hook changegroup\n";
    assert_eq!((refused.code, &refused.stderr[..]), (Some(255), words));
}

#[test]
fn soft_strips_are_refused_by_name() {
    let soft = twin().run(&["strip", "--soft", "5"]).ours;
    let words = "abort: this repository does not support the archived phase\n";
    assert_eq!((soft.code, &soft.stderr[..]), (Some(255), words));
}

#[test]
fn the_cache_of_branches_fits_afterwards() {
    let twin = twin();
    // Fills the cache.
    twin.all_same(&["heads", "strip 4", "strip 5"]);
    let read = |path: &Path| std::fs::read_to_string(path.join(".hg/cache/branch2-served"));
    assert_eq!(read(twin.theirs()).unwrap(), read(twin.ours()).unwrap());
}
