//! The same queries, answered by `hg log` and by the engine.

use std::path::Path;
use std::sync::Arc;
use varve_base::DiskStorage;
use varve_lang::date::{Clock, Zone};
use varve_repo::{Phase, RepoView, Repository, ViewFilter};
use varve_revset::{Engine, QueryContext, RevsetError};
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos;

/// 21 November 2026.
const NOW: i64 = 1_795_234_214;

/// Branches, a merge, a closed branch, tags, bookmarks, all phases, several users and days.
fn make(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    let commit = |name: &str, user: &str, date: &str| {
        repos::write(path, name, name.as_bytes());
        let message = format!("Add {name}\n\nSecond line");
        hg.ok(
            path,
            &["commit", "-A", "-m", &message, "-u", user, "-d", date],
        );
    };
    commit("a", "Ada <ada@example.org>", "0 0");
    commit("b", "Bob", "2006-12-06 13:18 +0100");
    commit("dir/c", "Ada <ada@example.org>", "2007-01-01");
    hg.ok(path, &["update", "1"]);
    hg.ok(path, &["branch", "stable-1"]);
    commit("d", "Carol", "2008-01-01");
    hg.ok(path, &["update", "2"]);
    hg.ok(path, &["merge", "3"]);
    hg.ok(
        path,
        &["commit", "-m", "merge", "-u", "Bob", "-d", "2009-01-01"],
    );
    hg.ok(path, &["tag", "v1.0", "-r", "1", "-d", "0 0"]);
    hg.ok(path, &["update", "3"]);
    hg.ok(
        path,
        &["commit", "--close-branch", "-m", "close", "-d", "0 0"],
    );
    hg.ok(path, &["update", "4"]);
    hg.ok(path, &["bookmark", "-r", "2", "book"]);
    commit("e", "\u{c9}ve", "2010-01-01");
    commit("f", "Ada <ada@example.org>", "2010-02-01");
    hg.ok(path, &["rename", "b", "renamed"]);
    repos::write(path, "a", b"changed more");
    hg.ok(path, &["commit", "-m", "rename", "-d", "0 0"]);
    hg.ok(path, &["phase", "--public", "-r", "2"]);
    hg.ok(path, &["phase", "--secret", "--force", "-r", "8"]);
    hg.ok(path, &["update", "9"]);
}

fn open(path: &Path) -> Arc<RepoView> {
    let repository = Repository::open(Arc::new(DiskStorage::new(path)), Path::new("")).unwrap();
    repository.view_for(ViewFilter::Visible).unwrap()
}

fn engine(view: &RepoView) -> Engine<'_> {
    let parents = view.working_parents().unwrap();
    Engine::new(QueryContext {
        bundled_from: None,
        preferred: None,
        new_commit_phase: Phase::Draft,
        view,
        parents: parents
            .iter()
            .filter_map(|node| view.changelog().rev(node))
            .collect(),
        root: "/repository".into(),
        cwd: "/repository".into(),
        clock: Clock {
            now: NOW,
            zone: Zone::default(),
        },
        aliases: std::sync::Arc::default(),
        files: None,
        peers: None,
        working: None,
    })
}

fn answer(engine: &Engine<'_>, query: &str) -> Result<String, RevsetError> {
    let set = engine.query(query.as_bytes())?;
    let mut out = String::new();
    for member in set.members(engine) {
        out += &member?.map_or("-1 ".to_owned(), |rev| format!("{} ", rev.0));
    }
    Ok(out)
}

