//! Functions over metadata, files and names, in a history in memory.

use super::memory::{History, answer, engine, write};
use std::sync::Arc;
use varve_repo::{FileChange, FileKind, Phase, RepoView};
use varve_revset::{RevsetError, WORKING_COPY};

/// Eight changesets: two authors, a branch that is closed, a merge, a copy and all phases.
///
/// ```text
/// 0 -- 1 -- 2 ------- 5 -- 6 (draft) -- 7 (secret)
///       \            /
///        3 -- 4 (side, closed)
/// ```
fn history() -> Arc<RepoView> {
    let mut history = History::new();
    history.commit_files(&[], &[], |new| {
        new.description = b"Add a";
    });
    let changes = [write("a", "one\n"), write("dir/b", "two\n")];
    history.commit_files(&[0], &changes, |new| {
        new.user = b"\xc3\x89ve <eve@example.org>";
        new.description = b"Add files\n\nMore about FILES";
    });
    let changes = [write("a", "one\nchanged\n")];
    history.commit_files(&[1], &changes, |new| {
        new.date = (1_165_411_109, 0);
        new.description = b"Change a";
    });
    let changes = [FileChange::Remove { path: b"a" }];
    history.commit_files(&[1], &changes, |new| {
        new.branch = b"side";
        new.description = b"Remove a";
    });
    history.commit_files(&[3], &[], |new| {
        new.branch = b"side";
        new.extras = &[(b"close", b"1")];
        new.description = b"Close";
    });
    history.commit_files(&[2, 4], &[], |new| {
        new.description = b"Merge";
    });
    let copy = FileChange::Write {
        path: b"dir/copy",
        content: b"two\n",
        kind: FileKind::Plain,
        copied_from: Some(b"dir/b"),
    };
    history.commit_files(&[5], &[copy], |new| {
        new.phase = Phase::Draft;
        new.extras = &[(b"source", b"elsewhere")];
        new.description = b"Copy b";
    });
    history.commit_files(&[6], &[write("dir/copy", "three\n")], |new| {
        new.phase = Phase::Secret;
        new.description = b"Edit the copy";
    });
    history.finish()
}

fn check(working_parents: &[usize], expected: &[(&str, &[i64])]) {
    let view = history();
    let engine = engine(&view, working_parents);
    for (query, members) in expected {
        assert_eq!(answer(&engine, query), *members, "{query}");
    }
}

#[test]
fn metadata_is_matched() {
    check(
        &[],
        &[
            ("user(ada)", &[0, 2, 3, 4, 5, 6, 7]),
            ("author('\u{e9}ve')", &[1]),
            ("user('re:^.ve|^..ve')", &[1]),
            ("user('literal:re:x')", &[]),
            ("desc(files)", &[1]),
            ("desc('re:^Add')", &[0, 1]),
            ("keyword('DIR/B')", &[1]),
            ("keyword(merge)", &[5]),
            ("grep('a$')", &[0, 1, 2, 3]),
            ("date('2006-12-06')", &[2]),
            ("date('<1970-01-02')", &[0, 1, 3, 4, 5, 6, 7]),
            ("date('>2006')", &[2]),
            ("date('3 0')", &[3]),
            ("extra(source)", &[6]),
            ("extra(source, 're:^else')", &[6]),
            ("extra(source, here)", &[]),
            ("extra(branch, side)", &[3, 4]),
            ("branch(side)", &[3, 4]),
            ("branch(4)", &[3, 4]),
            ("branch('re:^d')", &[0, 1, 2, 5, 6, 7]),
            ("closed()", &[4]),
            ("public()", &[0, 1, 2, 3, 4, 5]),
            ("draft()", &[6]),
            ("secret()", &[7]),
            ("not public()", &[6, 7]),
        ],
    );
}

#[test]
fn changed_files_are_matched() {
    check(
        &[7],
        &[
            ("adds(a)", &[1]),
            ("modifies(a)", &[2]),
            ("removes(a)", &[3]),
            ("adds('dir/**')", &[1, 6]),
            ("modifies('dir/copy')", &[7]),
            ("file('dir/copy')", &[6, 7]),
            ("file('glob:dir/*')", &[1, 6, 7]),
            ("file('re:a$')", &[1, 2, 3]),
            ("contains('dir/b')", &[1, 2, 3, 4, 5, 6, 7]),
            ("contains(a)", &[1, 2, 5, 6, 7]),
            ("contains('path:dir')", &[1, 2, 3, 4, 5, 6, 7]),
            ("follow('dir/copy')", &[1, 6, 7]),
            ("follow()", &[0, 1, 2, 3, 4, 5, 6, 7]),
            ("follow(a, startrev=2)", &[1, 2]),
        ],
    );
}

