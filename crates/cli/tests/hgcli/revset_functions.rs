//! Functions of queries about grafts, counts and what changesets have in common.

use super::Twin;
use std::path::Path;
use varve_testkit::peers::Hg;
use varve_testkit::repos::write;

/// Users, days, branches, a merge and grafts of grafts.
fn history(hg: &Hg, path: &Path) {
    let commit = |message: &str, user: &str, date: &str| {
        let words = ["commit", "-A", "-m", message, "-u", user, "-d", date];
        hg.ok(path, &words);
    };
    hg.ok(path, &["init"]);
    write(path, "a", b"a\n");
    commit("one\nmore", "ada", "0 0");
    write(path, "b", b"b\n");
    write(path, "d/x", b"x\n");
    commit("one", "bob", "0 0");
    write(path, "a", b"a\na\n");
    commit("three", "ada", "0 0");
    hg.ok(path, &["update", "1"]);
    hg.ok(path, &["branch", "stable"]);
    write(path, "z", b"z\n");
    commit("four", "bob", "1 0");
    hg.ok(path, &["graft", "2"]);
    hg.ok(path, &["update", "0"]);
    hg.ok(path, &["graft", "4"]);
    hg.ok(path, &["merge", "4"]);
    commit("merged", "bob", "2 0");
    hg.ok(path, &["phase", "--public", "-r", "1"]);
}

#[track_caller]
fn all(queries: &[&str]) {
    let twin = Twin::writing(history);
    for query in queries {
        twin.same(&["log", "-T", "{rev} ", "-r", query]);
    }
}

#[test]
fn grafts_have_origins_and_destinations() {
    all(&[
        "origin()",
        "origin(4)",
        "origin(5)",
        "origin(all())",
        "origin(none())",
        "origin(1, 2)",
        "destination()",
        "destination(2)",
        "destination(4)",
        "destination(1:2)",
        "converted()",
        "converted(abc)",
        "converted(1, 2)",
        "converted(1:2)",
    ]);
}

#[test]
fn common_ancestors_are_those_of_all() {
    all(&[
        "commonancestors(2+4)",
        "commonancestors(2)",
        "commonancestors(none())",
        "commonancestors(5+2+3)",
        "commonancestors(all())",
        "commonancestors()",
        "commonancestors(1, 2)",
        "revset(1:2)",
        "revset()",
        "revset(1, 2)",
    ]);
}

#[test]
fn sizes_are_checked() {
    all(&[
        "expectsize(1:3, 3)",
        "expectsize(1:3, 2)",
        "expectsize(1:3, 2:4)",
        "expectsize(1:3, :3)",
        "expectsize(1:3, 4:)",
        "expectsize(1:3, 5:4)",
        "expectsize(1:3, :)",
        "expectsize(1:3)",
        "expectsize(1:3, x)",
        "expectsize(1:3, -1)",
        "expectsize(1, 3:a)",
        "expectsize(1, -1:3)",
        "expectsize(none(), 0)",
        "expectsize(set=2+1, size=2)",
    ]);
}

#[test]
fn filelogs_tell_who_made_revisions() {
    all(&[
        "filelog(a)",
        "filelog('glob:*')",
        "filelog('path:d')",
        "filelog('d/x')",
        "filelog(nosuch)",
        "filelog('set:a')",
        "filelog()",
        "filelog(a, b)",
        "filelog(1:2)",
    ]);
}

#[test]
fn children_are_taken_where_there_are_any() {
    all(&[
        "merge()~-1",
        "(tip + merge())~-1",
        "tip~-1",
        "(tip+wdir())~-1",
        "parents('')",
        "''",
        "tagged2()",
        "matches()",
    ]);
}

#[test]
fn fields_are_compared() {
    all(&[
        "matching(0)",
        "matching(0, author)",
        "matching(0, 'summary')",
        "matching(0, 'author summary')",
        "matching(0, 'user date')",
        "matching(3, branch)",
        "matching(2, files)",
        "matching(2, parents)",
        "matching(2, phase)",
        "matching(2, metadata)",
        "matching(2, description)",
        "matching(2, nosuch)",
        "matching(2, '')",
        "matching(0+2, files)",
        "matching(none())",
        "matching()",
        "matching(2, 1:2)",
        "matching(1, 2, 3)",
    ]);
}

#[test]
fn lines_that_changesets_added_or_removed_are_found() {
    all(&[
        "diffcontains(a)",
        "diffcontains('a')",
        "diffcontains('re:^[bz]$')",
        "diffcontains('literal:re:')",
        "diffcontains('a.')",
        "diffcontains('')",
        "reverse(all()) & diffcontains(x)",
        "diffcontains()",
        "diffcontains(:)",
        "diffcontains(a, b)",
        "diffcontains(pattern=z)",
        "diffcontains('re:(')",
    ]);
}

#[test]
fn topological_order_is_the_same() {
    all(&[
        "sort(all(), topo)",
        "sort(all(), -topo)",
        "sort(all() - 4, topo)",
        "sort(0+2+3+5, topo)",
        "sort(all() + null, topo)",
        "sort(all(), topo, topo.firstbranch=2)",
        "sort(all(), topo, topo.firstbranch=3+5)",
        "sort(all(), -topo, topo.firstbranch=0)",
        "sort(none(), topo)",
        "sort(all(), 'topo rev')",
        "sort(all(), rev, topo.firstbranch=0)",
        "sort(all(), topo, topo.firstbranch=77)",
        "sort(all(), topo, topo.first=1)",
    ]);
}

/// A repository beside a clone that has more, with branches, bookmarks and names of paths.
fn beside(hg: &Hg, path: &Path) {
    history(hg, path);
    let other = path.join(".hg/other");
    let other = other.to_str().unwrap();
    hg.ok(
        path,
        &["clone", "-q", "-U", "-r", "2", "-r", "3", ".", other],
    );
    hg.ok(path, &["bookmark", "-r", "0", "-R", other, "mark"]);
    let paths = "[paths]\ndefault = .hg/other\nstable = .hg/other#stable\nnowhere = .hg/nowhere\n";
    write(path, ".hg/hgrc", paths.as_bytes());
}

#[test]
fn other_repositories_are_asked() {
    let twin = Twin::writing(beside);
    for query in [
        "outgoing()",
        "outgoing('')",
        "outgoing(stable)",
        "outgoing('.hg/other')",
        "outgoing('.hg/other#stable')",
        "reverse(outgoing()) - merge()",
        "outgoing(nosuch)",
        "outgoing(nowhere)",
        "outgoing(1, 2)",
        "outgoing(0:1)",
        "remote()",
        "remote(mark)",
        "remote(tip, default)",
        "remote(stable, '.hg/other')",
        "remote(nosuch)",
        "remote(1, 2, 3)",
        "remote(:)",
        "remote(tip, :)",
    ] {
        twin.same(&["log", "-T", "{rev} ", "-r", query]);
    }
    let template = "{revset('outgoing() and %d', rev) % '{rev}'}.";
    twin.same(&["log", "-T", template]);
    twin.same(&[
        "log",
        "-T",
        "{rev} ",
        "-r",
        "outgoing()",
        "--config",
        "paths.default=",
    ]);
}