const QUERIES: &[&str] = &[
    "all()",
    ":",
    "0:3",
    "3:0",
    ":3",
    "6:",
    "0",
    "-1",
    "-2",
    "tip",
    "tip^",
    "4^2",
    "4^1",
    "4^0",
    "3^2",
    "tip~2",
    "0~5",
    ".",
    ".^",
    "0^",
    "0^^^",
    "null^",
    "null^0",
    "(0+1+null)^",
    "(0+1+null)~1",
    "0^ or 2",
    "-10",
    "0000",
    "id(0000)",
    "null",
    "null:1",
    "v1.0",
    "book",
    "stable-1",
    "default",
    "stable-1:",
    "1::4",
    "1..4",
    "::3",
    "3::",
    "::(3 or 5)",
    "3 or 1 or 3",
    "3+1",
    "4 - 3",
    "all() - 3:5",
    "not 3",
    "!3:5",
    "3:0 and 1:4",
    "1:4 and 3:0",
    "sort(all(), topo)",
    "sort(all() - 4, -topo)",
    "sort(0:6, topo, topo.firstbranch=5)",
    "diffcontains(changed)",
    "diffcontains('re:^[ab]')",
    "not public()",
    "draft()",
    "secret()",
    "public()",
    "merge()",
    "closed()",
    "head()",
    "heads(all())",
    "heads(0:3)",
    "roots(2:6)",
    "roots(all())",
    "ancestors(4)",
    "ancestors(6, 1)",
    "ancestors(6, startdepth=1, depth=2)",
    "descendants(3)",
    "descendants(1, 1)",
    "children(1)",
    "children(null)",
    "parents(4)",
    "parents()",
    "parents(0)",
    "p1(4)",
    "p2(4)",
    "p1()",
    "first(all(), 3)",
    "first(5:0)",
    "last(all(), 2)",
    "last(5:0, 2)",
    "limit(all(), 2, 3)",
    "reverse(all())",
    "reverse(1:3) and all()",
    "all() and reverse(1:3)",
    "sort(all(), -date)",
    "sort(all(), 'user -rev')",
    "sort(5:0)",
    "sort(all(), desc)",
    "sort(all(), 'branch date')",
    "sort(1 or 0, -rev)",
    "min(3 or 1)",
    "max(1 or 3)",
    "tag()",
    "tag('v1.0')",
    "tag('re:v')",
    "bookmark()",
    "bookmark(book)",
    "bookmark('re:b')",
    "branch(default)",
    "branch('stable-1')",
    "branch(3)",
    "branch('re:^st')",
    "user(ada)",
    "user('re:^A')",
    "author(bob)",
    "user('\u{e9}VE')",
    "desc(merge)",
    "desc('SECOND')",
    "keyword('DIR/C')",
    "keyword(bob)",
    "grep('^Add [ab]')",
    "date('2006')",
    "date('>2009-01-01')",
    "date('2007 to 2008')",
    "date('<0 0')",
    "extra(branch)",
    "extra(branch, 'stable-1')",
    "extra(close)",
    "id(zz)",
    "rev(3)",
    "rev(99)",
    "present(nosuch)",
    "present(3)",
    "only(6)",
    "only(8, 3)",
    "8 % 3",
    "6%",
    "ancestor(3, 2)",
    "ancestor(all())",
    "ancestor(7, 6)",
    "branchpoint()",
    "named('tags')",
    "named('re:.')",
    "(0:2):(4:6)",
    "first(:)",
    "'stable' ## '-1'",
    "limit(all(), 0)",
    "heads(null)",
    "::null",
    "null::",
    "0 or null",
    "all() and null",
    "user(ada) and not merge()",
    "reverse(user(ada)) - 0",
    "last(user(ada))",
    "file(a)",
    "file('dir/**')",
    "file('re:.*[bc]$')",
    "contains('dir/c')",
    "contains(dir)",
    "contains('glob:d*')",
    "modifies('.hgtags')",
    "adds(a)",
    "adds(dir)",
    "removes(b)",
    "removes('re:.')",
    "follow()",
    "follow(renamed)",
    "follow(renamed, 9)",
    "adds('*')",
    "modifies('glob:*a*')",
];

#[test]
fn queries_are_answered_as_hg_answers_them() {
    let directory = tempfile::tempdir().unwrap();
    let (path, hg) = (directory.path(), hg());
    make(&hg, path);
    let view = open(path);
    let engine = engine(&view);
    // One call for all: a start takes longer than all the answers.
    let quoted = |query: &&str| format!("{{revset({query:?}) % \"{{rev}} \"}}\n");
    let template: String = QUERIES.iter().map(quoted).collect();
    let expected = hg.ok(path, &["log", "-r", "0", "-T", &template]);
    assert_eq!(expected.lines().count(), QUERIES.len());
    let mut wrong = Vec::new();
    for (query, expected) in QUERIES.iter().zip(expected.lines()) {
        let ours = answer(&engine, query).unwrap_or_else(|error| error.to_string());
        if ours.trim_end() != expected.trim_end() {
            wrong.push(format!("{query}: {ours}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn wrong_queries_are_refused_in_hgs_words() {
    let directory = tempfile::tempdir().unwrap();
    let (path, hg) = (directory.path(), hg());
    make(&hg, path);
    let view = open(path);
    let engine = engine(&view);
    for (query, expected) in [
        ("foo(0)", "unknown identifier: foo"),
        ("nosuch", "unknown revision 'nosuch'"),
        ("all(0)", "all takes no arguments"),
        ("ancestors()", "ancestors takes at least 1 argument"),
        ("limit()", "limit requires one to three arguments"),
        ("limit(0, a)", "limit expects a number"),
        ("last(0, -1)", "negative number to select"),
        ("user()", "author requires a string"),
        ("branch(nosuch)", "unknown revision 'nosuch'"),
        ("branch('literal:x')", "branch 'x' does not exist"),
        ("bookmark(x)", "bookmark 'x' does not exist"),
        ("tag(x)", "tag 'x' does not exist"),
        ("rev(x)", "rev expects a number"),
        ("date(x)", "invalid date: 'x'"),
        ("sort(all(), foo)", "unknown sort key 'foo'"),
        ("0^3", "^ expects a number 0, 1, or 2"),
        ("0~x", "~ expects a number"),
        ("p1(0, 1)", "can't use a list in this context"),
        ("x=1", "can't use a key-value pair in this context"),
        ("::", "can't use '::' in this context"),
        ("0##1", "unknown revision '01'"),
        ("99", "unknown revision '99'"),
    ] {
        let error = answer(&engine, query).unwrap_err();
        assert_eq!(error.to_string(), expected, "{query}");
    }
}