#[test]
fn names_and_numbers_are_looked_up() {
    check(
        &[2],
        &[
            (".", &[2]),
            (".^", &[1]),
            ("tip", &[7]),
            ("-1", &[7]),
            ("-8", &[0]),
            ("null", &[-1]),
            ("rev(3)", &[3]),
            ("rev(99)", &[]),
            ("present(nosuch)", &[]),
            ("present(nosuch) or 1", &[1]),
            ("side", &[4]),
            ("default", &[7]),
            ("parents()", &[2]),
            ("p1()", &[2]),
            ("p2()", &[]),
            ("parents(5)", &[2, 4]),
            ("p2(5)", &[4]),
            ("children(1)", &[2, 3]),
            ("children(null)", &[0]),
            ("head()", &[4, 7]),
            ("merge()", &[5]),
            ("branchpoint()", &[1]),
            ("bookmark()", &[]),
            ("tag()", &[]),
            ("'' ## 3", &[3]),
        ],
    );
}

#[test]
fn ranges_follow_the_order_of_their_ends() {
    check(
        &[],
        &[
            ("2:5", &[2, 3, 4, 5]),
            ("5:2", &[5, 4, 3, 2]),
            (":2", &[0, 1, 2]),
            ("6:", &[6, 7]),
            (":", &[0, 1, 2, 3, 4, 5, 6, 7]),
            ("null:1", &[-1, 0, 1]),
            ("(3 or 1):(0 or 4)", &[3, 4]),
            ("none():4", &[]),
            ("2::7", &[2, 5, 6, 7]),
            ("2..7", &[2, 5, 6, 7]),
            ("2::4", &[]),
            ("(2 or 3)::(4 or 5)", &[2, 3, 4, 5]),
            ("0:3 and 3:0", &[0, 1, 2, 3]),
            ("3:0 and 0:3", &[3, 2, 1, 0]),
            ("3 or 1 or 3 or 2", &[3, 1, 2]),
            ("7~2", &[5]),
            ("5~-1", &[6]),
            ("only(5, 3)", &[2, 4, 5]),
            ("4 % 2", &[3, 4]),
            ("ancestors(5, depth=1)", &[2, 4, 5]),
            ("ancestors(7, startdepth=1, depth=2)", &[5, 6]),
            ("descendants(1, depth=1)", &[1, 2, 3]),
            ("ancestor(2, 4)", &[1]),
            ("ancestor(7, 4, 2)", &[1]),
            ("ancestor()", &[]),
        ],
    );
}

#[test]
fn sets_are_ordered_and_cut() {
    check(
        &[],
        &[
            ("sort(all(), -rev)", &[7, 6, 5, 4, 3, 2, 1, 0]),
            ("sort(0:2, -date)", &[2, 1, 0]),
            ("sort(0:2, 'user -rev')", &[2, 0, 1]),
            ("sort(2:4, 'branch -rev')", &[2, 4, 3]),
            ("sort(0:3, desc)", &[0, 1, 2, 3]),
            ("reverse(1:3)", &[3, 2, 1]),
            ("first(all(), 2)", &[0, 1]),
            ("limit(all(), 2, 3)", &[3, 4]),
            ("limit(all(), 0)", &[]),
            ("last(all(), 2)", &[6, 7]),
            ("max(2 or 5 or 3)", &[5]),
            ("min(2 or 5 or 3)", &[2]),
            ("max(none())", &[]),
            ("roots(2:5)", &[2, 3]),
            ("heads(0:4)", &[2, 4]),
        ],
    );
}

#[test]
fn wrong_arguments_are_refused() {
    let view = history();
    let engine = engine(&view, &[]);
    for (query, message) in [
        ("desc()", "desc requires a string"),
        ("branch('literal:nosuch')", "branch 'nosuch' does not exist"),
        ("first(all(), -1)", "negative number to select"),
        ("limit(all(), x)", "limit expects a number"),
        ("sort(all(), nosuch)", "unknown sort key 'nosuch'"),
        ("ancestors(1, depth=-1)", "negative depth"),
        (
            "ancestors(1, nosuch=1)",
            "ancestors got an unexpected keyword argument 'nosuch'",
        ),
        ("2^3", "^ expects a number 0, 1, or 2"),
        ("1~-1", "revision in set has more than one child"),
        ("all(1)", "all takes no arguments"),
        ("nosuch()", "unknown identifier: nosuch"),
        ("date('2006-13-01')", "invalid date: '2006-13-01'"),
        ("(1, 2)", "can't use a list in this context"),
        ("a=b", "can't use a key-value pair in this context"),
    ] {
        let error = engine
            .query(query.as_bytes())
            .map(drop)
            .unwrap_err()
            .to_string();
        assert!(error.starts_with(message), "{query}: {error}");
    }
}

#[test]
fn changed_lines_are_searched() {
    check(
        &[],
        &[
            ("diffcontains(changed)", &[2]),
            ("diffcontains('re:^t')", &[1, 6, 7]),
            ("diffcontains('re:^two|^three')", &[1, 6, 7]),
            ("diffcontains('o.e')", &[]),
            ("reverse(all()) & diffcontains(e)", &[7, 2, 1]),
            ("diffcontains('')", &[1, 2, 6, 7]),
        ],
    );
    let view = history();
    let engine = engine(&view, &[]);
    for (query, message) in [
        ("diffcontains()", "diffcontains takes at least 1 argument"),
        ("diffcontains(:)", "diffcontains requires a string pattern"),
        (
            "diffcontains('re:**')",
            "invalid regular expression: nothing to repeat at position 0",
        ),
    ] {
        let error = engine.query(query.as_bytes()).err().unwrap();
        assert_eq!(error.to_string(), message, "{query}");
    }
}

#[test]
fn the_working_copy_is_behind_all_changesets() {
    check_all(
        &[7, 4],
        &[
            ("wdir()", &[WORKING]),
            ("ffff or 2147483647", &[WORKING]),
            ("id(fffff) and rev(2147483647)", &[WORKING]),
            ("6:wdir()", &[6, 7, WORKING]),
            ("wdir():6", &[WORKING, 7, 6]),
            ("wdir():", &[WORKING]),
            ("parents(wdir())", &[4, 7]),
            ("wdir()^2", &[4]),
            ("wdir()~2", &[6]),
            ("wdir()~-1", &[]),
            ("ancestors(wdir(), 1)", &[4, 7, WORKING]),
            ("wdir()::", &[]),
            ("not wdir() and 7:", &[7]),
            ("all() and wdir()", &[]),
            ("secret() and wdir()", &[WORKING]),
            ("wdir() and not public()", &[WORKING]),
            ("0:wdir() & merge()", &[5, WORKING]),
            ("merge() & public() & wdir()", &[]),
            ("heads(4 + 7 + wdir())", &[WORKING]),
            ("roots(3 + wdir())", &[3, WORKING]),
            ("roots(7 + wdir())", &[7]),
            ("ancestor(wdir(), 6)", &[6]),
            ("ancestor(wdir(), wdir())", &[WORKING]),
            ("sort(wdir() + 6, topo)", &[WORKING, 6]),
            ("sort(wdir() + 6, node)", &[6, WORKING]),
            ("reverse(6 + wdir())", &[WORKING, 6]),
            ("commonancestors(wdir() + 1)", &[0, 1]),
        ],
    );
    let view = history();
    let engine = engine(&view, &[7]);
    for query in [
        "only(wdir())",
        "0::wdir()",
        "successors(wdir())",
        "user(ada) and wdir()",
    ] {
        let set = engine.query(query.as_bytes());
        let members = set.and_then(|set| set.all_members(&engine).collect::<Result<Vec<_>, _>>());
        assert!(matches!(members, Err(RevsetError::WorkingCopy)), "{query}");
    }
    assert!(matches!(
        engine.single(b"wdir()"),
        Err(RevsetError::WorkingCopy)
    ));
    let set = engine.query(b"0:wdir()").unwrap();
    assert!(set.members(&engine).any(|member| member.is_err()));
}

const WORKING: i64 = WORKING_COPY.0 as i64;

fn check_all(working_parents: &[usize], expected: &[(&str, &[i64])]) {
    let view = history();
    let engine = engine(&view, working_parents);
    for (query, members) in expected {
        let set = engine.query(query.as_bytes()).unwrap();
        let found: Result<Vec<i64>, RevsetError> = set
            .all_members(&engine)
            .map(|member| Ok(member?.map_or(-1, |rev| i64::from(rev.0))))
            .collect();
        assert_eq!(found.unwrap(), *members, "{query}");
    }
}

#[test]
fn steps_are_counted_on_every_way() {
    check(
        &[],
        &[
            ("ancestors(6 + 2, depth=2, startdepth=2)", &[0, 2, 4]),
            ("descendants(0 + 2, depth=2, startdepth=2)", &[2, 3, 6]),
            ("descendants(null, depth=1)", &[-1, 0]),
            ("null: & descendants(null, depth=0)", &[-1]),
            ("ancestors(2 + null, depth=0)", &[-1, 2]),
        ],
    );
}
